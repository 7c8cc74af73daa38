"""What installed packages add to the program: entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points


def entry_points_of(group: str) -> EntryPoints:
    """Return the entry points of a group."""
    return _selection(tuple(sys.path))(group=group)


@lru_cache(maxsize=4)
def _selection(_path: tuple[str, ...]) -> Callable[..., EntryPoints]:
    """Return what selects from all entry points; to look through all packages takes as long as to read a problem."""
    return entry_points().select
