"""The ideal: the least time at each cost that any design of a space has, exact and proven.

Every combination gets a cheap bound first: time is at least ``base + kappa / cost`` and at least its time with all
bandwidths at their caps. At each cost the combination with the lowest bound is solved, until no bound is below the best
time found. A solved combination's multipliers bound its time at all other costs, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray
from evo_libra.bandwidth.program import Optimum
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.optimality.bounds import EXACT, VariantBounds, bound_variants, topologies_of
from evo_libra.problem.allocate import program_for, shrunk
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST

_COARSE = 48
_BATCH = 256


@dataclass(frozen=True)
class TangentLines:
    """Lower bounds from solved variants at every cost: ``height - slope * (cost - at)``, m of them."""

    variant: IntArray
    at: FloatArray
    height: FloatArray
    slope: FloatArray

    def join(self, other: TangentLines) -> TangentLines:
        """Return both."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return TangentLines(*map(np.concatenate, pairs))


@dataclass(frozen=True)
class Ideal:
    """Least times at some costs, as far as variants have been bounded.

    Attributes
    ----------
    cost : (k,) USD, ascending: the budgets.
    time : (k,) seconds of the best designs found; infinite where there are none.
    variant : (k,) their index in the bounds; `bandwidth` : (d, k) theirs.
    bound : (k,) seconds that none of the variants undercuts.
    lines : bounds that were proven on the way.
    """

    cost: FloatArray
    time: FloatArray
    variant: IntArray
    bandwidth: FloatArray
    bound: FloatArray
    lines: TangentLines


def empty_ideal(cost: FloatArray, depth: int) -> Ideal:
    """Return an ideal before any variant has been bounded."""
    count, empty = len(cost), np.empty(0)
    lines = TangentLines(np.empty(0, dtype=np.int64), empty, empty, empty)
    none = np.full(count, np.inf)
    return Ideal(cost, none, np.full(count, -1), bandwidth=np.zeros((depth, count)), bound=none.copy(), lines=lines)


def with_variants(problem: Problem, bounds: VariantBounds, chosen: IntArray, ideal: Ideal) -> Ideal:
    """Return the ideal once (v,) more variants have been bounded."""
    part = bounds.select(chosen)
    time, variant, bandwidth = ideal.time.copy(), ideal.variant.copy(), ideal.bandwidth.copy()
    lower, lines = part.bound(ideal.cost), ideal.lines
    solved = np.isinf(lower)
    live = np.arange(len(part))
    while True:
        waiting = np.where(solved[live] | (lower[live] >= time * (1.0 - EXACT)), np.inf, lower[live])
        # Times only fall and bounds only rise: a variant without open levels is done.
        some = np.isfinite(waiting).any(axis=1)
        live, waiting = live[some], waiting[some]
        if not len(live):
            break
        row, levels = _lowest(waiting)
        which = live[row]
        found = _solve(problem, part.select(which), ideal.cost[levels])
        solved[which, levels] = True
        lower[which, levels] = np.maximum(lower[which, levels], found.bound)
        # The last one that is written at a level is the best of this round there.
        better = np.flatnonzero(found.objective < time[levels])
        better = better[np.argsort(-found.objective[better], kind="stable")]
        target = levels[better]
        time[target], bandwidth[:, target] = found.objective[better], found.bandwidth[:, better]
        variant[target] = chosen[which[better]]
        finite = np.flatnonzero(np.isfinite(found.bound))
        new = TangentLines(
            chosen[which[finite]],
            ideal.cost[levels[finite]],
            found.bound[finite],
            np.maximum(found.multipliers.rows[-1, finite], 0.0),
        )
        lines = lines.join(new)
        for v in np.unique(which[finite]):
            mine = which[finite] == v
            lower[v] = np.maximum(lower[v], _nearest(new.at[mine], new.height[mine], new.slope[mine], ideal.cost))
    return Ideal(
        ideal.cost, time, variant, bandwidth=bandwidth,
        bound=np.minimum(ideal.bound, lower.min(axis=0, initial=np.inf)), lines=lines,
    )  # fmt: skip


