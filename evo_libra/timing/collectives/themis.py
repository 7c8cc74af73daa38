"""Chunk schedulers: in which order each chunk takes the dimensions (Themis, ISCA 2022, as ASTRA-sim implements it).

`OFFLINE_GREEDY` gives each chunk the dimensions from the least loaded to the most loaded one, unless the loads are
nearly even; loads are kept as the simulator keeps them: relative to the bandwidth of dimension 0, in MiB. All designs
are planned at once, chunk after chunk. Integers are held in float64, which is exact up to 2^53; where the simulator
divides by one dimension after the other and rounds down each time, dividing once by all of them is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, FloatArray, IntArray, compile_function
from evo_libra.collective import Collective
from evo_libra.timing.names import Scheduler

_MEBI = 2**20
_FRACTION = 16

MAX_ORDERED = 14
"""Dimensions that a greedy scheduler orders: there is a figure for each set of them."""

SmallArray = NDArray[np.int8]
"""Dimensions and places: the arrays of all chunks of all designs are large."""


@dataclass(frozen=True)
class Network:
    """Properties of n networks for a scheduler; link bandwidths are in any unit, and some dimension takes part."""

    npus: IntArray
    bandwidth: FloatArray
    involved: Sequence[bool]


@dataclass(frozen=True)
class Plan:
    """The (n,) chunks of n collectives in the order in which they are issued, of (k, n) bytes, 0 behind the last.

    The order is (d, k, n) the dimensions that take part, as each chunk takes them; (d, k, 1) where designs do not
    differ.
    """

    size: FloatArray
    order: SmallArray
    count: IntArray


def plan(scheduler: Scheduler, collective: Collective, size: IntArray, chunk: IntArray, network: Network) -> Plan:
    """Return the chunks of collectives of (n,) bytes and their ways.

    A greedy scheduler gives the last chunk what is left, the others a whole one.
    """
    if scheduler.greedy and collective is not Collective.ALL_TO_ALL:
        flexible = scheduler is Scheduler.OFFLINE_GREEDY_FLEX
        greedy = _Greedy(network, gathers=collective is Collective.ALL_GATHER)
        run = compiled_greedy()
        if run is None:
            return greedy.plan(size, chunk, flexible=flexible)
        return greedy.compiled_plan(run, size, chunk, flexible=flexible)
    count, depth = -(-size // chunk), len(network.npus)
    turn = np.arange(count.max())
    left = np.clip(size - turn[:, None] * chunk, 0, chunk)
    bytes_ = left if scheduler.greedy else np.where(left, chunk, 0)
    start = turn % depth if scheduler is Scheduler.ROUND_ROBIN else 0 * turn
    rotated = (np.arange(depth)[:, None] + start) % depth
    involved = np.array(network.involved, dtype=np.bool_)[rotated]
    order = rotated.T[involved.T].reshape(len(turn), -1).T
    return Plan(bytes_.astype(np.float64), order[:, :, None].astype(np.int8), count)


def products(npus: IntArray | FloatArray) -> FloatArray:
    """Return (2^d, n) the product of each set of the (d, n) dimensions; the bits of its number say which are in it."""
    found = np.ones((1 << len(npus), npus.shape[1]))
    for d, own in enumerate(npus):
        np.multiply(found[: 1 << d], own, out=found[1 << d : 2 << d])
    return found


class _Greedy:
    """(d, n) loads of the dimensions, and their places in the list that the simulator sorts again and again, stably."""

    def __init__(self, network: Network, *, gathers: bool) -> None:
        depth, self.designs = network.npus.shape
        self.gathers, self.every = gathers, np.arange(self.designs)
        self.index = np.arange(depth, dtype=np.int8)[:, None]
        self.involved = np.array(network.involved, dtype=np.bool_)
        # A dimension that does not take part stands in the list and is passed over.
        self.npus = np.where(self.involved[:, None], network.npus, 1.0)
        self.share = self.npus - 1.0 if gathers else (self.npus - 1.0) / self.npus
        self.ratio = network.bandwidth / network.bandwidth[0]
        self.together = products(self.npus)
        self.inwards = ((1 << self.index.astype(np.int64)) - 1).astype(np.int16)
        self.load = np.zeros(network.npus.shape)
        self.place = np.repeat(self.index, self.designs, axis=1)

    def plan(self, size: IntArray, chunk: IntArray, *, flexible: bool) -> Plan:
        left, whole = size.astype(np.float64), chunk.astype(np.float64)
        threshold = whole if flexible else np.floor(whole / _FRACTION)
        sizes, orders = [], []
        while left.any():
            before = self.sort()
            listed = np.empty_like(self.place)
            listed[self.place, self.every] = self.index
            difference, part = self.difference(listed), np.minimum(left, whole)
            even = difference < threshold
            if flexible:
                part = np.where(even, part, np.minimum(left, difference))
            sizes.append(part)
            orders.append(self.taking(np.where(even, self.index, listed)))
            added = self.carried(part, np.where(even, self.inwards, before))
            if self.gathers:
                # The even list is reversed, and loads are added by place: of the dimension that would belong there.
                added = np.where(even, added[::-1], added)
            self.load += added
            np.copyto(self.place, self.index[::-1] if self.gathers else self.index, where=even)
            left = left - part
        bytes_ = np.array(sizes)
        return Plan(bytes_, np.stack(orders, axis=1), (bytes_ > 0).sum(axis=0))

    def compiled_plan(self, run: Greedy, size: IntArray, chunk: IntArray, *, flexible: bool) -> Plan:
        """Return the same plan, made by the compiled scheduler, one design after the other."""
        whole = chunk.astype(np.float64)
        threshold = whole if flexible else np.floor(whole / _FRACTION)
        npus, share, ratio = map(np.ascontiguousarray, (self.npus, self.share, self.ratio))
        bytes_, orders = run(
            npus, share, ratio, self.involved, size.astype(np.float64), whole, threshold,
            int((-(-size // chunk)).max()), self.gathers, flexible,
        )  # fmt: skip
        count = (bytes_ > 0).sum(axis=0)
        return Plan(bytes_[: count.max()], orders[:, : count.max()], count)

    def sort(self) -> NDArray[np.int16]:
        """Sort the list by load; return the (d, n) sets of the dimensions before each one in it, as `products` has."""
        place, before = np.zeros_like(self.place), np.zeros(self.place.shape, dtype=np.int16)
        for b in range(len(place)):
            for a in range(b):
                earlier = self.load[a] < self.load[b]
                earlier |= (self.load[a] == self.load[b]) & (self.place[a] < self.place[b])
                later = ~earlier
                if self.gathers:
                    earlier, later = later, earlier
                place[b] += earlier.view(np.int8)
                place[a] += later.view(np.int8)
                before[b] += earlier * np.int16(1 << a)
                before[a] += later * np.int16(1 << b)
        self.place = place
        return before

    def taking(self, order: SmallArray) -> SmallArray:
        """Return the dimensions that take part, of all (d, n) of them in an order."""
        if self.involved.all():
            return order
        first = np.argsort(~self.involved[order], axis=0, kind="stable")
        return np.take_along_axis(order, first[: self.involved.sum()], axis=0)

    def difference(self, listed: SmallArray) -> FloatArray:
        """Return the (n,) bytes by which the most loaded dimension is ahead of the least loaded one."""
        taking = self.taking(listed)
        first, last = (d.astype(np.int64) * self.designs + self.every for d in (taking[0], taking[-1]))
        ahead = np.abs(self.load.take(last) - self.load.take(first))
        at = last if self.gathers else first
        found = np.floor(ahead * self.ratio.take(at) / self.share.take(at) * _MEBI)
        if self.gathers:
            found = np.floor(found / (self.together[-1] / self.npus.take(at)))
        return np.asarray(found)

    def carried(self, size: FloatArray, before: IntArray | NDArray[np.int16]) -> FloatArray:
        """Return the (d, n) loads of chunks of (n,) bytes, each dimension's behind a set of others."""
        passed = self.together.take(before.astype(np.int64) * self.designs + self.every)
        entering = size * passed if self.gathers else np.floor(size / passed)
        return np.asarray((entering / _MEBI) * self.share / self.ratio)


