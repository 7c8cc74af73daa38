"""Lengths of the links of a dragonfly or a HyperX.

A group, or a line, is a block of racks with those of its switches in the middle. Switches fill these racks in their
order, those of all planes side by side. The ports of a group to other groups go to these in their order, as many to
each, and are dealt out to its switches in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.floor import Block, Floor, Stock, leaf_cells
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
    def floor(self) -> Floor:
        """The racks: a block for each group, or line."""
        units, last = divmod(self.count, self.found.pod_systems)
        none = Stock(0, self.in_rack)
        return Floor(
            self.rows, self._block(self.found.pod_systems), units, self._block(last) if last else None, none, none
        )

    def _block(self, systems: int) -> Block:
        return Block(Stock(systems, self.held), 1, Stock(self.found.unit * self.found.planes, self.in_rack))

    def rack(self, place: IntArray, plane: IntArray) -> IntArray:
        """Return the racks, of those of a unit, that switches are in."""
        return np.asarray((place * self.found.planes + plane) // self.in_rack)


@lru_cache(maxsize=4096)
def ways_of(placed: Placed) -> tuple[Ways, ...]:
    """Return the links to systems, within units and between units."""
    found, cells = placed.found, leaf_cells(placed.floor)
    if found.family == "dragonfly":
        near = _linked(placed, "group", found.near_links, _within(found), cells)
        return _to_systems(placed), near, _linked(placed, "groups", 1, _between_groups(found), cells)
    near = _linked(placed, "line", found.near_links, _within(found), cells)
    return _to_systems(placed), near, _linked(placed, "column", found.far_links, _columns(found), cells)


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


def _linked(placed: Placed, tier: Tier, together: int, ends: IntArray, cells: IntArray) -> Ways:
    """Return the links between (2, n) switches of each plane, some together between each two."""
    found, plane = placed.found, np.arange(placed.found.planes)[:, None]
    unit, place = np.divmod(ends[:, None, :], found.unit)
    rack = cells[unit * (len(cells) // found.units) + placed.rack(place, plane)]
    metres = _metres(placed.rows, rack[0], rack[1]).ravel()
    switches = ends[:, None, :] * found.planes + plane
    return _ways(tier, together, switches.reshape(2, -1), metres, np.full(metres.shape, together))


def _to_systems(placed: Placed) -> Ways:
    """Return the links between systems and their switches."""
    parts = [_in_blocks(placed, block, np.arange(first, first + times)) for block, first, times in placed.floor.kinds]
    switches, metres, links = (np.concatenate(some) for some in zip(*parts, strict=True))
    return _ways("switch", 0, switches[None], metres, links)


def _in_blocks(placed: Placed, block: Block, units: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the links to the systems of some blocks that are alike: their switches, lengths and numbers."""
    found, row = placed.found, placed.rows.racks
    system, part, plane = np.ogrid[: block.systems.pieces, : found.spread, : found.planes]
    place = system // found.leaf_systems * found.spread + part
    upper = block.leaf_places(row)[placed.rack(place, plane)]
    metres = _metres(placed.rows, _cells(block.system_places(row)[system // placed.held], row), _cells(upper, row))
    each, more = divmod(found.links // (placed.count * found.planes), found.spread)
    links = np.broadcast_to(each + (part < more), metres.shape)
    switches = units[:, None] * found.unit * found.planes + (place * found.planes + plane).ravel()
    return switches.ravel(), np.tile(metres.ravel(), len(units)), np.tile(links.ravel(), len(units))


def _cells(places: IntArray, row: int) -> IntArray:
    """Return the (..., 2) row and column of places that are counted row by row."""
    return np.stack(np.divmod(places, row), axis=-1)


def _metres(rows: Rows, one: IntArray, other: IntArray) -> IntArray:
    """Return the lengths of cables between (..., 2) rows and columns."""
    apart = np.abs(one - other)
    return sold(rows.metres(apart[..., 0], apart[..., 1]))


def _ways(tier: Tier, together: int, switches: IntArray, metres: IntArray, links: IntArray) -> Ways:
    """Return the links of (n,) numbers and lengths, at (k, n) switches."""
    wide = int(metres.max()) + 1
    at = np.bincount((switches * wide + metres).ravel(), weights=np.tile(links, len(switches)))
    alike, number = np.unique(np.pad(at, (0, -len(at) % wide)).reshape(-1, wide), axis=0, return_counts=True)
    ends = ((_counts(some), times) for some, times in zip(alike, number.tolist(), strict=True))
    return Ways(tier, together, _counts(np.bincount(metres, weights=links)), tuple(ends))


def _counts(links: FloatArray) -> Counts:
    """Return the lengths that some links have, with their number."""
    return tuple((metres, int(links[metres])) for metres in np.flatnonzero(links).tolist())
