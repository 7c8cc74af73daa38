"""The price of time: what an hour of each design costs with all of its system, or what a user says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.problem.figures import Figures, TotalCostOfOwnership, system_cost, system_watts
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import ReadsDesigns, SearchProblem

ASSUMED = TotalCostOfOwnership(years=4.0, usd_per_kWh=0.10, pue=1.2)
"""Operation of a system whose file has no `tco`; whatever rests on it says so."""

_VALUE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(?:USD\s*)?(?:(?:/|per )\s*(?:[GNTX]PU[- ])?(?:hour|h))?", re.IGNORECASE)
_HOUR = 3600.0

_OF_USERS = ("ttft", "tpot", "time", "tokens-per-s")
"""Quantities that say how long users wait, and how many are served."""


@dataclass(frozen=True, kw_only=True)
class HourPrice:
    """The price of an hour of n designs, and the work that they do in it.

    Attributes
    ----------
    tco : years of operation, price of energy, PUE; `assumed` where the file has none.
    npus : (n,) at work; None where they are not known.
    total_usd : (n,) USD of each whole system, with its energy over the years; None where some price is not known.
    value : USD of an NPU-hour that a user has given; None where the total decides.
    missing : why there is no total.
    parts : what an hour is paid for, in words.
    left_out : what the total does not have.
    tokens : (n,) tokens of an iteration; None where they are not known.
    training_tokens : of the whole training that the file describes; None where it does not say.
    serves : whether users wait for the time; `users_limited` : whether the file limits that, or how many it serves.
    """

    tco: TotalCostOfOwnership = ASSUMED
    assumed: bool = True
    npus: FloatArray | None = None
    total_usd: FloatArray | None = None
    value: float | None = None
    missing: str = ""
    parts: tuple[str, ...] = ()
    left_out: str = ""
    tokens: FloatArray | None = None
    training_tokens: float | None = None
    serves: bool = False
    users_limited: bool = False

    @property
    def hours(self) -> float:
        """Hours of operation."""
        return self.tco.seconds / _HOUR

    def usd_per_npu_hour(self) -> FloatArray | None:
        """Return (n,) USD of an hour of one NPU with all that is around it; None where no price is known."""
        if self.npus is None or (self.value is None and self.total_usd is None):
            return None
        if self.value is not None:
            return np.full(len(self.npus), self.value)
        assert self.total_usd is not None  # noqa: S101 - internal error
        return np.asarray(self.total_usd / self.hours / self.npus)


def hour_price(
    problem: SearchProblem | None,
    designs: Sequence[str] | None,
    value: float | None = None,
    *,
    fabrics: bool = False,
    count: int = 0,
) -> HourPrice:
    """Return the price of an hour of designs in the notation.

    The total is the price of NPUs, hosts and network, and their energy under load: `system-tco` of
    `evo_libra.problem.objectives`, without the energy where no source gives the power. Designs may be known as
    `fabrics` without their problem; those of a problem in Python have no notation. If a problem of fabrics is at hand,
    each of `count` designs has its NPUs, whose hours a user may give a price.
    """
    if not isinstance(problem, Problem) or designs is None:
        fabrics = fabrics or isinstance(problem, ReadsDesigns)
        known = "the cost of a fabric is without its NPUs" if fabrics else "a problem in Python has no prices of NPUs"
        why = known if fabrics or problem is not None or designs is None else "the problem is not at hand"
        npus = np.full(count, float(problem.npus)) if isinstance(problem, ReadsDesigns) else None
        return HourPrice(value=value, missing=why, npus=npus)
    read = problem.read(list(designs))
    return hour_price_of(problem, problem.measure(read, timed=False), value)


def hour_price_of(
    problem: Problem, figures: Figures, value: float | None = None, tco: TotalCostOfOwnership | None = None
) -> HourPrice:
    """Return the price of an hour of designs with some figures, and with other years of operation where given."""
    stated = problem.sources.tco
    npus = figures.npus.prod(axis=0).astype(np.float64)
    found = HourPrice(
        tco=tco or stated or ASSUMED, assumed=stated is None, value=value, npus=npus,
        tokens=_tokens(figures, len(npus)), training_tokens=training_tokens(problem), serves=_serves(problem),
        users_limited=_serves(problem) and any(one.quantity in _OF_USERS for one in problem.constraints),
    )  # fmt: skip
    return _with_total(found, problem, figures)


def _with_total(found: HourPrice, problem: Problem, figures: Figures) -> HourPrice:
    lacking = [row.name for row in problem.sources.system.lacking("price")]
    if figures.npu_price is None or lacking:
        return replace(found, missing=f"{', '.join(lacking) or 'the NPU'} has no price")
    usd = np.broadcast_to(system_cost(figures), figures.cost.shape)
    around = ("hosts",) if problem.sources.system.rows else ()
    parts = ("NPUs", *around, "network") if problem.book is None else ("the whole order",)
    found = replace(found, total_usd=np.asarray(usd), parts=parts)
    if figures.npu_watts is None or not problem.pricing.kits or problem.sources.system.lacking("watts"):
        return replace(found, left_out="Energy is left out: some part has no power.")
    return replace(found, total_usd=np.asarray(usd + found.tco.cost(system_watts(figures))), parts=(*parts, "energy"))


def _serves(problem: Problem) -> bool:
    return any(loop.workload.answer_tokens is not None for loop in problem.time.loops)


def answer_tokens(problem: Problem) -> float | None:
    """Return the tokens of an answer of the only workload, if it is served."""
    served, *others = (loop.workload for loop in problem.time.loops)
    return None if others else served.answer_tokens


def _tokens(figures: Figures, count: int) -> FloatArray | None:
    if figures.training is None or figures.training.tokens is None:
        return None
    return np.broadcast_to(np.asarray(figures.training.tokens, dtype=np.float64), (count,))


def training_tokens(problem: Problem) -> float | None:
    """Return the tokens of the training that the file describes, if it describes a single one."""
    known = [getattr(loop.workload, "training_tokens", None) for loop in problem.time.loops]
    return known[0] if len(known) == 1 else None


def read_value(text: str) -> float:
    """Return the USD of an NPU-hour from a text; an `InputError` says that it is none.

    >>> read_value("2USD/GPU-hour"), read_value("2.5 USD/h"), read_value("3")
    (2.0, 2.5, 3.0)
    """
    match = _VALUE.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise InputError(f"found '{text}'; a price of an NPU-hour is needed, such as 2USD/GPU-hour")
    return float(match[1])
