"""The plans and networks that may be best at one goal: bounds of groups of plans first, then plans, then programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.errors import InputError
from evo_libra.problem.allocate import TrafficTable
from evo_libra.problem.plan_combinations import evaluate_combinations
from evo_libra.problem.plan_goals import GOALS, SmallestValue, of_each
from evo_libra.problem.plans import UsefulPlans, useful_plans
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem

_NODES = 64


def prune_plans(problem: Problem, designs: Topologies, goal: str) -> Topologies:
    """Return topologies with those plans that may be best, where workloads leave some open; see `optimize`.

    Pairs that are left out are proven to be worse. If nothing is feasible, one pair is left. An `InputError` says that
    no topology can hold the groups of any plan.
    """
    smallest = SmallestValue(problem, designs, GOALS[goal])
    (_evaluate_plans if len(problem.time.tables) == 1 else evaluate_combinations)(smallest)
    if not smallest.solved:
        raise InputError("no network can hold the process groups of any plan")
    return smallest.best()


def _evaluate_plans(smallest: SmallestValue) -> None:
    """Evaluate the plans of one workload: networks with groups of plans that lie alike, clusters of these, plans."""
    problem, designs = smallest.problem, smallest.designs
    plans = useful_plans(problem.time, problem.constraints)
    every = np.indices((len(designs.structure), plans.ways.examples.shape[1])).reshape(2, -1)
    networks = designs.npus[:, every[0]], plans.ways.examples[:, every[1]], designs.technology[:, every[0]]
    node, way = every[:, problem.time.fits(*networks)]
    nodes = replace(designs.select(node), plan=plans.ways.examples[:, way])
    traffic = TrafficTable(problem.structures, plans.ways.bound)
    for some in smallest.batches(of_each(smallest.goal.bound, problem, traffic, nodes), _NODES):
        place, cluster = plans.clusters_of_ways.of(way[some])
        _evaluate_clusters(smallest, plans, node[some[place]], cluster)


def _evaluate_clusters(smallest: SmallestValue, plans: UsefulPlans, network: IntArray, cluster: IntArray) -> None:
    """Evaluate the plans of (n,) pairs of a network and a cluster of plans, unless a bound prunes them."""
    pairs = replace(smallest.designs.select(network), plan=plans.clusters.examples[:, cluster])
    traffic = TrafficTable(smallest.problem.structures, plans.clusters.bound)
    for some in smallest.batches(of_each(smallest.goal.bound, smallest.problem, traffic, pairs)):
        place, plan = plans.clusters.members.of(cluster[some])
        smallest.evaluate(network[some[place]], plans.plans[:, plan])
