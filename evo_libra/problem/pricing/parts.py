"""Prices of parts: a bill of materials, whose parts and ports come in whole numbers unless any fraction will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, no_plans
from evo_libra.network.bill import cost_by_item, counting, fits, parts_in, pieces, power_by_item, relaxed_price
from evo_libra.network.blocks import ITEMS, Kit
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.constraints import Constraint, project, violation
from evo_libra.problem.pricing.hardware import Hardware, HardwareTable, buildable, hardware_of, tabulated
from evo_libra.problem.pricing.pricing import SLACK, Pricing, Rows, Topologies, conflicting
from evo_libra.problem.space import Structures, divisors_of

_ROUNDING = 1e-9
_PORTS = Constraint(
    text="ports of a technology", quantity="bandwidth", equality=False, dimension=(), technology=(), objective=0.0,
    limit=1.0, ports=True,
)  # fmt: skip


@dataclass(frozen=True)
class BuiltTopologies(Topologies):
    """Networks whose dimensions are built of the parts of some hardware, in any fraction."""

    hardware: Hardware

    def select(self, designs: IntArray | slice) -> Self:
        hardware = self.hardware.part(designs) if isinstance(designs, slice) else self.hardware.select(designs)
        arrays = {name: array[..., designs] for name, array in vars(self).items() if name != "hardware"}
        return type(self)(**arrays, hardware=hardware)

    def times(self, factor: FloatArray) -> Self:
        return replace(super().times(factor), hardware=self.hardware.times(factor))

    @property
    def watts(self) -> FloatArray:
        return self.hardware.relaxed_watts

    @property
    def shared_rows(self) -> Rows | None:
        return port_rows(self.hardware.shared)

    def totals(self, bandwidth: FloatArray, *, power: bool) -> tuple[FloatArray, FloatArray]:
        watts = (self.watts * bandwidth).sum(axis=0) if power else np.zeros(bandwidth.shape[1])
        return np.asarray((self.price * bandwidth).sum(axis=0)), watts

    def excess(self, bandwidth: FloatArray) -> FloatArray:
        return self.hardware.excess(bandwidth)

    def repaired(self, bandwidth: FloatArray, rows: Rows) -> FloatArray:
        found = within_ports(self.hardware, bandwidth)
        if not rows:
            return found
        return project(found, self.low, self.high, [*rows, *port_rows(self.hardware.possible)])


class WholeTopologies(BuiltTopologies):
    """Networks whose dimensions are built of whole ports and whole parts."""

    def totals(self, bandwidth: FloatArray, *, power: bool) -> tuple[FloatArray, FloatArray]:
        return self.hardware.totals(self.hardware.ports(bandwidth), power=power)

    def repaired(self, bandwidth: FloatArray, rows: Rows) -> FloatArray:
        return whole_ports(self.hardware, super().repaired(bandwidth, rows), rows)

    def nearest(self, bandwidth: FloatArray) -> FloatArray:
        return self.hardware.ports(bandwidth) * self.hardware.rate

    def equal_bandwidths(self, low: float, high: float, *, largest: bool) -> FloatArray:  # noqa: ARG002 - all are given
        """Return the bandwidths in a range that are whole ports in every dimension, ascending."""
        steps = (self.hardware.rate * self.hardware.quantum)[self.used > 0]
        widest = float(steps.max())
        first, last = np.ceil(low / widest * (1.0 - _ROUNDING)), np.floor(high / widest * (1.0 + _ROUNDING))
        found = np.arange(first, last + 1.0) * widest
        count = found[:, None] / steps
        return found[(np.abs(count - np.rint(count)) <= _ROUNDING * count).all(axis=1)]


@dataclass(frozen=True)
class BillOfMaterials(Pricing):
    """Prices of parts: those of each technology of the space, of one block each."""

    parts: tuple[Kit, ...]
    fractional: bool = False

    @property
    def kits(self) -> tuple[Kit, ...]:
        return self.parts

    @property
    def whole(self) -> bool:
        return not self.fractional

    def topologies_of(
        self, npus: IntArray, technology: IntArray, gene: IntArray, structure: IntArray | None = None  # noqa: ARG002 - others have several blocks
    ) -> Topologies:  # fmt: skip
        known = self._table if structure is not None and (structure >= 0).all() else None
        index = np.full(npus.shape[1], -1) if structure is None else structure
        hardware = self.hardware_of(npus, technology) if known is None else known.select(index)
        block = np.take(np.array([kit.block for kit in self.parts]), technology)
        return self._topologies(index, npus, technology, block, hardware)

    def built(self, designs: Population, structure: IntArray | None = None) -> Topologies:
        index = np.full(len(designs), -1) if structure is None else structure
        known = self._table if (index >= 0).all() else None
        hardware = self.hardware_of(designs.npus, designs.technology) if known is None else known.select(index)
        return self._topologies(
            index, designs.npus, technology=designs.technology, block=designs.block, hardware=hardware,
            plan=designs.plans,
        )  # fmt: skip

    def _topologies(
        self,
        structure: IntArray,
        npus: IntArray,
        technology: IntArray,
        block: IntArray,
        hardware: Hardware,
        plan: IntArray | None = None,
    ) -> Topologies:
        kind = BuiltTopologies if self.fractional else WholeTopologies
        used = (npus > 1).astype(np.float64)
        price, low, high = hardware.relaxed_price, hardware.low, hardware.high
        plan = no_plans(npus.shape[1]) if plan is None else plan
        return kind(
            structure=structure, npus=npus, technology=technology, block=block, price=price, low=low, high=high,
            used=used, plan=plan, hardware=hardware,
        )  # fmt: skip

    def hardware_of(self, npus: IntArray, technology: IntArray) -> Hardware:
        """Return the hardware of (d, n) sizes and kits, with no more ports than the problem allows."""
        return hardware_of(self.parts, npus, technology).within(*self.box(technology))

    def cheapest(self, technology: IntArray) -> IntArray:
        return np.zeros_like(technology)

    @cached_property
    def min_price(self) -> FloatArray:
        return np.broadcast_to(self._prices[0], self.low.shape)

    @property
    def lowest_price(self) -> float:
        return float(self.min_price[(self.min_price > 0) & np.isfinite(self.min_price)].min())

    def max_cost(self) -> float:
        return float((self._prices[1] * self.high).max(axis=1).sum()) * self.npus

    def max_prices(self, designs: Topologies) -> FloatArray:
        return designs.price

    def feasible(self, structures: Structures, constraints: Sequence[Constraint]) -> Structures:
        """Return the combinations that have ports for their blocks and reach every linear constraint."""
        mine = buildable(self.parts, structures.npus, structures.technology)
        structures = structures.select(mine) if mine.any() else structures
        # The cost of a kit depends on its size: no linear program holds for all combinations of some kits.
        linear = [c for c in constraints if c.linear and c.relaxed and not c.ports]
        if not linear:
            return structures
        left = replace(self, space=structures)
        topologies = left.topologies(np.arange(len(structures)), np.zeros_like(structures.npus))
        # Whole parts cost no less than fractions of them.
        reach = [_reaches(constraint, topologies) for constraint in linear]
        together = np.logical_and.reduce(reach)
        if not together.any():
            alone = [constraint for constraint, some in zip(linear, reach, strict=True) if not some.any()]
            raise conflicting(alone[:1] or linear)
        return structures.select(together)

    def items(self, designs: Population) -> FloatArray:
        """Return the (item, d, n) pieces of the bills of designs, with their ports from their bandwidths."""
        return self._items(self.built(designs), designs.bandwidth)

    def pieces(self, topologies: Topologies, bandwidth: FloatArray, parts: Sequence[str]) -> FloatArray:
        items = self._items(topologies, bandwidth) if parts else np.zeros((len(ITEMS), *bandwidth.shape))
        return pieces(items, self.parts, topologies.technology, parts)

    def _items(self, topologies: Topologies, bandwidth: FloatArray) -> FloatArray:
        table = self._table if (topologies.structure >= 0).all() else None
        known = None if table is None else table.counts_of(topologies.structure)
        counts = known or counting(self.parts, topologies.technology, topologies.npus)
        ports = self.ports_of(topologies, bandwidth)
        return counts.relaxed * ports if self.fractional else counts.at(ports.astype(np.int64))

    def ports_of(self, topologies: Topologies, bandwidth: FloatArray) -> FloatArray:
        """Return the (d, n) ports of networks with (d, n) B/s; 0 in unused dimensions."""
        assert isinstance(topologies, BuiltTopologies), "they are of this pricing"  # noqa: S101 - internal error
        hardware = topologies.hardware
        if self.fractional:
            return np.divide(bandwidth, hardware.rate, out=np.zeros_like(bandwidth), where=hardware.rate > 0)
        return hardware.ports(bandwidth)

    def bill(self, designs: Population) -> list[dict[str, Any]]:
        return [] if self.fractional else self._bill(designs.select([0]))

    def _bill(self, one: Population) -> list[dict[str, Any]]:
        items = self.items(one)
        usd, watts = cost_by_item(items, self.parts, one.technology), power_by_item(items, self.parts, one.technology)
        rows = []
        for d, i in [(d, i) for d in range(len(one.npus)) for i in range(len(ITEMS)) if items[i, d, 0] > 0]:
            part = parts_in(self.parts[int(one.technology[d, 0])])[i]
            rows.append({
                "dimension": d, "item": ITEMS[i], "part": None if part is None else part.name,
                "pieces": round(float(items[i, d, 0])), "unit_usd": None if part is None else part.price.value,
                "cost_usd": float(usd[i, d, 0]), "power_W": float(watts[i, d, 0]),
                "idle_W": None if part is None or part.idle_power is None else float(items[i, d, 0]) * part.idle_power,
            })  # fmt: skip
        return rows

    def breakdown(self, designs: Population) -> list[dict[str, Any]]:
        one = designs.select([0])
        hardware, rows, found = self.hardware_of(one.npus, one.technology), self.bill(one), []
        for d in np.flatnonzero(one.npus[:, 0] > 1).tolist():
            bandwidth = float(one.bandwidth[d, 0])
            ports = bandwidth / self.parts[int(one.technology[d, 0])].port_rate
            if self.fractional:
                each = (hardware.relaxed_price[d, 0], hardware.relaxed_watts[d, 0])
                cost, power = (float(figure * bandwidth) for figure in each)
            else:
                ports = round(ports)
                cost, power = (
                    sum(row[key] for row in rows if row["dimension"] == d) for key in ("cost_usd", "power_W")
                )
            found.append({"ports": ports, "cost_usd": cost, "power_W": power})
        return found

    @cached_property
    def _table(self) -> HardwareTable | None:
        table = self.space.table
        return tabulated(self.parts, table.npus, table.technology, self.hardware_of) if table else None

    @cached_property
    def _prices(self) -> FloatArray:
        """(2, t) lowest and highest USD per NPU and B/s of each kit, over all sizes of a dimension and of those inside.

        Only networks of all NPUs inside depend on how many these are.
        """
        found, divisors = np.zeros((2, len(self.parts))), divisors_of(self.npus)
        pairs = [(size, inside) for size in divisors[1:] for inside in divisors if self.npus % (size * inside) == 0]
        places, within = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        for t, kit in enumerate(self.parts):
            mine = (within == 1) | BLOCKS[kit.block].joined
            mine[mine] = fits(kit, places[mine], within[mine])
            npus = np.stack([within[mine], places[mine], self.npus // (places[mine] * within[mine])])
            prices = relaxed_price(self.parts, np.full(npus.shape, t), npus)[1] / self.npus
            found[:, t] = prices.min(initial=np.inf), prices.max(initial=0.0)
        return found


def _reaches(constraint: Constraint, designs: Topologies) -> BoolArray:
    """Return (n,) whether some bandwidths in the box of each design meet a constraint."""
    found = np.ones(designs.npus.shape[1], dtype=np.bool_)
    slack = SLACK * abs(constraint.limit)
    for row in constraint.rows(designs):
        ends = row * np.stack([designs.low, designs.high])
        found &= ends.min(axis=0).sum(axis=0) <= constraint.limit + slack
        if constraint.equality:
            found &= ends.max(axis=0).sum(axis=0) >= constraint.limit - slack
    return found


def port_rows(shared: FloatArray) -> Rows:
    """Return that no technology has more ports than it has, as constraints with their (d, n) coefficients."""
    return [(_PORTS, row) for row in shared]


def whole_ports(hardware: Hardware, bandwidth: FloatArray, constraints: Rows) -> FloatArray:
    """Return the (d, n) bandwidths of the nearest numbers of ports; of fewer, or of more, where that breaks less.

    The constraints are the linear ones other than the ports of technologies, each with its (d, n) coefficients.
    """
    found = hardware.ports(bandwidth) * hardware.rate
    broken = _broken(hardware, found, constraints)
    for rounding in (np.floor, np.ceil):
        some = np.flatnonzero(broken)
        if not len(some):
            break
        part = hardware.select(some)
        other = part.ports(bandwidth[:, some], rounding) * part.rate
        breaks = _broken(part, other, [(constraint, row[:, some]) for constraint, row in constraints])
        better = breaks < broken[some]
        found[:, some[better]], broken[some[better]] = other[:, better], breaks[better]
    return found


def _broken(hardware: Hardware, bandwidth: FloatArray, constraints: Rows) -> FloatArray:
    """Return (n,) the relative violation of constraints by whole ports, whose parts come in whole numbers, too."""
    broken = hardware.excess(bandwidth)
    bought = [constraint for constraint, _ in constraints if constraint.bought]
    for constraint, row in constraints:
        if not constraint.bought:
            broken += violation(constraint, row, bandwidth)
    if bought:
        cost, watts = hardware.totals(hardware.ports(bandwidth))
        for constraint in bought:
            broken += constraint.excess_of(cost, watts)
    return broken


def within_ports(hardware: Hardware, bandwidth: FloatArray) -> FloatArray:
    """Return (d, n) bandwidths in their box, and in the ports that technologies have where the fewest are not too many.

    Of a technology with too many, what dimensions have beyond their fewest ports is scaled down alike.
    """
    low = hardware.low
    found = np.maximum(bandwidth, low)
    np.minimum(found, hardware.high, out=found)
    for row in hardware.shared:
        taken = np.einsum("dn,dn->n", row, found)
        over = taken > 1.0
        if over.any():
            fixed = np.einsum("dn,dn->n", row, low)
            part = np.divide(1.0 - fixed, taken - fixed, out=np.ones_like(taken), where=over & (taken > fixed))
            np.maximum(part, 0.0, out=part)
            scaled = found - low
            scaled *= part
            scaled += low
            np.copyto(found, scaled, where=(row > 0) & over)
    return found
