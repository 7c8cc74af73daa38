"""Bandwidths of designs replaced by the best ones for the same money."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.problem.allocate import allocate
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME, SearchProblem


def best_bandwidths(problem: SearchProblem) -> Callable[[FloatArray], FloatArray] | None:
    """Return the function that gives (g, n) genes the best bandwidths that cost no more, exactly.

    None where there is nothing to gain, or no exact solution: bandwidths are solved for anyway, the problem is written
    in Python, its time is not LIBRA's, or time is no objective.
    """
    if not isinstance(problem, Problem) or problem.optimal or problem.time.fidelity is not None:
        return None
    names = [objective.name for objective in problem.objectives]
    if TIME.name not in names or not set(names) <= {TIME.name, COST.name}:
        return None
    # Not a function within this one: worker processes are sent it.
    return partial(_improved, problem)


def _improved(problem: Problem, genes: FloatArray) -> FloatArray:
    depth = len(problem.choices)
    structure, gene = genes[0].astype(np.int64), genes[1 : 1 + depth].astype(np.int64)
    designs = problem.tables.skeletons(structure, gene)
    cost = (designs.price * problem.decode(genes).bandwidth).sum(axis=0)
    priced = any(objective.name == COST.name for objective in problem.objectives)
    bandwidth = allocate(problem.tables, problem.constraints, designs, cost if priced else None)
    return problem.encode(structure, gene, bandwidth, cost)
