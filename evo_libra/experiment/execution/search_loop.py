"""The search of a run, from what a run is: engine, method, budget and seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.experiment.execution.start import first_genes
from evo_libra.experiment.run.origin import Origin, build, digest_of
from evo_libra.experiment.run.provenance import program
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.problem.protocol import Evaluation, SearchProblem
from evo_libra.searching.asynchronous import completions
from evo_libra.searching.evaluation.parallel import CACHE, ExpensiveProblem
from evo_libra.searching.generations import generations, memetic_step
from evo_libra.searching.islands import Archipelago, Epoch, RunEpochs, epoch_runner, island_generations
from evo_libra.searching.loop import Gap, SearchOptions, Snapshot, Stagnation, Stop, certified_gap
from evo_libra.searching.registry import DETERMINISTIC, load_engine

if TYPE_CHECKING:
    from distributed import Client, Future

Observe = Callable[[FloatArray, Evaluation], None]
Place = Callable[[RunSpec], Archipelago]


def in_this_process(spec: RunSpec) -> Archipelago:
    """Return islands that are searched one after the other, here."""
    return Archipelago(spec.islands, 0)


def in_processes(spec: RunSpec) -> Archipelago:
    """Return islands that are searched in processes of their own, as far as there are processors."""
    return Archipelago(spec.islands)


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
    observe : called with all genes that are evaluated, and their evaluation.
    place : where its islands are, if it has several; decides nothing but the time.

    Raises
    ------
    InputError : as `check` does.
    """
    options = _options(spec, problem, observe, warm=resume is None)
    numbers = {"population": spec.population, "seed": spec.seed, "evaluations": spec.evaluations}
    if spec.islands > 1:
        yield from island_generations(problem, spec.engine, place(spec), **numbers, resume=resume, options=options)
        return
    engine = load_engine(spec.engine, problem)
    if spec.asynchronous:
        assert isinstance(problem, ExpensiveProblem), "checked"  # noqa: S101 - our mistake
        yield from completions(problem, engine, **numbers, resume=resume, options=options)
    else:
        yield from generations(problem, engine, **numbers, resume=resume, options=options)


def epoch_runner_of(spec: RunSpec, problem: SearchProblem) -> Callable[[Epoch], Epoch]:
    """Return the function that runs epochs of a run's islands."""
    improve = memetic_step(problem, spec.memetic)
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
    if spec.timeout is not None and spec.workers is None:
        raise InputError("--timeout belongs to --workers: a design is evaluated by itself only in a process of its own")
    problem = with_processes(spec, problem, None, retry=False)
    _check_method(spec, expensive=isinstance(problem, ExpensiveProblem))
    load_engine(spec.engine, problem).start(problem.genome, len(problem.objectives), spec.population, spec.seed)
    memetic_step(problem, spec.memetic)
    if spec.gap is not None:
        certified_gap(problem)
    if spec.start_from:
        first_genes(spec, problem)


def _check_method(spec: RunSpec, *, expensive: bool) -> None:
    certain = spec.engine in DETERMINISTIC
    if certain and expensive:
        many = "many designs at once" if spec.engine == "exhaustive" else "one design alone"
        raise InputError(f"{spec.engine} evaluates {many}; search without worker processes")
    if certain and (spec.restarts or spec.start_from or spec.memetic or spec.islands > 1):
        raise InputError(
            f"{spec.engine} leaves nothing to chance; it takes no restarts, start, memetic step or islands"
        )
    if spec.restarts and spec.stagnation is None:
        raise InputError("restarts: they need a stagnation, in evaluations, after which the search restarts")
    if spec.asynchronous and not expensive:
        raise InputError("an asynchronous search needs --workers, or a problem that has processes of its own")
    if spec.islands > 1 and expensive:
        raise InputError("islands: they evaluate designs in their own processes; search without worker processes")
    if spec.asynchronous and spec.memetic:
        raise InputError("memetic: an asynchronous search has no generations to improve")