Greedy = Callable[
    [FloatArray, FloatArray, FloatArray, BoolArray, FloatArray, FloatArray, FloatArray, int, bool, bool],
    tuple[FloatArray, SmallArray],
]


def compiled_greedy() -> Greedy | None:
    """Return the compiled greedy scheduler, or None where numba is not installed."""
    return compile_function(_run)


def _run(  # noqa: C901, PLR0912, PLR0913, PLR0917 - numba compiles one plain function
    npus: FloatArray, share: FloatArray, ratio: FloatArray, involved: BoolArray, size: FloatArray, chunk: FloatArray,
    threshold: FloatArray, chunks: int, gathers: bool, flexible: bool,  # noqa: FBT001 - numba passes no keywords
) -> tuple[FloatArray, SmallArray]:  # fmt: skip
    """Return (k, n) bytes of chunks and their (d, k, n) orders; what is behind the last chunk of a design is 0."""
    depth, designs = npus.shape
    taking, mebi = involved.sum(), 2.0**20
    bytes_, orders = np.zeros((chunks, designs)), np.zeros((taking, chunks, designs), dtype=np.int8)
    load, listed, carried = np.empty(depth), np.empty(depth, np.int64), np.empty(depth)
    for n in range(designs):
        together = 1.0
        for d in range(depth):
            load[d], listed[d] = 0.0, d
            together *= npus[d, n]
        left, k = size[n], 0
        while left > 0.0:
            for place in range(1, depth):
                mine, to = listed[place], place
                while to > 0 and load[listed[to - 1]] > load[mine]:
                    listed[to] = listed[to - 1]
                    to -= 1
                listed[to] = mine
            if gathers:
                listed = listed[::-1].copy()
            first = last = listed[0]
            for place in range(depth):
                first = listed[depth - 1 - place] if involved[listed[depth - 1 - place]] else first
                last = listed[place] if involved[listed[place]] else last
            at = last if gathers else first
            difference = np.floor(abs(load[last] - load[first]) * ratio[at, n] / share[at, n] * mebi)
            if gathers:
                difference = np.floor(difference / (together / npus[at, n]))
            part, even = min(left, chunk[n]), difference < threshold[n]
            if flexible and not even:
                part = min(left, difference)
            passed, place = 1.0, 0
            for turn in range(depth):
                d = turn if even else listed[turn]
                entering = part * passed if gathers else np.floor(part / passed)
                carried[d] = (entering / mebi) * share[d, n] / ratio[d, n]
                passed *= npus[d, n]
                if involved[d]:
                    orders[place, k, n] = d
                    place += 1
            for d in range(depth):
                # The simulator reverses an even list when it gathers, and adds loads by place.
                load[d] += carried[depth - 1 - d] if even and gathers else carried[d]
                if even:
                    listed[d] = depth - 1 - d if gathers else d
            bytes_[k, n] = part
            left -= part
            k += 1
    return bytes_, orders
