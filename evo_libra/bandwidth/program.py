"""The convex program behind the best bandwidths of a combination, for a whole population at once.

``T(b) = base + sum_g size[g] * t_g + sum_races max(chains)`` is minimised over ``low <= b <= high`` and linear
constraints, where ``t_g = max_d traffic[g, d] / b[d]`` is the time of one byte of a pattern. A price on
bandwidth may be added to the objective: that is how a trade of time against cost is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, chosen, columns_or_shared
from evo_libra.bandwidth.chains import NO_CHAINS, Chains, total


@dataclass(frozen=True)
class BandwidthProgram:
    """One convex program per design.

    The last axis of what the workloads give (`base`, `size` and `chains`) has length 1 where all designs share it.

    Attributes
    ----------
    base : (n,) seconds that no bandwidth changes.
    size : (g, n) bytes of each pattern, weights of workloads included.
    traffic : (g, d, n) bytes per NPU and dimension, per byte of each pattern.
    price : (d, n) seconds per B/s that bandwidth costs in the objective; mostly 0.
    low, high : (d, n) B/s; `high` may be infinite.
    rows : (k, d, n) coefficients of the linear constraints ``rows . b <= limit``.
    limit : (k, n).
    equality : (k,) which of them are equalities.
    chains : those of the overlaps: overlapped parts of the training loops, with any number of chains each.
    """

    base: FloatArray
    size: FloatArray
    traffic: FloatArray
    price: FloatArray
    low: FloatArray
    high: FloatArray
    rows: FloatArray
    limit: FloatArray
    equality: BoolArray
    chains: Chains = NO_CHAINS

    def __len__(self) -> int:
        return int(self.low.shape[1])

    def select(self, designs: IntArray | BoolArray | slice) -> BandwidthProgram:
        """Return the program of some designs."""
        fields = ("traffic", "price", "low", "high", "rows", "limit")
        return replace(
            self, base=columns_or_shared(self.base, designs), size=columns_or_shared(self.size, designs),
            chains=self.chains.select(designs), **{name: chosen(getattr(self, name), designs) for name in fields},
        )  # fmt: skip

    def pattern_times(self, bandwidth: FloatArray) -> FloatArray:
        """Return the (g, n) seconds of one byte of each pattern; infinite where traffic has no bandwidth."""
        with np.errstate(divide="ignore", invalid="ignore"):
            times = self.traffic / bandwidth
        return np.asarray(np.fmax.reduce(times, axis=1, initial=0.0))

    def time(self, bandwidth: FloatArray) -> FloatArray:
        """Return (n,) seconds; infinite where a dimension with traffic has no bandwidth."""
        times = self.pattern_times(bandwidth)
        longest = self.chains.seconds(times).max(axis=1)
        return np.asarray(self.base + total(self.size, times) + longest.sum(axis=0))

    def objective(self, bandwidth: FloatArray) -> FloatArray:
        """Return (n,) the time plus the price of the bandwidth."""
        return np.asarray(self.time(bandwidth) + (self.price * bandwidth).sum(axis=0))


@dataclass(frozen=True)
class Multipliers:
    """Dual variables of a program: they need not be exact, the bound that they give is proven whatever they are.

    Attributes
    ----------
    share : (g, d, n) how much each dimension holds up each pattern; at or above 0.
    rows : (k, n) seconds per unit of each constraint's limit; at or above 0 but for equalities.
    race : (r, k, n) how much each chain holds up its overlap; at or above 0, and 0 for chains that are not there.
    """

    share: FloatArray
    rows: FloatArray
    race: FloatArray

    def select(self, designs: IntArray | BoolArray | slice) -> Multipliers:
        """Return those of some designs."""
        return Multipliers(self.share[..., designs], self.rows[..., designs], self.race[..., designs])

    def put(self, designs: IntArray, part: Multipliers) -> None:
        """Replace those of some designs."""
        self.share[..., designs], self.rows[..., designs], self.race[..., designs] = part.share, part.rows, part.race


@dataclass(frozen=True)
class Optimum:
    """Best bandwidths of a population.

    Attributes
    ----------
    bandwidth : (d, n) B/s; meets box and constraints to rounding.
    objective : (n,) seconds, evaluated from the bandwidths; infinite where none were found.
    bound : (n,) seconds, no feasible bandwidths can have less; proven from the multipliers in doubles.
    multipliers : what proves the bound.
    """

    bandwidth: FloatArray
    objective: FloatArray
    bound: FloatArray
    multipliers: Multipliers

    def gap(self) -> FloatArray:
        """Return (n,) how far the objective may be above the optimum, relative to it; infinite without bandwidths."""
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.maximum(self.objective - self.bound, 0.0)
            gap = np.where(over == 0, 0.0, over / np.abs(self.objective))
        return np.asarray(np.where(np.isnan(gap), np.inf, gap))

    def select(self, designs: IntArray | BoolArray | slice) -> Optimum:
        """Return those of some designs."""
        return Optimum(
            self.bandwidth[:, designs], self.objective[designs], self.bound[designs], self.multipliers.select(designs)
        )


def joined(parts: Sequence[Optimum]) -> Optimum:
    """Return the optima of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    return Optimum(
        np.concatenate([part.bandwidth for part in parts], axis=1),
        np.concatenate([part.objective for part in parts]),
        np.concatenate([part.bound for part in parts]),
        joined_multipliers([part.multipliers for part in parts]),
    )


