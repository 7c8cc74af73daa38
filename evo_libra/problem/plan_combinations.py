"""Combinations of the plans of several workloads that share a network, without a list of all of them.

Each workload alone has the network to itself, so that the bounds of all of them add up to one of a combination. Only
combinations whose sum does not exceed the smallest value are formed, network by network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.problem.allocate import TrafficTable
from evo_libra.problem.plan_goals import SmallestValue, of_each
from evo_libra.problem.plans import UsefulPlans, plans_together, useful_of_each
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem

_NETWORKS = 64
"""Networks of the first batch."""


def evaluate_combinations(smallest: SmallestValue) -> None:
    """Evaluate networks with the combinations of plans that may be best."""
    problem, designs = smallest.problem, smallest.designs
    alone = [
        _Alone(replace(problem, time=problem.time.alone(place)), smallest, kept)
        for place, kept in enumerate(useful_of_each(problem.time, problem.constraints))
    ]
    bound = np.sum([workload.of_networks for workload in alone], axis=0)
    holding = np.flatnonzero(np.isfinite(bound) & problem.time.fits(designs.npus))
    for some in smallest.batches(bound[holding], _NETWORKS):
        _evaluate_networks(smallest, alone, holding[some])


def combinations_within(bounds: Sequence[FloatArray], limit: float) -> IntArray:
    """Return (w, k) places: one of each of w arrays of values whose sum is at most a limit."""
    rest = float(sum(values.min() for values in bounds))
    places, sums = np.zeros((0, 1), dtype=np.int64), np.zeros(1)
    for values in bounds:
        rest -= float(values.min())
        mine = np.flatnonzero(sums.min(initial=np.inf) + values + rest <= limit)
        before, after = np.nonzero(sums[:, None] + values[mine] + rest <= limit)
        places = np.vstack([places[:, before], mine[after]])
        sums = sums[before] + values[mine[after]]
    return places


@dataclass(eq=False)
class _Alone:
    """A workload that has every network to itself, with those of its plans that no other one beats everywhere."""

    problem: Problem
    smallest: SmallestValue
    kept: IntArray

    @cached_property
    def plans(self) -> UsefulPlans:
        """Its plans."""
        return plans_together(self.problem.time, [self.kept])

    @cached_property
    def _of_ways(self) -> FloatArray:
        """(k, n) bounds of each group of plans that lie alike; infinite on networks that cannot hold it."""
        ways = self.plans.ways
        traffic = TrafficTable(self.problem.structures, ways.bound)
        way, network = np.indices((ways.examples.shape[1], len(self.smallest.designs.structure))).reshape(2, -1)
        return self._bounds(traffic, network, ways.examples[:, way]).reshape(ways.examples.shape[1], -1)

    @property
    def of_networks(self) -> FloatArray:
        """(n,) bounds of every network."""
        least: FloatArray = self._of_ways.min(axis=0)
        return least

    def of_plans(self, network: IntArray, slack: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return pairs of a place in (k,) networks and a plan, and their bounds; none are above (k,) values."""
        place, way = np.nonzero((self._of_ways[:, network] <= slack).T)
        node, plan = self.plans.ways.members.of(way)
        place, plan = place[node], self.plans.plans[0, plan]
        bound = self._bounds(self._traffic, network[place], plan[None])
        kept = np.flatnonzero(bound <= slack[place])
        return place[kept], plan[kept], bound[kept]

    @cached_property
    def _traffic(self) -> TrafficTable:
        return TrafficTable(self.problem.structures, self.problem.time)

    def _bounds(self, traffic: TrafficTable, network: IntArray, plan: IntArray) -> FloatArray:
        """Return (n,) bounds of networks with (1, n) plans; infinite where a network cannot hold its plan."""
        pairs = replace(self.smallest.designs.select(network), plan=plan)
        held = _held(self.problem, pairs)
        found = np.full(len(network), np.inf)
        found[held] = of_each(self.smallest.goal.bound, self.problem, traffic, pairs.select(np.flatnonzero(held)))
        return found


def _held(problem: Problem, pairs: Topologies) -> BoolArray:
    return problem.time.fits(pairs.npus, pairs.plan, pairs.technology)


_Bounds = tuple[IntArray, FloatArray]
"""(k,) plans of a workload that a network may hold, and their bounds."""


def _evaluate_networks(smallest: SmallestValue, alone: Sequence[_Alone], network: IntArray) -> None:
    """Evaluate the combinations of plans of (n,) networks: first the one of the lowest sum on each of them.

    Limits ask for bandwidths alone, so that networks where no combination meets them need none of the others.
    """
    each = np.array([workload.of_networks[network] for workload in alone])
    slack = smallest.limit - (each.sum(axis=0) - each)
    found = [_by_network(len(network), *one.of_plans(network, mine)) for one, mine in zip(alone, slack, strict=True)]
    bounds = {place: row for place, row in enumerate(zip(*found, strict=True)) if all(len(plan) for plan, _ in row)}
    places = {place: np.array([[values.argmin()] for _, values in row]) for place, row in bounds.items()}
    _evaluate(smallest, network, bounds, places)
    if np.isfinite(smallest.value):
        lists = {place: [values for _, values in row] for place, row in bounds.items()}
        within = {place: combinations_within(row, smallest.limit) for place, row in lists.items()}
        _evaluate(smallest, network, bounds, within)


def _by_network(count: int, place: IntArray, plan: IntArray, bound: FloatArray) -> list[_Bounds]:
    """Return what each of a number of networks has of pairs that are sorted by network."""
    ends = np.searchsorted(place, np.arange(1, count))
    return list(zip(np.split(plan, ends), np.split(bound, ends), strict=True))


def _evaluate(
    smallest: SmallestValue,
    network: IntArray,
    bounds: Mapping[int, Sequence[_Bounds]],
    places: Mapping[int, IntArray],
) -> None:
    """Evaluate networks with combinations of plans, by (w, k) places in the lists of each."""
    if not places:
        return
    node = np.concatenate([np.full(some.shape[1], network[place]) for place, some in places.items()])
    plans = [
        np.array([plan[mine] for (plan, _), mine in zip(bounds[place], some, strict=True)])
        for place, some in places.items()
    ]
    smallest.evaluate(node, np.concatenate(plans, axis=1))
