"""Control laws of the schemes as published, as fluids: the rate of each flow from what it sees of its path.

Each law is a record of its published parameters, and makes a controller for the flows of a network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.validation.roce.fluid import PACKET, Controller, Law, Network, Signals

_MEGABIT = 1e6 / 8


@dataclass(frozen=True)
class LineRate(Law):
    """PFC alone: sources send as fast as they are let."""

    def controller(self, network: Network, dt: float) -> Controller:
        """Return the controller of a network's flows."""
        return _LineRate(network, dt)


class _LineRate(Controller):
    def restart(self, flows: BoolArray) -> None:  # noqa: ARG002 - there is no state
        self.rate = self.line.copy()

    def update(self, seen: Signals) -> FloatArray:  # noqa: ARG002 - it sees nothing
        return self.rate


@dataclass(frozen=True)
class Dcqcn(Law):
    """DCQCN's fluid model (Zhu et al., SIGCOMM 2015, section 5.1, equations 5 to 9).

    Attributes
    ----------
    low, high, most : RED: bytes from which on packets are marked, to which the probability grows, and that probability.
    gain : g; notify : s between two notifications; timer : s of the rate timer, and of that of alpha.
    counter : bytes of the byte counter; stages : F, steps of fast recovery; increase : B/s of an additive increase.
    """

    low: float = 600e3
    high: float = 2400e3
    most: float = 0.2
    gain: float = 1 / 256
    notify: float = 50e-6
    timer: float = 55e-6
    counter: float = 10e6
    stages: int = 5
    increase: float = 50 * _MEGABIT

    def controller(self, network: Network, dt: float) -> Controller:
        """Return the controller of a network's flows."""
        return _Dcqcn(self, network, dt)


class _Dcqcn(Controller):
    def __init__(self, law: Dcqcn, network: Network, dt: float) -> None:
        self.law = law
        self.rate, self.target, self.alpha = (np.zeros(len(network.path)) for _ in range(3))
        super().__init__(network, dt)

    def restart(self, flows: BoolArray) -> None:
        self.rate, self.target = (np.where(flows, self.line, old) for old in (self.rate, self.target))
        self.alpha = np.where(flows, 1.0, self.alpha)

    def update(self, seen: Signals) -> FloatArray:
        law, packets = self.law, self.rate / PACKET
        marked = np.clip((seen.queue - law.low) / (law.high - law.low), 0.0, 1.0) * law.most
        marked = np.where(seen.queue > law.high, 1.0, marked)
        kept = np.prod(1.0 - marked[:, 1:], axis=1)
        told = 1.0 - kept ** (law.notify * packets)
        by_bytes, by_time = (_events(kept, packets, count) for count in (law.counter / PACKET, law.timer * packets))
        climbing = by_bytes * kept ** (law.stages * law.counter / PACKET)
        climbing = climbing + by_time * kept ** (law.stages * law.timer * packets)
        down = told / law.notify
        alpha = law.gain / law.timer * (1.0 - kept ** (law.timer * packets) - self.alpha)
        target = law.increase * climbing - (self.target - self.rate) * down
        rate = (self.target - self.rate) / 2.0 * (by_bytes + by_time) - self.rate * self.alpha / 2.0 * down
        self.alpha = np.clip(self.alpha + self.dt * alpha, 0.0, 1.0)
        low = 100 * _MEGABIT
        self.target = np.clip(self.target + self.dt * target, low, self.line)
        self.rate = np.clip(self.rate + self.dt * rate, low, self.line)
        return self.rate


def _events(kept: FloatArray, packets: FloatArray, count: FloatArray | float) -> FloatArray:
    """Return events per s of a counter of packets that a mark sets back: R p / ((1 - p)^-n - 1), R / n for no marks."""
    missed = 1.0 - kept
    with np.errstate(over="ignore", divide="ignore"):
        longer = np.maximum(kept, 1e-300) ** -np.asarray(count) - 1.0
    safe = np.where(longer > 0, longer, 1.0)
    return np.where(longer > 1e-9, packets * missed / safe, packets / count)  # noqa: PLR2004 - rounding


@dataclass(frozen=True)
class Dctcp(Law):
    """DCTCP (Alizadeh et al., SIGCOMM 2010, section 3.2), with a window, for RDMA: no slow start, larger increases.

    Attributes
    ----------
    threshold : K, bytes of a queue from which on all packets are marked.
    gain : g.
    increase : B/s per round trip.
    """

    threshold: float = 600e3
    gain: float = 1 / 16
    increase: float = 1000 * _MEGABIT

    def controller(self, network: Network, dt: float) -> Controller:
        """Return the controller of a network's flows."""
        return _Dctcp(self, network, dt)


class _Dctcp(Controller):
    def __init__(self, law: Dctcp, network: Network, dt: float) -> None:
        self.law = law
        self.bytes, self.alpha, self.marks, self.steps = (np.zeros(len(network.path)) for _ in range(4))
        super().__init__(network, dt)

    def restart(self, flows: BoolArray) -> None:
        self.bytes = np.where(flows, self.line * self.trip, self.bytes)
        self.alpha = np.where(flows, 1.0, self.alpha)

    def window(self) -> FloatArray:
        return self.bytes

    def update(self, seen: Signals) -> FloatArray:
        self.marks += (seen.queue[:, 1:] > self.law.threshold).any(axis=1)
        self.steps += 1
        trip = self.trip + self.delay(seen)
        ended = self.trips_end(trip)
        if ended.any():
            part = self.marks / self.steps
            alpha = (1.0 - self.law.gain) * self.alpha + self.law.gain * part
            less, more = self.bytes * (1.0 - alpha / 2.0), self.bytes + self.law.increase * self.trip
            window = np.clip(np.where(part > 0, less, more), PACKET, self.line * self.trip)
            self.bytes, self.alpha = np.where(ended, window, self.bytes), np.where(ended, alpha, self.alpha)
            self.marks, self.steps = np.where(ended, 0.0, self.marks), np.where(ended, 0.0, self.steps)
        return np.minimum(self.line, self.bytes / self.trip)


