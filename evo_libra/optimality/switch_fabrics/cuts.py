"""Times that no fabric with given links of its NPUs undercuts: those of the cuts around servers and around switches.

Bytes that leave a server leave by ports of its NPUs. Bytes that leave by a layer of switches, and whose receiver is on
another switch of that layer, also leave this switch by its links to other switches. If NPUs of any server forward,
they may come back to NPUs instead, so that only the cut around servers holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.fabrics.traffic import Traffic
from evo_libra.problem.switch_fabrics.time import FabricTime

Cut = tuple[float, int]
"""The part of the bytes that a cut is of, and bits of NPUs, all of which these messages change."""


@dataclass(frozen=True)
class Step:
    """Messages that are sent at once: their weight in the seconds per byte of a kind of traffic, and the cuts."""

    weight: float
    cuts: tuple[Cut, ...]


def steps_of(traffic: Traffic, server: int) -> list[Step]:
    """Return the steps of traffic.

    Parameters
    ----------
    traffic : among powers of two of NPUs.
    server : power of two of the NPUs of a server.
    """
    low = traffic.place.bit_length() - 1
    high = low + traffic.members.bit_length() - 1
    outside = range(max(low, server), high)
    if traffic.kind == "pipeline":
        return [Step(1.0, tuple(_carries(low, bit, server) for bit in outside))]
    if traffic.kind == "data":
        whole = 2.0 * (1.0 - 0.5 ** (high - low))
        return [Step(0.5 ** (bit - low) / whole, ((1.0, 1 << bit),)) for bit in outside]
    others = float(2 ** (high - low) - 1)
    leave = (2.0 ** (high - low) - 2.0 ** (high - low - len(outside))) / others
    differ = tuple((2.0 ** (high - low - 1) / others, 1 << bit) for bit in outside)
    return [Step(1.0, ((leave, 0), *differ))]


def _carries(low: int, bit: int, server: int) -> Cut:
    """Return the cut of messages to a next stage that change a bit: all bits below it change as well."""
    return 0.5 ** (bit - low), ((1 << bit + 1) - (1 << max(low, server)))


@dataclass(frozen=True)
class TimeBound:
    """Times that no fabric undercuts.

    Attributes
    ----------
    time : of the workloads.
    server : power of two of the NPUs of a server.
    knows_switches : whether the cuts around switches hold.
    """

    time: FabricTime
    server: int
    knows_switches: bool

    def __call__(self, ports: FloatArray, tied: IntArray, onward: FloatArray) -> FloatArray:
        """Return (n,) seconds of an iteration; infinite where an NPU has no path to another.

        Parameters
        ----------
        ports : (k, n) B/s of the ports of an NPU to each of k layers.
        tied : (k, n) bits of an NPU that decide about its switch, as a mask.
        onward : (k, n) B/s of the links of a layer to other switches, per NPU.
        """
        crossing = np.minimum(ports, onward if self.knows_switches else ports)
        seconds = np.array([self._seconds(one, ports, tied, crossing) for one in self.time.traffic])
        if not len(seconds):
            return self.time(np.zeros((0, ports.shape[1])))
        return np.where(np.isfinite(seconds).all(axis=0), self.time(seconds), np.inf)

    def _seconds(self, traffic: Traffic, ports: FloatArray, tied: IntArray, crossing: FloatArray) -> FloatArray:
        """Return (n,) seconds per byte that an NPU sends."""
        total = np.zeros(ports.shape[1])
        for step in steps_of(traffic, self.server):
            rates = [np.where(tied & bits, crossing, ports).sum(axis=0) for _, bits in step.cuts]
            with np.errstate(divide="ignore"):
                longest = [part / rate for (part, _), rate in zip(step.cuts, rates, strict=True)]
            total += step.weight * np.max(longest, axis=0)
        return total
