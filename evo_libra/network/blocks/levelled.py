"""Networks of switches in which NPUs have less bandwidth the farther away they send: what their blocks share.

A group has NPUs at a switch, in a pod of switches, and in several pods. Their number depends on the ports of a switch,
and on the NPUs inside each NPU of the dimension.
"""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Pattern
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.kit import Kit


class Levelled(Block):
    """A block of levels, whose groups are asked `at` a kit."""

    sited = True
    built: tuple[Kit, IntArray] | None = None

    def at(self, kit: Kit, inside: IntArray) -> Self:
        found = copy(self)
        found.built = kit, inside
        return found

    def kin(self, kit: Kit) -> object:
        return kit.radix

    def site(self) -> tuple[Kit, IntArray]:
        """Return what the block is built of, and the NPUs inside; a ValueError where it has not been asked for."""
        if self.built is None:
            raise ValueError(f"the groups of a {self.name} depend on its switches: ask the block `at` its kit")
        return self.built

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        levels, extent = self.levels(extent, stride, npus), np.broadcast_arrays(extent, stride, npus)[0]
        return levels.exchange_share(extent) if pattern is Pattern.ALL_TO_ALL else levels.shrinking_share(extent)

    def next_share(self, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        return self.levels(extent, stride, npus).ring_share(np.broadcast_arrays(extent, stride, npus)[0])
