"""The sentence about a search that found nothing within the constraints, with the design that comes nearest to them."""

from __future__ import annotations

from numpy.random import default_rng

from evo_libra.arrays import Population
from evo_libra.optimality.nearest import nearest_design
from evo_libra.problem.designs import violations
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem

_DRAWN = 200
"""Designs that are drawn where there are too many to evaluate each."""


def infeasible_text(problem: SearchProblem, evaluations: int, *, whole: bool) -> str:
    """Return that a search of some designs, or of the `whole` space, found none, and what the nearest one breaks."""
    looked = "" if whole else f" among {evaluations:,} evaluated ones"
    advice = "loosen them" if whole else "loosen them, or give more --evaluations"
    if not isinstance(problem, Problem):
        return f"no design meets the constraints{looked}; {advice}"
    head = f"no {'design' if problem.book is None else 'order'} meets the constraints{looked}"
    who, nearest = _nearest(problem)
    broken = violations(problem, nearest)
    named = f"; {who}, {problem.notation.written(nearest)[0]}: {'; '.join(broken)}"
    return f"{head}{named if broken else ''}; {advice}"


def _nearest(problem: Problem) -> tuple[str, Population]:
    """Return a design that comes near to the constraints, and in words among which designs it is the nearest."""
    if (exact := nearest_design(problem)) is not None:
        return "the nearest of all (exact)", exact
    drawn = problem.decode(problem.genome.sample(default_rng(0), _DRAWN))
    return f"the nearest of {_DRAWN} random designs", drawn.select([int(problem.evaluate(drawn).violation.argmin())])
