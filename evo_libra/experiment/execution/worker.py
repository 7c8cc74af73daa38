"""One run on whatever process it was sent to: claim it, execute it, give it back."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evo_libra.errors import (
    EvoLibraError,
    InputError,
    MachineError,
    StorageError,
    explained,
    machine_fault,
    memory_kills,
)
from evo_libra.experiment.execution.job import Ending, Job, Report
from evo_libra.experiment.execution.prepared import OF_THIS_PROCESS, Prepared
from evo_libra.experiment.execution.search_loop import Place, begin, in_this_process, with_processes
from evo_libra.experiment.execution.search_run import LOST, Outcome, RunContext, mark_done, run_search
from evo_libra.experiment.run.record import RunFigures, program
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.claim import Lease, current_claim, kernel
from evo_libra.experiment.store.folder import ATTEMPT, DONE, FAILED, MANIFEST, RunFolder, drop_damaged
from evo_libra.experiment.store.messages import log, requested, tell
from evo_libra.experiment.store.records import is_stale
from evo_libra.experiment.store.search_state import checkpoint_evaluations
from evo_libra.experiment.store.staging import TakenOverError
from evo_libra.named_code import own_trust, trust
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.loop import Snapshot

ATTEMPTS = 3
"""Attempts in a row that get no further before a run is given up."""
POLL_SECONDS = 0.25
"""Time between two checks of the requests."""
_HOST = socket.gethostname()


def execute(
    run: Mapping[str, Any], job: Job, interrupted: Callable[[], bool] = lambda: False, place: Place = in_this_process
) -> Report:
    """Execute a run that a batch has sent, from `RunSpec.data`; the other parameters as for `perform`."""
    spec = RunSpec.of(run)
    if job.program != program():
        return Report(spec.id, "failed", error=f"{_HOST} has another version of evo_libra than the batch")
    if not Path(job.results).is_dir():
        return Report(spec.id, "storage", error=f"{_HOST} does not see the folder of results {job.results}")
    try:
        with own_trust():
            trust(*spec.code)  # the batch has asked its user
            return perform(spec, job, interrupted=interrupted, place=place)
    except MachineError as error:
        return _refuse(spec, error)


def perform(
    spec: RunSpec,
    job: Job,
    *,
    interrupted: Callable[[], bool] = lambda: False,
    watch: Callable[[Snapshot, float], None] = lambda *_: None,
    finish: Callable[[Outcome], None] = lambda _: None,
    on_design: Callable[[], None] = lambda: None,
    place: Place = in_this_process,
    ready: Prepared | None = None,
) -> Report:
    """Execute a run in this process, until `interrupted` says that it is asked to stop.

    Raises a `MachineError` where this machine cannot execute it now.

    Parameters
    ----------
    watch : called after each generation with the snapshot and the seconds since the start.
    finish : called with the outcome before the run is marked as done.
    on_design : called after each design that a worker process has evaluated.
    ready : the run's problem, where the caller has built it.
    """
    try:
        with claimed(Path(job.results) / spec.id, job.batch) as (folder, lease):
            if folder is None:
                holder = current_claim(Path(job.results) / spec.id)
                return Report(spec.id, "busy", error=f"{holder.process or 'another process'} has it" if holder else "")
            asked = _Asked(spec, job, lease, interrupted)
            around = RunContext(asked, watch, job.checkpoint_seconds, job.command, place)
            attempt = _Attempt(
                spec, job, folder, asked=asked, around=around, finish=finish, on_design=on_design, ready=ready
            )
            return attempt.perform()
    except TakenOverError as error:
        return Report(spec.id, "lost", error=str(error))


def abandon(spec: RunSpec, job: Job, error: str) -> Report:
    """Mark a run as failed whose workers died without a report, unless another process works on it."""
    try:
        with claimed(Path(job.results) / spec.id, job.batch) as (folder, _):
            if folder is None or folder.done:
                return Report(spec.id, "busy")
            return _fail_after_death(spec, folder, error)
    except TakenOverError as taken:
        return Report(spec.id, "lost", error=str(taken))
    except MachineError as refused:
        return _refuse(spec, refused)


@contextmanager
def claimed(path: Path, batch: str) -> Iterator[tuple[RunFolder | None, Lease]]:
    """Claim a run and take it over from earlier attempts; the folder is None while another process has the claim."""
    with explained(path), Lease(path, batch) as lease:
        if lease.staging is None:
            yield None, lease
            return
        with lease.staging.owned():
            folder = RunFolder(path, lease.staging)
            folder.take_over()
            yield folder, lease


def _refuse(spec: RunSpec, error: MachineError) -> Report:
    return Report(spec.id, "storage" if isinstance(error, StorageError) else "machine", error=str(error))


@dataclass(frozen=True)
class _Attempt:
    """An attempt at a run whose claim this process holds; fields as for `perform`."""

    spec: RunSpec
    job: Job
    folder: RunFolder
    asked: _Asked
    around: RunContext
    finish: Callable[[Outcome], None]
    on_design: Callable[[], None]
    ready: Prepared | None

    def perform(self) -> Report:
        damaged = drop_damaged(self.folder)
        ended = self._ended()
        if ended is not None:
            return ended
        if reason := self.asked():
            return Report(self.spec.id, reason)
        try:
            return self._search(damaged)
        except MachineError:
            with suppress(MachineError, OSError):
                self.folder.remove(ATTEMPT)  # this attempt does not count
            raise

    def _ended(self) -> Report | None:
        """Return the report of a run that has ended and is to stay as it is."""
        spec, folder, again = self.spec, self.folder, self.job.again
        if folder.done:
            if "all" in again or ("stale" in again and is_stale(folder.read_json(MANIFEST))):
                folder.remove(DONE)
                return None
            folder.remove(ATTEMPT)
            return Report(spec.id, "done", figures=RunFigures.of(folder.read_json(DONE)))
        if (folder.path / FAILED).is_file():
            if not {"failed", "all"} & set(again):
                return Report(spec.id, "failed", error=str(folder.read_json(FAILED).get("error", "")))
            folder.remove(FAILED)
        return None

    def _search(self, damaged: Sequence[str]) -> Report:
        spec, folder = self.spec, self.folder
        count = count_attempt(folder, self.job)
        if count > ATTEMPTS:
            error = f"its worker died {ATTEMPTS} times at the same place; out of memory?"
            return _fail_after_death(spec, folder, error)
        try:
            outcome = self._outcome(count, damaged)
        except TakenOverError:
            raise
        except Exception as error:  # noqa: BLE001 - a problem's own code may raise anything; the batch goes on
            return self._report_error(error, count)
        return self._end(outcome)

    def _outcome(self, count: int, damaged: Sequence[str]) -> Outcome:
        spec, folder, results = self.spec, self.folder, Path(self.job.results)
        ready = self.ready or OF_THIS_PROCESS.of(spec)
        problem = with_processes(spec, ready.problem, results, retry=not self.job.resume)
        start = begin(results, spec, folder, resume=self.job.resume)
        worker = f"{_HOST}:{os.getpid()}"
        log(folder, f"{start.kind} on {worker} {'; '.join(filter(None, (start.reason, *damaged)))}")
        evaluations = start.snapshot.evaluations if start.snapshot else 0
        tell(folder, start.kind, worker=worker, reason=start.reason, evaluations=evaluations, attempt=count)
        with ExitStack() as processes:
            if isinstance(problem, ExpensiveProblem):
                problem.on_design = self.on_design
                processes.enter_context(problem)
            return run_search(spec, problem, folder=folder, start=start, ready=ready, around=self.around)

    def _report_error(self, error: Exception, count: int) -> Report:
        """Return the report of an attempt that has failed, or raise the fault of the machine that is behind it."""
        spec, folder = self.spec, self.folder
        if not self.asked.lease.valid():  # another attempt has changed its files, perhaps
            return Report(spec.id, "lost")
        if (fault := machine_fault(error)) is not None:
            raise fault from error
        if isinstance(error, EvoLibraError):
            return _give_up(spec, folder, str(error))
        log(folder, traceback.format_exc())
        sentence = "".join(traceback.format_exception_only(error)).strip()
        tell(folder, "failed", attempt=count, error=sentence)
        return _give_up(spec, folder, sentence) if count >= ATTEMPTS else Report(spec.id, "again", error=sentence)

    def _end(self, outcome: Outcome) -> Report:
        spec, folder, figures = self.spec, self.folder, outcome.figures
        if outcome.stopped != LOST:
            self.finish(outcome)
        if outcome.stopped is None:
            if not self.asked.lease.valid():
                return Report(spec.id, "lost")
            mark_done(outcome)
        elif outcome.stopped != LOST:
            tell(folder, "interrupted", evaluations=figures.evaluations, reason=outcome.stopped)
        folder.remove(ATTEMPT)
        ending: Any = outcome.stopped or "done"
        log(folder, f"{ending} at {figures.evaluations} evaluations, {figures.front_size} on the front")
        return Report(spec.id, ending, fresh=True, figures=figures)


def count_attempt(folder: RunFolder, job: Job) -> int:
    """Return the number of this attempt among those that began at the same place in the same batch, from 1 on."""
    here = {"batch": job.batch, "evaluations": checkpoint_evaluations(folder)}
    last = _last_attempt(folder)
    if {key: last.get(key) for key in here} != here:
        last = {}
    count: int = 1 + last.get("count", 0)
    # As of the first of these attempts: the processes that the system has ended since then may have been workers.
    memory = last.get("memory_kills") or {kernel(): memory_kills()}
    folder.write_json(ATTEMPT, {**here, "count": count, "memory_kills": memory}, sync=False)
    return count


def _last_attempt(folder: RunFolder) -> dict[str, Any]:
    with suppress(InputError):
        return folder.read_json(ATTEMPT)
    return {}


def _fail_after_death(spec: RunSpec, folder: RunFolder, error: str) -> Report:
    """Mark a run as failed whose workers died; raise a MachineError where the system was short of memory."""
    before = (_last_attempt(folder).get("memory_kills") or {}).get(kernel())
    if before is not None and before < (memory_kills() or 0):
        folder.remove(ATTEMPT)
        raise MachineError(f"{_HOST} has not enough memory: its system ended the run's worker")
    return _give_up(spec, folder, error)


def _give_up(spec: RunSpec, folder: RunFolder, error: str) -> Report:
    """Mark a run as failed."""
    log(folder, f"given up: {error}")
    folder.write_json(FAILED, {"error": error, "time": round(time.time(), 3)})
    folder.remove(ATTEMPT)
    return Report(spec.id, "failed", fresh=True, error=error)


@dataclass
class _Asked:
    """Returns the reason to stop, between two generations; reads files a few times a second."""

    spec: RunSpec
    job: Job
    lease: Lease
    interrupted: Callable[[], bool]
    looked: float = 0.0

    def __call__(self) -> Ending | None:
        if self.interrupted():
            return "interrupt"
        if time.monotonic() - self.looked < POLL_SECONDS:
            return "lost" if self.lease.lost() else None
        self.looked = time.monotonic()
        if not self.lease.valid():
            return "lost"
        actions = [requested(Path(self.job.results), target) for target in (self.spec.id, *self.job.stops)]
        if "pause" in actions:
            return "pause"
        if actions[0] == "stop":
            return "stop"
        return "interrupt" if "stop" in actions else None
