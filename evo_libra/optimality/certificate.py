"""Proven distance of a front from the optimum: against lower bounds of the least time at every cost."""

from __future__ import annotations

import time as clock
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.front.front import Front
from evo_libra.front.indicators import REFERENCE, hypervolume
from evo_libra.optimality.bounds import bound_variants
from evo_libra.optimality.branch_and_bound import branch_and_bound
from evo_libra.optimality.ideal_bandwidth import bound_at, ideal_of, levels
from evo_libra.optimality.useful_ways import UsefulOptions
from evo_libra.optimality.watch import Progress, Watch, watch_of
from evo_libra.optimality.whole_ports import whole_ideal
from evo_libra.problem.plans import plans_that_fit, useful_plans
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME

ENUMERATED = 1_000
"""Largest number of combinations that are bounded one by one; beyond, branch and bound prunes most of them."""

_LEVELS = 1000
_MANY_PAIRS = 5_000
_FINE = 100_000
_BRANCH_LEVELS, _END_LEVELS, _END_STEPS = 1000, 40, 60
_SEARCHED = 6.0
"""Time for the search of combinations after a certificate, in times of that certificate."""
_BELOW = 1e-8
"""Factor of a cost that counts as just below it; more than the tolerance of a least cost."""


@dataclass(frozen=True)
class Certificate:
    """The proof of a front.

    Attributes
    ----------
    hypervolume : of the front, on log10 axes scaled so that the ideal front's best values are 0 and its worst ones 1,
        reference point 1.1. If the space is too large to know the ideal's ends, those of the best front known are
        taken.
    max_hypervolume : that no front can exceed, on the same axes.
    factor : (n,) at least 1: no design of the same cost is faster than that design by more than this factor.
    largest_factor : the same of the whole front, also between its designs: at every cost from that of its cheapest
        design on, the fastest design the front has for the money, against the ideal.
    at_cost : USD where the largest factor is.
    fastest : seconds that no design undercuts.
    structures : of the space; `looked` : those evaluated, partial ones included; the others are excluded by bounds.
    waiting : partial combinations still to be evaluated; 0 where the proof is as tight as it gets.
    solved : programs solved.
    plans : parallelisation plans that fit the memory, of all workloads together; 1 where none is open.
    networks : of whole ports, each of which was evaluated; 0 where parts come in any fraction.
    """

    hypervolume: float
    max_hypervolume: float
    factor: FloatArray
    largest_factor: float
    at_cost: float
    fastest: float
    structures: int
    looked: int
    waiting: int
    solved: int
    plans: int = 1
    networks: int = 0

    @property
    def missed_hypervolume(self) -> float:
        """The most that the front can be missing."""
        return max(self.max_hypervolume - self.hypervolume, 0.0)


@dataclass(frozen=True)
class _Designs:
    """Time and cost of a front, cheapest first; `order` puts figures of them in the order of the front."""

    time: FloatArray
    cost: FloatArray
    order: IntArray


@dataclass(frozen=True)
class _Bounds:
    """Lower bounds of the time that the ideal needs.

    Attributes
    ----------
    at : seconds that no design of at most these (k,) costs undercuts.
    cost : (m,) USD, ascending, from the cheapest design on; the bound is constant within each step.
    fastest : seconds that nothing undercuts.
    best, worst : (2,) seconds and USD that are 0 and 1 on the axes of the hypervolume.
    """

    at: Callable[[FloatArray], FloatArray]
    cost: FloatArray
    fastest: float
    best: FloatArray
    worst: FloatArray


def certify(problem: Problem, front: Front, seconds: float | None = None) -> Certificate:
    """Prove how far a front is from the best one of a problem.

    The proof rests on the problem's own time model, technologies, box and linear constraints, over every combination,
    block and plan, and on lower bounds computed in doubles from dual multipliers. It leaves out lower limits of time,
    which can only lower the bounds. Over a large space it ends after some `seconds`, or by itself.

    Of whole ports, where these are not too many, every network is evaluated under the problem's own time, with every
    plan and way to run collectives that no bound excludes, and the proof is exact.

    Raises
    ------
    InputError : the front is empty, or the problem does not minimise time and cost.

    >>> from evo_libra import certify, load_problem, search
    >>> problem = load_problem("turing-nlg-4k")
    >>> proof = certify(problem, search(problem, engine="exhaustive"))
    >>> bool(proof.factor.max() < 1 + 1e-8), proof.missed_hypervolume < 0.001
    (True, True)
    """
    [found] = deque(certificates(problem, front, seconds), maxlen=1)
    return found


