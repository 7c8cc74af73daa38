"""The memetic step: designs of the archive made better by something that knows the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evo_libra.front.archive import Archive
from evo_libra.model.arrays import FloatArray
from evo_libra.problem.improve import best_bandwidths
from evo_libra.problem.protocol import SearchProblem

_PAYS = ("nsga2", "nsga3")


@dataclass(frozen=True)
class Improve:
    """How often, and how many. A batch is as dear as its largest part is long: hundreds of designs, not a few.

    Attributes
    ----------
    better : returns better genes for (g, n) genes; they are evaluated and told to the engine.
    every : evaluations between two steps.
    count : designs of a step, spread over the archive.
    """

    better: Callable[[FloatArray], FloatArray]
    every: int = 5_000
    count: int = 250


def usual(problem: SearchProblem, engine: str) -> Improve | None:
    """Return the step that a search has unless it is told otherwise; None for none.

    It is there where it was measured to pay: exact bandwidths under LIBRA's time, with the array engines, which learn
    from designs that they have not asked for. See `tests/benchmarks/memetic.py`.
    """
    better = best_bandwidths(problem) if engine in _PAYS else None
    return None if better is None else Improve(better)


def improved(rule: Improve, archive: Archive, most: int) -> FloatArray:
    """Return (g, k) better genes, k at most `most`."""
    count = min(rule.count, most, len(archive))
    return rule.better(np.take(archive.genes, archive.spread(count), axis=1)) if count else archive.genes[:, :0]
