"""What a batch asks of a worker, and what the worker answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evo_libra.experiment.run.provenance import program

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
    evaluations, front, hypervolume, wall : of a run that is done.
    error : one line for people.
    """

    id: str
    ending: Ending
    fresh: bool = False
    evaluations: int = 0
    front: int = 0
    hypervolume: float | None = None
    wall: float = 0.0
    error: str = ""
