"""Two traffic patterns, caps, floors and one budget: the best bandwidths in closed form where floors matter.

In the rates ``s_g`` (bytes per second of a pattern) bandwidth is ``b_d = max(low_d, max_g traffic[g, d] * s_g)``. The
budget leaves a curve of straight lines in the plane of both rates: a line ends where a dimension passes from its
floor to a pattern, or from one pattern to the other. Time is convex along the curve, so the best point is the best end
of a line, or lies on one of the two lines that meet there, where it is a square root.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.bandwidth.program import BandwidthProgram

_TIE = 1e-12
"""Relative difference of what is equal but for rounding."""

_LONGEST = np.finfo(np.float64).max
_PATTERNS = 2


def with_floors(program: BandwidthProgram) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (d, n) bandwidths, and what proves them: (2, d, n) shares of dimensions, (n,) seconds per unit of budget.

    The program must be one that `closed_form` admits. Bandwidths are beyond the budget where the floors are.
    """
    lacking = _PATTERNS - len(program.traffic)
    traffic = np.concatenate([program.traffic, np.zeros((lacking, *program.low.shape))])
    size = np.concatenate([program.size, np.zeros((lacking, program.size.shape[1]))])
    traffic = np.where((size > 0)[:, None], traffic, 0.0)
    size = np.where(traffic.any(axis=1), size, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        cap = np.where(traffic > 0, program.high / traffic, np.inf).min(axis=1)
        rate = _best_rates(program, traffic, size, cap)
        bandwidth = np.clip((traffic * rate[:, None]).max(axis=0), program.low, program.high)
        share, pressure = _proof(program, traffic, size, rate, bandwidth)
    return bandwidth, share, pressure


def _best_rates(program: BandwidthProgram, traffic: FloatArray, size: FloatArray, cap: FloatArray) -> FloatArray:
    """Return the (2, n) rates of least time; 0 of a pattern without traffic or bytes."""
    alone = [np.minimum(_level(program, program.low, each), most) for each, most in zip(traffic, cap, strict=True)]
    alive = size > 0
    rate = np.where(alive, alone, 0.0)
    both = np.flatnonzero(alive.all(axis=0))
    if len(both):
        rate[:, both] = _best_pair(program.select(both), traffic[..., both], size[:, both], cap[:, both])
    return np.where(np.isnan(rate), 0.0, rate)


def _level(program: BandwidthProgram, base: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the largest t at which ``max(base, slope * t)`` is within the budget, NaN where none is.

    `base` and `slope` are (d, ..., n), the result (..., n).
    """
    between = (slice(None), *[None] * (base.ndim - 2))
    price, limit = program.rows[0][between], program.limit[0]
    rises = np.where(slope > 0, base / slope, np.inf)
    within = np.empty(rises.shape, dtype=np.bool_)
    for d, at in enumerate(rises):
        needed = np.maximum(base, np.where(slope > 0, slope * at, 0.0))
        within[d] = (slope[d] > 0) & ((price * needed).sum(axis=0) <= limit * (1.0 + _TIE))
    rest = limit - (price * np.where(within, 0.0, base)).sum(axis=0)
    level = np.maximum(rest / (price * slope * within).sum(axis=0), np.where(within, rises, 0.0).max(axis=0))
    return np.asarray(np.where(within.any(axis=0), level, np.nan))


def _best_pair(program: BandwidthProgram, traffic: FloatArray, size: FloatArray, cap: FloatArray) -> FloatArray:
    """Return the (2, n) rates of least time where both patterns count."""
    ends = _ends(program, traffic, cap)
    seconds = _seconds(size[:, None], ends)
    every = np.arange(seconds.shape[1])
    # If a rate is 0 at both ends of the only line, either will do.
    start = np.where(np.isnan(ends[0]), np.inf, np.minimum(seconds, _LONGEST)).argmin(axis=0)
    best, least = ends[:, start, every], seconds[start, every]
    found = best
    for side in (-1.0, 1.0):
        # The nearest other end on each side, where a rate may be 0.
        away = side * (ends[0] - best[0])
        away = np.where(away > _TIE * np.maximum(ends[0], best[0]), away, np.inf)
        other = ends[:, away.argmin(axis=0), every]
        point = _on_line(program, traffic, size, best, other)
        inside = (point > np.minimum(best, other)) & (point < np.maximum(best, other))
        taken = np.where(inside.all(axis=0) & np.isfinite(away.min(axis=0)), _seconds(size, point), np.inf)
        found = np.where(taken < least, point, found)
        least = np.minimum(taken, least)
    return found


def _seconds(size: FloatArray, rate: FloatArray) -> FloatArray:
    """Return the time of rates (2, ..., n); infinite where there is none."""
    seconds = (size / rate).sum(axis=0)
    return np.asarray(np.where((rate > 0).all(axis=0) & np.isfinite(seconds), seconds, np.inf))


def _ends(program: BandwidthProgram, traffic: FloatArray, cap: FloatArray) -> FloatArray:
    """Return (2, k, n) rates at the ends of all lines; NaN where there is none, or a cap is below it."""
    low, (first, second) = program.low, traffic
    found = []
    for mine, other, most, limit in ((first, second, *cap), (second, first, *cap[::-1])):
        largest = np.minimum(_level(program, low, mine), most)
        leaves = np.where(mine > 0, low / mine, np.nan)
        rate = np.concatenate([np.where(leaves < largest, leaves, np.nan), largest[None]])
        base = np.maximum(low[:, None], mine[:, None] * rate)
        left = np.minimum(_level(program, base, np.broadcast_to(other[:, None], base.shape)), limit)
        found.append((rate, left))
    ratio = np.where((first > 0) & (second > 0), first / second, np.nan)
    slope = np.maximum(first[:, None], second[:, None] * ratio)
    passes = _level(program, np.broadcast_to(low[:, None], slope.shape), slope)
    (rate, left), (right, back) = found
    ends = np.stack([np.concatenate([rate, back, passes]), np.concatenate([left, right, passes * ratio])])
    return np.where((ends <= cap[:, None] * (1.0 + _TIE)).all(axis=0), ends, np.nan)


def _on_line(
    program: BandwidthProgram, traffic: FloatArray, size: FloatArray, start: FloatArray, end: FloatArray
) -> FloatArray:
    """Return the (2, n) rates of least time on the line through two of its ends, which may lie beyond them."""
    price, wish = program.rows[0], traffic * (0.5 * (start + end))[:, None]
    mine = (wish > program.low) & (wish >= wish.max(axis=0))
    rest = program.limit[0] - (price * program.low * ~mine.any(axis=0)).sum(axis=0)
    per_rate = (price * traffic * mine).sum(axis=1)
    return np.asarray(np.sqrt(size / per_rate) * rest / np.sqrt(size * per_rate).sum(axis=0))


def _proof(
    program: BandwidthProgram, traffic: FloatArray, size: FloatArray, rate: FloatArray, bandwidth: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the multipliers of best rates: (2, d, n) shares of the dimensions, (n,) seconds per unit of the budget.

    At the optimum the seconds of a pattern are what it spends, times the seconds per unit. A dimension of one pattern
    spends all of its money for it, one of two patterns for either. One at its floor spends any part of it, and one at
    its cap holds up its pattern without money.
    """
    money = program.rows[0] * bandwidth
    seconds = np.where(rate > 0, size / rate, 0.0)
    tight = (traffic > 0) & (traffic * rate[:, None] >= bandwidth * (1.0 - _TIE))
    full = tight & (bandwidth >= program.high * (1.0 - _TIE))
    lowest = bandwidth <= program.low * (1.0 + _TIE)
    shared = tight.all(axis=0) & ~lowest
    own, floor = tight & ~(shared | lowest), tight & lowest
    spent, spare = (money * own).sum(axis=1), (money * floor).sum(axis=1)
    capped, common = np.asarray(full.any(axis=1)), (money * shared).sum(axis=0)
    most = np.where(capped, np.inf, spent + spare + common)
    together = np.where(capped.any(axis=0), np.inf, (spent + spare).sum(axis=0) + common)
    pressure = np.fmax(np.fmax.reduce(seconds / most, axis=0), seconds.sum(axis=0) / together)
    rest, pool = seconds - pressure * spent, pressure * common
    needed = np.where(capped, -np.inf, rest - pressure * spare)
    part = np.clip(np.maximum(needed[0], pool - rest[1]), 0.0, pool)
    parts = np.stack([part, pool - part])
    weight = np.where(capped[:, None], full * 1.0, money * floor)
    extra = np.maximum(rest - parts, 0.0)
    share = pressure * money * own
    share += _portions(parts, money * shared) + _portions(extra, weight)
    return share / np.where(seconds > 0, seconds, 1.0)[:, None], pressure


def _portions(amount: FloatArray, weight: FloatArray) -> FloatArray:
    """Return (2, n) amounts parted over the dimensions in proportion to weights (d, n) or (2, d, n)."""
    whole = weight.sum(axis=-2, keepdims=True)
    return np.asarray(amount[:, None] * np.divide(weight, whole, out=np.zeros_like(weight), where=whole > 0))
