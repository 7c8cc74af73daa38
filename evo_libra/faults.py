"""Faults of the machine: no space, no right to write, no memory. None of them is a failure of a run."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from evo_libra.errors import EvoLibraError

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_RESOURCES = (errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_VMSTAT = Path("/proc/vmstat")


class MachineError(EvoLibraError):
    """A machine cannot execute a run just now; the run has not failed, and the next command executes it."""


class StorageError(MachineError):
    """Results cannot be written: no space, no right to; what was finished before is as it was."""


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn the system's errors about space and rights into a `StorageError`.

    Parameters
    ----------
    folder : where results are written.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise StorageError(_full(error, f"the disk of {folder}")) from error
        if error.errno in _NO_RIGHT:
            raise StorageError(f"{folder} cannot be written: {(error.strerror or '').lower()}") from error
        raise


def machine_fault(error: BaseException) -> MachineError | None:
    """Return which fault of the machine an error comes from; None for an error of the run itself.

    Parameters
    ----------
    error : raised by whatever a run executes, a problem's own code included. Files that such code has no right to are
        its own mistake; files that this program has no right to (an `EvoLibraError`) are the machine's.
    """
    ours = isinstance(error, EvoLibraError)
    cause: BaseException | None = error
    while cause is not None:
        found = cause if isinstance(cause, MachineError) else _fault(cause, ours=ours)
        if found is not None:
            return found
        cause = cause.__cause__ or cause.__context__
    return None


def _fault(error: BaseException, *, ours: bool) -> MachineError | None:
    if isinstance(error, MemoryError):
        return MachineError(f"there is not enough memory: {error}".removesuffix(": "))
    if isinstance(error, sqlite3.Error):
        full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        return StorageError("the disk is full; finished runs are intact") if full else None
    if not isinstance(error, OSError):
        return None
    if error.errno in _NO_SPACE:
        return StorageError(_full(error, f"the disk of {error.filename}" if error.filename else "the disk"))
    if error.errno in _NO_RESOURCES or (ours and error.errno in _NO_RIGHT):
        return MachineError(f"{error.filename or 'the system'}: {(error.strerror or '').lower()}")
    return None


def _full(error: OSError, disk: str) -> str:
    """Return the sentence about a disk that takes no more."""
    if error.errno == errno.ENOSPC:
        return f"{disk} is full; finished runs are intact"
    return f"{disk} takes no more: {(error.strerror or '').lower()}; finished runs are intact"


def memory_kills() -> int | None:
    """Return how many processes the system has ended for want of memory since its start; None where it does not say."""
    try:
        lines = _VMSTAT.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)
