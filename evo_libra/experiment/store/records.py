"""The records of runs and batches, read from their files."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from evo_libra.experiment.run.record import COLUMNS, BatchRecord, Column, RunRecord, Status, program
from evo_libra.experiment.run.settings import SETTINGS
from evo_libra.experiment.store.claim import Claim, current_claim
from evo_libra.experiment.store.folder import (
    CHECKPOINT,
    DONE,
    EVENTS,
    FAILED,
    FRONT,
    LISTED_FIELDS,
    MANIFEST,
    PLAN,
    RUNNER,
    check_written,
    read_file,
    without_manifest,
)  # fmt: skip
from evo_libra.experiment.store.messages import last_progress
from evo_libra.files.integrity import DamagedError

Queue = Literal["", "waiting", "paused"]
"""The next step of a run without a worker: a worker of its batch, a resume, or nothing."""
Plan = Mapping[str, Any]
BATCHES = ".batches"
HELD = ",held"
RUNNER_LOG = "runner.log"
_LARGEST = 1 << 20  # Bytes of a front that a listing checks.


def read_run(
    results: Path, run_id: str, planned: Mapping[str, Any] | None = None, queue: Queue = ""
) -> RunRecord | None:
    """Return a run, or None when there is none.

    Before it has a manifest, it is as the plan of its batch has it. The queue is what it waits for while no process
    on it.
    """
    try:
        return _read_sound(results / run_id, run_id, planned, queue)
    except DamagedError as error:
        known = {"id": run_id, "location": str(results / run_id), "status": "damaged", "error": str(error)}
        head = planned or _head(results / run_id)
        return _record(head, planned, {}, known if head else {**known, "problem": Path(run_id).parts[0]})


def _read_sound(folder: Path, run_id: str, planned: Mapping[str, Any] | None, queue: Queue) -> RunRecord | None:
    manifest, done = read_file(folder, MANIFEST, LISTED_FIELDS), read_file(folder, DONE)
    head = manifest or planned
    if manifest is None and done is not None:
        raise without_manifest(folder)
    if head is None:
        return None
    known = {"id": run_id, "location": str(folder), "started": _seconds(head.get("started"))}
    if done is not None:
        _check_front(folder, done["files"].get(FRONT, ""))
        return _record(head, planned, done, {**known, "status": "stale" if is_stale(head) else "done"})
    failed, claim, point = read_file(folder, FAILED), _live_claim(folder), last_progress(folder)
    figures = {**(manifest or {}), **(point.figures() if point else {})}
    state = {
        "status": _status(manifest, failed, claim, queue),
        "worker": claim.process if claim else "",
        "error": "" if failed is None else failed["error"],
    }
    return _record(head, planned, figures, {**known, **state})


def _check_front(folder: Path, digest: str) -> None:
    """Check the front of a finished run; a listing does not wait for thousands of large ones."""
    path = f"{folder}/{FRONT}"
    with contextlib.suppress(OSError):  # reading the front reports what is wrong
        if os.stat(path).st_size > _LARGEST:  # noqa: PTH116 - asked of every run
            return
    check_written(path, digest)


def _head(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of a damaged run; nothing where the manifest is damaged, too."""
    try:
        return read_file(folder, MANIFEST, LISTED_FIELDS) or {}
    except DamagedError:
        return {}


def _record(
    head: Mapping[str, Any], planned: Mapping[str, Any] | None, figures: Mapping[str, Any], known: dict[str, Any]
) -> RunRecord:
    """Return a run by its columns; what nothing is known of is empty."""
    sources = {"head": head, "plan": planned or head, "figure": figures}
    empty = {one.attribute: one.empty for one in COLUMNS}
    values = {one.attribute: _value(one, sources) for one in COLUMNS if one.place and head}
    return RunRecord(**{**empty, **values, **known, "updated": _updated(known["location"], known["status"])})


def _value(column: Column, sources: Mapping[str, Mapping[str, Any]]) -> Any:  # noqa: ANN401 - of any kind
    if column.place == "setting":
        return SETTINGS[column.key].read(sources["head"])
    return sources[column.place].get(column.key, column.empty)


def _status(
    manifest: Mapping[str, Any] | None, failed: Mapping[str, Any] | None, claim: Claim | None, queue: Queue
) -> Status:
    if claim is not None:
        return "running"
    if failed is not None:
        return "failed"
    if queue == "paused":
        return "paused"
    return "queued" if manifest is None or queue == "waiting" else "interrupted"


def is_stale(manifest: Mapping[str, Any]) -> bool:
    """Return whether another version of the program made a finished run."""
    return manifest.get("program") != program()


def _updated(folder: Path | str, status: Status) -> float:
    """Return the time of a run's last change; a finished run does not change any more."""
    names = (DONE,) if status in ("done", "stale") else (DONE, FAILED, EVENTS, MANIFEST)
    return max(_modified(f"{folder}/{name}") for name in names)


def _live_claim(folder: Path) -> Claim | None:
    claim = current_claim(folder)
    # A reader does not write to ask the file system for its time.
    return claim if claim is not None and claim.alive(time.time()) else None


def _seconds(started: object) -> float:
    try:
        return datetime.fromisoformat(started).timestamp() if isinstance(started, str) else 0.0
    except ValueError:
        return 0.0


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 - asked of every run
    except OSError:
        return 0.0


def signature(folder: Path) -> str:
    """Return a text that changes whenever a run's files do; it ends with `HELD` while there is a claim, valid or not.

    A folder that cannot be read is a `DamagedError`.
    """
    names = (FAILED, EVENTS, MANIFEST, CHECKPOINT)
    held = HELD if current_claim(folder) is not None else ""
    return ",".join(file_stamp(folder / name) for name in names) + held


def file_stamp(path: Path | str) -> str:
    """Return a text that changes whenever a file does; empty for no file."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked of every run
    except OSError:
        return ""
    return f"{found.st_mtime_ns}:{found.st_size}"


def read_plan(folder: Path) -> Plan | None:
    """Return the plan of a batch: experiment, file, and runs; None when there is none."""
    return read_file(folder, PLAN)


def read_batch(results: Path, folder: Path, plan: Plan) -> BatchRecord:
    """Return a batch by its plan. Raises a `DamagedError` where the file of its last execution is damaged."""
    claim, runner = _live_claim(folder), read_file(folder, RUNNER) or {}
    return BatchRecord(
        id=folder.relative_to(results).as_posix(), folder=folder, experiment=plan["experiment"], file=plan["file"],
        runs=tuple(run["id"] for run in plan["runs"]), runner=claim.process if claim else "",
        started=float(runner.get("started", 0.0)),
    )  # fmt: skip


def queue_states(batches: Iterable[BatchRecord], requests: Mapping[str, str]) -> dict[str, Queue]:
    """Return by run id what runs wait for, from all requests by target; a run that is missing waits for nothing.

    A pause of a whole batch holds as long as the batch is executed; the next execution begins without it. A run that
    was stopped, or whose batch was, waits for nothing.
    """
    paused: dict[str, Queue] = {target: "paused" for target, action in requests.items() if action == "pause"}
    stopped = {target for target, action in requests.items() if action == "stop"}
    # The target of a stop of one execution of a batch is <batch>/<execution>.
    ending = stopped | {target.rpartition("/")[0] for target in stopped}
    executed = [batch for batch in batches if batch.runner and batch.id not in ending]
    held: dict[str, Queue] = {run: "paused" for one in executed if one.id in paused for run in one.runs}
    waiting: dict[str, Queue] = {
        run: "waiting" for one in executed if one.id not in paused for run in one.runs if run not in stopped
    }
    return {**held, **waiting, **paused}
