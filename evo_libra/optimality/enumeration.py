"""Every network of whole ports with every plan and every way to run collectives, but for those that bounds leave out.

An objective never falls with the iteration time. So a design that is beaten under a time that is nowhere slower is
beaten under its own: LIBRA's time leaves out most designs, and groups of plans a time that none of their plans
undercuts. All others are evaluated as the problem evaluates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.front.archive import non_dominated
from evo_libra.optimality.bounds import held
from evo_libra.optimality.comparisons import beaten, factors, rounded
from evo_libra.optimality.watch import Progress, Watch
from evo_libra.optimality.whole_designs import (
    Designs,
    bound_of,
    count_networks,
    plans_of,
    schedules_of,
    spares_of,
)
from evo_libra.problem.allocate import TrafficTable
from evo_libra.problem.constraints import BANDWIDTH, Constraint
from evo_libra.problem.objectives import MEASURES, values
from evo_libra.problem.plans import Members, UsefulPlans
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.time_model import TimeModel

_BATCH = 4096
_PAIRS = 200_000
ROUNDING = 1e-9
_SAME = 1e-11
"""Relative difference of figures beyond which they differ in their 12 digits."""


@dataclass(frozen=True)
class Stage:
    """A bound that designs have to pass, and what they become behind it."""

    problem: Problem
    expand: Callable[[Designs], Designs]


@dataclass
class Enumeration:
    """Designs on their way through the bounds, and those that came through.

    `best` are (m, k) objectives that designs have, without those that others beat; `known` : those that a proof is of.
    `left` are bounds of designs that are still on their way, by the stage that they have reached; `seen` counts the
    networks that bounds or evaluations stand for.
    """

    problem: Problem
    best: FloatArray
    watch: Watch
    known: FloatArray | None = None
    left: dict[int, FloatArray] = field(default_factory=dict)
    seen: int = 0
    found: list[tuple[Designs, FloatArray]] = field(default_factory=list)
    bounds: list[FloatArray] = field(default_factory=list)
    networks: int = 0
    timed: int = 0
    waiting: int = 0
    last: FloatArray | None = None

    def look_at(self, structure: IntArray, bandwidth: FloatArray) -> None:
        """Evaluate networks of (n,) combinations and (d, n) B/s, with all that is open of them."""
        networks = self.designs_of(structure, bandwidth)
        parts = self._with_ways(networks) if self.problem.time.tables else iter([networks])
        some = next(parts, None)
        while some is not None:
            following = next(parts, None)
            # Networks are seen once the last part of them has bounds or is evaluated.
            self._look_at_part(some, seen=0 if following is not None else len(structure))
            some = following

    def _look_at_part(self, some: Designs, *, seen: int) -> None:
        if not self.stages:  # If nothing is bounded, nothing is left out.
            self.evaluate(self._with_schedules(self._with_plans(some) if self.problem.time.tables else some))
            self.seen += seen
            self.watch(self._progress)
        elif self._late:
            self._leave(some, self._without_traffic(some))
            self.seen += seen
        else:
            self.seen += seen  # no news before their bounds are there
            self.pass_on(some, 0)

    def designs_of(self, structure: IntArray, bandwidth: FloatArray) -> Designs:
        """Return networks with each number of spares, and the first choice of all else that is open."""
        choices = np.array(spares_of(self.problem), dtype=np.int64)
        spares = np.tile(choices, len(structure))
        structure, bandwidth = np.repeat(structure, len(choices)), np.repeat(bandwidth, len(choices), axis=1)
        count = len(structure)
        plan = np.zeros((len(self.problem.time.tables), count), dtype=np.int64)
        first = np.repeat(self._schedules[:, :1], count, axis=1)
        return Designs(
            structure=structure, bandwidth=bandwidth, plan=plan, group=np.zeros(count, dtype=np.int64),
            collectives=first, spares=spares,
        )  # fmt: skip

    def _with_ways(self, networks: Designs) -> Iterator[Designs]:
        """Yield networks with a plan of each group of plans that they can hold."""
        ways_of, ways = self._held
        node, place = ways_of.of(networks.structure)
        for start in range(0, len(node), _PAIRS):
            way = ways[place[start : start + _PAIRS]]
            some = networks.select(node[start : start + _PAIRS])
            yield replace(some, group=way, plan=self._plans.ways.examples[:, way])

    @cached_property
    def _schedules(self) -> IntArray:
        return schedules_of(self.problem)

    @cached_property
    def _plans(self) -> UsefulPlans:
        return plans_of(self.problem)

    @cached_property
    def _held(self) -> tuple[Members, IntArray]:
        """The groups of plans that each combination can hold."""
        table = self.problem.structures.table
        assert table is not None, "there are networks"  # noqa: S101 - internal error
        shape, way = held(self.problem, self._plans, table.npus, table.technology)
        return Members(shape, len(table)), way

    @cached_property
    def stages(self) -> list[Stage]:
        """The bounds that designs have to pass before they are evaluated."""
        bound, tables, found = bound_of(self.problem), bool(self.problem.time.tables), []
        if bound is not None and tables:
            plans = self._plans
            found.append(Stage(self._under(plans.ways.bound), self._with_clusters))
            found.append(Stage(self._under(plans.clusters.bound), self._with_plans))
        if bound is not None and not self.problem.time.exact:
            found.append(Stage(self._under(bound), self._with_schedules))
        return found

    @property
    def limits(self) -> tuple[Constraint, ...]:
        """The limits that bounds are under: those that a longer time does not keep."""
        kept = (c for c in self.problem.constraints if c.quantity == BANDWIDTH or not MEASURES[c.quantity].timed)
        return tuple(kept)

    def _under(self, time: TimeModel) -> Problem:
        """Return the problem under an exact time, with the limits of bounds."""
        found = replace(self.problem, time=time, constraints=self.limits)
        # The same for all of them, and long to make.
        vars(found).update({"pricing": self.problem.pricing, "traffic": self._traffic})
        return found

    @cached_property
    def _traffic(self) -> TrafficTable:
        bound = bound_of(self.problem)
        if bound is None or self.problem.time.exact:
            return self.problem.traffic
        return TrafficTable(self.problem.structures, bound)

    def _with_clusters(self, some: Designs) -> Designs:
        """Return designs with all smaller groups of plans of their groups."""
        node, cluster = self._plans.clusters_of_ways.of(some.group)
        return replace(some.select(node), group=cluster, plan=self._plans.clusters.examples[:, cluster])

    def _with_plans(self, some: Designs) -> Designs:
        """Return designs with all plans of their groups, the last ones that designs have."""
        groups = self._plans.clusters if self.stages else self._plans.ways
        node, plan = groups.members.of(some.group)
        return replace(some.select(node), plan=self._plans.plans[:, plan])

    def _with_schedules(self, some: Designs) -> Designs:
        """Return designs with all ways to run collectives."""
        count = self._schedules.shape[1]
        found = some.select(np.repeat(np.arange(len(some)), count))
        return replace(found, collectives=np.tile(self._schedules, len(some)))

    def pass_on(self, some: Designs, place: int) -> None:
        """Bound designs, and pass on those that may not be beaten, the lowest bounds first."""
        if place == len(self.stages):
            self.evaluate(some)
            return
        stage = self.stages[place]
        bound = some.figures(stage.problem)
        if not place:
            self._count(some, bound)
        bound *= 1.0 - ROUNDING
        for mine, rest in self._promising(bound):
            left = mine[~beaten(bound[:, mine], self.best)]
            self.left[place] = bound[:, np.concatenate([left, rest])]
            if self._late:
                self._leave(some.select(left), bound[:, left])
            elif len(left):
                self.left[place] = bound[:, rest]
                self.pass_on(stage.expand(some.select(left)), place + 1)
            self.left.pop(place)

    @property
    def _late(self) -> bool:
        return self.watch(self._progress)

    @property
    def _progress(self) -> Progress:
        factor = self._factor if self.known is not None and self.known.size else None
        share = self.seen / self._networks if factor is not None else 1.0
        waiting = self.waiting + sum(one.shape[1] for one in self.left.values())
        return Progress(self.timed, waiting, factor, share)

    @cached_property
    def _networks(self) -> int:
        return count_networks(self.problem) or self.seen

    def _factor(self) -> float:
        """Return the largest factor of the known designs against those that were evaluated and the bounds of others."""
        assert self.known is not None, "callers have looked"  # noqa: S101 - internal error
        best = np.concatenate([self.best, *self.bounds, *self.left.values()], axis=1)
        return float(factors(self.known, best[:, non_dominated(best)]).max())

    def _leave(self, some: Designs, bound: FloatArray) -> None:
        """Let bounds stand for designs that are not evaluated any more."""
        self.waiting += len(some)
        self.bounds.append(bound[:, non_dominated(bound)])

    def _without_traffic(self, some: Designs) -> FloatArray:
        """Return (m, n) objectives that designs do not undercut: those with a time in which nothing is sent."""
        figures = self.problem.measure(some.population(self.problem), timed=False)
        return values(self.problem.objectives, replace(figures, time=np.full(len(some), self._compute)))

    @cached_property
    def _compute(self) -> float:
        """Seconds that the workloads compute, at least, under any plan."""
        time, nothing = self._plans.time, np.zeros(len(self._plans))
        times = time.times_of([nothing] * len(time.channels), self._plans.plans)
        return float(time.weighted(times.workloads).min())

    def _promising(self, bound: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield places of designs in batches, first those whose bounds no other one beats, and those of the rest."""
        left = np.flatnonzero(~beaten(bound, self.best))
        first = non_dominated(bound[:, left])
        yield left[first], left[~first]
        rest = left[~first]
        rest = rest[~beaten(bound[:, rest], self.best)]
        rest = rest[np.argsort(np.log(bound[:, rest]).sum(axis=0), kind="stable")]
        yield from ((rest[start : start + _BATCH], rest[start + _BATCH :]) for start in range(0, len(rest), _BATCH))

    def _count(self, some: Designs, figures: FloatArray) -> None:
        """Count the networks among designs that meet the limits; the designs of a network follow each other.

        The designs of a network may come in several parts: each part begins with the network that the last one ends in.
        """
        networks = np.vstack([some.structure, some.bandwidth])[:, np.isfinite(figures).all(axis=0)]
        if not networks.shape[1]:
            return
        before = np.full((len(networks), 1), -1.0) if self.last is None else self.last
        networks = np.concatenate([before, networks], axis=1)
        self.networks += int((networks[:, 1:] != networks[:, :-1]).any(axis=0).sum())
        self.last = networks[:, -1:]

    def evaluate(self, some: Designs) -> None:
        """Evaluate designs and keep those that nothing beats so far."""
        figures = some.figures(self.problem)
        self.timed += len(some)
        if not self.stages:
            self._count(some, figures)
        # Most are beaten whatever their last digits.
        left = np.flatnonzero(~beaten(figures * (1.0 - _SAME), self.best))
        figures = rounded(figures[:, left])
        new = np.flatnonzero(non_dominated(np.concatenate([self.best, figures], axis=1))[self.best.shape[1] :])
        if len(new):
            self.found.append((some.select(left[new]), figures[:, new]))
            every = np.concatenate([self.best, figures[:, new]], axis=1)
            self.best = every[:, non_dominated(every)]
