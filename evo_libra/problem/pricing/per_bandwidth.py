"""Prices per bandwidth: LIBRA's cost model, in which an NPU pays for each B/s of a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, columns, no_plans
from evo_libra.network.catalog.technologies import PARTS, cost_by_part, network_cost
from evo_libra.problem.constraints import BANDWIDTH, Constraint, project
from evo_libra.problem.pricing.pricing import SLACK, Pricing, Rows, Topologies, conflicting
from evo_libra.problem.protocol import COST
from evo_libra.problem.space import Structures

_LISTED = 2_000
"""Combinations up to which what they have is looked up: in larger tables most look-ups miss the cache."""


@dataclass(frozen=True)
class PricedTopologies(Topologies):
    """Networks with prices per bandwidth; their power is not known."""

    repairs_box: ClassVar[bool] = True

    @property
    def watts(self) -> FloatArray:
        return np.zeros(self.price.shape)

    def totals(self, bandwidth: FloatArray, *, power: bool) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002 - parts need it
        return network_cost(1, self.price, bandwidth), np.zeros(bandwidth.shape[1])

    def repaired(self, bandwidth: FloatArray, rows: Rows) -> FloatArray:
        return project(bandwidth, self.low, self.high, rows)


@dataclass(frozen=True)
class PerBandwidth(Pricing):
    """Prices per bandwidth: (part, block, technology) USD per NPU and B/s, the parts in the order of `PARTS`."""

    part_prices: FloatArray

    @cached_property
    def prices(self) -> FloatArray:
        """(block, technology) USD per NPU and B/s."""
        return np.asarray(self.part_prices.sum(axis=0))

    def breakdown(self, designs: Population) -> list[dict[str, Any]]:
        cost = cost_by_part(designs, self.part_prices)[..., 0].T[designs.npus[:, 0] > 1]
        return [
            {**{f"{part}_usd": usd for part, usd in zip(PARTS, each, strict=True)}, "cost_usd": float(np.sum(each))}
            for each in cost.tolist()
        ]

    def topologies(self, structure: IntArray, gene: IntArray) -> Topologies:
        if self._tables is None:
            return super().topologies(structure, gene)
        whole, numbers, block, price = self._tables
        (npus, technology), (low, high, used) = columns(whole, structure), columns(numbers, structure)
        # All ways to choose blocks follow each other in the tables, in each all dimensions, in each all combinations.
        place = gene * (block.size // len(block)) + self._rows
        place += structure
        block, price = block.take(place, mode="clip"), price.take(place, mode="clip")
        return PricedTopologies(
            structure=structure, npus=npus, technology=technology, block=block, price=price, low=low, high=high,
            used=used, plan=no_plans(len(structure)),
        )  # fmt: skip

    @cached_property
    def _rows(self) -> IntArray:
        return np.arange(len(self.low))[:, None] * len(self.space)

    @cached_property
    def _tables(self) -> tuple[IntArray, FloatArray, IntArray, FloatArray] | None:
        """The result of `topologies_of` for every combination, where they are not too many.

        That is (2, d, s) sizes and technologies, (3, d, s) box and use, and (choice, d, s) blocks and prices.
        """
        table, choices = self.space.table, self.blocks.shape[2]
        if table is None or len(table) > _LISTED:
            return None
        each = [self.topologies_of(table.npus, table.technology, np.full_like(table.npus, k)) for k in range(choices)]
        first = each[0]
        return (
            np.array([first.npus, first.technology]), np.array([first.low, first.high, first.used]),
            np.array([one.block for one in each]), np.array([one.price for one in each]),
        )  # fmt: skip

    def topologies_of(
        self, npus: IntArray, technology: IntArray, gene: IntArray, structure: IntArray | None = None
    ) -> Topologies:
        depth, kinds, choices_each = self.blocks.shape
        used = (npus > 1).astype(np.float64)
        row = np.arange(depth)[:, None] * kinds + technology
        low, high = np.take(self.low, row), np.take(self.high, row)
        if not used.all():
            low *= used
            high = np.where(used > 0, high, 0.0)
        block = np.take(self.blocks, row * choices_each + gene)
        price = np.take(self.prices, block * kinds + technology) * (used * self.npus)
        index = np.full(npus.shape[1], -1) if structure is None else structure
        return PricedTopologies(
            structure=index, npus=npus, technology=technology, block=block, price=price, low=low, high=high, used=used,
            plan=no_plans(npus.shape[1]),
        )  # fmt: skip

    def built(self, designs: Population, structure: IntArray | None = None) -> Topologies:
        used = designs.npus > 1
        price = self.prices[designs.block, designs.technology] * used * self.npus
        low, high = (np.where(used, bound, 0.0) for bound in self.box(designs.technology))
        index = np.full(len(designs), -1) if structure is None else structure
        numbers = used.astype(np.float64)
        return PricedTopologies(
            structure=index, npus=designs.npus, technology=designs.technology, block=designs.block, price=price,
            low=low, high=high, used=numbers, plan=designs.plans,
        )  # fmt: skip

    def cheapest(self, technology: IntArray) -> IntArray:
        gene = self._block_prices.argmin(axis=2)
        return np.asarray(gene[np.arange(len(technology))[:, None], technology])

    @cached_property
    def min_price(self) -> FloatArray:
        return np.asarray(self._block_prices.min(axis=2))

    @cached_property
    def _block_prices(self) -> FloatArray:
        return np.asarray(self.prices[self.blocks, np.arange(self.blocks.shape[1])[:, None]])

    @property
    def lowest_price(self) -> float:
        return float(self.prices[(self.prices > 0) & np.isfinite(self.prices)].min())

    def max_cost(self) -> float:
        return float((self.prices.max(axis=0) * self.high).max(axis=1).sum()) * self.npus

    def max_prices(self, designs: Topologies) -> FloatArray:
        return np.asarray(np.take(self.prices.max(axis=0), designs.technology) * designs.used * self.npus)

    def feasible(self, structures: Structures, constraints: Sequence[Constraint]) -> Structures:
        """Return the combinations that some bandwidths within the box and the linear constraints serve."""
        return _solvable_structures(structures, self.low, self.high, self.min_price * self.npus, constraints)


def _solvable_structures(
    structures: Structures, low: FloatArray, high: FloatArray, price: FloatArray, constraints: Sequence[Constraint]
) -> Structures:
    """Return the combinations that some bandwidths within the box and the linear constraints can serve.

    The answer depends on the technologies of the dimensions alone, so one small linear program is solved for each
    distinct combination of them, with the cheapest block wherever cost is constrained from above. The box in B/s and
    the price in USD per B/s of the cheapest block are (d, t).
    """
    linear = [constraint for constraint in constraints if constraint.quantity in (BANDWIDTH, COST.name)]
    if not linear:
        return structures
    key = np.where(structures.npus > 1, structures.technology, -1)
    kinds, inverse = np.unique(key, axis=1, return_inverse=True)
    row = np.arange(len(key))
    boxes = [
        (np.where(kind >= 0, low[row, kind], 0.0), np.where(kind >= 0, high[row, kind], 0.0),
         np.where(kind >= 0, price[row, kind], 0.0))
        for kind in kinds.T
    ]  # fmt: skip
    meets = np.array([_solvable(kind, box, linear) for kind, box in zip(kinds.T, boxes, strict=True)])
    if not meets.any():
        raise conflicting(_conflict(kinds.T, boxes, linear))
    return structures.select(meets[inverse.ravel()])


Box = tuple[FloatArray, FloatArray, FloatArray]
"""Smallest and largest bandwidth and the lowest price of the dimensions of one kind of combination: (d,) each."""


def _solvable(kind: IntArray, box: Box, constraints: Sequence[Constraint]) -> bool:
    """Return whether some bandwidths meet all constraints."""
    if len(constraints) != 1:
        return _meet_together(kind, box, constraints)
    (only,), (low, high, price) = constraints, box
    row = _row(only, kind, price)
    with np.errstate(invalid="ignore"):
        ends = np.where(row != 0, row * np.stack([low, high]), 0.0)
    lowest, highest, slack = ends.min(axis=0).sum(), ends.max(axis=0).sum(), SLACK * abs(only.limit)
    meets = lowest <= only.limit + slack and (not only.equality or highest >= only.limit - slack)
    return bool(meets and (low <= high).all())


def _row(constraint: Constraint, kind: IntArray, price: FloatArray) -> FloatArray:
    """Return the (d,) coefficients of the bandwidths of one kind of combination; its (d,) prices are 0 where unused."""
    if constraint.quantity == COST.name:
        return np.asarray(constraint.objective * price)
    return constraint.coefficients(np.maximum(kind, 0)[:, None])[:, 0] * (kind >= 0)


def _meet_together(kind: IntArray, box: Box, constraints: Sequence[Constraint]) -> bool:
    from scipy.optimize import linprog  # noqa: PLC0415 - takes a third of a second, and few problems need it

    low, high, price = box
    rows: dict[bool, list[FloatArray]] = {True: [], False: []}
    limits: dict[bool, list[float]] = {True: [], False: []}
    for constraint in constraints:
        row = _row(constraint, kind, price)
        reach = np.where(np.isfinite(high), high, np.maximum(low, 1e9))
        size = float(np.abs(row * reach).max()) or 1.0
        rows[constraint.equality].append(row * 1e9 / size)
        limits[constraint.equality].append(constraint.limit / size)
    result = linprog(
        np.zeros(len(kind)),
        A_ub=rows[False] or None,
        b_ub=limits[False] or None,
        A_eq=rows[True] or None,
        b_eq=limits[True] or None,
        bounds=np.stack([low, high], axis=1) / 1e9,
    )
    return bool(result.status == 0)


def _conflict(kinds: IntArray, boxes: Sequence[Box], constraints: Sequence[Constraint]) -> list[Constraint]:
    """Drop constraints as long as what is left still cannot be met by any combination."""
    conflict = list(constraints)
    for constraint in constraints:
        rest = [other for other in conflict if other is not constraint]
        if not any(_solvable(kind, box, rest) for kind, box in zip(kinds, boxes, strict=True)):
            conflict = rest
    return conflict
