"""The work of a batch: the runs of an experiment, and the state of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from evo_libra.errors import InputError
from evo_libra.experiment.run.record import plain_name
from evo_libra.experiment.run.spec import Experiment, RunSpec, planned_json
from evo_libra.experiment.store.claim import Lease
from evo_libra.experiment.store.folder import (
    ATTEMPT,
    FAILED,
    MANIFEST,
    PLAN,
    RUNNER,
    RunFolder,
    damaged_files,
    read_file,
)
from evo_libra.experiment.store.records import BATCHES, is_stale
from evo_libra.experiment.store.staging import STAGING, TEMPORARY, TakenOverError, move_folder_away

State = Literal["new", "begun", "done", "stale", "failed", "damaged"]
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True)
class PlannedRun:
    """A run, and what is there of it.

    A ``begun`` one has been worked on but not ended; a ``stale`` one was made by another version of the program; of a
    ``damaged`` one a file, which the reason names, is not what the run wrote.
    """

    spec: RunSpec
    state: State
    reason: str = ""


def plan_of(experiment: Experiment, results: Path) -> list[PlannedRun]:
    """Return the runs of an experiment with what is there of them; refuse a folder that is another run's."""
    return [_planned(spec, RunFolder(results / spec.id)) for spec in experiment.runs]


def _planned(spec: RunSpec, folder: RunFolder) -> PlannedRun:
    wrong = damaged_files(folder)
    reason = next(iter(wrong.values()), "")
    return PlannedRun(spec, "damaged", reason) if wrong else PlannedRun(spec, _state(spec, folder))


def _state(spec: RunSpec, folder: RunFolder) -> State:
    """Return what is there of a run whose files are sound; refuse a folder that is another run's."""
    manifest, failed = read_file(folder.path, MANIFEST), read_file(folder.path, FAILED)
    if manifest is None:
        return "new" if failed is None else "failed"
    if manifest["hash"] != spec.hash:
        found = manifest["hash"]
        raise InputError(f"{folder.path} belongs to another run ({found}); move it, or name another --out")
    if folder.done:
        return "stale" if is_stale(manifest) else "done"
    return "begun" if failed is None else "failed"


def wanted(planned: Sequence[PlannedRun], again: Sequence[str]) -> list[RunSpec]:
    """Return the runs that are to be executed; of those that have ended, ``stale`` or ``failed`` ones if `again`."""
    return [run.spec for run in planned if run.state in ("new", "begun", "damaged", *again)]


def batch_folder(results: Path, experiment: str) -> RunFolder:
    """Return the folder in which a batch keeps what concerns all of its runs."""
    return RunFolder(results / BATCHES / plain_name(experiment))


def write_plan(experiment: Experiment, results: Path) -> RunFolder:
    """Write down the runs of a batch, so that those which have not begun can be seen, too; return its folder."""
    folder = batch_folder(results, experiment.name)
    runs = [planned_json(spec) for spec in experiment.runs]
    for name in (PLAN, RUNNER):
        move_folder_away(folder.path / name)
    folder.write_json(PLAN, {"experiment": experiment.name, "file": str(experiment.file.resolve()), "runs": runs})
    return folder


def tidy(spec: RunSpec, results: Path, batch: str) -> None:
    """Remove what a worker that was killed after it had finished a run left in its folder; for a batch."""
    folder = RunFolder(results / spec.id)
    if not folder.done or not any(name.startswith(_LEFTOVERS) for name in os.listdir(folder.path)):  # noqa: PTH208
        return
    with Lease(folder.path, batch) as lease, suppress(TakenOverError):
        if lease.staging is not None:
            mine = RunFolder(folder.path, lease.staging)
            mine.take_over()
            mine.remove(ATTEMPT)


_LEFTOVERS = (TEMPORARY, STAGING, "claim-", ATTEMPT)
