"""What dimensions of designs are made of where a catalogue lists parts: lanes, prices and watts, looked up by kit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.bill import ITEMS, part_figures
from evo_libra.model.blocks import PHYSICS
from evo_libra.model.catalog.parts import Kit

_BITS = 8.0
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Hardware:
    """Lanes of the dimensions of some designs, and what they take; 0 in unused dimensions.

    Attributes
    ----------
    rate : (d, n) B/s of a lane.
    quantum, most : (d, n) lanes of an NPU come in multiples of `quantum`, up to `most`.
    per_lane : (2, d, n) USD and W of the whole network for a lane of each NPU, of what is bought by the lane.
    per_step : (2, item, d, n) USD and W of each further ``ceil(lanes * slope)`` of what is not.
    slope : (item, d, n).
    """

    rate: FloatArray
    quantum: FloatArray
    most: FloatArray
    per_lane: FloatArray
    per_step: FloatArray
    slope: FloatArray

    def select(self, designs: IntArray) -> Hardware:
        """Return the hardware of some designs."""
        return Hardware(*(np.take(array, designs, axis=-1) for array in vars(self).values()))

    @property
    def low(self) -> FloatArray:
        """(d, n) B/s of the fewest lanes."""
        return np.asarray(self.quantum * self.rate)

    @property
    def high(self) -> FloatArray:
        """(d, n) B/s of the most lanes."""
        return np.asarray(self.most * self.rate)

    @property
    def relaxed_price(self) -> FloatArray:
        """(d, n) USD per B/s that no whole number of parts undercuts."""
        per_lane = self.per_lane[0] + (self.per_step[0] * self.slope).sum(axis=0)
        return np.divide(per_lane, self.rate, out=np.zeros_like(per_lane), where=self.rate > 0)

    def lanes(self, bandwidth: FloatArray, *, up: bool) -> FloatArray:
        """Return the (d, n) numbers of lanes nearest to (d, n) B/s; without `up` none that has more."""
        whole = np.where(self.low > 0, self.low, 1.0)
        count = np.rint(bandwidth / whole) if up else np.floor(bandwidth / whole * (1.0 + _ROUNDING))
        return np.asarray(np.clip(count * self.quantum, self.quantum, self.most))

    def totals(self, lanes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (n,) USD and (n,) W of (d, n) lanes."""
        steps = np.ceil(lanes * self.slope - _ROUNDING)
        usd, watts = (
            (per_lane * lanes).sum(axis=0) + (per_step * steps).sum(axis=(0, 1))
            for per_lane, per_step in zip(self.per_lane, self.per_step, strict=True)
        )
        return usd, watts


def hardware_of(kits: Sequence[Kit], npus: IntArray, technology: IntArray) -> Hardware:
    """Return the hardware of (d, n) sizes and kits; kits that cannot have a size have no lanes there."""
    inside = np.concatenate([np.ones((1, npus.shape[1]), dtype=np.int64), np.cumprod(npus, axis=0)[:-1]])
    world = npus.prod(axis=0)
    items = len(ITEMS)
    rows = np.zeros((5 + 3 * items, *npus.shape))
    for k, kit in enumerate(kits):
        mine = (technology == k) & (npus > 1)
        if mine.any():
            total = np.broadcast_to(world, npus.shape)[mine]
            rows[:, mine] = _rows(kit, npus[mine], inside[mine], total)
    rate, quantum, most, per_lane = rows[0], rows[1], rows[2], rows[3:5]
    steps = rows[5 : 5 + 2 * items].reshape(2, items, *npus.shape)
    slope = rows[5 + 2 * items :]
    kept = np.flatnonzero(steps.any(axis=(0, 2, 3)))
    return Hardware(rate, quantum, most, per_lane, steps[:, kept], slope[kept])
