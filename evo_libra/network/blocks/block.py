"""What a building block says about itself, and the kit of parts that it is built of.

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

ITEMS = ("link", "uplink", "transceiver", "nic", "switch")
"""Items of a bill of materials, in the order of its first axis."""

KINDS = ("link", "transceiver", "nic", "switch", "ocs")
"""Kinds of parts; an OCS is an optical circuit switch."""

Hops: TypeAlias = tuple[FloatArray, FloatArray]
"""Links and switches that a message passes."""

_ROUNDING = 1e-9
"""What a whole number of steps may exceed itself by in floating point: far less than any fraction of ports."""


@dataclass(frozen=True)
class Range:
    """A figure that is known to lie between two bounds; ``value`` counts unless a scenario asks for a bound."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Part:
    """Something that is bought by the piece: price in USD, power in W, seconds of latency of passing through it.

    A switch, an OCS and a NIC have ports.
    """

    name: str
    kind: str
    price: Range
    power: float
    ports: int | None
    latency: float
    source: str
    year: int

    @property
    def radix(self) -> int:
        """Its ports; a ValueError where it has none, but catalogues with such a part are refused when they are read."""
        if self.ports is None:
            raise ValueError(f"{self.name} has no ports")
        return self.ports


@dataclass(frozen=True)
class Kit:
    """A technology and a block: all that has to be known to build a dimension.

    Attributes
    ----------
    block : index into `evo_libra.network.blocks.registry.BLOCKS`.
    rank : place of the technology; dimensions never go back to a lower rank outwards.
    port_rate : B/s of a port in one direction; ports are full duplex.
    ports : most ports of an NPU.
    domain_size : most NPUs inside one domain, that is, of this dimension and all inside it; None for no limit.
    domains : the sizes of domains that are sold, each of which is one dimension; None for any.
    latency : s of a link.
    energy : J per bit and link passed, beyond the power of the parts.
    links : a link of one port between NPUs, or of an NPU to a switch.
    uplink : a link of one port between switches.
    transceiver : one at each electrical end of each link and uplink.
    nic : what ties its number of ports to an NPU.
    switch : a switch, or the OCS of a block that has one.
    """

    technology: str
    block: int
    rank: int
    port_rate: float
    ports: int
    domain_size: int | None
    latency: float
    energy: float
    links: Part | None
    uplink: Part | None
    transceiver: Part | None
    nic: Part | None
    switch: Part | None
    domains: tuple[int, ...] | None = None

    @property
    def radix(self) -> int:
        """Ports of its switch; a ValueError where it has none."""
        if self.switch is None:
            raise ValueError(f"{self.technology} has no switch")
        return self.switch.radix


@dataclass(frozen=True)
class Counts:
    """How many items there are: ``linear * ports + step * ceil(ports * slope)`` with some ports per NPU.

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


class Block(ABC):
    """A building block. Methods take and give arrays (n,) that broadcast, and are pure.

    A user's own block is a class that derives from this one, registered under the entry point group
    ``evo_libra.blocks``; `evo_libra.network.blocks.conformance` looks for what no block may do. Methods that are not
    abstract say what holds for most blocks.

    Attributes
    ----------
    code : capital letters, what the notation calls it; `name` : what files call it.
    algorithm : the natural algorithm of its collectives: ring, direct or halving-doubling.
    switch_kind : kind of part that the block needs as its switch, or None.
    timed_as : ring, line, fully-connected, switch or tree, as which ASTRA-sim's time has the block, or each of its
        inner dimensions where it is `divided`; None where it has no phases.
    upper, in_network : of a tree, an NPU's part of the upper level over its bandwidth, and whether switches reduce.
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
    parts: tuple[str, ...] = ()

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return the number that an NPU's ports are multiples of."""
        return np.ones(np.shape(npus), dtype=np.int64)

    @abstractmethod
    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether a dimension of so many NPUs can be built, outside of ``inside`` NPUs each (1 when None).

        The domain size of the kit is not looked at; `evo_libra.network.bill.fits` is all of it.
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

    def inner(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Inner:
        """Return the inner dimensions of (n,) groups."""
        raise NotImplementedError(f"{self.name} is not divided")

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
    linear = np.stack([none + links, none + uplinks, none + ends, none, none])
    step, slope = np.zeros_like(linear), np.zeros_like(linear)
    if kit.nic is not None:
        step[ITEMS.index("nic")], slope[ITEMS.index("nic")] = npus, 1 / kit.nic.radix
    if switches is not None:
        step[ITEMS.index("switch")], slope[ITEMS.index("switch")] = switches
    if whole_uplinks is not None:
        for item, each in (("uplink", 1), ("transceiver", 0 if kit.transceiver is None else 2)):
            step[ITEMS.index(item)], slope[ITEMS.index(item)] = each * whole_uplinks[0], whole_uplinks[1]
    return Counts(linear, step, slope)


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
