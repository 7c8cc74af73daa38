"""Chunk schedulers: in which order each chunk takes the dimensions (Themis, ISCA 2022, as ASTRA-sim implements it).

`OFFLINE_GREEDY` gives each chunk the dimensions from the least loaded to the most loaded one, unless the loads are
nearly even; loads are kept as the simulator keeps them: relative to the bandwidth of dimension 0, in MiB. All designs
are planned at once, chunk after chunk. Integers are held in float64, which is exact up to 2^53; where the simulator
divides by one dimension after the other and rounds down each time, dividing once by all of them is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from evo_libra.model.arrays import BoolArray, FloatArray, IntArray
from evo_libra.model.collective import Collective

_MEBI = 2**20
_FRACTION = 16


class Scheduler(Enum):
    """A chunk scheduler, by ASTRA-sim's name."""

    BASELINE = "baseline"
    ROUND_ROBIN = "roundRobin"
    OFFLINE_GREEDY = "offlineGreedy"
    OFFLINE_GREEDY_FLEX = "offlineGreedyFlex"

    @property
    def greedy(self) -> bool:
        """Whether loads decide."""
        return self in {Scheduler.OFFLINE_GREEDY, Scheduler.OFFLINE_GREEDY_FLEX}


@dataclass(frozen=True)
class Network:
    """What a scheduler knows of n networks.

    Attributes
    ----------
    npus : (d, n), above 1.
    bandwidth : (d, n) of a link, in any unit.
    involved : (d,) which dimensions take part; at least one.
    """

    npus: IntArray
    bandwidth: FloatArray
    involved: Sequence[bool]


@dataclass(frozen=True)
class Plan:
    """The chunks of n collectives in the order in which they are issued.

    Attributes
    ----------
    size : (k, n) bytes of each chunk, 0 behind the last one of a design.
    order : (d, k, n) the dimensions that take part, as each chunk takes them; (d, k, 1) where designs do not differ.
    count : (n,) chunks of each design.
    """

    size: FloatArray
    order: IntArray
    count: IntArray


