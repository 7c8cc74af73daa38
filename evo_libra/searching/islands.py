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

from evo_libra.arrays import FloatArray
from evo_libra.errors import EvoLibraError, InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.problem.protocol import Evaluation, SearchProblem
from evo_libra.searching.engine import EXHAUSTED, STAGNATION, WITHOUT_CHANCE, Engine, EngineState, load_engine
from evo_libra.searching.evaluation.checked import evaluate_checked
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.evaluation.workers import Workers
from evo_libra.searching.generations import PLAIN, Improve, Options, Snapshot, derived_seed, generations, judged

_ENGINE, _BEST = "engine/", "best/"

Seen = tuple[FloatArray, Evaluation]


@dataclass(frozen=True)
class Epoch:
    """An island before what it does between two migrations, or after it.

    Attributes
    ----------
    engine : state of the engine.
    best : designs of the island that nothing dominates: before, as many as a generation has at most; after, all.
    begun : evaluations of the island before.
    evaluations : to do, or done.
    seen : genes and worth of everything evaluated, if somebody asks for that.
    """

    engine: EngineState
    best: Archive
    begun: int = 0
    evaluations: int = 0
    seen: tuple[Seen, ...] = ()


def lived(problem: SearchProblem, engine: Engine, population: int, options: Options, epoch: Epoch) -> Epoch:
    """Return an epoch once it has been lived through: only what goes in decides what comes out."""
    seen: list[Seen] = []
    if options.observe is not None:
        options = replace(options, observe=lambda genes, worth: seen.append((genes, worth)))
    last = Snapshot(epoch.engine, Collection(epoch.best), epoch.begun)
    end = epoch.begun + epoch.evaluations
    # The seed is in the state already.
    numbers = {"population": population, "seed": 0, "evaluations": end}
    for snapshot in generations(problem, engine, **numbers, resume=last, options=options):
        last = snapshot
    return Epoch(last.engine, last.archive, epoch.begun, last.evaluations - epoch.begun, tuple(seen))


def shares(islands: Sequence[Epoch], left: int, most: int) -> list[Epoch]:
    """Return the islands with what each has to evaluate."""
    share, more = divmod(min(left, most * len(islands)), len(islands))
    return [replace(island, evaluations=share + (i < more)) for i, island in enumerate(islands)]


def migrated(engine: Engine, islands: Sequence[Epoch], guests: int) -> list[Epoch]:
    """Return the islands once each knows the best designs of the one before; the first, of the last."""
    if len(islands) == 1:
        return list(islands)
    return [told(engine, island, islands[i - 1].best, guests) for i, island in enumerate(islands)]


def told(engine: Engine, island: Epoch, best: Archive, guests: int) -> Epoch:
    """Return an island that knows some of the best designs of another one."""
    come = thinned(best, guests)
    none = np.zeros(len(come))
    state = engine.tell(island.engine, come.genes, np.log10(come.objectives), none)
    return replace(island, engine=state, best=island.best.add(come.genes, come.objectives, none))


def thinned(best: Archive, most: int) -> Archive:
    """Return an archive of at most so many designs, the ends included."""
    kept = best.spread(most)
    return Archive(np.take(best.genes, kept, axis=1), np.take(best.objectives, kept, axis=1))


def packed(islands: Sequence[Epoch], most: int) -> EngineState:
    """Return islands as one state, which can be saved like that of an engine; of the best designs `most` are kept."""
    arrays: dict[str, NDArray[Any]] = {}
    for i, island in enumerate(islands):
        best = thinned(island.best, most)
        arrays |= {f"{i}/{_BEST}genes": best.genes, f"{i}/{_BEST}objectives": best.objectives}
        arrays |= {f"{i}/{_ENGINE}{name}": values for name, values in island.engine.arrays.items()}
    return EngineState(arrays, {str(i): island.engine.random for i, island in enumerate(islands)})


