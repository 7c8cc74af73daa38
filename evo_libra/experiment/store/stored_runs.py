"""Runs and problems as the manifest of a folder has them."""

from __future__ import annotations

from dataclasses import replace

from evo_libra.errors import InputError
from evo_libra.experiment.run.origin import Origin, build, digest_of
from evo_libra.experiment.run.spec import RunSpec, spec_of
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.named_code import UntrustedError
from evo_libra.problem.protocol import SearchProblem


def rebuild_run(folder: RunFolder) -> tuple[RunSpec, SearchProblem]:
    """Return a run and its problem as its manifest has them, with the folder of the problem's files where it is by now.

    The problem's own file is not read: its data is in the manifest. Other files that it names are looked for where they
    were, and, when the run and they have been moved together, where they are now.

    Raises an `InputError` where there is no manifest or it is of an older version, or where the problem cannot be built
    any more, has changed, or is ``module:object`` and its code is not trusted.
    """
    manifest = folder.read_json(MANIFEST)
    try:
        spec = spec_of(manifest)
    except KeyError as error:
        raise InputError(f"{folder.path} is of a version that did not keep the problem ({error})") from None
    try:
        return spec, _problem(spec.origin, spec, folder)
    except UntrustedError as error:
        raise UntrustedError(f"{folder.path}: {error}") from None
    except InputError as error:
        way = manifest["source"].get("folder_from_run")
        if way is None:
            raise
        moved = replace(spec.origin, folder=str((folder.path / way).resolve()))
        try:
            return replace(spec, origin=moved), _problem(moved, spec, folder)
        except InputError:
            raise error from None


def _problem(origin: Origin, spec: RunSpec, folder: RunFolder) -> SearchProblem:
    problem = build(origin)
    if digest_of(problem) != spec.problem_digest:
        what = "the code, or a file that an option names," if origin.data is None else "a catalogue or a workload file"
        raise InputError(f"{what} of the problem of {folder.path} has changed since its run")
    return problem


def problem_as_run(folder: RunFolder) -> SearchProblem:
    """Return the problem of a run as its manifest has it, wherever its files are by now.

    Raises an `InputError` as for `rebuild_run`, or the problem is written in Python.
    """
    if folder.read_json(MANIFEST).get("source", {}).get("data", "") is None:
        raise InputError(f"{folder.path} is of a problem written in Python, which evaluates genes, not designs")
    return rebuild_run(folder)[1]
