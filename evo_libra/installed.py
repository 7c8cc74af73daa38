"""Optional packages, and entry points: additions of installed packages, and views of fronts and results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from importlib.util import find_spec
from typing import Any

from evo_libra.errors import InputError

VIEWS = "evo_libra.views"
"""Group of the functions that show a front or a result; they are of higher rooms than fronts and results."""


def entry_points_of(group: str) -> EntryPoints:
    """Return the entry points of a group."""
    return _selection(tuple(sys.path))(group=group)


def view(name: str) -> Callable[..., Any]:
    """Return the function that shows a front or a result, by the name of its entry point."""
    shown: Callable[..., Any] = entry_points_of(VIEWS)[name].load()
    return shown


@lru_cache(maxsize=4)
def _selection(_path: tuple[str, ...]) -> Callable[..., EntryPoints]:
    """Return what selects from all entry points; to look through all packages takes as long as to read a problem."""
    return entry_points().select


def is_installed(package: str) -> bool:
    """Return whether a package can be imported; the package is not loaded for it."""
    return sys.modules[package] is not None if package in sys.modules else find_spec(package) is not None


def require(*packages: str, extra: str, purpose: str) -> None:
    """Refuse a purpose whose packages are not installed, with the command that installs them.

    Raises
    ------
    InputError : a package is missing.
    """
    missing = [package for package in packages if not is_installed(package)]
    if missing:
        raise InputError(f"{purpose} needs {' and '.join(missing)}: pip install 'evo-libra[{extra}]'")
