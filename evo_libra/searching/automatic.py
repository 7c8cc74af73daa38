"""The default engine: all designs of whole ports where looking at each is cheaper than a search, and a search else."""

from __future__ import annotations

from evo_libra.optimality.whole_designs import bound_of, effort_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engines.contributions import MAX_OBJECTIVES

AUTO, PROOF, SEARCH, SMALL = "auto", "exhaustive", "nsga2", "smsemoa"
"""What stands for the choice, and what is chosen: a proof, a search, and a search with a small population."""

SMALL_POPULATION = 325
"""Below it SMS-EMOA finds larger fronts than NSGA-II; with twice as many designs both find the same, and NSGA-II takes
less time. See `docs/studies/engine_quality.md`."""

_LOOKS, _LOOKS_AT_PLANS, _LOOKS_AT_TIMES = 8, 2, 1
"""Designs that are looked at in the time of an evaluation of a search: networks, their pairs with groups of plans, and
designs that no bound leaves out; see `tests/benchmarks/quality.py`."""

_FEW = 2
"""Objectives up to which a front has far fewer designs than are looked at."""


def choose(problem: SearchProblem, evaluations: int, population: int, *, searched: str = "") -> tuple[str, str]:
    """Return the engine of a search with so many evaluations, and why; no reason where only a search can do.

    The choice counts designs and no seconds, so that it is the same on every machine. `searched` names a setting that
    only a search has; empty where there is none.
    """
    few = population < SMALL_POPULATION and len(problem.objectives) <= MAX_OBJECTIVES
    engine = SMALL if few else SEARCH
    if not isinstance(problem, Problem) or not problem.pricing.whole:
        return engine, ""
    if searched:
        return engine, f"Engine {engine}: {searched} belongs to a search"
    looks = effort_of(problem)
    if looks is None:
        return engine, f"Engine {engine}: there are too many designs of whole ports to enumerate"
    if looks > evaluations * _looks(problem):
        return (
            engine,
            f"Engine {engine}: enumerating {looks:,} designs would take more than {evaluations:,} evaluations",
        )
    return PROOF, f"Engine {PROOF}: enumerating {looks:,} designs takes less than {evaluations:,} evaluations"


def _looks(problem: Problem) -> int:
    if bound_of(problem) is None or len(problem.objectives) > _FEW:
        return _LOOKS_AT_TIMES
    return _LOOKS_AT_PLANS if problem.time.tables else _LOOKS
