"""One run on whatever process it was sent to: claim it, execute it, give it back."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.attempts import ATTEMPT, ATTEMPTS, count_attempt, failed, give_up, log
from evo_libra.experiment.claim import Lease, current_claim
from evo_libra.experiment.control import requested
from evo_libra.experiment.events import tell
from evo_libra.experiment.job import Ending, Job, Report
from evo_libra.experiment.loop import Place, in_this_process, with_processes
from evo_libra.experiment.manifest import stale
from evo_libra.experiment.provenance import canonical_hash, program
from evo_libra.experiment.runner import LOST, Outcome, Surroundings, mark_done, run_search
from evo_libra.experiment.runspec import RunSpec, build
from evo_libra.experiment.scale import Scale, scale_of
from evo_libra.experiment.starting import begin
from evo_libra.experiment.store import DONE, FAILED, RunFolder, StorageError, explained
from evo_libra.problem.protocol import SearchProblem
from evo_libra.search.expensive import ExpensiveProblem
from evo_libra.search.run import Snapshot

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
    """Execute a run; what `evo_libra.experiment.task` calls on a worker.

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
    except StorageError as error:
        return Report(spec.id, "storage", error=str(error))


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
    StorageError : results cannot be written.
    """
    folder = RunFolder(Path(job.results) / spec.id)
    with explained(folder.path), Lease(folder.path, job.batch) as lease:
        if lease.claim is None:
            holder = current_claim(folder.path)
            return Report(spec.id, "busy", error=f"{holder.host}:{holder.pid} is at it" if holder else "")
        folder.sweep()
        ended = _ended(spec, job, folder)
        if ended is not None:
            return ended
        asked = _Asked(spec, job, lease, interrupted)
        if reason := asked():
            return Report(spec.id, reason)
        around = Surroundings(asked, watch or (lambda *_: None), job.checkpoint_seconds, job.command, place)
        return _attempt(spec, job, folder, asked, around, finish, on_design)


def abandon(spec: RunSpec, job: Job, error: str) -> Report:
    """Mark a run as failed whose workers could not even say so, unless somebody else is at it."""
    folder = RunFolder(Path(job.results) / spec.id)
    with explained(folder.path), Lease(folder.path, job.batch) as lease:
        if lease.claim is None or folder.done:
            return Report(spec.id, "busy")
        folder.sweep()
        return give_up(spec, folder, error)


def _ended(spec: RunSpec, job: Job, folder: RunFolder) -> Report | None:
    """Return the report of a run that has ended and is to stay as it is."""
    if folder.done:
        if "all" in job.again or ("stale" in job.again and stale(folder)):
            (folder.path / DONE).unlink()
            return None
        done = folder.read_json(DONE)
        (folder.path / ATTEMPT).unlink(missing_ok=True)
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
        (folder.path / FAILED).unlink()
    return None


def _attempt(
    spec: RunSpec,
    job: Job,
    folder: RunFolder,
    asked: _Asked,
    around: Surroundings,
    finish: Finisher | None,
    on_design: Callable[[], None] | None,
) -> Report:
    count = count_attempt(folder, job)
    if count > ATTEMPTS:
        return give_up(spec, folder, f"its worker died {ATTEMPTS} times at the same place; out of memory?")
    try:
        problem, scale = _prepared(spec)
        problem = with_processes(spec, problem, Path(job.results), retry=not job.resume)
        start = begin(Path(job.results), spec, folder, resume=job.resume)
        log(folder, f"{start.kind} on {_HOST}:{os.getpid()} {start.reason}")
        where = {"evaluations": start.snapshot.evaluations if start.snapshot else 0, "attempt": count}
        tell(folder.path, start.kind, worker=f"{_HOST}:{os.getpid()}", reason=start.reason, **where)
        with _processes_of(problem, on_design):
            outcome = run_search(spec, problem, folder, start, scale, around)
    except StorageError:
        raise
    except EvoLibraError as error:
        return give_up(spec, folder, str(error))
    except Exception as error:  # noqa: BLE001 - a problem's own code may raise anything; the batch goes on
        if not asked.lease.valid():  # its temporary file was swept away, perhaps
            return Report(spec.id, "lost")
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
        tell(folder.path, "interrupted", evaluations=outcome.evaluations, reason=outcome.stopped)
    (folder.path / ATTEMPT).unlink(missing_ok=True)
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
