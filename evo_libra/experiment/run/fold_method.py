"""How a run searches, beside its engine, population, budget and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Method:
    """How a run searches. Whatever differs from what it is here is a part of what the run is.

    Attributes
    ----------
    stagnation : evaluations over which the hypervolume has to grow, or the search ends; None for no such end.
    growth : by how much of itself it has to grow over them.
    gap : the search ends when its front is proven to be so near the best one; None for no such end.
    gap_every : evaluations before the first proof; each further one comes after a quarter more of them.
    restarts : how often a search that stagnates is started anew instead of being ended.
    start_from : folders of the runs, or files of the fronts, that the search starts from. Where they lie is no part of
        what the run is.
    start_digest : SHA-256 of the designs that it starts from.
    memetic : share of the evaluations that are designs of the archive with better bandwidths.
    islands : searches side by side.
    asynchronous : whether the engine is told of each design when it is done, and not of a generation.
    timeout : seconds that a design may take to evaluate in a process of its own; None for any time.
    """

    stagnation: int | None = None
    growth: float = 1e-3
    gap: float | None = None
    gap_every: int = 10_000
    restarts: int = 0
    start_from: tuple[str, ...] = ()
    start_digest: str = ""
    memetic: float = 0.0
    islands: int = 1
    asynchronous: bool = False
    timeout: float | None = None

    def settings(self) -> dict[str, Any]:
        """Return what differs from a plain search, as JSON-able data; the results depend on nothing else here."""
        plain = asdict(PLAIN)
        return {key: value for key, value in asdict(self).items() if value != plain[key] and key != "start_from"}

    def keys(self) -> dict[str, Any]:
        """Return what differs from a plain search as an experiment file says it."""
        told = {key: value for key, value in self.settings().items() if key != "start_digest"}
        # What pays is chosen where a file does not say it; none has to be said.
        return {**told, "memetic": self.memetic, **({"start_from": list(self.start_from)} if self.start_from else {})}

    @staticmethod
    def of(data: Mapping[str, Any]) -> Method:
        """Return how a run searches from JSON-able data of all its fields."""
        return Method(**{**data, "start_from": tuple(data["start_from"])})


PLAIN = Method()
