"""Goals of plans on networks: the least value of each pair, and a bound of it that takes a tenth of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray
from evo_libra.bandwidth.product import least_product
from evo_libra.bandwidth.program import BandwidthProgram, ascend, hyperbola
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.problem.allocate import TrafficTable, min_time_of, program_for
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem

SAME = 1e-9
"""Relative difference up to which two values count as equal."""

Value = Callable[[BandwidthProgram, FloatArray], FloatArray]
"""(n,) values from a program and (d, n) USD per B/s."""

_STEPS = 12
_HIGH = 1e15
"""B/s; more than any dimension has."""


@dataclass(frozen=True)
class Goal:
    """A value to be made small, seconds or USD s.

    Of workloads that share a network, the bounds of each workload alone add up to a bound of all of them together.

    Attributes
    ----------
    bound : values that no bandwidths undercut.
    least : the least values, infinite where no bandwidths meet the constraints.
    """

    bound: Value
    least: Value


def of_each(value: Value, problem: Problem, traffic: TrafficTable, designs: Topologies) -> FloatArray:
    """Return (n,) values of topologies with plans, whose traffic a table has."""
    parts = [designs.select(slice(start, start + TILE)) for start in range(0, len(designs.structure), TILE)]
    return np.concatenate(
        [
            np.empty(0),
            *(
                value(program_for(traffic, problem.constraints, part, None, separate=True), part.price)
                for part in parts
            ),
        ]
    )


def _time_bound(program: BandwidthProgram, price: FloatArray) -> FloatArray:  # noqa: ARG001 - the other goal needs it
    return min_time_of(program)


def _least_time(program: BandwidthProgram, price: FloatArray) -> FloatArray:  # noqa: ARG001 - the same
    return optimal_bandwidth(program).objective


def _product_bound(program: BandwidthProgram, price: FloatArray) -> FloatArray:
    """Return (n,) USD s that no bandwidths undercut: time is at least ``base + kappa / cost``, and that of the box."""
    base, kappa = hyperbola(program, ascend(_capped(program), price, _STEPS), price)
    min_cost = (price * program.low).sum(axis=0)
    return np.asarray(np.maximum(base * min_cost + kappa, min_time_of(program) * min_cost))


def _capped(program: BandwidthProgram) -> BandwidthProgram:
    """Return a program whose caps are finite; multipliers need them, bounds do not."""
    return replace(program, high=np.where(np.isfinite(program.high), program.high, _HIGH))


def _least_product(program: BandwidthProgram, price: FloatArray) -> FloatArray:
    found = least_product(program, price)
    value = found.time * found.cost
    return np.where(np.isfinite(value), value, np.inf)


GOALS = {"time": Goal(_time_bound, _least_time), "time-cost": Goal(_product_bound, _least_product)}
"""The goals by their names."""

_BATCH = 256
_GROWTH, _LARGEST = 4, 16_384
"""Batches grow, as the first of them find a value that bounds leave most of the others out by."""


@dataclass(eq=False)
class SmallestValue:
    """The smallest value so far, and the networks and plans that were solved for it.

    Attributes
    ----------
    problem : of the goal; `designs` : its networks.
    value : the smallest one.
    solved : networks (k,), places (w, k) of plans and values (k,) of each batch.
    """

    problem: Problem
    designs: Topologies
    goal: Goal
    value: float = np.inf
    solved: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)

    @property
    def limit(self) -> float:
        """The value that no bound of a pair that may be best is above."""
        return self.value * (1.0 + SAME)

    def batches(self, bound: FloatArray, size: int = _BATCH) -> Iterator[IntArray]:
        """Yield places of (n,) bounds from the least one on, until all that are left are above the least value."""
        order, start = np.argsort(bound, kind="stable"), 0
        while start < len(order) and bound[order[start]] <= self.limit:
            some = order[start : start + size]
            yield some[bound[some] <= self.limit]
            start, size = start + size, min(size * _GROWTH, _LARGEST)

    def evaluate(self, network: IntArray, plan: IntArray) -> None:
        """Solve (k,) networks with (w, k) plans that the bound of a pair does not exclude."""
        pairs = replace(self.designs.select(network), plan=plan)
        for some in self.batches(of_each(self.goal.bound, self.problem, self.problem.traffic, pairs)):
            self.solve(network[some], plan[:, some])

    def solve(self, network: IntArray, plan: IntArray) -> None:
        """Solve (k,) networks with (w, k) plans."""
        pairs = replace(self.designs.select(network), plan=plan)
        values = of_each(self.goal.least, self.problem, self.problem.traffic, pairs)
        self.value = min(self.value, float(values.min(initial=np.inf)))
        self.solved.append((network, plan, values))

    def best(self) -> Topologies:
        """Return the networks and plans of the smallest value, or the first pair where none is finite."""
        network, plan, value = (np.concatenate(column, axis=-1) for column in zip(*self.solved, strict=True))
        left = np.flatnonzero(value <= self.limit) if np.isfinite(self.value) else np.zeros(1, dtype=np.int64)
        return replace(self.designs.select(network[left]), plan=plan[:, left])
