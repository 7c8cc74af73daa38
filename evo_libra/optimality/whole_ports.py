"""The least time at every cost that networks of whole ports have, over all plans and ways to run collectives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.optimality.watch import Watch, never
from evo_libra.optimality.whole_front import whole_front
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME

_ROUNDING = 1e-9


@dataclass(frozen=True)
class WholeIdeal:
    """The least time at every cost that designs of whole ports have.

    Attributes
    ----------
    cost : (n,) USD where the least time falls, ascending, and that of designs which are known.
    time : (n,) seconds that no design of at most that cost undercuts.
    networks : that were evaluated; `timed` : designs that were timed; `waiting` : bounds that stand for those that
        were not.
    """

    cost: FloatArray
    time: FloatArray
    networks: int
    timed: int
    waiting: int

    def at(self, cost: FloatArray) -> FloatArray:
        """Return (k,) seconds that no design of at most (k,) USD undercuts; infinite below the cheapest."""
        place = np.searchsorted(self.cost, cost * (1.0 + _ROUNDING), side="right") - 1
        return np.where(place >= 0, self.time[np.maximum(place, 0)], np.inf)


def whole_ideal(problem: Problem, cost: FloatArray, time: FloatArray, watch: Watch = never) -> WholeIdeal | None:
    """Return the ideal of whole ports; None where there are too many designs, no whole ports, or none is feasible.

    Parameters
    ----------
    cost, time : (k,) USD and seconds of designs that are known; what does not beat them need not be timed.
    watch : once it says so, designs are no more timed, where bounds can stand for them.
    """
    mine = replace(problem, objectives=(TIME, COST))
    vars(mine).update({name: getattr(problem, name) for name in ("pricing", "traffic")})  # the same, and long to make
    known = np.stack([time, cost])
    found = whole_front(mine, known, watch)
    if found is None:
        return None
    every = np.concatenate([known, found.objectives, found.bound], axis=1)
    every = every[:, np.lexsort(every)]
    if not every.shape[1]:
        return None
    return WholeIdeal(every[1], np.minimum.accumulate(every[0]), found.networks, found.timed, found.waiting)
