"""Shares on rings and lines, which rings, tori and meshes are made of.

An NPU has one bundle of lanes to each of its two neighbours, half of its bandwidth each.

Whole ring. A reduce-scatter runs around both ways, half of the message each: every bundle is busy all the time, share
1. In an all-to-all every message takes the shorter way (half of it each way where both are equally long): all bundles
are equally busy, and a byte passes the mean distance of bundles, share 1 over the mean distance.

A group that holds a contiguous part of a ring is a line. Its logical ring goes along the bundles of one direction and
comes back along those of the other, so each direction carries one flow of the whole message: share 1/2. More is not
possible: the NPU at an end has one bundle to receive on. In an all-to-all the bundle in the middle carries
floor(e/2) * ceil(e/2) of the e * e parts of a message, which is the cut, too.

A group of every s-th NPU shares its bundles with s - 1 others: all of the above, over s; it is a ring where the group
goes all around, and a line otherwise.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Pattern


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
