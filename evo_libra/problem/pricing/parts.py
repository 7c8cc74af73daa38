"""Prices of parts: a bill of materials, whose parts and ports come in whole numbers unless any fraction will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population
from evo_libra.network.bill import fits, relaxed_price
from evo_libra.network.blocks import Kit
from evo_libra.network.catalog.technologies import network_cost
from evo_libra.problem.constraints import Constraint, project, violation
from evo_libra.problem.feasibility import reaching_structures
from evo_libra.problem.pricing.hardware import Hardware, HardwareTable, buildable, hardware_of, tabulated
from evo_libra.problem.pricing.pricing import Pricing, Rows, Topologies
from evo_libra.problem.space import Structures, divisors_of

_ROUNDING = 1e-9
_PORTS = Constraint("ports of a technology", "bandwidth", False, (), (), 0.0, 1.0, ports=True)  # noqa: FBT003 - a record


@dataclass(frozen=True)
class BuiltTopologies(Topologies):
    """Networks whose dimensions are built of parts, in any fraction.

    Attributes
    ----------
    hardware : ports and parts.
    """

    hardware: Hardware

    def select(self, designs: IntArray | slice) -> Self:
        """Return some of the designs."""
        hardware = self.hardware.part(designs) if isinstance(designs, slice) else self.hardware.select(designs)
        arrays = {name: array[..., designs] for name, array in vars(self).items() if name != "hardware"}
        return type(self)(**arrays, hardware=hardware)

    @property
    def watts(self) -> FloatArray:
        """(d, n) W per B/s of the whole network that no whole number of parts undercuts."""
        return self.hardware.relaxed_watts

    @property
    def shared_rows(self) -> Rows | None:
        """Rows of the technologies that several dimensions share."""
        return port_rows(self.hardware.shared)

    def totals(self, bandwidth: FloatArray, *, power: bool) -> tuple[FloatArray, FloatArray]:
        """Return (n,) USD and (n,) W of parts in any fraction."""
        watts = (self.watts * bandwidth).sum(axis=0) if power else np.zeros(bandwidth.shape[1])
        return network_cost(1, self.price, bandwidth), watts

    def excess(self, bandwidth: FloatArray) -> FloatArray:
        """Return (n,) the relative violation of the ports that dimensions of one technology share."""
        return self.hardware.excess(bandwidth)

    def repaired(self, bandwidth: FloatArray, rows: Rows) -> FloatArray:
        """Return the (d, n) bandwidths moved into the ports and onto the constraints."""
        found = within_ports(self.hardware, bandwidth)
        if not rows:
            return found
        return project(found, self.low, self.high, [*rows, *port_rows(self.hardware.possible)])


class WholeTopologies(BuiltTopologies):
    """Networks whose dimensions are built of whole ports and whole parts."""

    def totals(self, bandwidth: FloatArray, *, power: bool) -> tuple[FloatArray, FloatArray]:
        """Return (n,) USD and (n,) W of whole parts."""
        return self.hardware.totals(self.hardware.ports(bandwidth), power=power)

    def repaired(self, bandwidth: FloatArray, rows: Rows) -> FloatArray:
        """Return the (d, n) bandwidths of whole ports."""
        return whole_ports(self.hardware, super().repaired(bandwidth, rows), rows)

    def nearest(self, bandwidth: FloatArray) -> FloatArray:
        """Return the (d, n) B/s of the nearest numbers of ports."""
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
    """Prices of parts.

    Attributes
    ----------
    parts : of each technology of the space, each of one block.
    fractional : whether parts come in any fraction.
    """

    parts: tuple[Kit, ...]
    fractional: bool = False

    @property
    def kits(self) -> tuple[Kit, ...]:
        """The parts of each technology."""
        return self.parts

    @property
    def whole(self) -> bool:
        """Whether bandwidths come in whole ports."""
        return not self.fractional

    def topologies_of(
        self, npus: IntArray, technology: IntArray, gene: IntArray, structure: IntArray | None = None  # noqa: ARG002 - others have several blocks
    ) -> Topologies:  # fmt: skip
        """Return the topologies of (d, n) sizes and technologies, each of one block."""
        known = self._table if structure is not None and (structure >= 0).all() else None
        index = np.full(npus.shape[1], -1) if structure is None else structure
        hardware = self.hardware_of(npus, technology) if known is None else known.select(index)
        return self._topologies(index, npus, technology, np.take(self._kit_blocks, technology), hardware)

    def built(self, designs: Population) -> Topologies:
        """Return the topologies of designs."""
        hardware = self.hardware_of(designs.npus, designs.technology)
        return self._topologies(np.full(len(designs), -1), designs.npus, designs.technology, designs.block, hardware)

    def _topologies(
        self, structure: IntArray, npus: IntArray, technology: IntArray, block: IntArray, hardware: Hardware
    ) -> Topologies:
        kind = BuiltTopologies if self.fractional else WholeTopologies
        used = (npus > 1).astype(np.float64)
        price, low, high = hardware.relaxed_price, hardware.low, hardware.high
        return kind(structure, npus, technology, block, price, low, high, used, hardware)

    def hardware_of(self, npus: IntArray, technology: IntArray) -> Hardware:
        """Return the hardware of (d, n) sizes and kits, with no more ports than the problem allows."""
        return hardware_of(self.parts, npus, technology).within(*self.box(technology))

    def cheapest(self, technology: IntArray) -> IntArray:
        """Return (d, n) zeros: a technology has one block."""
        return np.zeros_like(technology)

    @cached_property
    def min_price(self) -> FloatArray:
        """(d, t) USD per NPU and B/s of each technology at its cheapest size."""
        return np.broadcast_to(self._prices[0], self.low.shape)

    @property
    def lowest_price(self) -> float:
        """USD per NPU and B/s of the cheapest kit that costs anything."""
        return float(self.min_price[(self.min_price > 0) & np.isfinite(self.min_price)].min())

    def max_cost(self) -> float:
        """Return USD that no design exceeds: every dimension as expensive and as wide as it may be."""
        return float((self._prices[1] * self.high).max(axis=1).sum()) * self.npus

    def max_prices(self, designs: Topologies) -> FloatArray:
        """Return (d, n) their prices: a technology has one block."""
        return designs.price

    def feasible(self, structures: Structures, constraints: Sequence[Constraint]) -> Structures:
        """Return the structures that have ports for their blocks and reach every linear constraint."""
        mine = buildable(self.parts, structures.npus, structures.technology)
        structures = structures.select(mine) if mine.any() else structures
        # The cost of a kit depends on its size: no linear program holds for all structures of some kits.
        left = replace(self, space=structures)
        every, gene = np.arange(len(structures)), np.zeros_like(structures.npus)
        return reaching_structures(structures, lambda: left.topologies(every, gene), constraints)

    @cached_property
    def _table(self) -> HardwareTable | None:
        table = self.space.table
        return tabulated(self.parts, table.npus, table.technology, self.hardware_of) if table else None

    @cached_property
    def _prices(self) -> FloatArray:
        """(2, t) lowest and highest USD per NPU and B/s of each kit, over all sizes of a dimension next to the NPUs."""
        found = np.zeros((2, len(self.parts)))
        sizes = np.array([size for size in divisors_of(self.npus) if size > 1], dtype=np.int64)
        for t, kit in enumerate(self.parts):
            mine = sizes[fits(kit, sizes, np.ones_like(sizes))]
            npus = np.stack([mine, self.npus // mine])
            prices = relaxed_price(self.parts, np.full(npus.shape, t), npus)[0] / self.npus
            found[:, t] = prices.min(initial=np.inf), prices.max(initial=0.0)
        return found

    @cached_property
    def _kit_blocks(self) -> IntArray:
        return np.array([kit.block for kit in self.parts])


def hardware_of_designs(pricing: Pricing, designs: Population) -> Hardware:
    """Return the ports and parts of designs of a pricing that has some."""
    found = pricing.built(designs)
    assert isinstance(found, BuiltTopologies), "only parts are built"  # noqa: S101 - our mistake
    return found.hardware


def port_rows(shared: FloatArray) -> Rows:
    """Return that no technology has more ports than it has, as constraints with their (d, n) coefficients."""
    return [(_PORTS, row) for row in shared]


def whole_ports(hardware: Hardware, bandwidth: FloatArray, constraints: Rows) -> FloatArray:
    """Return the (d, n) bandwidths of the nearest numbers of ports; of fewer, or of more, where that breaks less.

    Parameters
    ----------
    hardware : of the designs.
    bandwidth : (d, n) B/s.
    constraints : linear ones beside the ports of technologies, each with its (d, n) coefficients.
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
