"""Runs as the user names them: their folder, their problem, a design of their front."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError, counted

if TYPE_CHECKING:
    from evo_libra.experiment.run.origin import Origin
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.problem import Problem


DEFAULT = Path("results")
"""The folder of results where none is named; before the first run it is not there."""


def looked_at(results: Path) -> Path:
    """Return a folder of results that can be looked at.

    Raises
    ------
    InputError : it is a file, cannot be read, or it is not there and not the default.
    """
    from evo_libra.experiment.results.listing import can_be_read

    if not can_be_read(results) and results != DEFAULT:
        raise InputError(f"there is no folder of results {results}")
    return results


def written_to(results: Path) -> Path:
    """Return a folder of results that is there or can be made.

    Raises
    ------
    InputError : it is a file, or lies below one.
    """
    from evo_libra.experiment.results.listing import no_folder

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
    from evo_libra.experiment.results.catalogue import Catalogue

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
    from evo_libra.experiment.store.folder import is_run

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
    from evo_libra.experiment.store.folder import MANIFEST

    return sorted(path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/{MANIFEST}"))


def _refused(path: Path) -> str:
    """Return the sentence that refuses a file where the folder of a run is needed."""
    from evo_libra.experiment.store.folder import MANIFEST
    from evo_libra.files.source import refusal_of_file

    if (path.parent / MANIFEST).is_file():
        return f"{path} is a file of a run; use the run's folder, {path.parent}"
    return f"{path}: {refusal_of_file(path) or 'this is a file'}; here the folder of a run is needed"


def origin_of_result(result: RunFolder, name: str | None, assignments: Sequence[str], *, trust_code: bool) -> Origin:
    """Return where the problem of a result comes from: its manifest, or what the user names.

    Parameters
    ----------
    result : its folder.
    name : of the problem, where the user names it.
    assignments : those with which what the user names is the problem of the result.
    trust_code : run the code of a problem that the manifest names as ``module:object``.

    Raises
    ------
    InputError : it cannot be built, is code that is not trusted, or is not that of the result.
    """
    from evo_libra.experiment.run.origin import UntrustedError, build, origin_of
    from evo_libra.experiment.run.spec import spec_as_run
    from evo_libra.experiment.store.folder import MANIFEST
    from evo_libra.files.integrity import canonical_hash

    if name is None:
        try:
            return spec_as_run(result, trust_code=trust_code).origin
        except UntrustedError:
            raise
        except InputError as error:
            raise InputError(f"{error} (where the problem's files have moved, name it with --problem)") from None
    origin = origin_of(name, assignments)
    problem = build(origin)
    if canonical_hash(problem.identity()) != canonical_hash(result.read_json(MANIFEST)["problem"]):
        raise InputError(f"the problem '{problem.name}' is not the one of the result with these --set")
    return origin


def given_of(result: RunFolder) -> list[str]:
    """Return the ``KEY=VALUE`` of the run of a result."""
    from evo_libra.experiment.store.folder import MANIFEST

    return list(result.read_json(MANIFEST).get("source", {}).get("set", []))


def problem_from(origin: Origin, assignments: Sequence[str] = ()) -> Problem:
    """Return the problem that comes from somewhere, with more of its values replaced.

    Raises
    ------
    InputError : it cannot be built, or is written in Python.
    """
    from evo_libra.experiment.run.origin import build, with_assignments
    from evo_libra.problem.problem import Problem

    problem = build(with_assignments(origin, assignments))
    if not isinstance(problem, Problem):
        raise InputError(
            f"'{problem.name}' is written in Python: its space is unknown, and nothing can be proven of it"
        )
    return problem


def design_of(result: RunFolder, number_: int) -> str:
    """Return a design of the front of a result by its id, in the notation.

    Raises
    ------
    InputError : there is no front, or no such design on it.
    """
    import polars as pl

    frame = result.read_front().frame
    found = frame.filter(pl.col("id") == number_)
    if not found.height:
        raise InputError(f"the front of {result.path} has no design {number_}; its ids are 0 to {frame.height - 1}")
    return str(found["design"][0])
