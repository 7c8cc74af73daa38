"""The design that comes nearest to the constraints of a problem in which none meets them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import Population
from evo_libra.optimality.enumeration import Enumeration
from evo_libra.optimality.watch import never
from evo_libra.optimality.whole_designs import Designs, effort_of, kept_by_faster, networks_of
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.problem import Problem

_MAX_EFFORT = 1_000_000
"""Designs, or groups of them that a bound stands for, up to which the nearest one is found: some seconds."""

_BATCH = 4096
_ROUNDING = 1e-9


def nearest_design(problem: Problem) -> Population | None:
    """Return the design of the least violation, the fastest one of several; None where they are too many to evaluate.

    Designs are those of whole ports. The first objective stands for how fast they are.
    """
    effort = effort_of(problem)
    if effort is None or effort > _MAX_EFFORT:
        return None
    work = _Nearest(problem, np.empty((len(problem.objectives), 0)), never)
    for structure, bandwidth in networks_of(problem):
        work.look_at(structure, bandwidth)
    return None if work.nearest is None else work.nearest.population(problem)


@dataclass
class _Nearest(Enumeration):
    """Designs whose bounds do not say that another one is nearer, and the nearest of those that were evaluated."""

    nearest: Designs | None = None
    distance: tuple[float, float] = (math.inf, math.inf)

    @property
    def limits(self) -> tuple[Constraint, ...]:
        """All limits, if a shorter time never breaks one further; else those of any bound."""
        constraints = self.problem.constraints
        return constraints if all(map(kept_by_faster, constraints)) else super().limits

    def pass_on(self, some: Designs, place: int) -> None:
        """Bound the violations of designs, and pass on those that may be nearer, the lowest bounds first."""
        if place == len(self.stages):
            self.evaluate(some)
            return
        stage = self.stages[place]
        bound = some.evaluated(stage.problem).violation * (1.0 - _ROUNDING)
        order = np.argsort(bound, kind="stable")
        for start in range(0, len(order), _BATCH):
            mine = order[start : start + _BATCH]
            left = mine[bound[mine] <= self.distance[0]]
            if len(left):
                self.pass_on(stage.expand(some.select(left)), place + 1)

    def evaluate(self, some: Designs) -> None:
        """Evaluate designs and keep the nearest one so far."""
        found = some.evaluated(self.problem)
        best = int(np.lexsort((found.objectives[0], found.violation))[0])
        distance = float(found.violation[best]), float(found.objectives[0, best])
        if distance < self.distance:
            self.nearest, self.distance = some.select(np.array([best])), distance
