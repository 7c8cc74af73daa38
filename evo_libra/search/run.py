"""The loop of a search: ask, evaluate, archive, tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from evo_libra.errors import InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.front.front import Front, front_of
from evo_libra.problem.protocol import SearchProblem
from evo_libra.search.engine import Engine, EngineState, load_engine


@dataclass(frozen=True)
class Snapshot:
    """A search between two generations.

    Attributes
    ----------
    engine : the state of the engine.
    found : every non-dominated design so far, and some that may be.
    evaluations : designs evaluated so far.
    exhausted : whether the engine has nothing left to try.
    """

    engine: EngineState
    found: Collection
    evaluations: int
    exhausted: bool = False

    @property
    def archive(self) -> Archive:
        """Every non-dominated design so far."""
        return self.found.archive


def generations(
    problem: SearchProblem,
    engine: Engine,
    *,
    population: int,
    seed: int,
    evaluations: int,
    resume: Snapshot | None = None,
) -> Iterator[Snapshot]:
    """Yield a snapshot after each generation until the evaluations are used up.

    The last generation is cut so that the number is met exactly.

    Parameters
    ----------
    problem, engine : what and with what.
    population : designs per generation.
    seed : of the random numbers.
    evaluations : designs to evaluate, those of `resume` included.
    resume : where to go on; its engine's state may come from a file.
    """
    genome = problem.genome
    state = engine.start(genome, len(problem.objectives), population, seed)
    found, done = Collection(Archive.empty(len(genome), len(problem.objectives))), 0
    if resume is not None:
        state, found, done = resume.engine, resume.found, resume.evaluations
    while done < evaluations:
        genes, state = engine.ask(state)
        genes = genes[:, : evaluations - done]
        if not genes.shape[1]:
            yield Snapshot(state, found, done, exhausted=True)
            return
        worth = problem.evaluate_genes(genes)
        found = found.add(genes, worth.objectives, worth.violation)
        done += genes.shape[1]
        state = engine.tell(state, genes, np.log10(worth.objectives), worth.violation)
        yield Snapshot(state, found, done)


def search(
    problem: SearchProblem,
    *,
    engine: str | Engine | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    seed: int | None = None,
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
    on_generation : called after each generation.

    Raises
    ------
    InputError : there is no such engine, or a number is not above 0.

    >>> from evo_libra import load_problem
    >>> front = search(load_problem("gpt3-4k"), evaluations=4000, seed=1)
    >>> len(front) > 50
    True
    """
    settings = problem.settings
    evaluations, population = evaluations or settings.evaluations, population or settings.population
    seed = settings.seed if seed is None else seed
    if evaluations < 1 or population < 4 or seed < 0:  # noqa: PLR2004 - two pairs of parents
        raise InputError("evaluations of at least 1, a population of at least 4 and a seed of at least 0 are needed")
    chosen = load_engine(engine or settings.engine, problem) if engine is None or isinstance(engine, str) else engine
    archive = Archive.empty(len(problem.genome), len(problem.objectives))
    for snapshot in generations(problem, chosen, population=population, seed=seed, evaluations=evaluations):
        archive = snapshot.archive
        if on_generation is not None:
            on_generation(snapshot)
    return front_of(problem, archive)
