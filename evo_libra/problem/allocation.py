"""Best bandwidths of a network: the record, the limits that hold them back, and the baseline of equal bandwidths."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, Population
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers, slopes
from evo_libra.problem.constraints import Constraint, linear_rows
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem

_BINDING = 1e-6
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Binding:
    """A limit that holds the optimum back.

    Attributes
    ----------
    limit : the constraint as written, or the cap or floor of a dimension.
    quantity : ``bandwidth``, or the objective that is limited.
    price : seconds saved per B/s, USD or W that the limit is loosened by; where a product is minimised, its change over
        the cost.
    loosened_by : ``raising``, or ``lowering`` for a limit that asks for bandwidth; an equality is raised, and its price
        may be below 0.
    """

    limit: str
    quantity: str
    price: float
    loosened_by: str


@dataclass(frozen=True)
class EqualSplit:
    """The best feasible design with one bandwidth (B/s per NPU) in all dimensions, its time in s and cost in USD."""

    bandwidth: float
    time: float
    cost: float


@dataclass(frozen=True)
class Allocation:
    """The best bandwidths of a network.

    Attributes
    ----------
    status : ``optimal``, or ``unbounded`` where nothing holds bandwidth back, with the `reason`.
    design : the network in the notation; `network` is the same as arrays, with technologies chosen.
    bandwidth : (d,) B/s per NPU, innermost dimension first.
    time, cost : seconds, USD.
    bound : no feasible bandwidths have less time (or time times cost) than this; `gap` is the distance to it.
    binding : the limits that hold it back, with shadow prices.
    exchange : USD that one second is worth at the optimum of time times cost; None for time.
    equal : the best design of the same network whose dimensions all have the same bandwidth, within the same limits;
        None where there is none.
    """

    status: str
    reason: str
    design: str
    bandwidth: FloatArray
    time: float
    cost: float
    bound: float
    gap: float
    binding: tuple[Binding, ...]
    exchange: float | None
    equal: EqualSplit | None
    network: Population

    @property
    def speedup(self) -> float | None:
        """Speedup over the equal split; None where there is no such design."""
        return None if self.equal is None else self.equal.time / self.time

    @property
    def performance_per_cost(self) -> float | None:
        """Gain in performance per USD over the equal split; None where there is no such design."""
        return None if self.equal is None else self.equal.time * self.equal.cost / (self.time * self.cost)


def bindings_of(
    problem: Problem, design: Topologies, program: BandwidthProgram, bandwidth: FloatArray, multipliers: Multipliers
) -> tuple[Binding, ...]:
    """Return the limits that hold (d,) bandwidths of one design back.

    The multipliers of the program price its rows, and the rest of the stationarity prices the box.
    """
    linear = [constraint for constraint, _ in linear_rows(problem.constraints, design)]
    rows = multipliers.rows[:, 0]
    work = float((program.size * program.pattern_times(bandwidth[:, None])).sum()) or 1.0
    prices = dict[Constraint, float]()
    for constraint, pressure, row in zip(linear, rows, program.rows[..., 0], strict=True):
        if abs(pressure) * float(np.abs(row * bandwidth).max()) > _BINDING * work:
            # A constraint of several rows is loosened in all of them.
            prices[constraint] = prices.get(constraint, 0.0) + float(pressure)
    found = [
        Binding(constraint.text, constraint.quantity, price, "lowering" if constraint.at_least else "raising")
        for constraint, price in prices.items()
    ]
    rest = slopes(program, multipliers, bandwidth[:, None])[:, 0]
    for d in np.flatnonzero(design.used[:, 0]):
        for name, edge, price in (("most", program.high[d, 0], rest[d]), ("least", program.low[d, 0], -rest[d])):
            at_edge = np.isfinite(edge) and edge > 0 and abs(bandwidth[d] - edge) <= _BINDING * edge
            if at_edge and price * edge > _BINDING * work:
                text = f"bw[{d}] {'<=' if name == 'most' else '>='} {edge / GIGA:g} GB/s"
                found.append(Binding(text, "bandwidth", float(price), "raising" if name == "most" else "lowering"))
    return tuple(found)


def equal_split(
    problem: Problem, network: Population, *, max_bandwidth: float = np.inf, fastest: bool = True
) -> Population | None:
    """Return the baseline of a network: its best feasible design with one bandwidth in all dimensions, if any.

    Time falls with the bandwidth, and the product of time and cost rises: the best design has the largest bandwidth
    that caps, ports, constraints and `max_bandwidth` in B/s allow where it is to be the fastest, else the smallest.
    """
    design = problem.pricing.built(network.select([0]))
    low, high = _range(problem, design)
    high = min(high, max_bandwidth)
    if not (low <= high * (1.0 + _ROUNDING) and 0 < (high if fastest else low) < np.inf):
        return None
    each = design.equal_bandwidths(low, high, largest=fastest)
    if not len(each):
        return None
    one = network.select([0] * len(each))
    found = replace(one, bandwidth=np.where(one.npus > 1, each, 0.0))
    feasible = np.flatnonzero(problem.evaluate(found).violation <= 0)
    return found.select(feasible[[-1 if fastest else 0]]) if len(feasible) else None


def _range(problem: Problem, design: Topologies) -> tuple[float, float]:
    """Return the smallest and the largest bandwidth that box and linear constraints allow in all dimensions at once."""
    used = design.used[:, 0] > 0
    low, high = float(design.low[used].max()), float(design.high[used].min())
    for constraint, row in linear_rows(problem.constraints, design):
        each = float(row.sum())
        if each > 0 or (each and constraint.equality):
            high = min(high, constraint.limit / each)
        if each < 0 or (each and constraint.equality):
            low = max(low, constraint.limit / each)
    return low, high
