"""The folder of a run: its files, their keys, and which of them are damaged.

Files are whole or not there; the run has finished when ``done.json`` is there. Keys of settings and results come from
`evo_libra.experiment.run.settings` and `evo_libra.experiment.run.record`.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, get_type_hints

from evo_libra.errors import InputError, explained
from evo_libra.experiment.run.record import COLUMNS, RUN_FIGURES, RunFigures
from evo_libra.experiment.run.settings import SETTINGS
from evo_libra.experiment.store.staging import Staging, make_folder, move_folder_away, replace_file
from evo_libra.files.checked_json import Fields, parse_file
from evo_libra.files.integrity import (
    DamagedError,
    check_archive,
    check_table,
    checksum,
    open_regular,
    read_bytes,
    seal_json,
)  # fmt: skip

if TYPE_CHECKING:
    from evo_libra.explain.references import References
    from evo_libra.front.front import Front

FRONT, MANIFEST, DONE, CHECKPOINT, PLOT = "front.parquet", "manifest.json", "done.json", "checkpoint.npz", "front.png"
EVENTS, LOG, FAILED = "events.jsonl", "run.log", "failed.json"
_OLD_FAILURES = "failures.json"  # of earlier versions; the manifest has them
ATTEMPT, PLAN, RUNNER = "attempt.json", "plan.json", "runner.json"
DESIGNS, REFERENCES, PROOF = "designs-*.parquet", "references.json", "proof.json"

_FIGURE_KINDS = {one.key: get_type_hints(RunFigures)[one.name] for one in RUN_FIGURES}
_SETTING_KINDS = {one.key: one.kind for one in SETTINGS.values() if one.key}
_LISTED = {SETTINGS[one.key].key for one in COLUMNS if one.place == "setting"} - {""}
# The head of a run: what a manifest and a plan both say, and a list of runs shows.
_HEAD = {
    **{one.key: str for one in COLUMNS if one.place in ("head", "plan")},
    **{key: kind for key, kind in _SETTING_KINDS.items() if key in _LISTED},
    "method": dict[str, Any],
}
_SOURCE = Fields(
    {"problem": str, "set": list[str], "data": Any, "folder": str, "folder_from_run": str},
    optional=("data", "folder", "folder_from_run"),
)
_SINCE = tuple(one.key for one in COLUMNS if one.place in ("head", "plan") and not one.required)
"""Keys of the head that runs of earlier versions do not have."""
_MORE = {"source": _SOURCE, **{key: kind for key, kind in _SETTING_KINDS.items() if key not in _LISTED}}
_STATE = {"status": Literal["running", "done", "interrupted"], "failures": int, **_FIGURE_KINDS}
LISTED_FIELDS = Fields({**_HEAD, "program": str, "started": str, **_STATE}, optional=(*_STATE, *_SINCE))
"""The part of a manifest that a list of runs shows."""
_OBJECTIVE = Fields({"name": str, "column": str, "scale": float, "label": str})
_FAILURE = Fields({"reason": str, "genes": list[float]})
_MANIFEST = {
    **LISTED_FIELDS.kinds, **_MORE, "problem": dict[str, Any], "objectives": list[_OBJECTIVE],  # type: ignore[valid-type]
    "versions": dict[str, str], "git": dict[str, Any] | None, "machine": dict[str, str], "command": list[str],
    "first_failures": list[_FAILURE],  # type: ignore[valid-type]
}  # fmt: skip
_PLANNED = Fields({**_HEAD, **_MORE, "id": str}, optional=(*_MORE, *_SINCE, "experiment"))
_REFERENCE = Fields({"name": str, "design": str, "figures": dict[str, float], "source": str, "year": int})
_FIELDS: dict[str, Fields] = {
    MANIFEST: Fields(_MANIFEST, optional=(*_STATE, *_MORE, *_SINCE, "first_failures")),
    DONE: Fields(
        {**_FIGURE_KINDS, "files": dict[str, str]}, optional=[one.key for one in RUN_FIGURES if not one.required]
    ),
    FAILED: Fields({"error": str, "time": float}, optional=("time",)),
    REFERENCES: Fields({"designs": list[_REFERENCE]}),  # type: ignore[valid-type]
    ATTEMPT: Fields(
        {"batch": str, "evaluations": int | None, "count": int, "memory_kills": dict[str, int | None]},
        optional=("memory_kills",),
    ),
    PLAN: Fields({"experiment": str, "file": str, "runs": list[_PLANNED]}),  # type: ignore[valid-type]
    RUNNER: Fields({"command": list[str], "started": float, "workers": int}),
}

Content = Callable[[BinaryIO], None] | bytes


def read_file(folder: Path, name: str, fields: Fields | None = None) -> dict[str, Any] | None:
    """Return the content of a JSON file of a run or a batch, or only the fields that are needed; None without a file.

    Raises a `DamagedError` where it cannot be read, or is not what the program wrote.
    """
    path = f"{folder}/{name}"  # A path of its own would take a tenth of the time that listing runs takes.
    raw = read_bytes(path)
    return None if raw is None else parse_file(path, raw, fields or _FIELDS[name], alone=fields is not None)


@dataclass(frozen=True)
class RunFolder:
    """Folder of the files of one run.

    The holder of the run's claim writes to its staging folder first; None for a reader, and for a folder without
    claims. Functions that write raise a `StorageError` where there is no space or no right to, and a `TakenOverError`
    once another attempt has taken over the run.
    """

    path: Path
    staging: Staging | None = None

    @property
    def done(self) -> bool:
        """Whether the run has finished; it has not where the mark of that is damaged."""
        try:
            return read_file(self.path, DONE) is not None
        except DamagedError:
            return False

    def write(self, name: str, content: Content, *, sync: bool = True) -> None:
        """Write one file, from bytes or a function that writes them, so that it is there whole or not at all.

        With `sync`, wait until the disk has it; what a later synced file of the folder stands for needs this.
        """
        data = content if isinstance(content, bytes) else _bytes_of(content)
        with explained(self.path):
            if self.staging is not None:
                with self.staging.owned():
                    replace_file(self.path / name, data, self.staging.path, sync=sync)
                return
            make_folder(self.path)
            try:
                replace_file(self.path / name, data, self.path, sync=sync)
            except FileNotFoundError:
                # Another process tidied up the folder and took the temporary file for that of a dead writer.
                replace_file(self.path / name, data, self.path, sync=sync)

    def write_json(self, name: str, data: Mapping[str, Any], *, sync: bool = True) -> None:
        """Write JSON for people and programs."""
        self.write(name, seal_json(data), sync=sync)

    def append(self, name: str, line: str) -> None:
        """Append one line to a file of lines; a line that a crash cuts short is skipped by readers."""
        with explained(self.path):
            if self.staging is not None:
                self.staging.append(name, f"{line}\n".encode())
                return
            with (self.path / name).open("ab") as file:
                file.write(f"{line}\n".encode())

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with explained(self.path):
            if self.staging is not None:
                self.staging.remove(name)
            else:
                (self.path / name).unlink(missing_ok=True)

    def read_json(self, name: str) -> dict[str, Any]:
        """Read a JSON file of the run, as `read_file` does. Raises an InputError where it is not there."""
        data = read_file(self.path, name)
        if data is None:
            raise InputError(f"{self.path} is no folder of a result: it has no {name}")
        return data

    def read_front(self) -> Front:
        """Read the front.

        Raises an `InputError` where there is none, or it is not the one that the run wrote; `DamagedError` where it is
        damaged.
        """
        from evo_libra.front.front import Front  # noqa: PLC0415 - an index of runs needs no frames

        raw = read_bytes(self.path / FRONT)
        if raw is None:
            raise InputError(f"{self.path} has no front: its run was not finished")
        front, done = Front.of_bytes(self.path / FRONT, raw), read_file(self.path, DONE)
        if done is not None and done["files"].get(FRONT) != hashlib.sha256(raw).hexdigest():
            raise DamagedError(f"{self.path / FRONT} is not the front that the run wrote: its checksum is another one")
        return front

    def read_references(self) -> References:
        """Return the reference designs of the run's problem; none of a run of a version that did not keep them."""
        from evo_libra.explain.references import ReferencePoint, References  # noqa: PLC0415 - an index of runs needs no problems

        data = read_file(self.path, REFERENCES)
        if data is None:
            return References()
        return References([ReferencePoint(**one) for one in data["designs"]], data.get("absent", []))

    def clear(self) -> None:
        """Remove the files of an earlier run, the mark that it is done first."""
        parts = [path.name for path in self.path.glob(DESIGNS)]
        others = (CHECKPOINT, FRONT, PLOT, REFERENCES, PROOF, MANIFEST, _OLD_FAILURES, EVENTS, LOG, *parts)
        for name in (DONE, FAILED, *others):
            self.remove(name)

    def take_over(self) -> None:
        """Take the run from all earlier attempts and remove what they left; for the holder of a new claim."""
        assert self.staging is not None, "its claim is held"  # noqa: S101 - internal error
        with explained(self.path):
            self.staging.take_over((EVENTS, LOG))


