"""Partial combinations: their inner dimensions are chosen, and one relaxed dimension stands for all others.

The relaxed dimension has all remaining NPUs. A process group sends as many bytes over it as over the others together
(shrinking messages: exactly; all-to-all: at most), as ``max_i a_i / b_i >= sum a_i / sum b_i``. Its price is the lowest
one of the others, its cap is the sum of their caps, and its floor is their lowest floor. So its best time at any budget
is below that of every completion. A complete combination is one without NPUs left.

Plans that lie alike on networks are one: the smallest coefficients of a group of them bound all of its plans.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.bandwidth.program import BandwidthProgram, ascend, hyperbola
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.optimality.bounds import EXACT, CostBounds
from evo_libra.optimality.useful_ways import UsefulOptions
from evo_libra.problem.plans import UsefulPlans
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST

_STEPS = 8
_ACCURACY = 1e-4
"""Of the tangents, whose proofs hold whatever their accuracy."""
_ROWS, _SPAN = 256, 16
_HELD = 1e-6
"""Relative distance from a least cost within which a solver may still take it for held."""


@dataclass(frozen=True)
class Budgets:
    """Costs to prove a bound at: (k,) USD, ascending, and (k,) seconds of the best designs known, infinite without."""

    cost: FloatArray
    time: FloatArray


@dataclass(frozen=True)
class Prefixes:
    """Partial combinations, m of them.

    Attributes
    ----------
    npus, technology : (d, m) of the dimensions that are chosen, 1 and the technology of the last one for the others.
    depth, left, last : (m,) dimensions chosen, NPUs left, technology of the last one, -1 for none.
    group : (m,) group of plans that lie alike.
    """

    npus: IntArray
    technology: IntArray
    depth: IntArray
    left: IntArray
    last: IntArray
    group: IntArray

    def __len__(self) -> int:
        return len(self.depth)

    def select(self, chosen: IntArray | slice) -> Self:
        """Return some of them."""
        return type(self)(**{name: array[..., chosen] for name, array in vars(self).items()})

    def whole(self) -> tuple[IntArray, IntArray]:
        """Return the places of those with NPUs left, and (d, m) sizes in which one dimension has all that are left."""
        open_, whole = np.flatnonzero(self.left > 1), self.npus.copy()
        whole[self.depth[open_], open_] = self.left[open_]
        return open_, whole


@dataclass(frozen=True)
class PartialStructures(Prefixes, CostBounds):
    """Partial combinations with their bounds.

    Attributes
    ----------
    at, height, slope : (m,) time is at least ``height - slope * (cost - at)``, too.
    score : (m,) least ratio at any cost of the bound to the best time known.
    """

    at: FloatArray
    height: FloatArray
    slope: FloatArray
    score: FloatArray

    def bound(self, cost: FloatArray) -> FloatArray:
        """Return the (m, k) seconds that no completion undercuts at (k,) costs; infinite below its lowest cost."""
        bound = self.kappa[:, None] / cost
        bound += self.base[:, None]
        np.maximum(bound, self.min_time[:, None], out=bound)
        if np.isfinite(self.height).any():
            np.maximum(bound, (self.height + self.slope * self.at)[:, None] - self.slope[:, None] * cost, out=bound)
        bound[cost < self.min_cost[:, None]] = np.inf
        return bound

    def prune(self, budgets: Budgets) -> Self:
        """Return those that may be better than the best known designs, with their scores."""
        place, score, _ = self.scores(budgets)
        return replace(self.select(place), score=score)

    def scores(self, budgets: Budgets) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the indices of those that may beat the best known designs, scores, and indices of budgets.

        The budget is that of the lowest bound.
        """
        found = [self._scored(slice(start, start + _ROWS), budgets) for start in range(0, max(len(self), 1), _ROWS)]
        place, score, level = (np.concatenate(column) for column in zip(*found, strict=True))
        return place, score, level

    def _scored(self, rows: slice, budgets: Budgets) -> tuple[IntArray, FloatArray, IntArray]:
        """Return `scores` of some rows."""
        part = self.select(np.arange(len(self))[rows])
        first = np.arange(0, len(budgets.cost), _SPAN)
        last = np.minimum(first + _SPAN, len(budgets.cost)) - 1
        with np.errstate(invalid="ignore"):
            # Times and bounds fall with the cost.
            some = np.flatnonzero((part.bound(budgets.cost[last]) < budgets.time[first]).any(axis=1))
            ratio = part.select(some).bound(budgets.cost) / budgets.time
        ratio[np.isnan(ratio)] = np.inf
        level = ratio.argmin(axis=1)
        score = ratio[np.arange(len(some)), level]
        kept = score < 1.0
        return rows.start + some[kept], score[kept], level[kept]


def root(problem: Problem, plans: UsefulPlans) -> Prefixes:
    """Return the combination without any dimension, once for each group of plans."""
    groups = plans.ways.examples.shape[1]
    column, none = np.ones((len(problem.choices), groups), dtype=np.int64), np.zeros(groups, np.int64)
    return Prefixes(column, column * 0, none, left=none + problem.counted.npus, last=none - 1, group=np.arange(groups))