def plan(scheduler: Scheduler, collective: Collective, size: IntArray, chunk: IntArray, network: Network) -> Plan:
    """Return the chunks of collectives and their ways.

    Parameters
    ----------
    scheduler, collective : what runs, and how.
    size : (n,) bytes of the collective; `chunk` : of a chunk. A greedy scheduler gives the last chunk what is left, the
        others a whole one.
    network : the dimensions.
    """
    if scheduler.greedy and collective is not Collective.ALL_TO_ALL:
        flexible = scheduler is Scheduler.OFFLINE_GREEDY_FLEX
        return _Greedy(network, gathers=collective is Collective.ALL_GATHER).plan(size, chunk, flexible=flexible)
    count, depth = -(-size // chunk), len(network.npus)
    turn = np.arange(count.max())
    left = np.clip(size - turn[:, None] * chunk, 0, chunk)
    bytes_ = left if scheduler.greedy else np.where(left, chunk, 0)
    start = turn % depth if scheduler is Scheduler.ROUND_ROBIN else 0 * turn
    rotated = (np.arange(depth)[:, None] + start) % depth
    involved = np.array(network.involved, dtype=np.bool_)[rotated]
    order = rotated.T[involved.T].reshape(len(turn), -1).T
    return Plan(bytes_.astype(np.float64), order[:, :, None], count)


class _Greedy:
    """Loads of the dimensions, and the list of dimensions that the simulator sorts again and again, stably.

    Attributes
    ----------
    load : (d, n).
    place : (d, n) of each dimension in the list.
    """

    def __init__(self, network: Network, *, gathers: bool) -> None:
        depth, designs = network.npus.shape
        self.network, self.gathers = network, gathers
        self.npus = network.npus.astype(np.float64)
        self.involved = np.array(network.involved, dtype=np.bool_)
        self.ratio = network.bandwidth / network.bandwidth[0]
        self.share = self.npus - 1.0 if gathers else (self.npus - 1.0) / self.npus
        self.total = self.npus[self.involved].prod(axis=0)
        self.load = np.zeros((depth, designs))
        self.index = np.arange(depth)[:, None]
        self.place = np.repeat(self.index, designs, axis=1)
        ahead = np.cumprod(np.where(self.involved[:, None], self.npus, 1.0), axis=0)
        self.inwards = np.concatenate([np.ones((1, designs)), ahead[:-1]])

    def plan(self, size: IntArray, chunk: IntArray, *, flexible: bool) -> Plan:
        left, whole = size.astype(np.float64), chunk.astype(np.float64)
        threshold = whole if flexible else np.floor(whole / _FRACTION)
        sizes, orders = [], []
        while left.any():
            before = self.sort()
            difference, part = self.difference(), np.minimum(left, whole)
            even = difference < threshold
            if flexible:
                part = np.where(even, part, np.minimum(left, difference))
            sizes.append(part)
            orders.append(self.order(even))
            self.carry(part, np.where(even, self.inwards, before), even)
            left = left - part
        bytes_ = np.array(sizes)
        return Plan(bytes_, np.stack(orders, axis=1), (bytes_ > 0).sum(axis=0))

    def sort(self) -> FloatArray:
        """Sort the list by load; return (d, n) the product of the NPUs of the dimensions before each one in it."""
        place, before = np.zeros_like(self.place), np.ones_like(self.npus)
        for b in range(len(place)):
            for a in range(b):
                earlier = self.load[a] < self.load[b]
                earlier |= (self.load[a] == self.load[b]) & (self.place[a] < self.place[b])
                if self.gathers:
                    np.logical_not(earlier, out=earlier)
                later = ~earlier
                place[b] += earlier
                place[a] += later
                if self.involved[a]:
                    np.multiply(before[b], self.npus[a], out=before[b], where=earlier)
                if self.involved[b]:
                    np.multiply(before[a], self.npus[b], out=before[a], where=later)
        self.place = place
        return before

    def order(self, even: BoolArray) -> IntArray:
        """Return the (d, n) dimensions that take part in the order of the list, or the plain one where it is even.

        The list is put in order, too.
        """
        order = np.empty_like(self.place)
        np.put_along_axis(order, np.where(even, self.index, self.place), self.index, axis=0)
        self.place = np.where(even, self.index[::-1] if self.gathers else self.index, self.place)
        if self.involved.all():
            return order
        behind = np.argsort(~self.involved[order], axis=0, kind="stable")[: self.involved.sum()]
        return np.take_along_axis(order, behind, axis=0)

    def difference(self) -> FloatArray:
        """Return the (n,) bytes by which the most loaded dimension is ahead of the least loaded one."""
        place = self.place[self.involved]
        first = self.place == place.min(axis=0)
        last = self.place == (place.max(axis=0) if self.gathers else len(self.place) - 1)
        ahead = np.abs(_where(last, self.load) - _where(first, self.load))
        of = last if self.gathers else first
        found = np.floor(ahead * _where(of, self.ratio) / _where(of, self.share) * _MEBI)
        return np.floor(found / (self.total / _where(of, self.npus))) if self.gathers else np.asarray(found)

    def carry(self, part: FloatArray, before: FloatArray, even: BoolArray) -> None:
        """Add the load of a chunk of (n,) bytes that each dimension has after the (d, n) NPUs before it."""
        entering = part * before if self.gathers else np.floor(part / before)
        added = (entering / _MEBI) * self.share / self.ratio
        added[~self.involved] = 0.0
        if self.gathers:
            # The list is reversed then, and loads are added by place: of the dimension that would belong there.
            added = np.where(even, added[::-1], added)
        self.load += added


def _where(mask: BoolArray, values: FloatArray) -> FloatArray:
    """Return (n,) values at the one place of each column of a (d, n) mask."""
    found = np.zeros(mask.shape[1])
    for row, value in zip(mask, values, strict=True):
        np.copyto(found, value, where=row)
    return found