def unpacked(state: EngineState, evaluations: int) -> list[Epoch]:
    """Return the islands of a packed state, of a search with so many evaluations, before their next epoch."""
    every: list[dict[str, NDArray[Any]]] = [{} for _ in state.random]
    for name, values in state.arrays.items():
        island, _, own = name.partition("/")
        every[int(island)][own] = values
    return [
        Epoch(
            EngineState(
                {name.removeprefix(_ENGINE): values for name, values in arrays.items() if name.startswith(_ENGINE)},
                state.random[str(i)],
            ),
            Archive(arrays[f"{_BEST}genes"], arrays[f"{_BEST}objectives"]),
            evaluations // len(every),
        )
        for i, arrays in enumerate(every)
    ]


EPOCH = 20
"""Generations between two migrations."""

MIGRANTS = 0.05
"""Designs that an island sends to the next one, of those in a population."""

LIVES = 3
"""Processes that may die of one epoch of an island, say for want of memory, before the search is given up."""


Live = Callable[[Sequence[Epoch]], list[Epoch]]
Elsewhere = Callable[[Callable[[Epoch], Epoch]], Live]


@dataclass(frozen=True)
class Archipelago:
    """How many islands there are, and where they are.

    Attributes
    ----------
    islands : searches side by side; with the seed they decide the front.
    workers : processes, which decide nothing but the time; 0 has all islands in this one, None is one an island as far
        as there are processors.
    elsewhere : lives through epochs on other machines, given one that does so here; None for nowhere else.
    """

    islands: int
    workers: int | None = None
    elsewhere: Elsewhere | None = None


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
    """Yield a snapshot after each epoch of all islands, as `.generations.generations` does.

    Parameters
    ----------
    problem : it is sent to the processes, so its class must be one of a module.
    engine : name of the engine of every island.
    place : how many islands there are.
    population : designs per generation of an island; the others are as for `generations`. What improves designs is
        sent to the processes, too.

    Raises
    ------
    InputError : there are fewer islands than 1 or others than before, the engine leaves nothing to chance, or the
        problem has processes of its own.
    EvoLibraError : an island fails; one whose process dies is only tried again.
    """
    _check(problem, engine, place, resume)
    start = time.perf_counter() - (resume.seconds if resume else 0.0)
    chosen = load_engine(engine, problem)
    now = _founded(problem, chosen, place.islands, population, derived_seed(seed, 0))
    if resume is not None:
        now = replace(resume, ended="", exhausted=False)
    elif options.first is not None:
        now = _first_told(problem, chosen, now, population, options.first[:, :evaluations], options)
    with _lives(problem, engine, place, population, options) as live:
        while now.evaluations < evaluations:
            before, done = unpacked(now.engine, now.evaluations), now.evaluations
            after = live(shares(before, evaluations - done, EPOCH * population))
            guests = max(round(MIGRANTS * population), 1)
            now = replace(_joined(now, after, options), engine=packed(migrated(chosen, after, guests), population))
            now = replace(now, seconds=time.perf_counter() - start)
            if now.evaluations == done:
                now = replace(now, exhausted=True, ended=EXHAUSTED)
            else:
                now = judged(now, done, evaluations, options)
            if now.ended == STAGNATION and now.restarts < options.restarts:
                now = _restarted(problem, chosen, now, place.islands, population, seed)
            yield now
            if now.ended:
                return


def _check(problem: SearchProblem, engine: str, place: Archipelago, resume: Snapshot | None) -> None:
    if place.islands < 1:
        raise InputError(f"found {place.islands} islands; at least 1 is needed")
    if engine in WITHOUT_CHANCE:
        raise InputError(f"{engine} leaves nothing to chance: all islands would do the same")
    if isinstance(problem, ExpensiveProblem):
        raise InputError(f"'{problem.name}' is evaluated in processes of its own; search it without islands")
    if resume is not None and len(resume.engine.random) != place.islands:
        raise InputError(f"found {place.islands} islands; the search that goes on has {len(resume.engine.random)}")


