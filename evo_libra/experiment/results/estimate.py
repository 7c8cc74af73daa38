"""Estimates of the time of runs."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from evo_libra.experiment.execution.search_loop import snapshots, with_processes
from evo_libra.experiment.results.catalogue import Catalogue
from evo_libra.experiment.run.origin import build
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.searching.engine import EXHAUSTED
from evo_libra.searching.evaluation.parallel import ExpensiveProblem

OVERHEAD_SECONDS = 0.02
"""Of a run, besides its search: files, the way to a worker and back."""
MAX_TRIALS, TRIAL_SECONDS = 8, 0.5


@dataclass(frozen=True)
class Estimate:
    """Estimated time of runs on one core, not a bound.

    Evaluations of shorter runs that longer ones go on from are counted once. The last three are how many runs were
    estimated by earlier runs of the same search, by a trial of up to half a second just now, and by other runs.
    """

    seconds: float
    evaluations: int
    from_earlier: int
    from_trial: int
    from_similar: int


def estimate(runs: Sequence[RunSpec], results: Path) -> Estimate:
    """Return how long runs will take on one core of this machine, by the pace of earlier runs where there are any."""
    earlier = _earlier(results)
    tried: dict[str, float] = {}
    for spec in runs:
        if spec.search not in earlier and spec.search not in tried and len(tried) < MAX_TRIALS:
            tried[spec.search] = _trial(spec)
    known = [sum(spec.search in paces for spec in runs) for paces in (earlier, tried)]
    usual = _usual(runs, {**tried, **earlier})
    new = _new_evaluations(runs)
    work = sum(
        min(count / usual(spec), math.inf if spec.seconds is None else spec.seconds)
        for spec, count in zip(runs, new, strict=True)
    )
    seconds = work + OVERHEAD_SECONDS * len(runs)
    return Estimate(seconds, sum(new), known[0], known[1], len(runs) - sum(known))


def start_seconds(workers: int) -> float:
    """Return how long it takes on this machine until runs begin: this program starts, and then all its workers do."""
    begun = time.perf_counter()
    code = "import evo_libra.experiment.execution.worker"
    subprocess.run([sys.executable, "-P", "-c", code], check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - our own
    return (time.perf_counter() - begun) * (2 if workers else 1)


def _earlier(results: Path) -> Mapping[str, float]:
    """Return evaluations per second of the searches that have finished runs.

    They are those that were asked for: a run whose engine had nothing left to try took all the time that it takes.
    """
    catalogue = Catalogue.open(results)
    found: dict[str, list[float]] = {}
    for run in catalogue.runs("status:done,stale"):
        if run.wall_s > 0 and run.evaluations:
            count = run.budget if run.ended == EXHAUSTED else run.evaluations
            found.setdefault(run.search, []).append(count / run.wall_s)
    catalogue.close()
    return {search: median(paces) for search, paces in found.items()}


def _trial(spec: RunSpec) -> float:
    """Return evaluations per second of the first generations of a run, without the very first."""
    problem = with_processes(spec, build(spec.origin), None, retry=False)
    if isinstance(problem, ExpensiveProblem):
        return _pace_of_processes(problem)
    first, done, ended = None, 0, ""
    begun = start = time.perf_counter()
    with closing(snapshots(replace(spec, islands=1), problem)) as loop:
        for snapshot in loop:
            done, ended = snapshot.evaluations, snapshot.ended
            if first is None and not snapshot.ended:
                first, begun = done, time.perf_counter()
            if time.perf_counter() - begun > TRIAL_SECONDS:
                break
    if ended == EXHAUSTED:
        return spec.evaluations / max(time.perf_counter() - start, 1e-6)
    return max(done - (first or 0), 1) / max(time.perf_counter() - begun, 1e-6)


def _pace_of_processes(problem: ExpensiveProblem) -> float:
    """Return evaluations per second of a problem whose designs take long: a design a process, once these have begun."""
    genes = problem.genome.sample(np.random.Generator(np.random.PCG64(0)), 2 * problem.workers)
    with problem:
        problem.evaluate_genes(genes[:, : problem.workers])
        begun = time.perf_counter()
        problem.evaluate_genes(genes[:, problem.workers :])
        return problem.workers / max(time.perf_counter() - begun, 1e-6)


def _usual(runs: Sequence[RunSpec], paces: Mapping[str, float]) -> Callable[[RunSpec], float]:
    """Return what tells a run's pace: its own, else the median of those of its engine, else of all."""
    known = {spec.search: (spec.engine, paces[spec.search]) for spec in runs if spec.search in paces}

    def pace(spec: RunSpec) -> float:
        alike = [found for engine, found in known.values() if engine == spec.engine]
        return paces.get(spec.search) or median(alike or [found for _, found in known.values()])

    return pace


def _new_evaluations(runs: Sequence[RunSpec]) -> list[int]:
    """Return the evaluations of each run without those of the longest shorter run that it goes on from."""
    budgets: dict[tuple[str, int], list[int]] = {}
    for spec in runs:
        budgets.setdefault((spec.search, spec.seed), []).append(spec.evaluations)
    return [
        spec.evaluations
        - max((count for count in budgets[spec.search, spec.seed] if count < spec.evaluations), default=0)
        for spec in runs
    ]
