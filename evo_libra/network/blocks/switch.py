"""Switches: a single one, or a folded Clos of two or three tiers when the NPUs outnumber its ports.

There is one network (a plane) for each port of an NPU. With radix k: up to k NPUs, a single switch. Up to k^2/2, leaves
with half of their ports down and half up, and half as many spines. Up to k^3/4, leaves, as many aggregation switches
and half as many cores: the fat tree of Al-Fares et al. (SIGCOMM 2008). Every tier has as many uplinks as there are
NPUs, so no tier is narrower than the NPUs. Leaves that are not full are rounded up to whole switches; where the leaves
do not divide the radix, bundles between leaves and spines are uneven, and the counts are those of the ports that are
needed. A switch with more ports than NPUs holds several planes: with n NPUs and radix k it serves floor(k / n) ports.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.blocks.blast import Blast, switched_blast
from evo_libra.network.blocks.block import ITEMS, Block, Counts, Hops, assemble, switched_cut
from evo_libra.network.blocks.kit import Kit

_TWO = 2


def tiers(npus: IntArray, radix: int) -> IntArray:
    """Return how many tiers of switches some NPUs need; 0 where three are not enough.

    >>> tiers(np.array([64, 65, 2048, 65536, 65537]), 64)
    array([1, 2, 2, 3, 0])
    """
    npus, half = np.asarray(npus), radix // 2
    upper = np.where(npus <= half * radix, 2, np.where(npus <= half * half * radix, 3, 0))
    return np.where(npus <= radix, 1, upper)


def switches(npus: IntArray, radix: int) -> FloatArray:
    """Return the switches of one plane of two or three tiers.

    >>> switches(np.array([128, 1024, 4096]), 64)
    array([  6.,  48., 320.])
    """
    npus, half = np.asarray(npus, dtype=np.float64), radix // 2
    leaves = np.ceil(npus / max(half, 1))
    top = np.ceil(leaves * half / radix)
    return np.asarray(leaves * (tiers(npus.astype(np.int64), radix) - 1) + top)


class Clos(Block):
    """Non-blocking switches: any group has all its bandwidth.

    Of rails there is one network for each NPU inside the dimension, and no switch joins them: outside of a domain of
    high bandwidth, this is what is called rail-only. A joined one is over all NPUs of the dimension and of those inside
    it, as in a classic GPU data centre; collectives run along the dimension as on rails, and an instance's bill is its
    part of the common network.
    """

    algorithm = "halving-doubling"
    switch_kind = "switch"
    timed_as = "switch"

    def __init__(self, code: str, name: str, parts: tuple[str, ...], *, joined: bool) -> None:
        self.code, self.name, self.parts, self.joined = code, name, parts, joined

    def _sharing(self, inside: IntArray | None) -> IntArray:
        """Return how many instances of the dimension are on one network."""
        return np.asarray(1 if inside is None or not self.joined else inside, dtype=np.int64)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether three tiers are enough."""
        return np.asarray(tiers(np.asarray(npus) * self._sharing(inside), kit.radix) > 0)

    def cut(self, npus: IntArray) -> FloatArray:
        return switched_cut(npus)

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return the way to the highest tier and back: 1, 3 or 5 switches."""
        depth = tiers(np.asarray(npus) * self._sharing(inside), kit.radix).astype(np.float64)
        return 2 * depth, 2 * depth - 1

    def tier_switches(self, npus: int, kit: Kit, inside: int = 1) -> tuple[int, ...]:
        reached = npus * int(self._sharing(np.asarray(inside)))
        depth, half = int(tiers(np.asarray(reached), kit.radix)), kit.radix // 2
        leaves = -(-reached // max(half, 1))
        return (1,) if depth == 1 else (*[leaves] * (depth - 1), -(-leaves * half // kit.radix))

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        instances = self._sharing(inside)
        reached, ends = np.asarray(npus) * instances, np.asarray(npus, dtype=np.float64)
        depth, planes = tiers(reached, kit.radix), np.maximum(kit.radix // reached, 1)
        count = np.where(depth > 1, switches(reached, kit.radix), 1.0)
        uplinks = ends * np.maximum(depth - 1, 0)
        return assemble(npus, kit, links=ends, uplinks=uplinks, switches=(count * (1 / instances), 1 / planes))

    def leaves(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> IntArray:
        """Return the leaves of the network that dimensions are on; 1 where that is a single switch."""
        reached = np.asarray(npus) * self._sharing(inside)
        return np.where(tiers(reached, kit.radix) > 1, -(-reached // max(kit.radix // 2, 1)), 1)

    def near(self, npus: IntArray, kit: Kit, inside: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the links to leaves and the uplinks that are within reach.

        A leaf stands in the middle of its NPUs, which on rails are as far apart as there are NPUs inside. Everything
        above the leaves stands in the middle of all NPUs.
        """
        instances, apart = self._sharing(inside), np.asarray(1 if self.joined else inside)
        reached, leaves, room = npus * instances, self.leaves(npus, kit, inside), kit.room // apart
        size, rest = reached // leaves, reached % leaves
        links = (leaves - rest) * np.minimum(size, room) + rest * np.minimum(size + 1, room)
        uplinks = self.counts(npus, kit, inside).linear[ITEMS.index("uplink")] * instances
        part = np.minimum(kit.room / (reached * apart), 1.0)
        return links / instances, np.floor(np.rint(uplinks) * part) / instances

    def pods(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> IntArray:
        """Return the pods of leaves that cores join; 0 where there are two tiers or one."""
        reached, leaves = np.asarray(npus) * self._sharing(inside), self.leaves(npus, kit, inside)
        return np.where(tiers(reached, kit.radix) > _TWO, -(-leaves // max(kit.radix // 2, 1)), 0)

    def blast(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Blast:
        """Return that a leaf cuts its NPUs off, and that other switches and uplinks only take bandwidth.

        A link upwards carries its part of what its leaf or pod sends out, a switch above the leaves its part of its
        pod, and a spine or core its part of the whole.
        """
        counts = self.counts(npus, kit, inside).relaxed * self._sharing(inside)
        uplinks, switches = counts[ITEMS.index("uplink")], counts[ITEMS.index("switch")]
        leaves, pods = self.leaves(npus, kit, inside), self.pods(npus, kit, inside)
        several = uplinks > 0
        part = np.divide(leaves, switches, out=np.ones_like(switches), where=several)
        upper = np.divide(1.0 + pods, switches - leaves, out=np.zeros_like(switches), where=several)
        uplink = np.divide(leaves + pods, uplinks, out=np.zeros_like(uplinks), where=several)
        return switched_blast(npus, leaves=part, uplink=uplink, upper=upper)


BLOCKS = (
    Clos("SW", "switch", ("link", "switch", "nic"), joined=False),
    Clos("CL", "fat-tree", (), joined=True),
)
