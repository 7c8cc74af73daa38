"""Networks of whole ports: there are so many of them, and the least time of each one over all plans is exact.

Every network is bounded by the smallest coefficients of each group of plans that lie alike on it. Where a bound is
below the best time known at the network's cost, the plans of the group are timed, the most promising networks first.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import TILE, BoolArray, FloatArray, IntArray, Population, no_plans
from evo_libra.optimality.bounds import held
from evo_libra.optimality.networks import networks_of
from evo_libra.problem.allocate import TrafficTable
from evo_libra.problem.constraints import BANDWIDTH
from evo_libra.problem.figures import Figures
from evo_libra.problem.objectives import MEASURES, Measure
from evo_libra.problem.plans import Members, PlanGroups, UsefulPlans, useful_plans
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem

MAX_NETWORKS = 5_000_000
"""More networks than that are not looked at one by one."""

_MAX_PAIRS = 50_000_000
_PAIRS = 200_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class WholeIdeal:
    """The least time at every cost that networks of whole ports have.

    Attributes
    ----------
    cost : (n,) USD of the networks, ascending.
    time : (n,) seconds that no network of at most that cost undercuts; infinite where none is feasible.
    structure, bandwidth : (n,) and (d, n) B/s of the networks.
    timed : pairs of a network and a plan that were timed; `waiting` : of a network and plans alike, that were not.
    """

    cost: FloatArray
    time: FloatArray
    structure: IntArray
    bandwidth: FloatArray
    timed: int
    waiting: int = 0

    def at(self, cost: FloatArray) -> FloatArray:
        """Return (k,) seconds that no network of at most (k,) USD undercuts; infinite below the cheapest."""
        place = np.searchsorted(self.cost, cost * (1.0 + _ROUNDING), side="right") - 1
        return np.where(place >= 0, self.time[np.maximum(place, 0)], np.inf)


@dataclass(frozen=True)
class _Networks:
    """Networks of whole ports, the cheapest first: (n,) structures, (d, n) B/s and (n,) USD."""

    structure: IntArray
    bandwidth: FloatArray
    cost: FloatArray


@dataclass(frozen=True)
class _Pairs:
    """Networks with groups of plans: places of both, and seconds that no plan of the group undercuts."""

    network: IntArray
    group: IntArray
    bound: FloatArray

    def select(self, chosen: IntArray | BoolArray | slice) -> _Pairs:
        return _Pairs(self.network[chosen], self.group[chosen], self.bound[chosen])

    def below(self, best: FloatArray) -> _Pairs:
        """Return those that may beat the (n,) best times known at the cost of each network."""
        return self.select(self.bound < best[self.network] * (1.0 - _ROUNDING))


def _joined(parts: Sequence[_Pairs]) -> _Pairs:
    none = _Pairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    rows = zip(*((part.network, part.group, part.bound) for part in (none, *parts)), strict=True)
    return _Pairs(*map(np.concatenate, rows))


def whole_ideal(problem: Problem, cost: FloatArray, time: FloatArray, until: float | None = None) -> WholeIdeal | None:
    """Return the ideal of networks of whole ports and all plans; None where there are too many, or no whole ports.

    Times are those of the lower bound of the problem's time model. Constraints that depend on the time have no part in
    it, which can only lower the ideal.

    Parameters
    ----------
    cost, time : (k,) USD and seconds of designs that are known; what does not beat them need not be timed.
    until : the monotonic clock's second after which pairs of networks and plans are no more timed; the bounds of those
        that are left then stand for them.
    """
    model = problem.time.lower_bound
    networks = _networks(problem) if model is not None and problem.pricing.whole else None
    if model is None or networks is None:
        return None
    known = _known(networks.cost, cost, time)
    plans = useful_plans(model, problem.constraints)
    if not problem.time.tables:
        every = np.arange(len(networks.cost))
        least = _times(problem, TrafficTable(problem.structures, model), networks, every, no_plans(len(every)))
        best = np.minimum.accumulate(np.minimum(known, least))
        return WholeIdeal(networks.cost, best, networks.structure, networks.bandwidth, len(every))
    table = problem.structures.table
    assert table is not None, "there are networks"  # noqa: S101 - our mistake
    shape, group = held(replace(problem, time=model), plans, table.npus, table.technology)
    if int(np.bincount(shape, minlength=len(table))[networks.structure].sum()) > _MAX_PAIRS:
        return None
    return _refined(problem, networks, plans, shape, group, known, until)


def whole_front(problem: Problem) -> tuple[IntArray, FloatArray, IntArray] | None:
    """Return (m,) structures, (d, m) B/s and (w, m) plans that are best at some cost.

    They are those of the front of time and cost, and some that others beat, such as ones that cost the same. None is
    returned where there are too many networks, or where times are not exact.
    """
    none = np.empty(0)
    ideal = whole_ideal(problem, none, none) if problem.time.exact else None
    if ideal is None:
        return None
    steps = np.flatnonzero(np.append(np.isfinite(ideal.time[:1]), ideal.time[1:] < ideal.time[:-1]))
    plans = useful_plans(problem.time, problem.constraints)
    networks = _Networks(ideal.structure[steps], ideal.bandwidth[:, steps], ideal.cost[steps])
    table = problem.structures.table
    assert table is not None, "there are networks"  # noqa: S101 - our mistake
    sizes, technology = table.look_up(networks.structure)
    network, group = held(problem, plans, sizes, technology)
    node, plan = plans.ways.members.of(group)
    network = network[node]
    time = _times(problem, problem.traffic, networks, network, plans.plans[:, plan])
    best = np.lexsort((time, network))[np.unique(network, return_index=True)[1]]
    return networks.structure, networks.bandwidth, plans.plans[:, plan[best]]


def _known(at: FloatArray, cost: FloatArray, time: FloatArray) -> FloatArray:
    """Return (n,) the least time of designs that cost no more than (n,) USD; infinite where none is known."""
    order = np.argsort(cost, kind="stable")
    least = np.append(np.minimum.accumulate(time[order]), np.inf)
    return np.asarray(least[np.searchsorted(cost[order], at * (1.0 + _ROUNDING), side="right") - 1])


def _networks(problem: Problem) -> _Networks | None:
    """Return the networks that meet all limits beside those of time and plans; None where there are too many."""
    if problem.structures.table is None:
        return None
    structures, bandwidths, costs, count = [], [], [], 0
    for structure, bandwidth in networks_of(problem):
        count += len(structure)
        if count > MAX_NETWORKS:
            return None
        built = problem.pricing.topologies(structure, np.zeros(bandwidth.shape, dtype=np.int64))
        allowed = np.flatnonzero(_allowed(problem, built, bandwidth))
        structures.append(structure[allowed])
        bandwidths.append(bandwidth[:, allowed])
        costs.append(built.select(allowed).totals(bandwidth[:, allowed], power=False)[0])
    if not count:
        return None
    cost = np.concatenate(costs)
    order = np.argsort(cost, kind="stable")
    return _Networks(np.concatenate(structures)[order], np.concatenate(bandwidths, axis=1)[:, order], cost[order])


def _allowed(problem: Problem, built: Topologies, bandwidth: FloatArray) -> BoolArray:
    """Return (n,) whether networks meet every limit that depends neither on their time nor on their plans."""
    fits = np.broadcast_to(built.excess(bandwidth) <= 0, bandwidth.shape[1]).copy()
    mine = [
        c for c in problem.constraints if not c.ports and (c.quantity == BANDWIDTH or _bought(MEASURES[c.quantity]))
    ]
    if mine:
        cost, watts = built.totals(bandwidth, power=bool(problem.pricing.kits))
        designs = Population(built.npus, built.block, built.technology, bandwidth)
        figures = Figures(np.zeros(len(cost)), cost, watts, built.npus, built.block, bandwidth, problem.tco)
        fits &= np.logical_and.reduce([problem.excess(constraint, figures, designs) <= 0 for constraint in mine])
    return fits


def _bought(measure: Measure) -> bool:
    """Return whether a figure depends on neither time nor plans nor scenarios."""
    return not (measure.timed or measure.trained or measure.statistic is not None)


def _refined(
    problem: Problem,
    networks: _Networks,
    plans: UsefulPlans,
    shape: IntArray,
    way: IntArray,
    known: FloatArray,
    until: float | None,
) -> WholeIdeal:
    """Time every pair of a network and a plan that no bound of its group excludes.

    Parameters
    ----------
    shape, way : pairs of structures and groups of plans that they can hold, in the order of the structures.
    known : (n,) the least time known at the cost of each network.
    """
    time, bound, finer = (
        TrafficTable(problem.structures, model) for model in (plans.time, plans.ways.bound, plans.clusters.bound)
    )
    ways_of, best, timed, parts = Members(shape), known, 0, []
    step = max(1, _PAIRS * len(problem.structures) // max(len(shape), 1))
    for first in range(0, len(networks.cost), step):
        # The bounds of all groups, and the plans of the most promising one of each network.
        some = np.arange(first, min(first + step, len(networks.cost)))
        node, place = ways_of.of(networks.structure[some])
        network, group = some[node], way[place]
        lower = _times(problem, bound, networks, network, plans.ways.examples[:, group])
        chosen = np.lexsort((lower, network))[np.unique(node, return_index=True)[1]]
        chosen = chosen[lower[chosen] < best[network[chosen]] * (1.0 - _ROUNDING)]
        best, count = _with_plans(problem, time, networks, plans, plans.ways, network[chosen], group[chosen], best)
        timed += count
        parts.append(_Pairs(network, group, lower).below(best))
    left = _joined(parts).below(best)
    parts = []
    for start in range(0, len(left.network), _PAIRS):
        part = left.select(slice(start, start + _PAIRS))
        node, cluster = plans.clusters_of_ways.of(part.group)
        network = part.network[node]
        lower = _times(problem, finer, networks, network, plans.clusters.examples[:, cluster])
        parts.append(_Pairs(network, cluster, lower).below(best))
    left = _joined(parts)
    # The most promising ones first: what they reach excludes others.
    order = np.argsort(left.bound / best[left.network], kind="stable")
    left = left.select(order)
    for start in range(0, len(left.network), _PAIRS):
        if until is not None and clock.monotonic() > until:
            rest = left.select(slice(start, None))
            lower = np.full(len(best), np.inf)
            np.minimum.at(lower, rest.network, rest.bound)
            best = np.minimum(best, np.minimum.accumulate(lower))
            return WholeIdeal(
                networks.cost, best, networks.structure, networks.bandwidth, timed, len(rest.below(known).network)
            )
        part = left.select(slice(start, start + _PAIRS)).below(best)
        best, count = _with_plans(problem, time, networks, plans, plans.clusters, part.network, part.group, best)
        timed += count
    return WholeIdeal(networks.cost, best, networks.structure, networks.bandwidth, timed)


def _with_plans(
    problem: Problem, traffic: TrafficTable, networks: _Networks, plans: UsefulPlans, groups: PlanGroups,
    network: IntArray, group: IntArray, best: FloatArray,
) -> tuple[FloatArray, int]:  # fmt: skip
    """Return the best times once all plans of some pairs of networks and groups are timed, and how many these are."""
    node, plan = groups.members.of(group)
    time = _times(problem, traffic, networks, network[node], plans.plans[:, plan])
    found = np.full(len(best), np.inf)
    np.minimum.at(found, network[node], time)
    return np.minimum(best, np.minimum.accumulate(found)), len(time)


def _times(
    problem: Problem, traffic: TrafficTable, networks: _Networks, network: IntArray, plan: IntArray
) -> FloatArray:
    """Return (n,) seconds of networks under (w, n) plans."""
    parts = []
    for start in range(0, max(len(network), 1), TILE):
        some = slice(start, start + TILE)
        structure = networks.structure[network[some]]
        gene = np.zeros((len(networks.bandwidth), len(structure)), dtype=np.int64)
        built = replace(problem.pricing.topologies(structure, gene), plan=plan[:, some])
        designs = Population(
            built.npus, built.block, built.technology, networks.bandwidth[:, network[some]], plan=built.plan
        )
        parts.append(traffic.time(designs, traffic.of(built)))
    return np.concatenate(parts)
