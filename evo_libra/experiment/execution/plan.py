"""What a batch has to do: the runs of an experiment, and what is there of each of them already."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evo_libra.errors import InputError
from evo_libra.experiment.run.record import plain_name
from evo_libra.experiment.run.spec import Experiment, RunSpec
from evo_libra.experiment.store.claim import Lease
from evo_libra.experiment.store.damage import damaged_files
from evo_libra.experiment.store.folder import (
    ATTEMPT,
    FAILED,
    MANIFEST,
    PLAN,
    RUNNER,
    TEMPORARY,
    RunFolder,
    move_folder_away,
    read_file,
)
from evo_libra.experiment.store.manifest import planned_json
from evo_libra.experiment.store.records import BATCHES, stale
from evo_libra.experiment.store.staging import STAGING, TakenOverError

State = Literal["new", "begun", "done", "stale", "failed", "damaged"]


@dataclass(frozen=True)
class PlannedRun:
    """A run, and what is there of it.

    Attributes
    ----------
    spec : the run.
    state : ``begun`` has been worked on but not ended; ``stale`` was made by another version of the program; of
        ``damaged`` ones a file is not what the run wrote.
    reason : which file of a damaged one, and why.
    """

    spec: RunSpec
    state: State
    reason: str = ""


def plan_of(experiment: Experiment, results: Path) -> list[PlannedRun]:
    """Return the runs of an experiment with what is there of them.

    Raises
    ------
    InputError : a folder that a run would use is another run's.
    """
    return [_planned(spec, results) for spec in experiment.runs]


def _planned(spec: RunSpec, results: Path) -> PlannedRun:
    wrong = damaged_files(RunFolder(results / spec.id))
    reason = next(iter(wrong.values()), "")
    return PlannedRun(spec, "damaged", reason) if wrong else PlannedRun(spec, state_of(spec, results))


def state_of(spec: RunSpec, results: Path) -> State:
    """Return what is there of a run whose files are sound.

    Raises
    ------
    InputError : its folder is another run's.
    """
    folder = RunFolder(results / spec.id)
    manifest, failed = read_file(folder.path, MANIFEST), read_file(folder.path, FAILED)
    if manifest is None:
        return "new" if failed is None else "failed"
    if manifest["hash"] != spec.hash:
        found = manifest["hash"]
        raise InputError(f"{folder.path} belongs to another run ({found}); move it, or name another --out")
    if folder.done:
        return "stale" if stale(folder) else "done"
    return "begun" if failed is None else "failed"


def wanted(planned: Sequence[PlannedRun], again: Sequence[str]) -> list[RunSpec]:
    """Return the runs that are to be executed.

    Parameters
    ----------
    planned : from `plan_of`.
    again : which runs that have ended are run again: ``stale``, ``failed``.
    """
    return [run.spec for run in planned if run.state in ("new", "begun", "damaged", *again)]


def batch_folder(results: Path, experiment: str) -> RunFolder:
    """Return the folder in which a batch keeps what concerns all of its runs."""
    return RunFolder(results / BATCHES / plain_name(experiment))


def write_plan(experiment: Experiment, results: Path) -> RunFolder:
    """Write down the runs of a batch, so that those which have not begun can be seen, too; return its folder.

    Raises
    ------
    StorageError : it cannot be written.
    """
    folder = batch_folder(results, experiment.name)
    runs = [planned_json(spec) for spec in experiment.runs]
    for name in (PLAN, RUNNER):
        move_folder_away(folder.path / name)
    folder.write_json(PLAN, {"experiment": experiment.name, "file": str(experiment.file.resolve()), "runs": runs})
    return folder


def tidy(spec: RunSpec, results: Path, batch: str) -> None:
    """Remove what a worker that was killed after it had finished a run left in its folder.

    Parameters
    ----------
    spec, results : the run.
    batch : the batch that tidies up.

    Raises
    ------
    StorageError : there is no right to.
    """
    folder = RunFolder(results / spec.id)
    if not folder.done or not any(name.startswith(_LEFTOVERS) for name in os.listdir(folder.path)):  # noqa: PTH208
        return
    with Lease(folder.path, batch) as lease, suppress(TakenOverError):
        if lease.staging is not None:
            mine = RunFolder(folder.path, lease.staging)
            mine.take_over()
            mine.remove(ATTEMPT)


_LEFTOVERS = (TEMPORARY, STAGING, "claim-", ATTEMPT)
