"""The interface of building blocks, and the number of parts of a kit in each.

An NPU's bandwidth in a dimension is all it sends there in one direction: its ports times their rate, full duplex. A
block says which share of it a process group gets while all groups of its kind run at the same time. Every share is
what a named schedule reaches with many chunks, so it is never more than the links can carry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.blast import Blast, direct_blast, switched_blast
from evo_libra.network.blocks.kit import Kit

ITEMS = ("link", "uplink", "transceiver", "nic", "switch", "short link", "short uplink")
"""Items of a bill of materials, in the order of its first axis; short ones are within reach of a cable of its own."""

Hops: TypeAlias = tuple[FloatArray, FloatArray]
"""Links and switches that a message passes."""

_ROUNDING = 1e-9
"""Tolerance of a whole number of steps in floating point: far less than any fraction of ports."""


@dataclass(frozen=True)
class Counts:
    """Number of items: ``linear * ports + step * ceil(ports * slope)`` with some ports per NPU.

    Each array is (item, ...), with the items in the order of `ITEMS`; 0 in unused dimensions.
    """

    linear: FloatArray
    step: FloatArray
    slope: FloatArray

    def at(self, ports: IntArray) -> FloatArray:
        """Return the (item, ...) items with (...) ports per NPU."""
        return np.asarray(self.linear * ports + self.step * np.ceil(ports * self.slope - _ROUNDING))

    @property
    def relaxed(self) -> FloatArray:
        """(item, ...) items per port, if they came in any fraction: never more than `at` for each port."""
        return np.asarray(self.linear + self.step * self.slope)


@dataclass(frozen=True)
class Inner:
    """(k, n) NPUs, those of a group, their stride and its share of an NPU's bandwidth, of inner dimensions in turn."""

    npus: IntArray
    extent: IntArray
    stride: IntArray
    share: FloatArray


@dataclass(frozen=True)
class Levels:
    """(n,) NPUs of groups at each switch and in each pod of switches, and an NPU's part of what leaves these.

    The parts are over its own bandwidth. If a group lies in one pod, it has all its NPUs there. `uniform` is the
    share of an all-to-all where that goes other ways than these parts say, and 0 elsewhere. The slowdowns
    are of flows that are hashed, over even ones: of rings, of an exchange of all, and of pairs that exchange.
    """

    leaf: IntArray
    pod: IntArray
    upper: FloatArray
    top: FloatArray
    uniform: FloatArray
    ring_slowdown: FloatArray | float = 1.0
    exchange_slowdown: FloatArray | float = 1.0
    pair_slowdown: FloatArray | float = 1.0

    def shrinking_share(self, extent: IntArray) -> FloatArray:
        """Return the most that groups whose messages shrink have: (e1 e2 - 1) / e leave a leaf, (e2 - 1) / e a pod."""
        even = self._share(extent, np.asarray(extent / self.leaf - 1.0), np.asarray(extent / self.pod - 1.0))
        return np.asarray(even / self.pair_slowdown)

    def exchange_share(self, extent: IntArray) -> FloatArray:
        """Return the most that groups have in an all-to-all: (e - e0) / e of a message leaves a leaf."""
        leaving = (np.asarray(extent - near, dtype=np.float64) for near in (self.leaf, self.pod))
        return np.where(self.uniform > 0, self.uniform, self._share(extent, *leaving)) / self.exchange_slowdown

    def _share(self, extent: IntArray, *leaving: FloatArray) -> FloatArray:
        found, sent = np.ones(np.shape(extent)), np.asarray(extent, dtype=np.float64) - 1.0
        for part, left in zip((self.upper, self.top), leaving, strict=True):
            found = np.minimum(found, np.where(left > 0, part * sent / np.maximum(left, 1.0), 1.0))
        return found

    def ring_share(self, extent: IntArray) -> FloatArray:
        """Return which part of an NPU's bandwidth groups have as rings, with one link out of each leaf and pod."""
        leaving = np.where(self.leaf < extent, self.upper * self.leaf, 1.0)
        even = np.minimum(np.minimum(leaving, np.where(self.pod < extent, self.top * self.pod, 1.0)), 1.0)
        return np.asarray(even / self.ring_slowdown)


