"""What a batch has to do: the runs of an experiment, and what is there of each of them already."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evo_libra.errors import InputError
from evo_libra.experiment.attempts import ATTEMPT
from evo_libra.experiment.claim import Lease
from evo_libra.experiment.expand import Experiment
from evo_libra.experiment.manifest import stale
from evo_libra.experiment.record import BATCHES, PLAN
from evo_libra.experiment.runspec import RunSpec
from evo_libra.experiment.staging import STAGING, TakenOverError
from evo_libra.experiment.store import FAILED, MANIFEST, TEMPORARY, RunFolder, plain_name

State = Literal["new", "begun", "done", "stale", "failed"]


@dataclass(frozen=True)
class PlannedRun:
    """A run, and what is there of it.

    Attributes
    ----------
    spec : the run.
    state : ``begun`` has been worked on but not ended; ``stale`` was made by another version of the program.
    """

    spec: RunSpec
    state: State


def plan_of(experiment: Experiment, results: Path) -> list[PlannedRun]:
    """Return the runs of an experiment with what is there of them.

    Raises
    ------
    InputError : a folder that a run would use is another run's.
    """
    return [PlannedRun(spec, state_of(spec, results)) for spec in experiment.runs]


def state_of(spec: RunSpec, results: Path) -> State:
    """Return what is there of a run.

    Raises
    ------
    InputError : its folder is another run's.
    """
    folder = RunFolder(results / spec.id)
    if not (folder.path / MANIFEST).is_file():
        return "failed" if (folder.path / FAILED).is_file() else "new"
    found = folder.read_json(MANIFEST).get("hash")
    if found != spec.hash:
        raise InputError(f"{folder.path} belongs to another run ({found}); move it, or name another --out")
    if folder.done:
        return "stale" if stale(folder) else "done"
    return "failed" if (folder.path / FAILED).is_file() else "begun"


def wanted(planned: Sequence[PlannedRun], again: Sequence[str]) -> list[RunSpec]:
    """Return the runs that are to be executed.

    Parameters
    ----------
    planned : from `plan_of`.
    again : which runs that have ended are run again: ``stale``, ``failed``.
    """
    return [run.spec for run in planned if run.state in ("new", "begun", *again)]


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
    runs = [_told(spec) for spec in experiment.runs]
    folder.write_json(PLAN, {"experiment": experiment.name, "file": str(experiment.file.resolve()), "runs": runs})
    return folder


def _told(spec: RunSpec) -> dict[str, Any]:
    """Return a run as a plan tells it: what shows it, and what its copy needs; its problem is named, not told."""
    origin = spec.origin
    beside = {} if origin.data is not None else {"folder": origin.folder}
    return {
        "id": spec.id,
        "name": spec.name,
        "label": spec.label,
        "engine": spec.engine,
        "seed": spec.seed,
        "population": spec.population,
        "budget": spec.evaluations,
        "hash": spec.hash,
        "search": spec.search,
        "source": {"problem": origin.name, "set": list(origin.assignments), **beside},
        "keep": spec.keep,
        "method": {**spec.method.settings(), "start_from": list(spec.method.start_from)},
        "seconds": spec.seconds,
        "workers": spec.workers,
    }


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