def further(ways: UsefulOptions, nodes: PartialStructures) -> Prefixes:
    """Return every useful way to go on with partial combinations by one dimension."""
    if not len(nodes):
        return nodes
    states = np.stack([nodes.depth, nodes.left, nodes.last])
    kinds, which = np.unique(states, axis=1, return_inverse=True)
    parents, sizes, technologies = [], [], []
    for kind, (depth, left, last) in enumerate(kinds.T.tolist()):
        technology, size = ways.of(depth, left, last)
        mine = np.flatnonzero(which.ravel() == kind)
        parents.append(np.repeat(mine, len(size)))
        sizes.append(np.tile(size, len(mine)))
        technologies.append(np.tile(technology, len(mine)))
    parent, size, chosen = np.concatenate(parents), np.concatenate(sizes), np.concatenate(technologies)
    npus, technology, place = nodes.npus[:, parent], nodes.technology[:, parent], nodes.depth[parent]
    npus[place, np.arange(len(parent))] = size
    # Unused dimensions have the technology of the last one, as in a table.
    technology = np.where(np.arange(len(npus))[:, None] >= place, chosen, technology)
    return Prefixes(
        npus, technology, place + 1, left=nodes.left[parent] // size, last=chosen, group=nodes.group[parent]
    )


def bounded_children(
    problem: Problem, plans: UsefulPlans, ways: UsefulOptions, budgets: Budgets, prefixes: Prefixes
) -> PartialStructures:
    """Return those that may be better than the best known designs, with their bounds.

    But for a least cost, linear constraints are left out, which can only lower the bound.
    """
    # Before the first dimension is chosen, the accelerator is still open.
    technology = np.where(prefixes.depth > 0, prefixes.technology, -1)
    fits = problem.time.fits(prefixes.whole()[1], plans.ways.examples[:, prefixes.group], technology)
    prefixes = prefixes.select(np.flatnonzero(fits))
    program, price = _program(problem, plans, prefixes)
    base, kappa = hyperbola(program, ascend(program, price, _STEPS), price)
    none, min_time = np.zeros(len(prefixes)), optimal_bandwidth(program).bound
    min_cost = _min_cost(problem, ways, prefixes, price * program.low)
    found = PartialStructures(
        **vars(prefixes), base=base, kappa=kappa, min_time=min_time, min_cost=min_cost,
        at=none, height=none - np.inf, slope=none, score=none,
    )  # fmt: skip
    place, _, level = found.scores(budgets)
    found, program, price = found.select(place), program.select(place), price[:, place]
    return _tightened(found, program, price, budgets.cost[level]).prune(budgets)


def _tightened(
    found: PartialStructures, program: BandwidthProgram, price: FloatArray, budget: FloatArray
) -> PartialStructures:
    """Return partial combinations with the tangents of their programs at (m,) budgets."""
    asked = replace(program, rows=price[None], limit=budget[None], equality=np.zeros(1, dtype=np.bool_))
    best = optimal_bandwidth(asked, _ACCURACY)
    proven = np.isfinite(best.bound)
    slope = np.where(proven, np.maximum(best.multipliers.rows[0], 0.0), 0.0)
    return replace(found, at=budget, height=np.where(proven, best.bound, -np.inf), slope=slope)


def _program(problem: Problem, plans: UsefulPlans, prefixes: Prefixes) -> tuple[BandwidthProgram, FloatArray]:
    """Return the program of partial combinations with their relaxed dimensions, and (d, m) prices in USD per B/s."""
    technology, (open_, whole) = prefixes.technology, prefixes.whole()
    designs = problem.pricing.topologies_of(whole, technology, problem.pricing.cheapest(technology))
    place = prefixes.depth[open_], open_
    merged = _merged(problem, prefixes.depth[open_], prefixes.last[open_])
    for target, values in zip((designs.price, designs.low, designs.high), merged, strict=True):
        target[place] = values
    # In an open dimension a group gets all the bandwidth: no share of it can be more.
    chosen = designs.technology.copy()
    chosen[place] = -1
    topologies = replace(designs, technology=chosen, plan=plans.ways.examples[:, prefixes.group])
    return problem.traffic.program(topologies), designs.price


def _min_cost(problem: Problem, ways: UsefulOptions, prefixes: Prefixes, floors: FloatArray) -> FloatArray:
    """Return (m,) USD that no completion undercuts, from (d, m) USD of dimensions with their least bandwidths."""
    states = np.stack([prefixes.depth, prefixes.left, prefixes.last])
    kinds, which = np.unique(states, axis=1, return_inverse=True)
    further_cost = np.array([ways.min_cost(*kind) for kind in kinds.T.tolist()])[which.ravel()]
    chosen = np.arange(len(floors))[:, None] < prefixes.depth
    return np.asarray(
        np.maximum(((floors * chosen).sum(axis=0) + further_cost) * (1.0 - EXACT), _required_cost(problem))
    )


def _required_cost(problem: Problem) -> float:
    """Return the USD that constraints ask for at least."""
    asked = [c for c in problem.constraints if c.quantity == COST.name and (c.objective < 0 or c.equality)]
    return max((c.limit / c.objective * (1.0 - _HELD) for c in asked), default=0.0)


def _merged(problem: Problem, depth: IntArray, last: IntArray) -> FloatArray:
    """Return price, floor and cap of the one dimension that stands for all from a depth on: (3, m)."""
    pricing, space = problem.pricing, problem.counted
    kinds, which = np.unique(np.stack([depth, last]), axis=1, return_inverse=True)
    values = np.empty((3, kinds.shape[1]))
    for kind, (first, before) in enumerate(kinds.T.tolist()):
        cheapest, smallest, largest = np.inf, np.inf, 0.0
        for d in range(first, len(space.rules)):
            allowed = [t for t in space.rules[d].technologies if space.may_follow(t, before)]
            for t in allowed:
                cheapest = min(cheapest, float(pricing.min_price[d, t]))
                smallest = min(smallest, float(pricing.low[d, t]))
            largest += max((float(pricing.high[d, t]) for t in allowed), default=0.0)
        values[:, kind] = cheapest * problem.npus, smallest, largest
    return np.asarray(values[:, which.ravel()])