class Block(ABC):
    """A building block. Methods take and give arrays (n,) that broadcast, and are pure.

    A user's own block is a class that derives from this one, registered under the entry point group
    ``evo_libra.blocks``; `evo_libra.network.blocks.conformance` looks for what no block may do. Methods that are not
    abstract say what holds for most blocks.

    Attributes
    ----------
    code : capital letters, and digits behind them, what the notation calls it; `name` : what files call it.
    algorithm : the natural algorithm of its collectives: ring, direct or halving-doubling.
    switch_kind : kind of part that the block needs as its switch, or None.
    timed_as : ring, line, fully-connected, switch or tree, as which ASTRA-sim's time has the block, or each of its
        inner dimensions where it is `divided`; None where it has no phases.
    upper, in_network : of a tree, an NPU's part of the upper level over its bandwidth, and whether switches reduce.
    joined : whether one network is over all NPUs, those inside an NPU of the dimension, too: its parts depend on these.
    sited : whether what a group gets depends on the parts and on the NPUs inside: such a block is asked `at` these.
    parts : what LIBRA (ISPASS 2024) buys, named as prices are; empty where it has no price. Its counts of links and the
        bandwidth per link cancel to one price of each part per NPU and unit of bandwidth.
    """

    code: str
    name: str
    algorithm: str
    switch_kind: str | None = None
    timed_as: str | None = None
    divided: bool = False
    upper: float = 0.0
    in_network: bool = False
    joined: bool = False
    sited: bool = False
    parts: tuple[str, ...] = ()

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return the number that an NPU's ports are multiples of."""
        return np.ones(np.shape(npus), dtype=np.int64)

    def at(self, kit: Kit, inside: IntArray) -> Block:
        """Return the block as it is built of a kit with (n,) NPUs inside each of its NPUs, for groups in (n,) of it."""
        return self

    def kin(self, kit: Kit) -> object:
        """Return what of a kit groups depend on: kits of equal ones give groups the same."""
        return None

    @abstractmethod
    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether a dimension of (n,) NPUs can be built, outside of ``inside`` NPUs each (1 when None).

        The domain size of the kit is not checked; `evo_libra.network.bill.fits` is all of it.
        """

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return which part of an NPU's bandwidth a process group gets, in (0, 1].

        Parameters
        ----------
        pattern : of its traffic.
        extent : NPUs of the dimension that belong to one group.
        stride : how far apart they are: the product of the extents of the groups inside it.
        npus : of the dimension.
        """
        return np.ones(np.broadcast_shapes(np.shape(extent), np.shape(stride), np.shape(npus)))

    def next_share(self, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return the share of messages of each NPU of a group to the next one; as of `share`."""
        return self.share(Pattern.SHRINKING, extent, stride, npus)

    def stream_share(self, npus: IntArray) -> FloatArray:
        """Return the rate at which what comes in at its edge reaches all NPUs, over an NPU's bandwidth.

        Unless a block knows better, that of a chain through all NPUs.
        """
        return self.share(Pattern.SHRINKING, npus, np.ones_like(npus), npus)

    def inner(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Inner:
        """Return the inner dimensions of (n,) groups."""
        raise NotImplementedError(f"{self.name} is not divided")

    def levels(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Levels:
        """Return how (n,) groups lie under leaves and in pods."""
        raise NotImplementedError(f"{self.name} is no fat tree")

    def traffic_factor(
        self, pattern: Pattern, extent: IntArray, collective: Collective = Collective.ALL_REDUCE
    ) -> FloatArray:
        """Return the bytes an NPU sends, over those it sends where only NPUs reduce."""
        return np.ones(np.shape(extent))

    def cut(self, npus: IntArray) -> FloatArray:
        """Return what passes between two halves of the NPUs at most, in bandwidths of one NPU, in one direction.

        Unless a block knows better, what an all-to-all sends over the cut in its time, which is no more than that.
        """
        npus = np.asarray(npus, dtype=np.int64)
        pairs = (npus // 2) * (npus - npus // 2)
        return np.asarray(pairs / (npus - 1) * self.share(Pattern.ALL_TO_ALL, npus, np.ones_like(npus), npus))

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return links and switches that a message passes between neighbours of the natural algorithm, at most."""
        return np.ones(np.shape(npus)), np.zeros(np.shape(npus))

    def tier_switches(self, npus: int, kit: Kit, inside: int = 1) -> tuple[int, ...]:
        """Return the switches of each tier of one plane, those next to the NPUs first; none where NPUs are linked."""
        return () if self.switch_kind is None else (1,)

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return how many messages of the natural algorithm come one after the other; 0 where the extent is 1.

        In an all-to-all, messages go straight to their targets: the steps are the hops between neighbours of the
        farthest.
        """
        return STEPS[self.algorithm](collective, extent)

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return what one instance of the dimension is built of: a link for every two ports unless a block knows more.

        There are ``inside`` NPUs (1 when None) inside each NPU of the dimension.
        """
        return assemble(npus, kit, links=np.asarray(npus) / 2)

    def near(self, npus: IntArray, kit: Kit, inside: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the links and uplinks per port, of those of `counts`, whose ends are within ``kit.room`` NPUs.

        Unless a block knows better, all of a dimension that stands within them with all NPUs inside.
        """
        counts, whole = self.counts(npus, kit, inside), np.asarray(npus) * inside <= kit.room
        links, uplinks = (np.where(whole, counts.linear[ITEMS.index(item)], 0.0) for item in ("link", "uplink"))
        return links, uplinks

    @property
    def swaps(self) -> bool:
        """Whether a spare, wired to the dimension as all others, can take any place in it."""
        return self.switch_kind is not None

    def blast(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Blast:
        """Return what failures of its parts do: without a block's word, every switch cuts its NPUs off.

        An uplink then carries the part of a network that one switch has of all uplinks.
        """
        if self.switch_kind is None:
            return direct_blast(npus)
        counts = self.counts(npus, kit, inside).relaxed
        uplinks, switches = counts[ITEMS.index("uplink")], counts[ITEMS.index("switch")]
        share = np.divide(switches, uplinks, out=np.zeros_like(switches), where=uplinks > 0)
        return switched_blast(npus, leaves=1.0, uplink=np.minimum(share, 1.0), upper=0.0)


def switched_cut(npus: IntArray) -> FloatArray:
    """Return the cut of blocks in which half of the NPUs send all they can to the others."""
    return np.floor(np.asarray(npus) / 2)


def assemble(
    npus: IntArray,
    kit: Kit,
    *,
    links: FloatArray,
    uplinks: FloatArray | None = None,
    transceivers_per_link: int = 2,
    switches: tuple[FloatArray, FloatArray] | None = None,
    whole_uplinks: tuple[FloatArray, FloatArray] | None = None,
) -> Counts:
    """Return the counts of an instance from its links and switches; NICs and transceivers follow from them.

    Parameters
    ----------
    npus : of the dimension.
    kit : what it is built of.
    links, uplinks : per port of an NPU.
    transceivers_per_link : at an NPU's links; an uplink has one at each end.
    switches : how many come at a time, and how often per port.
    whole_uplinks : the same of uplinks, where a port of an NPU is not a whole number of them.
    """
    none = np.zeros(np.shape(npus))
    uplinks = none if uplinks is None else uplinks
    ends = none if kit.transceiver is None else transceivers_per_link * links + 2 * uplinks
    linear = np.stack([none + links, none + uplinks, none + ends, *[none] * (len(ITEMS) - 3)])
    step, slope = np.zeros_like(linear), np.zeros_like(linear)
    if kit.nic is not None:
        step[ITEMS.index("nic")], slope[ITEMS.index("nic")] = npus, 1 / kit.nic.radix
    if switches is not None:
        step[ITEMS.index("switch")], slope[ITEMS.index("switch")] = switches
    if whole_uplinks is not None:
        for item, each in (("uplink", 1), ("transceiver", 0 if kit.transceiver is None else 2)):
            step[ITEMS.index(item)], slope[ITEMS.index(item)] = each * whole_uplinks[0], whole_uplinks[1]
    return Counts(linear, step, slope)


def whole(npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
    """Return the one part that all of the network of an order is, over all ``inside`` NPUs of each NPU together."""
    ends = np.asarray(npus, dtype=np.float64)
    switches = 1.0 / np.asarray(1 if inside is None else inside) + 0.0 * ends, np.full(ends.shape, 1.0 / kit.ports)
    return assemble(npus, kit, links=ends, switches=switches)


def ring_steps(collective: Collective, extent: IntArray) -> FloatArray:
    """Return the steps of the ring algorithm; an all-to-all goes halfway around."""
    extent = np.asarray(extent, dtype=np.float64)
    if collective is Collective.ALL_TO_ALL:
        return np.asarray(extent // 2)
    return np.asarray((extent - 1) * (2 if collective is Collective.ALL_REDUCE else 1))


def direct_steps(collective: Collective, extent: IntArray) -> FloatArray:
    """Return the steps of the direct algorithm: everybody sends to everybody."""
    return np.where(np.asarray(extent) > 1, 2.0 if collective is Collective.ALL_REDUCE else 1.0, 0.0)


def halving_doubling_steps(collective: Collective, extent: IntArray) -> FloatArray:
    """Return the steps of halving and doubling, of a ring where the extent is no power of two; all-to-all is direct."""
    if collective is Collective.ALL_TO_ALL:
        return direct_steps(collective, extent)
    extent = np.asarray(extent, dtype=np.int64)
    steps = np.log2(extent) * (2 if collective is Collective.ALL_REDUCE else 1)
    return np.asarray(np.where((extent & (extent - 1)) == 0, np.rint(steps), ring_steps(collective, extent)))


STEPS: Mapping[str, Callable[[Collective, IntArray], FloatArray]] = {
    "ring": ring_steps,
    "direct": direct_steps,
    "halving-doubling": halving_doubling_steps,
}
"""Steps of each natural algorithm."""
