"""The design that comes nearest to the constraints of a problem in which none meets them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import Population
from evo_libra.optimality.whole_designs import Designs, count_designs, networks_of
from evo_libra.optimality.whole_front import Enumeration
from evo_libra.problem.problem import Problem


def nearest_design(problem: Problem) -> Population | None:
    """Return the design of the least violation, the fastest one of several; None where they are too many to evaluate.

    Designs are those of whole ports. The first objective stands for how fast they are.
    """
    if count_designs(problem) is None:
        return None
    work = _Nearest(problem, np.empty((len(problem.objectives), 0)), None)
    for structure, bandwidth in networks_of(problem):
        work.look_at(structure, bandwidth)
    return None if work.nearest is None else work.nearest.population(problem)


@dataclass
class _Nearest(Enumeration):
    """All designs, without bounds that leave some out, and the nearest of those that were evaluated."""

    nearest: Designs | None = None
    distance: tuple[float, float] = (math.inf, math.inf)

    stages = []  # noqa: RUF012 - a constant of the class
    """No bound: it would leave out designs that break constraints."""

    def evaluate(self, some: Designs) -> None:
        """Evaluate designs and keep the nearest one so far."""
        found = some.evaluated(self.problem)
        best = int(np.lexsort((found.objectives[0], found.violation))[0])
        distance = float(found.violation[best]), float(found.objectives[0, best])
        if distance < self.distance:
            self.nearest, self.distance = some.select(np.array([best])), distance
