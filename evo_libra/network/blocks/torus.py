"""Tori: every NPU is linked to two neighbours along each of two or three axes, with equally many ports each."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.block import Block, ring_steps
from evo_libra.network.blocks.grid import grid_cut, grid_share, ring_share, sides
from evo_libra.network.blocks.kit import Kit


class Torus(Block):
    """A torus as near to a square or a cube as its NPUs allow: a product of rings.

    Shares: see `evo_libra.network.blocks.grid`, with rings along the axes. The whole torus has all its bandwidth in
    shrinking patterns, as rings run along all axes at a time, with different chunks.

    Parameters
    ----------
    code, name : of the block.
    axes : 2 or 3.
    """

    algorithm = "ring"

    def __init__(self, code: str, name: str, axes: int) -> None:
        self.code = code
        self.name = name
        self.axes = axes

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return the number of neighbours; on a side of two, both are the same NPU."""
        return np.full(np.shape(npus), 2 * self.axes)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether every side has two NPUs at least and the ports reach every neighbour."""
        return np.asarray((sides(npus, self.axes) > 1).all(axis=0) & (2 * self.axes <= kit.ports))

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return the share of groups on a torus."""
        return grid_share(pattern, (extent, stride, npus), self.axes, ring_share)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return the links of two straight cuts, or of two with a step."""
        return grid_cut(npus, self.axes) / self.axes

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return the steps of rings along one axis after the other, of a group that is as near to a cube as it can."""
        return np.asarray(ring_steps(collective, sides(extent, self.axes)).sum(axis=0))


BLOCKS = (Torus("TO", "torus-2d", 2), Torus("TC", "torus-3d", 3))
