"""A hypercube: of 2^k NPUs, each is linked to the k whose number differs in one bit, with equally many ports each."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.block import Block, halving_doubling_steps
from evo_libra.network.blocks.kit import Kit


class Hypercube(Block):
    """A hypercube: groups are subcubes, each with its own links.

    Halving and doubling runs along all bits at a time, different chunks in different orders, so a subcube of e of n
    NPUs has log2(e) of log2(n) links busy. In an all-to-all a message passes a link for each bit that differs, half of
    the bits on average: share 2 (e - 1) / e over log2(n), and the bisection allows no more.
    """

    code = "HC"
    name = "hypercube"
    algorithm = "halving-doubling"

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return the number of neighbours."""
        return np.maximum(_bits(npus), 1)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether the NPUs are a power of two and the ports reach every neighbour."""
        npus = np.asarray(npus, dtype=np.int64)
        return np.asarray(((npus & (npus - 1)) == 0) & (_bits(npus) <= kit.ports))

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return the share of subcubes."""
        links = np.maximum(_bits(npus), 1)
        members = np.asarray(extent, dtype=np.float64)
        busy = 2 * (members - 1) / members if pattern is Pattern.ALL_TO_ALL else _bits(extent)
        share = busy / links
        return np.where(members > 1, share, 1.0)

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return the steps of halving and doubling; an all-to-all goes to the opposite corner."""
        if collective is Collective.ALL_TO_ALL:
            return _bits(extent).astype(np.float64)
        return halving_doubling_steps(collective, extent)


def _bits(npus: IntArray) -> IntArray:
    return np.rint(np.log2(np.asarray(npus, dtype=np.float64))).astype(np.int64)


BLOCKS = (Hypercube(),)
