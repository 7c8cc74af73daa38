"""Exact fronts of whole ports: every network with every plan and every way to run collectives, for any objectives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.front.archive import non_dominated
from evo_libra.optimality.enumeration import ROUNDING, Enumeration
from evo_libra.optimality.watch import Watch, never
from evo_libra.optimality.whole_designs import Designs, effort_of, networks_of
from evo_libra.problem.problem import Problem


@dataclass(frozen=True)
class WholeFront:
    """The designs that no other design beats; of designs with equal objectives there is one.

    Attributes
    ----------
    designs : n of them; `objectives` : (m, n) theirs in SI, in 12 digits, so that sums in another order are equal.
    networks : that meet all limits, those of the time aside where a bound leaves designs out.
    timed : designs that were evaluated under their own time.
    waiting : designs, or groups of them, for whose evaluation there was no time left.
    bound : (m, k) objectives; for each of these designs, one of the m is as good.
    """

    designs: Designs
    objectives: FloatArray
    networks: int
    timed: int
    waiting: int
    bound: FloatArray


def whole_front(problem: Problem, known: FloatArray | None = None, watch: Watch = never) -> WholeFront | None:
    """Return the exact front of a problem of whole ports; None where there are too many designs to evaluate.

    Parameters
    ----------
    problem : with any objectives, constraints and time.
    known : (m, k) objectives that some designs have, in SI: designs that are worse are left out, which spares work.
    watch : once it says so, designs are no more evaluated, where a bound stands for them.
    """
    if effort_of(problem) is None:
        return None
    none = np.empty((len(problem.objectives), 0))
    # A design that is known is not to be beaten by its own figures in other digits.
    best = none if known is None else known * (1.0 + ROUNDING)
    work = Enumeration(problem, best, watch, known=best)
    for structure, bandwidth in networks_of(problem):
        work.look_at(structure, bandwidth)
    return _front_of(work)


def _front_of(work: Enumeration) -> WholeFront:
    """Return the best of all designs that were evaluated, sorted by their objectives, the last one first."""
    some, none = work.designs_of(np.empty(0, np.int64), np.empty((len(work.problem.choices), 0))), work.best[:, :0]
    designs = some.join(*(designs for designs, _ in work.found))
    objectives = np.concatenate([none, *(values for _, values in work.found)], axis=1)
    kept = np.flatnonzero(non_dominated(objectives))
    kept = kept[np.lexsort(objectives[:, kept])]
    bound = np.concatenate([none, *work.bounds], axis=1)
    return WholeFront(
        designs=designs.select(kept), objectives=objectives[:, kept], networks=work.networks, timed=work.timed,
        waiting=work.waiting, bound=bound,
    )  # fmt: skip
