"""What there is to know of a run and of a batch, read from their files."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from evo_libra.errors import InputError, counted
from evo_libra.experiment.run.fields import ListedFields
from evo_libra.experiment.run.provenance import canonical_hash, git_state, machine, program, versions
from evo_libra.experiment.run.settings import Origin, RunSpec, build
from evo_libra.experiment.run.trust import code_of_run, refuse_code
from evo_libra.experiment.store.claim import Claim, current_claim
from evo_libra.experiment.store.damage import check_written
from evo_libra.experiment.store.events import last_progress
from evo_libra.experiment.store.folder import (
    CHECKPOINT,
    DONE,
    EVENTS,
    FAILED,
    FRONT,
    MANIFEST,
    PLAN,
    RUNNER,
    RunFolder,
    read_file,
    without_manifest,
)
from evo_libra.files.integrity import DamagedError
from evo_libra.problem.file.spec import ordered, settable
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engine import EXHAUSTED, GAP, SECONDS, STAGNATION

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


def manifest_of(spec: RunSpec, problem: SearchProblem, command: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return problem, settings, versions, git state, machine and start of a run as JSON-able data.

    Parameters
    ----------
    spec, problem : the run, and its problem.
    command : the words that started it.
    folder : of the run.
    """
    origin = spec.origin
    return {
        "problem": dict(spec.problem),
        "source": {
            "problem": origin.name,
            "set": list(origin.assignments),
            "data": None if origin.data is None else ordered(origin.data),
            "folder": origin.folder,
            "folder_from_run": os.path.relpath(origin.folder, folder.resolve()),
        },
        "name": spec.name,
        "hash": spec.hash,
        "search": spec.search,
        "engine": spec.engine,
        "population": spec.population,
        "method": asdict(spec.method),
        "budget": spec.evaluations,
        "seconds": spec.seconds,
        "workers": spec.workers,
        "seed": spec.seed,
        "keep": spec.keep,
        "experiment": spec.experiment,
        "label": spec.label,
        "objectives": [asdict(objective) for objective in problem.objectives],
        "program": program(),
        "versions": versions(),
        "git": git_state(),
        "machine": machine(),
        "command": list(command),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def spec_of(manifest: dict[str, Any]) -> RunSpec:
    """Return the run that a manifest describes.

    Raises
    ------
    KeyError : the manifest is of a version that did not keep the problem's data.
    """
    source = manifest["source"]
    return RunSpec.of({
        "name": manifest["name"],
        "problem": manifest["problem"],
        "origin": {
            "name": source["problem"],
            "assignments": source["set"],
            "data": None if source["data"] is None else settable(source["data"]),
            "folder": source["folder"],
        },
        "engine": manifest["engine"],
        "population": manifest["population"],
        "evaluations": manifest["budget"],
        "seed": manifest["seed"],
        "keep": manifest["keep"],
        "method": manifest["method"],
        "seconds": manifest["seconds"],
        "workers": manifest["workers"],
        "experiment": manifest["experiment"],
        "label": manifest["label"],
    })  # fmt: skip


def spec_as_run(folder: RunFolder, *, trust_code: bool = False) -> RunSpec:
    """Return a run as its manifest has it, with the folder of its problem's files where that is by now.

    The problem's own file is not read: its data is in the manifest. Other files that it names are looked for where they
    were, and where they are when the run and they have been moved together.

    Parameters
    ----------
    folder : of the run.
    trust_code : run the code of a problem that the run names as ``module:object``.

    Raises
    ------
    InputError : there is no manifest or it is of an older version, the problem is code that is not trusted, cannot be
        built any more, or is another one by now.
    """
    manifest = folder.read_json(MANIFEST)
    try:
        spec = spec_of(manifest)
    except KeyError as error:
        raise InputError(f"{folder.path} is of a version that did not keep the problem ({error})") from None
    if not trust_code:
        refuse_code(code_of_run(replace(spec, engine="")), str(folder.path))
    try:
        _check(spec.origin, spec, folder)
    except InputError as error:
        return _moved(spec, folder, manifest["source"].get("folder_from_run"), error)
    return spec


def _moved(spec: RunSpec, folder: RunFolder, way: str | None, error: InputError) -> RunSpec:
    """Return a run whose problem's files lie where the way from its folder leads; raise the error if they do not."""
    if way is None:
        raise error
    origin = replace(spec.origin, folder=str((folder.path / way).resolve()))
    try:
        _check(origin, spec, folder)
    except InputError:
        raise error from None
    return replace(spec, origin=origin)


def _check(origin: Origin, spec: RunSpec, folder: RunFolder) -> None:
    """Refuse what is not the problem of a run, when it is built."""
    if canonical_hash(build(origin).identity()) != canonical_hash(spec.problem):
        what = "the code" if origin.data is None else "a catalogue or a workload file"
        raise InputError(f"{what} of the problem of {folder.path} has changed since its run")


def problem_as_run(folder: RunFolder) -> SearchProblem:
    """Return the problem of a run as its manifest has it, wherever its files are by now.

    Raises
    ------
    InputError : as for `spec_as_run`, or the problem is written in Python.
    """
    if folder.read_json(MANIFEST).get("source", {}).get("data", "") is None:
        raise InputError(f"{folder.path} is of a problem written in Python, which evaluates genes, not designs")
    return build(spec_as_run(folder).origin)


def stale(folder: RunFolder) -> bool:
    """Return whether a finished run was made by another version of the program."""
    return folder.read_json(MANIFEST).get("program") != program()


def standings(batches: Iterable[BatchInfo], requests: Mapping[str, str]) -> dict[str, Standing]:
    """Return what runs wait for: ``paused`` to be resumed, ``waiting`` for a worker; those of no word wait for nobody.

    A pause of a whole batch holds as long as the batch is executed, as the next execution begins without it. A run
    that was stopped, or whose batch was, waits for nobody.

    Parameters
    ----------
    batches : all batches of a folder of results.
    requests : every request there is, by its target; see `evo_libra.experiment.store.control.all_requested`.
    """
    paused: dict[str, Standing] = {target: "paused" for target, action in requests.items() if action == "pause"}
    stopped = {target for target, action in requests.items() if action == "stop"}
    # A stop of one execution of a batch is asked of <batch>/<execution>.
    ending = stopped | {target.rpartition("/")[0] for target in stopped}
    executed = [batch for batch in batches if batch.runner and batch.id not in ending]
    held: dict[str, Standing] = {run: "paused" for one in executed if one.id in paused for run in one.runs}
    waiting: dict[str, Standing] = {
        run: "waiting" for one in executed if one.id not in paused for run in one.runs if run not in stopped
    }
    return {**held, **waiting, **paused}


_ENDS = {
    STAGNATION: "ended as it stagnated",
    GAP: "ended as its gap is proven",
    SECONDS: "ended by its seconds",
    EXHAUSTED: "ended as nothing was left to evaluate",
}


def course(ended: str, restarts: int) -> str:
    """Return what ended a run before its evaluations, and how often it was started anew; empty for neither.

    >>> course("stagnation", 2), course("evaluations", 1), course("", 0)
    ('ended as it stagnated, 2 restarts', '1 restart', '')
    """
    parts = [_ENDS.get(ended, ""), counted(restarts, "restart") if restarts else ""]
    return ", ".join(part for part in parts if part)