def _bytes_of(content: Callable[[BinaryIO], None]) -> bytes:
    # In memory first: Polars hides what the system said when it cannot write to a file.
    buffer = io.BytesIO()
    content(buffer)
    return buffer.getvalue()


def is_run(path: Path) -> bool:
    """Return whether a folder is one of a run, as far as the name of its manifest tells."""
    return os.path.lexists(path / MANIFEST)


def without_manifest(folder: Path) -> DamagedError:
    """Return the error for a run that is marked as done and has no manifest."""
    return DamagedError(f"{folder} has a {DONE} and no {MANIFEST}")


def damaged_files(folder: RunFolder) -> dict[str, str]:
    """Return the files of a run that are not what it wrote: their names, and a sentence each.

    The checkpoint counts until the run has finished; a line of the events counts for nothing but itself.
    """
    path, wrong = folder.path, dict[str, str]()

    def look(name: str, check: Callable[[Path], object]) -> None:
        try:
            check(path / name)
        except DamagedError as error:
            wrong[name] = str(error)

    for name in (MANIFEST, DONE, FAILED, REFERENCES, ATTEMPT):
        look(name, lambda file: read_file(path, file.name))
    for name in (EVENTS, LOG, PLOT, CHECKPOINT):
        look(name, _check_regular)
    done = None if DONE in wrong else read_file(path, DONE)
    if done is not None and not is_run(path):
        wrong[MANIFEST] = str(without_manifest(path))
    if done is None:
        look(CHECKPOINT, lambda file: _if_there(file, check_archive))
    tables = done["files"] if done else dict.fromkeys((FRONT, *(one.name for one in path.glob(DESIGNS))), "")
    for name, digest in tables.items():
        look(name, lambda file, digest=digest: check_written(file, digest))  # type: ignore[misc]
    return wrong


def drop_damaged(folder: RunFolder) -> list[str]:
    """Remove the damaged files of a claimed run and its mark of being done; return what was wrong."""
    wrong = damaged_files(folder)
    for name in [DONE, *wrong] if wrong else ():
        move_folder_away(folder.path / name)  # whose ever it is
        folder.remove(name)
    return list(wrong.values())


def check_written(path: Path | str, digest: str) -> None:
    """Check a table against the checksum that the mark of a finished run has of it; against its own where that is "".

    Raises a `DamagedError` where it is not what the run wrote, cannot be read, or is not there.
    """
    if digest and checksum(path) == digest:
        return
    _if_there(path, check_table)
    if digest:
        raise DamagedError(f"{path} is not what the run wrote: its checksum is another one")


def _check_regular(path: Path) -> None:
    file = open_regular(path)
    if file is not None:
        file.close()


def _if_there(path: Path | str, check: Callable[[Path | str, bytes], None]) -> None:
    raw = read_bytes(path)
    if raw is not None:
        check(path, raw)
