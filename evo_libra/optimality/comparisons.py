"""Objectives of designs against those of others: which of them others beat, and by which factor."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.front.archive import pareto_filter

SAME = 1e-9
"""Relative difference of figures that are equal but for rounding."""

_COMPARED = 4_000_000
"""Pairs of designs that are compared at a time."""

_DIGITS = 12
_PAIR = 2


def reached(values: FloatArray, by: FloatArray) -> np.ndarray:
    """Return (n,) whether one of (m, k) designs is as good as each of (m, n)."""
    step = max(_COMPARED // max(by.shape[1], 1), 1)
    parts = [
        (by[:, :, None] <= values[:, None, start : start + step] * (1.0 + SAME)).all(axis=0).any(axis=0)
        for start in range(0, values.shape[1], step)
    ]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *parts])


def factors(mine: FloatArray, best: FloatArray) -> FloatArray:
    """Return (n,) the largest factor by which one of (m, k) designs, as good in all else, is better in an objective."""
    found, step = np.ones(mine.shape[1]), max(_COMPARED // max(best.shape[1], 1), 1)
    for start in range(0, mine.shape[1], step):
        some = mine[:, start : start + step]
        worse = best[:, :, None] > some[:, None, :] * (1.0 + SAME)
        for objective, values in enumerate(best):
            as_good = ~np.delete(worse, objective, axis=0).any(axis=0)
            least = np.where(as_good, values[:, None], np.inf).min(axis=0, initial=np.inf)
            part = found[start : start + step]
            np.maximum(part, some[objective] / least, out=part)
    return np.where(found <= 1.0 + SAME, 1.0, found)  # designs of that difference count as the same


def rounded(values: FloatArray) -> FloatArray:
    """Return figures in 12 digits, so that sums in another order are equal."""
    scale = 10.0 ** (_DIGITS - np.ceil(np.log10(values)))
    return np.asarray(np.rint(values * scale) / scale)


def beaten(values: FloatArray, best: FloatArray) -> BoolArray:
    """Return (n,) whether one of (m, k) designs is as good in each of (m, n) objectives, or some are infinite."""
    hopeless = np.asarray(~np.isfinite(values).all(axis=0))
    if not best.shape[1]:
        return hopeless
    if len(values) == _PAIR:
        order = np.lexsort(best[::-1])
        place = np.searchsorted(best[0, order], values[0], side="right") - 1
        lowest = np.minimum.accumulate(best[1, order])[np.maximum(place, 0)]
        return np.asarray(hopeless | ((place >= 0) & (lowest <= values[1])))
    hopeless |= ~pareto_filter(best).passes(values)
    left = np.flatnonzero(~hopeless)
    step = max(_COMPARED // best.shape[1], 1)
    for start in range(0, len(left), step):
        mine = left[start : start + step]
        hopeless[mine] = (best[:, :, None] <= values[:, None, mine]).all(axis=0).any(axis=0)
    return hopeless
