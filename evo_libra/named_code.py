"""Code that is named as ``module:object``, and the one gate that its import goes through.

A name of the command line, or of a call from Python, is the user's own. A file may be from another person: a problem
file, an experiment file, a result. Names in it are imported only where the user trusts all files, as
``--trust-code`` says. The gate is at the import, not at the reading of files, so that no key of a file goes round it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from evo_libra.errors import InputError

OPTION = "--trust-code"
ANY = "*"
"""Stands for every name, of whatever file."""

_trusted: ContextVar[frozenset[str]] = ContextVar("trusted", default=frozenset())


class UntrustedError(InputError):
    """A file names code that the user has not allowed to run."""


def trust(*names: str) -> None:
    """Allow the import of names that the user has given, or of `ANY`; threads that begin later ask again."""
    _trusted.set(_trusted.get() | set(names))


def trust_files(*, allowed: bool) -> None:
    """Allow the import of whatever files name, where the user has given ``--trust-code``."""
    if allowed:
        trust(ANY)


def trusted_names() -> frozenset[str]:
    """Return the names that are trusted, for another process of the same user."""
    return _trusted.get()


def trusts_files() -> bool:
    """Return whether the user trusts whatever files name."""
    return ANY in _trusted.get()


@contextmanager
def own_trust() -> Iterator[None]:
    """Give a command, or a call from Python, a trust of its own, which ends with it."""
    before = _trusted.set(_trusted.get())
    try:
        yield
    finally:
        _trusted.reset(before)


def refuse_untrusted(names: Iterable[str]) -> None:
    """Raise an `UntrustedError` where the user does not trust all names."""
    refused = [] if trusts_files() else [name for name in names if name not in _trusted.get()]
    if refused:
        raise UntrustedError(
            f"a file names code, {' and '.join(refused)}; where you trust the file, {OPTION} runs the code"
        )


def import_object(name: str, folder: Path | None = None) -> object:
    """Return the object that ``module:object`` names.

    The module is looked for in the folder, too, the current one when left out. It comes after all that is installed, so
    that no file there stands in for a module of Python or of a library; only a namespace package without a module of
    its own name may be taken from there. Who trusts a module of a folder trusts the folder.

    Raises
    ------
    UntrustedError : a file names it, and the user has not said that files are trusted.
    ImportError, AttributeError, ValueError : there is no such module or object.
    """
    refuse_untrusted([name])
    module, _, attribute = name.partition(":")
    place = str(folder or Path.cwd())
    if place not in sys.path:
        sys.path.append(place)
    return getattr(importlib.import_module(module), attribute)