def _joined(now: Snapshot, islands: Sequence[Epoch], options: Options) -> Snapshot:
    """Return the search with what the islands found and evaluated."""
    found = now.found
    for island in islands:
        found = found.add(island.best.genes, island.best.objectives, np.zeros(len(island.best)))
        for genes, worth in island.seen:
            if options.observe is not None:
                options.observe(genes, worth)
    return replace(now, found=found, evaluations=now.evaluations + sum(island.evaluations for island in islands))


def _founded(problem: SearchProblem, engine: Engine, islands: int, population: int, seed: int) -> Snapshot:
    objectives = len(problem.objectives)
    states = [engine.start(problem.genome, objectives, population, derived_seed(seed, i)) for i in range(islands)]
    nothing = Archive.empty(len(problem.genome), objectives)
    return Snapshot(packed([Epoch(state, nothing) for state in states], population), Collection(nothing), 0)


def _restarted(
    problem: SearchProblem, engine: Engine, now: Snapshot, islands: int, population: int, seed: int
) -> Snapshot:
    anew = _founded(problem, engine, islands, population, derived_seed(seed, now.restarts + 1)).engine
    mark = replace(now.mark, evaluations=now.evaluations)
    return replace(now, engine=anew, restarts=now.restarts + 1, mark=mark, ended="")


def _first_told(
    problem: SearchProblem, engine: Engine, now: Snapshot, population: int, genes: FloatArray, options: Options
) -> Snapshot:
    """Return the search once designs have been evaluated, once, and every island has been told."""
    worth = evaluate_checked(problem, genes)
    if options.observe is not None:
        options.observe(genes, worth)
    found = now.found.add(genes, worth.objectives, worth.violation)
    objectives = np.log10(worth.objectives)
    islands = [
        replace(island, engine=engine.tell(island.engine, genes, objectives, worth.violation), best=found.archive)
        for island in unpacked(now.engine, 0)
    ]
    return replace(now, engine=packed(islands, population), found=found, evaluations=genes.shape[1])


@contextmanager
def _lives(
    problem: SearchProblem, engine: str, place: Archipelago, population: int, options: Options
) -> Iterator[Live]:
    """Give the function that lives through an epoch of every island."""
    load = partial(life, problem, engine, population, options.improve, observed=options.observe is not None)
    workers = min(place.islands, os.cpu_count() or 1) if place.workers is None else place.workers
    if place.elsewhere is not None:
        yield place.elsewhere(load())
        return
    if workers == 0:
        live = load()
        yield lambda epochs: [live(epoch) for epoch in epochs]
        return
    with Workers(load, workers) as pool:
        yield partial(_all_lived, pool)


def life(
    problem: SearchProblem, engine: str, population: int, improve: Improve | None, *, observed: bool
) -> Callable[[Epoch], Epoch]:
    """Return the function that lives through epochs.

    Parameters
    ----------
    problem, engine, population : of every island.
    improve : what makes designs better; None for nothing.
    observed : whether epochs bring all designs that they evaluate.
    """
    # Whoever observes is in the parent: the worker only has to remember.
    options = Options(improve=improve, observe=_remembered if observed else None)
    return partial(lived, problem, load_engine(engine, problem), population, options)


def _remembered(_genes: FloatArray, _worth: Evaluation) -> None:
    pass


def _all_lived(pool: Workers, epochs: Sequence[Epoch]) -> list[Epoch]:
    """Return all epochs once they have been lived through; one whose process dies is lived again."""
    places = {pool.submit(epoch): i for i, epoch in enumerate(epochs)}
    found: dict[int, Epoch] = {}
    deaths = [0] * len(epochs)
    while len(found) < len(epochs):
        for done in pool.wait():
            i = places[done.task]
            deaths[i] += done.died
            if done.died and deaths[i] < LIVES:
                places[pool.submit(epochs[i])] = i
            elif done.failure:
                raise EvoLibraError(f"island {i} failed: {done.failure}")
            else:
                found[i] = done.result
    return [found[i] for i in range(len(epochs))]
