"""Errors that a user can cause, each in one sentence that says where."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 500
"""Characters of a message."""


RENAMED = {
    "lanes": "ports",
    "lane_GBps": "port_GBps",
    "span": "domain_size",
    "ownership": "tco",
    "ownership_usd": "tco_usd",
}
"""Names in files of earlier versions, of keys as of values, and what they are called now."""


class EvoLibraError(Exception):
    """Base of every error that a user, and not the program, has caused."""


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong with an input.

    Attributes
    ----------
    message : what was found and what is allowed.
    file, line, column : where, as far as it is known; lines and columns count from 1.
    key : the path of the key, such as ``workloads[0].parallelism.tp``.
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

    Parameters
    ----------
    mistakes : the mistakes, or their messages, a line each, where they have no place in a file.
    """

    def __init__(self, mistakes: str | Mistake | Iterable[Mistake]) -> None:
        if isinstance(mistakes, str):
            mistakes = [Mistake(line) for line in mistakes.split("\n")]
        self.mistakes = (mistakes,) if isinstance(mistakes, Mistake) else tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


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


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "node"), counted(2000, "node"), counted(0, "dependency", "dependencies")
    ('1 node', '2,000 nodes', '0 dependencies')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def suggestion(found: object, allowed: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the nearest allowed name, or one that it begins; nothing when none is near.

    >>> suggestion("total_bandwith", ["total_bandwidth", "cost"]), suggestion("dlrm", ["gpt-3-libra", "dlrm-libra"])
    ("; did you mean 'total_bandwidth'?", "; did you mean 'dlrm-libra'?")
    """
    names = list(allowed)
    nearest = difflib.get_close_matches(str(found), names, n=1, cutoff=0.6)
    nearest = nearest or [name for name in names if len(str(found)) > 1 and name.startswith(f"{found}-")]
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


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
