"""Files put into the folder of a run: whole or not at all, and only from the attempt that holds the run.

An attempt has a folder of its own inside the folder of the run, ``attempt-<token>``. The attempt changes the run's
folder in one way only: it moves a file out of its own folder to publish the file, or into its own folder to remove it.
Taking a run over moves the folders of earlier attempts away first. From then on every move of an earlier attempt
fails, because one end of the move is gone. A process that was stopped for longer than its lease, and goes on,
can neither replace nor remove what others have finished.

Lines of events and of the log are appended to a file that the attempt has published and keeps open. The next attempt
publishes a copy, so that lines of a process that was stopped end in a file without a name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from evo_libra.errors import EvoLibraError, StorageError, explained
from evo_libra.files.integrity import DamagedError, open_regular

STAGING, TEMPORARY = "attempt-", ".tmp-"
"""Prefixes of the names of attempts' folders, and of files that are being written."""
_GONE = (errno.ENOENT, errno.ESTALE)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS, errno.EXDEV)
_REMOVALS = 100


class TakenOverError(EvoLibraError):
    """An attempt cannot write any more: another one has taken the run over."""


class Staging:
    """The folder of an attempt, inside that of the run; it is there until the attempt ends or is taken over.

    Every method raises `TakenOverError` once the run is no longer this attempt's.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.run = path, path.parent
        self._open: dict[str, int] = {}

    @contextlib.contextmanager
    def owned(self) -> Iterator[None]:
        """Turn the error of a move that fails because the folder is gone into `TakenOverError`."""
        try:
            yield
        except OSError as error:
            if error.errno in _GONE and not self.path.is_dir():
                raise TakenOverError(f"another process has taken over {self.run}") from error
            raise

    def remove(self, name: str) -> bool:
        """Remove a file or a folder of the run; return whether there was one."""
        if name in self._open:
            os.close(self._open.pop(name))
        aside = self.path / f"{uuid.uuid4().hex}-removed"
        with self.owned():
            try:
                (self.run / name).replace(aside)
            except OSError as error:
                if error.errno == errno.EXDEV:  # a folder of an image's lower layer, whose writer is long gone
                    aside = self.run / name
                elif error.errno not in _GONE or not self.path.is_dir():
                    raise
                else:
                    return False
        remove_tree(aside)
        return True

    def append(self, name: str, data: bytes) -> None:
        """Append to a file of the run."""
        if name not in self._open:
            self._open[name] = self._publish_copy(name)
        _write(self._open[name], data)

    def _publish_copy(self, name: str) -> int:
        """Publish a copy of a file of the run, or an empty one, and return its descriptor for appending."""
        own = self.path / name
        with self.owned():
            descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
            try:
                _copy(self.run / name, descriptor)
                if (self.run / name).is_dir():
                    self.remove(name)
                own.replace(self.run / name)
            except BaseException:
                os.close(descriptor)
                own.unlink(missing_ok=True)
                raise
        return descriptor

    def take_over(self, appended: tuple[str, ...]) -> None:
        """Take the run from all earlier attempts, and remove files that a killed writer has left.

        `appended` names the files that attempts append to: earlier attempts may still have them open.
        """
        names = os.listdir(self.run)  # noqa: PTH208 - names alone
        earlier = [name for name in names if name.startswith(STAGING) and name != self.path.name]
        for name in (*earlier, *(name for name in names if name.startswith(TEMPORARY))):
            self.remove(name)
        if earlier:
            for name in set(appended) & set(names):
                self.append(name, b"")

    def close(self) -> None:
        """Close the files that are appended to."""
        while self._open:
            os.close(self._open.popitem()[1])


def _copy(source: Path, descriptor: int) -> None:
    """Write the content of a file, with an end to its last line, to a descriptor."""
    try:
        file = open_regular(source)
    except DamagedError:
        file = None  # what has no lines, or none that can be read
    if file is None:
        return
    last = b"\n"
    with file:
        while part := file.read(1 << 20):
            _write(descriptor, part)
            last = part[-1:]
    if last != b"\n":
        _write(descriptor, b"\n")


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def remove_tree(path: Path) -> None:
    """Remove a file or a folder, as far as there is a right to, though another process may still be writing into it."""
    if not path.is_dir() or path.is_symlink():
        with contextlib.suppress(OSError):
            path.unlink()
        return
    for _ in range(_REMOVALS):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there. Raises a `StorageError` where that is impossible."""
    with explained(path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:  # a file is in the way
            raise StorageError(f"{path} cannot be written: {(error.strerror or '').lower()}") from error


def move_folder_away(path: Path) -> None:
    """Move a folder that is in the place of a file out of the way; a file stays."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        # With a slash at its end the name is that of a folder alone: what another has published there is safe.
        os.rename(f"{path}/", path.with_name(f"moved-{uuid.uuid4().hex[:8]}-{path.name}"))  # noqa: PTH104


def replace_file(path: Path, data: bytes, beside: Path, *, sync: bool) -> None:
    """Write a file whole, over one that is there; `folder` is the folder for a temporary file."""
    with _temporary(beside, path.name, data, sync=sync) as temporary:
        temporary.replace(path)
        if sync:
            _sync(path.parent)


def create_text(path: Path, text: str, beside: Path) -> bool:
    """Write a file unless it is there, and return whether it was this writer who did.

    Of several writers exactly one does, and readers see all of it or nothing. If the file system has no hard links,
    readers may see it empty for a moment. The folder `folder` is for a temporary file.
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
