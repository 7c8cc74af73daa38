"""The UI's copy of the store, read a few times a second; unchanged files are not read again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.experiment.results.catalogue import Catalogue, read_front, read_log
from evo_libra.experiment.run.record import BatchRecord, RunRecord
from evo_libra.experiment.store.folder import CHECKPOINT, DESIGNS, EVENTS, FRONT, LOG, REFERENCES, RunFolder, read_file
from evo_libra.experiment.store.messages import Progress, add_progress, all_requested
from evo_libra.experiment.store.records import file_stamp
from evo_libra.files.integrity import DamagedError, open_regular, parse_line
from evo_libra.ui.terminal.queue_view import run_names

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.experiment.results.comparison import Subject
    from evo_libra.front.front import Front

REFRESH_SECONDS = 1.0
"""Time between two checks of all runs."""
_SHARE = 0.05  # Of a core, at most, for reading all runs.
_SAMPLE = 4_000
_KEPT = 64


@dataclass(frozen=True)
class Wanted:
    """Request to the reader of the store.

    Attributes
    ----------
    query, sort : which runs are listed; see `Catalogue.runs`.
    shown : ids of the runs whose fronts are shown, the selected one first; the first of all when there is none.
    log : whether the log of the selected one is shown.
    """

    query: str = ""
    sort: str = "id"
    shown: tuple[str, ...] = ()
    log: bool = False


@dataclass(frozen=True, eq=False)
class RunData:
    """Contents of the files of one run; a record equals itself alone.

    Attributes
    ----------
    values : objective column -> (k,) values of the front.
    note : why there is no front.
    designs : objective column -> a sample of all designs evaluated; empty when they were not kept.
    log : its last lines; empty when they are not wanted.
    subject : what it searches; None when that is not known.
    references : name and objectives of the reference designs of its problem.
    """

    front: Front | None = None
    values: Mapping[str, FloatArray] = field(default_factory=dict)
    note: str = ""
    progress: tuple[Progress, ...] = ()
    designs: Mapping[str, FloatArray] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    subject: Subject | None = None
    references: tuple[tuple[str, Mapping[str, float]], ...] = ()

    @property
    def objectives(self) -> tuple[str, ...]:
        """The columns of the front's objectives."""
        return self.front.objectives if self.front is not None else ()


@dataclass(frozen=True)
class Scene:
    """The store at one moment.

    Attributes
    ----------
    every, runs : all runs, and those that are listed, in their order.
    names : short names of all runs, by their ids.
    requests : what runs and batches are asked for, by their ids.
    data : of the runs that are shown; the same objects as before where nothing has changed.
    shown : their ids, the selected one first.
    error : what is wrong with the query; the runs are then those of the last good one.
    note : the first thing that could not be read; empty when all could.
    """

    every: tuple[RunRecord, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[RunRecord, ...] = ()
    batches: tuple[BatchRecord, ...] = ()
    requests: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, RunData] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    error: str = ""
    note: str = ""


class ProgressReader:
    """Follows the events of a run; see `evo_libra.experiment.store.messages.read_progress` for what it finds."""

    def __init__(self, folder: Path) -> None:
        self._path, self._read, self._progress = folder / EVENTS, 0, list[Progress]()

    def follow(self) -> tuple[Progress, ...]:
        """Return the progress so far; what a crash undid and an attempt repeated is there once."""
        file = open_regular(self._path)
        if file is None:
            self._read, self._progress = 0, []
            return ()
        with file:
            if file.seek(0, 2) < self._read:
                self._read, self._progress = 0, []  # the run has started again
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            add_progress(self._progress, parse_line(line) or {})  # a crash cuts a line short
        return tuple(self._progress)


