"""Branch and bound over partial structures: a bound of the ideal where a space is too large to look at each structure.

A partial structure has its inner dimensions; one relaxed dimension with all remaining NPUs stands for the others. A
process group sends as many bytes over the relaxed dimension as over the others together (shrinking messages: exactly;
all-to-all: at most), as ``max_i a_i / b_i >= sum a_i / sum b_i``. Its price is the lowest one of the others, its cap is
the sum of their caps, and its floor is their lowest floor. So its best time at any budget is below that of every
completion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.bandwidth.lower_bound import ascend, hyperbola
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.optimality.bounds import CostBounds, VariantBounds, bounds_of, topologies_of
from evo_libra.optimality.ideal_bandwidth import Ideal, empty_ideal, with_variants
from evo_libra.problem.allocate import variants
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
    score : (m,) how far below the best known time it may be at some cost, as a ratio.
    """

    npus: IntArray
    technology: IntArray
    depth: IntArray
    left: IntArray
    last: IntArray
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
    space = problem.counted
    ideal = replace(empty_ideal(cost, len(problem.choices)), time=time)
    depth = len(problem.choices)
    column = np.ones((depth, 1), dtype=np.int64)
    root = _relaxed(
        problem, space, column, column * 0, np.zeros(1, np.int64), np.array([space.npus]), np.full(1, -1), ideal
    )
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
        leaves, ideal = _with_leaves(problem, leaves, ideal, children[0][:, done], children[1][:, done])
        npus, technology, deep, left, last = (part[..., ~done] for part in children)
        open_ = _relaxed(problem, space, npus, technology, deep, left, last, ideal)
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


def _children(space: CountedStructures, nodes: _Open) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Return sizes, technologies, depth, NPUs left and last technology of every way to go on."""
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
    return npus, technology, depth_ + 1, nodes.left[parent] // size, kind_


def _with_leaves(
    problem: Problem, leaves: VariantBounds | None, ideal: Ideal, npus: IntArray, technology: IntArray
) -> tuple[VariantBounds | None, Ideal]:
    """Bound complete structures and solve those that may be better than the best known designs."""
    fits = problem.time.fits(npus)
    npus, technology = npus[:, fits], technology[:, fits]
    if not npus.shape[1]:
        return leaves, ideal
    column, gene = variants(problem.pricing, problem.constraints, npus, technology)
    new = bounds_of(problem, np.full(len(column), -1), npus[:, column], technology[:, column], gene)
    kept = np.flatnonzero((new.bound(ideal.cost) < ideal.time).any(axis=1))
    if not len(kept):
        return leaves, ideal
    new = new.select(kept)
    whole = new if leaves is None else leaves.join(new)
    return whole, with_variants(problem, whole, np.arange(len(whole) - len(new), len(whole)), ideal)


def _relaxed(
    problem: Problem, space: CountedStructures, npus: IntArray, technology: IntArray, depth: IntArray, left: IntArray,
    last: IntArray, ideal: Ideal,
) -> _Open:  # fmt: skip
    """Bound partial structures by merging their open dimensions, and drop those that cannot be better."""
    every = np.arange(npus.shape[1])
    whole = npus.copy()
    whole[depth, every] = left
    fits = problem.time.fits(whole)
    npus, technology, whole = npus[:, fits], technology[:, fits], whole[:, fits]
    depth, left, last = depth[fits], left[fits], last[fits]
    every = np.arange(len(depth))
    designs = problem.pricing.topologies_of(whole, technology, problem.pricing.cheapest(technology))
    price, low, high = _merged(problem, space, depth, last)
    for target, values in ((designs.price, price), (designs.low, low), (designs.high, high)):
        target[depth, every] = values
    # In an open dimension a group gets all the bandwidth: no share of it can be more.
    open_ = designs.technology.copy()
    open_[depth, every] = -1
    program = problem.traffic.program(replace(designs, technology=open_))
    base, kappa = hyperbola(program, ascend(program, designs.price, _STEPS), designs.price)
    min_time = optimal_bandwidth(program).bound
    min_cost = (designs.price * designs.low).sum(axis=0)
    found = _Open(base, kappa, min_time, min_cost, npus, technology, depth, left, last, np.zeros(len(depth)))
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
