"""Blocks whose NPUs are linked to each other without a ring: all to all, or to those that differ in one bit."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.block import Block, Inner, halving_doubling_steps
from evo_libra.network.blocks.kit import Kit


class FullyConnected(Block):
    """Every NPU is linked to every other one, with an equal part of its ports each.

    A group of e among n NPUs sends straight to its members, over e - 1 of its n - 1 links: 3 of 7 for 4 of 8 NPUs,
    wherever they are.
    """

    code = "FC"
    name = "fully-connected"
    algorithm = "direct"
    timed_as = "fully-connected"
    parts = ("link",)

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        return np.asarray(npus) - 1

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        return np.asarray(self.quantum(npus, kit) <= kit.ports)

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        extent = np.asarray(extent, dtype=np.float64)
        return np.where(extent > 1, (extent - 1) / np.maximum(np.asarray(npus) - 1, 1), 1.0)


class Hypercube(Block):
    """Of 2^k NPUs, each is linked to the k whose number differs in one bit, with equally many ports each.

    Groups are subcubes, each with its own links. Halving and doubling runs along all bits at a time, different chunks
    in different orders, so a subcube of e of n NPUs has log2(e) of log2(n) links busy. In an all-to-all a message
    passes a link for each bit that differs, half of the bits on average: share 2 (e - 1) / e over log2(n), and the
    bisection allows no more.
    """

    code = "HC"
    name = "hypercube"
    algorithm = "halving-doubling"
    timed_as = "ring"
    divided = True

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        return np.maximum(_bits(npus), 1)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        npus = np.asarray(npus, dtype=np.int64)
        return np.asarray(((npus & (npus - 1)) == 0) & (_bits(npus) <= kit.ports))

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        members = np.asarray(extent, dtype=np.float64)
        busy = 2 * (members - 1) / members if pattern is Pattern.ALL_TO_ALL else _bits(extent)
        return np.where(members > 1, busy / np.maximum(_bits(npus), 1), 1.0)

    def inner(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Inner:
        """Return a pair for each bit in which the members of a group differ, with the link of that bit."""
        bits = _bits(extent)
        used = np.arange(max(int(bits.max(initial=0)), 1))[:, None] < bits
        pair = np.where(used, 2, 1)
        return Inner(pair, pair, np.ones_like(pair), np.where(used, 1 / np.maximum(_bits(npus), 1), 1.0))

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return the steps of halving and doubling; an all-to-all goes to the opposite corner."""
        if collective is Collective.ALL_TO_ALL:
            return _bits(extent).astype(np.float64)
        return halving_doubling_steps(collective, extent)


def _bits(npus: IntArray) -> IntArray:
    return np.rint(np.log2(np.asarray(npus, dtype=np.float64))).astype(np.int64)


BLOCKS = (FullyConnected(), Hypercube())
