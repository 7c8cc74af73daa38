"""What a batch asks of workers and what they report; an executor in this process; the tasks of a Dask worker."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from evo_libra.experiment.run.record import NO_FIGURES, RunFigures, program

if TYPE_CHECKING:
    from distributed import Client, Future

    from evo_libra.experiment.run.spec import RunSpec
    from evo_libra.searching.islands import Archipelago, Epoch, RunEpochs

Ending = Literal["done", "failed", "again", "busy", "interrupt", "pause", "stop", "lost", "storage", "machine"]
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
)
"""Environment of a worker: it is one of many, each on a core of its own."""


@dataclass(frozen=True)
class Job:
    """How a batch wants a run to be executed.

    Attributes
    ----------
    results : absolute path of the folder of results.
    batch : what tells this execution of a batch from others.
    stops : targets of requests that concern the run besides its own id; see `evo_libra.experiment.store.messages`.
    program : digest of the program that planned the run.
    again : which runs that have ended are run again: ``stale``, ``failed``, ``all``.
    resume : go on from checkpoints.
    """

    results: str
    batch: str
    stops: tuple[str, ...] = ()
    program: str = field(default_factory=program)
    again: tuple[str, ...] = ()
    resume: bool = True
    checkpoint_seconds: float = 1.0
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """What a worker says of a run.

    Attributes
    ----------
    ending : ``again`` is a failure that may be tried again; ``busy`` that somebody else is at it; ``interrupt``,
        ``pause`` and ``stop`` what was asked for; ``lost`` that somebody else took over; ``storage`` that nothing
        can be written; ``machine`` that the worker's machine cannot execute it, for want of memory, say.
    fresh : whether this attempt did the work, and not an earlier one.
    error : one line for people.
    """

    id: str
    ending: Ending
    fresh: bool = False
    figures: RunFigures = NO_FIGURES
    error: str = ""


@dataclass(frozen=True)
class Undelivered:
    """Why a run came to no report: its workers kept dying, or could not execute it."""

    error: str


class Executor(Protocol):
    """Executes runs, in any order."""

    def submit(self, run_id: str, run: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        """Send a run."""

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:
        """Return what has ended since the last time; wait so long for the first."""

    def workers(self) -> int:
        """Return how many runs are executed at a time just now."""

    def withdraw(self) -> None:
        """Take back what was sent and has not ended; only where no worker is at it."""

    def close(self) -> None:
        """End what was begun for this batch."""


class InProcess:
    """Executes runs one after the other in this process, until `interrupted` says that it is asked to stop."""

    def __init__(self, interrupted: Callable[[], bool]) -> None:
        self._interrupted = interrupted
        self._waiting: deque[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = deque()

    def submit(self, run_id: str, run: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        """Put a run at the end of the queue."""
        self._waiting.append((run_id, run, job))

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:  # noqa: ARG002 - a run takes as long as it takes
        """Execute the first run of the queue."""
        from evo_libra.experiment.execution.worker import execute  # noqa: PLC0415 - imports NumPy

        if not self._waiting:
            return []
        run_id, run, job = self._waiting.popleft()
        return [(run_id, execute(run, Job(**job), self._interrupted))]

    def workers(self) -> int:
        """Return 1."""
        return 1

    def withdraw(self) -> None:
        """Empty the queue."""
        self._waiting.clear()

    def close(self) -> None:
        """Nothing was begun."""


def run_task(run: Mapping[str, Any], job: Mapping[str, Any]) -> Report:
    """Execute a run, from `RunSpec.data`, on a Dask worker; `job` has the fields of `Job`."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    # Only now: NumPy and Polars count their threads when they are imported.
    from evo_libra.experiment.execution.worker import execute  # noqa: PLC0415

    return execute(run, Job(**job), place=on_workers)


_PRIORITY = 1_000_000
"""Epochs go before runs: a run that is at work waits for them."""
_SHARE, _NAP = 0.25, 0.002


def on_workers(spec: RunSpec) -> Archipelago:
    """Return islands whose epochs are run by all workers of the scheduler that this worker belongs to."""
    from evo_libra.searching.islands import Archipelago  # noqa: PLC0415 - as in `run_task`

    return Archipelago(spec.islands, 0, partial(_spread, spec))


def _spread(spec: RunSpec, here: Callable[[Epoch], Epoch]) -> RunEpochs:
    from distributed import get_client  # noqa: PLC0415 - takes half a second where it is not needed

    return partial(_run_epochs, get_client(), spec, here)


def _run_epochs(client: Client, spec: RunSpec, here: Callable[[Epoch], Epoch], epochs: Sequence[Epoch]) -> list[Epoch]:
    """Return epochs once they have been run, by other workers or by this one.

    This worker never waits for long: all workers may be at runs that have islands. It takes epochs from the end, while
    the others begin at the front. An epoch that no worker has returned in time is run here; the epoch comes out the
    same anywhere.
    """
    run = {**spec.data(), "label": ""}
    others = [client.submit(run_epoch, run, program(), epoch, pure=False, priority=_PRIORITY) for epoch in epochs[:-1]]
    found: dict[int, Epoch] = {}
    try:
        for place in reversed(range(len(epochs))):
            # None is an epoch that is left to this worker.
            if place < len(others) and others[place].status == "finished" and (ready := others[place].result()):
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


def run_epoch(run: Mapping[str, Any], planned_by: str, epoch: Epoch) -> Epoch | None:
    """Return an epoch of a run once it has been run; None where the program or the problem is another one."""
    from evo_libra.experiment.execution.search_loop import epoch_runner_of  # noqa: PLC0415 - as in `run_task`
    from evo_libra.experiment.run.origin import build, digest_of  # noqa: PLC0415 - the same
    from evo_libra.experiment.run.spec import RunSpec  # noqa: PLC0415 - the same

    spec = RunSpec.of(run)
    if planned_by != program():
        return None
    problem = build(spec.origin)
    return epoch_runner_of(spec, problem)(epoch) if digest_of(problem) == spec.problem_digest else None
