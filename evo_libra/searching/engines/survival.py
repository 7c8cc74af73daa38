"""Ranks and crowding of a population, all fronts at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import moocore
import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns
from evo_libra.front.archive import front, pareto_filter
from evo_libra.front.staircase import stable_order
from evo_libra.searching.engines.variation import first_of_kind, row_hash

ENDS = 1e300
"""Crowding distance of the ends of a front: finite, so that a state is plain numbers."""

_PAIR = 2
_MAX_COUNTED = 2**16 - 1
_UNFILTERED = 2000
"""Number of designs up to which their front of three and more objectives takes less time than making a filter."""


class Crowding:
    """Selection of NSGA-II: the better front, then the less crowded."""

    def memory(self, objectives: int, population: int) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Return the front and the crowding distance of each member, of whom there are none yet."""
        return {"front": np.empty(0, dtype=np.int64), "crowding": np.empty(0)}

    def parents(self, arrays: Mapping[str, NDArray[Any]], count: int, random: np.random.Generator) -> IntArray:
        """Return `count` winners of binary tournaments; between equals the first one wins."""
        members = len(arrays["front"])
        return winners(arrays, turns(members, count, random), turns(members, count, random))

    def survivors(
        self,
        arrays: Mapping[str, NDArray[Any]],
        objectives: FloatArray,
        violation: FloatArray,
        random: np.random.Generator,  # noqa: ARG002 - nothing is left to chance
    ) -> tuple[IntArray, dict[str, NDArray[Any]]]:
        """Return which designs survive, with their fronts and crowding distances."""
        kept, front, distance = survivors(objectives, violation, int(arrays["size"]))
        return kept, {"front": front, "crowding": distance}


def winners(arrays: Mapping[str, NDArray[Any]], one: IntArray, two: IntArray) -> IntArray:
    """Return the winners of (n,) members and opponents: the better front, then the less crowded, then the first one."""
    front, crowding = arrays["front"], arrays["crowding"]
    wins = crowding[two] > crowding[one]
    if front.any():
        ahead, behind = front[two], front[one]
        wins = (ahead < behind) | ((ahead == behind) & wins)
    return np.where(wins, two, one)