def _lowest(waiting: FloatArray) -> tuple[IntArray, IntArray]:
    """Return rows and columns of the lowest entries of each column, enough for an efficient batch."""
    columns = np.flatnonzero(np.isfinite(waiting).any(axis=0))
    count = int(np.clip(_BATCH // len(columns), 1, len(waiting)))
    rows = np.argpartition(waiting[:, columns], count - 1, axis=0)[:count]
    row, column = rows.ravel(), np.tile(columns, count)
    finite = np.isfinite(waiting[row, column])
    return row[finite], column[finite]


def _solve(problem: Problem, part: VariantBounds, budget: FloatArray) -> Optimum:
    designs = topologies_of(problem, part)
    program = program_for(problem.traffic, problem.constraints, designs, budget)
    found = optimal_bandwidth(program)
    return replace(found, bandwidth=shrunk(program, found.bandwidth))


def _nearest(at: FloatArray, height: FloatArray, slope: FloatArray, cost: FloatArray) -> FloatArray:
    """Return (k,) the larger one of the two lines next to each cost; the lines are of one variant."""
    order = np.argsort(at)
    at, height, slope = at[order], height[order], slope[order]
    right = np.searchsorted(at, cost).clip(0, len(at) - 1)
    left = np.maximum(right - 1, 0)
    return np.asarray(
        np.maximum(height[left] - slope[left] * (cost - at[left]), height[right] - slope[right] * (cost - at[right]))
    )


def bound_at(bounds: VariantBounds, ideal: Ideal, cost: FloatArray) -> FloatArray:
    """Return (k,) seconds that no variant undercuts at other costs than those of the ideal."""
    lower = np.full(len(cost), np.inf)
    solved = np.unique(ideal.lines.variant)
    rest = np.setdiff1d(np.arange(len(bounds)), solved)
    for v in solved:
        mine = ideal.lines.variant == v
        line = _nearest(ideal.lines.at[mine], ideal.lines.height[mine], ideal.lines.slope[mine], cost)
        lower = np.minimum(lower, np.maximum(line, bounds.select(np.array([v])).bound(cost)[0]))
    for v in _extreme(bounds.select(rest)):
        lower = np.minimum(lower, bounds.select(rest[v : v + 1]).bound(cost)[0])
    return lower


def _extreme(bounds: VariantBounds) -> IntArray:
    """Return the variants whose bound is the lowest one somewhere."""
    values = np.stack([bounds.base, bounds.kappa, bounds.min_time, bounds.min_cost])
    order = np.lexsort(values[::-1])
    kept: list[int] = []
    for v in order:
        if not kept or not (values[:, kept] <= values[:, v : v + 1]).all(axis=0).any():
            kept.append(int(v))
    return np.array(kept, dtype=np.int64)


def levels(problem: Problem, bounds: VariantBounds, count: int) -> FloatArray:
    """Return (count,) costs in even steps along the ideal on logarithmic axes, from the cheapest design to the fastest.

    If cost is no objective there is one level, at which nothing is out of reach.
    """
    if COST not in problem.objectives:
        return np.array([2.0 * problem.pricing.max_cost()])
    low, highest = problem.budgets()
    low = max(low, float(bounds.min_cost.min()))
    fastest = np.flatnonzero(bounds.min_time <= bounds.min_time.min() * (1.0 + EXACT))
    designs = topologies_of(problem, bounds.select(fastest))
    program = program_for(problem.traffic, problem.constraints, designs, None)
    found = optimal_bandwidth(program)
    cost = (designs.price * shrunk(program, found.bandwidth)).sum(axis=0)[np.isfinite(found.objective)]
    high = max(float(cost.min()) if len(cost) else highest, low)
    # Next to the cheapest design the ideal is steep.
    coarse = np.unique([*np.geomspace(low, high, _COARSE), *(low + (high - low) * np.geomspace(1e-7, 1, _COARSE))])
    # If a combination becomes affordable the ideal may jump.
    jumps = np.unique(bounds.min_cost[(bounds.min_cost > low) & (bounds.min_cost < high)])
    jumps = jumps[:: max(1, -(-len(jumps) // (count // 4 + 1)))]
    ideal = ideal_of(problem, coarse, bounds)
    reached = np.isfinite(ideal.time)
    if count == 1 or not reached.any() or high <= low:
        return np.array([high])
    axes = np.log(np.stack([ideal.cost[reached], ideal.time[reached]]))
    span = np.ptp(axes, axis=1, keepdims=True)
    steps = np.abs(np.diff(axes / np.where(span > 0, span, 1.0), axis=1)).max(axis=0)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    chosen = np.exp(np.interp(np.linspace(0.0, along[-1], count - len(jumps)), along, axes[0]))
    return np.sort(np.clip(np.concatenate([chosen, jumps]), ideal.cost[reached][0], high))


def tiles(bounds: VariantBounds) -> Iterator[IntArray]:
    """Yield the variants in tiles, those that promise most first."""
    order = np.argsort(bounds.kappa, kind="stable")
    for start in range(0, len(order), TILE):
        yield order[start : start + TILE]


def ideal_of(problem: Problem, cost: FloatArray, bounds: VariantBounds | None = None) -> Ideal:
    """Return the least time at each of (k,) costs in USD, over every design of the space; infinite below the cheapest.

    The bounds are those of `bound_variants`, if they are known. An `InputError` says that time is no objective.
    """
    bounds = bounds or bound_variants(problem)
    ideal = empty_ideal(np.sort(np.asarray(cost, dtype=np.float64)), len(problem.choices))
    for tile in tiles(bounds):
        ideal = with_variants(problem, bounds, tile, ideal)
    return ideal