def of_time_and_cost(front: Front) -> bool:
    """Return whether a front is of time against cost, whose proof need not evaluate every design."""
    return set(front.objectives) == {TIME.column, COST.column}


def certificates(
    problem: Problem,
    front: Front,
    seconds: float | None = None,
    stopped: Callable[[], bool] = lambda: False,
    report: Callable[[Progress], None] = lambda _progress: None,
) -> Iterator[Certificate]:
    """Yield tighter and tighter certificates of a front; see `certify`. A space that can be enumerated has just one.

    Half of the `seconds` at most are for the ends of the best front known, which scale the hypervolume. Once it is
    `stopped`, the next certificate is the last one. Of whole ports there is one, and `report` takes how
    far it is.
    """
    if not of_time_and_cost(front):
        raise InputError("a certificate needs a front of time against cost; this one minimises something else")
    if not len(front):
        raise InputError("the front is empty: there is nothing to certify")
    time = front.frame[TIME.column].to_numpy() * TIME.scale
    cost = front.frame[COST.column].to_numpy() * COST.scale
    order = np.lexsort((time, cost))
    designs = _Designs(time[order], cost[order], np.argsort(order, kind="stable"))
    until = None if seconds is None else clock.monotonic() + seconds
    if (found := _of_whole_ports(problem, designs, watch_of(seconds, stopped, report))) is not None:
        yield found
        return
    relaxed = problem.relaxed()
    if len(problem.structures) > ENUMERATED or _many_pairs(relaxed):
        half = None if until is None or seconds is None else until - 0.5 * seconds
        yield from _branched(relaxed, designs, _ends(relaxed, designs, half, stopped), until, stopped)
    else:
        yield _enumerated(relaxed, designs)


def _many_pairs(problem: Problem) -> bool:
    """Return whether there are many pairs of a combination and a plan, most of which bounds exclude at once."""
    plans = len(useful_plans(problem.time, problem.constraints)) if problem.time.tables else 0
    return plans * len(problem.structures) > _MANY_PAIRS


def _of_whole_ports(problem: Problem, designs: _Designs, watch: Watch) -> Certificate | None:
    """Return the certificate against networks of whole ports; None where there are too many."""
    ideal = whole_ideal(problem, designs.cost, designs.time, watch)
    if ideal is None:
        return None
    limit = _time_limit(problem)
    reached = np.flatnonzero(ideal.time <= limit)
    first, fastest = ideal.cost[reached[0]], float(ideal.time.min())
    last = ideal.cost[int((ideal.time <= fastest).argmax())]
    steps = ideal.cost[np.append(True, np.diff(ideal.time) < 0) & (ideal.cost >= first) & (ideal.cost <= last)]
    # The bound is constant from a step to just below the next one.
    cost = np.unique(np.concatenate([steps, steps[1:] * (1.0 - _BELOW), [last * (1.0 + _BELOW)]]))
    best, worst = np.array([fastest, first]), np.array([float(ideal.time[reached[0]]), last])
    proven = _Bounds(ideal.at, cost, fastest, best, worst)
    found = _certificate(problem, designs, proven=proven, looked=ideal.timed, waiting=ideal.waiting, solved=0)
    return replace(found, networks=ideal.networks)


def _enumerated(problem: Problem, designs: _Designs) -> Certificate:
    bounds = bound_variants(problem)
    grid = levels(problem, bounds, _LEVELS)
    ideal = ideal_of(problem, np.unique([*grid, *designs.cost]), bounds)
    reached = ideal.time <= _time_limit(problem)
    first, last, fastest = float(ideal.cost[reached][0]), float(grid[-1]), float(bounds.min_time.min())
    fine = np.unique(np.concatenate([np.geomspace(first, last, _FINE), ideal.cost[reached & (ideal.cost <= last)]]))
    best, worst = np.array([fastest, first]), np.array([float(ideal.time[reached][0]), last])
    proven = _Bounds(partial(bound_at, bounds, ideal), fine, fastest, best, worst)
    return _certificate(problem, designs, proven=proven, looked=len(bounds), waiting=0, solved=len(ideal.lines.at))


