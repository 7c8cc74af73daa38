"""Fronts beside each other: hypervolume, epsilon, coverage, attainment over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import moocore
import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import front as non_dominated_in_order
from evo_libra.front.archive import non_dominated
from evo_libra.front.indicators import hypervolume, largest_factor

LEVELS = (0, 50, 100)
"""Attainment surfaces: what the best run attains, half of them, and all of them [% of the runs]."""
_ATTAINABLE = (2, 3)
_PAIR = 2


@dataclass(frozen=True)
class Measured:
    """A run beside the others.

    Attributes
    ----------
    hypervolume : on log10 axes on which the best of all runs together reach from 0 to 1; reference point 1.1.
    epsilon : the factor by which every objective would have to be better for the run to weakly dominate the best of all
        runs together; 1 is the best.
    designs : on the front.
    """

    hypervolume: float
    epsilon: float
    designs: int


@dataclass(frozen=True)
class Comparison:
    """Groups of runs beside each other; the runs of a group differ in their seeds alone.

    Attributes
    ----------
    objectives : the columns that are compared, all minimised.
    ideal, nadir : (m,) of the best of all runs together.
    runs : of each group, its runs.
    epsilon : of each pair of groups (a, b) the factor by which a would have to be better to weakly dominate b; the
        median over pairs of their runs.
    coverage : of each pair (a, b) the share of b's designs that a weakly dominates; the median over pairs of runs.
    attainment : of each group, for each of `LEVELS` the (m, k) corners of the surface that so many of its runs attain;
        empty for more than three objectives, where it is not known how to compute it fast.
    """

    objectives: tuple[str, ...]
    ideal: FloatArray
    nadir: FloatArray
    runs: Mapping[str, tuple[Measured, ...]]
    epsilon: Mapping[tuple[str, str], float]
    coverage: Mapping[tuple[str, str], float]
    attainment: Mapping[str, Mapping[int, FloatArray]]


def compare(objectives: tuple[str, ...], groups: Mapping[str, Sequence[FloatArray]]) -> Comparison:
    """Compare fronts.

    Parameters
    ----------
    objectives : names of the rows.
    groups : the (m, k) fronts of the runs of each group, all values above 0.

    Raises
    ------
    InputError : there is nothing to compare, or a front is empty.
    """
    fronts = [front for group in groups.values() for front in group]
    if not fronts:
        raise InputError("there are no runs to compare")
    if any(not front.shape[1] for front in fronts):
        raise InputError("a front is empty; it cannot be compared")
    every = np.concatenate(fronts, axis=1)
    kept = non_dominated(every)
    best = every[:, kept]
    # What nothing else weakly dominates is covered by no other front; all pairs need not ask for it again.
    alone = np.split(kept & ~_repeated(every), np.cumsum([front.shape[1] for front in fronts])[:-1])
    rest = iter([front[:, ~mask] for front, mask in zip(fronts, alone, strict=True)])
    contested = {name: [(front.shape[1], next(rest)) for front in group] for name, group in groups.items()}
    ideal, nadir = best.min(axis=1), best.max(axis=1)
    return Comparison(
        objectives,
        ideal,
        nadir,
        {name: tuple(_measured(front, best, ideal, nadir) for front in group) for name, group in groups.items()},
        {(a, b): _typical(_epsilon, groups[a], groups[b]) for a in groups for b in groups if a != b},
        {(a, b): _typical(_coverage, groups[a], contested[b]) for a in groups for b in groups if a != b},
        {name: _attainment(group) for name, group in groups.items() if len(objectives) in _ATTAINABLE},
    )


def _measured(front: FloatArray, best: FloatArray, ideal: FloatArray, nadir: FloatArray) -> Measured:
    return Measured(hypervolume(front, ideal, nadir), _epsilon(front, best), front.shape[1])


def _typical(measure: object, one: Sequence[FloatArray], other: Sequence[object]) -> float:
    assert callable(measure)  # noqa: S101 - one of the two below
    return float(np.median([measure(a, b) for a in one for b in other]))


def _epsilon(front: FloatArray, reference: FloatArray) -> float:
    """Return the multiplicative epsilon indicator (Zitzler et al. 2003)."""
    if len(front) == _PAIR:
        return _epsilon_of_two(front, reference)
    return largest_factor(front, reference)


def _epsilon_of_two(front: FloatArray, reference: FloatArray) -> float:
    """Return the same for two objectives, by one sort instead of all pairs."""
    x, y = front[:, non_dominated_in_order(front)]
    # Along a front x rises and y falls: the largest of both factors is the least where they cross.
    cross = np.searchsorted(x / y, reference[0] / reference[1])
    near = np.clip([cross - 1, cross], 0, len(x) - 1)
    return float(np.maximum(x[near] / reference[0], y[near] / reference[1]).min(axis=0).max())


def _repeated(designs: FloatArray) -> BoolArray:
    """Return (n,) which of (m, n) designs are equal to others."""
    order = np.lexsort(designs)
    same = (designs[:, order[1:]] == designs[:, order[:-1]]).all(axis=0)
    found = np.zeros(len(order), dtype=np.bool_)
    found[order[1:]] = same
    found[order[:-1]] |= same
    return found


def _coverage(front: FloatArray, other: tuple[int, FloatArray]) -> float:
    """Return the share of another front that a front weakly dominates (Zitzler and Thiele 1999).

    The other one is given as its number of designs and those of them that are not known to be outside of that share.
    """
    count, left = other
    while left.shape[1]:
        # The front comes first, so that of equal designs its own one is kept.
        beaten = ~non_dominated(np.concatenate([front, left], axis=1))[front.shape[1] :]
        if beaten.all():
            break
        # What is kept is not covered; it may have beaten others of its own front, which are asked for again.
        left = left[:, beaten]
    return float(left.shape[1] / count)


def _attainment(group: Sequence[FloatArray]) -> dict[int, FloatArray]:
    points = np.concatenate([_rows(front) for front in group])
    sets = np.repeat(np.arange(len(group)), [front.shape[1] for front in group])
    surface = moocore.eaf(points, sets=sets, percentiles=list(LEVELS))
    return {level: np.asarray(surface[surface[:, -1] == level, :-1]).T for level in LEVELS}


def _rows(front: FloatArray) -> FloatArray:
    return np.ascontiguousarray(front.T)
