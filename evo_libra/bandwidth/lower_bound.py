"""The proof: a lower bound of a program, computed in doubles from any multipliers."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers

_TINY = 1e-300
_EPS = 16 * 2.0**-53


def legal(program: BandwidthProgram, multipliers: Multipliers) -> Multipliers:
    """Return multipliers with their signs and sums made right, which the bound needs."""
    carries = program.traffic > 0
    share = np.maximum(multipliers.share, 0.0)
    share *= carries
    total = share.sum(axis=1, keepdims=True)
    if not (total > 0).all():
        share += carries * (total <= 0)
        total = np.maximum(share.sum(axis=1, keepdims=True), _TINY)
    share /= total
    rows = np.where(program.equality[:, None], multipliers.rows, np.maximum(multipliers.rows, 0.0))
    return Multipliers(share, rows, np.clip(multipliers.race, 0.0, 1.0))


def weights(program: BandwidthProgram, race: FloatArray) -> tuple[FloatArray | float, FloatArray]:
    """Return (n,) base and (g, n) bytes of the program in which each race is a fixed mixture of its chains."""
    base: FloatArray | float = program.base
    size = program.size[:, None]
    for term, first in zip(program.races, race, strict=True):
        for chain, part in enumerate((first, 1.0 - first)):
            base = base + term.count * part * term.compute[chain]
            size = size + term.count * part * term.size[chain][:, None]
    return base, size


def lower_bound(program: BandwidthProgram, multipliers: Multipliers) -> FloatArray:
    """Return (n,) a value that no feasible bandwidths are below (Lagrangian dual).

    For shares that sum to 1 in each pattern, ``alpha = sum_g size * share * traffic`` and ``q = price + rows^T mu``:
    ``T >= base + sum_d min_{low <= b <= high} (alpha_d / b + q_d b) - mu . limit``; a race is at least any mixture of
    its two chains. The multipliers are made legal first, so that the bound holds for any.
    """
    multipliers = legal(program, multipliers)
    base, alpha = _work(program, multipliers)
    slope, terms = program.price, np.abs(program.price)
    for row, pressure in zip(program.rows, multipliers.rows, strict=True):
        slope, terms = slope + row * pressure, terms + np.abs(row * pressure)
    slope = slope - _EPS * terms
    inner = _least(alpha, slope, program.low, program.high)
    if not np.isfinite(inner).all():
        inner = _least(alpha, slope, program.low, np.minimum(program.high, _implied(program)))
        inner = np.where(np.isnan(inner), -np.inf, inner)
    relief = multipliers.rows * program.limit
    error = _EPS * (np.abs(base) + np.abs(inner).sum(axis=0) + np.abs(relief).sum(axis=0))
    return np.asarray(base + inner.sum(axis=0) - relief.sum(axis=0) - error)


def _least(alpha: FloatArray, slope: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the least ``alpha / b + slope * b`` in the box; not finite where nothing bounds it from below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = alpha / slope
        if not (slope > 0).all():
            best = np.where(slope > 0, best, np.inf)
        np.sqrt(best, out=best)
        np.minimum(best, high, out=best)
        np.maximum(best, low, out=best)
        np.maximum(best, _TINY, out=best)
        # Where alpha is 0, sqrt(0 / 0) must not count: any bandwidth costs nothing there.
        inner = alpha / best + slope * best
        return np.where(np.isinf(best) & (slope == 0), 0.0, inner) if np.isinf(best).any() else inner


def _implied(program: BandwidthProgram) -> FloatArray:
    """Return (d, n) caps that follow from rows without a negative coefficient: one dimension takes the whole limit."""
    reach = np.full(program.low.shape, np.inf)
    for row, limit in zip(program.rows, program.limit, strict=True):
        usable = (row >= 0).all(axis=0) & (limit >= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.fmin(reach, np.where(usable & (row > 0), limit / row, np.inf))
    return np.asarray(np.maximum(reach, program.low))


def hyperbola(program: BandwidthProgram, multipliers: Multipliers, price: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (n,) base and kappa so that whatever the budget, time is at least ``base + kappa / budget``.

    ``sum_d alpha_d / b_d`` under ``sum_d price_d * b_d <= budget`` is at least ``(sum_d sqrt(alpha_d price_d))^2 /
    budget``. Like `lower_bound` it holds for any multipliers; caps and linear constraints can only raise the time.
    """
    base, alpha = _work(program, legal(program, multipliers))
    below = 1.0 - _EPS
    return np.broadcast_to(base * below, len(program)).copy(), below * np.sqrt(alpha * price).sum(axis=0) ** 2


def slopes(program: BandwidthProgram, multipliers: Multipliers, bandwidth: FloatArray) -> FloatArray:
    """Return (d, n) seconds per B/s that the objective falls by where a bandwidth grows, the rows paid for.

    At the optimum it is 0 inside the box; what is left at a cap or a floor is the price of that.
    """
    multipliers = legal(program, multipliers)
    _, alpha = _work(program, multipliers)
    paid = program.price + (multipliers.rows[:, None] * program.rows).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(bandwidth > 0, alpha / bandwidth**2, 0.0) - paid)


def _work(program: BandwidthProgram, multipliers: Multipliers) -> tuple[FloatArray | float, FloatArray]:
    """Return (n,) seconds and (d, n) bytes of which time is at least ``base + sum_d alpha_d / b_d``."""
    base, size = weights(program, multipliers.race)
    alpha = np.zeros(program.low.shape)
    for bytes_, share, traffic in zip(size, multipliers.share, program.traffic, strict=True):
        alpha += bytes_ * share * traffic
    return base, alpha


def ascend(program: BandwidthProgram, price: FloatArray, steps: int) -> Multipliers:
    """Return multipliers near those of a budget alone, by multiplicative ascent: what is slowest carries more.

    Rows have the multiplier 0. Good enough to tell which designs are worth solving, at a tenth of the price.
    """
    chains = program.chains(program.traffic.max(axis=1, initial=0.0) / max(float(program.high.max(initial=0.0)), _TINY))
    race = (chains[:, 0] >= chains[:, 1]).astype(np.float64)
    _, size = weights(program, race)
    share = program.traffic / np.maximum(program.traffic.sum(axis=1, keepdims=True), _TINY)
    sent, expensive = size[:, None] * program.traffic, program.traffic**2 * price
    for _ in range(steps):
        alpha = np.einsum("gdn,gdn->dn", sent, share)
        share *= expensive
        share *= np.divide(1.0, alpha, out=np.zeros_like(alpha), where=alpha > 0)
        share /= np.maximum(np.einsum("gdn->gn", share), _TINY)[:, None]
    return Multipliers(share, np.zeros(program.limit.shape), race)
