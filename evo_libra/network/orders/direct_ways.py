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
from evo_libra.network.orders.floor import Block, Floor, Stock, groups_of_block, leaf_cells, system_cells
from evo_libra.network.orders.layout import Tier
from evo_libra.network.orders.lengths import Rows, sold

Counts = tuple[tuple[int, int], ...]
"""Lengths of cables, the shortest first, each with its number of links."""


@dataclass(frozen=True)
class Ways:
    """Links of one kind.

    Attributes
    ----------
    tier : what they are links of.
    together : links that always join the same two switches.
    links : their number by metres.
    ends : by metres, those at a switch, and at how many switches it is so.
    """

    tier: Tier
    together: int
    links: Counts
    ends: tuple[tuple[Counts, int], ...]


@dataclass(frozen=True)
class Placed:
    """A dragonfly or a HyperX in a room: its systems, and the systems and the switches that a rack takes."""

    found: Direct
    count: int
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
        last = self._block(rest, left) if left else None
        if last and not blocks:
            return Floor(self.rows, last, 1, None, none, none)
        return Floor(self.rows, self._block(groups * self.found.leaf_systems, groups), blocks, last, none, none)

    def _block(self, systems: int, groups: int) -> Block:
        switches = groups * self.found.spread * self.found.planes
        return Block(Stock(systems, self.held), groups, Stock(switches, self.in_rack))

    def _block_of(self, group: IntArray) -> IntArray:
        return np.minimum(group // self.groups, self.floor.blocks - (self.floor.last is None))

    def switches(self, switch: IntArray, plane: IntArray) -> IntArray:
        """Return the (..., 2) row and column of switches of a plane."""
        group, part = np.divmod(switch, self.found.spread)
        block = self._block_of(group)
        number = ((group - block * self.groups) * self.found.spread + part) * self.found.planes + plane
        racks = leaf_cells(self.floor)
        return np.asarray(racks[block * self.floor.block.leaf_racks + number // self.in_rack])

    def systems(self) -> IntArray:
        """Return the (n, 2) row and column of each system."""
        system = np.arange(self.count)
        block = self._block_of(system // self.found.leaf_systems)
        place = (system - block * self.groups * self.found.leaf_systems) // self.held
        return np.asarray(system_cells(self.floor)[block * self.floor.block.systems.racks + place])


@lru_cache(maxsize=4096)
def ways_of(placed: Placed) -> tuple[Ways, ...]:
    """Return the links to systems, within units and between units."""
    found = placed.found
    if found.family == "dragonfly":
        near = _linked(placed, "group", found.near_links, _within(found))
        return _to_systems(placed), near, _linked(placed, "groups", 1, _between_groups(found))
    near = _linked(placed, "line", found.near_links, _within(found))
    return _to_systems(placed), near, _linked(placed, "column", found.far_links, _columns(found))


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


def _linked(placed: Placed, tier: Tier, together: int, ends: IntArray) -> Ways:
    """Return the links between (2, n) switches of each plane, some together between each two."""
    plane = np.arange(placed.found.planes)[:, None]
    one, other = placed.switches(ends[:, None], plane)
    metres = _metres(placed.rows, one, other).ravel()
    switches = ends[:, None] * placed.found.planes + plane
    return _ways(tier, together, switches.reshape(2, -1), metres, np.full(metres.shape, together))


def _to_systems(placed: Placed) -> Ways:
    """Return the links between systems and their switches."""
    found, systems = placed.found, placed.systems()
    system, part, plane = np.ogrid[: placed.count, : found.spread, : found.planes]
    switch = system // found.leaf_systems * found.spread + part
    metres = _metres(placed.rows, systems[system], placed.switches(switch, plane))
    each, more = divmod(found.links // (placed.count * found.planes), found.spread)
    links = np.broadcast_to(each + (part < more), metres.shape)
    switches = (switch * found.planes + plane).reshape(1, -1)
    return _ways("switch", 0, switches, metres.ravel(), links.ravel())


def _metres(rows: Rows, one: IntArray, other: IntArray) -> IntArray:
    """Return the lengths of cables between (..., 2) rows and columns."""
    apart = np.abs(one - other)
    return sold(rows.metres(apart[..., 0], apart[..., 1]))


def _ways(tier: Tier, together: int, switches: IntArray, metres: IntArray, links: IntArray) -> Ways:
    """Return the links of (n,) numbers and lengths, at (k, n) switches."""
    total = np.bincount(metres, weights=links).astype(np.int64)
    lengths = np.flatnonzero(total)
    wide, place = len(lengths), np.searchsorted(lengths, metres)
    at = np.bincount((switches * wide + place).ravel(), weights=np.tile(links, len(switches))).astype(np.int64)
    alike, number = np.unique(np.pad(at, (0, -len(at) % wide)).reshape(-1, wide), axis=0, return_counts=True)
    ends = ((_counts(lengths, some), times) for some, times in zip(alike, number.tolist(), strict=True))
    return Ways(tier, together, _counts(lengths, total[lengths]), tuple(ends))


def _counts(metres: IntArray, links: IntArray) -> Counts:
    """Return the lengths that some links have, with their number."""
    return tuple((length, some) for length, some in zip(metres.tolist(), links.tolist(), strict=True) if some)
