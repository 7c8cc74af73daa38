"""A search that never waits for the slowest design: whenever one is done, the engine is told and asked for another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evo_libra.errors import InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.model.arrays import FloatArray
from evo_libra.problem.protocol import Evaluation
from evo_libra.search.engine import Engine, EngineState
from evo_libra.search.exhaustive_engine import ExhaustiveEngine
from evo_libra.search.expensive import ExpensiveProblem
from evo_libra.search.run import EXHAUSTED, PLAIN, Options, Snapshot, judged, told
from evo_libra.search.variation import is_new


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
    """Yield a snapshot after each design, until the evaluations are used up.

    Which design is done first is chance, so that the same seed gives another search each time. A snapshot can be kept
    and resumed all the same: designs that were under way are dropped, and others are asked for instead.

    Parameters
    ----------
    problem : the problem, which says how many designs are under way.
    engine : an engine that may be told designs that it has not asked for last: all but ``exhaustive``.
    population, seed, evaluations, resume, options : as for `evo_libra.search.run.generations`; nothing is improved and
        nothing started anew.

    Raises
    ------
    InputError : the engine goes through a space in order.
    """
    if isinstance(engine, ExhaustiveEngine):
        raise InputError("exhaustive goes through a space in order; search it without --asynchronous")
    start = time.perf_counter() - (resume.seconds if resume else 0.0)
    state = engine.start(problem.genome, len(problem.objectives), population, seed)
    now = Snapshot(state, Collection(Archive.empty(len(problem.genome), len(problem.objectives))), 0)
    if resume is not None:
        now = replace(resume, exhausted=False, ended="")
    elif options.first is not None:
        genes = options.first[:, :evaluations]
        now = told(engine, now, genes, problem.evaluate_genes(genes), options)
    flying: dict[bytes, FloatArray] = {}
    while now.evaluations < evaluations:
        while len(flying) < min(problem.workers, evaluations - now.evaluations):
            design, state = _another(engine, now.engine, flying)
            now = replace(now, engine=state)
            if design is None:
                break
            flying[design.tobytes()] = design
            problem.submit(design)
        if not flying:
            yield replace(now, exhausted=True, ended=EXHAUSTED)
            return
        for design, worth in problem.completed():
            del flying[design.tobytes()]
            one = Evaluation(worth.objectives[:, None], np.array([worth.violation]))
            before, now = now.evaluations, told(engine, now, design[:, None], one, options)
            now = judged(replace(now, seconds=time.perf_counter() - start), before, evaluations, options)
            yield now
            if now.ended:
                return


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
