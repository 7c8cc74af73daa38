"""All runs of a folder of results: an index in SQLite that is made from their files and may be deleted at any time.

Reading does not write to the folder of results. Requests go through `evo_libra.experiment.store.messages`.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.experiment.results.index import (
    cache_folder,
    checkpoint_points,
    keep_points,
    known_points,
    load,
    open_index,
    save,
)
from evo_libra.experiment.results.listing import can_be_read, folder_names, parse_filter, run_ids, sort_runs
from evo_libra.experiment.run.record import COLUMNS, BatchRecord, RunRecord, program
from evo_libra.experiment.store.folder import DONE, FRONT, LOG, MANIFEST, PLAN, RunFolder
from evo_libra.experiment.store.messages import read_requests
from evo_libra.experiment.store.messages import request as _request
from evo_libra.experiment.store.records import (
    BATCHES,
    HELD,
    Plan,
    Queue,
    file_stamp,
    queue_states,
    read_batch,
    read_plan,
    read_run,
    signature,
)
from evo_libra.files.integrity import DamagedError, read_bytes

if TYPE_CHECKING:
    import polars as pl

    from evo_libra.arrays import FloatArray
    from evo_libra.front.front import Front

LAST = "last"
"""The name of the run that changed last."""

_NEAREST = 3


class Catalogue:
    """The runs of a folder of results; made by `Catalogue.open`.

    May be used by several threads. `refresh` reads the files, everything else uses what it found.
    """

    def __init__(self, results: Path, index: sqlite3.Connection) -> None:
        self.results, self._place = results, str(results)
        self._index, self._lock = index, threading.RLock()
        self._runs: dict[str, RunRecord] = {}
        self._stamps: dict[str, str] = {}
        self._batches: tuple[BatchRecord, ...] = ()
        self._plans: dict[Path, tuple[str, Plan | None]] = {}
        self._notes: list[str] = []

    @staticmethod
    def open(results: Path | str = "results", cache: Path | None = None) -> Catalogue:
        """Open the catalogue of a folder of results, empty where there is none yet, and bring it up to date.

        The index lies in the folder `cache`; when left out, in the user's cache folder, or one of this machine's where
        that is on a network file system. Raises an `InputError` where `results` is a file, or cannot be read.
        """
        results = Path(results)
        there = can_be_read(results)
        name = hashlib.sha256(os.fsencode(results.resolve())).hexdigest()[:16]
        # A missing folder needs no index that stays.
        path = (cache or cache_folder()) / f"{name}.sqlite" if there else None
        catalogue = Catalogue(results, open_index(path))
        for stamp, run in load(catalogue._index, results):
            catalogue._runs[run.id], catalogue._stamps[run.id] = run, stamp
        catalogue.refresh()
        return catalogue

    def close(self) -> None:
        """Close the index."""
        with self._lock:
            self._index.close()

    def refresh(self) -> None:
        """Read what has changed since the last time; for a finished run, three dates are compared."""
        with self._lock:
            requests, self._notes = read_requests(self.results)
            planned = self._read_plans()
            queue = queue_states(self._batches, requests)
            present = run_ids(self.results, self._notes)
            before, self._runs = self._runs, {}
            for run_id in [*present, *(planned.keys() - present.keys())]:
                run, stamp = self._reread(before.get(run_id), run_id, planned.get(run_id), queue.get(run_id, ""))
                if run is not None:
                    self._runs[run_id], self._stamps[run_id] = run, stamp
            gone = before.keys() - self._runs.keys()
            changed = [run for run_id, run in self._runs.items() if run is not before.get(run_id)]
            # A damaged run is read again each time, since a repair may leave all dates as they were.
            sound = [(self._stamps[run.id], run) for run in changed if run.status != "damaged"]
            save(self._index, sound, gone | {run.id for run in changed if run.status == "damaged"})

    def _read_plans(self) -> dict[str, Mapping[str, Any]]:
        """Return what is planned of each run; plans that have not changed are not read again."""
        plans: dict[Path, tuple[str, Plan | None]] = {}
        batches = []
        for folder in [self.results / BATCHES / name for name in folder_names(self.results / BATCHES, self._notes)]:
            try:
                stamp = file_stamp(folder / PLAN)
                known = self._plans.get(folder)
                plan = known if known and known[0] == stamp else (stamp, read_plan(folder))
                plans[folder] = plan
                if plan[1] is not None:
                    batches.append(read_batch(self.results, folder, plan[1]))
            except DamagedError as error:
                self._notes.append(f"the batch {folder.name} is not listed: {error}")
        self._plans, self._batches = plans, tuple(batches)
        return _merged(plan for _, plan in self._plans.values() if plan is not None)

    def _reread(
        self, known: RunRecord | None, run_id: str, planned: Mapping[str, Any] | None, queue: Queue
    ) -> tuple[RunRecord | None, str]:
        try:
            stamp = _done_stamp(f"{self._place}/{run_id}") or f"{queue},{signature(self.results / run_id)}"
        except DamagedError:
            stamp = ""
        if known is None or stamp != self._stamps.get(run_id) or stamp.endswith(HELD) or known.status == "damaged":
            return read_run(self.results, run_id, planned, queue), stamp
        if planned is not None and (known.experiment, known.name) != (planned["experiment"], planned["label"]):
            return replace(known, experiment=str(planned["experiment"]), name=str(planned["label"])), stamp
        return known, stamp

    def runs(self, query: str = "", sort: str = "id") -> list[RunRecord]:
        """Return runs.

        The query has words that all hold, such as ``status:failed seed:3 evaluations>1000 4k``; see `parse_filter`.
        They are sorted by a field of `RunRecord`; ``-updated`` begins with the latest.
        """
        accepts = parse_filter(query)
        with self._lock:
            return sort_runs([run for run in self._runs.values() if accepts(run)], sort)

    def notes(self) -> tuple[str, ...]:
        """Return a sentence for each thing that could not be read, and for each damaged run."""
        with self._lock:
            return (*self._notes, *(f"{run.id}: {run.error}" for run in self._runs.values() if run.status == "damaged"))

    def batches(self) -> tuple[BatchRecord, ...]:
        """Return the batches that were run into the folder of results."""
        return self._batches

    def runs_of(self, batch: BatchRecord) -> list[RunRecord]:
        """Return the runs of a batch in the order of its experiment."""
        with self._lock:
            return [self._runs[run_id] for run_id in batch.runs if run_id in self._runs]

    def find(self, name: str) -> RunRecord:
        """Return the one run that a path, an id, or a part of an id names; ``last`` is the run that changed last.

        ``gpt3-4k/last`` is the last one of the runs whose ids begin with ``gpt3-4k/``. The whole name of a problem
        names its runs, and not those of problems whose names have it as a part.
        """
        path = Path(name)
        with self._lock:
            if name in self._runs:
                return self._runs[name]
            mine = [run for run in self._runs.values() if run.id.startswith(name.removesuffix(LAST))]
            if path.name == LAST and mine:
                return max(mine, key=lambda run: (run.updated or 0.0, run.id))
            here = [run for run in self._runs.values() if _same(run.folder, path)]
            of_problem = [run for run in self._runs.values() if run.id.startswith(f"{name}/")]
            found = here or of_problem or [run for run in self._runs.values() if name in run.id]
        if len(found) == 1:
            return found[0]
        if not found:
            raise InputError(f"there is no run '{name}' in {self.results}{self._near(name)}")
        shown = ", ".join(run.id for run in found[:3])
        raise InputError(f"'{name}' stands for {len(found)} runs, such as {shown}; name one")

    def _near(self, name: str) -> str:
        """Return the ids that resemble what is no part of any, as the end of a sentence."""
        if not self._runs:
            return ", which has no runs"
        ends = {part: run_id for run_id in self._runs for part in (run_id, *run_id.split("/"))}
        near = difflib.get_close_matches(name, ends, n=_NEAREST, cutoff=0.0)
        return f"; the nearest are {', '.join(dict.fromkeys(ends[end] for end in near))}"

    def frame(self, query: str = "", sort: str = "id") -> pl.DataFrame:
        """Return runs as a Polars frame, one row per run; see `runs`.

        >>> Catalogue.open("nowhere").frame().height
        0
        """
        import polars as pl  # noqa: PLC0415 - the terminal needs no frames

        kinds: dict[str, Any] = {"int": pl.Int64, "float": pl.Float64, "float | None": pl.Float64}
        schema = {one.name: kinds.get(one.kind, pl.String) for one in COLUMNS}
        return pl.DataFrame([run.row() for run in self.runs(query, sort)], schema=schema)

    def points(self, run: RunRecord) -> dict[str, FloatArray] | None:
        """Return objective column -> values of a run's front where that takes no data frame, else None.

        Those of a run at work come from its checkpoint, those of a finished one from the index; see `keep_points`.
        """
        with self._lock:
            return known_points(self._index, run)

    def keep_points(self, run: RunRecord, points: Mapping[str, FloatArray]) -> None:
        """Keep the points of a finished run's front in the index, for `points`."""
        with self._lock:
            keep_points(self._index, run, points)


