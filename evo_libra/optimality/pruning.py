"""Spaces without a table: structures that some design beats at every cost are sifted out before any is screened.

What a dimension is like depends on the sizes of all of them and on its own technology. Such cases are far fewer than
structures: they are priced once, and a structure's rough bound is taken together from its dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.bandwidth.lower_bound import ascend, hyperbola
from evo_libra.bandwidth.program import BandwidthProgram, merged
from evo_libra.errors import InputError
from evo_libra.optimality.bounds import EXACT, Screen, bounded, screen
from evo_libra.optimality.ideal_bandwidth import ideal_of
from evo_libra.problem.allocate import variants
from evo_libra.problem.problem import Problem
from evo_libra.problem.space import columns
from evo_libra.problem.space_size import CountedStructures, Every

MOST_SIFTED = 5_000_000
"""More structures than that are not looked at one by one."""

_STEPS = 2
_COSTS = (24, 96, 384)
_PART = 16_384
"""Structures bounded at a time: so few operations that calls count, and so many arrays that the cache does."""


@dataclass(frozen=True)
class _Cases:
    """What dimensions are like, k of them.

    Attributes
    ----------
    of_traffic, of_price : (d, shape * technologies) which case a dimension is; of a catalogue of prices per bandwidth
        traffic is that of the shape, (d, shape), and prices are those of the technology, (d, technology).
    program : of cases instead of dimensions: traffic is (g, 1, k), the box is not its own.
    price, low, high : (k,) USD per B/s of the whole network, and B/s.
    """

    of_traffic: IntArray
    of_price: IntArray
    program: BandwidthProgram
    price: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class _Rough:
    """Rough bounds of s structures: time is at least ``base + kappa / cost`` and `saturated`, cost at least `least`."""

    base: FloatArray
    kappa: FloatArray
    saturated: FloatArray
    least: FloatArray

    def select(self, chosen: IntArray) -> _Rough:
        return _Rough(*(array[chosen] for array in vars(self).values()))

    def at(self, cost: float) -> FloatArray:
        """Return (s,) seconds that the structures do not undercut at a cost; infinite below their least cost."""
        bound = self.kappa / cost
        bound += self.base
        np.maximum(bound, self.saturated, out=bound)
        np.copyto(bound, np.inf, where=self.least > cost * (1.0 + EXACT))
        return bound


def screened(problem: Problem) -> Screen:
    """Return the bounds of every variant that may be fastest at some cost; of a space with a table, of every variant.

    Raises
    ------
    InputError : the problem does not minimise time, the space is too large to look at each structure, or a space
        without a table has no feasible design.
    """
    space = problem.structures
    timed = any(objective.name == "time" for objective in problem.objectives)
    if not isinstance(space, CountedStructures) or space.total > MOST_SIFTED or not timed:
        return screen(problem)
    every = space.every()
    structure = np.flatnonzero(problem.time.fits(every.shapes)[every.shape])
    if not len(structure):
        raise InputError("no shape of the space can hold the process groups of every workload")
    every = Every(every.shapes, every.shape[structure], every.technology[:, structure])
    rough = _rough(problem, every)
    for count in _COSTS:
        kept = _unbeaten(problem, every, rough, count)
        rough, structure = rough.select(kept), structure[kept]
        every = Every(every.shapes, every.shape[kept], every.technology[:, kept])
    found = _variants(problem, every, structure)
    possible = np.flatnonzero(np.isfinite(found.least) & np.isfinite(found.saturated))
    if not len(possible):
        raise InputError(f"no design of '{problem.name}' meets its constraints")
    return found.select(possible)


def _variants(problem: Problem, every: Every, structure: IntArray) -> Screen:
    npus, technology = every.look_up(np.arange(len(structure)))
    column, gene = variants(problem.tables, problem.constraints, npus, technology)
    return bounded(problem, structure[column], npus[:, column], technology[:, column], gene)


def _unbeaten(problem: Problem, every: Every, rough: _Rough, count: int) -> IntArray:
    """Return the structures that no design is known to beat at every one of some costs.

    Between two costs a structure is no faster than its bound at the dearer one, and the best design is no slower than
    what was found at the cheaper one.
    """
    least = rough.least[np.isfinite(rough.least)]
    if not len(least):
        return np.arange(len(rough.least))
    low = float(least.min())
    cost = np.geomspace(low, max(problem.tables.highest_cost(), low) * 2.0, count)
    best = [int(rough.at(level).argmin()) for level in cost.tolist()]
    promising = np.unique(best)
    some = Every(every.shapes, every.shape[promising], every.technology[:, promising])
    time = np.minimum.accumulate(ideal_of(problem, cost, _variants(problem, some, np.full(len(promising), -1))).time)
    kept = rough.saturated <= time[-1] * (1.0 + EXACT)
    for dearer, known in zip(cost[1:].tolist(), time[:-1].tolist(), strict=True):
        kept |= rough.at(dearer) <= known * (1.0 + EXACT)
    return np.flatnonzero(kept)


def _rough(problem: Problem, every: Every) -> _Rough:
    cases = _built(problem, every) if problem.tables.kits else _priced(problem, every)
    starts = range(0, len(every.shape), _PART)
    parts = [_rough_part(problem, cases, every, slice(start, start + _PART)) for start in starts]
    return _Rough(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _rough_part(
    problem: Problem, cases: _Cases, every: Every, part: slice
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    shape, technology = every.shape[part], every.technology[:, part].astype(np.int64)
    used = columns(every.shapes, shape) > 1
    row, kinds = np.arange(len(technology))[:, None], len(problem.catalog.technologies)
    if problem.tables.kits:
        of_price = of_traffic = cases.of_price[row, shape * kinds + technology]
    else:
        of_traffic, of_price = cases.of_traffic[row, shape], cases.of_price[row, technology]
    traffic = np.array([np.take(bytes_[0], of_traffic) for bytes_ in cases.program.traffic])
    price, low = (np.take(array, of_price) * used for array in (cases.price, cases.low))
    high = np.where(used, np.take(cases.high, of_price), 0.0)
    program = replace(
        cases.program, traffic=traffic, price=np.zeros(price.shape), low=low, high=high,
        rows=np.empty((0, *low.shape)), limit=np.empty((0, low.shape[1])),
    )  # fmt: skip
    # Constraints can only raise time and cost.
    base, kappa = hyperbola(program, ascend(program, price, _STEPS), price)
    return base, kappa, program.time(high) * (1.0 - EXACT), (price * low).sum(axis=0)


def _priced(problem: Problem, every: Every) -> _Cases:
    """Return the cases of a catalogue of prices per bandwidth."""
    tables = problem.tables
    traffic = problem.time.traffic(every.shapes, np.zeros_like(every.shapes))
    depth, shapes = every.shapes.shape
    of_price = np.arange(tables.low.size).reshape(tables.low.shape)
    price = tables.least_price * problem.npus
    of_traffic, flat = np.arange(depth * shapes).reshape(depth, shapes), traffic.reshape(len(traffic), -1)
    program = _program(problem, flat)
    return _Cases(of_traffic, of_price, program, price.ravel(), tables.low.ravel(), tables.high.ravel())


def _built(problem: Problem, every: Every) -> _Cases:
    """Return the cases of a catalogue of parts: of each any structure stands for all."""
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
        npus, kits = every.look_up(example[known])
        designs = problem.tables.skeletons_of(npus, kits, np.zeros_like(kits))
        traffic = problem.time.traffic(npus, kits)[:, d]
        found.append((traffic, designs.price[d], designs.low[d], designs.high[d]))
    traffic, price, low, high = (np.concatenate(column, axis=-1) for column in zip(*found, strict=True))
    return _Cases(index, index, _program(problem, traffic), price, low, high)


def _program(problem: Problem, traffic: FloatArray) -> BandwidthProgram:
    box = np.zeros((1, traffic.shape[1]))
    return merged(problem.time.program(traffic[:, None], box, box))
