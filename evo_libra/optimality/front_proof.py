"""The distance of a front of any objectives from the optimum, proven by evaluating every network of whole ports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import non_dominated
from evo_libra.front.front import Front
from evo_libra.front.indicators import hypervolume
from evo_libra.optimality.comparisons import factors, reached
from evo_libra.optimality.watch import Watch, watch_of
from evo_libra.optimality.whole_front import WholeFront, whole_front
from evo_libra.problem.plans import plans_that_fit
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import HasObjectives


@dataclass(frozen=True)
class FrontProof:
    """The proof of a front.

    Attributes
    ----------
    factor : (n,) at least 1: no design that is as good in all objectives but one is better in that one by more than
        this factor.
    missing : designs of the exact front that no design of this one is as good as.
    near : those of them that a design of this one is as good as but for `within`, up to which designs are one row.
    hypervolume, max_hypervolume : of the front, and that no front can exceed, on log10 axes scaled so that the best
        values of both fronts are 0 and their worst ones 1, reference point 1.1.
    exact : designs of the exact front.
    networks : that meet the limits; `timed` : designs that were evaluated; `waiting` : bounds that stand for others.
    plans : that fit the memory, of all workloads together; 1 where none is open.
    """

    factor: FloatArray
    missing: int
    near: int
    within: float
    hypervolume: float
    max_hypervolume: float
    exact: int
    networks: int
    timed: int
    waiting: int
    plans: int

    @property
    def largest_factor(self) -> float:
        """The largest factor of a design."""
        return float(self.factor.max())

    @property
    def missed_hypervolume(self) -> float:
        """The most that the front can be missing."""
        return max(self.max_hypervolume - self.hypervolume, 0.0)


def prove_front(problem: Problem, front: Front, seconds: float | None = None, watch: Watch | None = None) -> FrontProof:
    """Prove how far a front is from the exact one, of any objectives, under the problem's own time and limits.

    It ends after some `seconds`, or once a `watch` in their place says so, with bounds of what is left. An `InputError`
    says that the front is empty or of other objectives, or that there are too many designs.
    """
    mine = objectives_of(problem, front)
    found = whole_front(problem, mine, watch or watch_of(seconds))
    if found is None:
        raise InputError(
            "a proof of other objectives than time and cost evaluates every design of whole ports; there are too many, "
            "or parts come in any fraction"
        )
    return _proof(problem, mine, found)


def objectives_of(problem: HasObjectives, front: Front) -> FloatArray:
    """Return the (m, n) objectives of a front in SI; an `InputError` says that it is empty or of others."""
    columns = tuple(objective.column for objective in problem.objectives)
    if not len(front):
        raise InputError("the front is empty: there is nothing to certify")
    if front.objectives != columns:
        raise InputError(f"the front is of {', '.join(front.objectives)}, and the problem of {', '.join(columns)}")
    return np.array([front.frame[one.column].to_numpy() * one.scale for one in problem.objectives])


def _proof(problem: Problem, mine: FloatArray, found: WholeFront) -> FrontProof:
    counts = Counts(found.networks, found.timed, found.waiting, plans_that_fit(problem.time, problem.constraints))
    return distance_of(mine, found.objectives, found.bound, problem.settings.epsilon or 0.0, counts)


@dataclass(frozen=True)
class Counts:
    """The counts that a proof rests on, as in `FrontProof`."""

    networks: int
    timed: int
    waiting: int
    plans: int


def distance_of(
    mine: FloatArray, exact: FloatArray, bound: FloatArray, within: float, counts: Counts
) -> FrontProof:  # fmt: skip
    """Return how far a front is from the exact one.

    Parameters
    ----------
    mine, exact : (m, n) and (m, k) objectives.
    bound : (m, j) objectives, one of which is as good in each of the designs that were not examined.
    within : difference up to which designs of a front are one row.
    counts : what the proof rests on.
    """
    best = np.concatenate([exact, bound], axis=1)
    every = np.concatenate([mine, best], axis=1)
    every = every[:, non_dominated(every)]
    low, high = every.min(axis=1), every.max(axis=1)
    missing = ~reached(exact, mine)
    near = reached(exact[:, missing], mine / (1.0 + within))
    return FrontProof(
        factor=factors(mine, best), missing=int(missing.sum()), near=int(near.sum()), within=within,
        hypervolume=hypervolume(mine, low, high), max_hypervolume=hypervolume(every, low, high),
        exact=exact.shape[1], **vars(counts),
    )  # fmt: skip
