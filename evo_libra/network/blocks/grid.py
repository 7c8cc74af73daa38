"""Groups on grids: tori, meshes and hypercubes are products of rings or lines, one for each axis.

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
share, whatever its pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import TypeAlias

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, cases
from evo_libra.collective import Pattern

AxisShare: TypeAlias = Callable[[Pattern, IntArray, IntArray, IntArray], FloatArray]


def sides(npus: IntArray, axes: int) -> IntArray:
    """Return (axis, n) sides of the grids that are nearest to squares or cubes, the shortest first.

    >>> sides(np.array([20, 64]), 2).T.tolist(), sides(np.array([64, 128]), 3).T.tolist()
    ([[4, 5], [8, 8]], [[4, 4, 4], [4, 4, 8]])
    """
    values, places = np.unique(np.asarray(npus), return_inverse=True)
    found = np.array([_sides(int(value), axes) for value in values], dtype=np.int64)
    return np.moveaxis(found[places.reshape(np.shape(npus))], -1, 0)


@cache
def _sides(npus: int, axes: int) -> tuple[int, ...]:
    if axes == 1:
        return (npus,)
    # The largest divisor up to the root; powers instead of roots, which may round down.
    first = max(side for side in range(1, npus + 1) if side**axes <= npus and npus % side == 0)
    return tuple(sorted((first, *_sides(npus // first, axes - 1))))


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
    """Return how groups lie on the axes of a grid.

    Parameters
    ----------
    extent, stride : (n,) NPUs of a group, and how far apart they are.
    lengths : (axis, n) sides of the grid.

    Returns
    -------
    extents, strides : (axis, n) of the group on each axis; extent 1 where it has no part.
    regular : (n,) whether the group is their product.
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
    """Return the share of groups that are products of groups on axes of equal bandwidth.

    Parameters
    ----------
    pattern : of the traffic.
    extents : (axis, n) members on each axis.
    shares : (axis, n) share that the group has of each axis.
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
    pattern: Pattern,
    groups: tuple[IntArray, IntArray, IntArray],
    axes: int,
    axis_share: AxisShare,
) -> FloatArray:
    """Return the share of groups on a grid: that of their product, or half of the whole grid's all-to-all.

    Parameters
    ----------
    pattern : of the traffic.
    groups : extents, strides and NPUs of the dimension.
    axes : of the grid.
    axis_share : share of groups on one axis, from pattern, extent, stride and length.
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
