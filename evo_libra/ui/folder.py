"""The folder of results that a command is to look at."""

from __future__ import annotations

from pathlib import Path

from evo_libra.errors import InputError

DEFAULT = Path("results")
"""The folder where none is named; before the first run it is not there, and empty."""


def looked_at(results: Path) -> Path:
    """Return a folder of results that can be looked at.

    Raises
    ------
    InputError : it is a file, or it is not there and not the default.
    """
    if results.exists() and not results.is_dir():
        raise InputError(f"{results} is no folder of results: it is a file")
    if results != DEFAULT and not results.exists():
        raise InputError(f"there is no folder of results {results}")
    return results
