"""Islands: searches side by side in processes of their own, which send each other designs now and then."""

from __future__ import annotations

import os
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
from evo_libra.problem.protocol import NO_FAILURES, Evaluation, Failures, SearchProblem
from evo_libra.searching.engine import Engine, EngineState
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.evaluation.usable import evaluate
from evo_libra.searching.evaluation.workers import Workers
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import NO_OPTIONS, MemeticStep, SearchLoop, SearchOptions, Snapshot, derived_seed
from evo_libra.searching.registry import DETERMINISTIC, load_engine

EPOCH = 20
"""Generations between two migrations."""

MIGRANTS = 0.05
"""Designs that an island sends to the next one, as a share of its population."""

MAX_DEATHS = 3
"""Processes that may die during one epoch of an island, say for want of memory, before the search fails."""

_ENGINE, _BEST = "engine/", "best/"


@dataclass(frozen=True)
class Epoch:
    """An island before or after what it does between two migrations.

    Before, `best` has at most as many non-dominated designs of the island as a generation, and after, all. `begun` are
    the evaluations of the island before, `evaluations` those to do, or done. `failures` are the designs of the epoch
    that could not be evaluated. `seen` are genes and evaluations of all designs, if an observer asks for them.
    """

    engine: EngineState
    best: Archive
    begun: int = 0
    evaluations: int = 0
    failures: Failures = NO_FAILURES
    seen: tuple[tuple[FloatArray, Evaluation], ...] = ()


RunEpochs = Callable[[Sequence[Epoch]], list[Epoch]]
Elsewhere = Callable[[Callable[[Epoch], Epoch]], RunEpochs]


