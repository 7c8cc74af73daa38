"""One run on whatever process it was sent to: claim it, execute it, give it back."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.execution.messages import Ending, Job, Report
from evo_libra.experiment.execution.resume import begin
from evo_libra.experiment.execution.search_loop import Place, in_this_process, with_processes
from evo_libra.experiment.execution.search_run import (
    LOST,
    Outcome,
    Scale,
    Surroundings,
    mark_done,
    run_search,
    scale_of,
)
from evo_libra.experiment.run.provenance import canonical_hash, program
from evo_libra.experiment.run.record import stale
from evo_libra.experiment.run.settings import RunSpec, build
from evo_libra.experiment.store.checkpoint import checkpoint_evaluations
from evo_libra.experiment.store.claim import Lease, current_claim, kernel
from evo_libra.experiment.store.control import requested
from evo_libra.experiment.store.damage import drop_damaged
from evo_libra.experiment.store.events import log, tell
from evo_libra.experiment.store.folder import ATTEMPT, DONE, FAILED, RunFolder
from evo_libra.experiment.store.staging import TakenOverError
from evo_libra.faults import MachineError, StorageError, explained, machine_fault, memory_kills
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.loop import Snapshot

ATTEMPTS = 3
"""Attempts in a row that get no further before a run is given up."""


def count_attempt(folder: RunFolder, job: Job) -> int:
    """Return which attempt this is of those that began at the same place in the same batch."""
    here = {"batch": job.batch, "evaluations": checkpoint_evaluations(folder)}
    last = _last(folder)
    if {key: last.get(key) for key in here} != here:
        last = {}
    count: int = 1 + last.get("count", 0)
    # Of the first of these attempts: what has ended since then on this machine may have been they.
    memory = last.get("memory_kills") or {kernel(): memory_kills()}
    folder.write_json(ATTEMPT, {**here, "count": count, "memory_kills": memory}, sync=False)
    return count


def _last(folder: RunFolder) -> dict[str, Any]:
    try:
        return folder.read_json(ATTEMPT)
    except InputError:
        return {}


def given_up(spec: RunSpec, folder: RunFolder, error: str) -> Report:
    """Mark a run as failed whose workers died, unless it was for want of memory.

    Raises
    ------
    MachineError : the system of this machine has ended processes for want of memory meanwhile.
    """
    before = (_last(folder).get("memory_kills") or {}).get(kernel())
    if before is not None and before < (memory_kills() or 0):
        folder.remove(ATTEMPT)
        raise MachineError(f"{socket.gethostname()} has not enough memory: its system ended the run's worker")
    return give_up(spec, folder, error)


def failed(spec: RunSpec, folder: RunFolder, count: int, error: str) -> Report:
    """Return the report of an attempt that has failed; after the last one the run is given up."""
    tell(folder, "failed", attempt=count, error=error)
    if count >= ATTEMPTS:
        return give_up(spec, folder, error)
    return Report(spec.id, "again", error=error)


def give_up(spec: RunSpec, folder: RunFolder, error: str) -> Report:
    """Mark a run as failed."""
    log(folder, f"given up: {error}")
    folder.write_json(FAILED, {"error": error, "time": round(time.time(), 3)})
    folder.remove(ATTEMPT)
    return Report(spec.id, "failed", fresh=True, error=error)


POLL_SECONDS = 0.25
"""Time between two looks at the requests."""
_HOST = socket.gethostname()

Watcher = Callable[[Snapshot, float], None]
Finisher = Callable[[Outcome], None]


def execute(
    run: Mapping[str, Any],
    job: Job,
    interrupted: Callable[[], bool] = lambda: False,
    place: Place = in_this_process,
) -> Report:
    """Execute a run; what `evo_libra.experiment.execution.local_worker` calls on a worker.

    Parameters
    ----------
    run : from `RunSpec.data`.
    job : how.
    interrupted : whether this process is asked to stop.
    place : where its islands are, if it has several.
    """
    spec = RunSpec.of(run)
    if job.program != program():
        return Report(
            spec.id, "failed", error=f"{socket.gethostname()} has another version of evo_libra than the batch"
        )
    if not Path(job.results).is_dir():
        return Report(
            spec.id, "storage", error=f"{socket.gethostname()} does not see the folder of results {job.results}"
        )
    try:
        return perform(spec, job, interrupted=interrupted, place=place)
    except MachineError as error:
        return _refused(spec, error)


def perform(
    spec: RunSpec,
    job: Job,
    *,
    interrupted: Callable[[], bool] = lambda: False,
    watch: Watcher | None = None,
    finish: Finisher | None = None,
    on_design: Callable[[], None] | None = None,
    place: Place = in_this_process,
) -> Report:
    """Execute a run in this process.

    Parameters
    ----------
    spec, job : the run, and how.
    interrupted : whether this process is asked to stop.
    watch : called after each generation with the snapshot and the seconds since the start.
    finish : called with the outcome before the run is marked as done, to add files to its folder.
    on_design : called after each design that a worker process has evaluated.
    place : where its islands are, if it has several.

    Raises
    ------
    MachineError : this machine cannot execute it now; a StorageError where results cannot be written.
    """
    try:
        with _claimed(spec, job) as (folder, lease):
            if folder is None:
                holder = current_claim(Path(job.results) / spec.id)
                return Report(spec.id, "busy", error=f"{holder.process or 'somebody'} is at it" if holder else "")
            asked = _Asked(spec, job, lease, interrupted)
            around = Surroundings(asked, watch or (lambda *_: None), job.checkpoint_seconds, job.command, place)
            return _performed(spec, job, folder, asked, around, finish, on_design)
    except TakenOverError as error:
        return Report(spec.id, "lost", error=str(error))


@contextmanager
def _claimed(spec: RunSpec, job: Job) -> Iterator[tuple[RunFolder | None, Lease]]:
    """Claim a run and take it over from earlier attempts; the folder is None while somebody else holds the claim."""
    path = Path(job.results) / spec.id
    with explained(path), Lease(path, job.batch) as lease:
        if lease.staging is None:
            yield None, lease
            return
        with lease.staging.owned():
            folder = RunFolder(path, lease.staging)
            folder.take_over()
            yield folder, lease


def _performed(
    spec: RunSpec,
    job: Job,
    folder: RunFolder,
    asked: _Asked,
    around: Surroundings,
    finish: Finisher | None,
    on_design: Callable[[], None] | None,
) -> Report:
    damaged = drop_damaged(folder)
    ended = _ended(spec, job, folder)
    if ended is not None:
        return ended
    if reason := asked():
        return Report(spec.id, reason)
    try:
        return _attempt(spec, job, folder, asked, around, finish, on_design, damaged)
    except MachineError:
        with suppress(MachineError, OSError):
            folder.remove(ATTEMPT)  # it does not count
        raise


def abandon(spec: RunSpec, job: Job, error: str) -> Report:
    """Mark a run as failed whose workers could not even say so, unless somebody else is at it."""
    try:
        with _claimed(spec, job) as (folder, _):
            if folder is None or folder.done:
                return Report(spec.id, "busy")
            return given_up(spec, folder, error)
    except TakenOverError as taken:
        return Report(spec.id, "lost", error=str(taken))
    except MachineError as refused:
        return _refused(spec, refused)


def _refused(spec: RunSpec, error: MachineError) -> Report:
    return Report(spec.id, "storage" if isinstance(error, StorageError) else "machine", error=str(error))


def _ended(spec: RunSpec, job: Job, folder: RunFolder) -> Report | None:
    """Return the report of a run that has ended and is to stay as it is."""
    if folder.done:
        if "all" in job.again or ("stale" in job.again and stale(folder)):
            folder.remove(DONE)
            return None
        done = folder.read_json(DONE)
        folder.remove(ATTEMPT)
        return Report(
            spec.id,
            "done",
            evaluations=done["evaluations"],
            front=done["front"],
            hypervolume=done.get("hypervolume"),
            wall=done.get("wall_s", 0.0),
        )
    if (folder.path / FAILED).is_file():
        if not {"failed", "all"} & set(job.again):
            return Report(spec.id, "failed", error=str(folder.read_json(FAILED).get("error", "")))
        folder.remove(FAILED)
    return None


def _attempt(
    spec: RunSpec,
    job: Job,
    folder: RunFolder,
    asked: _Asked,
    around: Surroundings,
    finish: Finisher | None,
    on_design: Callable[[], None] | None,
    damaged: Sequence[str],
) -> Report:
    count = count_attempt(folder, job)
    if count > ATTEMPTS:
        return given_up(spec, folder, f"its worker died {ATTEMPTS} times at the same place; out of memory?")
    try:
        problem, scale = _prepared(spec)
        problem = with_processes(spec, problem, Path(job.results), retry=not job.resume)
        start = begin(Path(job.results), spec, folder, resume=job.resume)
        log(folder, f"{start.kind} on {_HOST}:{os.getpid()} {'; '.join(filter(None, (start.reason, *damaged)))}")
        where = {"evaluations": start.snapshot.evaluations if start.snapshot else 0, "attempt": count}
        tell(folder, start.kind, worker=f"{_HOST}:{os.getpid()}", reason=start.reason, **where)
        with _processes_of(problem, on_design):
            outcome = run_search(spec, problem, folder, start, scale, around)
    except TakenOverError:
        raise
    except Exception as error:  # a problem's own code may raise anything; the batch goes on
        if not asked.lease.valid():  # another attempt has changed its files, perhaps
            return Report(spec.id, "lost")
        if (fault := machine_fault(error)) is not None:
            raise fault from error
        if isinstance(error, EvoLibraError):
            return give_up(spec, folder, str(error))
        log(folder, traceback.format_exc())
        return failed(spec, folder, count, "".join(traceback.format_exception_only(error)).strip())
    return _ending(spec, folder, outcome, asked, finish)


@contextmanager
def _processes_of(problem: SearchProblem, on_design: Callable[[], None] | None) -> Iterator[None]:
    """End the processes that evaluate a problem's designs, if it has any."""
    if not isinstance(problem, ExpensiveProblem):
        yield
        return
    problem.forget_failures()  # one that a problem in Python has of its own has searched before, perhaps
    problem.on_design = on_design or (lambda: None)
    with problem:
        yield


