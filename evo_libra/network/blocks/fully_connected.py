"""Fully connected: every NPU is linked to every other one, with an equal part of its ports each."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Pattern
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.kit import Kit


class FullyConnected(Block):
    """Fully connected: a group of e among n NPUs sends straight to its members, over e - 1 of its n - 1 links."""

    code = "FC"
    name = "fully-connected"
    algorithm = "direct"
    timed_as = "fully-connected"
    parts = ("link",)

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return the number of the other NPUs."""
        return np.asarray(npus) - 1

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether there is a port to every other NPU."""
        return np.asarray(self.quantum(npus, kit) <= kit.ports)

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return the links to members over all links: 3 of 7 for 4 of 8 NPUs, wherever they are."""
        extent = np.asarray(extent, dtype=np.float64)
        return np.where(extent > 1, (extent - 1) / np.maximum(np.asarray(npus) - 1, 1), 1.0)


BLOCKS = (FullyConnected(),)
