"""What a building block has to say about itself, in the terms that every block shares.

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
from evo_libra.network.blocks.kit import Kit

ITEMS = ("link", "uplink", "transceiver", "nic", "switch")
"""Items of a bill of materials, in the order of its first axis."""

Hops: TypeAlias = tuple[FloatArray, FloatArray]
"""Links and switches that a message passes."""


@dataclass(frozen=True)
class Counts:
    """How many items one instance of a dimension has: ``linear * ports + step * ceil(ports * slope)``.

    Attributes
    ----------
    linear : (item, n) items per port of an NPU.
    step : (item, n) items that come at a time.
    slope : (item, n) steps per port of an NPU.
    """

    linear: FloatArray
    step: FloatArray
    slope: FloatArray


class Block(ABC):
    """A building block. Methods take and give arrays (n,) that broadcast, and are pure.

    A user's own block is a class that derives from this one, registered under the entry point group
    ``evo_libra.blocks``; `evo_libra.network.blocks.conformance` looks for what no block may do.

    Attributes
    ----------
    code : capital letters, what the notation calls it.
    name : what files call it.
    algorithm : the natural algorithm of its collectives: ring, direct or halving-doubling.
    switch_kind : kind of part that the block needs as its switch, or None.
    timed_as : ring, fully-connected or switch, as which ASTRA-sim's time has the block; None where it has no phases.
    parts : what LIBRA (ISPASS 2024) buys, named as prices are; empty where it has no price. Its counts of links and the
        bandwidth per link cancel to one price of each part per NPU and unit of bandwidth.
    """

    code: str
    name: str
    algorithm: str
    switch_kind: str | None = None
    timed_as: str | None = None
    parts: tuple[str, ...] = ()

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return the number that an NPU's ports are multiples of: 1 unless a block knows better."""
        return np.ones(np.shape(npus), dtype=np.int64)

    @abstractmethod
    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether a dimension of so many NPUs can be built, outside of ``inside`` NPUs each (1 when None).

        The domain size of the kit is not looked at; `fits` is all of it.
        """

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return which part of an NPU's bandwidth a process group gets, in (0, 1]: all unless a block knows better.

        Parameters
        ----------
        pattern : of its traffic.
        extent : NPUs of the dimension that belong to one group.
        stride : how far apart they are: the product of the extents of the groups inside it.
        npus : of the dimension.
        """
        return np.ones(np.broadcast_shapes(np.shape(extent), np.shape(stride), np.shape(npus)))

    def traffic_factor(
        self,
        pattern: Pattern,
        extent: IntArray,
        collective: Collective = Collective.ALL_REDUCE,
    ) -> FloatArray:
        """Return the bytes an NPU sends, over those it sends where only NPUs reduce: 1 unless the network does."""
        return np.ones(np.shape(extent))

    def cut(self, npus: IntArray) -> FloatArray:
        """Return what passes between two halves of the NPUs at most, in bandwidths of one NPU, in one direction.

        Unless a block knows better, what an all-to-all sends over the cut in its time, which is no more than that.
        """
        npus = np.asarray(npus, dtype=np.int64)
        share = self.share(Pattern.ALL_TO_ALL, npus, np.ones_like(npus), npus)
        return np.asarray(_between(npus) / (npus - 1) * share)

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return links and switches that a message passes between neighbours of the natural algorithm, at most.

        Unless a block knows better, one link and no switch.
        """
        return np.ones(np.shape(npus)), np.zeros(np.shape(npus))

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return how many messages of the natural algorithm come one after the other; 0 where the extent is 1.

        In an all-to-all, messages go straight to their targets: the steps are the hops between neighbours of the
        farthest.
        """
        return STEPS[self.algorithm](collective, extent)

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return what one instance of the dimension is built of, outside of ``inside`` NPUs each (1 when None).

        Unless a block knows better, a link for every two ports.
        """
        return assemble(npus, kit, links=np.asarray(npus) / 2)


def switched_cut(npus: IntArray) -> FloatArray:
    """Return the cut of blocks in which half of the NPUs send all they can to the others."""
    return np.floor(np.asarray(npus) / 2)


def _between(npus: IntArray) -> IntArray:
    """Return the pairs of NPUs with one in each half."""
    return np.asarray((npus // 2) * (npus - npus // 2))


def assemble(
    npus: IntArray,
    kit: Kit,
    *,
    links: FloatArray,
    uplinks: FloatArray | None = None,
    transceivers_per_link: int = 2,
    switch_step: FloatArray | None = None,
    switch_slope: FloatArray | None = None,
    uplink_step: FloatArray | None = None,
    uplink_slope: FloatArray | None = None,
) -> Counts:
    """Return the counts of an instance from its links and switches; NICs and transceivers follow from them.

    Parameters
    ----------
    npus : of the dimension.
    kit : what it is built of.
    links, uplinks : per port of an NPU.
    transceivers_per_link : at an NPU's links; an uplink has one at each end.
    switch_step, switch_slope : switches that come at a time, and how often per port.
    uplink_step, uplink_slope : the same of uplinks, where a port of an NPU is not a whole number of them.
    """
    none = np.zeros(np.shape(npus))
    uplinks = none if uplinks is None else uplinks
    ends = none if kit.transceiver is None else transceivers_per_link * links + 2 * uplinks
    linear = np.stack([none + links, none + uplinks, none + ends, none, none])
    step, slope = np.zeros_like(linear), np.zeros_like(linear)
    if kit.nic is not None:
        step[ITEMS.index("nic")] = npus
        slope[ITEMS.index("nic")] = 1 / radix_of(kit.nic.ports)
    if switch_step is not None and switch_slope is not None:
        step[ITEMS.index("switch")] = switch_step
        slope[ITEMS.index("switch")] = switch_slope
    if uplink_step is not None and uplink_slope is not None:
        for item, each in (("uplink", 1), ("transceiver", 0 if kit.transceiver is None else 2)):
            step[ITEMS.index(item)] = each * uplink_step
            slope[ITEMS.index(item)] = uplink_slope
    return Counts(linear, step, slope)


def radix_of(count: int | None) -> int:
    """Return the ports of a part that has some.

    Raises
    ------
    ValueError : it has none; catalogues with such a part are refused when they are read.
    """
    if count is None:
        raise ValueError("a switch, an OCS or a NIC without ports")
    return count


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
