"""The search of a run, from what a run is: engine, method, budget and seed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.experiment.execution.warm_start import first_genes
from evo_libra.experiment.run.settings import Origin, RunSpec, build
from evo_libra.problem.protocol import Evaluation, SearchProblem
from evo_libra.searching.asynchronous import completions
from evo_libra.searching.evaluation.parallel import CACHE, ExpensiveProblem
from evo_libra.searching.generations import generations, memetic_step
from evo_libra.searching.islands import Archipelago, Epoch, epoch_runner, island_generations
from evo_libra.searching.loop import SearchOptions, Snapshot
from evo_libra.searching.registry import DETERMINISTIC, load_engine
from evo_libra.searching.stopping import Gap, Stagnation, Stop, certified_gap

Observe = Callable[[FloatArray, Evaluation], None]
Place = Callable[[RunSpec], Archipelago]


def in_this_process(spec: RunSpec) -> Archipelago:
    """Return islands that are searched one after the other, here."""
    return Archipelago(spec.method.islands, 0)


def in_processes(spec: RunSpec) -> Archipelago:
    """Return islands that are searched in processes of their own, as far as there are processors."""
    return Archipelago(spec.method.islands)


def snapshots(
    spec: RunSpec,
    problem: SearchProblem,
    resume: Snapshot | None = None,
    *,
    observe: Observe | None = None,
    place: Place = in_this_process,
) -> Generator[Snapshot, None, None]:
    """Yield the snapshots of a run; closing it ends the processes of its islands.

    Parameters
    ----------
    spec, problem : the run, and its problem.
    resume : where to go on.
    observe : called with all genes that are evaluated and what they are worth.
    place : where its islands are, if it has several; decides nothing but the time.

    Raises
    ------
    InputError : as `check` does.
    """
    options = _options(spec, problem, observe, warm=resume is None)
    numbers = {"population": spec.population, "seed": spec.seed, "evaluations": spec.evaluations}
    if spec.method.islands > 1:
        yield from island_generations(problem, spec.engine, place(spec), **numbers, resume=resume, options=options)
        return
    engine = load_engine(spec.engine, problem)
    if spec.method.asynchronous:
        assert isinstance(problem, ExpensiveProblem), "checked"  # noqa: S101 - our mistake
        yield from completions(problem, engine, **numbers, resume=resume, options=options)
    else:
        yield from generations(problem, engine, **numbers, resume=resume, options=options)


def epoch_runner_of(spec: RunSpec, problem: SearchProblem) -> Callable[[Epoch], Epoch]:
    """Return the function that lives through epochs of a run's islands."""
    improve = memetic_step(problem, spec.method.memetic)
    return epoch_runner(problem, spec.engine, spec.population, improve, observed=spec.keep == "designs")


def check(spec: RunSpec, problem: SearchProblem) -> None:
    """Refuse a run that cannot be searched, before anything is written.

    Parameters
    ----------
    spec, problem : the run, and its problem.

    Raises
    ------
    InputError : there is no such engine, it cannot search the problem, or parts of the method exclude each other.
    """
    if spec.method.timeout is not None and spec.workers is None:
        raise InputError("--timeout belongs to --workers: a design is evaluated by itself only in a process of its own")
    problem = with_processes(spec, problem, None, retry=False)
    _check_method(spec, expensive=isinstance(problem, ExpensiveProblem))
    load_engine(spec.engine, problem).start(problem.genome, len(problem.objectives), spec.population, spec.seed)
    memetic_step(problem, spec.method.memetic)
    if spec.method.gap is not None:
        certified_gap(problem)
    if spec.method.start_from:
        first_genes(spec, problem)


def _check_method(spec: RunSpec, *, expensive: bool) -> None:
    method = spec.method
    certain = spec.engine in DETERMINISTIC
    if certain and expensive:
        many = "many designs at once" if spec.engine == "exhaustive" else "one design alone"
        raise InputError(f"{spec.engine} evaluates {many}; search without worker processes")
    if certain and (method.restarts or method.start_from or method.memetic or method.islands > 1):
        raise InputError(
            f"{spec.engine} leaves nothing to chance; it takes no restarts, start, memetic step or islands"
        )
    if method.restarts and method.stagnation is None:
        raise InputError("restarts: they need a stagnation, in evaluations, after which the search is started anew")
    if method.asynchronous and not expensive:
        raise InputError("an asynchronous search needs --workers, or a problem that has processes of its own")
    if method.islands > 1 and expensive:
        raise InputError("islands: they evaluate designs in their own processes; search without worker processes")
    if method.asynchronous and method.memetic:
        raise InputError("memetic: an asynchronous search has no generations to improve")


def with_processes(spec: RunSpec, problem: SearchProblem, results: Path | None, *, retry: bool) -> SearchProblem:
    """Return a run's problem, in worker processes where the run says so.

    Parameters
    ----------
    spec, problem : the run, and its problem.
    results : what designs are worth is kept in ``<results>/<problem>/evaluations.sqlite``; None keeps nothing.
    retry : evaluate designs again that failed before.

    Raises
    ------
    InputError : the problem has processes of its own, or a number is wrong.
    """
    if spec.workers is None:
        return problem
    if isinstance(problem, ExpensiveProblem):
        raise InputError(f"'{spec.name}' has processes of its own; leave --workers out")
    return ExpensiveProblem(
        problem,
        workers=spec.workers,
        timeout=spec.method.timeout,
        cache=None if results is None else results / problem.name / CACHE,
        retry=retry,
        load=partial(_load, spec.origin),
    )


def _load(origin: Origin) -> SearchProblem:
    return build(origin)


def _options(spec: RunSpec, problem: SearchProblem, observe: Observe | None, *, warm: bool) -> SearchOptions:
    method = spec.method
    stagnation = None if method.stagnation is None else Stagnation(method.stagnation, method.growth)
    gap = None if method.gap is None else Gap(method.gap, certified_gap(problem), method.gap_every)
    first = first_genes(spec, problem) if warm and method.start_from else None
    return SearchOptions(
        Stop(spec.seconds, stagnation, gap), method.restarts, first, memetic_step(problem, spec.method.memetic), observe
    )
