"""The multiplicative epsilon indicator of large fronts, exactly, without looking at all pairs of designs."""

from __future__ import annotations

import math

import moocore
import numpy as np

from evo_libra.arrays import FloatArray, IntArray, columns

_LEAF = 32
"""Designs of a front that are near each other."""
_SAMPLE = 64
"""Designs of the reference that are asked for first."""
_BATCH = 2048


def largest_factor(front: FloatArray, reference: FloatArray) -> float:
    """Return the factor by which a front would have to be better to weakly dominate the reference.

    This is the multiplicative epsilon indicator (Zitzler et al. 2003), the max over r of the min over p of the max over
    i of p[i] / r[i]: a design of the reference has a factor, that of the design of the front that is nearest to it.

    Parameters
    ----------
    front : (m, k) values above 0, at least one design.
    reference : (m, n) the same.
    """
    upper = _factors_nearby(front, reference)
    order = np.argsort(-upper)
    # moocore leaves a design as soon as its factor is at most the largest one so far: one that is large comes first,
    # and of a shuffled front some design that is near enough comes soon.
    rows = front.T[np.random.default_rng(0).permutation(front.shape[1])]
    largest = _by_pairs(rows, columns(reference, order[:_SAMPLE]))
    left = order[_SAMPLE:][upper[order[_SAMPLE:]] > largest]
    if not len(left):
        return largest
    return max(largest, _by_pairs(rows, columns(reference, np.append(order[:_SAMPLE], left))))


def _by_pairs(rows: FloatArray, reference: FloatArray) -> float:
    return float(moocore.epsilon_mult(rows, ref=np.ascontiguousarray(reference.T)))


def _factors_nearby(front: FloatArray, reference: FloatArray) -> FloatArray:
    """Return (n,) upper bounds of the factors: those of the designs of the front in the same leaf of a k-d tree."""
    leaves, medians = _tree(front)
    leaf = np.zeros(reference.shape[1], dtype=np.int64)
    for level, median in enumerate(medians):
        leaf = 2 * leaf + (reference[level % len(front)] > median[leaf])
    upper = np.empty(len(leaf))
    for start in range(0, len(leaf), _BATCH):
        part = slice(start, start + _BATCH)
        near = leaves[leaf[part]]
        factor = front[0][near] / reference[0][part, None]
        for ours, theirs in zip(front[1:], reference[1:], strict=True):
            np.maximum(factor, ours[near] / theirs[part, None], out=factor)
        upper[part] = factor.min(axis=1)
    return upper


def _tree(front: FloatArray) -> tuple[IntArray, list[FloatArray]]:
    """Return a k-d tree: the (leaves, size) designs of its leaves, and of each level the medians that it splits at."""
    count = front.shape[1]
    depth = max(0, math.ceil(math.log2(count / _LEAF)))
    # The first designs are repeated until all leaves are of one size.
    nodes = np.resize(np.arange(count), (1, math.ceil(count / 2**depth) * 2**depth))
    medians = []
    for level in range(depth):
        values = front[level % len(front)]
        nodes = np.take_along_axis(nodes, np.argsort(values[nodes], axis=1), axis=1)
        half = nodes.shape[1] // 2
        medians.append(values[nodes[:, half - 1]])
        nodes = nodes.reshape(-1, half)
    return nodes, medians
