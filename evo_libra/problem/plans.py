"""The parallelisation plans that may be best somewhere, and the groups in which they are bounded together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import IntArray, columns, no_plans
from evo_libra.errors import InputError
from evo_libra.problem.constraints import TOLERANCE, Constraint
from evo_libra.problem.needs import TOKENS, USERS
from evo_libra.problem.time_models.loops import OpenLoop
from evo_libra.problem.time_models.time_model import TimeModel

if TYPE_CHECKING:
    from evo_libra.workload.plans.plan_table import PlanTable

MAX_PLANS = 1_000_000
"""Plans of all workloads together up to which each of them is evaluated."""


@dataclass(frozen=True)
class Members:
    """The items that have each label; the last labels may have none."""

    label: IntArray
    labels: int = 0

    @cached_property
    def _by_label(self) -> tuple[IntArray, IntArray, IntArray]:
        """The items in the order of their labels, and where each label begins and how many items it has."""
        count = np.bincount(self.label, minlength=self.labels)
        return np.argsort(self.label, kind="stable"), np.cumsum(count) - count, count

    @property
    def first(self) -> IntArray:
        """An item of each label."""
        order, start, _ = self._by_label
        return order[start]

    def of(self, label: IntArray) -> tuple[IntArray, IntArray]:
        """Return all items of each of (k,) labels: the place in k of each pair, and its item."""
        order, start, count = self._by_label
        times = count[label]
        node = np.repeat(np.arange(len(label)), times)
        return node, order[start[label][node] + np.arange(len(node)) - (np.cumsum(times) - times)[node]]

    def count(self, label: IntArray) -> int:
        """Return how many pairs `of` returns."""
        return int(self._by_label[2][label].sum())


@dataclass(frozen=True)
class PlanGroups:
    """Groups of plans that lie alike on networks.

    Attributes
    ----------
    group : (p,) which group each plan is of; `members` : the plans of each.
    bound : a time model that is nowhere slower than that of any plan of the same group.
    examples : (w, g) places of a plan of each group.
    """

    group: IntArray
    bound: TimeModel
    examples: IntArray

    @cached_property
    def members(self) -> Members:
        """The plans of each group."""
        return Members(self.group)


@dataclass(frozen=True)
class UsefulPlans:
    """Plans of all workloads together, one of which is best on every network; one without any where none is open.

    Attributes
    ----------
    time : of the workloads under these plans.
    plans : (w, p) places of the plans of each workload.
    ways : groups of all plans that lie alike.
    timed : pairs of a network and a plan that were timed to find these plans.
    """

    time: TimeModel
    plans: IntArray
    ways: PlanGroups
    timed: int = 0

    def __len__(self) -> int:
        return int(self.plans.shape[1])

    @cached_property
    def clusters(self) -> PlanGroups:
        """Smaller groups, of plans whose coefficients are alike, too."""
        from evo_libra.workload.plans.dominance import clustered  # noqa: PLC0415 - few problems have open plans

        labels = [
            clustered(loop.time, loop.workload.placements[2], np.unique(row))
            for loop, row in zip(self.time.open_loops, self.plans, strict=True)
        ]
        return _groups(self.time, self.plans, labels)

    @cached_property
    def clusters_of_ways(self) -> Members:
        """The clusters of each way."""
        return Members(self.ways.group[self.clusters.members.first])


def _groups(time: TimeModel, plans: IntArray, labels: Sequence[IntArray]) -> PlanGroups:
    """Return the groups of (w, p) plans whose labels, by place in each table, are the same."""
    mine = [label[row] for label, row in zip(labels, plans, strict=True)]
    place = reduce(lambda whole, row: whole * (int(row.max()) + 1) + row, mine, np.zeros(plans.shape[1], np.int64))
    group = np.unique(place, return_inverse=True)[1].ravel()
    each = zip(time.open_loops, labels, plans, strict=True)
    bounds = {id(loop): _smallest(loop, label, np.unique(row)) for loop, label, row in each}
    loops = tuple(bounds.get(id(loop), loop) for loop in time.loops)
    return PlanGroups(group, replace(time, loops=loops), plans[:, Members(group).first])


def _smallest(loop: OpenLoop, label: IntArray, plans: IntArray) -> OpenLoop:
    """Return a loop with the least coefficients of all plans of a label."""
    from evo_libra.workload.plans.dominance import smallest  # noqa: PLC0415 - few problems have open plans

    return replace(loop, time=smallest(loop.time, label, plans))


def useful_plans(time: TimeModel, constraints: Sequence[Constraint]) -> UsefulPlans:
    """Return the plans that fit the memory, without those that another plan beats on every network.

    An `InputError` says that the workloads leave too many open together, or that none meets the limits of memory.
    """
    return plans_together(time, useful_of_each(time, constraints))


def useful_of_each(time: TimeModel, constraints: Sequence[Constraint]) -> list[IntArray]:
    """Return those plans of each table; an `InputError` says that limits on serving concern slower ones."""
    from evo_libra.workload.plans.dominance import undominated  # noqa: PLC0415 - few problems have open plans

    check_time_decides(time, constraints)
    return [
        undominated(loop.time, loop.workload.placements[2], fitting(loop.workload, constraints))
        for loop in time.open_loops
    ]


def all_plans(time: TimeModel, constraints: Sequence[Constraint]) -> UsefulPlans:
    """Return all plans that fit the memory; an `InputError` as for `useful_plans`."""
    return plans_together(time, [fitting(table, constraints) for table in time.tables])


def plans_together(time: TimeModel, kept: Sequence[IntArray]) -> UsefulPlans:
    """Return each combination of (k,) plans of each table; an `InputError` says that there are too many, or none."""
    count = prod(map(len, kept))
    if count > MAX_PLANS:
        raise InputError(f"the workloads leave {count:,} plans open together, too many to evaluate each")
    if not count:
        raise InputError("no plan meets the limits of memory")
    if not kept:
        return UsefulPlans(time, no_plans(1), _groups(time, no_plans(1), ()))
    return grouped_plans(
        time, _of_one_npu(time.tables, np.array(np.meshgrid(*kept, indexing="ij")).reshape(len(kept), -1))
    )


def grouped_plans(time: TimeModel, plans: IntArray) -> UsefulPlans:
    """Return (w, p) plans of all workloads together, in the groups that lie alike."""
    return UsefulPlans(time, plans, _groups(time, plans, [table.placements[2] for table in time.tables]))


def check_time_decides(time: TimeModel, constraints: Sequence[Constraint]) -> None:
    """Refuse limits that a plan of serving may meet although another one beats its time on every network."""
    if not time.serves:
        return
    for constraint in constraints:
        measure = constraint.measure
        if measure is not None and (measure.needs & {USERS, TOKENS}):
            raise InputError(
                f"plans of serving are left out by the time of a request alone, and '{constraint.text}' limits "
                f"{constraint.quantity}, which a slower plan may meet; nsga2 searches it"
            )


def _of_one_npu(tables: Sequence[PlanTable], plans: IntArray) -> IntArray:
    """Return those of (w, p) plans that are all of the same accelerator."""
    npus = np.array([columns(table.npu, row) for table, row in zip(tables, plans, strict=True)])
    return plans[:, (npus == npus[:1]).all(axis=0)]


def fitting(table: PlanTable, constraints: Sequence[Constraint]) -> IntArray:
    """Return the plans that fit the memory of an NPU, and what constraints allow of it."""
    limits = [c.limit / c.objective for c in constraints if c.quantity == "memory" and c.at_most]
    allowed = min(limits, default=np.inf) * (1.0 + TOLERANCE)
    return np.flatnonzero((table.memory <= table.capacity) & (table.memory <= allowed))


def ways_of(time: TimeModel, constraints: Sequence[Constraint]) -> IntArray:
    """Return (w, k) plans of each way in which the groups of all workloads lie; one without any where none is open."""
    each = []
    for table in time.tables:
        fits = fitting(table, constraints)
        each.append(fits[np.unique(table.placements[2][fits], return_index=True)[1]])
    if not each:
        return no_plans(1)
    return _of_one_npu(time.tables, np.array(np.meshgrid(*each, indexing="ij")).reshape(len(each), -1))


def plans_that_fit(time: TimeModel, constraints: Sequence[Constraint]) -> int:
    """Return how many plans of all workloads together fit the memory; 1 where none is open."""
    npus = [table.npu[fitting(table, constraints)] for table in time.tables]
    kinds = np.unique(np.concatenate(npus)) if npus else range(1)
    return int(sum(prod(int((npu == kind).sum()) for npu in npus) for kind in kinds))