@dataclass(frozen=True)
class Archipelago:
    """The number of islands, and where they are.

    With the seed, the islands decide the front. `workers` are processes, which decide nothing but the time: 0 has all
    islands in this process, None one process per island as far as there are processors. `elsewhere` returns the
    function that runs epochs on other machines, given the one that runs an epoch here.
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
    options: SearchOptions = NO_OPTIONS,
) -> Iterator[Snapshot]:
    """Yield a snapshot after each epoch of all islands, until the search ends.

    The problem is sent to the processes, so its class must be one of a module; so is the memetic step. The population
    is that of an island; the other parameters are those of `.generations.generations`.

    Raises
    ------
    InputError : there are fewer islands than 1 or others than before, the engine leaves nothing to chance, or the
        problem has processes of its own.
    EvoLibraError : an island fails; an epoch whose process dies is tried again first.
    """
    _check(problem, engine, place, resume)
    chosen = load_engine(engine, problem)
    with _epochs_at(problem, engine, place, population, options) as run_epochs:
        loop = Epochs(
            problem=problem, engine=chosen, population=population, seed=seed, options=options, islands=place.islands,
            run_epochs=run_epochs,
        )  # fmt: skip
        yield from loop.snapshots(evaluations, resume)


def _check(problem: SearchProblem, engine: str, place: Archipelago, resume: Snapshot | None) -> None:
    if place.islands < 1:
        raise InputError(f"found {place.islands} islands; at least 1 is needed")
    if engine in DETERMINISTIC:
        raise InputError(f"{engine} leaves nothing to chance: all islands would do the same")
    if isinstance(problem, ExpensiveProblem):
        raise InputError(f"'{problem.name}' is evaluated in processes of its own; search it without islands")
    if resume is not None and len(resume.engine.random) != place.islands:
        raise InputError(f"found {place.islands} islands; the search that goes on has {len(resume.engine.random)}")


@dataclass(frozen=True)
class Epochs(SearchLoop):
    """A search whose step is an epoch of every island and a migration; its engine state holds all islands."""

    islands: int
    run_epochs: RunEpochs

    def first_seed(self) -> int:
        """Return the seed of the first start."""
        return derived_seed(self.seed, 0)

    def start(self, seed: int) -> EngineState:
        """Return islands whose engines know nothing."""
        states = [super(Epochs, self).start(derived_seed(seed, i)) for i in range(self.islands)]
        nothing = Archive.empty(len(self.problem.genome), len(self.problem.objectives))
        return pack([Epoch(state, nothing) for state in states], self.population)

    def begin(self, now: Snapshot, first: FloatArray) -> Snapshot:
        """Return the search once designs are evaluated, once, and every island knows them."""
        known = evaluate(self.problem, first)
        state, now = now.engine, self.archive(now, first, known)
        islands = [
            replace(
                island,
                engine=self.engine.tell(island.engine, first, np.log10(known.objectives), known.violation),
                best=now.archive,
            )
            for island in unpack(state, 0)
        ]
        return replace(now, engine=pack(islands, self.population))

    def advance(self, now: Snapshot, left: int) -> Snapshot:
        """Return the search after an epoch of every island and a migration."""
        before = unpack(now.engine, now.evaluations)
        share, more = divmod(min(left, EPOCH * self.population * self.islands), self.islands)
        after = self.run_epochs([replace(each, evaluations=share + (i < more)) for i, each in enumerate(before)])
        islands = [self._receive(each, after[i - 1]) for i, each in enumerate(after)] if len(after) > 1 else after
        return replace(self._join(now, after), engine=pack(islands, self.population))

    def _receive(self, island: Epoch, neighbour: Epoch) -> Epoch:
        """Return an island once it knows some of the best designs of the one before; the first, of the last."""
        guests = _thin(neighbour.best, max(round(MIGRANTS * self.population), 1))
        none = np.zeros(len(guests))
        state = self.engine.tell(island.engine, guests.genes, np.log10(guests.objectives), none)
        return replace(island, engine=state, best=island.best.add(guests.genes, guests.objectives, none))

    def _join(self, now: Snapshot, islands: Sequence[Epoch]) -> Snapshot:
        """Return the search with what the islands found and evaluated."""
        found = now.found
        for island in islands:
            found = found.add(island.best.genes, island.best.objectives, np.zeros(len(island.best)))
            for genes, evaluation in island.seen:
                if self.options.observe is not None:
                    self.options.observe(genes, evaluation)
        evaluations = now.evaluations + sum(island.evaluations for island in islands)
        failures = Failures.joined([now.failures, *(island.failures for island in islands)])
        return replace(now, found=found, evaluations=evaluations, failures=failures)


def _thin(best: Archive, max_designs: int) -> Archive:
    """Return an archive of at most `max_designs` of the designs, the ends included."""
    kept = best.spread(max_designs)
    return Archive(np.take(best.genes, kept, axis=1), np.take(best.objectives, kept, axis=1))


def pack(islands: Sequence[Epoch], max_best: int) -> EngineState:
    """Return islands as one state, which can be saved like that of an engine, with `max_best` best designs of each."""
    arrays: dict[str, NDArray[Any]] = {}
    for i, island in enumerate(islands):
        best = _thin(island.best, max_best)
        arrays |= {f"{i}/{_BEST}genes": best.genes, f"{i}/{_BEST}objectives": best.objectives}
        arrays |= {f"{i}/{_ENGINE}{name}": values for name, values in island.engine.arrays.items()}
    return EngineState(arrays, {str(i): island.engine.random for i, island in enumerate(islands)})


def unpack(state: EngineState, evaluations: int) -> list[Epoch]:
    """Return the islands of a packed state, before their next epoch, of a search with some evaluations."""
    parts: list[dict[str, NDArray[Any]]] = [{} for _ in state.random]
    for name, values in state.arrays.items():
        island, _, part = name.partition("/")
        parts[int(island)][part] = values
    islands = []
    for i, arrays in enumerate(parts):
        best = Archive(arrays.pop(f"{_BEST}genes"), arrays.pop(f"{_BEST}objectives"))
        engine = {name.removeprefix(_ENGINE): values for name, values in arrays.items()}
        islands.append(Epoch(EngineState(engine, state.random[str(i)]), best, evaluations // len(parts)))
    return islands


@contextmanager
def _epochs_at(
    problem: SearchProblem, engine: str, place: Archipelago, population: int, options: SearchOptions
) -> Iterator[RunEpochs]:
    """Give the function that runs an epoch of every island, in this process, in others or elsewhere."""
    load = partial(epoch_runner, problem, engine, population, options.improve, observed=options.observe is not None)
    workers = min(place.islands, os.cpu_count() or 1) if place.workers is None else place.workers
    if place.elsewhere is not None:
        yield place.elsewhere(load())
    elif workers == 0:
        run = load()
        yield lambda epochs: [run(epoch) for epoch in epochs]
    else:
        with Workers(load, workers) as pool:
            yield partial(_run_in_processes, pool)


def epoch_runner(
    problem: SearchProblem, engine: str, population: int, improve: MemeticStep | None, *, observed: bool
) -> Callable[[Epoch], Epoch]:
    """Return the function that runs an epoch of an island; `observed` epochs bring all designs that they evaluate."""
    return partial(_run_epoch, problem, load_engine(engine, problem), population, improve, observed=observed)


def _run_epoch(
    problem: SearchProblem,
    engine: Engine,
    population: int,
    improve: MemeticStep | None,
    epoch: Epoch,
    *,
    observed: bool,
) -> Epoch:
    """Return an epoch after its run: only what goes in decides what comes out."""
    seen: list[tuple[FloatArray, Evaluation]] = []
    observe = (lambda genes, evaluation: seen.append((genes, evaluation))) if observed else None
    last = Snapshot(epoch.engine, Collection(epoch.best), epoch.begun)
    # The seed is in the state already.
    numbers = {"population": population, "seed": 0, "evaluations": epoch.begun + epoch.evaluations}
    options = SearchOptions(improve=improve, observe=observe)
    for snapshot in generations(problem, engine, **numbers, resume=last, options=options):
        last = snapshot
    done = last.evaluations - epoch.begun
    return Epoch(
        engine=last.engine, best=last.archive, begun=epoch.begun, evaluations=done, failures=last.failures,
        seen=tuple(seen),
    )  # fmt: skip


def _run_in_processes(pool: Workers, epochs: Sequence[Epoch]) -> list[Epoch]:
    """Return all epochs after their run; one whose process dies runs again."""
    islands = {pool.submit(epoch): i for i, epoch in enumerate(epochs)}
    found: dict[int, Epoch] = {}
    deaths = [0] * len(epochs)
    while len(found) < len(epochs):
        for done in pool.wait():
            i = islands[done.task]
            deaths[i] += done.died
            if done.died and deaths[i] < MAX_DEATHS:
                islands[pool.submit(epochs[i])] = i
            elif done.failure:
                raise EvoLibraError(f"island {i} failed: {done.failure}")
            else:
                found[i] = done.result
    return [found[i] for i in range(len(epochs))]
