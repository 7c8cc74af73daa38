"""The folder of a run: files that are whole or not there, finished when ``done.json`` is there."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.fields import (
    AttemptFields,
    DoneFields,
    FailedFields,
    FailuresFields,
    ManifestFields,
    PlanFields,
    RunnerFields,
    parse_file,
)
from evo_libra.integrity import DamagedError, open_regular, read_bytes, seal_json

if TYPE_CHECKING:
    from evo_libra.front.front import Front

FRONT, MANIFEST, DONE, CHECKPOINT, PLOT = "front.parquet", "manifest.json", "done.json", "checkpoint.npz", "front.png"
EVENTS, LOG, FAILED, FAILURES = "events.jsonl", "run.log", "failed.json", "failures.json"
ATTEMPT, PLAN, RUNNER = "attempt.json", "plan.json", "runner.json"
DESIGNS = "designs-*.parquet"
TEMPORARY = ".tmp-"
_FIELDS: dict[str, Any] = {
    MANIFEST: ManifestFields, DONE: DoneFields, FAILED: FailedFields, FAILURES: FailuresFields, ATTEMPT: AttemptFields,
    PLAN: PlanFields, RUNNER: RunnerFields,
}  # fmt: skip
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


class StorageError(EvoLibraError):
    """Results cannot be written: no space, no right to; what was finished before is as it was."""


@dataclass(frozen=True)
class RunFolder:
    """Where one run keeps its files."""

    path: Path

    @property
    def done(self) -> bool:
        """Whether the run has finished; it has not where the mark of that is damaged."""
        try:
            return read_file(self.path, DONE) is not None
        except DamagedError:
            return False

    def write(self, name: str, content: Callable[[Path], None] | bytes, *, sync: bool = True) -> None:
        """Write one file so that it is there whole or not at all.

        Parameters
        ----------
        name : of the file.
        content : its bytes, or a function that writes them to the path it is given.
        sync : wait until the disk has it; what a later synced file of the folder stands for needs this.

        Raises
        ------
        StorageError : there is no space, or no right to write.
        """
        try:
            self._write(name, content, sync=sync)
        except FileNotFoundError:  # Whoever tidies up the folder took the temporary file for a dead writer's.
            self._write(name, content, sync=sync)

    def _write(self, name: str, content: Callable[[Path], None] | bytes, *, sync: bool) -> None:
        with explained(self.path), _temporary(self.path, name, content, sync=sync) as temporary:
            temporary.replace(self.path / name)
            if sync:
                _sync(self.path)

    def write_json(self, name: str, data: Mapping[str, Any], *, sync: bool = True) -> None:
        """Write JSON for people and programs."""
        self.write(name, seal_json(data), sync=sync)

    def create_json(self, name: str, data: Mapping[str, Any]) -> bool:
        """Write JSON unless the file is there already; return whether this writer was the one to do it."""
        return create_text(self.path / name, seal_json(data).decode(), sync=True)

    def read_json(self, name: str) -> dict[str, Any]:
        """Read a JSON file of the run that has to be there.

        Raises
        ------
        InputError : the folder has no such file; `DamagedError` as for `read_file`.
        """
        data = read_file(self.path, name)
        if data is None:
            raise InputError(f"{self.path} is no folder of a result: it has no {name}")
        return data

    def read_front(self) -> Front:
        """Read the front.

        Raises
        ------
        InputError : there is none, or it is not the one that the run wrote; `DamagedError` where it is damaged.
        """
        from evo_libra.front.front import Front  # noqa: PLC0415 - an index of runs needs no frames

        raw = read_bytes(self.path / FRONT)
        if raw is None:
            raise InputError(f"{self.path} has no front: its run was not finished")
        done = read_file(self.path, DONE)
        if done is not None and done["files"].get(FRONT) != hashlib.sha256(raw).hexdigest():
            raise DamagedError(f"{self.path / FRONT} is not the front that the run wrote: its checksum is another one")
        return Front.of_bytes(self.path / FRONT, raw)

    def clear(self) -> None:
        """Remove the files of an earlier run, the mark that it is done first."""
        for name in (DONE, FAILED, CHECKPOINT, FRONT, PLOT, MANIFEST, FAILURES, EVENTS, LOG):
            (self.path / name).unlink(missing_ok=True)
        for part in self.path.glob(DESIGNS):
            part.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what a writer that was killed left behind; only for who holds the claim of the run."""
        for path in self.path.glob(f"{TEMPORARY}*"):
            path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there.

    Raises
    ------
    StorageError : it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise
        raise StorageError(f"{path} cannot be written: {(error.strerror or '').lower()}") from error


