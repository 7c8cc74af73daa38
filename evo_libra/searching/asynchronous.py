"""A search that never waits for the slowest design: whenever one is done, the engine is told and asked for another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.problem.protocol import Evaluation
from evo_libra.searching.engine import EXHAUSTED, STAGNATION, Engine, EngineState
from evo_libra.searching.engines.exhaustive import ExhaustiveEngine
from evo_libra.searching.engines.optimize import OptimizeEngine
from evo_libra.searching.engines.variation import is_new
from evo_libra.searching.evaluation.cache import Worth
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.generations import PLAIN, Options, Snapshot, judged, restarted


def completions(
    problem: ExpensiveProblem,
    engine: Engine,
    *,
    population: int,
    seed: int,
    evaluations: int,
    resume: Snapshot | None = None,
    options: Options = PLAIN,
) -> Iterator[Snapshot]:
    """Yield a snapshot after each design, until the evaluations are used up, or what else ends the search.

    Which design is done first is chance, so that the same seed gives another search each time. A snapshot can be kept
    and resumed all the same: designs that were under way are dropped, and others are asked for instead.

    Parameters
    ----------
    problem : the problem, which says how many designs are under way.
    engine : an engine that may be told designs that it has not asked for last: all but ``exhaustive`` and ``optimize``.
    population, seed, evaluations, resume, options : as for `evo_libra.searching.generations.generations`.

    Raises
    ------
    InputError : the engine goes through a space in order, or designs are to be improved, which takes many at a time.
    """
    _check(engine, options)
    start = time.perf_counter() - (resume.seconds if resume else 0.0)
    state = engine.start(problem.genome, len(problem.objectives), population, seed)
    now = Snapshot(state, Collection(Archive.empty(len(problem.genome), len(problem.objectives))), 0)
    given: list[FloatArray] = []
    if resume is not None:
        now = replace(resume, exhausted=False, ended="")
    elif options.first is not None:
        given = list(options.first.T)
    flying: dict[bytes, FloatArray] = {}
    while now.evaluations < evaluations:
        now, given = _filled(problem, engine, now, given, flying, evaluations)
        if not flying:
            yield replace(now, exhausted=True, ended=EXHAUSTED, seconds=time.perf_counter() - start)
            return
        for design, worth in problem.completed():
            if flying.pop(design.tobytes(), None) is None:
                continue  # One that an earlier loop over the same problem has left under way; its worth is kept.
            before, now = now.evaluations, _told(engine, now, design, worth, options)
            now = judged(replace(now, seconds=time.perf_counter() - start), before, evaluations, options)
            if now.ended == STAGNATION and now.restarts < options.restarts:
                now = restarted(engine, problem, now, population, seed)
            yield now
            if now.ended:
                return


def _check(engine: Engine, options: Options) -> None:
    if isinstance(engine, OptimizeEngine):
        raise InputError("optimize evaluates one design alone; search it without --asynchronous")
    if isinstance(engine, ExhaustiveEngine):
        raise InputError("exhaustive goes through a space in order; search it without --asynchronous")
    if options.improve is not None:
        raise InputError("an asynchronous search improves no designs")


def _filled(
    problem: ExpensiveProblem,
    engine: Engine,
    now: Snapshot,
    given: list[FloatArray],
    flying: dict[bytes, FloatArray],
    evaluations: int,
) -> tuple[Snapshot, list[FloatArray]]:
    """Have designs evaluated until all workers have one: those given first; return the search and those left."""
    while len(flying) < min(problem.workers, evaluations - now.evaluations):
        if given:
            design, given = given[0], given[1:]
            if design.tobytes() in flying:
                continue
        else:
            another, state = _another(engine, now.engine, flying)
            if another is None:
                break
            design, now = another, replace(now, engine=state)
        flying[design.tobytes()] = design
        problem.submit(design)
    return now, given


def _told(engine: Engine, now: Snapshot, design: FloatArray, worth: Worth, options: Options) -> Snapshot:
    genes, objectives, violation = design[:, None], worth.objectives[:, None], np.array([worth.violation])
    if options.observe is not None:
        options.observe(genes, Evaluation(objectives, violation))
    found = now.found.add(genes, objectives, violation)
    state = engine.tell(now.engine, genes, np.log10(objectives), violation)
    return replace(now, engine=state, found=found, evaluations=now.evaluations + 1)


def _another(
    engine: Engine, state: EngineState, flying: dict[bytes, FloatArray]
) -> tuple[FloatArray | None, EngineState]:
    """Return a design that is not under way, None when the engine has none, and the state with other random numbers.

    To the engine a design is one from elsewhere when it is told, as others may have been asked for since.
    """
    genes, asked = engine.ask(state)
    if flying and genes.shape[1]:
        genes = genes[:, is_new(genes, np.stack(list(flying.values()), axis=1))]
    return (genes[:, 0] if genes.shape[1] else None), EngineState(state.arrays, asked.random)
