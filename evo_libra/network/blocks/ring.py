"""A ring: every NPU is linked to two neighbours, with half of its ports each."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Pattern
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.grid import ring_share
from evo_libra.network.blocks.kit import Kit


class Ring(Block):
    """A ring; two NPUs are one pair, with all ports between them. Shares: see `evo_libra.network.blocks.grid`."""

    code = "RI"
    name = "ring"
    algorithm = "ring"
    timed_as = "ring"
    parts = ("link",)

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return 2, as both neighbours have equally many ports, and 1 with a single neighbour."""
        return np.where(np.asarray(npus) > 2, 2, 1)  # noqa: PLR2004 - two NPUs have one neighbour each

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether the ports reach both neighbours."""
        return np.asarray(self.quantum(npus, kit) <= kit.ports)

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return the share of groups on a ring."""
        return ring_share(pattern, extent, stride, npus)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return two links, of half of the bandwidth each, or that of a pair."""
        return np.ones(np.shape(npus))


BLOCKS = (Ring(),)
