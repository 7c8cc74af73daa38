"""What a batch asks of whatever executes its runs, and what it hears; and an executor in this process."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal, Protocol

from evo_libra.experiment.run.provenance import program
from evo_libra.experiment.run.record import NO_FIGURES, Figures

Ending = Literal["done", "failed", "again", "busy", "interrupt", "pause", "stop", "lost", "storage", "machine"]


@dataclass(frozen=True)
class Job:
    """How a batch wants a run to be executed.

    Attributes
    ----------
    results : absolute path of the folder of results.
    batch : what tells this execution of a batch from others.
    stops : targets of requests that concern the run besides its own id; see `evo_libra.experiment.store.control`.
    program : digest of the program that planned the run.
    again : which runs that have ended are run again: ``stale``, ``failed``, ``all``.
    resume : go on from checkpoints.
    checkpoint_seconds : time between checkpoints.
    command : the words that started all this.
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
    id : of the run.
    ending : ``again`` is a failure that may be tried again; ``busy`` that somebody else is at it; ``interrupt``,
        ``pause`` and ``stop`` what was asked for; ``lost`` that somebody else took over; ``storage`` that nothing
        can be written; ``machine`` that the worker's machine cannot execute it, for want of memory, say.
    fresh : whether this attempt did the work, and not an earlier one.
    figures : the results of the run.
    error : one line for people.
    """

    id: str
    ending: Ending
    fresh: bool = False
    figures: Figures = NO_FIGURES
    error: str = ""


@dataclass(frozen=True)
class Undelivered:
    """A run that came to no report: its workers kept dying, or could not execute it.

    Attributes
    ----------
    error : one line for people.
    """

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
    """Executes runs one after the other in this process.

    Parameters
    ----------
    interrupted : whether this process is asked to stop.
    """

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


@contextmanager
def catching_interrupts() -> Iterator[Callable[[], bool]]:
    """Return a function that tells whether SIGINT, SIGTERM or SIGHUP has come; a search asks it between generations.

    A second signal does not wait for the generation and raises a KeyboardInterrupt.
    """
    caught: float | None = None

    def catch(_signal: int, _frame: FrameType | None) -> None:
        nonlocal caught
        # Programs that start others may pass on what the terminal has sent to both: that is one signal.
        if caught is not None and time.monotonic() - caught > 1.0:
            raise KeyboardInterrupt
        caught = caught or time.monotonic()

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # under nohup a hang-up is no reason to stop
            signal.signal(number, catch)
    try:
        yield lambda: caught is not None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
