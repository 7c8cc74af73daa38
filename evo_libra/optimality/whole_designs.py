"""Designs of whole ports: networks one by one, with plans and ways to run collectives, their number and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar, cast

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, columns, no_plans
from evo_libra.errors import InputError
from evo_libra.optimality.bounds import held
from evo_libra.optimality.fastest_plans import count_timed, fastest_plans
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.needs import TRAINING
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.plans import (
    MAX_PLANS,
    UsefulPlans,
    all_plans,
    grouped_plans,
    plans_together,
    useful_of_each,
)
from evo_libra.problem.pricing.parts import WholeTopologies
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Evaluation
from evo_libra.problem.time_models.time_model import TimeModel

MAX_NETWORKS = 5_000_000
"""More networks than that are not evaluated one by one."""

_CHUNK = 100_000
_ROUNDING = 1e-9


def networks_of(problem: Problem) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield combinations (n,) and bandwidths (d, n) in B/s, in which every network of whole ports comes once.

    The problem is one of parts, with a table of its combinations.
    """
    for alike, bandwidth in _kinds(problem):
        each = max(_CHUNK // max(bandwidth.shape[1], 1), 1)
        for start in range(0, len(alike) if bandwidth.size else 0, each):
            some = alike[start : start + each]
            yield np.repeat(some, bandwidth.shape[1]), np.tile(bandwidth, len(some))


def count_networks(problem: Problem) -> int | None:
    """Return how many networks of whole ports there are; None where there are too many to evaluate each.

    Parts that come in any fraction, and spaces without a table of their combinations, have networks without number.
    """
    if problem.structures.table is None or not problem.pricing.whole:
        return None
    count = 0
    for alike, bandwidth in _kinds(problem):
        count += len(alike) * bandwidth.shape[1]
        if count > MAX_NETWORKS:
            return None
    return count


def _kinds(problem: Problem) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield (k,) combinations that have the same ports to choose from, and (d, n) B/s of each choice."""
    table = problem.structures.table
    assert table is not None, "callers have looked"  # noqa: S101 - internal error
    designs = problem.pricing.topologies(np.arange(len(table)), problem.pricing.cheapest(table.technology))
    assert isinstance(designs, WholeTopologies), "ports are whole"  # noqa: S101 - internal error
    hardware, (depth, count) = designs.hardware, table.npus.shape
    shared = hardware.shared.reshape(-1, count)
    keys = np.vstack([hardware.rate, hardware.quantum, hardware.min_ports, hardware.max_ports, shared])
    _, kind = np.unique(keys, axis=1, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    for alike in np.split(order, np.flatnonzero(np.diff(kind.ravel()[order])) + 1):
        rate, quantum, min_ports, max_ports = (array[:, alike[0]] for array in np.split(keys[: 4 * depth], 4))
        ports = [
            np.arange(low, high + 1, step) if step else np.zeros(1)
            for low, high, step in zip(min_ports, max_ports, quantum, strict=True)
        ]
        bandwidth = np.stack(np.meshgrid(*ports, indexing="ij")).reshape(depth, -1) * rate[:, None]
        taken = shared[:, alike[0]].reshape(-1, depth) @ bandwidth
        yield alike, bandwidth[:, (taken <= 1.0 + _ROUNDING).all(axis=0)]


MAX_TIMED = 200_000
"""Designs that are evaluated where no bound prunes any: Themis' time takes some 50 us of each."""

MAX_SERVED = 4_000_000
"""Designs that are evaluated where some workload is served: under LIBRA's time they take about half a us each."""


@dataclass(frozen=True)
class Designs:
    """Designs of whole ports, n of them.

    Attributes
    ----------
    structure : (n,) index of the combination; `bandwidth` : (d, n) B/s.
    plan : (w, n) places of the plans of workloads that leave some open; `group` : (n,) of plans, while they
        are bounded together.
    collectives : (k, n) genes of what is open of how collectives run.
    spares : (n,) spare NPUs.
    """

    structure: IntArray
    bandwidth: FloatArray
    plan: IntArray
    group: IntArray
    collectives: IntArray
    spares: IntArray

    def __len__(self) -> int:
        return len(self.structure)

    def select(self, chosen: IntArray) -> Designs:
        """Return the chosen designs."""
        return Designs(*(columns(values, chosen) for values in vars(self).values()))

    def join(self, *others: Designs) -> Designs:
        """Return all of them."""
        rows = zip(*(vars(one).values() for one in (self, *others)), strict=True)
        return Designs(*(np.concatenate(row, axis=-1) for row in rows))

    def genes(self, problem: Problem) -> FloatArray:
        """Return their (g, n) genes."""
        block, budget = np.zeros(self.bandwidth.shape, dtype=np.int64), np.ones(len(self))
        plan = self.plan if problem.time.tables else None
        return problem.encode(
            self.structure, block, self.bandwidth, budget, plan=plan, collectives=self.collectives, spares=self.spares
        )

    def figures(self, problem: Problem) -> FloatArray:
        """Return their (m, n) objectives under the time of a problem; infinite where they break a limit."""
        found = self.evaluated(problem)
        return np.where(found.violation <= 0, found.objectives, np.inf)

    def evaluated(self, problem: Problem) -> Evaluation:
        """Return their objectives and violations under the time of a problem."""
        built = self._built(problem)
        designs = self._population(problem, built)
        built = built if designs.spares is None else built.times(problem.evaluator.of_spares(designs))
        return problem.evaluator.evaluate(designs, built, problem.traffic.of(built))

    def population(self, problem: Problem) -> Population:
        """Return them as a population."""
        return self._population(problem, self._built(problem))

    def _built(self, problem: Problem) -> Topologies:
        block = np.zeros(self.bandwidth.shape, dtype=np.int64)
        return replace(problem.pricing.topologies(self.structure, block), plan=self.plan)

    def _population(self, problem: Problem, built: Topologies) -> Population:
        schedule = problem.time.schedules.schedule(self.collectives, built.block)
        spares = self.spares if self.spares.any() else None
        return Population(
            npus=built.npus, block=built.block, technology=built.technology, bandwidth=self.bandwidth,
            schedule=schedule, plan=built.plan, spares=spares,
        )  # fmt: skip


def effort_of(problem: Problem) -> int | None:
    """Return the number of designs of whole ports that the exact front evaluates; None where they are too many.

    If a bound leaves out most designs, those are networks, or pairs of them and a group of plans that lie alike.
    """
    return _once(problem, "effort", lambda: _effort(problem))


_T = TypeVar("_T")


def _once(problem: Problem, name: str, make: Callable[[], _T]) -> _T:
    """Return what `make` returns, which is made once for a problem: an experiment asks for every run."""
    kept = vars(problem)
    if f"_whole_{name}" not in kept:
        kept[f"_whole_{name}"] = make()
    return cast("_T", kept[f"_whole_{name}"])


def _effort(problem: Problem) -> int | None:
    networks = count_networks(problem)
    if networks is None:
        return None
    spares = len(spares_of(problem))
    networks *= spares
    bounded, schedules = bound_of(problem) is not None, count_schedules(problem)
    try:
        looked = _pairs(problem, grouped=bounded) * spares if problem.time.tables else networks
    except InputError:  # too many plans to evaluate each, or none that fits
        return None
    if bounded:
        return looked if max(looked, networks * schedules) <= MAX_NETWORKS else None
    most = MAX_SERVED if problem.time.serves and problem.time.exact else MAX_TIMED
    return looked * schedules if looked * schedules <= most else None


def bound_of(problem: Problem) -> TimeModel | None:
    """Return an exact time that is nowhere slower than a problem's; None where there is none.

    There is none of serving: what a design is worth depends on the users and on parts of a request, too.
    """
    if problem.time.serves:
        return None
    return problem.time if problem.time.exact else problem.time.lower_bound


def _pairs(problem: Problem, *, grouped: bool) -> int:
    """Return the number of pairs of a network and a plan that it can hold, or a group of plans that lie alike.

    Pairs that were timed to find the plans count, too.
    """
    table, plans = problem.structures.table, plans_of(problem)
    assert table is not None, "there are networks"  # noqa: S101 - internal error
    shape, way = held(problem, plans, table.npus, table.technology)
    size = np.ones(len(way)) if grouped else np.bincount(plans.ways.group)[way]
    each = np.bincount(shape, weights=size, minlength=len(table))
    return plans.timed + int(sum(each[structure].sum() for structure, _ in networks_of(problem)))


def plans_of(problem: Problem) -> UsefulPlans:
    """Return the plans that may be best; all that fit where a slower one may be, for its memory or a limit.

    An `InputError` says that there are too many, or none.
    """
    return _once(problem, "plans", lambda: _plans(problem))


def _plans(problem: Problem) -> UsefulPlans:
    measures = [MEASURES[objective.name] for objective in problem.objectives]
    faster_wins = all(measure.timed or TRAINING not in measure.needs for measure in measures)
    kept = faster_wins and all(map(kept_by_faster, problem.constraints))
    if not (problem.time.exact and kept) or problem.time.serves:
        return all_plans(bound_of(problem) or problem.time, problem.constraints)
    each = useful_of_each(problem.time, problem.constraints)
    return _fastest_together(problem, each) or plans_together(problem.time, each)


def _fastest_together(problem: Problem, plans: list[IntArray]) -> UsefulPlans | None:
    """Return the plans of workloads that have too many together, the fastest on each network; None for few plans.

    There are none, either, of too many networks, and where drawn scenarios decide and not the time.
    """
    few = prod(map(len, plans)) <= MAX_PLANS
    if few or problem.sources.scenarios is not None or count_networks(problem) is None:
        return None
    timed = count_timed(problem, networks_of(problem), plans)
    if timed > MAX_NETWORKS:
        return None
    found = fastest_plans(problem, networks_of(problem), plans)
    return replace(grouped_plans(problem.time, found), timed=timed) if found.size else None


def kept_by_faster(constraint: Constraint) -> bool:
    """Return whether a plan that is faster and fits the memory meets a limit that a slower one meets."""
    measure = constraint.measure
    if measure is None:
        return True
    if not measure.timed:
        return constraint.at_most or TRAINING not in measure.needs
    rises = measure.inverse is None
    return not constraint.equality and (constraint.objective > 0) == rises


def spares_of(problem: Problem) -> tuple[int, ...]:
    """Return the numbers of spare NPUs that designs may have."""
    return problem.sources.spares


def _choices(problem: Problem) -> list[int]:
    """Return the number of choices of each gene of how collectives run."""
    return [highest + 1 for _, highest in problem.time.schedules.genes(len(problem.choices))]


def count_schedules(problem: Problem) -> int:
    """Return how many ways there are to run collectives."""
    return prod(_choices(problem))


def schedules_of(problem: Problem) -> IntArray:
    """Return the (k, s) genes of all ways to run collectives."""
    choices = _choices(problem)
    return np.indices(choices).reshape(len(choices), -1) if choices else no_plans(1)
