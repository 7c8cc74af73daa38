"""How often a run is tried, and what is left when it is given up."""

from __future__ import annotations

import socket
import time
from typing import Any

from evo_libra.errors import InputError
from evo_libra.experiment.store.checkpoint import checkpoint_evaluations
from evo_libra.experiment.store.claim import kernel
from evo_libra.experiment.store.events import tell
from evo_libra.experiment.execution.messages import Job, Report
from evo_libra.experiment.run.settings import RunSpec
from evo_libra.experiment.store.folder import ATTEMPT, FAILED, LOG, RunFolder
from evo_libra.faults import MachineError, memory_kills

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


def log(folder: RunFolder, text: str) -> None:
    """Append lines to the log of a run."""
    for line in text.rstrip().splitlines():
        folder.append(LOG, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}".rstrip())
