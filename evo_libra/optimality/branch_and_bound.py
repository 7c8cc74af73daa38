"""Branch and bound over partial structures: a bound of the ideal where a space is too large to look at each structure.

A partial structure has its inner dimensions; one relaxed dimension with all remaining NPUs stands for the others. A
process group sends as many bytes over the relaxed dimension as over the others together (shrinking messages: exactly;
all-to-all: at most), as ``max_i a_i / b_i >= sum a_i / sum b_i``. Its price is the lowest one of the others, its cap is
the sum of their caps, and its floor is their lowest floor. So its best time at any budget is below that of every
completion.

Plans that lie alike on networks branch together: the smallest coefficients of a group of them bound all of its plans,
which are distinguished once a structure is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.bandwidth.program import ascend, hyperbola
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.optimality.bounds import CostBounds, VariantBounds, bounds_of, topologies_of
from evo_libra.optimality.ideal_bandwidth import Ideal, empty_ideal, with_variants
from evo_libra.problem.allocate import variants
from evo_libra.problem.plans import UsefulPlans, useful_plans
from evo_libra.problem.problem import Problem
from evo_libra.problem.space import CountedStructures

_BATCH = 256
_STEPS = 8
_CHUNK = 4096


@dataclass(frozen=True)
class _Open(CostBounds):
    """Partial structures, m of them, of which some completion may still be better than the best known design.

    Attributes
    ----------
    npus, technology : (d, m) of the dimensions that are chosen, 1 and 0 for the others.
    depth, left, last : (m,) dimensions chosen, NPUs left, technology of the last one.
    group : (m,) group of plans that lie alike; their smallest coefficients stand for all of them.
    score : (m,) how far below the best known time it may be at some cost, as a ratio.
    """

    npus: IntArray
    technology: IntArray
    depth: IntArray
    left: IntArray
    last: IntArray
    group: IntArray
    score: FloatArray


@dataclass(frozen=True)
class BoundProgress:
    """What is proven so far.

    Attributes
    ----------
    cost : (k,) USD, ascending.
    time : (k,) seconds of the best designs known; `bound` : (k,) seconds that no design undercuts.
    spent : (k,) USD that the best designs cost which were found on the way; infinite where none was.
    looked : partial and complete structures looked at; `waiting` : partial ones still open; `solved` : programs solved.
    """

    cost: FloatArray
    time: FloatArray
    bound: FloatArray
    spent: FloatArray
    looked: int
    waiting: int
    solved: int


def branch_and_bound(problem: Problem, cost: FloatArray, time: FloatArray) -> Iterator[BoundProgress]:
    """Yield ever tighter bounds of the least time at some costs; ends when each structure is excluded or solved.

    Linear constraints hold in complete structures; partial ones leave them out, which can only lower the bound.

    Parameters
    ----------
    problem : which designs there are.
    cost, time : (k,) USD, ascending, and the seconds known to be reached at these; infinity where none are.
    """
    space, plans = problem.counted, useful_plans(problem.time, problem.constraints)
    bounded = replace(problem, time=plans.ways.bound) if problem.time.tables else problem
    ideal = replace(empty_ideal(cost, len(problem.choices)), time=time)
    depth = len(problem.choices)
    group = np.arange(plans.ways.examples.shape[1])
    column, none = np.ones((depth, len(group)), dtype=np.int64), np.zeros(len(group), np.int64)
    root = _relaxed(bounded, plans, column, column * 0, none, none + space.npus, none - 1, group, ideal)
    waiting, leaves, looked = root, None, 1
    proven = np.zeros(len(cost))
    while True:
        # Completions may have a looser bound than the partial structure had; a proven bound stays.
        proven = np.maximum(proven, _bound(waiting, ideal))
        yield BoundProgress(
            cost, ideal.time, proven, _spent(problem, leaves, ideal), looked, len(waiting.score), len(ideal.lines.at)
        )
        # Better designs may have been found since these were put aside.
        waiting = waiting.select(np.flatnonzero(waiting.score < 1.0))
        if not len(waiting.score):
            break
        order = np.argsort(waiting.score, kind="stable")
        chosen, rest = waiting.select(order[:_BATCH]), waiting.select(order[_BATCH:])
        children = _children(space, chosen)
        looked += children[0].shape[1]
        done = children[3] == 1
        complete = children[0][:, done], children[1][:, done], children[5][done]
        leaves, ideal = _with_leaves(problem, bounded, plans, leaves, ideal, *complete)
        npus, technology, deep, left, last, group = (part[..., ~done] for part in children)
        open_ = _relaxed(bounded, plans, npus, technology, deep, left, last, group, ideal)
        waiting = rest.join(open_)


def _spent(problem: Problem, leaves: VariantBounds | None, ideal: Ideal) -> FloatArray:
    spent = np.full(len(ideal.cost), np.inf)
    found = np.flatnonzero(ideal.variant >= 0)
    if leaves is not None and len(found):
        designs = topologies_of(problem, leaves.select(ideal.variant[found]))
        spent[found] = (designs.price * ideal.bandwidth[:, found]).sum(axis=0)
    return spent


def min_cost(problem: Problem) -> float:
    """Return USD that no design undercuts, linear constraints aside: every bandwidth at its floor."""
    space, pricing = problem.counted, problem.pricing
    known: dict[tuple[int, int, int], float] = {}

    def rest(depth: int, left: int, last: int) -> float:
        if left == 1:
            return 0.0
        key = depth, left, last
        if key not in known:
            known[key] = np.inf
            options = space.options(depth, left, last)
            for technology, size in zip(options.technology.tolist(), options.size.tolist(), strict=True):
                here = problem.npus * float(pricing.min_price[depth, technology] * pricing.low[depth, technology])
                known[key] = min(known[key], here + rest(depth + 1, left // size, technology))
        return known[key]

    return rest(0, space.npus, -1)


def _bound(waiting: _Open, ideal: Ideal) -> FloatArray:
    lower = np.minimum(ideal.bound, ideal.time)
    for start in range(0, len(waiting.score), _CHUNK):
        part = waiting.select(np.arange(start, min(start + _CHUNK, len(waiting.score))))
        lower = np.minimum(lower, part.bound(ideal.cost).min(axis=0))
    return lower


def _children(space: CountedStructures, nodes: _Open) -> tuple[IntArray, ...]:
    """Return sizes, technologies, depth, NPUs left, last technology and group of plans of every way to go on."""
    states = np.stack([nodes.depth, nodes.left, nodes.last])
    kinds, which = np.unique(states, axis=1, return_inverse=True)
    parents, sizes, technologies = [], [], []
    for kind, (depth, left, last) in enumerate(kinds.T.tolist()):
        options = space.options(depth, left, last)
        mine = np.flatnonzero(which.ravel() == kind)
        parents.append(np.repeat(mine, len(options.size)))
        sizes.append(np.tile(options.size, len(mine)))
        technologies.append(np.tile(options.technology, len(mine)))
    parent, size, kind_ = np.concatenate(parents), np.concatenate(sizes), np.concatenate(technologies)
    npus, technology, depth_ = nodes.npus[:, parent], nodes.technology[:, parent], nodes.depth[parent]
    every = np.arange(len(parent))
    npus[depth_, every] = size
    # Unused dimensions have the technology of the last one, as in a table.
    rows = np.arange(len(npus))[:, None]
    technology = np.where(rows >= depth_, kind_, technology)
    return npus, technology, depth_ + 1, nodes.left[parent] // size, kind_, nodes.group[parent]


def _with_leaves(
    problem: Problem, bounded: Problem, plans: UsefulPlans, leaves: VariantBounds | None, ideal: Ideal,
    npus: IntArray, technology: IntArray, group: IntArray,
) -> tuple[VariantBounds | None, Ideal]:  # fmt: skip
    """Bound complete structures and solve those that may be better than the best known designs."""
    fits = problem.time.fits(npus, plans.ways.examples[:, group], technology)
    npus, technology, group = npus[:, fits], technology[:, fits], group[fits]
    if not npus.shape[1]:
        return leaves, ideal
    column, gene = variants(problem.pricing, problem.constraints, npus, technology)
    group = group[column]
    if problem.time.tables:
        whole = _better(bounded, ideal, npus, technology, column, gene, plans.ways.examples[:, group])
        node, plan = plans.ways.members.of(group[whole])
        column, gene = column[whole][node], gene[:, whole][:, node]
    else:
        plan = group
    chosen = plans.plans[:, plan]
    kept = _better(problem, ideal, npus, technology, column, gene, chosen)
    if not len(kept):
        return leaves, ideal
    at = column[kept]
    new = bounds_of(problem, np.full(len(kept), -1), npus[:, at], technology[:, at], gene[:, kept], chosen[:, kept])
    every = new if leaves is None else leaves.join(new)
    return every, with_variants(problem, every, np.arange(len(every) - len(new), len(every)), ideal)


def _better(
    problem: Problem, ideal: Ideal, npus: IntArray, technology: IntArray, column: IntArray, gene: IntArray,
    plan: IntArray,
) -> IntArray:  # fmt: skip
    """Return which networks with plans may be better than the best known designs at some cost."""
    kept = []
    for start in range(0, len(column), _CHUNK):
        some = slice(start, start + _CHUNK)
        at = column[some]
        found = bounds_of(problem, np.full(len(at), -1), npus[:, at], technology[:, at], gene[:, some], plan[:, some])
        kept.append(start + np.flatnonzero((found.bound(ideal.cost) < ideal.time).any(axis=1)))
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)


def _relaxed(
    problem: Problem, plans: UsefulPlans, npus: IntArray, technology: IntArray, depth: IntArray, left: IntArray,
    last: IntArray, group: IntArray, ideal: Ideal,
) -> _Open:  # fmt: skip
    """Bound partial structures by merging their open dimensions, and drop those that cannot be better."""
    every = np.arange(npus.shape[1])
    whole = npus.copy()
    whole[depth, every] = left
    # Before the first dimension is chosen, the accelerator is still open.
    fits = problem.time.fits(whole, plans.ways.examples[:, group], np.where(depth > 0, technology, -1))
    npus, technology, whole = npus[:, fits], technology[:, fits], whole[:, fits]
    depth, left, last, group = depth[fits], left[fits], last[fits], group[fits]
    every = np.arange(len(depth))
    designs = problem.pricing.topologies_of(whole, technology, problem.pricing.cheapest(technology))
    price, low, high = _merged(problem, problem.counted, depth, last)
    for target, values in ((designs.price, price), (designs.low, low), (designs.high, high)):
        target[depth, every] = values
    # In an open dimension a group gets all the bandwidth: no share of it can be more.
    open_ = designs.technology.copy()
    open_[depth, every] = -1
    program = problem.traffic.program(replace(designs, technology=open_, plan=plans.ways.examples[:, group]))
    base, kappa = hyperbola(program, ascend(program, designs.price, _STEPS), designs.price)
    min_time = optimal_bandwidth(program).bound
    min_cost = (designs.price * designs.low).sum(axis=0)
    found = _Open(base, kappa, min_time, min_cost, npus, technology, depth, left, last, group, np.zeros(len(depth)))
    score = np.ones(len(depth))
    for start in range(0, len(depth), _CHUNK):
        mine = np.arange(start, min(start + _CHUNK, len(depth)))
        with np.errstate(invalid="ignore"):
            ratio = found.select(mine).bound(ideal.cost) / ideal.time
        score[mine] = np.where(np.isnan(ratio), np.inf, ratio).min(axis=1)
    found = replace(found, score=score)
    return found.select(np.flatnonzero(score < 1.0))


def _merged(
    problem: Problem, space: CountedStructures, depth: IntArray, last: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return price, floor and cap of the one dimension that stands for all from a depth on: (m,) each."""
    pricing = problem.pricing
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
    price, low, high = values[:, which.ravel()]
    return price, low, high