def _ending(spec: RunSpec, folder: RunFolder, outcome: Outcome, asked: _Asked, finish: Finisher | None) -> Report:
    if finish is not None and outcome.stopped != LOST:
        finish(outcome)
    if outcome.stopped is None:
        if not asked.lease.valid():
            return Report(spec.id, "lost")
        mark_done(outcome)
    elif outcome.stopped != LOST:
        tell(folder, "interrupted", evaluations=outcome.evaluations, reason=outcome.stopped)
    folder.remove(ATTEMPT)
    log(folder, f"{outcome.stopped or 'done'} at {outcome.evaluations} evaluations, {len(outcome.front)} on the front")
    ending: Any = outcome.stopped or "done"
    return Report(
        spec.id,
        ending,
        fresh=True,
        evaluations=outcome.evaluations,
        front=len(outcome.front),
        hypervolume=outcome.hypervolume,
        wall=outcome.total_wall,
    )


class _Asked:
    """Tells a run between two generations why to stop; looks at files a few times a second."""

    def __init__(self, spec: RunSpec, job: Job, lease: Lease, interrupted: Callable[[], bool]) -> None:
        self.lease, self._interrupted = lease, interrupted
        self._results, self._own, self._stops = Path(job.results), spec.id, job.stops
        self._looked = 0.0

    def __call__(self) -> Ending | None:
        if self._interrupted():
            return "interrupt"
        if time.monotonic() - self._looked < POLL_SECONDS:
            return "lost" if self.lease.lost() else None
        self._looked = time.monotonic()
        if not self.lease.valid():
            return "lost"
        actions = [requested(self._results, target) for target in (self._own, *self._stops)]
        if "pause" in actions:
            return "pause"
        if actions[0] == "stop":
            return "stop"
        return "interrupt" if "stop" in actions else None


def _prepared(spec: RunSpec) -> tuple[SearchProblem, Scale | None]:
    """Return a run's problem and its scale; those of the last few problems are kept."""
    problem, digest = build(spec.origin), canonical_hash(spec.problem)
    if canonical_hash(problem.identity()) != digest:
        raise InputError(
            f"the problem '{spec.name}' is another one here than where it was planned: a catalogue, a workload file or "
            "its code differs"
        )
    if digest not in _SCALES:
        _SCALES[digest] = scale_of(problem)
    return problem, _SCALES[digest]


_SCALES: dict[str, Scale | None] = {}
