"""What there is to know of a run and of a batch, read from their files."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from evo_libra.experiment.claim import Claim, current_claim
from evo_libra.experiment.events import last_progress
from evo_libra.experiment.provenance import program
from evo_libra.experiment.store import CHECKPOINT, DONE, EVENTS, FAILED, MANIFEST

Status = Literal["queued", "running", "paused", "done", "stale", "failed", "interrupted"]
STATUSES: tuple[str, ...] = get_args(Status)
Standing = Literal["", "waiting", "paused"]
Plan = Mapping[str, Any]
BATCHES = ".batches"
HELD = ",held"
PLAN, RUNNER, RUNNER_LOG = "plan.json", "runner.json", "runner.log"


@dataclass(frozen=True)
class RunInfo:
    """A run as its files show it.

    Attributes
    ----------
    id : ``<problem>/<folder>``, the path below the folder of results.
    folder : its path; it is not there while the run is queued for the first time.
    experiment : the experiments that it belongs to, with commas between them; empty for a single search.
    name : what tells it from the other runs of its experiment, such as ``npus=1024``.
    problem, engine, seed, population : what is searched, and how.
    status : ``stale`` is done by another version of the program; ``interrupted`` has work to go on from, and nobody is
        at it; ``queued`` has none, or waits for a worker of its batch.
    evaluations, budget : designs evaluated, and to evaluate.
    front_size : non-dominated designs.
    hypervolume : on the scale of the problem, comparable between runs of one problem; None when it is not known.
    started, updated : seconds since the epoch; 0 before the start.
    wall_s : seconds of work.
    worker : ``host:pid`` of the process at work, else empty.
    error : the last line of a failure.
    hash, search : of problem, engine, settings and budget; of the same without the budget.
    ended : what ended a run that is done: ``evaluations``, ``seconds``, ``stagnation``, ``gap`` or ``exhausted``.
    restarts : how often its engine was started anew, as of its end or its last interruption.
    islands : searches side by side.
    """

    id: str
    folder: Path
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
    folder = results / run_id
    manifest = _json(folder / MANIFEST)
    head = manifest or planned
    if head is None:
        return None
    done, failed, point = _json(folder / DONE), _json(folder / FAILED), last_progress(folder)
    claim = _live_claim(folder)
    last = done or (None if point is None else {
        "evaluations": point.evaluations, "front": point.front, "hypervolume": point.hypervolume,
        "wall_s": point.seconds,
    }) or {}  # fmt: skip
    status = _status(manifest, done, failed, claim, standing)
    return RunInfo(
        run_id,
        folder,
        str((planned or head).get("experiment", "")),
        str((planned or head).get("label", "")),
        str(head.get("name", Path(run_id).parts[0])),
        str(head.get("engine", "")),
        int(head.get("seed", 0)),
        int(head.get("population", 0)),
        status,
        int(last.get("evaluations", 0)),
        int(head.get("budget", head.get("evaluations", 0))),
        int(last.get("front", 0)),
        last.get("hypervolume"),
        _seconds((manifest or {}).get("started")),
        max((_modified(folder / name) for name in (DONE, FAILED, EVENTS, MANIFEST)), default=0.0),
        float(last.get("wall_s", (manifest or {}).get("wall_s", 0.0))),
        f"{claim.host}:{claim.pid}" if claim else "",
        str((failed or {}).get("error", "")),
        str(head.get("hash", "")),
        str(head.get("search", "")),
        str((done or {}).get("ended", "")),
        int((done or manifest or {}).get("restarts", 0)),
        int((head.get("method") or {}).get("islands", 1)),
    )


def read_plan(folder: Path) -> Plan | None:
    """Return what a batch planned: experiment, file, and runs; None when there is no plan."""
    return _json(folder / PLAN)


def plan_stamp(folder: Path) -> str:
    """Return what changes whenever the plan of a batch does."""
    return file_stamp(folder / PLAN)


def read_batch(results: Path, folder: Path, plan: Plan) -> BatchInfo:
    """Return a batch by its plan."""
    claim, runner = _live_claim(folder), _json(folder / RUNNER) or {}
    return BatchInfo(
        folder.relative_to(results).as_posix(),
        folder,
        plan["experiment"],
        plan["file"],
        tuple(run["id"] for run in plan["runs"]),
        f"{claim.host}:{claim.pid}" if claim else "",
        float(runner.get("started", 0.0)),
    )


def signature(folder: Path) -> str:
    """Return what changes whenever a run's files do; it ends with `HELD` while there is a claim, valid or not."""
    names = (FAILED, EVENTS, MANIFEST, CHECKPOINT)
    held = HELD if current_claim(folder) is not None else ""
    return ",".join(file_stamp(folder / name) for name in names) + held


def is_stale(manifest: Mapping[str, Any]) -> bool:
    """Return whether a finished run was made by another version of the program."""
    return manifest.get("program") != program()


def _status(
    manifest: Mapping[str, Any] | None,
    done: Mapping[str, Any] | None,
    failed: Mapping[str, Any] | None,
    claim: Claim | None,
    standing: Standing,
) -> Status:
    if done is not None:
        return "stale" if is_stale(manifest or {}) else "done"
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


def _json(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _seconds(started: object) -> float:
    if not isinstance(started, str):
        return 0.0
    try:
        return datetime.strptime(started, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def file_stamp(path: Path) -> str:
    """Return what a file is known by until it changes; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns}:{found.st_size}"


def counts(runs: Sequence[RunInfo]) -> dict[str, int]:
    """Return how many runs there are of each status."""
    found: dict[str, int] = {}
    for run in runs:
        found[run.status] = found.get(run.status, 0) + 1
    return found
