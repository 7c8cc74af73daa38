"""Lengths of the links between the switches of a dragonfly or a HyperX, each in the middle of its systems.

The ports of a group go to the other groups in their order, as many to each, and are dealt out to its switches in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.lengths import Rows, sold

Joined = Literal["group", "groups", "line", "column"]
"""A set of switches, or of groups, that are linked to each other."""


@dataclass(frozen=True)
class Ways:
    """Links of one kind in a plane.

    Attributes
    ----------
    joined : what they are links of.
    together : links that always join the same two switches.
    links : their number by metres.
    ends : by metres, those at a switch, and at how many switches it is so.
    """

    joined: Joined
    together: int
    links: tuple[tuple[int, int], ...]
    ends: tuple[tuple[tuple[tuple[int, int], ...], int], ...]


@lru_cache(maxsize=4096)
def ways_of(found: Direct, count: int, per_rack: int, rows: Rows) -> tuple[Ways, Ways]:
    """Return the links within units and between units, where some systems fill racks."""
    racks = _racks(found, count, per_rack)
    joined: tuple[Joined, Joined] = ("group", "groups") if found.family == "dragonfly" else ("line", "column")
    further = _between_groups(found) if found.family == "dragonfly" else _columns(found)
    together = 1 if found.family == "dragonfly" else found.far_links
    near = _ways(joined[0], found.near_links, _within(found), racks, rows)
    return near, _ways(joined[1], together, further, racks, rows)


def _racks(found: Direct, count: int, per_rack: int) -> IntArray:
    """Return the rack in the middle of the systems of each switch; the last one where there are none left for it."""
    unit, place = np.divmod(np.arange(found.unit * found.units), found.unit)
    first = np.minimum(unit * found.pod_systems + place // found.spread * found.leaf_systems, count - 1)
    return np.asarray((first + np.minimum(found.leaf_systems, count - first) // 2) // per_rack)


def _pairs(parts: int) -> tuple[IntArray, IntArray]:
    return np.triu_indices(parts, 1)


def _within(found: Direct) -> IntArray:
    """Return the (2, n) switches of each pair in a unit."""
    first = np.arange(found.units)[:, None] * found.unit
    return np.stack([(first + place).ravel() for place in _pairs(found.unit)])


def _columns(found: Direct) -> IntArray:
    """Return the (2, n) switches of each pair in a column."""
    place = np.arange(found.unit)[:, None]
    return np.stack([(place + unit * found.unit).ravel() for unit in _pairs(found.units)])


def _between_groups(found: Direct) -> IntArray:
    """Return the (2, n) switches of each link between two groups."""
    (one, other), link = _pairs(found.units), np.arange(found.far_links)[:, None]
    ports = (other - 1) * found.far_links + link, one * found.far_links + link
    groups = zip((one, other), ports, strict=True)
    return np.stack([(group * found.unit + port % found.unit).ravel() for group, port in groups])


def _ways(joined: Joined, together: int, ends: IntArray, racks: IntArray, rows: Rows) -> Ways:
    """Return the links between (2, n) switches, some between each two, by length."""
    row, column = np.divmod(racks, rows.racks)
    apart = np.abs(row[ends[0]] - row[ends[1]]) * rows.racks + np.abs(column[ends[0]] - column[ends[1]])
    metres = np.array([sold(rows.metres(0, other)) for other in range(int(apart.max()) + 1)])[apart]
    wide = int(metres.max()) + 1
    at = np.bincount((ends * wide + metres).ravel(), minlength=len(racks) * wide).reshape(-1, wide) * together
    alike, switches = np.unique(at, axis=0, return_counts=True)
    return Ways(
        joined, together, _counted(np.bincount(metres) * together),
        tuple((_counted(some), number) for some, number in zip(alike, switches.tolist(), strict=True)),
    )  # fmt: skip


def _counted(links: IntArray) -> tuple[tuple[int, int], ...]:
    """Return the lengths that some links have, with their number."""
    return tuple((metres, int(links[metres])) for metres in np.flatnonzero(links).tolist())
