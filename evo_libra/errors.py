"""Errors that a user can cause, each in one sentence that says where."""

from __future__ import annotations

import contextlib
import difflib
import errno
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST = 500
"""Characters of a message."""


RENAMED = {
    "lanes": "ports",
    "lane_GBps": "port_GBps",
    "span": "domain_size",
    "ownership": "tco",
    "ownership_usd": "tco_usd",
    "any-to-any": "fat-tree",
    "extends": "base",
}
"""Names in files of earlier versions, of keys as of values, and what they are called now."""


class EvoLibraError(Exception):
    """Base of every error that a user, and not the program, has caused."""


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong with an input: what was found, what is allowed, and where, as far as it is known.

    Lines and columns count from 1; the key is a path such as ``workloads[0].parallelism.tp``.
    """

    message: str
    file: str = ""
    line: int | None = None
    column: int | None = None
    key: str = ""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part not in ("", None))
        return shortened(printable(": ".join(part for part in (place, self.key, self.message) if part)))


class InputError(EvoLibraError):
    """An input that cannot be used; carries every mistake that was found in it.

    Mistakes without a place in a file may come as one text, a line each.
    """

    def __init__(self, mistakes: str | Mistake | Iterable[Mistake]) -> None:
        if isinstance(mistakes, str):
            mistakes = [Mistake(line) for line in mistakes.split("\n")]
        self.mistakes = (mistakes,) if isinstance(mistakes, Mistake) else tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


def unusable(path: object, what: str, error: Exception) -> InputError:
    """Return the error for a file that cannot be ``read`` or ``written``, in the words of the system."""
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(Mistake(f"cannot be {what}: {reason.lower()}", str(path)))


class EngineError(InputError):
    """An engine that is not there, or that cannot be loaded."""


class ConflictError(InputError):
    """Constraints that no design can meet together.

    Attributes
    ----------
    conflict : a smallest set of them, as the user wrote them.
    """

    def __init__(self, mistakes: str | Mistake | Iterable[Mistake], conflict: tuple[str, ...]) -> None:
        super().__init__(mistakes)
        self.conflict = conflict


class InfeasibleError(EvoLibraError):
    """A question that has no answer: no design meets the constraints."""


class InvalidFrontError(EvoLibraError):
    """A front that contradicts its problem: a fault of the program, or of a problem written in Python."""


def printable(text: str) -> str:
    r"""Return a text with line breaks and control characters escaped.

    >>> printable("two\nlines")
    'two\\nlines'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def shortened(text: str, limit: int = LONGEST) -> str:
    """Return a text without its middle where it is too long: the end may say what to do.

    >>> shortened("a very long sentence", 15)
    'a very ...tence'
    """
    if len(text) <= limit:
        return text
    end = limit // 3
    return f"{text[: limit - end - 4].rstrip()} ...{text[len(text) - end :]}"


def error_text(error: BaseException) -> str:
    """Return the kind of an exception and its message in one line.

    >>> error_text(ValueError("no convergence")), error_text(MemoryError())
    ('ValueError: no convergence', 'MemoryError')
    """
    return shortened(printable(f"{type(error).__name__}: {error}".strip(": ")))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "node"), counted(2000, "node"), counted(0, "dependency", "dependencies")
    ('1 node', '2,000 nodes', '0 dependencies')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def suggestion(found: object, allowed: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for a name that it begins, or the nearest allowed one; nothing when none is near.

    Capital letters count as small ones, so that a name in capitals is the nearest to itself.

    >>> suggestion("total_bandwith", ["total_bandwidth", "cost"]), suggestion("dlrm", ["gpt-3-libra", "dlrm-libra"])
    ("; did you mean 'total_bandwidth'?", "; did you mean 'dlrm-libra'?")
    """
    names = {name.lower(): name for name in allowed}
    word = str(found).lower()
    nearest = [word] if word in names else []
    nearest = nearest or [name for name in names if len(word) > 1 and name.startswith(f"{word}-")]
    nearest = nearest or difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"; did you mean '{names[nearest[0]]}'?" if nearest else ""


def new_name(found: object, allowed: Iterable[str]) -> str:
    """Return what an old name of a key or a value is called now; empty where it is none, or the new one is not allowed.

    >>> new_name("lanes", ["ports", "blocks"]), new_name("lanes", ["blocks"])
    ('ports', '')
    """
    new = RENAMED.get(str(found), "")
    return new if new in allowed else ""


def unknown(kind: str, found: object, allowed: Iterable[str]) -> str:
    """Return the sentence for a name that does not exist: found, allowed, nearest.

    >>> unknown("block", "rings", ["ring", "switch"])
    "unknown block 'rings'; allowed: ring, switch; did you mean 'ring'?"
    """
    allowed = list(dict.fromkeys(allowed))
    if new := new_name(found, allowed):
        return f"the {kind} '{found}' is now called '{new}'"
    return f"unknown {kind} '{found}'; allowed: {', '.join(allowed)}{suggestion(found, allowed)}"


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
    """Turn the system's errors about space and rights into a `StorageError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise StorageError(_full(error, f"the disk of {folder}")) from error
        if error.errno in _NO_RIGHT:
            raise StorageError(f"{folder} cannot be written: {(error.strerror or '').lower()}") from error
        raise


def ignore_numeric_warnings() -> None:
    """Let NumPy say nothing of infinity and NaN: designs that have them are counted and told; ``-W`` shows warnings."""
    warnings.simplefilter("ignore", RuntimeWarning, append=True)


def machine_fault(error: BaseException) -> MachineError | None:
    """Return which fault of the machine an error of a run comes from; None for one of the run or of its problem's code.

    Files that such code has no right to are its own mistake; files that this program has no right to (an
    `EvoLibraError`) are the machine's.
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
    import sqlite3  # noqa: PLC0415 - few commands have a database

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
