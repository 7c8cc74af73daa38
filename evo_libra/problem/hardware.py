"""What dimensions of designs are made of where a catalogue lists parts: lanes, prices and watts, looked up by kit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.bill import counting, part_figures
from evo_libra.model.blocks import PHYSICS, Kit
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.repair import violation

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Hardware:
    """Lanes of the dimensions of some designs, and what they take; 0 in unused dimensions.

    Attributes
    ----------
    rate : (d, n) B/s of a lane.
    quantum, fewest, most : (d, n) lanes of an NPU come in multiples of `quantum`, from `fewest` to `most`.
    per_lane : (2, d, n) USD and W of the whole network for a lane of each NPU, of what is bought by the lane.
    per_step : (2, item, d, n) USD and W of each further ``ceil(lanes * slope)`` of what is not.
    slope : (item, d, n).
    """

    rate: FloatArray
    quantum: FloatArray
    fewest: FloatArray
    most: FloatArray
    per_lane: FloatArray
    per_step: FloatArray
    slope: FloatArray

    def select(self, designs: IntArray) -> Hardware:
        """Return the hardware of some designs."""
        return Hardware(*(np.take(array, designs, axis=-1) for array in vars(self).values()))

    def part(self, designs: slice) -> Hardware:
        """Return the hardware of designs next to each other."""
        return Hardware(*(array[..., designs] for array in vars(self).values()))

    @property
    def low(self) -> FloatArray:
        """(d, n) B/s of the fewest lanes."""
        return np.asarray(self.fewest * self.rate)

    @property
    def high(self) -> FloatArray:
        """(d, n) B/s of the most lanes."""
        return np.asarray(self.most * self.rate)

    @property
    def relaxed_price(self) -> FloatArray:
        """(d, n) USD per B/s that no whole number of parts undercuts."""
        per_lane = self.per_lane[0] + (self.per_step[0] * self.slope).sum(axis=0)
        return np.asarray(np.divide(per_lane, self.rate, out=np.zeros_like(per_lane), where=self.rate > 0))

    def lanes(self, bandwidth: FloatArray, *, up: bool) -> FloatArray:
        """Return the (d, n) numbers of lanes nearest to (d, n) B/s; without `up` none that has more."""
        whole = np.where(self.rate > 0, self.rate * self.quantum, 1.0)
        count = np.rint(bandwidth / whole) if up else np.floor(bandwidth / whole * (1.0 + _ROUNDING))
        return np.asarray(np.clip(count * self.quantum, self.fewest, self.most))

    def within(self, low: FloatArray, high: FloatArray) -> Hardware:
        """Return the hardware with lanes within (d, n) B/s, but for at least the fewest that can be built."""
        whole = np.where(self.rate > 0, self.rate * self.quantum, 1.0)
        fewest = np.ceil(low / whole * (1.0 - _ROUNDING)) * self.quantum
        most = np.minimum(np.floor(high / whole * (1.0 + _ROUNDING)) * np.maximum(self.quantum, 1.0), self.most)
        most = np.clip(most, self.fewest, self.most)
        return replace(self, fewest=np.clip(fewest, self.fewest, most), most=most)

    def totals(self, lanes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (n,) USD and (n,) W of (d, n) lanes."""
        steps = np.ceil(lanes * self.slope - _ROUNDING)
        usd = (self.per_lane[0] * lanes).sum(axis=0) + (self.per_step[0] * steps).sum(axis=(0, 1))
        watts = (self.per_lane[1] * lanes).sum(axis=0) + (self.per_step[1] * steps).sum(axis=(0, 1))
        return np.asarray(usd), np.asarray(watts)


def hardware_of(kits: Sequence[Kit], npus: IntArray, technology: IntArray) -> Hardware:
    """Return the hardware of (d, n) sizes and kits."""
    used = npus > 1
    found = counting(kits, technology, npus)
    figures = np.stack([part_figures(kit) for kit in kits], axis=2)[:, :, technology] * used
    rate = np.array([kit.lane_rate for kit in kits])[technology] * used
    quantum, most = np.zeros(npus.shape), np.zeros(npus.shape)
    for k in np.unique(technology[used]).tolist():
        mine = used & (technology == k)
        quantum[mine] = PHYSICS[kits[k].block].quantum(npus[mine], kits[k])
        most[mine] = kits[k].lanes // quantum[mine] * quantum[mine]
    stepped = np.flatnonzero(found.step.any(axis=(1, 2)))
    return Hardware(
        rate, quantum, quantum.copy(), most, (figures * found.linear).sum(axis=1),
        (figures * found.step)[:, stepped], found.slope[stepped],
    )  # fmt: skip


def whole_lanes(
    hardware: Hardware, bandwidth: FloatArray, constraints: Sequence[tuple[Constraint, FloatArray]]
) -> FloatArray:
    """Return the (d, n) bandwidths of the nearest numbers of lanes; of fewer where more would break a constraint.

    Parameters
    ----------
    hardware : of the designs.
    bandwidth : (d, n) B/s.
    constraints : linear ones, each with its (d, n) coefficients.
    """
    found = hardware.lanes(bandwidth, up=True) * hardware.rate
    if constraints:
        broken = sum(violation(constraint, row, found) for constraint, row in constraints) > 0
        found = np.where(broken, hardware.lanes(bandwidth, up=False) * hardware.rate, found)
    return found
