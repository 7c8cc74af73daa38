"""Quality of a front, on log10 axes: designs differ by factors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import moocore
import numpy as np

from evo_libra.arrays import FloatArray, IntArray, columns

REFERENCE = 1.1
_POINT = 1e-9
_SPLIT_OBJECTIVES = 4
_MANY = 8192
_SPLITS = 2


def scaled(objectives: FloatArray, ideal: FloatArray, nadir: FloatArray) -> FloatArray:
    """Return (m, k) log10 of objectives above 0, scaled to 0 at the (m,) ideal point and 1 at the nadir."""
    low, high = np.log10(ideal)[:, None], np.log10(nadir)[:, None]
    # A front of one point has no extent but for rounding.
    return np.asarray((np.log10(objectives) - low) / np.where(high - low > _POINT, high - low, 1.0))


def hypervolume(objectives: FloatArray, ideal: FloatArray, nadir: FloatArray) -> float:
    """Return the hypervolume of (m, k) `scaled` objectives; the reference point is 1.1 in each, and more is better."""
    points = scaled(objectives, ideal, nadir)
    inside = points[:, (points < REFERENCE).all(axis=0)]
    if not inside.shape[1]:
        return 0.0
    return _volume(np.ascontiguousarray(inside.T), np.full(len(ideal), REFERENCE), _SPLITS)


def _volume(rows: FloatArray, reference: FloatArray, splits: int) -> float:
    """Return the hypervolume of (k, m) points, that of many in four objectives or more as the sum of two halves."""
    if rows.shape[1] < _SPLIT_OBJECTIVES or len(rows) < _MANY or not splits:
        return float(moocore.hypervolume(rows, ref=reference))
    axis = splits % rows.shape[1]
    middle = float(np.median(rows[:, axis]))
    end = np.where(np.arange(len(reference)) == axis, middle, reference)
    # In the upper half points of the lower half begin at the middle, and most of them are dominated there.
    above = rows.copy()
    np.maximum(above[:, axis], middle, out=above[:, axis])
    above = above[moocore.is_nondominated(above)]
    return _volume(rows[rows[:, axis] < middle], end, splits - 1) + _volume(above, reference, splits - 1)


def igd_plus(objectives: FloatArray, reference: FloatArray, ideal: FloatArray, nadir: FloatArray) -> float:
    """Return IGD+ (Ishibuchi et al. 2015): how far a front is on average from the (m, r) points of a better one.

    Objectives are `scaled`; the distance of a front without designs is infinite.
    """
    if not objectives.shape[1]:
        return math.inf
    return float(moocore.igd_plus(_rows(objectives, ideal, nadir), _rows(reference, ideal, nadir)))


def additive_epsilon(objectives: FloatArray, reference: FloatArray, ideal: FloatArray, nadir: FloatArray) -> float:
    """Return by how much a front must improve in every `scaled` objective to be nowhere worse than a reference.

    Without designs the result is infinite.
    """
    if not objectives.shape[1]:
        return math.inf
    return float(moocore.epsilon_additive(_rows(objectives, ideal, nadir), _rows(reference, ideal, nadir)))


def _rows(objectives: FloatArray, ideal: FloatArray, nadir: FloatArray) -> FloatArray:
    return np.ascontiguousarray(scaled(objectives, ideal, nadir).T)


QUARTILES = (25, 50, 75)
_NOWHERE = 1e300


def attainment_surfaces(fronts: Sequence[FloatArray], percentages: Sequence[int] = QUARTILES) -> list[FloatArray]:
    """Return the surfaces that at least some percentage of the fronts attains (Grunert da Fonseca et al. 2001).

    A point is attained by a front that has a design no worse in every objective. The fronts are (m, k_i), m is 2 or 3;
    an empty front counts, too. A surface is its (m, k) corners, the first objective ascending; it has none where that
    share attains nothing.
    """
    objectives = len(fronts[0])
    # A search that found nothing attains a point that no other attains.
    sets = [front if front.shape[1] else np.full((objectives, 1), _NOWHERE) for front in fronts]
    points = np.concatenate(sets, axis=1).T
    owner = np.repeat(np.arange(len(sets)), [front.shape[1] for front in sets])
    found = moocore.eaf(np.ascontiguousarray(points), owner, percentiles=list(percentages))
    surfaces = [found[found[:, -1] == percentage, :-1].T for percentage in percentages]
    kept = [surface[:, (surface < _NOWHERE).all(axis=0)] for surface in surfaces]
    return [surface[:, np.lexsort(surface[::-1])] for surface in kept]


def staircase(corners: FloatArray, worst: FloatArray) -> FloatArray:
    """Return the (2, s) line that bounds the region that a surface of two objectives attains.

    The line begins at the worst value of the second objective, and ends at that of the first.
    """
    if not corners.shape[1]:
        return np.empty((2, 0))
    first, second = corners
    across = np.append(np.repeat(first, 2), max(worst[0], first[-1]))
    up = np.insert(np.repeat(second, 2), 0, max(worst[1], second[0]))
    return np.stack([across, up])


_LEAF = 32
"""Designs of a front that are near each other."""
_SAMPLE = 64
"""Designs of the reference that are asked for first."""
_BATCH = 2048


def largest_factor(front: FloatArray, reference: FloatArray) -> float:
    """Return the factor by which a front would have to be better to weakly dominate the reference.

    This is the multiplicative epsilon indicator (Zitzler et al. 2003) of (m, k) and (m, n) values above 0: the max over
    r of the min over p of the max over i of p[i] / r[i]. It is exact without a comparison of all pairs of designs.
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
