"""FRED's meshes (arXiv 2406.19580): grids without the links from one end of an axis to the other.

A group that is no product of groups on the axes is a logical ring. Its NPUs are then numbered along a snake: the rows
of the shorter axis in turn, every other row backwards, so that NPUs of consecutive numbers are neighbours. Groups that
rows hold have the same NPUs either way, and so do those whose members are two rows apart.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, cases
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.block import Counts, assemble
from evo_libra.network.blocks.grid import Torus, line_share, on_axes, sides
from evo_libra.network.blocks.kit import Kit


class Mesh(Torus):
    """A torus without the links from one end of an axis to the other; ports at the edges end nowhere.

    The whole mesh has half of its bandwidth in shrinking patterns, two chunks at a time in different orders, since an
    NPU in a corner has two of four links; a group along one axis has a quarter, one link (as in FRED, arXiv 2406.19580:
    1500 and 750 of 3000 GB/s). A group that is no product of groups on the axes is a logical ring with X-Y routing.
    """

    timed_as = "line"

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        found = super().share(pattern, extent, stride, npus)
        if pattern is Pattern.ALL_TO_ALL:
            return found
        extent, stride, npus = np.broadcast_arrays(
            *(np.asarray(some, dtype=np.int64) for some in (extent, stride, npus))
        )
        odd = (extent > 1) & ~on_axes(extent, stride, sides(npus, self.axes))[2]
        if not odd.any():
            return found
        columns = [some[odd] for some in (extent, stride, npus)]
        first, kind = cases(*columns)
        rings = np.array([self._ring(*(int(column[n]) for column in columns)) for n in first.tolist()])
        return np.maximum(found, _put(rings[kind], odd))

    def _ring(self, extent: int, stride: int, npus: int) -> float:
        """Return the share of logical rings: a link, which is a part of an NPU's bandwidth, over its messages."""
        width, height = sides(np.array(npus), self.axes).tolist()
        return 1 / (2 * self.axes * max(ring_load(extent, stride, (width, height)), 1))

    def stream_share(self, npus: IntArray) -> FloatArray:
        """Return what all channels at the edges bring to every NPU, one at each end of each row and column.

        A channel sends along its own line first. With n NPUs on the longer side the fullest link carries what 2 n - 1
        of the channels bring (FRED, section 3.2.1): 9 of 18 on a mesh of 4 x 5, with a quarter of an NPU's bandwidth.
        """
        lengths = sides(npus, self.axes)
        return np.asarray(2.0 * lengths.sum(axis=0) / (2.0 * lengths.max(axis=0) - 1.0) / (2.0 * self.axes))

    @staticmethod
    def axis_share(pattern: Pattern, extent: IntArray, stride: IntArray, length: IntArray) -> FloatArray:  # noqa: ARG004 - rings differ
        """Return the share of groups on one axis."""
        return line_share(pattern, extent, stride)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return the links of a straight cut, or one with a step."""
        return super().cut(npus) / 2

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return the steps of logical rings along one axis after the other; an all-to-all goes from end to end."""
        if collective is Collective.ALL_TO_ALL:
            return np.asarray((sides(extent, self.axes) - 1.0).sum(axis=0))
        return super().steps(collective, extent)

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return the links between neighbours: along an axis, one less than NPUs in each line."""
        npus = np.asarray(npus, dtype=np.int64)
        pairs = sum(npus - npus // length for length in sides(npus, self.axes))
        return assemble(npus, kit, links=np.asarray(pairs) / (2 * self.axes))


def _put(values: FloatArray, where: BoolArray) -> FloatArray:
    """Return values in some places, and 0 in all others."""
    found = np.zeros(where.shape)
    found[where] = values
    return found


@lru_cache(maxsize=1 << 12)
def ring_load(extent: int, stride: int, sides: tuple[int, int]) -> int:
    """Return how many messages the fullest link carries in one direction while each NPU sends to the next of its ring.

    Groups of `extent` NPUs, which are `stride` apart, follow each other; NPUs that are left at the end are in no group.
    Every message takes X-Y routing: first along the shorter axis, then along the longer one (FRED, arXiv 2406.19580,
    section 7.2).

    >>> ring_load(4, 1, (4, 5)), ring_load(3, 1, (4, 5)), ring_load(20, 1, (4, 5))
    (1, 1, 1)
    """
    width, height = sides
    near, far = _along_snake(_rings(extent, stride, width * height), width)
    rows = _loads(far, near, np.roll(near, -1, axis=1), (height, width))
    columns = _loads(np.roll(near, -1, axis=1), far, np.roll(far, -1, axis=1), (width, height))
    return max(int(rows.max(initial=0)), int(columns.max(initial=0)))


def _rings(extent: int, stride: int, npus: int) -> IntArray:
    """Return (g, extent) the numbers of the NPUs of each whole group."""
    block = extent * stride
    first = np.arange(npus // block)[:, None] * block + np.arange(stride)
    return np.asarray(first.reshape(-1, 1) + stride * np.arange(extent))


def _along_snake(numbers: IntArray, width: int) -> tuple[IntArray, IntArray]:
    row, place = np.divmod(numbers, width)
    return np.where(row % 2 == 1, width - 1 - place, place), row


def _loads(line: IntArray, start: IntArray, end: IntArray, shape: tuple[int, int]) -> IntArray:
    """Return (2, lines, links) messages on links of lines, forwards and backwards, from the places where they go."""
    found = np.zeros((2, shape[0], shape[1] + 1), dtype=np.int64)
    for way, (low, high) in enumerate(((start, end), (end, start))):
        forward = low < high
        np.add.at(found[way], (line[forward], low[forward]), 1)
        np.add.at(found[way], (line[forward], high[forward]), -1)
    return np.asarray(found.cumsum(axis=2))


BLOCKS = (Mesh("ME", "mesh-2d", 2),)
