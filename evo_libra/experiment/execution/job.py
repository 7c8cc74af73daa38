"""Jobs: what a batch asks of workers, what they report, and what executes runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from evo_libra.experiment.run.record import NO_FIGURES, RunFigures, program

Ending = Literal["done", "failed", "again", "busy", "interrupt", "pause", "stop", "lost", "storage", "machine"]
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
)
"""Environment of a worker: it is one of many, each on a core of its own."""


@dataclass(frozen=True)
class Job:
    """A run as a batch asks for its execution.

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
    """The report of a worker about a run.

    Attributes
    ----------
    ending : ``again`` is a failure that may be tried again; ``busy`` that another process executes the run;
        ``interrupt``, ``pause`` and ``stop`` what was asked for; ``lost`` that another process took over; ``storage``
        that nothing can be written; ``machine`` that the worker's machine cannot execute it, for want of memory, say.
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
