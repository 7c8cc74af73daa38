"""Runs as the user names them: their folder, their problem."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.experiment.results.naming import DEFAULT, folder_at, looked_at, place_of, run_folder
from evo_libra.ui.tables.output import print

if TYPE_CHECKING:
    from evo_libra.experiment.results.catalogue import Catalogue
    from evo_libra.experiment.run.origin import Origin
    from evo_libra.experiment.run.record import RunRecord
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.problem import Problem
    from evo_libra.problem.protocol import SearchProblem

__all__ = [
    "DEFAULT", "chosen_runs", "folder_at", "given_of", "known_problem", "looked_at", "named_origin", "names_run",
    "problem_file", "problem_of_result", "run_folder", "written_to",
]  # fmt: skip


def names_run(text: str) -> bool:
    """Return whether a text names one run, by a path or otherwise."""
    try:
        return bool(run_folder(text))
    except InputError:
        return False


def written_to(results: Path) -> Path:
    """Return a folder of results that is there or can be made; raise an InputError for a file or a path below one."""
    from evo_libra.experiment.results.listing import no_folder

    try:
        os.stat(f"{results}/")  # noqa: PTH116 - a path would lose the slash, which refuses a file
    except NotADirectoryError:
        raise no_folder(results) from None
    except (OSError, ValueError):  # whoever writes there says what is wrong
        return results
    return results


def chosen_runs(names: Sequence[str], results: Path, fewest: int = 2) -> list[RunRecord]:
    """Return the runs that paths, ids or parts of ids name, and those that match all filters among the names.

    An `InputError` says that there are fewer than are needed.
    """
    from evo_libra.experiment.results.catalogue import Catalogue
    from evo_libra.experiment.results.listing import is_filter
    from evo_libra.experiment.store.folder import is_run

    catalogues: dict[Path, Catalogue] = {}

    def catalogue(folder: Path) -> Catalogue:
        return catalogues.setdefault(folder, Catalogue.open(folder))

    filters = [name for name in names if not is_run(Path(name)) and is_filter(name)]
    runs = _matching(catalogue(results), filters) if filters else []
    for name in names:
        if name not in filters:
            path = folder_at(name)
            place, part = place_of(Path(name), results) if path is None else (path.resolve().parents[1], str(path))
            runs.append(catalogue(place).find(part))
    found = {run.folder.resolve(): run for run in runs}
    for one in catalogues.values():
        one.close()
    if len(found) < fewest:
        raise InputError(f"{'two runs' if fewest > 1 else 'one run'} or more are needed; found {len(found)}")
    return list(found.values())


def _matching(catalogue: Catalogue, filters: Sequence[str]) -> list[RunRecord]:
    """Return the finished runs that match filters; name on the error stream those that cannot be read."""
    from evo_libra.experiment.results.listing import parse_filter

    parse_filter(" ".join(filters))  # so that an error quotes no word but the user's
    others = [word for word in filters if not word.startswith("status:")]
    for run in catalogue.runs(" ".join([*others, "status:damaged"])):
        _leave_out(run, run.error)
    runs = [run for run in catalogue.runs(" ".join([*filters, "status:done,stale"])) if _is_sound(run)]
    if not runs:
        raise InputError(f"no run that is done fits '{' '.join(filters)}'")
    return runs


def _is_sound(run: RunRecord) -> bool:
    from evo_libra.experiment.results.catalogue import read_front
    from evo_libra.files.integrity import DamagedError

    try:
        read_front(run)
    except DamagedError as error:
        _leave_out(run, str(error))
        return False
    return True


def _leave_out(run: RunRecord, why: str) -> None:
    print(f"evo-libra: {run.id} is left out: {why}", file=sys.stderr)


def named_origin(name: str, assignments: Sequence[str]) -> Origin:
    """Return the origin of a problem of the command line, whose code is run; InputErrors as for `load_problem`."""
    from evo_libra.experiment.run.origin import origin_of
    from evo_libra.named_code import trust

    trust(name)
    return origin_of(name, assignments)


def problem_of_result(result: RunFolder, name: str | None, assignments: Sequence[str]) -> tuple[Origin, SearchProblem]:
    """Return the problem of a result and where it comes from: its manifest, or the problem that the user names.

    Parameters
    ----------
    assignments : those with which the problem that the user names is the problem of the result.

    Raises
    ------
    InputError : it cannot be built, is code that is not trusted, or is not that of the result.
    """
    from evo_libra.experiment.run.origin import build
    from evo_libra.experiment.store.folder import MANIFEST
    from evo_libra.experiment.store.stored_runs import rebuild_run
    from evo_libra.files.integrity import canonical_hash
    from evo_libra.named_code import UntrustedError

    if name is None:
        try:
            spec, problem = rebuild_run(result)
        except UntrustedError:
            raise
        except InputError as error:
            raise InputError(f"{error} (where the problem's files have moved, name it with --problem)") from None
        return spec.origin, problem
    origin = named_origin(name, assignments)
    problem = build(origin)
    if canonical_hash(problem.identity()) != canonical_hash(result.read_json(MANIFEST)["problem"]):
        raise InputError(f"the problem '{problem.name}' is not the one of the result with these --set")
    return origin, problem


def known_problem(result: RunFolder, name: str | None = None) -> Problem | None:
    """Return the problem file of a result; None for a problem in Python, of whose designs only the front is known.

    An `InputError` says that it cannot be built, or is not that of the result.
    """
    from evo_libra.problem.problem import Problem

    found = searched_problem(result, name)
    return found if isinstance(found, Problem) else None


def searched_problem(result: RunFolder, name: str | None = None) -> SearchProblem | None:
    """Return the problem of a result, be it of fabrics, too; None for a problem in Python, and errors as above."""
    from evo_libra.experiment.store.folder import MANIFEST

    if result.read_json(MANIFEST).get("source", {}).get("data", "") is None:
        return None
    return problem_of_result(result, name, given_of(result))[1]


def given_of(result: RunFolder) -> list[str]:
    """Return the ``KEY=VALUE`` of the run of a result."""
    from evo_libra.experiment.store.folder import MANIFEST

    return list(result.read_json(MANIFEST).get("source", {}).get("set", []))


def problem_file(problem: SearchProblem) -> Problem:
    """Return the problem of a problem file; raise an InputError for one of fabrics, or in Python."""
    from evo_libra.problem.problem import Problem
    from evo_libra.problem.protocol import ReadsDesigns

    if isinstance(problem, ReadsDesigns) and not isinstance(problem, Problem):
        raise InputError(
            f"'{problem.name}' asks for a fabric of switches, whose fronts have no scenarios and no other time models"
        )
    if not isinstance(problem, Problem):
        raise InputError(
            f"'{problem.name}' is written in Python: its space is unknown, and nothing can be proven of it"
        )
    return problem