class Session:
    """Reads a folder of results for the UI; used by one thread at a time. For `cache` see `Catalogue.open`."""

    def __init__(self, results: Path, cache: Path | None = None) -> None:
        self.results = results
        started = time.monotonic()
        self._catalogue = Catalogue.open(results, cache)
        self._next = self._after(started)
        self._known: dict[str, tuple[dict[str, str], RunData]] = {}
        self._progress: dict[str, ProgressReader] = {}
        self._designs_next: dict[str, float] = {}
        self._scene, self._last = Scene(), Wanted()

    def close(self) -> None:
        """Close the catalogue."""
        self._catalogue.close()

    def look(self, wanted: Wanted, *, now: bool = False, data: bool = True) -> Scene:
        """Return the store as it is; `now` reads all runs again, and without `data` only the list is read."""
        started = time.monotonic()
        renewed = now or started >= self._next
        if renewed:
            self._catalogue.refresh()
            self._next = self._after(started)
        scene = self._scene
        if renewed or not scene.every or (wanted.query, wanted.sort) != (self._last.query, self._last.sort):
            scene = self._listed(wanted, scene)
        known = {run.id: run for run in scene.every}
        self._last = wanted
        if not data:
            self._scene = scene
            return scene
        shown = self._shown(wanted, known, scene)
        found = {run_id: self._data(known[run_id], log=wanted.log and index == 0) for index, run_id in enumerate(shown)}
        if shown != scene.shown or any(found[run_id] is not scene.data.get(run_id) for run_id in shown):
            scene = replace(scene, shown=shown, data=found)
        self._scene = scene
        return scene

    def glance(self, wanted: Wanted) -> Scene:
        """Return the last scene with the points of fronts that are known without a data frame, nothing else.

        Parts that do not need Polars are drawn while it is imported.
        """
        known = {run.id: run for run in self._scene.every}
        shown = self._shown(wanted, known, self._scene)
        points = {run_id: self._catalogue.points(known[run_id]) for run_id in shown}
        data = {
            run_id: RunData(values=values, progress=self._follow(known[run_id]))
            for run_id, values in points.items()
            if values
        }
        if data:
            self._scene = replace(self._scene, shown=shown, data=data)
        return self._scene

    @staticmethod
    def _shown(wanted: Wanted, known: Mapping[str, RunRecord], scene: Scene) -> tuple[str, ...]:
        shown = tuple(dict.fromkeys(run_id for run_id in wanted.shown if run_id in known))
        return shown or tuple(run.id for run in scene.runs[:1])

    def _follow(self, run: RunRecord) -> tuple[Progress, ...]:
        try:
            return self._progress.setdefault(run.id, ProgressReader(run.folder)).follow()
        except DamagedError:
            return ()  # the list of runs says so

    def _after(self, started: float) -> float:
        finished = time.monotonic()
        return finished + max(REFRESH_SECONDS, (finished - started) / _SHARE)

    def _listed(self, wanted: Wanted, scene: Scene) -> Scene:
        every = tuple(self._catalogue.runs())
        error, runs = "", scene.runs
        try:
            runs = tuple(self._catalogue.runs(wanted.query, wanted.sort))
        except InputError as mistake:
            error = str(mistake)
            known = {run.id: run for run in every}
            runs = tuple(known[run.id] for run in runs if run.id in known)
        new = replace(
            scene, every=every, names=run_names(every), runs=runs, batches=self._catalogue.batches(),
            requests=all_requested(self.results), error=error,
            note=next(iter(self._catalogue.notes()), ""),
        )  # fmt: skip
        return scene if new == scene else new

    def _data(self, run: RunRecord, *, log: bool) -> RunData:
        stamps, data = self._known.pop(run.id, ({}, RunData()))
        now = {name: file_stamp(run.folder / name) for name in (FRONT, CHECKPOINT, EVENTS)}
        now[DESIGNS] = ",".join(file_stamp(path) for path in run.folder.glob(DESIGNS))
        now["log"] = file_stamp(run.folder / LOG) if log else ""
        now["status"] = run.status
        changed = {name for name, stamp in now.items() if stamps.get(name) != stamp}
        if changed & {FRONT, CHECKPOINT, "status"}:
            data = _with_front(run, data)
            self._catalogue.keep_points(run, data.values)
        if EVENTS in changed:
            data = replace(data, progress=self._follow(run))
        if changed & {DESIGNS, CHECKPOINT} and time.monotonic() >= self._designs_next.get(run.id, 0.0):
            started = time.monotonic()
            data = replace(data, designs=_designs(run, data.front))
            self._designs_next[run.id] = time.monotonic() + (time.monotonic() - started) / _SHARE
        elif changed & {DESIGNS, CHECKPOINT}:
            now |= {name: stamps.get(name, "") for name in (DESIGNS,)}  # another time
        if "log" in changed:
            data = replace(data, log=tuple(read_log(run)) if log else ())
        self._known[run.id] = now, data
        while len(self._known) > _KEPT:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._progress.pop(oldest, None)
        return data


def _with_front(run: RunRecord, data: RunData) -> RunData:
    try:
        if run.status == "damaged":
            raise DamagedError(run.error)
        front = read_front(run)
    except InputError as error:
        waiting = not isinstance(error, DamagedError) and run.status in ("queued", "running", "paused", "interrupted")
        return replace(data, front=None, values={}, note="no front yet" if waiting else str(error))
    values = {column: front.frame[column].to_numpy() for column in front.objectives}
    note = "" if len(front) else "no design meets the constraints so far"
    subject, references = data.subject or _subject(run), _references(run)
    return replace(data, front=front, values=values, note=note, subject=subject, references=references)


def _references(run: RunRecord) -> tuple[tuple[str, Mapping[str, float]], ...]:
    try:
        found = read_file(run.folder, REFERENCES)
    except DamagedError:
        return ()  # the list of runs says so
    return tuple((one["name"], one["figures"]) for one in found["designs"]) if found is not None else ()


def _subject(run: RunRecord) -> Subject | None:
    from evo_libra.experiment.results.comparison import Subject  # noqa: PLC0415 - the first plot does not wait for problems

    try:
        return Subject.of_run(RunFolder(run.folder))
    except (InputError, KeyError):
        return None  # of a version that kept less


def _designs(run: RunRecord, front: Front | None) -> dict[str, FloatArray]:
    """Return an even sample of all designs that a run has kept."""
    import polars as pl  # noqa: PLC0415 - only runs that keep designs have them

    from evo_libra.experiment.store.search_state import designs_files, kept_designs  # noqa: PLC0415 - the same

    if front is None or not designs_files(run.folder):
        return {}
    try:
        lazy = kept_designs(run.folder).select(*front.objectives, "violation")
        step = max(lazy.select(pl.len()).collect().item() // _SAMPLE, 1)
        found = lazy.gather_every(step).filter(pl.col("violation") <= 0).collect()
    except (OSError, DamagedError, pl.exceptions.PolarsError):
        return {}  # they are damaged, or a run at work has just begun again
    return {column: found[column].to_numpy() for column in front.objectives}
