"""Lengths of cables: the ways between racks, which stand in rows, and the lengths that are sold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
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

    def metres(self, down: IntArray, along: IntArray) -> FloatArray:
        """Return the ways between racks that are some rows and some racks of a row apart."""
        return self.slack + self.width * along + self.pitch * down


def half_row(racks: int) -> int:
    """Return the racks of systems that leave a place for their leaves in half a row of some racks."""
    return racks // 2 - 1


def sold(metres: FloatArray) -> IntArray:
    """Return the lengths of cables for some ways: whole metres up to ten, and multiples of five above."""
    whole = np.ceil(metres - _ROUNDING).astype(np.int64)
    return np.where(whole <= _SHORT, whole, -(-whole // _STEP) * _STEP)


def rows_of(room: RoomSpec) -> Rows:
    """Return the rows of a room."""
    return Rows(room.racks_per_row, room.rack.width_m, room.row_pitch_m, room.slack_m)
