"""Flows as fluids over links with queues, and the controllers of their rates, which a control law makes.

Bytes move in steps of time, hop by hop, and switches pause links (PFC). Flows that see the same links in the same way
are one class: the state is that of one of them, with the number of them on each of its links.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray

BUFFER = 32e6
"""Bytes of a switch's buffer, which its queues share."""

PAUSE_SHARE, PACKET = 0.11, 1062.0
"""A switch pauses a link that holds this share of its free buffer (HPCC, section 5.1), until two packets below."""


@dataclass(frozen=True)
class Network:
    """Links and the classes of flows on them.

    Attributes
    ----------
    capacity : (l,) B/s of a link.
    delay : (l,) s of propagation.
    switch : (l,) the switch whose buffer a link's queue takes, -1 for a NIC.
    copies : (l,) links of the kind in that switch.
    path : (f, h) links of a class, the first a NIC's; -1 beyond its last.
    sharing : (f, h) flows of the class on each of these links.
    """

    capacity: FloatArray
    delay: FloatArray
    switch: IntArray
    copies: FloatArray
    path: IntArray
    sharing: FloatArray

    @cached_property
    def used(self) -> BoolArray:
        """(f, h) whether a class has the hop."""
        return self.path >= 0

    @cached_property
    def round_trip(self) -> FloatArray:
        """(f,) s of a round trip without queues; acknowledgements take as long as data."""
        return np.asarray(2.0 * np.where(self.used, self.delay[self.path], 0.0).sum(axis=1))

    @cached_property
    def line_rate(self) -> FloatArray:
        """(f,) B/s of a class's NIC."""
        return self.capacity[self.path[:, 0]]


@dataclass
class Signals:
    """State of the path as its sources see it, one round trip late.

    Attributes
    ----------
    queue : (f, h) bytes in the queue of each link.
    rate : (f, h) B/s that each link sent.
    """

    queue: FloatArray
    rate: FloatArray


