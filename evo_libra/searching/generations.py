"""Search by generations of one engine, with a memetic step; the search that most programs call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from evo_libra.errors import InputError
from evo_libra.front.front import Front, front_of
from evo_libra.named_code import own_trust, trust
from evo_libra.problem.designs import best_bandwidths
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem, SearchSettings
from evo_libra.searching.engine import Engine
from evo_libra.searching.evaluation.parallel import known_of
from evo_libra.searching.loop import NO_OPTIONS, MemeticStep, SearchLoop, SearchOptions, Snapshot
from evo_libra.searching.registry import AUTO, ENGINES, choose, load_engine

STEP = 250
"""Most designs of a memetic step before it grows, which has half as many as a population: a batch takes as long as its
largest part and should have hundreds of designs, but a search with a small population learns from them sooner."""
MAX_SHARE = 0.5
"""Largest share of the evaluations for memetic steps."""


def memetic_share(problem: SearchProblem, engine: str, share: float | None = None) -> float:
    """Return the share of its evaluations that a search gives to designs with better bandwidths.

    That is `share`, else what the settings of the problem say, else what was measured to pay with the engine where the
    problem has exact bandwidths; see `tests/benchmarks/memetic.py`. Deterministic engines have none by default, and
    neither have whole ports: the best bandwidths are rounded to them, and what is left of the gain does not pay.
    """
    if share is not None:
        return share
    entry = ENGINES.get(engine)
    if (entry is not None and entry.deterministic) or best_bandwidths(problem) is None:
        return 0.0
    if problem.settings.memetic is not None:
        return problem.settings.memetic
    whole = isinstance(problem, Problem) and problem.pricing.whole
    return 0.0 if entry is None or whole else entry.memetic


EPSILON = 1e-4
"""Relative difference of designs that count as one where bandwidths are numbers: it costs less than 0.002 %
of the hypervolume, and leaves two fifths of the designs of a million evaluations; see `tests/benchmarks/epsilon.py`."""


def kept_difference(problem: SearchProblem, engine: str, epsilon: float | None = None) -> float:
    """Return the relative difference of designs that count as one on the front; 0 keeps all.

    That is `epsilon`, else what the settings of the problem say, else `EPSILON` for bandwidths that are numbers: a
    front has any number of such designs. Fronts of whole ports and of deterministic engines are kept whole.
    """
    if epsilon is None:
        epsilon = problem.settings.epsilon
    if epsilon is not None:
        return epsilon
    entry = ENGINES.get(engine)
    numbers = isinstance(problem, Problem) and not problem.pricing.whole
    return EPSILON if numbers and not (entry is not None and entry.deterministic) else 0.0


def memetic_step(problem: SearchProblem, share: float, population: int) -> MemeticStep | None:
    """Return the step that takes a share of the evaluations of a search; None for a share of 0.

    Raises `InputError` if the share is out of range, or the problem has no exact bandwidths.
    """
    if not share:
        return None
    if not 0 <= share <= MAX_SHARE:
        raise InputError(f"memetic: found {share:g}; it must be a number from 0 to {MAX_SHARE:g}")
    better = best_bandwidths(problem)
    if better is None:
        raise InputError(
            f"memetic: '{problem.name}' has no exact bandwidths to improve designs by; that takes a problem file with "
            "bandwidths that are searched, time: libra, and the objectives time and cost"
        )
    count = min(STEP, population // 2)
    return MemeticStep(better, max(round(count / share), 1), count)


@dataclass(frozen=True)
class Generations(SearchLoop):
    """A search whose step is a generation of the engine, and now and then a memetic step."""

    def advance(self, now: Snapshot, left: int) -> Snapshot:
        """Return the search after a generation, the last one cut to what is left."""
        before, step = now.evaluations, self.options.improve
        genes, state = self.engine.ask(now.engine)
        now = replace(now, engine=state)
        if not genes.shape[1]:
            return now
        now = self.learn(now, genes[:, :left])
        if step is not None and (count := step.due(before, now.evaluations)):
            now = replace(now, found=now.found.current)
            better = step.improve(now.found, min(count, before + left - now.evaluations))
            now = self.learn(now, better) if better.shape[1] else now
        return now


def generations(
    problem: SearchProblem,
    engine: Engine,
    *,
    population: int,
    seed: int,
    evaluations: int,
    resume: Snapshot | None = None,
    options: SearchOptions = NO_OPTIONS,
) -> Iterator[Snapshot]:
    """Return an iterator of a snapshot after each generation, until the search ends.

    Evaluations include those of `resume`, whose engine state may come from a file; the last generation is cut to meet
    the number.
    """
    return Generations(problem, engine, population, seed, options).snapshots(evaluations, resume)


def settle(problem: SearchProblem, searched: str = "", **asked: Any) -> SearchSettings:  # noqa: ANN401 - those of SearchSettings
    """Return the settings of a search: as asked, and where that is None as the problem has them.

    Every way to start a search takes its defaults from here. `searched` names a setting that only a search has, so that
    the engine has to be one; empty where there is none.
    """
    chosen = replace(problem.settings, **{key: value for key, value in asked.items() if value is not None})
    if chosen.engine == AUTO:
        searched = searched or ("a memetic step" if asked.get("memetic") else "")
        engine, choice = choose(problem, chosen.evaluations, chosen.population, searched=searched)
        chosen = replace(chosen, engine=engine, engine_choice=choice)
    if chosen.engine == "optimize" and asked.get("evaluations") is None:
        chosen = replace(chosen, evaluations=1)  # it has no more to ask for
    return replace(
        chosen,
        memetic=memetic_share(problem, chosen.engine, asked.get("memetic")),
        epsilon=kept_difference(problem, chosen.engine, asked.get("epsilon")),
    )


def _searched(options: SearchOptions) -> str:
    """Return the name of an option that only a search has; empty where there is none."""
    given = {"restarts": options.restarts, "a start": options.first is not None, "a memetic step": options.improve}
    return next((name for name, one in given.items() if one), "")


def search(
    problem: SearchProblem | str,
    *,
    engine: str | Engine | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    seed: int | None = None,
    memetic: float | None = None,
    epsilon: float | None = None,
    options: SearchOptions = NO_OPTIONS,
    on_generation: Callable[[Snapshot], None] | None = None,
) -> Front:
    """Search a problem and return the front of everything that was evaluated.

    Raises `InputError` if there is no such problem or engine, or a number is not above 0.

    Parameters
    ----------
    problem : the problem, or what names one for `load_problem`.
    engine : name of an engine, or an engine. The settings of the problem replace None here and below.
    evaluations : designs to evaluate.
    population : designs per generation; `smsemoa` asks for half as many at a time where all genes are numbers.
    seed : of the random numbers; the same seed gives the same front.
    memetic : share of the evaluations that give designs of the front better bandwidths; 0 for none.
    epsilon : of designs whose objectives all differ by less than this share the front has one; 0 for all designs.
    options : how the search starts and stops, and its memetic step if `memetic` does not say.
    on_generation : called after each generation.

    >>> front = search("gpt3-4k", evaluations=4000, seed=1)
    >>> len(front) > 50
    True
    """
    problem = load_problem(problem) if isinstance(problem, str) else problem
    named = engine is None or isinstance(engine, str)
    asked = {"evaluations": evaluations, "population": population, "seed": seed, "memetic": memetic, "epsilon": epsilon}
    settings = settle(problem, _searched(options), engine=engine if named else "", **asked)
    if settings.evaluations < 1 or settings.population < 4 or settings.seed < 0:  # noqa: PLR2004 - two pairs of parents
        raise InputError("evaluations of at least 1, a population of at least 4 and a seed of at least 0 are needed")
    if isinstance(engine, str) or engine is None:
        with own_trust():
            trust(*filter(None, [engine]))
            engine = load_engine(settings.engine, problem)
    if options.improve is None:
        options = replace(options, improve=memetic_step(problem, settings.memetic or 0.0, settings.population))
    loop = Generations(problem, engine, settings.population, settings.seed, options)
    for snapshot in loop.snapshots(settings.evaluations):
        last = snapshot
        if on_generation is not None:
            on_generation(snapshot)
    return front_of(known_of(problem), last.archive.thinned(settings.epsilon or 0.0))