def with_processes(spec: RunSpec, problem: SearchProblem, results: Path | None, *, retry: bool) -> SearchProblem:
    """Return a run's problem, in worker processes where the run says so.

    Parameters
    ----------
    spec, problem : the run, and its problem.
    results : evaluations are kept in ``<results>/<problem>/evaluations.sqlite``; None keeps nothing.
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
        timeout=spec.timeout,
        cache=None if results is None else results / problem.name / CACHE,
        retry=retry,
        load=partial(_load, spec.origin),
    )


def _load(origin: Origin) -> SearchProblem:
    return build(origin)


def _options(spec: RunSpec, problem: SearchProblem, observe: Observe | None, *, warm: bool) -> SearchOptions:
    stagnation = None if spec.stagnation is None else Stagnation(spec.stagnation, spec.growth)
    gap = None if spec.gap is None else Gap(spec.gap, certified_gap(problem), spec.gap_every)
    first = first_genes(spec, problem) if warm and spec.start_from else None
    return SearchOptions(
        Stop(spec.seconds, stagnation, gap), spec.restarts, first, memetic_step(problem, spec.memetic), observe
    )


_PRIORITY = 1_000_000
"""Epochs go before runs: a run that is at work waits for them."""
_SHARE, _NAP = 0.25, 0.002


def on_workers(spec: RunSpec) -> Archipelago:
    """Return islands whose epochs are run by all workers of the scheduler that this worker belongs to."""
    return Archipelago(spec.islands, 0, partial(_spread, spec))


def _spread(spec: RunSpec, here: Callable[[Epoch], Epoch]) -> RunEpochs:
    from distributed import get_client  # noqa: PLC0415 - takes half a second where it is not needed

    return partial(_run_epochs, get_client(), spec, here)


def _run_epochs(client: Client, spec: RunSpec, here: Callable[[Epoch], Epoch], epochs: Sequence[Epoch]) -> list[Epoch]:
    """Return epochs once they have been run, by other workers or by this one.

    This worker never waits for long: all workers may be at runs that have islands. It takes epochs from the end, while
    the others begin at the front. An epoch that no worker has returned in time is run
    here; the epoch comes out the same anywhere.
    """
    run = {**spec.data(), "label": ""}
    others = [client.submit(run_epoch, run, program(), epoch, pure=False, priority=_PRIORITY) for epoch in epochs[:-1]]
    found: dict[int, Epoch] = {}
    try:
        for place in reversed(range(len(epochs))):
            if place < len(others) and (ready := _finished(others[place])) is not None:
                found[place] = ready
                continue
            begun = time.monotonic()
            found[place] = here(epochs[place])
            _wait(others[:place], time.monotonic() - begun)
    finally:
        client.cancel(others, force=True)
    return [found[place] for place in range(len(epochs))]


def _wait(others: Sequence[Future[Any]], seconds: float) -> None:
    """Wait for the last of the epochs: for as long as one takes where others come, else for a part of that."""
    begun = time.monotonic()
    while others and not others[-1].done():
        patience = seconds if any(other.done() for other in others) else _SHARE * seconds
        if time.monotonic() > begun + patience:
            return
        time.sleep(_NAP)


def _finished(other: Future[Any]) -> Epoch | None:
    """Return an epoch that another worker has run; None for one that is left to this worker."""
    if other.status != "finished":
        return None
    epoch: Epoch | None = other.result()
    return epoch


def run_epoch(run: Mapping[str, Any], planned_by: str, epoch: Epoch) -> Epoch | None:
    """Return an epoch of a run once it has been run; None where the program or the problem is another one."""
    spec = RunSpec.of(run)
    if planned_by != program():
        return None
    problem = build(spec.origin)
    if digest_of(problem) != spec.problem_digest:
        return None
    return epoch_runner_of(spec, problem)(epoch)
