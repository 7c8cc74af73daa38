"""The scale-out network of an order, whose switches, groups and price the order knows.

One dimension of systems around the NPUs of each. The order says how many systems are under a leaf and in a pod, and
which part of its bandwidth an NPU has beyond each; see `evo_libra.network.orders.topology`. With a kit of loose parts,
which says none of that, it is a single switch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Pattern
from evo_libra.network.blocks.block import Counts, Hops, Levels, switched_cut, whole
from evo_libra.network.blocks.kit import Kit, OrderKit
from evo_libra.network.blocks.levelled import Levelled
from evo_libra.network.blocks.switch import Clos


@dataclass(frozen=True)
class Reach:
    """The reach of the bandwidth of NPUs in the network of an order.

    Attributes
    ----------
    passed : switches on the longest way.
    leaf, pod : systems under a leaf, and in a pod of leaves; without spines, under a switch, and in a group or a line.
    upper, top : part of its bandwidth that an NPU has beyond its leaf, and beyond its pod.
    """

    passed: int
    leaf: int
    pod: int
    upper: float
    top: float

    @property
    def levels(self) -> tuple[tuple[int, float], tuple[int, float]]:
        """Systems in a unit and the part of its bandwidth that an NPU has beyond it, of leaves and of pods."""
        return (self.leaf, self.upper), (self.pod, self.top)


ONE_SWITCH = Reach(passed=1, leaf=1_000_000_000, pod=1_000_000_000, upper=1.0, top=1.0)
"""The reach if all are under one leaf."""


@dataclass(frozen=True, kw_only=True)
class ScaleOutKit(OrderKit):
    """The leaves, pods and cores of an order, with their reach."""

    reach: Reach = ONE_SWITCH


@cache
def divisors_of(number: int) -> tuple[int, ...]:
    """Return the divisors of a number.

    >>> divisors_of(12)
    (1, 2, 3, 4, 6, 12)
    """
    return tuple(one for one in range(1, number + 1) if number % one == 0)


class ScaleOut(Levelled, Clos):
    """Leaves, pods and cores of an order; messages shrink under leaves first, in pods next, and between pods last.

    Groups are placed in blocks of members that fill leaves, so that as few of them as possible send out. If leaves cut
    the groups of a kind evenly, a group has the most that fat trees give it. Systems of a leaf that no block fills
    share what blocks leave of its uplinks.
    """

    def __init__(self) -> None:
        super().__init__("SO", "scale-out", (), joined=True)

    @property
    def _reach(self) -> Reach:
        return _reach_of(self.site()[0])

    def kin(self, kit: Kit) -> object:
        return _reach_of(kit)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return that an order builds what it says, and that a kit of parts has ports for all."""
        if isinstance(kit, ScaleOutKit):
            return np.ones(np.shape(npus), dtype=np.bool_)
        return np.asarray(np.asarray(npus) * self._sharing(inside) <= kit.radix)

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        flow = EXCHANGE if pattern is Pattern.ALL_TO_ALL else SHRINKING
        return self._least(flow, extent, stride, npus)

    def next_share(self, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        return self._least(NEXT, extent, stride, npus)

    def _least(self, flow: Flow, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return the lower share of those that leaves and pods leave groups."""
        extent, stride, _ = np.broadcast_arrays(extent, stride, npus)
        return np.minimum(*(flow.share(extent, stride, size, part) for size, part in self._reach.levels))

    def levels(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Levels:
        """Return how groups lie; one that leaves or pods cut unevenly has one member under each leaf."""
        extent, stride, _ = np.broadcast_arrays(extent, stride, npus)
        (leaf, upper), (pod, top) = self._reach.levels
        near, far = (_lying(extent, stride, size) for size in (leaf, pod))
        whole = np.ones(extent.shape)
        return Levels(near, np.maximum(near, far), upper=upper * whole, top=top * whole, uniform=0.0 * whole)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return what half of the NPUs have of the highest tier."""
        return switched_cut(npus)

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return the longest way: to the highest tier and back, or by way of third switches."""
        passed = np.full(np.shape(npus), float(_reach_of(kit).passed))
        return passed + 1, passed

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return the one part that is all of the network of an order, whatever the ports that NPUs have in it."""
        return whole(npus, kit, inside) if isinstance(kit, OrderKit) else super().counts(npus, kit, inside)


def _reach_of(kit: Kit) -> Reach:
    return kit.reach if isinstance(kit, ScaleOutKit) else ONE_SWITCH


def _inside(extent: IntArray, stride: IntArray, size: int) -> BoolArray:
    """Return whether no group of some systems, a stride apart, crosses the ends of units of `size` systems."""
    span = extent * stride
    return np.asarray((extent == 1) | ((span <= size) & (size % span == 0)))


def _evenly(extent: IntArray, stride: IntArray, size: int) -> BoolArray:
    """Return whether units cut groups evenly: as many members are in each unit that has any."""
    return np.asarray(((size % stride == 0) & ((extent * stride) % size == 0)) | (stride % size == 0))


def _members(extent: IntArray, stride: IntArray, size: int) -> IntArray:
    return np.clip(size // stride, 1, extent)


def _lying(extent: IntArray, stride: IntArray, size: int) -> IntArray:
    """Return the members of groups in each unit: all, as many in each, or one where units cut them unevenly."""
    even = np.where(_evenly(extent, stride, size), _members(extent, stride, size), 1)
    return np.where(_inside(extent, stride, size), extent, even)


@dataclass(frozen=True)
class Flow:
    """Traffic among the members of groups.

    Attributes
    ----------
    leaving : part of its bandwidth that a member sends out of some members together, of groups of (n,) members.
    cut : bandwidths of members that a group sends over an end of a unit that cuts it anywhere, at most.
    """

    leaving: Callable[[IntArray, int], FloatArray]
    cut: Callable[[IntArray], FloatArray]

    def share(self, extent: IntArray, stride: IntArray, size: int, part: float) -> FloatArray:
        """Return the share of groups, a stride apart, where units of some systems let a part of their bandwidth out."""
        sent = np.minimum(np.minimum(_ENDS * stride, size) * self.cut(extent), float(size))
        for members in sorted({each for one in np.unique(extent).tolist() for each in divisors_of(one)}):
            block = stride * members
            fits = (extent % members == 0) & (block <= size)
            filled = size // block * block
            total = filled * self.leaving(extent, members) + (size - filled)
            sent = np.where(fits, np.minimum(sent, total), sent)
        inside = (extent == 1) | (sent <= 0)
        return np.where(inside, 1.0, np.minimum(part * size / np.where(inside, 1.0, sent), 1.0))


SHRINKING = Flow(
    leaving=lambda extent, members: np.asarray((extent / members - 1.0) / np.maximum(extent - 1, 1)),
    cut=lambda extent: np.ones(extent.shape),
)
"""Messages that shrink on their way: (e / m - 1) / (e - 1) leave m members, and one link of a ring leaves a unit."""

EXCHANGE = Flow(
    leaving=lambda extent, members: np.asarray((extent - members) / np.maximum(extent - 1, 1)),
    cut=lambda extent: np.asarray(extent**2 / (4.0 * np.maximum(extent - 1, 1))),
)
"""An all-to-all: (e - m) / (e - 1) leave m members; a of them send to e - a others, at most to half of the group."""

NEXT = Flow(
    leaving=lambda extent, members: np.where(extent > members, 1.0 / members, 0.0),
    cut=lambda extent: np.ones(extent.shape),
)
"""Messages to the next member: those of one member in m leave them."""

_ENDS = 2
"""A unit has two ends that a run of groups can cross."""

BLOCKS = (ScaleOut(),)