class Fluid:
    """The state of a network: bytes in queues and under way, and what sources can know of them.

    Parameters
    ----------
    network : the links and flows.
    dt : s of a step; delays are whole numbers of them, at least one.
    """

    def __init__(self, network: Network, dt: float) -> None:
        self.network, self.dt = network, dt
        flows, hops = network.path.shape
        links = len(network.capacity)
        self.link = np.where(network.used, network.path, links)  # beyond the last hop is a link of no bytes
        self.lag = np.maximum(np.rint(np.append(network.delay, dt)[self.link] / dt).astype(np.int64), 1)
        self.backlog, self.delivered = np.zeros((flows, hops)), np.zeros(flows)
        self.under_way = np.zeros((self.lag.max() + 1, flows, hops))
        self.see = np.maximum(np.rint(network.round_trip / dt).astype(np.int64), 1)
        history = int(self.see.max()) + 1
        self.queues, self.rates = np.zeros((history, links + 1)), np.zeros((history, links + 1))
        self.pauses = np.zeros((int(self.lag.max()) + 1, links + 1), dtype=np.bool_)
        self.paused = np.zeros(links + 1, dtype=np.bool_)
        self.taken, self.arrived = np.zeros(flows), np.zeros((history, flows))
        self.back = np.maximum(np.rint(network.round_trip / 2.0 / dt).astype(np.int64), 1)
        self.now = 0
        self._room = np.append(network.capacity * dt, 0.0)
        self._stored = np.append(network.copies * (network.switch >= 0), 0.0)
        self._of_switch = np.append(np.maximum(network.switch, 0), 0)
        self._last = network.used.sum(axis=1) - 1
        self._rows = np.arange(flows)
        self._link_lag = np.append(np.maximum(np.rint(network.delay / dt).astype(np.int64), 1), 1)
        self._ingress = np.concatenate([np.full((flows, 1), links), self.link[:, :-1]], axis=1)
        self._ingress = np.where(network.used, self._ingress, links)
        self._through = np.concatenate([np.zeros((flows, 1)), network.sharing[:, :-1]], axis=1)

    def _sum(self, at: IntArray, values: FloatArray) -> FloatArray:
        return np.bincount(at.ravel(), values.ravel(), minlength=len(self._room)).astype(np.float64)

    def signals(self) -> Signals:
        """Return what sources see now."""
        row = (self.now - self.see) % len(self.queues)
        return Signals(self.queues[row[:, None], self.link], self.rates[row[:, None], self.link])

    def step(self, offered: FloatArray) -> FloatArray:
        """Advance by one step; return the bytes that NICs have taken of (f,) offered ones."""
        self.now += 1
        depth = len(self.under_way)
        arriving = self.under_way[self.now % depth]
        self.delivered += arriving[self._rows, self._last]
        self.backlog[:, 1:] += arriving[:, :-1] * self.network.used[:, 1:]
        arriving[:] = 0.0
        waiting = self.backlog.copy()
        waiting[:, 0] = offered
        total = self._sum(self.link, waiting * self.network.sharing)
        row = self.now % len(self.pauses)
        pausing = self.pauses[(self.now - self._link_lag) % len(self.pauses), np.arange(len(self._room))]
        room = np.where(pausing, 0.0, self._room)
        share = np.where(total > room, room / np.maximum(total, 1e-9), 1.0)
        sent = waiting * share[self.link]
        self.backlog[:, 1:] = (waiting - sent)[:, 1:]
        np.add.at(self.under_way, ((self.now + self.lag) % depth, self._rows[:, None], np.arange(sent.shape[1])), sent)
        self._watch(total, share, row)
        self.taken += sent[:, 0]
        self.arrived[self.now % len(self.arrived)] = self.delivered
        return sent[:, 0]

    def _watch(self, total: FloatArray, share: FloatArray, row: int) -> None:
        """Keep what sources will see, and pause links whose bytes take too much of a switch."""
        at = self.now % len(self.queues)
        queue = self._sum(self.link[:, 1:], (self.backlog * self.network.sharing)[:, 1:])
        self.queues[at], self.rates[at] = queue, total * share / self.dt
        filled = np.bincount(self._of_switch, queue * self._stored)
        limit = PAUSE_SHARE * np.maximum(BUFFER - filled, 0.0)
        held = self._sum(self._ingress[:, 1:], (self.backlog * self._through)[:, 1:])
        # The switch that a link leads into is that of the next hop's queue.
        into = np.zeros(len(self._room), dtype=np.int64)
        into[self._ingress[:, 1:]] = self._of_switch[self.link[:, 1:]]
        most = limit[into]
        self.paused = (held > most) | (self.paused & (held > most - 2.0 * PACKET))
        self.pauses[row] = self.paused
        self.pauses[row, -1] = False

    @property
    def unacknowledged(self) -> FloatArray:
        """(f,) bytes that have arrived, or will, without the knowledge of their sources."""
        row = (self.now - self.back) % len(self.arrived)
        return np.asarray(self.taken - self.arrived[row, self._rows])

    @property
    def held(self) -> FloatArray:
        """(f,) bytes in queues and under way."""
        return np.asarray(self.backlog.sum(axis=1) + self.under_way.sum(axis=(0, 2)))


class Controller(ABC):
    """Rates of the flows of a network; all start at the rate of their NIC over its flows, as RDMA does.

    Attributes
    ----------
    rate : (f,) B/s.
    """

    def __init__(self, network: Network, dt: float) -> None:
        self.network, self.dt = network, dt
        self.trip, self.line = network.round_trip, network.line_rate
        self.capacity = np.append(network.capacity, np.inf)[network.path]
        self.elapsed = np.zeros(len(self.trip))
        self.restart(np.ones(len(self.trip), dtype=np.bool_))

    @abstractmethod
    def restart(self, flows: BoolArray) -> None:
        """Set some flows to how a new connection starts."""

    @abstractmethod
    def update(self, seen: Signals) -> FloatArray:
        """Return (f,) B/s after a step in which flows saw their path."""

    def window(self) -> FloatArray | None:
        """Return (f,) the most bytes that may be under way; None where there is no such limit."""
        return None

    def trips_end(self, period: FloatArray) -> BoolArray:
        """Return for which flows a period ends with this step."""
        self.elapsed += self.dt
        ended = self.elapsed >= period * (1.0 - 1e-9)
        self.elapsed = np.where(ended, 0.0, self.elapsed)
        return ended

    def delay(self, seen: Signals) -> FloatArray:
        """Return (f,) s that packets wait in the queues of their path."""
        return np.asarray((seen.queue / self.capacity)[:, 1:].sum(axis=1))


class Law(ABC):
    """A scheme with its parameters."""

    @abstractmethod
    def controller(self, network: Network, dt: float) -> Controller:
        """Return the controller of a network's flows."""
