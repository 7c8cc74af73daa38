"""Names of runs: by a path, an id or a part of it, or as the last one."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from evo_libra.errors import InputError, counted

DEFAULT = Path("results")
"""The folder of results where none is named; before the first run it is not there."""


def looked_at(results: Path) -> Path:
    """Return a folder of results that can be read; raise an InputError where it is neither there nor the default."""
    from evo_libra.experiment.results.listing import can_be_read

    if not can_be_read(results) and results != DEFAULT:
        raise InputError(f"there is no folder of results {results}")
    return results


def run_folder(name: Path | str, results: Path = DEFAULT) -> Path:
    """Return the folder of a run.

    Parameters
    ----------
    name : its path; that of a folder with one run in it; its id, or a part of its id that no other has; ``last`` for
        the run that changed last. Before a part or ``last`` may stand another folder of results.
    results : the folder of results that ids belong to.

    Raises
    ------
    InputError : there is no such run, or there are several; the path is that of a file.
    """
    from evo_libra.experiment.results.catalogue import Catalogue

    path = folder_at(name)
    if path is not None:
        return path
    place, part = place_of(Path(name), results)
    with closing(Catalogue.open(looked_at(place))) as catalogue:
        return catalogue.find(part).folder


def place_of(name: Path, results: Path) -> tuple[Path, str]:
    """Return the folder of results of a run, and what names the run there."""
    from evo_libra.experiment.store.folder import MANIFEST

    folder = name.parent
    # An existing file or folder, such as that of a run that has not begun, is a path.
    if folder == Path() or os.path.exists(name) or not os.path.isdir(folder):  # noqa: PTH110, PTH112 - any length
        return results, str(name)
    if any(folder.glob(f"*/{MANIFEST}")):  # the folder of a problem
        return folder.parent, f"{folder.name}/{name.name}"
    return folder, name.name


def folder_at(name: Path | str) -> Path | None:
    """Return the folder of the one run at a path, or in it; None where there is no run, an InputError for several."""
    from evo_libra.experiment.store.folder import MANIFEST, is_run

    path = Path(name)
    if os.path.isfile(path):  # noqa: PTH113 - false for a name that is too long
        raise InputError(_refused(path))
    if os.path.isdir(path):  # noqa: PTH112 - the same
        below = (found.parent for depth in ("*", "*/*") for found in path.glob(f"{depth}/{MANIFEST}"))
        inside = [path] if is_run(path) else sorted(below)
        if len(inside) == 1:
            return inside[0]
        if inside:
            shown = ", ".join(str(one) for one in inside[:3])
            raise InputError(f"{path} has {counted(len(inside), 'run')}, such as {shown}; name one, or {path}/last")
    return None


def _refused(path: Path) -> str:
    """Return the sentence that refuses a file where the folder of a run is needed."""
    from evo_libra.experiment.store.folder import MANIFEST
    from evo_libra.files.source import refusal_of_file

    if (path.parent / MANIFEST).is_file():
        return f"{path} is a file of a run; use the run's folder, {path.parent}"
    return f"{path}: {refusal_of_file(path) or 'this is a file'}; here the folder of a run is needed"
