"""Islands: searches side by side in processes of their own, which send each other designs now and then."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.model.arrays import FloatArray
from evo_libra.problem.protocol import Evaluation, SearchProblem
from evo_libra.search.engine import Engine, EngineState, load_engine
from evo_libra.search.memetic import usual
from evo_libra.search.run import EXHAUSTED, PLAIN, STAGNATION, Options, Snapshot, derived_seed, generations, judged
from evo_libra.search.workers import Workers

EPOCH = 20
"""Generations between two migrations."""

MIGRANTS = 0.05
"""Designs that an island sends to the next one, of those in a population."""

Seen = tuple[FloatArray, Evaluation]


@dataclass(frozen=True)
class Epoch:
    """What an island does between two migrations: before it, what is to do; after it, what came of it.

    Attributes
    ----------
    engine : state of the engine.
    archive : the best designs of this epoch.
    evaluations : to do, or done.
    seen : genes and worth of everything evaluated, if somebody asks for that.
    """

    engine: EngineState
    archive: Archive
    evaluations: int = 0
    seen: tuple[Seen, ...] = ()


@dataclass(frozen=True)
class Archipelago:
    """How many islands there are, and where they are.

    Attributes
    ----------
    islands : searches side by side; with the seed they decide the front.
    workers : processes, which decide nothing but the time; 0 has all islands in this one, None is one an island as far
        as there are processors.
    """

    islands: int
    workers: int | None = None


def island_generations(
    problem: SearchProblem,
    engine: str,
    place: Archipelago,
    *,
    population: int,
    seed: int,
    evaluations: int,
    resume: Snapshot | None = None,
    options: Options = PLAIN,
) -> Iterator[Snapshot]:
    """Yield a snapshot after each epoch of all islands, as `evo_libra.search.run.generations` does after generations.

    Parameters
    ----------
    problem : it is sent to the processes, so its class must be one of a module.
    engine : name of the engine of every island.
    place : how many islands there are.
    population : designs per generation of an island; the others are as for `generations`.

    Raises
    ------
    InputError : there are fewer islands than 1, or the engine leaves nothing to chance.
    """
    if place.islands < 1:
        raise InputError(f"found {place.islands} islands; at least 1 is needed")
    if engine == "exhaustive":
        raise InputError("exhaustive leaves nothing to chance: all islands would do the same")
    start = time.perf_counter() - (resume.seconds if resume else 0.0)
    chosen = load_engine(engine, problem)
    now = _founded(problem, chosen, place.islands, population, derived_seed(seed, 0))
    if resume is not None:
        now = replace(resume, ended="", exhausted=False)
    elif options.first is not None:
        now = _first_told(problem, chosen, now, options.first[:, :evaluations], options)
    with _lives(problem, engine, place, options) as live:
        while now.evaluations < evaluations:
            before, done = _islands(problem, now.engine), now.evaluations
            after = live(_shares(before, evaluations - done, EPOCH * population))
            guests = max(round(MIGRANTS * population), 1)
            now = replace(_joined(now, after, options), engine=_packed(_migrated(chosen, after, guests)))
            now = replace(now, seconds=time.perf_counter() - start)
            now = judged(now, done, evaluations, options)
            if now.evaluations == done:
                now = replace(now, exhausted=True, ended=EXHAUSTED)
            elif now.ended == STAGNATION and now.restarts < options.restarts:
                now = _restarted(problem, chosen, now, place.islands, population, seed)
            yield now
            if now.ended:
                return


def lived(problem: SearchProblem, engine: Engine, options: Options, epoch: Epoch) -> Epoch:
    """Return an epoch once it has been lived through: only what goes in decides what comes out."""
    seen: list[Seen] = []
    if options.observe is not None:
        options = replace(options, observe=lambda genes, worth: seen.append((genes, worth)))
    # Population and seed are in the state already.
    numbers = {"population": 4, "seed": 0, "evaluations": epoch.evaluations}
    last = Snapshot(epoch.engine, Collection(epoch.archive), 0)
    for snapshot in generations(problem, engine, **numbers, resume=last, options=options):
        last = snapshot
    return Epoch(last.engine, last.archive, last.evaluations, tuple(seen))


def _shares(islands: Sequence[Epoch], left: int, most: int) -> list[Epoch]:
    """Return the islands with what each has to evaluate."""
    share, more = divmod(min(left, most * len(islands)), len(islands))
    return [replace(island, evaluations=share + (i < more)) for i, island in enumerate(islands)]


def _migrated(engine: Engine, islands: Sequence[Epoch], guests: int) -> list[EngineState]:
    """Return the states of the islands once each knows the best designs of the one before; the first, of the last."""
    if len(islands) == 1:
        return [islands[0].engine]
    return [_with_guests(engine, island.engine, islands[i - 1].archive, guests) for i, island in enumerate(islands)]


def _with_guests(engine: Engine, state: EngineState, archive: Archive, guests: int) -> EngineState:
    chosen = archive.spread(guests)
    genes, objectives = np.take(archive.genes, chosen, axis=1), np.take(archive.objectives, chosen, axis=1)
    return engine.tell(state, genes, np.log10(objectives), np.zeros(len(chosen)))


def _joined(now: Snapshot, islands: Sequence[Epoch], options: Options) -> Snapshot:
    """Return the search with what the islands found and evaluated."""
    found = now.found
    for island in islands:
        found = found.add(island.archive.genes, island.archive.objectives, np.zeros(len(island.archive)))
        for genes, worth in island.seen:
            if options.observe is not None:
                options.observe(genes, worth)
    return replace(now, found=found, evaluations=now.evaluations + sum(island.evaluations for island in islands))


def _founded(problem: SearchProblem, engine: Engine, islands: int, population: int, seed: int) -> Snapshot:
    objectives = len(problem.objectives)
    states = [engine.start(problem.genome, objectives, population, derived_seed(seed, i)) for i in range(islands)]
    return Snapshot(_packed(states), Collection(_nothing(problem)), 0)


def _restarted(
    problem: SearchProblem, engine: Engine, now: Snapshot, islands: int, population: int, seed: int
) -> Snapshot:
    anew = _founded(problem, engine, islands, population, derived_seed(seed, now.restarts + 1)).engine
    mark = replace(now.mark, evaluations=now.evaluations)
    return replace(now, engine=anew, restarts=now.restarts + 1, mark=mark, ended="")


def _first_told(problem: SearchProblem, engine: Engine, now: Snapshot, genes: FloatArray, options: Options) -> Snapshot:
    """Return the search once designs have been evaluated, once, and every island has been told."""
    worth = problem.evaluate_genes(genes)
    if options.observe is not None:
        options.observe(genes, worth)
    told = [
        engine.tell(island.engine, genes, np.log10(worth.objectives), worth.violation)
        for island in _islands(problem, now.engine)
    ]
    found = now.found.add(genes, worth.objectives, worth.violation)
    return replace(now, engine=_packed(told), found=found, evaluations=genes.shape[1])


def _nothing(problem: SearchProblem) -> Archive:
    return Archive.empty(len(problem.genome), len(problem.objectives))


def _packed(states: Sequence[EngineState]) -> EngineState:
    """Return the states of all islands as one, which can be saved like that of an engine."""
    arrays = {f"{i}/{name}": values for i, state in enumerate(states) for name, values in state.arrays.items()}
    return EngineState(arrays, {str(i): state.random for i, state in enumerate(states)})


def _islands(problem: SearchProblem, state: EngineState) -> list[Epoch]:
    """Return the islands of a packed state before their next epoch."""
    arrays: list[dict[str, NDArray[Any]]] = [{} for _ in state.random]
    for name, values in state.arrays.items():
        island, _, own = name.partition("/")
        arrays[int(island)][own] = values
    states = [EngineState(each, state.random[str(i)]) for i, each in enumerate(arrays)]
    return [Epoch(state, _nothing(problem)) for state in states]


Live = Callable[[Sequence[Epoch]], list[Epoch]]


@contextmanager
def _lives(problem: SearchProblem, engine: str, place: Archipelago, options: Options) -> Iterator[Live]:
    """Give the function that lives through an epoch of every island."""
    improve = None if options.improve is None else (options.improve.every, options.improve.count)
    load = partial(_life, problem, engine, improve, observed=options.observe is not None)
    workers = min(place.islands, os.cpu_count() or 1) if place.workers is None else place.workers
    if workers == 0:
        live = load()
        yield lambda epochs: [live(epoch) for epoch in epochs]
        return
    with Workers(load, workers) as pool:
        yield partial(_all_lived, pool)


def _life(
    problem: SearchProblem, engine: str, improve: tuple[int, int] | None, *, observed: bool
) -> Callable[[Epoch], Epoch]:
    """Return the function of a worker."""
    step = usual(problem, engine) if improve else None
    if step is not None and improve is not None:
        step = replace(step, every=improve[0], count=improve[1])
    # Whoever observes is in the parent: the worker only has to remember.
    options = Options(improve=step, observe=_remembered if observed else None)
    return partial(lived, problem, load_engine(engine, problem), options)


def _remembered(_genes: FloatArray, _worth: Evaluation) -> None:
    pass


def _all_lived(pool: Workers, epochs: Sequence[Epoch]) -> list[Epoch]:
    places = {pool.submit(epoch): i for i, epoch in enumerate(epochs)}
    found: dict[int, Epoch] = {}
    while len(found) < len(epochs):
        for done in pool.wait():
            if done.failure:
                raise EvoLibraError(f"island {places[done.task]} failed: {done.failure}")
            found[places[done.task]] = done.result
    return [found[i] for i in range(len(epochs))]
