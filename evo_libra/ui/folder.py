"""The folder of results that a command is to look at."""

from __future__ import annotations

from pathlib import Path

from evo_libra.errors import InputError
from evo_libra.experiment.catalogue import can_be_read

DEFAULT = Path("results")
"""The folder where none is named; before the first run it is not there, and empty."""


def looked_at(results: Path) -> Path:
    """Return a folder of results that can be looked at.

    Raises
    ------
    InputError : it is a file, cannot be read, or it is not there and not the default.
    """
    if not can_be_read(results) and results != DEFAULT:
        raise InputError(f"there is no folder of results {results}")
    return results
