"""Optional packages, and the entry points by which other packages add to the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from importlib.util import find_spec

from evo_libra.errors import InputError


def entry_points_of(group: str) -> EntryPoints:
    """Return the entry points of a group."""
    return _selection(tuple(sys.path))(group=group)


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