def _branched(
    problem: Problem, designs: _Designs, ends: tuple[FloatArray, FloatArray], until: float | None,
    stopped: Callable[[], bool],
) -> Iterator[Certificate]:  # fmt: skip
    best, worst = ends
    cost, time = _branch_levels(problem, designs, best[1], worst[1])
    took, due = 0.0, 0.0
    for found in branch_and_bound(problem, cost, time):
        now = clock.monotonic()
        last = stopped() or (until is not None and now + took > until)
        if now < due and found.waiting and not last:
            continue
        # Bounds fall with the cost: between two levels the one at the upper end holds.
        lower = np.minimum.accumulate(found.bound)
        proven = _Bounds(partial(_staircase, cost, lower), cost, float(lower[-1]), best, worst)
        yield _certificate(
            problem, designs, proven=proven, looked=found.looked, waiting=found.waiting, solved=found.solved
        )
        if last:
            return
        took = clock.monotonic() - now
        due = now + _SEARCHED * took


def _ends(
    problem: Problem, designs: _Designs, until: float | None, stopped: Callable[[], bool]
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the best front known: (2,) seconds and USD that are its best, and that are its worst.

    The cost of the cheapest design is known; a short branch and bound finds the other three figures.
    """
    lowest = max(UsefulOptions(problem).min_cost(), problem.budgets()[0])
    ends = np.array([lowest * (1.0 + _BELOW), max(problem.pricing.max_cost(), 2.0 * designs.cost[-1])])
    for found in islice(branch_and_bound(problem, ends, np.full(2, np.inf)), _END_STEPS):
        time, spent = found.ideal.time, found.spent
        if stopped() or (until is not None and clock.monotonic() > until):
            break
    slowest = min(time[0], _time_limit(problem)) if np.isfinite(time[0]) else designs.time.max()
    highest = spent[1] if time[1] < designs.time.min() * (1.0 - _BELOW) else designs.cost[designs.time.argmin()]
    best = np.array([min(time[1], designs.time.min()), min(lowest, designs.cost[0])])
    return best, np.array([max(slowest, best[0]), max(highest, best[1])])


def _branch_levels(problem: Problem, designs: _Designs, lowest: float, highest: float) -> tuple[FloatArray, FloatArray]:
    """Return costs to prove a bound at, and the best time of the front at each: infinite below its cheapest design."""
    low, high = designs.cost[0], max(designs.cost[-1], highest)
    thinned = designs.cost[np.unique(np.linspace(0, len(designs.cost) - 1, _BRANCH_LEVELS).astype(np.int64))]
    beyond = highest * (highest / lowest) ** (REFERENCE - 1.0)
    # At the last level every budget is enough.
    ends = [*np.geomspace(lowest, low, _END_LEVELS), *np.geomspace(designs.cost[-1], max(high, beyond), _END_LEVELS)]
    cost = np.unique([*ends, *thinned, max(problem.pricing.max_cost(), 2.0 * max(high, beyond))])
    known = np.minimum.accumulate(designs.time)
    place = np.searchsorted(designs.cost, cost, side="right") - 1
    return cost, np.where(place >= 0, known[np.maximum(place, 0)], np.inf)


def _time_limit(problem: Problem) -> float:
    """Return the seconds that every feasible design keeps to, infinity without such a constraint."""
    upper = [c for c in problem.constraints if c.quantity == TIME.name and c.objective > 0]
    return min((constraint.limit / constraint.objective for constraint in upper), default=np.inf) * (1.0 + _BELOW)


def _staircase(cost: FloatArray, lower: FloatArray, at: FloatArray) -> FloatArray:
    return np.asarray(lower[np.searchsorted(cost, at).clip(0, len(cost) - 1)])


def _certificate(
    problem: Problem, designs: _Designs, proven: _Bounds, looked: int, waiting: int, solved: int
) -> Certificate:
    factor = np.maximum(designs.time / proven.at(designs.cost), 1.0)
    # Just below the cost of the next design, the front still has nothing better than this one.
    between = designs.time / np.append(proven.at(designs.cost[1:] * (1.0 - _BELOW)), proven.fastest)
    worst = int(between.argmax())
    bound = proven.at(proven.cost[1:])
    # If even the bound is too slow there is no feasible design.
    bound = np.where(bound > _time_limit(problem), np.inf, bound)
    lower = np.stack([np.append(bound, proven.fastest), proven.cost])
    return Certificate(
        hypervolume=hypervolume(np.stack([designs.time, designs.cost]), proven.best, proven.worst),
        max_hypervolume=hypervolume(lower, proven.best, proven.worst), factor=factor[designs.order],
        largest_factor=float(max(between[worst], factor.max())),
        at_cost=float(designs.cost[min(worst + 1, len(designs.cost) - 1)]), fastest=proven.fastest,
        structures=len(problem.structures), looked=looked, waiting=waiting, solved=solved,
        plans=plans_that_fit(problem.time, problem.constraints),
    )  # fmt: skip
