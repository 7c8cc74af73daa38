"""The convex program behind the best bandwidths of a structure, for a whole population at once.

``T(b) = base + sum_g size[g] * t_g + sum_races count * max(chain 0, chain 1)`` is minimised over ``low <= b <= high``
and linear constraints, where ``t_g = max_d traffic[g, d] / b[d]`` is the time of one byte of a pattern. A price on
bandwidth may be added to the objective: that is how a trade of time against cost is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.workload.training import Race

_PROPORTIONAL = 1e-14


@dataclass(frozen=True)
class BandwidthProgram:
    """One convex program per design.

    Attributes
    ----------
    base : seconds that no bandwidth changes.
    size : (g,) bytes of each pattern, weights of workloads included.
    traffic : (g, d, n) bytes per NPU and dimension, per byte of each pattern.
    price : (d, n) seconds per B/s that bandwidth costs in the objective; mostly 0.
    low, high : (d, n) B/s; `high` may be infinite.
    rows : (k, d, n) coefficients of the linear constraints ``rows . b <= limit``.
    limit : (k, n).
    equality : (k,) which of them are equalities.
    races : overlapped parts of the training loops.
    """

    base: float
    size: FloatArray
    traffic: FloatArray
    price: FloatArray
    low: FloatArray
    high: FloatArray
    rows: FloatArray
    limit: FloatArray
    equality: BoolArray
    races: tuple[Race, ...] = ()

    def __len__(self) -> int:
        return int(self.low.shape[1])

    def select(self, designs: IntArray | BoolArray | slice) -> BandwidthProgram:
        """Return the program of some designs."""
        fields = ("traffic", "price", "low", "high", "rows", "limit")
        return replace(self, **{name: getattr(self, name)[..., designs] for name in fields})

    def pattern_times(self, bandwidth: FloatArray) -> FloatArray:
        """Return the (g, n) seconds of one byte of each pattern; infinite where traffic has no bandwidth."""
        with np.errstate(divide="ignore", invalid="ignore"):
            times = self.traffic / bandwidth
        return np.asarray(np.fmax.reduce(times, axis=1, initial=0.0))

    def chains(self, times: FloatArray) -> FloatArray:
        """Return the (r, 2, n) seconds of both chains of each race."""
        if not self.races:
            return np.empty((0, 2, times.shape[1]))
        return np.stack([np.array(race.compute)[:, None] + _total(race.size, times) for race in self.races])

    def time(self, bandwidth: FloatArray) -> FloatArray:
        """Return (n,) seconds; infinite where a dimension with traffic has no bandwidth."""
        times = self.pattern_times(bandwidth)
        slower = self.chains(times).max(axis=1)
        counts = np.array([race.count for race in self.races], dtype=np.float64)
        return np.asarray(self.base + _total(self.size, times) + counts @ slower)

    def objective(self, bandwidth: FloatArray) -> FloatArray:
        """Return (n,) the time plus the price of the bandwidth."""
        return np.asarray(self.time(bandwidth) + (self.price * bandwidth).sum(axis=0))


def _total(size: FloatArray, times: FloatArray) -> FloatArray:
    """Return ``size @ times``; what has no bytes takes no time, even without bandwidth."""
    if np.isfinite(times).all():
        return np.asarray(size @ times)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(size[..., None] > 0, size[..., None] * times, 0.0).sum(axis=-2))


def only_price(program: BandwidthProgram, price: FloatArray) -> BandwidthProgram:
    """Return the program of the least (d, n) price instead of the least time, under the same box and rows."""
    empty = np.empty((0, *program.low.shape))
    return replace(program, base=0.0, size=np.empty(0), traffic=empty, price=price, races=())


def merged(program: BandwidthProgram) -> BandwidthProgram:
    """Return the same program with fewer patterns: idle ones are left out, proportional ones added up.

    Two patterns merge where their traffic has one ratio in all dimensions of all designs.
    """
    sizes = np.column_stack([program.size, *(race.size.T for race in program.races)])
    kept: list[int] = []
    into = np.zeros((len(program.traffic), len(program.traffic)))
    for g, traffic in enumerate(program.traffic):
        if not traffic.any() or not sizes[g].any():
            continue
        for place, other in enumerate(kept):
            ratio = _ratio(traffic, program.traffic[other])
            if ratio:
                into[place, g] = ratio
                break
        else:
            into[len(kept), g] = 1.0
            kept.append(g)
    into = into[: len(kept)]
    races = tuple(replace(race, size=race.size @ into.T) for race in program.races)
    return replace(program, size=into @ program.size, traffic=program.traffic[kept], races=races)


def _ratio(traffic: FloatArray, other: FloatArray) -> float:
    """Return how often one pattern's traffic is another's, 0 where there is no such number."""
    largest = np.unravel_index(other.argmax(), other.shape)
    ratio = float(traffic[largest] / other[largest])
    return ratio if np.allclose(traffic, ratio * other, rtol=_PROPORTIONAL, atol=0.0) else 0.0


@dataclass(frozen=True)
class Multipliers:
    """Dual variables of a program: they need not be exact, the bound that they give is proven whatever they are.

    Attributes
    ----------
    share : (g, d, n) how much each dimension holds up each pattern; at or above 0.
    rows : (k, n) seconds per unit of each constraint's limit; at or above 0 but for equalities.
    race : (r, n) in 0 to 1, how much the first chain of each race is the longer one.
    """

    share: FloatArray
    rows: FloatArray
    race: FloatArray

    def select(self, designs: IntArray | BoolArray | slice) -> Multipliers:
        """Return those of some designs."""
        return Multipliers(self.share[..., designs], self.rows[..., designs], self.race[..., designs])


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
    names = ("share", "rows", "race")
    return Multipliers(*(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in names))