def is_run(path: Path) -> bool:
    """Return whether a folder is one of a run, as far as the name of its manifest tells."""
    return os.path.lexists(path / MANIFEST)


def read_file(folder: Path, name: str, fields: Any = None) -> dict[str, Any] | None:  # noqa: ANN401 - a type
    """Return the content of a JSON file of a run or a batch; None where there is none.

    Parameters
    ----------
    folder, name : the file.
    fields : what of it is wanted, a `TypedDict` of its first fields; all of it when left out.

    Raises
    ------
    DamagedError : it cannot be read, or is not what the program wrote.
    """
    path = f"{folder}/{name}"  # A path of its own would take a tenth of the time that listing runs takes.
    raw = read_bytes(path)
    return None if raw is None else parse_file(path, raw, fields or _FIELDS[name], alone=fields is not None)


def without_manifest(folder: Path) -> DamagedError:
    """Return the error for a run that is marked as done and has no manifest."""
    return DamagedError(f"{folder} has a {DONE} and no {MANIFEST}")


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file; empty where there is none.

    Raises
    ------
    DamagedError : it cannot be read.
    """
    file = open_regular(path)
    if file is None:
        return ""
    with file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # a file without a buffer is one


def drop_unless_sound(path: Path) -> None:
    """Remove a JSON file that is damaged and is about to be written again."""
    try:
        read_file(path.parent, path.name)
    except DamagedError:
        discard(path)


def discard(path: Path) -> None:
    """Remove a file of a run; a folder that is in its place, which no run has made, is moved out of the way."""
    try:
        path.unlink(missing_ok=True)
    except (IsADirectoryError, PermissionError):
        if not path.is_dir() or path.is_symlink():
            raise
        path.rename(path.with_name(f"moved-{uuid.uuid4().hex[:8]}-{path.name}"))


def plain_name(name: str) -> str:
    """Return a name as a part of a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip(".") or "-"


def create_text(path: Path, text: str, *, sync: bool = False) -> bool:
    """Write a file unless it is there; of several writers exactly one does, and readers see all of it or nothing.

    Where the file system has no hard links, readers may see it empty for a moment.

    Returns
    -------
    Whether it was this writer.
    """
    folder = path.parent
    with explained(folder), _temporary(folder, path.name, text.encode(), sync=sync) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return _create_in_place(path, text, sync=sync)
        if sync:
            _sync(folder)
        return True


def _create_in_place(path: Path, text: str, *, sync: bool) -> bool:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            if sync:
                os.fsync(file.fileno())
    except FileExistsError:
        return False
    return True


def append_line(path: Path, line: str) -> None:
    """Append one line to a file of lines; a line that a crash cuts short is skipped by readers."""
    with explained(path.parent), path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


@contextlib.contextmanager
def _temporary(folder: Path, name: str, content: Callable[[Path], None] | bytes, *, sync: bool) -> Iterator[Path]:
    make_folder(folder)
    handle, path = tempfile.mkstemp(dir=folder, prefix=TEMPORARY, suffix=Path(name).suffix)
    temporary = Path(path)
    try:
        with os.fdopen(handle, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
        if not isinstance(content, bytes):
            content(temporary)
        temporary.chmod(0o644)
        if sync:
            _sync(temporary)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn the system's errors about space and rights into a `StorageError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise StorageError(f"the disk of {folder} is full; finished runs are intact") from error
        if error.errno in _NO_RIGHT:
            raise StorageError(f"{folder} cannot be written: {(error.strerror or '').lower()}") from error
        raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
