"""When a search ends before its evaluations are used up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive
from evo_libra.front.front import Front
from evo_libra.front.indicators import hypervolume
from evo_libra.optimality.certificate import certify
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME, SearchProblem

_LOOKS = 10


@dataclass(frozen=True)
class Stagnation:
    """Ends a search when its hypervolume has hardly grown for long.

    Attributes
    ----------
    evaluations : number over which the hypervolume of the archive has to grow; it is measured ten times meanwhile.
    growth : share of itself by which the hypervolume has to grow.
    """

    evaluations: int
    growth: float = 1e-3

    def __post_init__(self) -> None:
        if self.evaluations < 1 or not 0 <= self.growth < 1:
            raise InputError(
                f"found a stagnation of {self.evaluations} evaluations that grow by {self.growth:g}; "
                "at least 1 is needed, and a growth from 0 to below 1"
            )

    @property
    def every(self) -> int:
        """Evaluations between two looks."""
        return max(self.evaluations // _LOOKS, 1)


@dataclass(frozen=True)
class Gap:
    """Ends a search when its front is proven to be near the best one.

    Attributes
    ----------
    target : largest gap that is good enough.
    measure : returns the gap of an archive; see `certified_gap`.
    every : evaluations before the first proof; each further one comes after a quarter more of them, as a proof takes as
        long as hundreds of thousands.
    """

    target: float
    measure: Callable[[Archive], float]
    every: int = 100_000

    def __post_init__(self) -> None:
        if not 0 <= self.target < np.inf or self.every < 1:
            raise InputError(f"found a gap of {self.target:g}; a number of at least 0 is needed")

    def due(self, before: int, after: int) -> bool:
        """Return whether a proof is due between two numbers of evaluations."""
        at = self.every
        while at <= before:
            at += max(at // 4, 1)
        return at <= after


@dataclass(frozen=True)
class Stop:
    """What ends a search, besides its number of evaluations; None for no such end.

    Attributes
    ----------
    seconds : wall time in s, earlier sessions included; how far the search gets depends on the machine.
    stagnation : ends the search after the same evaluations on every machine.
    gap : as `stagnation`.
    """

    seconds: float | None = None
    stagnation: Stagnation | None = None
    gap: Gap | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds < np.inf:
            raise InputError(f"found {self.seconds:g} s to search for; a number above 0 is needed")


@dataclass(frozen=True)
class Mark:
    """The archive when its hypervolume last grew by enough.

    Attributes
    ----------
    evaluations : then.
    objectives : (m, k) of it then.
    """

    evaluations: int = 0
    objectives: FloatArray = field(default_factory=lambda: np.empty((0, 0)))


def passed(before: int, after: int, every: int) -> bool:
    """Return whether a count has passed a multiple of a number."""
    return before // every < after // every


def grown(mark: Mark, archive: Archive, evaluations: int, rule: Stagnation) -> Mark:
    """Return the mark after a look at the archive: the old one where the hypervolume has not grown by enough since."""
    if not len(archive):
        return mark
    low, high = archive.objectives.min(axis=1), archive.objectives.max(axis=1)
    now = hypervolume(archive.objectives, low, high)
    then = hypervolume(mark.objectives, low, high) if mark.objectives.size else 0.0
    return Mark(evaluations, archive.objectives) if now - then > rule.growth * now else mark


def certified_gap(problem: SearchProblem) -> Callable[[Archive], float]:
    """Return the function that proves by how much a front is slower than the best one, at most, at any cost.

    It is `Certificate.largest_factor` less 1; an archive without designs has an infinite gap.

    Raises
    ------
    InputError : there is no such proof for the problem: it is written in Python, has another time than LIBRA's, or
        other objectives than time and cost.
    """
    if not isinstance(problem, Problem) or not problem.time.exact:
        raise InputError(f"no gap can be proven of '{problem.name}': that takes a problem file with time: libra")
    if {objective.name for objective in problem.objectives} != {TIME.name, COST.name}:
        raise InputError(f"no gap can be proven of '{problem.name}': its objectives are not time and cost")

    def measure(archive: Archive) -> float:
        if not len(archive):
            return np.inf
        rows = zip(problem.objectives, archive.objectives, strict=True)
        frame = pl.DataFrame({objective.column: values / objective.scale for objective, values in rows})
        return certify(problem, Front(frame, (TIME.column, COST.column))).largest_factor - 1.0

    return measure
