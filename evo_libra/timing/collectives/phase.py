"""Time of one phase: one chunk in one dimension, in whole nanoseconds.

The formulas are those of ASTRA-sim 2.0 with its analytical congestion-unaware backend: a message takes its hops'
latency and its bytes over the bandwidth of one link, whatever else is under way; times are rounded down to a
nanosecond wherever the simulator does so. Integers are held in float64, which is exact up to 2^53.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.errors import InputError, unknown
from evo_libra.network.blocks.block import Levels
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.collectives.windowed import windowed_time
from evo_libra.timing.names import CollectiveAlgorithm
from evo_libra.units import bytes_per_ns, reading_ns

_CODES = [block.code for block in BLOCKS]
RING, FULLY_CONNECTED, SWITCH, LINE = map(_CODES.index, ("RI", "FC", "SW", "ME"))
"""Time formula of phases, by the block of each kind; the lines are those of a mesh. Trees are timed as themselves."""
UPPER = np.array([block.upper if block.timed_as == "tree" else 0.0 for block in BLOCKS])
"""(b,) an NPU's part of the upper level of a tree, over its own bandwidth; 0 for other blocks."""


@dataclass(frozen=True)
class Link:
    """The links of one dimension, n designs.

    Attributes
    ----------
    block : (n,) index into `evo_libra.network.blocks.registry.BLOCKS`.
    npus : (n,) in the dimension.
    bandwidth : (n,) B/s of a link and direction.
    latency : (n,) ns of a link.
    shared : whether messages that meet on a link wait for each other, as in ASTRA-sim's congestion-aware backend; that
        has closed forms with a single dimension and one chunk at a time, and everything else is refused.
    leaf : (n,) NPUs of a group in each first-level switch, where there are trees: their bandwidth is all of an NPU, and
        their latency that of a message over both levels; `leaf_latency` is that of one which stays below.
    pod, upper, top : with `leaf` the levels of groups on fat trees, where there are some; see
        `evo_libra.network.blocks.block.Levels`.
    """

    block: IntArray
    npus: IntArray
    bandwidth: FloatArray
    latency: FloatArray
    shared: bool = False
    leaf: IntArray | None = None
    leaf_latency: FloatArray | None = None
    pod: IntArray | None = None
    upper: FloatArray | None = None
    top: FloatArray | None = None

    @cached_property
    def rate(self) -> FloatArray:
        """Bytes per ns of a link and direction."""
        return bytes_per_ns(self.bandwidth)

    @property
    def arrays(self) -> dict[str, Any]:
        """Its arrays, by name."""
        names = ("block", "npus", "bandwidth", "latency", "leaf", "leaf_latency", "pod", "upper", "top")
        return {name: values for name in names if (values := getattr(self, name)) is not None}

    @staticmethod
    def stacked(links: Sequence[Link]) -> Link:
        """Return the links of d dimensions as one, with (d, n) arrays."""
        arrays = {name: np.array([getattr(link, name) for link in links]) for name in links[0].arrays}
        return replace(links[0], shared=any(link.shared for link in links), **arrays)

    def flat(self) -> Link:
        """Return (d, n) links as (d n,) ones, those of the first dimension first."""
        return replace(self, **{name: values.ravel() for name, values in self.arrays.items()})

    def select(self, designs: IntArray | BoolArray | tuple[IntArray, IntArray]) -> Link:
        """Return the links of some designs; of (d, n) links those of some dimensions of some designs."""
        return replace(self, **{name: values[designs] for name, values in self.arrays.items()})

    @property
    def levels(self) -> Levels | None:
        """The levels of groups on fat trees; None where there are none."""
        if self.leaf is None or self.pod is None or self.upper is None or self.top is None:
            return None
        return Levels(self.leaf, self.pod, self.upper, self.top, np.zeros(self.top.shape))

    @property
    def planned_bandwidth(self) -> FloatArray:
        """(n,) B/s of a link that schedulers reckon with: on fat trees, that of a group whose messages shrink."""
        return self.bandwidth if self.levels is None else self.bandwidth * self.levels.shrinking_share(self.npus)

    def step(self, message: FloatArray, distance: FloatArray) -> FloatArray:
        """Return the ns of a message to the member of a group at a distance."""
        levels, link = self.levels, self
        if levels is not None:
            part = np.where(distance < levels.leaf, 1.0, np.where(distance < levels.pod, levels.upper, levels.top))
            link = replace(self, bandwidth=self.bandwidth * part)
        return link.transfer(message, self.hops(distance))

    def transfer(self, message: FloatArray, hops: FloatArray | float) -> FloatArray:
        """Return the ns of one message of some bytes over some hops."""
        if self.shared:
            # A switch sends a message on when it has all of it.
            return np.asarray(hops * np.floor(self.latency + message / self.rate))
        return np.asarray(np.floor(hops * self.latency + message / self.rate))

    def exchange(self, message: FloatArray) -> FloatArray:
        """Return the ns until every NPU has had a message of every other one."""
        if not self.shared:
            farthest = np.where(self.block == RING, self.npus // 2, np.where(self.block == SWITCH, 2.0, 1.0))
            return self.transfer(message, farthest)
        half, busy = self.npus // 2, np.floor(message / self.rate)
        arrival = np.floor(self.latency + message / self.rate)
        ring, switch = busy * (half * (half + 1) / 2) + 2.0 * self.latency, (self.npus - 2) * busy + 2.0 * arrival
        return np.where(self.block == RING, ring, np.where(self.block == SWITCH, switch, arrival))

    def hops(self, offset: FloatArray) -> FloatArray:
        """Return the hops to the NPU at an offset, on a line at a distance."""
        around, line = np.minimum(offset, self.npus - offset), self.block == LINE
        found = np.where(self.block == RING, around, np.where(self.block == SWITCH, 2.0, 1.0))
        return np.where(line, offset, found) if line.any() else found


@dataclass(frozen=True)
class Overheads:
    """Times that an NPU itself adds.

    Attributes
    ----------
    endpoint : ns before each message.
    memory : GB/s, bytes per ns, of the local memory that a reduction reads twice and writes once; infinity for none.
    listed : whether the NPUs are the listed members of a group smaller than the world. There a direct algorithm reduces
        everything that it receives, once every NPU has as many messages as its window has places; elsewhere it reduces
        every second window of them.
    """

    endpoint: float
    memory: float
    listed: bool = False

    def reduction(self, message: FloatArray) -> FloatArray:
        """Return the ns to reduce a received message."""
        return np.asarray(3.0 * np.floor(reading_ns(message, self.memory)))


@dataclass(frozen=True)
class Implementation:
    """An algorithm with its window, if it has one.

    >>> Implementation.read("direct3")
    Implementation(algorithm=<CollectiveAlgorithm.DIRECT: 'direct'>, window=3)
    """

    algorithm: CollectiveAlgorithm
    window: int | None = None

    @staticmethod
    def read(name: str) -> Implementation:
        """Read ASTRA-sim's name; an InputError says which names there are."""
        match = re.fullmatch(r"direct([1-9]\d*)", name)
        if match is not None:
            return Implementation(CollectiveAlgorithm.DIRECT, int(match[1]))
        names = [algorithm.value for algorithm in CollectiveAlgorithm]
        if name not in names:
            raise InputError(unknown("algorithm", name, names))
        return Implementation(CollectiveAlgorithm.of(name))


IMPLEMENTATIONS = tuple(Implementation(algorithm) for algorithm in CollectiveAlgorithm if algorithm.key)
"""Of each of `evo_libra.timing.names.ALGORITHMS`, without a window."""


def phase_time(
    implementation: Implementation, collective: Collective, size: FloatArray, link: Link, overheads: Overheads
) -> FloatArray:
    """Return (n,) ns of a phase that (n,) bytes enter: the message, for an all-gather the shard.

    A ValueError says that the algorithm cannot run the collective, or not on this number of NPUs: ASTRA-sim would hang;
    or that no exact time is known: of a double binary tree on a ring, and where messages share links, of
    halving-doubling on a ring and of a window.
    """
    algorithm = implementation.algorithm
    run = _TABLE.get((algorithm, collective))
    if run is None:
        raise ValueError(f"{algorithm.value} has no {collective.value}")
    if algorithm in _POWERS_OF_TWO and (link.npus & (link.npus - 1)).any():
        raise ValueError(f"{algorithm.value} needs a power of two of NPUs in its dimension")
    _refuse_untimed(implementation, link)
    size = np.broadcast_to(np.asarray(size, dtype=np.float64), link.npus.shape)
    time = run(size, link, overheads)
    if algorithm is CollectiveAlgorithm.DIRECT:
        window = implementation.window
        followed = np.full(len(size), window is not None) & (link.npus - 1 > (window or 0))
        if collective is Collective.ALL_REDUCE and not link.shared:
            followed |= link.block == RING
        for n in np.flatnonzero(followed & (link.npus > 1)):
            time[n] = _followed(collective, window, size[n : n + 1], link.select(np.array([n])), overheads)
    return time


def _refuse_untimed(implementation: Implementation, link: Link) -> None:
    algorithm, window = implementation.algorithm, implementation.window
    around = bool(((link.block == RING) & (link.npus > 1)).any())
    if algorithm is CollectiveAlgorithm.DOUBLE_BINARY_TREE and around:
        raise ValueError(f"{algorithm.value} on a ring: no exact time is known of it")
    if link.shared and algorithm is CollectiveAlgorithm.HALVING_DOUBLING and around:
        raise ValueError(f"links that messages share: no exact time is known of {algorithm.value} on a ring")
    if link.shared and window is not None and (link.npus - 1 > window).any():
        raise ValueError(f"links that messages share: no exact time is known of {algorithm.value}{window}")


def _followed(collective: Collective, window: int | None, size: FloatArray, link: Link, overheads: Overheads) -> float:
    npus = int(link.npus[0])
    message = size if collective is Collective.ALL_GATHER else np.floor(size / npus)

    def transfer(offset: int) -> float:
        return float(link.transfer(message, link.hops(np.array([float(offset)])))[0])

    window = min(window or npus, npus - 1)
    reduction, reducing = float(overheads.reduction(message)[0]), (npus - 1) * window if overheads.listed else window
    return windowed_time(
        collective, npus, window=window, endpoint=overheads.endpoint, transfer=transfer, reduction=reduction,
        reducing=reducing,
    )  # fmt: skip


_Phase = Callable[[FloatArray, Link, Overheads], FloatArray]
_PAIR = 2
_POWERS_OF_TWO = (CollectiveAlgorithm.HALVING_DOUBLING, CollectiveAlgorithm.DOUBLE_BINARY_TREE)


def _ring(
    steps: Callable[[FloatArray], FloatArray], reductions: Callable[[FloatArray], FloatArray], *, whole: bool
) -> _Phase:
    def time(size: FloatArray, link: Link, overheads: Overheads) -> FloatArray:
        n = link.npus.astype(np.float64)
        message = size if whole else np.floor(size / n)
        hop = np.where(link.block == SWITCH, 2.0, 1.0)
        each = link.transfer(message, hop) + overheads.endpoint
        return overheads.endpoint + steps(n) * each + reductions(n) * overheads.reduction(message)

    return time


def _direct(rounds: float, reductions: float, *, whole: bool) -> _Phase:
    def time(size: FloatArray, link: Link, overheads: Overheads) -> FloatArray:
        message = size if whole else np.floor(size / link.npus)
        slowest = link.exchange(message)
        # Listed members reduce what they gather, too. Of two, the one message of each half is a whole window.
        done = np.where(link.npus > _PAIR, rounds, reductions) if overheads.listed and reductions else reductions
        return np.asarray((rounds + 1.0) * overheads.endpoint + rounds * slowest + done * overheads.reduction(message))

    return time


def _halving(size: FloatArray, link: Link, overheads: Overheads) -> FloatArray:
    """Reduce-scatter: messages halve, distances double; a reduction has the size of the message after it."""
    time = np.full(len(size), overheads.endpoint)
    for step in range(1, _steps(link) + 1):
        message = np.floor(size / 2.0**step)
        alive = 2**step <= link.npus
        each = link.step(message, np.full(len(size), 2.0 ** (step - 1))) + overheads.endpoint
        each = each + (overheads.reduction(message) if step > 1 else 0.0)
        time = time + np.where(alive, each, 0.0)
    return time


def _doubling(size: FloatArray, link: Link, overheads: Overheads) -> FloatArray:
    time = np.full(len(size), overheads.endpoint)
    for step in range(_steps(link)):
        alive = 2 ** (step + 1) <= link.npus
        each = link.step(size * 2.0**step, link.npus / 2.0 ** (step + 1)) + overheads.endpoint
        time = time + np.where(alive, each, 0.0)
    return time


def _halving_doubling(size: FloatArray, link: Link, overheads: Overheads) -> FloatArray:
    """All-reduce: what it gathers first is what one halving too many leaves, twice."""
    gathered = _doubling(2.0 * np.floor(size / (2.0 * link.npus)), link, overheads) - overheads.endpoint
    return _halving(size, link, overheads) + gathered


def _tree(size: FloatArray, link: Link, overheads: Overheads) -> FloatArray:
    """Double binary tree, of a single chunk and not on a ring: it goes over one tree."""
    depth = np.log2(link.npus)
    one = link.transfer(size, np.where(link.block == SWITCH, 2.0, 1.0)) + overheads.endpoint
    return overheads.endpoint + (2.0 * depth - 1.0) * (one + overheads.reduction(size)) + one


def _steps(link: Link) -> int:
    return int(np.log2(link.npus.max(initial=1)))


# One row per algorithm and collective; what is not here ASTRA-sim cannot run.
_TABLE: Mapping[tuple[CollectiveAlgorithm, Collective], _Phase] = {
    (CollectiveAlgorithm.RING, Collective.REDUCE_SCATTER): _ring(lambda n: n - 1, lambda n: n - 1, whole=False),
    (CollectiveAlgorithm.RING, Collective.ALL_GATHER): _ring(lambda n: n - 1, lambda n: 0 * n, whole=True),
    (CollectiveAlgorithm.RING, Collective.ALL_REDUCE): _ring(lambda n: 2 * (n - 1), lambda n: n - 1, whole=False),
    (CollectiveAlgorithm.RING, Collective.ALL_TO_ALL): _ring(lambda n: n * (n - 1) / 2, lambda n: 0 * n, whole=False),
    (CollectiveAlgorithm.DIRECT, Collective.REDUCE_SCATTER): _direct(1.0, 1.0, whole=False),
    (CollectiveAlgorithm.DIRECT, Collective.ALL_GATHER): _direct(1.0, 0.0, whole=True),
    (CollectiveAlgorithm.DIRECT, Collective.ALL_REDUCE): _direct(2.0, 1.0, whole=False),
    (CollectiveAlgorithm.DIRECT, Collective.ALL_TO_ALL): _direct(1.0, 0.0, whole=False),
    (CollectiveAlgorithm.HALVING_DOUBLING, Collective.REDUCE_SCATTER): _halving,
    (CollectiveAlgorithm.HALVING_DOUBLING, Collective.ALL_GATHER): _doubling,
    (CollectiveAlgorithm.HALVING_DOUBLING, Collective.ALL_REDUCE): _halving_doubling,
    (CollectiveAlgorithm.DOUBLE_BINARY_TREE, Collective.ALL_REDUCE): _tree,
}
