"""The folder of a run: files that are whole or not there, finished when ``done.json`` is there."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from evo_libra.errors import InputError, StorageError, explained
from evo_libra.experiment.store.json_files import (
    ATTEMPT_FIELDS,
    DONE_FIELDS,
    FAILED_FIELDS,
    FAILURES_FIELDS,
    MANIFEST_FIELDS,
    PLAN_FIELDS,
    RUNNER_FIELDS,
    Fields,
    parse_file,
)
from evo_libra.experiment.store.staging import Staging
from evo_libra.files.integrity import DamagedError, open_regular, read_bytes, seal_json

if TYPE_CHECKING:
    from evo_libra.front.front import Front

FRONT, MANIFEST, DONE, CHECKPOINT, PLOT = "front.parquet", "manifest.json", "done.json", "checkpoint.npz", "front.png"
EVENTS, LOG, FAILED, FAILURES = "events.jsonl", "run.log", "failed.json", "failures.json"
ATTEMPT, PLAN, RUNNER = "attempt.json", "plan.json", "runner.json"
DESIGNS = "designs-*.parquet"
TEMPORARY = ".tmp-"
_FIELDS: dict[str, Fields] = {
    MANIFEST: MANIFEST_FIELDS, DONE: DONE_FIELDS, FAILED: FAILED_FIELDS, FAILURES: FAILURES_FIELDS,
    ATTEMPT: ATTEMPT_FIELDS, PLAN: PLAN_FIELDS, RUNNER: RUNNER_FIELDS,
}  # fmt: skip
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS, errno.EXDEV)

_PART = 1 << 16

Content = Callable[[BinaryIO], None] | bytes


@dataclass(frozen=True)
class RunFolder:
    """Where one run keeps its files.

    Attributes
    ----------
    path : the folder.
    staging : where the holder of the run's claim writes first; None for a reader, and for a folder without claims.
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
        """Write one file so that it is there whole or not at all.

        Parameters
        ----------
        name : of the file.
        content : its bytes, or a function that writes them to a file.
        sync : wait until the disk has it; what a later synced file of the folder stands for needs this.

        Raises
        ------
        StorageError : there is no space, or no right to write.
        TakenOverError : another attempt has taken over the run.
        """
        data = content if isinstance(content, bytes) else _written(content)
        with explained(self.path):
            if self.staging is not None:
                with self.staging.owned():
                    self._write(self.staging.path, name, data, sync=sync)
                return
            make_folder(self.path)
            try:
                self._write(self.path, name, data, sync=sync)
            except (
                FileNotFoundError
            ):  # Another process tidied up the folder and took the temporary file for that of a dead writer.
                self._write(self.path, name, data, sync=sync)

    def _write(self, beside: Path, name: str, data: bytes, *, sync: bool) -> None:
        with _temporary(beside, name, data, sync=sync) as temporary:
            temporary.replace(self.path / name)
            if sync:
                _sync(self.path)

    def write_json(self, name: str, data: Mapping[str, Any], *, sync: bool = True) -> None:
        """Write JSON for people and programs."""
        self.write(name, seal_json(data), sync=sync)

    def append(self, name: str, line: str) -> None:
        """Append one line to a file of lines; a line that a crash cuts short is skipped by readers.

        Raises
        ------
        StorageError : there is no space, or no right to write.
        TakenOverError : another attempt has taken over the run.
        """
        with explained(self.path):
            if self.staging is not None:
                self.staging.append(name, f"{line}\n".encode())
                return
            with (self.path / name).open("ab") as file:
                file.write(f"{line}\n".encode())

    def remove(self, name: str) -> None:
        """Remove a file, if it is there.

        Raises
        ------
        StorageError : there is no right to.
        TakenOverError : another attempt has taken over the run.
        """
        with explained(self.path):
            if self.staging is not None:
                self.staging.remove(name)
            else:
                (self.path / name).unlink(missing_ok=True)

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
        front, done = Front.of_bytes(self.path / FRONT, raw), read_file(self.path, DONE)
        if done is not None and done["files"].get(FRONT) != hashlib.sha256(raw).hexdigest():
            raise DamagedError(f"{self.path / FRONT} is not the front that the run wrote: its checksum is another one")
        return front

    def clear(self) -> None:
        """Remove the files of an earlier run, the mark that it is done first."""
        parts = [path.name for path in self.path.glob(DESIGNS)]
        for name in (DONE, FAILED, CHECKPOINT, FRONT, PLOT, MANIFEST, FAILURES, EVENTS, LOG, *parts):
            self.remove(name)

    def take_over(self) -> None:
        """Take the run from all earlier attempts and remove what they left; for the holder of a new claim.

        Raises
        ------
        StorageError : there is no right to.
        TakenOverError : another attempt has taken over the run.
        """
        assert self.staging is not None, "its claim is held"  # noqa: S101 - our mistake
        with explained(self.path):
            self.staging.take_over(TEMPORARY, (EVENTS, LOG))


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there.

    Raises
    ------
    StorageError : it cannot be made.
    """
    with explained(path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:  # a file is in the way
            raise StorageError(f"{path} cannot be written: {(error.strerror or '').lower()}") from error


def is_run(path: Path) -> bool:
    """Return whether a folder is one of a run, as far as the name of its manifest tells."""
    return os.path.lexists(path / MANIFEST)


def read_file(folder: Path, name: str, fields: Fields | None = None) -> dict[str, Any] | None:
    """Return the content of a JSON file of a run or a batch; None where there is none.

    Parameters
    ----------
    folder, name : the file.
    fields : the keys that are needed; all when left out.

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


def checksum(path: Path | str) -> str:
    """Return the SHA-256 of a file; empty where there is none.

    Raises
    ------
    DamagedError : it cannot be read.
    """
    file = open_regular(path)
    if file is None:
        return ""
    found = hashlib.sha256()
    with file:
        while part := file.read(_PART):  # `hashlib.file_digest` takes longer to begin than a small file takes
            found.update(part)
    return found.hexdigest()


def discard(path: Path) -> None:
    """Remove a file that nobody claims; a folder that is in its place is moved out of the way."""
    move_folder_away(path)
    path.unlink(missing_ok=True)


def move_folder_away(path: Path) -> None:
    """Move a folder that is in the place of a file out of the way; a file stays."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        # With a slash at its end the name is that of a folder alone: what another has published there is safe.
        os.rename(f"{path}/", path.with_name(f"moved-{uuid.uuid4().hex[:8]}-{path.name}"))  # noqa: PTH104


def create_text(path: Path, text: str, beside: Path) -> bool:
    """Write a file unless it is there; of several writers exactly one does, and readers see all of it or nothing.

    Where the file system has no hard links, readers may see it empty for a moment.

    Parameters
    ----------
    path, text : of the file.
    beside : the folder for a temporary file.

    Returns
    -------
    Whether it was this writer.
    """
    with explained(path.parent), _temporary(beside, path.name, text.encode(), sync=False) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return _create_in_place(path, text)
        return True


def _create_in_place(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _written(content: Callable[[BinaryIO], None]) -> bytes:
    # In memory first: Polars hides what the system said when it cannot write to a file.
    buffer = io.BytesIO()
    content(buffer)
    return buffer.getvalue()


@contextlib.contextmanager
def _temporary(folder: Path, name: str, data: bytes, *, sync: bool) -> Iterator[Path]:
    temporary = folder / f"{TEMPORARY}{uuid.uuid4().hex}{Path(name).suffix}"
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
