"""The scale-out network of an order, whose switches, groups and price the order knows.

One dimension of systems around the NPUs of each. The order says how many systems are under a leaf and in a pod, and
which part of its bandwidth an NPU has beyond each; see `evo_libra.network.orders.tree`. With a kit of loose parts,
which says none of that, it is a single switch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Pattern
from evo_libra.network.blocks.block import Counts, Hops, Levels, assemble, switched_cut
from evo_libra.network.blocks.kit import Kit
from evo_libra.network.blocks.levelled import Levelled
from evo_libra.network.blocks.switch import Clos


@dataclass(frozen=True)
class Reach:
    """How far the bandwidth of NPUs reaches in the network of an order.

    Attributes
    ----------
    tiers : of switches.
    leaf, pod : systems under a leaf, and in a pod of leaves.
    upper, top : part of its bandwidth that an NPU has beyond its leaf, and beyond its pod.
    """

    tiers: int
    leaf: int
    pod: int
    upper: float
    top: float

    @property
    def levels(self) -> tuple[tuple[int, float], tuple[int, float]]:
        """Systems in a unit and the part of its bandwidth that an NPU has beyond it, of leaves and of pods."""
        return (self.leaf, self.upper), (self.pod, self.top)


ONE_SWITCH = Reach(tiers=1, leaf=1_000_000_000, pod=1_000_000_000, upper=1.0, top=1.0)
"""Where all are under one leaf."""


@dataclass(frozen=True, kw_only=True)
class ScaleOutKit(Kit):
    """The network of an order as a kit: its one switch part is all of the network."""

    reach: Reach = ONE_SWITCH


class ScaleOut(Levelled, Clos):
    """Leaves, pods and cores of an order; messages shrink under leaves first, in pods next, and between pods last.

    Where leaves cut the groups of a kind evenly, a group has the most that fat trees give it. Where they do not, at
    most two spans of groups cross the ends of a leaf, and each group of these has a ring of which one link leaves
    there. So more systems under a leaf are never slower.
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
        reach, shares = self._reach, _exchange if pattern is Pattern.ALL_TO_ALL else _shrinking
        extent, stride, _ = np.broadcast_arrays(extent, stride, npus)
        return np.minimum(*(shares(extent, stride, size, part) for size, part in reach.levels))

    def next_share(self, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        extent, stride, _ = np.broadcast_arrays(extent, stride, npus)
        return np.minimum(*(_next(extent, stride, size, part) for size, part in self._reach.levels))

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
        """Return the way to the highest tier and back."""
        tiers = np.full(np.shape(npus), float(_reach_of(kit).tiers))
        return 2 * tiers, 2 * tiers - 1

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return the one part that is all of the network, whatever the ports that NPUs have in it."""
        ends = np.asarray(npus, dtype=np.float64)
        switches = 1.0 / self._sharing(inside) + 0.0 * ends, np.full(ends.shape, 1.0 / kit.ports)
        return assemble(npus, kit, links=ends, switches=switches)


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


def _shrinking(extent: IntArray, stride: IntArray, size: int, part: float) -> FloatArray:
    """Return the share of groups whose messages shrink: all of their bandwidth, or what units let out of it."""
    groups = np.maximum(extent / _members(extent, stride, size) - 1.0, _LEAST)
    even = part * (extent - 1.0) / groups
    odd = part * size / np.minimum(_ENDS * stride, size)
    return _within(extent, stride, size, np.where(_evenly(extent, stride, size), even, odd))


def _exchange(extent: IntArray, stride: IntArray, size: int, part: float) -> FloatArray:
    """Return the share of groups in an all-to-all: (e - e0) / e of a message leaves a unit."""
    members = _members(extent, stride, size)
    known = np.where(_evenly(extent, stride, size), members, np.maximum(members // 2, 1))
    several = part * (extent - 1.0) / np.maximum(extent - known, _LEAST)
    # Of a group that two units cut, a members send to e - a others: at most e^2 / 4 of e - 1 each.
    few = 4.0 * part * size * (extent - 1.0) / (_ENDS * stride * extent.astype(np.float64) ** 2)
    return _within(extent, stride, size, np.where(extent * stride <= size, few, several))


def _next(extent: IntArray, stride: IntArray, size: int, part: float) -> FloatArray:
    """Return the share of messages to the next member: those of the last members in a unit leave it."""
    return _within(extent, stride, size, part * size / np.minimum(stride, size))


def _within(extent: IntArray, stride: IntArray, size: int, leaving: FloatArray) -> FloatArray:
    return np.where(_inside(extent, stride, size), 1.0, np.minimum(leaving, 1.0))


_ENDS = 2
"""A unit has two ends that a span of groups can cross."""
_LEAST = 1e-300

BLOCKS = (ScaleOut(),)
