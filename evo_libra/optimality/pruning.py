"""Spaces without a table: combinations that some design beats at every cost are pruned before any bound is tightened.

The figures of a dimension depend on the sizes of all dimensions and on its own technology. Such cases are far fewer
than combinations: each case is priced once, and the rough bound of a combination is assembled from the cases of its
dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, columns
from evo_libra.bandwidth.program import BandwidthProgram, ascend, hyperbola
from evo_libra.bandwidth.solve import merged
from evo_libra.errors import InputError
from evo_libra.optimality.bounds import EXACT, CostBounds, VariantBounds, bound_variants, bounds_of
from evo_libra.optimality.ideal_bandwidth import ideal_of
from evo_libra.problem.allocate import variants
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import TIME
from evo_libra.problem.space import CountedStructures, Every

MAX_PRUNED = 5_000_000
"""More combinations than that are not bounded one by one."""

_STEPS = 2
_COSTS = (24, 96, 384)
_PART = 16_384
"""Combinations bounded at a time: fewer pay for calls of NumPy, more do not fit the cache."""


@dataclass(frozen=True)
class _Cases:
    """The cases of dimensions, k of them.

    Attributes
    ----------
    case : (d, shape * technologies) the case of each dimension.
    program : of cases instead of dimensions: traffic is (g, 1, k), the box is not its own.
    price, low, high : (k,) USD per B/s of the whole network, and B/s.
    """

    case: IntArray
    program: BandwidthProgram
    price: FloatArray
    low: FloatArray
    high: FloatArray


def prune(problem: Problem) -> VariantBounds:
    """Return the bounds of every variant that may be fastest at some cost; of a space with a table, of every variant.

    Raises
    ------
    InputError : the problem does not minimise time, the space is too large to bound each combination, or a space
        without a table has no feasible design.
    """
    space = problem.structures
    if not isinstance(space, CountedStructures) or space.total > MAX_PRUNED or TIME not in problem.objectives:
        return bound_variants(problem)
    every = space.every()
    structure = np.flatnonzero(problem.time.fits(every.shapes)[every.shape])
    if not len(structure):
        raise InputError("no shape of the space can hold the process groups of every workload")
    every = Every(every.shapes, every.shape[structure], every.technology[:, structure])
    if problem.time.keeps_inside:
        npus, technology = every.look_up(np.arange(len(structure)))
        inside = np.flatnonzero(problem.time.fits(npus, technology=technology))
        structure, every = structure[inside], Every(every.shapes, every.shape[inside], every.technology[:, inside])
    rough = _rough(problem, every)
    for count in _COSTS:
        kept = _unbeaten(problem, every, rough, count)
        rough, structure = rough.select(kept), structure[kept]
        every = Every(every.shapes, every.shape[kept], every.technology[:, kept])
    found = _variants(problem, every, structure)
    possible = np.flatnonzero(np.isfinite(found.min_cost) & np.isfinite(found.min_time))
    if not len(possible):
        raise InputError(f"no design of '{problem.name}' meets its constraints")
    return found.select(possible)


def _variants(problem: Problem, every: Every, structure: IntArray) -> VariantBounds:
    npus, technology = every.look_up(np.arange(len(structure)))
    column, gene = variants(problem.pricing, problem.constraints, npus, technology)
    return bounds_of(problem, structure[column], npus[:, column], technology[:, column], gene)


def _unbeaten(problem: Problem, every: Every, rough: CostBounds, count: int) -> IntArray:
    """Return the combinations that no design is known to beat at every one of some costs.

    Between two costs a combination is no faster than its bound at the higher one, and the best design is no slower than
    the design that was found at the lower one.
    """
    lowest = rough.min_cost[np.isfinite(rough.min_cost)]
    if not len(lowest):
        return np.arange(len(rough.min_cost))
    low = float(lowest.min())
    cost = np.geomspace(low, max(problem.pricing.max_cost(), low) * 2.0, count)
    best = [int(_at(rough, level).argmin()) for level in cost.tolist()]
    promising = np.unique(best)
    some = Every(every.shapes, every.shape[promising], every.technology[:, promising])
    time = np.minimum.accumulate(ideal_of(problem, cost, _variants(problem, some, np.full(len(promising), -1))).time)
    kept = rough.min_time <= time[-1] * (1.0 + EXACT)
    for higher, known in zip(cost[1:].tolist(), time[:-1].tolist(), strict=True):
        kept |= _at(rough, higher) <= known * (1.0 + EXACT)
    return np.flatnonzero(kept)


def _at(rough: CostBounds, cost: float) -> FloatArray:
    """Return (s,) seconds that combinations do not undercut at a cost; infinite below their lowest cost."""
    bound = rough.kappa / cost
    bound += rough.base
    np.maximum(bound, rough.min_time, out=bound)
    np.copyto(bound, np.inf, where=rough.min_cost > cost * (1.0 + EXACT))
    return bound


def _rough(problem: Problem, every: Every) -> CostBounds:
    cases = _cases(problem, every)
    starts = range(0, len(every.shape), _PART)
    parts = [_rough_part(problem, cases, every, slice(start, start + _PART)) for start in starts]
    return CostBounds(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _rough_part(
    problem: Problem, cases: _Cases, every: Every, part: slice
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    shape, technology = every.shape[part], every.technology[:, part].astype(np.int64)
    used = columns(every.shapes, shape) > 1
    kinds = len(problem.catalog.technologies)
    case = cases.case[np.arange(len(technology))[:, None], shape * kinds + technology]
    traffic = np.array([np.take(bytes_[0], case) for bytes_ in cases.program.traffic])
    price, low = (np.take(array, case) * used for array in (cases.price, cases.low))
    high = np.where(used, np.take(cases.high, case), 0.0)
    program = replace(
        cases.program, traffic=traffic, price=np.zeros(price.shape), low=low, high=high,
        rows=np.empty((0, *low.shape)), limit=np.empty((0, low.shape[1])),
    )  # fmt: skip
    # Constraints can only raise time and cost.
    base, kappa = hyperbola(program, ascend(program, price, _STEPS), price)
    return base, kappa, program.time(high) * (1.0 - EXACT), (price * low).sum(axis=0)


def _cases(problem: Problem, every: Every) -> _Cases:
    """Return the cases; of each any combination stands for all."""
    depth, shapes = every.shapes.shape
    kinds = len(problem.catalog.technologies)
    index = np.zeros((depth, shapes * kinds), dtype=np.int64)
    found, last = [], 0
    for d, technology in enumerate(every.technology):
        case = every.shape * kinds + technology
        example = np.full(shapes * kinds, -1)
        example[case] = np.arange(len(case))
        known = np.flatnonzero(example >= 0)
        index[d, known] = last + np.arange(len(known))
        last += len(known)
        npus, chosen = every.look_up(example[known])
        designs = problem.pricing.topologies_of(npus, chosen, problem.pricing.cheapest(chosen))
        # Software, beyond bytes, can only raise the time.
        bytes_ = np.where(problem.time.of_software[:, None], 0.0, problem.time.traffic(npus, chosen)[:, d])
        found.append((bytes_, designs.price[d], designs.low[d], designs.high[d]))
    traffic, price, low, high = (np.concatenate(column, axis=-1) for column in zip(*found, strict=True))
    box = np.zeros((1, traffic.shape[1]))
    return _Cases(index, merged(problem.time.program(traffic[:, None], box, box)), price, low, high)