def joined_multipliers(parts: Sequence[Multipliers]) -> Multipliers:
    """Return the multipliers of all parts, in their order."""
    rows = zip(*((part.share, part.rows, part.race) for part in parts), strict=True)
    return Multipliers(*(np.concatenate(arrays, axis=-1) for arrays in rows))


_TINY = 1e-300
_EPS = 16 * 2.0**-53


def legal(program: BandwidthProgram, multipliers: Multipliers) -> Multipliers:
    """Return multipliers with their signs and sums made right, which the bound needs."""
    share = _shares(multipliers.share, program.traffic > 0)
    rows = np.where(program.equality[:, None], multipliers.rows, np.maximum(multipliers.rows, 0.0))
    return Multipliers(share, rows, _shares(multipliers.race, program.chains.present))


def _shares(wish: FloatArray, allowed: BoolArray) -> FloatArray:
    """Return shares that sum to 1 over the second axis, 0 where not allowed; equal ones where no wish is above 0."""
    share = np.maximum(wish, 0.0)
    share *= allowed
    whole = share.sum(axis=1, keepdims=True)
    if not (whole > 0).all():
        share += allowed * (whole <= 0)
        whole = np.maximum(share.sum(axis=1, keepdims=True), _TINY)
    share /= whole
    return share


def weights(program: BandwidthProgram, race: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (n,) base and (g, n) bytes of the program in which each overlap is a fixed mixture of its chains."""
    if not len(program.chains):
        return program.base, program.size
    # Chains take no time below 0: shares that are a little less make up for the rounding of all sums over them.
    base, size = program.chains.mixed(race * (1.0 - _EPS * math.prod(program.chains.shape)))
    return program.base + base, program.size + size


def lower_bound(program: BandwidthProgram, multipliers: Multipliers) -> FloatArray:
    """Return (n,) a value that no feasible bandwidths are below (Lagrangian dual).

    For shares that sum to 1 in each pattern, ``alpha = sum_g size * share * traffic`` and ``q = price + rows^T mu``:
    ``T >= base + sum_d min_{low <= b <= high} (alpha_d / b + q_d b) - mu . limit``; an overlap is at least any mixture
    of its chains. The multipliers are made legal first, so that the bound holds for any.
    """
    multipliers = legal(program, multipliers)
    base, alpha = _work(program, multipliers)
    slope, terms = program.price, np.abs(program.price)
    for row, pressure in zip(program.rows, multipliers.rows, strict=True):
        slope, terms = slope + row * pressure, terms + np.abs(row * pressure)
    slope = slope - _EPS * terms
    inner = _inner_minimum(alpha, slope, program.low, program.high)
    if not np.isfinite(inner).all():
        inner = _inner_minimum(alpha, slope, program.low, np.minimum(program.high, _implied(program)))
        inner = np.where(np.isnan(inner), -np.inf, inner)
    relief = multipliers.rows * program.limit
    error = _EPS * (np.abs(base) + np.abs(inner).sum(axis=0) + np.abs(relief).sum(axis=0))
    return np.asarray(base + inner.sum(axis=0) - relief.sum(axis=0) - error)


def _inner_minimum(alpha: FloatArray, slope: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the least ``alpha / b + slope * b`` in the box; not finite where nothing bounds it from below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = alpha / slope
        if not (slope > 0).all():
            best = np.where(slope > 0, best, np.inf)
        np.sqrt(best, out=best)
        np.minimum(best, high, out=best)
        np.maximum(best, low, out=best)
        np.maximum(best, _TINY, out=best)
        # If alpha is 0, sqrt(0 / 0) must not count: any bandwidth costs nothing there.
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


def _work(program: BandwidthProgram, multipliers: Multipliers) -> tuple[FloatArray, FloatArray]:
    """Return (n,) seconds and (d, n) bytes: time is at least ``base + sum_d alpha_d / b_d``."""
    base, size = weights(program, multipliers.race)
    alpha = np.zeros(program.low.shape)
    for bytes_, share, traffic in zip(size, multipliers.share, program.traffic, strict=True):
        alpha += bytes_ * share * traffic
    return base, alpha


def ascend(program: BandwidthProgram, price: FloatArray, steps: int) -> Multipliers:
    """Return multipliers near those of a budget alone, by multiplicative ascent: what is slowest carries more.

    Rows have the multiplier 0. Good enough to tell which designs to solve, at a tenth of the price.
    """
    times = program.traffic.max(axis=1, initial=0.0) / max(float(program.high.max(initial=0.0)), _TINY)
    race = program.chains.longest(times)
    _, size = weights(program, race)
    share = program.traffic / np.maximum(program.traffic.sum(axis=1, keepdims=True), _TINY)
    sent, expensive = size[:, None] * program.traffic, program.traffic**2 * price
    for _ in range(steps):
        alpha = np.einsum("gdn,gdn->dn", sent, share)
        share *= expensive
        share *= np.divide(1.0, alpha, out=np.zeros_like(alpha), where=alpha > 0)
        share /= np.maximum(np.einsum("gdn->gn", share), _TINY)[:, None]
    return Multipliers(share, np.zeros(program.limit.shape), race)
