"""The plans and networks that may be best at one goal: bounds of groups of plans first, then plans, then programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray
from evo_libra.bandwidth.product import least_product
from evo_libra.bandwidth.program import BandwidthProgram, ascend, hyperbola
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.errors import InputError
from evo_libra.problem.allocate import TrafficTable, min_time_of, program_for
from evo_libra.problem.plans import UsefulPlans, useful_plans
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem

_NODES, _BATCH, _STEPS = 64, 256, 12
_GROWTH, _LARGEST = 4, 16_384
"""Batches grow, as the first of them find a value that bounds leave most of the others out by."""
_SAME = 1e-9

Goal = Callable[[BandwidthProgram, FloatArray], FloatArray]
"""(n,) values from a program and (d, n) USD per B/s."""


def prune_plans(problem: Problem, designs: Topologies, goal: str) -> Topologies:
    """Return topologies with those plans that may be best, where workloads leave some open; see `optimize`.

    Pairs that are left out are proven to be worse. If nothing is feasible, one pair is left. An `InputError` says that
    no topology can hold the groups of any plan.
    """
    lower, solve = (_time_bound, _least_time) if goal == "time" else (_product_bound, _least_product)
    plans = useful_plans(problem.time, problem.constraints)
    every = np.indices((len(designs.structure), plans.ways.examples.shape[1])).reshape(2, -1)
    networks = designs.npus[:, every[0]], plans.ways.examples[:, every[1]], designs.technology[:, every[0]]
    node, way = every[:, problem.time.fits(*networks)]
    if not len(node):
        raise InputError("no network can hold the process groups of any plan")
    nodes = replace(designs.select(node), plan=plans.ways.examples[:, way])
    bound = _each(problem, TrafficTable(problem.structures, plans.ways.bound), nodes, lower)
    best = _Best(problem, designs, plans, lower, solve)
    for some in best.batches(bound, _NODES):
        place, cluster = plans.clusters_of_ways.of(way[some])
        best.look_at_clusters(node[some[place]], cluster)
    structure, plan, value = (np.concatenate(column) for column in zip(*best.kept, strict=True))
    least = best.value * (1.0 + _SAME)
    left = np.flatnonzero(value <= least) if np.isfinite(least) else np.zeros(1, dtype=np.int64)
    return replace(designs.select(structure[left]), plan=plans.plans[:, plan[left]])


@dataclass(eq=False)
class _Best:
    """The least value so far, and the networks and plans that were solved for it."""

    problem: Problem
    designs: Topologies
    plans: UsefulPlans
    lower: Goal
    solve: Goal
    value: float = np.inf
    kept: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)

    def batches(self, bound: FloatArray, size: int) -> Iterator[IntArray]:
        """Yield places of (n,) bounds from the least one on, until all that are left are above the least value."""
        order, start = np.argsort(bound, kind="stable"), 0
        while start < len(order) and bound[order[start]] <= self.value * (1.0 + _SAME):
            some = order[start : start + size]
            yield some[bound[some] <= self.value * (1.0 + _SAME)]
            start, size = start + size, min(size * _GROWTH, _LARGEST)

    def look_at_clusters(self, network: IntArray, cluster: IntArray) -> None:
        """Evaluate the plans of (n,) pairs of a network and a cluster of plans, unless a bound prunes them."""
        pairs = replace(self.designs.select(network), plan=self.plans.clusters.examples[:, cluster])
        bound = _each(self.problem, TrafficTable(self.problem.structures, self.plans.clusters.bound), pairs, self.lower)
        for some in self.batches(bound, _BATCH):
            place, plan = self.plans.clusters.members.of(cluster[some])
            self._look_at_plans(network[some[place]], plan)

    def _look_at_plans(self, network: IntArray, plan: IntArray) -> None:
        pairs = replace(self.designs.select(network), plan=self.plans.plans[:, plan])
        for some in self.batches(_each(self.problem, self.problem.traffic, pairs, self.lower), _BATCH):
            found = _each(self.problem, self.problem.traffic, pairs.select(some), self.solve)
            self.value = min(self.value, float(found.min()))
            self.kept.append((network[some], plan[some], found))


def _each(problem: Problem, traffic: TrafficTable, designs: Topologies, goal: Goal) -> FloatArray:
    parts = [designs.select(slice(start, start + TILE)) for start in range(0, len(designs.structure), TILE)]
    return np.concatenate([
        goal(program_for(traffic, problem.constraints, part, None, separate=True), part.price) for part in parts
    ])  # fmt: skip


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


_HIGH = 1e15
"""B/s; more than any dimension has."""


def _least_product(program: BandwidthProgram, price: FloatArray) -> FloatArray:
    found = least_product(program, price)
    value = found.time * found.cost
    return np.where(np.isfinite(value), value, np.inf)
