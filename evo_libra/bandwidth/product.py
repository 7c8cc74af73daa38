"""The least product of time and cost: LIBRA's perf-per-cost, solved globally although it is not convex.

The least time at a cost is convex in the cost. Minimising ``time + slope * cost`` gives a point of that curve and a
line below all of it, so the product is at least ``cost * max_k (bound_k - slope_k * cost)``. Between two lines that
function is concave: its least value lies where lines cross. Slopes are added where it is least until it meets the best
product found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.bandwidth.solve import only_price, optimal_bandwidth

GOOD_GAP = 1e-9
_ACCURACY = 1e-11
_MAX_ROUNDS = 80
_FIRST_SLOPES = np.array([0.1, 0.5, 1.0, 2.0, 10.0, 100.0])


@dataclass(frozen=True)
class LeastProduct:
    """Bandwidths with the least product of time and cost.

    Attributes
    ----------
    bandwidth : (d, n) B/s.
    time, cost : (n,) seconds and USD; infinite where no bandwidths meet the constraints.
    bound : (n,) USD s that no feasible bandwidths are below.
    """

    bandwidth: FloatArray
    time: FloatArray
    cost: FloatArray
    bound: FloatArray

    def gap(self) -> FloatArray:
        """Return (n,) how far the product may be above the least one, relative to it."""
        product = self.time * self.cost
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(np.isfinite(product), np.maximum(product - self.bound, 0.0) / product, np.inf))


@dataclass
class _Lines:
    """Lines below the curve of least time against cost, (k, n) each: seconds per USD, seconds at no cost."""

    slope: FloatArray
    height: FloatArray

    def add(self, chosen: IntArray, slope: FloatArray, height: FloatArray) -> None:
        row = np.full((2, self.slope.shape[1]), [[0.0], [-np.inf]])
        row[:, chosen] = slope, height
        self.slope, self.height = np.vstack([self.slope, row[:1]]), np.vstack([self.height, row[1:]])


def least_product(program: BandwidthProgram, price: FloatArray) -> LeastProduct:
    """Return the bandwidths of least time times cost of each design.

    Parameters
    ----------
    program : with a budget that forbids bandwidth 0, such as an equality; its own prices must be 0.
    price : (d, n) USD per B/s.
    """
    count = len(program)
    min_cost = _min_cost(program, price)
    fastest = optimal_bandwidth(program, _ACCURACY)
    best = LeastProduct(
        fastest.bandwidth, fastest.objective, (price * fastest.bandwidth).sum(axis=0),
        np.full(count, np.inf),
    )  # fmt: skip
    todo = np.flatnonzero(np.isfinite(fastest.objective))
    best.cost[~np.isfinite(fastest.objective)] = np.inf
    lines = _Lines(np.zeros((1, count)), np.where(np.isfinite(fastest.bound), fastest.bound, -np.inf)[None])
    with np.errstate(divide="ignore", invalid="ignore"):
        start = best.time / best.cost
        _probe(program, price, lines=lines, best=best, chosen=todo, slopes=_FIRST_SLOPES[:, None] * start[todo])
        for _ in range(_MAX_ROUNDS):
            best.bound[todo], slope = _weakest(lines.slope[:, todo], lines.height[:, todo], min_cost[todo])
            product = best.time[todo] * best.cost[todo]
            going = (product - best.bound[todo] > GOOD_GAP * product) & np.isfinite(slope)
            todo, slope = todo[going], slope[going]
            if not len(todo):
                break
            _probe(
                program, price, lines=lines, best=best, chosen=todo,
                slopes=np.stack([best.time[todo] / best.cost[todo], slope]),
            )  # fmt: skip
    return best


def _min_cost(program: BandwidthProgram, price: FloatArray) -> FloatArray:
    """Return (n,) a cost that no feasible bandwidths are below."""
    least = optimal_bandwidth(only_price(program, price)).bound
    return np.asarray(np.maximum(least, (price * program.low).sum(axis=0)))


def _probe(
    program: BandwidthProgram,
    price: FloatArray,
    lines: _Lines,
    best: LeastProduct,
    chosen: IntArray,
    slopes: FloatArray,
) -> None:
    """Minimise time plus each of (k, n) slopes times cost, add the lines that this proves, keep better points."""
    which = np.tile(chosen, len(slopes))
    part = replace(program.select(which), price=slopes.ravel() * price[:, which])
    found = optimal_bandwidth(part, _ACCURACY)
    times, costs = part.time(found.bandwidth), (price[:, which] * found.bandwidth).sum(axis=0)
    for k, slope in enumerate(slopes):
        mine = slice(k * len(chosen), (k + 1) * len(chosen))
        time, cost, height = times[mine], costs[mine], found.bound[mine]
        lines.add(chosen, slope, np.where(np.isfinite(height), height, -np.inf))
        product = best.time[chosen] * best.cost[chosen]
        better = np.flatnonzero(np.isfinite(found.objective[mine]) & (time * cost < product))
        target, source = chosen[better], better + mine.start
        best.bandwidth[:, target], best.time[target] = found.bandwidth[:, source], time[better]
        best.cost[target] = cost[better]


def _weakest(slope: FloatArray, height: FloatArray, min_cost: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (n,) the least product that the lines allow, and a slope between those of the lines that meet there."""
    # The costs at which neighbouring lines cross cut the axis into intervals. Over one interval a line's product is at
    # least its lower end, whichever line it is; so the best line's lower end is a bound there.
    order = np.argsort(-slope, axis=0)
    slope, height = np.take_along_axis(slope, order, axis=0), np.take_along_axis(height, order, axis=0)
    cross = (height[:-1] - height[1:]) / (slope[:-1] - slope[1:])
    cross = np.where(np.isfinite(cross), np.maximum(cross, min_cost), min_cost)
    ends = np.concatenate([min_cost[None], np.sort(cross, axis=0)])
    value = ends[:, None] * (height - slope * ends[:, None])
    lower = np.maximum(np.minimum(value[:-1], value[1:]).max(axis=1), 0.0)
    last = np.where(slope.min(axis=0) == 0, ends[-1] * height[-1], 0.0)
    lower = np.concatenate([lower, last[None]])
    at = lower.argmin(axis=0)
    every = np.arange(len(at))
    # The lower end of that interval is a cost; the lines around it are those that are best on its two sides.
    left, right = at, np.minimum(at + 1, len(ends) - 1)
    where = np.where(value[left, :, every].max(axis=1) <= value[right, :, every].max(axis=1), left, right)
    cost = ends[where, every]
    level = (height - slope * cost).max(axis=0)
    tight = height - slope * cost >= level - _ACCURACY * np.abs(level)
    steep = np.where(tight, slope, -np.inf).max(axis=0)
    flat = np.where(tight, slope, np.inf).min(axis=0)
    flatter = np.where(slope < flat, slope, -np.inf).max(axis=0)
    steeper = np.where(slope > steep, slope, np.inf).min(axis=0)
    between = np.where(
        steep > flat,
        _between(steep, flat),
        np.where(cost > min_cost, _between(steep, flatter), _between(steeper, steep)),
    )
    return lower.min(axis=0), between


def _between(steep: FloatArray, flat: FloatArray) -> FloatArray:
    flat = np.where(np.isfinite(flat), np.maximum(flat, 0.0), 0.0)
    steep = np.where(np.isfinite(steep), steep, 16.0 * flat)
    return np.asarray(np.where(flat > 0, np.sqrt(steep * flat), 0.25 * steep))
