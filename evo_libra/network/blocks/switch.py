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
from evo_libra.network.blocks.block import Block, Counts, Hops, Kit, assemble, switched_cut


def tiers(npus: IntArray, radix: int) -> IntArray:
    """Return how many tiers of switches some NPUs need; 0 where three are not enough.

    >>> tiers(np.array([64, 65, 2048, 65536, 65537]), 64)
    array([1, 2, 2, 3, 0])
    """
    npus, half = np.asarray(npus), radix // 2
    found = np.select([npus <= radix, npus <= half * radix, npus <= half * half * radix], [1, 2, 3], 0)
    return np.asarray(found, dtype=np.int64)


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

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        instances = self._sharing(inside)
        reached, ends = np.asarray(npus) * instances, np.asarray(npus, dtype=np.float64)
        depth, planes = tiers(reached, kit.radix), np.maximum(kit.radix // reached, 1)
        count = np.where(depth > 1, switches(reached, kit.radix), 1.0)
        uplinks = ends * np.maximum(depth - 1, 0)
        return assemble(npus, kit, links=ends, uplinks=uplinks, switches=(count * (1 / instances), 1 / planes))


BLOCKS = (
    Clos("SW", "switch", ("link", "switch", "nic"), joined=False),
    Clos("CL", "any-to-any", (), joined=True),
)
