"""A mesh: every NPU is linked to its neighbours along two axes; NPUs at the edges have ports that end nowhere."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.block import Block, Counts, assemble, ring_steps
from evo_libra.network.blocks.grid import grid_cut, grid_share, line_share, sides
from evo_libra.network.blocks.kit import Kit

_AXES = 2
_NEIGHBOURS = 4


class Mesh(Block):
    """A mesh as near to a square as its NPUs allow: a product of lines.

    Shares: see `evo_libra.network.blocks.grid`, with lines along the axes. The whole mesh has half of its bandwidth in
    shrinking patterns, two chunks at a time in different orders, since an NPU in a corner has two of four links; a
    group along one axis has a quarter, one link (as in FRED, arXiv 2406.19580: 1500 and 750 of 3000 GB/s).
    """

    code = "ME"
    name = "mesh-2d"
    algorithm = "ring"

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return the number of neighbours."""
        return np.full(np.shape(npus), _NEIGHBOURS)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether both sides have two NPUs at least and the ports reach every neighbour."""
        return np.asarray((sides(npus, _AXES) > 1).all(axis=0) & (kit.ports >= _NEIGHBOURS))

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return the share of groups on a mesh."""
        return grid_share(pattern, (extent, stride, npus), _AXES, _on_line)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return the links of a straight cut, or one with a step."""
        return grid_cut(npus, _AXES) / _NEIGHBOURS

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return the steps of logical rings along one axis after the other; an all-to-all goes from end to end."""
        along = sides(extent, _AXES)
        if collective is Collective.ALL_TO_ALL:
            return np.asarray((along - 1.0).sum(axis=0))
        return np.asarray(ring_steps(collective, along).sum(axis=0))

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return the links between neighbours: along an axis, one less than NPUs in each line."""
        npus = np.asarray(npus, dtype=np.int64)
        pairs = sum(npus - npus // length for length in sides(npus, _AXES))
        return assemble(npus, kit, links=np.asarray(pairs) / _NEIGHBOURS)


def _on_line(pattern: Pattern, extent: IntArray, stride: IntArray, length: IntArray) -> FloatArray:
    return line_share(pattern, extent, stride)


BLOCKS = (Mesh(),)