def read_front(run: RunRecord) -> Front:
    """Return the front of a run; of one at work, that of its last checkpoint, with the objectives alone.

    Raises an InputError where there is none yet, or it is damaged.
    """
    folder = RunFolder(run.folder)
    if os.path.lexists(run.folder / FRONT):
        return folder.read_front()
    import numpy as np  # noqa: PLC0415 - the index needs no arrays
    import polars as pl  # noqa: PLC0415 - the same

    from evo_libra.front.front import Front  # noqa: PLC0415 - the same

    columns = checkpoint_points(folder)
    if columns is None:
        raise InputError(f"{run.folder} has no front yet")
    frame = pl.DataFrame({"id": np.arange(len(next(iter(columns.values())))), **columns})
    return Front(frame, tuple(columns))


def read_log(run: RunRecord, lines: int = 200) -> list[str]:
    """Return the last lines of a run's log; none when it has not begun, and why where it cannot be read."""
    try:
        return (read_bytes(run.folder / LOG) or b"").decode(errors="replace").splitlines()[-lines:]
    except DamagedError as error:
        return [str(error)]


def read_manifest(run: RunRecord) -> dict[str, Any]:
    """Return problem, versions, git state, machine, seed and timings of a run that has begun."""
    return RunFolder(run.folder).read_json(MANIFEST)


def request(run: RunRecord | BatchRecord, action: str) -> None:
    """Ask a run, or all runs of a batch, to pause, resume, stop or be tried again; see `messages.request`."""
    depth = len(Path(run.id).parts)
    _request(run.folder.parents[depth - 1], run.id, action)


def _merged(plans: Iterable[Plan]) -> dict[str, Mapping[str, Any]]:
    """Return what is planned of each run; one that several experiments share names all of them."""
    merged: dict[str, Mapping[str, Any]] = {}
    for plan in plans:
        for run in plan["runs"]:
            known = merged.get(run["id"])
            names = plan["experiment"] if known is None else f"{known['experiment']}, {plan['experiment']}"
            merged[run["id"]] = {**run, "experiment": names}
    return merged


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _done_stamp(folder: str) -> str:
    try:
        # Asked of every run, each second.
        done, manifest = os.stat(f"{folder}/{DONE}"), os.stat(f"{folder}/{MANIFEST}")  # noqa: PTH116
    except OSError:
        return ""
    # The program decides whether the run is stale; a front that has changed is checked again.
    return f"done:{done.st_mtime_ns}:{manifest.st_mtime_ns}:{file_stamp(f'{folder}/{FRONT}')}:{program()}"
