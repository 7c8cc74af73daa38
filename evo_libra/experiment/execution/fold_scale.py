"""The scale on which the progress of a run is measured."""

from __future__ import annotations

import numpy as np

from evo_libra.front.archive import Archive
from evo_libra.front.indicators import hypervolume
from evo_libra.arrays import FloatArray
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.evaluation.checked import evaluate_checked
from evo_libra.searching.evaluation.parallel import ExpensiveProblem, SlowProblem

_SAMPLE, _SEED = 128, 0

Scale = tuple[FloatArray, FloatArray]


def scale_of(problem: SearchProblem) -> Scale | None:
    """Return the ideal and the nadir point of the best of 128 designs drawn at random, the same for every run.

    Runs of one problem are measured alike whatever their engine and seed; a front that is better than the sample has a
    hypervolume above 1. The designs are not counted as evaluations. None when none of them is feasible, they have no
    extent in an objective, or a design takes long to evaluate.
    """
    if isinstance(problem, (ExpensiveProblem, SlowProblem)):
        return None
    genes = problem.genome.sample(np.random.Generator(np.random.PCG64(_SEED)), _SAMPLE)
    worth = evaluate_checked(problem, genes)
    best = Archive.empty(len(problem.genome), len(problem.objectives))
    best = best.add(genes, worth.objectives, worth.violation)
    if not len(best):
        return None
    ideal, nadir = best.objectives.min(axis=1), best.objectives.max(axis=1)
    return (ideal, nadir) if (nadir > ideal).all() else None


def measure(scale: Scale | None, objectives: FloatArray) -> float | None:
    """Return the hypervolume of (m, k) designs on a scale; None without one."""
    return None if scale is None else hypervolume(objectives, *scale)
