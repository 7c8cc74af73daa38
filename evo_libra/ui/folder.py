"""The folder of results, or of a run, that a command is to look at."""

from __future__ import annotations

import os
from pathlib import Path

from evo_libra.errors import InputError, counted
from evo_libra.experiment.catalogue import Catalogue, can_be_read, no_folder
from evo_libra.experiment.store import MANIFEST, is_run
from evo_libra.model.file_kinds import refusal_of_file

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


def written_to(results: Path) -> Path:
    """Return a folder of results that is there or can be made.

    Raises
    ------
    InputError : it is a file, or lies below one.
    """
    try:
        os.stat(f"{results}/")  # noqa: PTH116 - a path would lose the slash, which refuses a file
    except NotADirectoryError:
        raise no_folder(results) from None
    except (OSError, ValueError):  # whoever writes there says what is wrong
        return results
    return results


def run_folder(name: Path | str, results: Path = DEFAULT) -> Path:
    """Return the folder of a run.

    Parameters
    ----------
    name : its path; that of a folder with one run in it; its id, or a part of its id that no other has.
    results : the folder of results that ids belong to.

    Raises
    ------
    InputError : there is no such run, or there are several; the path is that of a file.
    """
    path = folder_at(name)
    if path is not None:
        return path
    catalogue = Catalogue.open(looked_at(results))
    try:
        return catalogue.find(str(name)).folder
    finally:
        catalogue.close()


def folder_at(name: Path | str) -> Path | None:
    """Return the folder of the one run at a path, or in it; None where there is no run.

    Raises
    ------
    InputError : there are several; the path is that of a file.
    """
    path = Path(name)
    if os.path.isfile(path):  # noqa: PTH113 - false for a name that is too long
        raise InputError(_refused(path))
    if os.path.isdir(path):  # noqa: PTH112 - the same
        inside = [path] if is_run(path) else _runs_in(path)
        if len(inside) == 1:
            return inside[0]
        if inside:
            shown = ", ".join(str(one) for one in inside[:3])
            raise InputError(f"{path} has {counted(len(inside), 'run')}, such as {shown}; name one")
    return None


def _runs_in(folder: Path) -> list[Path]:
    """Return the folders of runs in a folder of results, or in that of a problem's results."""
    return sorted(path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/{MANIFEST}"))


def _refused(path: Path) -> str:
    """Return the sentence that refuses a file where the folder of a run is needed."""
    if (path.parent / MANIFEST).is_file():
        return f"{path} is a file of a run; use the run's folder, {path.parent}"
    return f"{path}: {refusal_of_file(path) or 'this is a file'}; here the folder of a run is needed"
