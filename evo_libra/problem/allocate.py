"""The best bandwidths of topologies, and the budgets that make a difference.

Budgets and linear constraints become rows of a convex program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from evo_libra.arrays import TILE, BoolArray, FloatArray, IntArray, columns, columns_or_shared, no_plans
from evo_libra.bandwidth.program import BandwidthProgram, ascend, hyperbola
from evo_libra.bandwidth.solve import merged, only_price, optimal_bandwidth
from evo_libra.problem.constraints import Constraint, linear_rows
from evo_libra.problem.objectives import COST, MEASURES
from evo_libra.problem.plans import ways_of
from evo_libra.problem.pricing.pricing import Pricing, Topologies
from evo_libra.problem.space import MAX_STRUCTURES, Space
from evo_libra.problem.time_models.time_model import TimeModel

_MAX_FIGURES = 500_000
"""Columns of the tables times channels times dimensions up to which the traffic of a time that is not exact is kept.

It is five numbers of each and not just bytes, and to compute more would take longer than a short search saves.
"""


@dataclass(frozen=True)
class TrafficTable:
    """The traffic of the topologies of a space, looked up where there is a table of its combinations."""

    space: Space
    time: TimeModel

    def of(self, designs: Topologies) -> FloatArray:
        """Return the traffic of topologies, as from `TimeModel.traffic`."""
        if self._parts:
            found = np.empty((len(self.time.channels), *designs.npus.shape))
            for part in self._parts:
                found[part.channels] = part.table.of(part.of(designs))
            return found
        if self.listed is None or (designs.structure < 0).any():
            return self.time.traffic(designs.npus, designs.technology, designs.plan)
        return columns(self.listed, self._place(designs))

    def fits(self, designs: Topologies) -> BoolArray:
        """Return (n,) whether topologies can hold every process group, as from `TimeModel.fits`."""
        if self._parts:
            fits: BoolArray = np.logical_and.reduce([part.table.fits(part.of(designs)) for part in self._parts])
            return fits
        if self._fits is None or (designs.structure < 0).any():
            return self.time.fits(designs.npus, designs.plan, designs.technology)
        return columns(self._fits, self._place(designs))

    def program(self, designs: Topologies) -> BandwidthProgram:
        """Return the program of the best bandwidths of topologies, without linear constraints."""
        if self._program is None or (designs.structure < 0).any():
            return self.time.program(self.of(designs), designs.low, designs.high, designs.plan)
        empty, which, table = np.empty((0, *designs.low.shape)), designs.structure, self._program
        return replace(
            table, base=columns_or_shared(table.base, which), size=columns_or_shared(table.size, which),
            chains=table.chains.select(which), traffic=columns(table.traffic, which), price=np.zeros(designs.low.shape),
            low=designs.low, high=designs.high, rows=empty, limit=np.empty((0, designs.low.shape[1])),
        )  # fmt: skip

    def _place(self, designs: Topologies) -> IntArray:
        """Return (n,) the column of topologies in the tables: of each combination, each way in which plans lie."""
        place = designs.structure
        for ways, table, plan in zip(self._ways, self.time.tables, designs.plan, strict=True):
            place = place * ways + columns(table.placements[2], plan)
        return place

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        """The tables of each workload alone, where several leave plans open: their ways would multiply."""
        if not self.time.exact or len(self.time.tables) < 2:  # noqa: PLR2004 - one table is short enough
            return ()
        return tuple(
            _Part(rows, np.array(list(map(self.time.channels.index, channels))), TrafficTable(self.space, time))
            for rows, channels, time in self.time.apart()
        )

    @cached_property
    def _ways(self) -> list[int]:
        return [int(table.placements[2].max(initial=0)) + 1 for table in self.time.tables]

    @cached_property
    def _every(self) -> tuple[IntArray, IntArray, IntArray] | None:
        """Sizes, technologies and plans of every column of the tables, where they are not too many."""
        table = self.space.table
        if table is None or self._parts or len(table) * prod(self._ways) > MAX_STRUCTURES:
            return None
        if not self._ways:
            return table.npus, table.technology, no_plans(len(table))
        first = [np.unique(plans.placements[2], return_index=True)[1] for plans in self.time.tables]
        plans = np.array(np.meshgrid(*first, indexing="ij")).reshape(len(first), -1)
        structure = np.repeat(np.arange(len(table)), plans.shape[1])
        return table.npus[:, structure], table.technology[:, structure], np.tile(plans, len(table))

    @cached_property
    def listed(self) -> FloatArray | None:
        """The traffic of every column of the tables, the last axis, where they are not too many."""
        if self._every is None:
            return None
        figures = self._every[0].size * len(self.time.channels)
        if not self.time.exact and figures > _MAX_FIGURES:
            return None
        return self.time.traffic(*self._every)

    @cached_property
    def _fits(self) -> BoolArray | None:
        return None if self._every is None else self.time.fits(self._every[0], self._every[2], self._every[1])

    @cached_property
    def _program(self) -> BandwidthProgram | None:
        if self.space.table is None or self.listed is None or self.time.tables:
            return None
        box = np.zeros(self.space.table.npus.shape)
        return merged(self.time.program(self.listed, box, box))


@dataclass(frozen=True)
class _Part:
    """The table of some workloads: the rows of their plans, and the places of their channels."""

    rows: slice
    channels: IntArray
    table: TrafficTable

    def of(self, designs: Topologies) -> Topologies:
        """Return topologies with the plans of these workloads."""
        return replace(designs, plan=designs.plan[self.rows])


def program_for(
    traffic: TrafficTable,
    constraints: Sequence[Constraint],
    designs: Topologies,
    budget: FloatArray | None,
    *,
    separate: bool = False,
) -> BandwidthProgram:
    """Return the convex program of designs under linear constraints and (n,) USD, which come last, of budget.

    Constraints that are not linear in bandwidth have no part in it. Those on ports are merged to as many as a design
    has technologies of several dimensions, unless each is to have a row of its own, in their order (`separate`).
    """
    shared = None if separate else designs.shared_rows
    alone = [c for c in constraints if shared is None or not c.ports]
    linear = [*linear_rows(alone, designs), *(shared or [])]
    count = designs.low.shape[1]
    rows = [row for _, row in linear]
    limits = [np.full(count, constraint.limit) for constraint, _ in linear]
    equality = [constraint.equality for constraint, _ in linear]
    if budget is not None:
        rows, limits, equality = [*rows, designs.price], [*limits, budget], [*equality, False]
    return replace(
        traffic.program(designs),
        rows=np.array(rows).reshape(len(rows), *designs.low.shape),
        limit=np.array(limits).reshape(len(rows), count),
        equality=np.array(equality, dtype=np.bool_),
    )


def _every_block_counts(constraints: Sequence[Constraint]) -> bool:
    """Return whether expensive blocks may be of use: some constraint asks for cost, or limits the bisection."""
    limited = [(MEASURES[c.quantity], c) for c in constraints if c.quantity in MEASURES]
    return any(m.smallest is not None or (m is MEASURES[COST.name] and not c.at_most) for m, c in limited)


def variants(
    pricing: Pricing, constraints: Sequence[Constraint], npus: IntArray, technology: IntArray
) -> tuple[IntArray, IntArray]:
    """Return (v,) columns of (d, n) sizes and technologies, and (d, v) block genes, that may be of use.

    Of a dimension's blocks only the cheapest matters, as all are equally fast, unless a constraint asks for cost or
    limits the bisection.
    """
    column, gene = np.arange(npus.shape[1]), pricing.cheapest(technology)
    if not _every_block_counts(constraints):
        return column, gene
    for d in range(len(gene)):
        options = [np.full(gene.shape[1], choice) for choice in range(pricing.blocks.shape[2])]
        genes = np.concatenate([np.vstack([gene[:d], option[None], gene[d + 1 :]]) for option in options], axis=1)
        repeated = np.tile(column, len(options))
        found = pricing.topologies_of(npus[:, repeated], technology[:, repeated], genes)
        _, first = np.unique(np.vstack([repeated[None], found.price, found.cuts]), axis=1, return_index=True)
        column, gene = repeated[first], genes[:, first]
    return column, gene


def allocate(
    traffic: TrafficTable, constraints: Sequence[Constraint], designs: Topologies, budget: FloatArray | None
) -> FloatArray:
    """Return the (d, n) bandwidths of least time; of bandwidths with equal times, where that is easy, the smallest.

    A budget below the least cost of a design gets its cheapest bandwidths. If no bandwidths meet the other
    constraints, the returned ones break them.
    """
    program = program_for(traffic, constraints, designs, budget)
    found = optimal_bandwidth(program)
    poor = np.flatnonzero(np.isinf(found.objective))
    bandwidth = shrunk(program, found.bandwidth)
    if len(poor):
        rows = len(program.limit) - (budget is not None)
        bandwidth[:, poor] = cheapest(program.select(poor), designs.price[:, poor], rows)
    return bandwidth


def cheapest(program: BandwidthProgram, price: FloatArray, rows: int) -> FloatArray:
    """Return the (d, n) bandwidths of least price (d, n), in USD per B/s, that meet the first rows of a program.

    If none meet them, they are the least of the box, which break a row.
    """
    if not rows:
        return program.low
    held = replace(program, rows=program.rows[:rows], limit=program.limit[:rows], equality=program.equality[:rows])
    found = optimal_bandwidth(only_price(held, price))
    return np.where(np.isfinite(found.objective), found.bandwidth, program.low)


def shrunk(program: BandwidthProgram, bandwidth: FloatArray) -> FloatArray:
    """Return the least bandwidths that make every pattern as fast; the given ones, where a row asks for bandwidth."""
    if program.equality.any() or (program.rows < 0).any():
        return bandwidth
    with np.errstate(divide="ignore", invalid="ignore"):
        need = (program.traffic / program.pattern_times(bandwidth)[:, None]).max(axis=0, initial=0.0)
    need = np.where(np.isfinite(need), need, bandwidth)
    return np.asarray(np.minimum(np.maximum(need, program.low), bandwidth))


def min_time_of(program: BandwidthProgram) -> FloatArray:
    """Return (n,) seconds that no bandwidths undercut: those of the box, and of each row that limits, for itself."""
    free = replace(program, rows=program.rows[:0], limit=program.limit[:0], equality=program.equality[:0])
    bounded = np.isfinite(program.high).all()
    # Without a cap, bandwidth as large as there is costs no time.
    found = optimal_bandwidth(free).bound if bounded else program.time(program.high) * (1.0 - _ROUNDING)
    for row, limit in zip(program.rows, program.limit, strict=True):
        mine = np.flatnonzero(row.any(axis=0) & (row >= 0).all(axis=0) & (limit > 0))
        part, price = free.select(mine), row[:, mine]
        base, kappa = hyperbola(part, ascend(part, price, _STEPS), price)
        found[mine] = np.maximum(found[mine], base + kappa / limit[mine])
    return found


_STEPS = 12
_ROUNDING = 1e-12


_DECADES = 1e4
"""Ratio of useful budgets: without a smallest bandwidth, networks may cost next to nothing."""


def useful_budgets(
    pricing: Pricing, traffic: TrafficTable, npus: int, constraints: Sequence[Constraint]
) -> tuple[float, float]:
    """Return the smallest and the largest useful budget in USD, linear constraints aside."""
    table = traffic.space.table
    if table is None:
        # The dimensions that cost and carry the most, and a single cheap one.
        highest = pricing.max_cost()
        return max(float(pricing.lowest_price * npus * pricing.low.min()), highest / _DECADES), highest
    designs = pricing.topologies(np.arange(len(table)), pricing.cheapest(table.technology))
    # The placement of groups decides which bandwidths are of use; no other option of a plan does.
    ways, highest = ways_of(traffic.time, constraints), 0.0
    for start in range(0, ways.shape[1] * len(table), TILE):
        pairs = np.arange(start, min(start + TILE, ways.shape[1] * len(table)))
        way, place = np.divmod(pairs, len(table))
        mine = replace(designs.select(place), plan=ways[:, way])
        mine = mine.select(np.flatnonzero(traffic.fits(mine))) if len(ways) else mine
        full = shrunk(traffic.program(mine), mine.high)
        # A gene for a block that is more expensive than the cheapest one reaches as far.
        highest = max(highest, float((pricing.max_prices(mine) * full).sum(axis=0).max(initial=0.0)))
    return max(float((designs.price * designs.low).sum(axis=0).min()), highest / _DECADES), highest
