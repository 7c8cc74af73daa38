"""A comparison of engines on one problem: equal evaluations, several seeds, in processes of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import EvoLibraError, InputError
from evo_libra.front.archive import front
from evo_libra.front.indicators import additive_epsilon, attainment_surfaces, hypervolume, igd_plus
from evo_libra.optimality.whole_designs import effort_of
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engine import Engine
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.evaluation.workers import Workers
from evo_libra.searching.generations import generations
from evo_libra.searching.registry import load_engine

EXACT_DESIGNS = 8000
"""Designs of an exact front that others are compared with: twice as many change its hypervolume by less than 5e-5."""

FIGURES = ("hypervolume", "igd_plus", "epsilon", "evaluations_per_s", "engine_us")
"""Columns of each run; `engine_us` is the engine's own time per evaluation."""


@dataclass(frozen=True)
class Task:
    """One run of a comparison; see `evo_libra.searching.generations.generations`."""

    engine: str
    seed: int
    population: int
    evaluations: int


@dataclass(frozen=True)
class Run:
    """The (m, k) front of a run, and its seconds, in all and in the engine itself.

    There are fewer evaluations than asked for where the engine had nothing left to try.
    """

    task: Task
    objectives: FloatArray
    evaluations: int
    wall: float
    engine: float


@dataclass(frozen=True)
class Benchmark:
    """A comparison of engines.

    Attributes
    ----------
    runs : every run, engine by engine, seed by seed.
    reference : (m, r) the front that the others are compared with.
    ideal, nadir : (m,) its ends, which are 0 and 1 on the axes of the figures.
    figures : of each engine: a (seeds,) array for each of `FIGURES`.
    """

    runs: Mapping[str, Sequence[Run]]
    reference: FloatArray
    ideal: FloatArray
    nadir: FloatArray
    figures: Mapping[str, Mapping[str, FloatArray]]

    def surfaces(self) -> dict[str, list[FloatArray]]:
        """Return the surfaces that a quarter, half and three quarters of each engine's runs attain.

        They are those of the first two objectives; other ones are looked past.
        """
        return {name: attainment_surfaces([run.objectives[:2] for run in runs]) for name, runs in self.runs.items()}


def compare(runs: Sequence[Run], exact: FloatArray | None) -> Benchmark:
    """Compare runs, with the (m, r) exact front or else with the best of all of them; one at least found something."""
    every = np.concatenate([run.objectives for run in runs], axis=1) if exact is None else exact
    if not every.shape[1]:
        raise EvoLibraError("no run found a design that meets the constraints; loosen them, or give more --evaluations")
    reference = every[:, front(every)]
    ideal, nadir = reference.min(axis=1), reference.max(axis=1)
    names = dict.fromkeys(run.task.engine for run in runs)
    by_engine = {name: [run for run in runs if run.task.engine == name] for name in names}
    figures = {name: _figures(found, reference, ideal, nadir) for name, found in by_engine.items()}
    return Benchmark(by_engine, reference, ideal, nadir, figures)


def _figures(runs: Sequence[Run], reference: FloatArray, ideal: FloatArray, nadir: FloatArray) -> dict[str, FloatArray]:
    found = [
        (
            hypervolume(run.objectives, ideal, nadir),
            igd_plus(run.objectives, reference, ideal, nadir),
            additive_epsilon(run.objectives, reference, ideal, nadir),
            run.evaluations / run.wall,
            run.engine / max(run.evaluations, 1) * 1e6,
        )
        for run in runs
    ]
    return dict(zip(FIGURES, np.array(found).T, strict=True))


def exact_front(problem: SearchProblem) -> FloatArray:
    """Return the (m, r) exact front, finely sampled. Raises an InputError where it cannot be enumerated."""
    if isinstance(problem, Problem) and problem.pricing.whole and effort_of(problem) is None:
        # Whole ports are tried around the optimum alone; searches have found better designs.
        found = f"'{problem.name}' has too many designs of whole ports to evaluate each, and no exact front is known"
        raise InputError(f"--exact: {found}; leave it out")
    *_, last = generations(
        problem, load_engine("exhaustive", problem), population=EXACT_DESIGNS, seed=0, evaluations=2**62
    )
    return last.archive.objectives


def run_tasks(
    problem: SearchProblem, name: str, assignments: Sequence[str], tasks: Sequence[Task], workers: int
) -> Iterator[Run]:
    """Yield the runs as they are done, in any order.

    Worker processes load the problem by its name and assignments; a problem that has processes of its own is run in
    this one. Raises an InputError where an engine cannot search the problem.
    """
    for task in {task.engine: task for task in tasks}.values():
        # Here, so that not every process raises the error.
        load_engine(task.engine, problem).start(problem.genome, len(problem.objectives), task.population, task.seed)
    if isinstance(problem, ExpensiveProblem):
        yield from map(partial(run_task, problem), tasks)
        return
    with Workers(partial(_runner, name, tuple(assignments)), min(workers, len(tasks))) as processes:
        for task in tasks:
            processes.submit(task)
        while len(processes):
            for done in processes.wait():
                if done.failure:
                    raise EvoLibraError(f"a run failed: {done.failure}")
                yield done.result


def _runner(name: str, assignments: tuple[str, ...]) -> Callable[[Task], Run]:
    return partial(run_task, load_problem(name, assignments))


def run_task(problem: SearchProblem, task: Task) -> Run:
    """Run one search and time its engine, once it is loaded."""
    engine = _Timed(load_engine(task.engine, problem))
    start = time.perf_counter()
    *_, last = generations(problem, engine, population=task.population, seed=task.seed, evaluations=task.evaluations)
    objectives = last.archive.objectives
    return Run(task, objectives, last.evaluations, time.perf_counter() - start, engine.seconds)


@dataclass
class _Timed(Engine):
    """An engine that knows how long it has worked."""

    engine: Any
    seconds: float = field(default=0.0)

    def start(self, *given: Any) -> Any:  # noqa: ANN401 - those of the engine
        return self._timed(self.engine.start, *given)

    def ask(self, *given: Any) -> Any:  # noqa: ANN401 - the same
        return self._timed(self.engine.ask, *given)

    def tell(self, *given: Any) -> Any:  # noqa: ANN401 - the same
        return self._timed(self.engine.tell, *given)

    def _timed(self, part: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401 - the same
        start = time.perf_counter()
        try:
            return part(*given)
        finally:
            self.seconds += time.perf_counter() - start
