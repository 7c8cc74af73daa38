"""How often a run is tried, and what is left when it is given up."""

from __future__ import annotations

import time

from evo_libra.errors import InputError
from evo_libra.experiment.checkpoint import checkpoint_evaluations
from evo_libra.experiment.events import tell
from evo_libra.experiment.job import Job, Report
from evo_libra.experiment.runspec import RunSpec
from evo_libra.experiment.store import ATTEMPT, FAILED, LOG, RunFolder, append_line

ATTEMPTS = 3
"""Attempts in a row that get no further before a run is given up."""


def count_attempt(folder: RunFolder, job: Job) -> int:
    """Return which attempt this is of those that began at the same place in the same batch."""
    here = {"batch": job.batch, "evaluations": checkpoint_evaluations(folder)}
    try:
        last = folder.read_json(ATTEMPT)
    except InputError:
        last = {}
    count = 1 + (last.get("count", 0) if {key: last.get(key) for key in here} == here else 0)
    folder.write_json(ATTEMPT, {**here, "count": count}, sync=False)
    return count


def failed(spec: RunSpec, folder: RunFolder, count: int, error: str) -> Report:
    """Return the report of an attempt that has failed; after the last one the run is given up."""
    tell(folder.path, "failed", attempt=count, error=error)
    if count >= ATTEMPTS:
        return give_up(spec, folder, error)
    return Report(spec.id, "again", error=error)


def give_up(spec: RunSpec, folder: RunFolder, error: str) -> Report:
    """Mark a run as failed."""
    log(folder, f"given up: {error}")
    folder.write_json(FAILED, {"error": error, "time": round(time.time(), 3)})
    (folder.path / ATTEMPT).unlink(missing_ok=True)
    return Report(spec.id, "failed", fresh=True, error=error)


def log(folder: RunFolder, text: str) -> None:
    """Append lines to the log of a run."""
    for line in text.rstrip().splitlines():
        append_line(folder.path / LOG, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}".rstrip())
