"""How far a front is from optimal, proven: against lower bounds of the least time at every cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.errors import InputError
from evo_libra.front.front import Front
from evo_libra.front.ideal import Ideal, Screen, bound_at, ideal_of, levels, screen
from evo_libra.front.indicators import hypervolume
from evo_libra.model.arrays import FloatArray
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME

_LEVELS = 1000
_FINE = 100_000
_BELOW = 1e-8
"""What counts as just below a cost; more than the tolerance of a least cost."""


@dataclass(frozen=True)
class Certificate:
    """What is proven of a front.

    Attributes
    ----------
    hypervolume : of the front, on log10 axes scaled so that the ideal front's best values are 0 and its worst ones 1,
        reference point 1.1.
    most_hypervolume : that no front can exceed.
    factor : (n,) at least 1: no design of the same cost is faster than that design by more than this factor.
    largest_factor : the same of the whole front, also between its designs: at every cost from that of its cheapest
        design on, the fastest design the front has for the money, against the ideal.
    at_cost : USD where the largest factor is.
    cheapest : USD that no feasible design undercuts; `fastest` : seconds that none undercuts.
    structures : of the space; `solved` : programs solved, the others are excluded by bounds.
    gap : largest relative gap of the ideal's own times.
    """

    hypervolume: float
    most_hypervolume: float
    factor: FloatArray
    largest_factor: float
    at_cost: float
    cheapest: float
    fastest: float
    structures: int
    solved: int
    gap: float

    @property
    def missed_hypervolume(self) -> float:
        """The most that the front can be missing."""
        return max(self.most_hypervolume - self.hypervolume, 0.0)


def certify(problem: Problem, front: Front) -> Certificate:
    """Prove how far a front is from the best one of a problem.

    What it rests on: the problem's own time model, technologies, box and linear constraints, over every structure and
    block; lower bounds computed in doubles from dual multipliers. Constraints on time are left out, which can only lower
    the bounds.

    Parameters
    ----------
    problem : that the front is of.
    front : designs with time and cost, from any engine.

    Raises
    ------
    InputError : the front is empty, or the problem does not minimise time and cost.
    """
    if set(front.objectives) != {TIME.column, COST.column}:
        raise InputError("a certificate needs a front of time against cost; this one minimises something else")
    if not len(front):
        raise InputError("the front is empty: there is nothing to certify")
    frame = front.frame.sort(COST.column)
    time, cost = frame[TIME.column].to_numpy() * TIME.scale, frame[COST.column].to_numpy() * COST.scale
    bounds = screen(problem)
    grid = levels(problem, bounds, _LEVELS)
    ideal = ideal_of(problem, np.unique(np.concatenate([grid, cost])), bounds)
    limits = _limits(bounds, ideal)
    factor = time / ideal.bound[np.searchsorted(ideal.cost, cost)]
    # Just below the cost of the next design, the front still has nothing better than this one.
    following = np.append(bound_at(bounds, ideal, cost[1:] * (1.0 - _BELOW)), bounds.saturated.min())
    between = time / following
    worst = int(between.argmax())
    volume, most = _hypervolumes(ideal, limits, time, cost)
    order = np.argsort(np.argsort(front.frame[COST.column].to_numpy(), kind="stable"), kind="stable")
    solved = np.isfinite(ideal.time)
    return Certificate(
        volume, most, np.maximum(factor, 1.0)[order], float(max(between[worst], 1.0)),
        float(cost[min(worst + 1, len(cost) - 1)]), float(bounds.least.min()), float(bounds.saturated.min()),
        len(problem.structures), len(ideal.lines.at),
        float((1.0 - ideal.bound[solved] / ideal.time[solved]).max(initial=0.0)),
    )  # fmt: skip


def _limits(bounds: Screen, ideal: Ideal) -> tuple[FloatArray, FloatArray]:
    """Return costs, and (one less) times that no design of a cost between two of them undercuts."""
    reached = np.isfinite(ideal.time)
    first, last = ideal.cost[reached][0], ideal.cost[-1]
    fine = np.unique(np.concatenate([np.geomspace(first, last, _FINE), ideal.cost[reached]]))
    return fine, bound_at(bounds, ideal, fine[1:])


def _hypervolumes(
    ideal: Ideal, limits: tuple[FloatArray, FloatArray], time: FloatArray, cost: FloatArray
) -> tuple[float, float]:
    reached = np.isfinite(ideal.time)
    fine, bound = limits
    best = np.array([bound.min(), fine[0]])
    nadir = np.array([ideal.time[reached].max(), ideal.cost[reached].max()])
    # Bounds fall with the cost, so the one at the end of an interval holds in all of it.
    lower = np.stack([np.append(bound, bound[-1]), fine])
    return hypervolume(np.stack([time, cost]), best, nadir), hypervolume(lower, best, nadir)