def turns(members: int, count: int, random: np.random.Generator) -> IntArray:
    """Return `count` members in random order; each has as many turns as the others, give or take one."""
    order = _shuffled(members, random)
    return order[:count] if count <= members else np.concatenate([order] * -(-count // members))[:count]


def _shuffled(members: int, random: np.random.Generator) -> IntArray:
    """Return the members in random order: in that of random numbers, whose low bits are the members'."""
    mask = np.uint64((1 << members.bit_length()) - 1)
    keys = np.asarray(random.bit_generator.random_raw(members), dtype=np.uint64)
    keys &= ~mask
    keys |= np.arange(members, dtype=np.uint64)
    keys.sort()
    keys &= mask
    return keys.view(np.int64)


def ranks(objectives: FloatArray, violation: FloatArray) -> IntArray:
    """Return the (n,) number of the front that each design is in, under constraint domination (Deb et al. 2002).

    Feasible designs are ranked by dominance. Of designs with equal objectives only the last one is; the others come
    after all of these, in fronts of their own, as on a problem of parts they would otherwise fill the population. The
    last one is the youngest: its genes are others, and the search drifts on to their neighbours. Infeasible designs
    follow, those of one violation in a front of their own.
    """
    broken = violation > 0
    if not broken.any():
        return _feasible_ranks(objectives)
    feasible = np.flatnonzero(~broken)
    rank = np.empty(len(violation), dtype=np.int64)
    rank[feasible] = _feasible_ranks(columns(objectives, feasible))
    _, level = np.unique(violation[broken], return_inverse=True)
    rank[broken] = rank[feasible].max(initial=-1) + 1 + level
    return rank


def _feasible_ranks(objectives: FloatArray) -> IntArray:
    if not objectives.shape[1]:
        return np.empty(0, dtype=np.int64)
    rank = np.asarray(moocore.pareto_rank(np.ascontiguousarray(objectives.T)), dtype=np.int64)
    repeated = ~first_of_kind(row_hash(objectives)[::-1], np.empty(0, np.uint64))[::-1]
    rank[repeated] += 1 + rank.max()
    return rank


def crowding(objectives: FloatArray, front: IntArray) -> FloatArray:
    """Return the (n,) crowding distances (Deb et al. 2002) within fronts, 0 for repeats in a front; ends have `ENDS`.

    One sort an objective over all fronts; of two objectives one does for both, as the designs of a front that are
    sorted by the first one are sorted by the second one, too.
    """
    if not len(front):
        return np.empty(0)
    if len(objectives) == _PAIR:
        order = _order(objectives[0], front)
        order = order[_changes(objectives[0][order]) | _changes(front[order])]
        orders = [order, order]
    else:
        distinct = np.flatnonzero(first_of_kind(row_hash(np.vstack([objectives, front])), np.empty(0, np.uint64)))
        orders = [distinct[_order(values[distinct], front[distinct])] for values in objectives]
    ordered = np.stack([values[order] for values, order in zip(objectives, orders, strict=True)])
    distance = np.zeros(objectives.shape[1])
    for order, gap in zip(orders, _gaps(ordered, front[orders[0]]), strict=True):
        distance[order] += gap
    return np.minimum(distance / len(objectives), ENDS)


def _gaps(values: FloatArray, front: IntArray) -> FloatArray:
    """Return (m, k) distances between the neighbours of values over the range of their front; infinite at its ends."""
    bounds = np.flatnonzero(_changes(front))
    ends = np.concatenate([bounds[1:], [len(front)]]) - 1
    span = np.abs(values[:, ends] - values[:, bounds])
    wide = span > 0
    scale = np.divide(1.0, span, out=np.zeros_like(span), where=wide)
    between = np.abs(values[:, 1:] - values[:, :-1])
    gap = np.zeros(values.shape)
    gap[:, 1:] += between
    gap[:, :-1] += between
    gap *= np.repeat(scale, ends - bounds + 1, axis=1) if len(bounds) > 1 else scale
    # In an objective that is the same all over a front no design is at an end; but one or two alone are.
    row, column = np.nonzero(wide | (ends - bounds < _PAIR))
    gap[row, bounds[column]] = gap[row, ends[column]] = np.inf
    return gap


def _changes(ordered: FloatArray | IntArray) -> BoolArray:
    changes = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return changes


def _order(values: FloatArray, front: IntArray) -> IntArray:
    """Return the order by front, then value, then place."""
    order = stable_order(values)
    # Whole numbers of 16 bits are sorted by counting.
    small = front.astype(np.uint16) if front.max(initial=0) <= _MAX_COUNTED else front
    return order[np.argsort(small[order], kind="stable")]


def by_front(rank: IntArray, size: int) -> tuple[BoolArray, BoolArray]:
    """Return (n,) which designs survive with all of their front, and which are of the front that is cut."""
    last = int(np.searchsorted(np.cumsum(np.bincount(rank)), size))
    return np.asarray(rank < last), np.asarray(rank == last)


def largest(values: FloatArray, count: int) -> BoolArray:
    """Return (n,) which are the `count` largest values; of equal ones the first."""
    if count >= len(values) or not count:
        return np.full(len(values), count > 0)
    threshold = np.partition(values, len(values) - count)[len(values) - count]
    chosen = np.asarray(values > threshold)
    tied = np.flatnonzero(values == threshold)
    chosen[tied[: count - int(chosen.sum())]] = True
    return chosen


Thin = Callable[[FloatArray, int], tuple[IntArray, FloatArray]]
"""Returns some designs of a front, sorted by its first objective, and the figure of each in tournaments."""


def least_crowded(front: FloatArray, size: int) -> tuple[IntArray, FloatArray]:
    """Return the `size` designs of a front that are the least crowded, and their crowding distances."""
    distance = along(front)
    kept = np.flatnonzero(largest(distance, size))
    return kept, columns(distance, kept)


def survivors(
    objectives: FloatArray, violation: FloatArray, size: int, thin: Thin = least_crowded
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the (k,) survivors of NSGA-II, at most `size`, with their fronts and crowding distances.

    If the first front alone is larger than that, `thin` decides who survives, and what each one counts.
    """
    feasible = np.flatnonzero(violation <= 0) if (violation > 0).any() else None
    values = objectives if feasible is None else columns(objectives, feasible)
    if values.shape[1] >= size:
        first = _first_front(values)
        # Most of a search its first front is larger than the population: nothing else has to be ranked.
        if len(first) >= size:
            best, value = thin(columns(values, first), size)
            kept = columns(first, best)
            every = kept if feasible is None else feasible[kept]
            return every, np.zeros(size, dtype=np.int64), value
    rank = ranks(objectives, violation)
    safe, cut = by_front(rank, size)
    chosen, distance = safe.copy(), np.zeros(len(rank))
    crowded = np.flatnonzero((safe | cut) & (violation <= 0))
    distance[crowded] = crowding(columns(objectives, crowded), rank[crowded])
    chosen[cut] = largest(distance[cut], size - int(safe.sum()))
    kept = np.flatnonzero(chosen)
    return kept, rank[kept], distance[kept]


def _first_front(objectives: FloatArray) -> IntArray:
    """Return which designs nothing dominates, of equal ones the first, sorted by the first objective."""
    if len(objectives) == _PAIR:
        return front(objectives)
    able = np.arange(objectives.shape[1]) if objectives.shape[1] <= _UNFILTERED else _able(objectives)
    able = able[stable_order(columns(objectives[0], able))]
    return np.asarray(able[moocore.is_nondominated(np.ascontiguousarray(columns(objectives[::-1], able).T))])


def _able(objectives: FloatArray) -> IntArray:
    """Return the designs without most of those that are dominated.

    The first half is the population, as a rule: it tells of most children that they are dominated.
    """
    half = objectives.shape[1] // 2
    children = half + np.flatnonzero(pareto_filter(objectives[:, :half]).passes(objectives[:, half:]))
    return np.concatenate([np.arange(half), children])


def along(objectives: FloatArray) -> FloatArray:
    """Return (n,) what `crowding` does, for one front without repeats, sorted by its first objective."""
    count = objectives.shape[1]
    if count <= _PAIR:
        return np.full(count, ENDS)
    # The second of two objectives falls where the first one rises.
    orders = [None if len(objectives) == _PAIR else stable_order(values) for values in objectives[1:]]
    distance = np.zeros(count)
    for values, order in zip(objectives, [None, *orders], strict=True):
        ordered = values if order is None else columns(values, order)
        span = abs(ordered[-1] - ordered[0])
        if span > 0:
            gap = np.empty(count)
            gap[0] = gap[-1] = ENDS
            np.subtract(ordered[2:], ordered[:-2], out=gap[1:-1])
            np.abs(gap, out=gap)
            gap[1:-1] *= 1.0 / (span * len(objectives))
            if order is None:
                distance += gap
            else:
                distance[order] += gap
    return np.minimum(distance, ENDS, out=distance)
