"""Entry points: additions of installed packages, and views of fronts and results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any

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
