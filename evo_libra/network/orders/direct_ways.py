"""Lengths of the links of a dragonfly or a HyperX.

Its switches stand as leaves do: in racks in the middle of blocks, in the order of their systems, with those of all
planes side by side. The ports of a group to other groups go to these in their order, as many to each, and are dealt out
to its switches in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.ends import switches_per_rack
from evo_libra.network.orders.floor import Block, Floor, Stock, groups_of_block, leaf_cells, system_cells
from evo_libra.network.orders.lengths import Rows, rows_of, sold
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import room_of
from evo_libra.network.orders.runs import Tier
from evo_libra.network.orders.tor_racks import systems_of_rack
from evo_libra.network.orders.ways import Side, Ways, counted_ways


@dataclass(frozen=True)
class Placed:
    """A dragonfly or a HyperX in a room: its systems, their NPUs, and the systems and switches that a rack takes."""

    found: Direct
    count: int
    npus: int
    held: int
    in_rack: int
    rows: Rows

    @property
    def groups(self) -> int:
        """Groups of a block: systems with the switches that are theirs alone."""
        leaves = self.found.spread * self.found.planes
        return groups_of_block(
            self.found.leaf_systems, leaves, held=self.held, in_rack=self.in_rack, row=self.rows.racks
        )

    @cached_property
    def floor(self) -> Floor:
        """The racks. The last block has the switches, too, that no systems are left for."""
        groups, none = self.groups, Stock(0, self.in_rack)
        blocks, rest = divmod(self.count, groups * self.found.leaf_systems)
        left = self.found.unit * self.found.units // self.found.spread - blocks * groups
        block, last = self._block(groups * self.found.leaf_systems, groups), self._block(rest, left) if left else None
        if last and not blocks:
            block, blocks, last = last, 1, None
        return Floor(self.rows, block, blocks, last, spines=none, cores=none)

    def _block(self, systems: int, groups: int) -> Block:
        switches = groups * self.found.spread * self.found.planes
        return Block(Stock(systems, self.held), groups, Stock(switches, self.in_rack))

    def _block_of(self, group: IntArray) -> IntArray:
        return np.minimum(group // self.groups, self.floor.blocks - (self.floor.last is None))

    def switch_racks(self, switch: IntArray, plane: IntArray) -> IntArray:
        """Return the racks, of those of switches, that switches of a plane are in."""
        group, part = np.divmod(switch, self.found.spread)
        block = self._block_of(group)
        number = ((group - block * self.groups) * self.found.spread + part) * self.found.planes + plane
        return np.asarray(block * self.floor.block.leaf_racks + number // self.in_rack)

    def switches(self, switch: IntArray, plane: IntArray) -> IntArray:
        """Return the (..., 2) row and column of switches of a plane."""
        return np.asarray(leaf_cells(self.floor)[self.switch_racks(switch, plane)])

    def system_racks(self) -> IntArray:
        """Return the rack of each system."""
        system = np.arange(self.count)
        block = self._block_of(system // self.found.leaf_systems)
        place = (system - block * self.groups * self.found.leaf_systems) // self.held
        return np.asarray(block * self.floor.block.systems.racks + place)


def placed_of(order: Order, found: Direct, products: ProductsSpec) -> Placed:
    """Return a dragonfly or a HyperX in its room."""
    return Placed(
        found, order.count, order.npus, held=systems_of_rack(order, products),
        in_rack=switches_per_rack(order, products), rows=rows_of(room_of(products)),
    )  # fmt: skip


@dataclass(frozen=True)
class Pairs:
    """The (2, n) switches of a plane that links of a tier join, some together each."""

    tier: Tier
    together: int
    switches: IntArray


def pairs_of(found: Direct) -> tuple[Pairs, Pairs]:
    """Return the switches of the links within units, and of those between units."""
    if found.family == "dragonfly":
        return Pairs("group", found.near_links, _within(found)), Pairs("groups", 1, _between_groups(found))
    return Pairs("line", found.near_links, _within(found)), Pairs("column", found.far_links, _columns(found))


@lru_cache(maxsize=4096)
def ways_of(placed: Placed) -> tuple[Ways, ...]:
    """Return the links to systems, within units and between units."""
    return _to_systems(placed), *(_linked(placed, pairs) for pairs in pairs_of(placed.found))


def _pairs(parts: int) -> tuple[IntArray, IntArray]:
    return np.triu_indices(parts, 1)


def _within(found: Direct) -> IntArray:
    """Return the (2, n) switches of each pair in a unit of a plane."""
    first = np.arange(found.units)[:, None] * found.unit
    return np.stack([(first + place).ravel() for place in _pairs(found.unit)])


def _columns(found: Direct) -> IntArray:
    """Return the (2, n) switches of each pair in a column of a plane."""
    place = np.arange(found.unit)[:, None]
    return np.stack([(place + unit * found.unit).ravel() for unit in _pairs(found.units)])


def _between_groups(found: Direct) -> IntArray:
    """Return the (2, n) switches of each link between two groups of a plane."""
    (one, other), link = _pairs(found.units), np.arange(found.far_links)[:, None]
    ports = (other - 1) * found.far_links + link, one * found.far_links + link
    groups = zip((one, other), ports, strict=True)
    return np.stack([(group * found.unit + port % found.unit).ravel() for group, port in groups])


def _linked(placed: Placed, pairs: Pairs) -> Ways:
    """Return the links between switches of all planes."""
    plane, between = np.arange(placed.found.planes)[:, None], pairs.switches[:, None]
    one, other = placed.switches(between, plane)
    metres = _metres(placed.rows, one, other).ravel()
    switches = (between * placed.found.planes + plane).reshape(2, -1)
    links = np.full(metres.shape, pairs.together)
    return counted_ways(pairs.tier, pairs.together, metres, links, (_side(placed.found, switches, links),))


def _to_systems(placed: Placed) -> Ways:
    """Return the links between systems and their switches."""
    found, systems = placed.found, system_cells(placed.floor)[placed.system_racks()]
    system, part, plane = np.ogrid[: placed.count, : found.spread, : found.planes]
    switch = system // found.leaf_systems * found.spread + part
    metres = _metres(placed.rows, systems[system], placed.switches(switch, plane))
    each, more = divmod(placed.npus, found.spread)
    lines = found.links // (placed.count * found.planes * placed.npus)
    links = np.broadcast_to((each + (part < more)) * lines, metres.shape)
    switches = (switch * found.planes + plane).reshape(1, -1)
    return counted_ways("switch", 0, metres.ravel(), links.ravel(), (_side(found, switches, links.ravel()),))


def _side(found: Direct, switches: IntArray, links: IntArray) -> Side:
    """Return the (k, n) switches that (n,) links end at, none of which are alike."""
    return Side("switches", switches.ravel(), np.ones(found.switches, np.int64), np.tile(links, len(switches)))


def _metres(rows: Rows, one: IntArray, other: IntArray) -> IntArray:
    """Return the lengths of cables between (..., 2) rows and columns."""
    apart = np.abs(one - other)
    return sold(rows.metres(apart[..., 0], apart[..., 1]))
