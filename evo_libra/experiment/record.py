"""What there is to know of a run and of a batch, read from their files."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from evo_libra.experiment.claim import Claim, current_claim
from evo_libra.experiment.damage import check_written
from evo_libra.experiment.events import last_progress
from evo_libra.experiment.fields import ListedFields
from evo_libra.experiment.provenance import program
from evo_libra.experiment.store import (
    CHECKPOINT,
    DONE,
    EVENTS,
    FAILED,
    FRONT,
    MANIFEST,
    PLAN,
    RUNNER,
    read_file,
    without_manifest,
)
from evo_libra.integrity import DamagedError

Status = Literal["queued", "running", "paused", "done", "stale", "failed", "interrupted", "damaged"]
STATUSES: tuple[str, ...] = get_args(Status)
Standing = Literal["", "waiting", "paused"]
Plan = Mapping[str, Any]
BATCHES = ".batches"
HELD = ",held"
RUNNER_LOG = "runner.log"
_LARGEST = 1 << 20  # Bytes of a front that a listing checks.


@dataclass(frozen=True)
class RunInfo:
    """A run as its files show it.

    Attributes
    ----------
    id : ``<problem>/<folder>``, the path below the folder of results.
    location : the path of its folder as text; it is not there while the run is queued for the first time.
    experiment : the experiments that it belongs to, with commas between them; empty for a single search.
    name : what tells it from the other runs of its experiment, such as ``npus=1024``.
    problem, engine, seed, population : what is searched, and how.
    status : ``stale`` is done by another version of the program; ``interrupted`` has work to go on from, and nobody is
        at it; ``queued`` has none, or waits for a worker of its batch; of ``damaged`` ones a file cannot be read or is
        not what the program wrote, so that no figures of theirs are known.
    evaluations, budget : designs evaluated, and to evaluate.
    front_size : non-dominated designs.
    hypervolume : on the scale of the problem, comparable between runs of one problem; None when it is not known.
    started, updated : seconds since the epoch; 0 before the start.
    wall_s : seconds of work.
    worker : ``host:pid`` of the process at work, else empty.
    error : the last line of a failure, or which file of a damaged run is wrong and why.
    hash, search : of problem, engine, settings and budget; of the same without the budget.
    ended : what ended a run that is done: ``evaluations``, ``seconds``, ``stagnation``, ``gap`` or ``exhausted``.
    restarts : how often its engine was started anew, as of its end or its last interruption.
    islands : searches side by side.
    """

    id: str
    location: str
    experiment: str
    name: str
    problem: str
    engine: str
    seed: int
    population: int
    status: Status
    evaluations: int
    budget: int
    front_size: int
    hypervolume: float | None
    started: float
    updated: float
    wall_s: float
    worker: str
    error: str
    hash: str
    search: str
    ended: str
    restarts: int
    islands: int

    @property
    def folder(self) -> Path:
        """The path of its folder, made when it is asked for: 20,000 paths take a third of the time of a listing."""
        return Path(self.location)

    def row(self) -> dict[str, Any]:
        """Return the run by the names of `COLUMNS`, as JSON and tables have it."""
        values = {**vars(self), "folder": self.location}
        return {name: values[name] for name in COLUMNS}


COLUMNS: Mapping[str, str] = {
    "folder" if field.name == "location" else field.name: str(field.type) for field in fields(RunInfo)
}
"""What users call the fields of a run, and their types."""


@dataclass(frozen=True)
class BatchInfo:
    """A batch: an experiment that was run into this folder of results.

    Attributes
    ----------
    id : its folder below the folder of results, ``.batches/<name>-<hash8>``.
    folder : its path.
    experiment, file : the experiment's name, and the path of its file.
    runs : ids of its runs, in their order.
    runner : ``host:pid`` of the program that executes it; empty when none does.
    started : of the last execution, seconds since the epoch.
    """

    id: str
    folder: Path
    experiment: str
    file: str
    runs: tuple[str, ...]
    runner: str
    started: float


def read_run(
    results: Path, run_id: str, planned: Mapping[str, Any] | None = None, standing: Standing = ""
) -> RunInfo | None:  # fmt: skip
    """Return a run, or None when there is none.

    Parameters
    ----------
    results, run_id : where it is.
    planned : what the plan of its batch says, good for a run that has no manifest yet.
    standing : what it waits for while nobody is at it, ``paused`` to be resumed or ``waiting`` for a worker of its
        batch; empty for nobody.
    """
    try:
        return _sound(results / run_id, run_id, planned, standing)
    except DamagedError as error:
        return _damaged(results / run_id, run_id, planned or _head(results / run_id), str(error))


def _sound(folder: Path, run_id: str, planned: Mapping[str, Any] | None, standing: Standing) -> RunInfo | None:
    manifest, done = read_file(folder, MANIFEST, ListedFields), read_file(folder, DONE)
    head = manifest or planned
    if manifest is None and done is not None:
        raise without_manifest(folder)
    if head is None:
        return None
    if done is not None:
        _check_front(folder, done["files"].get(FRONT, ""))
        return _info(folder, run_id, head, planned, done, "stale" if is_stale(head) else "done")
    failed, point, claim = read_file(folder, FAILED), last_progress(folder), _live_claim(folder)
    figures = {} if point is None else {
        "evaluations": point.evaluations, "front": point.front, "hypervolume": point.hypervolume,
        "wall_s": point.seconds,
    }  # fmt: skip
    state: Mapping[str, Any] = {**(manifest or {}), **figures}
    status = _status(manifest, failed, claim, standing)
    error = "" if failed is None else failed["error"]
    return _info(folder, run_id, head, planned, state, status, worker=claim.process if claim else "", error=error)


def _check_front(folder: Path, digest: str) -> None:
    """Check the front of a finished run, unless it is so large that thousands of them would keep a listing waiting."""
    path = f"{folder}/{FRONT}"
    with contextlib.suppress(OSError):  # whoever reads it says what is wrong
        if os.stat(path).st_size > _LARGEST:  # noqa: PTH116 - asked of every run
            return
    check_written(path, digest)


def _info(
    folder: Path, run_id: str, head: Mapping[str, Any], planned: Mapping[str, Any] | None, state: Mapping[str, Any],
    status: Status, *, worker: str = "", error: str = "",
) -> RunInfo:  # fmt: skip
    """Return a run from what is planned or was written of it at its start, and from the figures of its state."""
    return RunInfo(
        id=run_id,
        location=str(folder),
        experiment=(planned or head).get("experiment", ""),
        name=(planned or head)["label"],
        problem=head["name"],
        engine=head["engine"],
        seed=head["seed"],
        population=head["population"],
        status=status,
        evaluations=state.get("evaluations", 0),
        budget=head["budget"],
        front_size=state.get("front", 0),
        hypervolume=state.get("hypervolume"),
        started=_seconds(head.get("started")),
        updated=_updated(folder, status),
        wall_s=state.get("wall_s", 0.0),
        worker=worker,
        error=error,
        hash=head["hash"],
        search=head["search"],
        ended=state.get("ended", ""),
        restarts=state.get("restarts", 0),
        islands=head["method"].get("islands", 1),
    )


def _head(folder: Path) -> Mapping[str, Any]:
    """Return what the manifest of a damaged run says of it; nothing where that is damaged too."""
    try:
        return read_file(folder, MANIFEST, ListedFields) or {}
    except DamagedError:
        return {}


def _damaged(folder: Path, run_id: str, planned: Mapping[str, Any], error: str) -> RunInfo:
    """Return a run of which nothing is known but what was planned of it."""
    known = {
        **{field.name: _NOTHING[str(field.type)] for field in fields(RunInfo)},
        "id": run_id, "location": str(folder),
        "experiment": planned.get("experiment", ""), "name": planned.get("label", ""),
        "problem": planned.get("name", Path(run_id).parts[0]), "updated": _updated(folder, "damaged"),
        **{key: planned[key] for key in ("engine", "seed", "population", "budget", "hash", "search") if key in planned},
    }  # fmt: skip
    return RunInfo(**{**known, "status": "damaged", "error": error})


_NOTHING: Mapping[str, Any] = {
    "str": "", "int": 0, "float": 0.0, "float | None": None, "Status": "damaged",
}  # fmt: skip


def _updated(folder: Path, status: Status) -> float:
    """Return when a run has changed; a finished one does not any more."""
    names = (DONE,) if status in ("done", "stale") else (DONE, FAILED, EVENTS, MANIFEST)
    return max(_modified(f"{folder}/{name}") for name in names)


def read_plan(folder: Path) -> Plan | None:
    """Return what a batch planned: experiment, file, and runs; None when there is no plan.

    Raises
    ------
    DamagedError : the plan is not what the batch wrote.
    """
    return read_file(folder, PLAN)


def plan_stamp(folder: Path) -> str:
    """Return what changes whenever the plan of a batch does."""
    return file_stamp(folder / PLAN)


def read_batch(results: Path, folder: Path, plan: Plan) -> BatchInfo:
    """Return a batch by its plan.

    Raises
    ------
    DamagedError : what it wrote of its last execution is not what it was.
    """
    claim, runner = _live_claim(folder), read_file(folder, RUNNER) or {}
    return BatchInfo(
        folder.relative_to(results).as_posix(),
        folder,
        plan["experiment"],
        plan["file"],
        tuple(run["id"] for run in plan["runs"]),
        claim.process if claim else "",
        float(runner.get("started", 0.0)),
    )


def signature(folder: Path) -> str:
    """Return what changes whenever a run's files do; it ends with `HELD` while there is a claim, valid or not.

    Raises
    ------
    DamagedError : the folder cannot be read.
    """
    names = (FAILED, EVENTS, MANIFEST, CHECKPOINT)
    held = HELD if current_claim(folder) is not None else ""
    return ",".join(file_stamp(folder / name) for name in names) + held


def is_stale(manifest: Mapping[str, Any]) -> bool:
    """Return whether a finished run was made by another version of the program."""
    return manifest.get("program") != program()


def _status(
    manifest: Mapping[str, Any] | None,
    failed: Mapping[str, Any] | None,
    claim: Claim | None,
    standing: Standing,
) -> Status:
    if claim is not None:
        return "running"
    if failed is not None:
        return "failed"
    if standing == "paused":
        return "paused"
    return "queued" if manifest is None or standing == "waiting" else "interrupted"


def _live_claim(folder: Path) -> Claim | None:
    claim = current_claim(folder)
    if claim is None:
        return None
    # Whoever only looks does not write to ask the file system for its time.
    return claim if claim.alive(time.time()) else None


def _seconds(started: object) -> float:
    if not isinstance(started, str):
        return 0.0
    try:
        return datetime.fromisoformat(started).timestamp()
    except ValueError:
        return 0.0


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 - asked of every run
    except OSError:
        return 0.0


def file_stamp(path: Path | str) -> str:
    """Return what a file is known by until it changes; empty where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked of every run
    except OSError:
        return ""
    return f"{found.st_mtime_ns}:{found.st_size}"


def counts(runs: Sequence[RunInfo]) -> dict[str, int]:
    """Return how many runs there are of each status."""
    found: dict[str, int] = {}
    for run in runs:
        found[run.status] = found.get(run.status, 0) + 1
    return found