@dataclass(frozen=True)
class Timely(Law):
    """TIMELY (Mittal et al., SIGCOMM 2015, algorithm 1).

    Attributes
    ----------
    low, high : s of round trips below which rates always grow, and above which they always shrink.
    weight : of the newest difference of round trips; it could not be checked against the paper.
    decrease : beta; increase : B/s of a step; hyper : round trips without growth after which steps are as many times
        as large.
    """

    low: float = 50e-6
    high: float = 500e-6
    weight: float = 0.46
    decrease: float = 0.8
    increase: float = 50 * _MEGABIT
    hyper: int = 5

    def controller(self, network: Network, dt: float) -> Controller:
        """Return the controller of a network's flows."""
        return _Timely(self, network, dt)


class _Timely(Controller):
    def __init__(self, law: Timely, network: Network, dt: float) -> None:
        self.law = law
        self.rate, self.last, self.difference, self.calm = (np.zeros(len(network.path)) for _ in range(4))
        super().__init__(network, dt)

    def restart(self, flows: BoolArray) -> None:
        # A new flow has the line over the flows that its NIC serves.
        fresh = self.line / self.network.sharing[:, 0]
        self.rate, self.last = np.where(flows, fresh, self.rate), np.where(flows, self.trip, self.last)
        self.difference, self.calm = np.where(flows, 0.0, self.difference), np.where(flows, 0.0, self.calm)

    def update(self, seen: Signals) -> FloatArray:
        ended = self.trips_end(self.trip)
        if not ended.any():
            return self.rate
        law, trip = self.law, self.trip + self.delay(seen)
        difference = (1.0 - law.weight) * self.difference + law.weight * (trip - self.last)
        gradient = difference / self.trip
        calm = np.where(gradient <= 0, self.calm + 1, 0)
        grown = self.rate + law.increase * np.where(calm >= law.hyper, law.hyper, 1)
        rate = np.where(gradient <= 0, grown, self.rate * (1.0 - law.decrease * np.minimum(gradient, 1.0)))
        rate = np.where(trip > law.high, self.rate * (1.0 - law.decrease * (1.0 - law.high / trip)), rate)
        rate = np.where(trip < law.low, self.rate + law.increase, rate)
        rate = np.clip(rate, 100 * _MEGABIT, self.line)
        self.rate, self.calm = np.where(ended, rate, self.rate), np.where(ended, calm, self.calm)
        self.difference, self.last = np.where(ended, difference, self.difference), np.where(ended, trip, self.last)
        return self.rate


@dataclass(frozen=True)
class Hpcc(Law):
    """HPCC (Li et al., SIGCOMM 2019, algorithm 1); with a base, PINT's (Ben Basat et al., SIGCOMM 2020).

    Attributes
    ----------
    target : eta, the utilisation that it aims at.
    stages : additive increases before the next multiplicative one.
    increase : B/s of an additive increase.
    base : utilisations come rounded to powers of it, in one byte; None for exact ones.
    """

    target: float = 0.95
    stages: int = 5
    increase: float = 50 * _MEGABIT
    base: float | None = None

    def controller(self, network: Network, dt: float) -> Controller:
        """Return the controller of a network's flows."""
        return _Hpcc(self, network, dt)


class _Hpcc(Controller):
    def __init__(self, law: Hpcc, network: Network, dt: float) -> None:
        self.law = law
        self.base_trip = network.round_trip.max()  # T, the same for all flows
        self.reference, self.bytes, self.load, self.stage = (np.zeros(len(network.path)) for _ in range(4))
        super().__init__(network, dt)

    def restart(self, flows: BoolArray) -> None:
        full = self.line * self.base_trip
        self.reference, self.bytes = np.where(flows, full, self.reference), np.where(flows, full, self.bytes)
        self.load, self.stage = np.where(flows, self.law.target, self.load), np.where(flows, 0.0, self.stage)

    def window(self) -> FloatArray:
        return self.bytes

    def update(self, seen: Signals) -> FloatArray:
        law, trip = self.law, self.base_trip
        load = (seen.queue / trip + seen.rate) / self.capacity
        newest = load.max(axis=1)
        self.load = self.load + np.minimum(self.dt / trip, 1.0) * (newest - self.load)
        seen_load = self.load
        if law.base is not None:
            power = np.rint(np.log(np.maximum(seen_load, 1e-9)) / np.log(law.base))
            seen_load = law.base**power
        more = law.increase * trip
        multiplied = self.reference * law.target / np.maximum(seen_load, 1e-9) + more
        crowded = (seen_load >= law.target) | (self.stage >= law.stages)
        window = np.clip(np.where(crowded, multiplied, self.reference + more), PACKET, self.line * trip)
        self.bytes = window
        ended = self.trips_end(np.full(len(self.trip), trip))
        self.reference = np.where(ended, window, self.reference)
        self.stage = np.where(ended, np.where(crowded, 0.0, self.stage + 1), self.stage)
        return np.asarray(np.minimum(self.line, window / trip))


LAWS: dict[str, Law] = {
    "pfc": LineRate(),
    "dcqcn": Dcqcn(),
    "dctcp": Dctcp(),
    "timely": Timely(),
    "hpcc": Hpcc(),
    "hpcc-pint": Hpcc(base=1.05),
}
"""The law of each of `evo_libra.network.transport.TRANSPORTS`, with the parameters at 200 Gb/s."""
