"""The loop of a search: ask, evaluate, archive, tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.front.front import Front, front_of
from evo_libra.problem.designs import best_bandwidths
from evo_libra.problem.protocol import Evaluation, SearchProblem, SearchSettings
from evo_libra.searching.engine import (
    EVALUATIONS,
    EXHAUSTED,
    GAP,
    SECONDS,
    STAGNATION,
    WITHOUT_CHANCE,
    Engine,
    EngineState,
    load_engine,
)
from evo_libra.searching.evaluation.checked import evaluate_checked
from evo_libra.searching.stopping import Mark, Stop, grown, passed

STEP = 250
"""Designs of a step. A batch is as dear as its largest part is long: hundreds of designs, not a few."""
MOST = 0.5
"""Share that improving designs may take at most."""
_PAYS = {"nsga2": 0.05, "nsga3": 0.05}


@dataclass(frozen=True)
class Improve:
    """How often, and how many.

    Attributes
    ----------
    better : returns better genes for (g, n) genes; they are evaluated and told to the engine.
    every : evaluations between two steps.
    count : designs of a step, spread over the archive.
    """

    better: Callable[[FloatArray], FloatArray]
    every: int = 5_000
    count: int = STEP


def memetic_share(problem: SearchProblem, engine: str, asked: float | None = None) -> float:
    """Return the share of its evaluations that a search gives to designs with better bandwidths.

    It is what is asked for, else what the settings of the problem say, else what was measured to pay: with exact
    bandwidths under LIBRA's time, for the array engines, which learn from designs that they have not asked for. See
    `tests/benchmarks/memetic.py`. Engines that leave nothing to chance have none unless it is asked for.
    """
    if asked is not None:
        return asked
    if engine in WITHOUT_CHANCE or best_bandwidths(problem) is None:
        return 0.0
    own = problem.settings.memetic
    return _PAYS.get(engine, 0.0) if own is None else own


def step_of(problem: SearchProblem, share: float) -> Improve | None:
    """Return the step that takes a share of the evaluations; None for a share of 0.

    Raises
    ------
    InputError : the share is out of range, or the problem has no exact bandwidths.
    """
    if not share:
        return None
    if not 0 <= share <= MOST:
        raise InputError(f"memetic: found {share:g}; it must be a number from 0 to {MOST:g}")
    better = best_bandwidths(problem)
    if better is None:
        raise InputError(
            f"memetic: '{problem.name}' has no exact bandwidths to improve designs by; that takes a problem file with "
            "bandwidths that are searched, time: libra, and the objectives time and cost"
        )
    return Improve(better, max(round(STEP / share), 1), STEP)


def improved(rule: Improve, archive: Archive, most: int) -> FloatArray:
    """Return (g, k) better genes, k at most `most`."""
    count = min(rule.count, most, len(archive))
    return rule.better(np.take(archive.genes, archive.spread(count), axis=1)) if count else archive.genes[:, :0]


@dataclass(frozen=True)
class Snapshot:
    """A search between two generations.

    Attributes
    ----------
    engine : the state of the engine.
    found : every non-dominated design so far, and some that may be.
    evaluations : designs evaluated so far.
    exhausted : whether the engine has nothing left to try.
    ended : what ended the search, one of the names above; empty while it goes on.
    mark : the archive when its hypervolume last grew.
    restarts : how often the engine was started anew.
    seconds : of wall time so far.
    """

    engine: EngineState
    found: Collection
    evaluations: int
    exhausted: bool = False
    ended: str = ""
    mark: Mark = field(default_factory=Mark)
    restarts: int = 0
    seconds: float = 0.0

    @property
    def archive(self) -> Archive:
        """Every non-dominated design so far."""
        return self.found.archive


@dataclass(frozen=True)
class Options:
    """What a search may do beside asking, evaluating and telling.

    Attributes
    ----------
    stop : what ends it before its evaluations are used up.
    restarts : how often a search that stagnates is started anew, with other random numbers, instead of being ended.
    first : (g, k) genes of designs to start from.
    improve : what makes designs of the archive better; None for nothing.
    observe : called with all genes that are evaluated and what they are worth.
    """

    stop: Stop = field(default_factory=Stop)
    restarts: int = 0
    first: FloatArray | None = None
    improve: Improve | None = None
    observe: Callable[[FloatArray, Evaluation], None] | None = None

    def __post_init__(self) -> None:
        if self.restarts < 0:
            raise InputError(f"found {self.restarts} restarts; at least 0 are needed")
        if self.restarts and self.stop.stagnation is None:
            raise InputError("restarts belong to a search that ends by stagnation")


PLAIN = Options()
"""Nothing but the evaluations ends a search, and nothing but its engine works on it."""


def generations(
    problem: SearchProblem,
    engine: Engine,
    *,
    population: int,
    seed: int,
    evaluations: int,
    resume: Snapshot | None = None,
    options: Options = PLAIN,
) -> Iterator[Snapshot]:
    """Yield a snapshot after each generation until the evaluations are used up, or what else ends the search.

    The last generation is cut so that the number is met exactly.

    Parameters
    ----------
    problem, engine : what and with what.
    population : designs per generation.
    seed : of the random numbers.
    evaluations : designs to evaluate, those of `resume` included.
    resume : where to go on; its engine's state may come from a file.
    options : what else.
    """
    start = time.perf_counter()
    state = engine.start(problem.genome, len(problem.objectives), population, seed)
    nothing = Collection(Archive.empty(len(problem.genome), len(problem.objectives)))
    now = Snapshot(state, nothing, 0)
    if resume is not None:
        now, start = replace(resume, exhausted=False, ended=""), start - resume.seconds
    elif options.first is not None:
        now = _told(problem, engine, now, options.first[:, :evaluations], options)
    while now.evaluations < evaluations:
        before = now.evaluations
        genes, state = engine.ask(now.engine)
        if not genes.shape[1]:
            seconds = time.perf_counter() - start
            yield replace(now, engine=state, exhausted=True, ended=EXHAUSTED, seconds=seconds)
            return
        now = _told(problem, engine, replace(now, engine=state), genes[:, : evaluations - before], options)
        if options.improve is not None and passed(before, now.evaluations, options.improve.every):
            better = improved(options.improve, now.archive, evaluations - now.evaluations)
            now = _told(problem, engine, now, better, options) if better.shape[1] else now
        now = judged(replace(now, seconds=time.perf_counter() - start), before, evaluations, options)
        if now.ended == STAGNATION and now.restarts < options.restarts:
            now = restarted(engine, problem, now, population, seed)
        yield now
        if now.ended:
            return


def _told(problem: SearchProblem, engine: Engine, now: Snapshot, genes: FloatArray, options: Options) -> Snapshot:
    """Return the search once designs have been evaluated and the engine has been told."""
    worth = evaluate_checked(problem, genes)
    if options.observe is not None:
        options.observe(genes, worth)
    found = now.found.add(genes, worth.objectives, worth.violation)
    state = engine.tell(now.engine, genes, np.log10(worth.objectives), worth.violation)
    return replace(now, engine=state, found=found, evaluations=now.evaluations + genes.shape[1])


def judged(now: Snapshot, before: int, evaluations: int, options: Options) -> Snapshot:
    """Return a search with what ends it, if anything does; `before` is its evaluations when it was judged last."""
    stop, done = options.stop, now.evaluations
    if done >= evaluations:
        return replace(now, ended=EVALUATIONS)
    if stop.seconds is not None and now.seconds >= stop.seconds:
        return replace(now, ended=SECONDS)
    if stop.gap is not None and stop.gap.due(before, done) and stop.gap.measure(now.archive) <= stop.gap.target:
        return replace(now, ended=GAP)
    if stop.stagnation is not None and passed(before, done, stop.stagnation.every):
        mark = grown(now.mark, now.archive, done, stop.stagnation)
        tired = done - mark.evaluations >= stop.stagnation.evaluations
        return replace(now, mark=mark, ended=STAGNATION if tired else "")
    return now


def restarted(engine: Engine, problem: SearchProblem, now: Snapshot, population: int, seed: int) -> Snapshot:
    """Return the search with an engine that knows nothing; the archive stays, and the mark is as of now."""
    restarts = now.restarts + 1
    state = engine.start(problem.genome, len(problem.objectives), population, derived_seed(seed, restarts))
    return replace(now, engine=state, restarts=restarts, mark=replace(now.mark, evaluations=now.evaluations), ended="")


def derived_seed(seed: int, *place: int) -> int:
    """Return the seed of a part of a search, such as a restart or an island; parts of all searches differ."""
    return int(np.random.SeedSequence(seed, spawn_key=place).generate_state(1, np.uint64)[0])


def settled(problem: SearchProblem, **asked: Any) -> SearchSettings:  # noqa: ANN401 - those of SearchSettings
    """Return how a search runs: as asked, and where that is None as the problem's settings have it.

    However a search is started, this is where what it leaves open is decided.
    """
    chosen = replace(problem.settings, **{key: value for key, value in asked.items() if value is not None})
    if chosen.engine == "optimize" and asked.get("evaluations") is None:
        chosen = replace(chosen, evaluations=1)  # it has no more to ask for
    return replace(chosen, memetic=memetic_share(problem, chosen.engine, asked.get("memetic")))


def search(
    problem: SearchProblem,
    *,
    engine: str | Engine | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    seed: int | None = None,
    memetic: float | None = None,
    options: Options = PLAIN,
    on_generation: Callable[[Snapshot], None] | None = None,
) -> Front:
    """Search a problem and return the front of everything that was evaluated.

    Parameters
    ----------
    problem : the problem.
    engine : name of an engine, or an engine; what is None is taken from the problem's settings, as below.
    evaluations : designs to evaluate.
    population : designs per generation.
    seed : of the random numbers; the same seed gives the same front.
    memetic : share of the evaluations that give designs of the front better bandwidths; 0 for none.
    options : what the search starts from, and what else ends it; how it improves designs instead of by `memetic`.
    on_generation : called after each generation.

    Raises
    ------
    InputError : there is no such engine, or a number is not above 0.

    >>> from evo_libra import load_problem
    >>> front = search(load_problem("gpt3-4k"), evaluations=4000, seed=1)
    >>> len(front) > 50
    True
    """
    named = engine is None or isinstance(engine, str)
    asked = {"evaluations": evaluations, "population": population, "seed": seed, "memetic": memetic}
    settings = settled(problem, engine=engine if named else "", **asked)
    if settings.evaluations < 1 or settings.population < 4 or settings.seed < 0:  # noqa: PLR2004 - two pairs of parents
        raise InputError("evaluations of at least 1, a population of at least 4 and a seed of at least 0 are needed")
    chosen = load_engine(settings.engine, problem) if engine is None or isinstance(engine, str) else engine
    if options.improve is None:
        options = replace(options, improve=step_of(problem, settings.memetic or 0.0))
    for snapshot in generations(
        problem,
        chosen,
        population=settings.population,
        seed=settings.seed,
        evaluations=settings.evaluations,
        options=options,
    ):
        last = snapshot
        if on_generation is not None:
            on_generation(snapshot)
    return front_of(problem, last.archive)
