"""Lengths of cables: racks stand in rows, and what joins systems is in the middle of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from evo_libra.network.orders.products import RoomSpec

_ROUNDING = 1e-9
_SHORT, _STEP = 10, 5


@dataclass(frozen=True)
class Rows:
    """Racks in rows: racks of a row, metres from rack to rack and from row to row, and of a cable for its ends."""

    racks: int
    width: float
    pitch: float
    slack: float

    def metres(self, one: int, other: int) -> float:
        """Return the way between two racks, which are counted row by row."""
        (row, column), (row2, column2) = divmod(one, self.racks), divmod(other, self.racks)
        return self.slack + self.width * abs(column - column2) + self.pitch * abs(row - row2)

    def middle(self, racks: int) -> int:
        """Return the rack in the middle of some."""
        rows = -(-racks // self.racks)
        return (rows // 2) * self.racks + min(racks, self.racks) // 2 if rows > 1 else racks // 2


def sold(metres: float) -> int:
    """Return the length of a cable for a way: whole metres up to ten, and multiples of five above."""
    whole = math.ceil(metres - _ROUNDING)
    return whole if whole <= _SHORT else -(-whole // _STEP) * _STEP


def rows_of(room: RoomSpec) -> Rows:
    """Return the rows of a room."""
    return Rows(room.racks_per_row, room.rack.width_m, room.row_pitch_m, room.slack_m)


@lru_cache(maxsize=65536)
def to_middle(things: int, per_rack: int, rows: Rows) -> tuple[tuple[int, int], ...]:
    """Return how many of some things, which fill racks, are how far from the middle of their racks."""
    middle, found = rows.middle(-(-things // per_rack)), Counter[int]()
    for rack in range(-(-things // per_rack)):
        found[sold(rows.metres(rack, middle))] += min(per_rack, things - rack * per_rack)
    return tuple(sorted(found.items()))


@lru_cache(maxsize=65536)
def groups_to_middle(things: int, group: int, per_rack: int, rows: Rows) -> tuple[tuple[int, int], ...]:
    """Return how many groups of things, each at the middle of its own, are how far from the middle of all."""
    middle, found = rows.middle(-(-things // per_rack)), Counter[int]()
    for first in range(0, things, group):
        rack = (first + min(group, things - first) // 2) // per_rack
        found[sold(rows.metres(rack, middle))] += 1
    return tuple(sorted(found.items()))
