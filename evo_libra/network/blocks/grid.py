"""Rings, tori and meshes, and groups on grids: products of rings or lines, one for each axis.

The NPUs of a dimension are numbered with its first axis fastest; the shorter sides come first. Every axis has an equal
part of an NPU's bandwidth. A group whose extent and stride divide the sides is a product of groups on the axes, and
with the share of each axis there:

* A reduce-scatter goes through the axes one after the other, different chunks in different orders. Orders can be mixed
  so that the axes carry any loads x with ``sum of x over A >= (product of e over A - 1) / e`` for every set A of axes
  (the set has least to do when it comes last; loads of mixed orders are the base of a polymatroid, Edmonds 1970), so
  the time is the greatest of these over the bandwidth of A, and nothing better exists among such orders.
* An all-to-all goes through every axis once: ``(e - 1) / e`` of the message on an axis of e members.

Any other group is routed by way of all NPUs: every message is spread evenly over the whole dimension first and goes to
its target from there (Valiant 1982). Both halves are all-to-alls of the whole dimension, so a group has half of its
share, whatever its pattern. On a mesh, a group whose messages shrink runs as a logical ring where that gives it more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import TypeAlias

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, cases
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.block import Block, Inner, ring_steps
from evo_libra.network.blocks.kit import Kit

AxisShare: TypeAlias = Callable[[Pattern, IntArray, IntArray, IntArray], FloatArray]

_PAIR = 2
_CUBE, _CUBE_AXES = 4, 3


def sides(npus: IntArray, axes: int) -> IntArray:
    """Return (axis, n) sides of the grids that are nearest to squares or cubes, the shortest first.

    Grids of three axes whose NPUs make up cubes of 4 x 4 x 4 are made of such cubes, as slices of TPUs are.

    >>> sides(np.array([20, 64]), 2).T.tolist(), sides(np.array([64, 128, 9216]), 3).T.tolist()
    ([[4, 5], [8, 8]], [[4, 4, 4], [4, 4, 8], [16, 24, 24]])
    """
    values, places = np.unique(np.asarray(npus), return_inverse=True)
    found = np.array([_sides(int(value), axes) for value in values], dtype=np.int64)
    return np.moveaxis(found[places.reshape(np.shape(npus))], -1, 0)


@cache
def _sides(npus: int, axes: int) -> tuple[int, ...]:
    if axes == 1:
        return (npus,)
    cubes, rest = divmod(npus, _CUBE**_CUBE_AXES)
    if axes == _CUBE_AXES and not rest and cubes > 1:
        return tuple(_CUBE * side for side in _nearest(cubes, axes))
    return _nearest(npus, axes)


def _nearest(npus: int, axes: int) -> tuple[int, ...]:
    # The largest divisor up to the root; powers instead of roots, which may round down.
    first = max(side for side in range(1, npus + 1) if side**axes <= npus and npus % side == 0)
    rest = npus // first
    return tuple(sorted((first, *(_nearest(rest, axes - 1) if axes > _PAIR else (rest,)))))


def grid_cut(npus: IntArray, axes: int) -> FloatArray:
    """Return the links between two halves of the grids of `sides` with lines along the axes; of rings, twice as many.

    A cut across the longest side; where that is odd, the layer in its middle is cut in turn (Azizoglu and Egecioglu,
    The bisection width of d-dimensional arrays, 2000).

    >>> grid_cut(np.array([9, 16, 20]), 2)
    array([4., 4., 5.])
    """
    lengths = sides(npus, axes)[::-1]
    links, layer = np.zeros(np.shape(npus)), np.asarray(npus, dtype=np.float64)
    odd = np.ones(np.shape(npus), dtype=np.bool_)
    for length in lengths:
        layer = layer / length
        links += np.where(odd, layer, 0.0)
        odd &= length % 2 == 1
    return links


def on_axes(extent: IntArray, stride: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Return how groups of (n,) NPUs, which are a stride apart, lie on the axes of a grid of (axis, n) sides.

    These are (axis, n) the extents and strides of the group on each axis, extent 1 where it has no part; and (n,)
    whether the group is their product.
    """
    left, step = np.array(extent, dtype=np.int64), np.array(stride, dtype=np.int64)
    extents, strides = np.ones_like(lengths), np.ones_like(lengths)
    regular = np.ones(left.shape, dtype=np.bool_)
    for axis, length in enumerate(lengths):
        here = step < length
        regular &= np.where(here, length % step, step % length) == 0
        room = np.maximum(length // step, 1)
        taken = np.where(here, np.minimum(left, room), 1)
        regular &= (room % taken == 0) & (left % taken == 0)
        extents[axis], strides[axis] = taken, np.where(here, step, 1)
        left, step = left // taken, np.where(here, 1, np.maximum(step // length, 1))
    return extents, strides, regular & (left == 1)


def product_share(pattern: Pattern, extents: IntArray, shares: FloatArray) -> FloatArray:
    """Return the (n,) share of groups that are products of groups of (axis, n) extents on axes of equal bandwidth.

    Of each axis a group has one of the (axis, n) shares.
    """
    members, axes = np.asarray(extents, dtype=np.float64), len(extents)
    total = members.prod(axis=0)
    capacity = np.where(members > 1, shares, 0.0) / axes
    sets: Sequence[tuple[int, ...]] = [(axis,) for axis in range(axes)]
    if pattern is Pattern.SHRINKING:
        sets = [some for size in range(1, axes + 1) for some in combinations(range(axes), size)]
    share = np.full(total.shape, np.inf)
    for some in map(list, sets):
        product = members[some].prod(axis=0)
        if pattern is Pattern.SHRINKING:
            load = (product - 1) / np.maximum(total - 1, 1)
        else:
            load = (product - 1) / product * total / np.maximum(total - 1, 1)
        room = capacity[some].sum(axis=0)
        share = np.minimum(share, np.divide(room, load, out=np.full(total.shape, np.inf), where=load > 0))
    return np.where(total > 1, share, 1.0)


def grid_share(
    pattern: Pattern, groups: tuple[IntArray, IntArray, IntArray], axes: int, axis_share: AxisShare
) -> FloatArray:
    """Return the share of groups on a grid: that of their product, or half of the whole grid's all-to-all.

    The groups are their extents, their strides and the NPUs of the dimension; the share on one axis comes from pattern,
    extent, stride and length.
    """
    extent, stride, npus = np.broadcast_arrays(*(np.asarray(some, dtype=np.int64) for some in groups))
    if not extent.size:
        return np.ones(extent.shape)
    first, kind = cases(extent.ravel(), stride.ravel(), npus.ravel())
    some = (extent.ravel()[first], stride.ravel()[first], npus.ravel()[first])
    return _different_share(pattern, some, axes, axis_share)[kind].reshape(extent.shape)


def _different_share(
    pattern: Pattern, groups: tuple[IntArray, IntArray, IntArray], axes: int, axis_share: AxisShare
) -> FloatArray:
    extent, stride, npus = groups
    lengths = sides(npus, axes)
    extents, strides, regular = on_axes(extent, stride, lengths)
    product = product_share(pattern, np.where(extent > 1, extents, 1), axis_share(pattern, extents, strides, lengths))
    regular |= extent == 1
    if regular.all():
        return product
    through = axis_share(Pattern.ALL_TO_ALL, lengths, np.ones_like(lengths), lengths)
    around = product_share(Pattern.ALL_TO_ALL, lengths, through) / 2
    return np.where(regular, product, around)


def line_share(pattern: Pattern, extent: IntArray, stride: IntArray) -> FloatArray:
    """Return the share of groups on lines: rings without the way back."""
    extent = np.asarray(extent, dtype=np.float64)
    if pattern is Pattern.ALL_TO_ALL:
        crossing = np.maximum(np.floor(extent / 2) * np.ceil(extent / 2), 1.0)
        share = (extent - 1) / (2 * crossing * stride)
    else:
        share = 1 / (2 * np.asarray(stride, dtype=np.float64) * np.ones_like(extent))
    return np.where(extent > 1, share, 1.0)


def ring_share(pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
    """Return the share of groups on rings."""
    extent, stride = np.asarray(extent), np.asarray(stride)
    around = 1 / (mean_distance(extent) if pattern is Pattern.ALL_TO_ALL else np.ones(extent.shape)) / stride
    share = np.where(extent * stride == npus, around, line_share(pattern, extent, stride))
    return np.where(extent > 1, share, 1.0)


def mean_distance(npus: IntArray) -> FloatArray:
    """Return the mean distance to the other NPUs of a ring; 1 where there are none.

    >>> mean_distance(np.array([2, 3, 4, 8]))
    array([1.        , 1.        , 1.33333333, 2.28571429])
    """
    npus = np.maximum(np.asarray(npus, dtype=np.float64), 2.0)
    return np.asarray(np.floor(npus * npus / 4) / (npus - 1))


class Ring(Block):
    """Every NPU is linked to two neighbours, with half of its ports each; two NPUs are one pair, with all of them."""

    code = "RI"
    name = "ring"
    algorithm = "ring"
    timed_as = "ring"
    parts = ("link",)

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        return np.where(np.asarray(npus) > _PAIR, 2, 1)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        return np.asarray(self.quantum(npus, kit) <= kit.ports)

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        return ring_share(pattern, extent, stride, npus)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return two links, of half of the bandwidth each, or that of a pair."""
        return np.ones(np.shape(npus))


class Torus(Block):
    """Every NPU is linked to two neighbours along each of some axes, with equally many ports each.

    The sides are as near to a square or a cube as the NPUs allow. The whole torus has all its bandwidth in shrinking
    patterns, as rings run along all axes at a time, with different chunks.
    """

    algorithm = "ring"
    timed_as = "ring"
    divided = True

    def __init__(self, code: str, name: str, axes: int) -> None:
        self.code, self.name, self.axes = code, name, axes

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return the number of neighbours; on a side of two, both are the same NPU."""
        return np.full(np.shape(npus), 2 * self.axes)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether every side has two NPUs at least and the ports reach every neighbour."""
        return np.asarray((sides(npus, self.axes) > 1).all(axis=0) & (2 * self.axes <= kit.ports))

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        return grid_share(pattern, (extent, stride, npus), self.axes, self.axis_share)

    @staticmethod
    def axis_share(pattern: Pattern, extent: IntArray, stride: IntArray, length: IntArray) -> FloatArray:
        """Return the share of groups on one axis."""
        return ring_share(pattern, extent, stride, length)

    def inner(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Inner:
        """Return an axis each; a group that is no product is one ring of its members, by way of all NPUs."""
        lengths = sides(npus, self.axes)
        extents, strides, regular = on_axes(extent, stride, lengths)
        share = self.axis_share(Pattern.SHRINKING, extents, strides, lengths) / self.axes
        around = np.where(np.arange(self.axes)[:, None] == 0, extent, 1)
        return Inner(
            np.where(regular, lengths, around), np.where(regular, extents, around), np.where(regular, strides, 1),
            np.where(regular, share, self.share(Pattern.SHRINKING, extent, stride, npus)),
        )  # fmt: skip

    def cut(self, npus: IntArray) -> FloatArray:
        """Return the links of two straight cuts, or of two with a step."""
        return grid_cut(npus, self.axes) / self.axes

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return the steps of rings along one axis after the other, of a group that is as near to a cube as it can."""
        return np.asarray(ring_steps(collective, sides(extent, self.axes)).sum(axis=0))


BLOCKS = (Ring(), Torus("TO", "torus-2d", 2), Torus("TC", "torus-3d", 3))
