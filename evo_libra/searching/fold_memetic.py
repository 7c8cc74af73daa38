"""The memetic step: designs of the archive made better by something that knows the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evo_libra.errors import InputError
from evo_libra.front.archive import Archive
from evo_libra.arrays import FloatArray
from evo_libra.problem.local_search import best_bandwidths
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engine import WITHOUT_CHANCE

STEP = 250
"""Designs of a step. A batch is as dear as its largest part is long: hundreds of designs, not a few."""
MOST = 0.5
"""Share that improving designs may take at most."""
_PAYS = {"nsga2": 0.05, "nsga3": 0.05}


@dataclass(frozen=True)
class Improve:
    """How often, and how many.

    Attributes
    ----------
    better : returns better genes for (g, n) genes; they are evaluated and told to the engine.
    every : evaluations between two steps.
    count : designs of a step, spread over the archive.
    """

    better: Callable[[FloatArray], FloatArray]
    every: int = 5_000
    count: int = STEP


def memetic_share(problem: SearchProblem, engine: str, asked: float | None = None) -> float:
    """Return the share of its evaluations that a search gives to designs with better bandwidths.

    It is what is asked for, else what the settings of the problem say, else what was measured to pay: with exact
    bandwidths under LIBRA's time, for the array engines, which learn from designs that they have not asked for. See
    `tests/benchmarks/memetic.py`. Engines that leave nothing to chance have none unless it is asked for.
    """
    if asked is not None:
        return asked
    if engine in WITHOUT_CHANCE or best_bandwidths(problem) is None:
        return 0.0
    own = problem.settings.memetic
    return _PAYS.get(engine, 0.0) if own is None else own


def step_of(problem: SearchProblem, share: float) -> Improve | None:
    """Return the step that takes a share of the evaluations; None for a share of 0.

    Raises
    ------
    InputError : the share is out of range, or the problem has no exact bandwidths.
    """
    if not share:
        return None
    if not 0 <= share <= MOST:
        raise InputError(f"memetic: found {share:g}; it must be a number from 0 to {MOST:g}")
    better = best_bandwidths(problem)
    if better is None:
        raise InputError(
            f"memetic: '{problem.name}' has no exact bandwidths to improve designs by; that takes a problem file with "
            "bandwidths that are searched, time: libra, and the objectives time and cost"
        )
    return Improve(better, max(round(STEP / share), 1), STEP)


def improved(rule: Improve, archive: Archive, most: int) -> FloatArray:
    """Return (g, k) better genes, k at most `most`."""
    count = min(rule.count, most, len(archive))
    return rule.better(np.take(archive.genes, archive.spread(count), axis=1)) if count else archive.genes[:, :0]
