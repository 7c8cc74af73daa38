"""The manifest of a run: what its result came from."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError
from evo_libra.experiment.run.provenance import canonical_hash, git_state, machine, program, versions
from evo_libra.experiment.run.settings import Origin, RunSpec, build
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.experiment.run.trust import code_of_run, refuse_code
from evo_libra.problem.protocol import SearchProblem
from evo_libra.problem.file.spec import ordered, settable


def manifest_of(spec: RunSpec, problem: SearchProblem, command: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return problem, settings, versions, git state, machine and start of a run as JSON-able data.

    Parameters
    ----------
    spec, problem : the run, and its problem.
    command : the words that started it.
    folder : of the run.
    """
    origin = spec.origin
    return {
        "problem": dict(spec.problem),
        "source": {
            "problem": origin.name,
            "set": list(origin.assignments),
            "data": None if origin.data is None else ordered(origin.data),
            "folder": origin.folder,
            "folder_from_run": os.path.relpath(origin.folder, folder.resolve()),
        },
        "name": spec.name,
        "hash": spec.hash,
        "search": spec.search,
        "engine": spec.engine,
        "population": spec.population,
        "method": asdict(spec.method),
        "budget": spec.evaluations,
        "seconds": spec.seconds,
        "workers": spec.workers,
        "seed": spec.seed,
        "keep": spec.keep,
        "experiment": spec.experiment,
        "label": spec.label,
        "objectives": [asdict(objective) for objective in problem.objectives],
        "program": program(),
        "versions": versions(),
        "git": git_state(),
        "machine": machine(),
        "command": list(command),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def spec_of(manifest: dict[str, Any]) -> RunSpec:
    """Return the run that a manifest describes.

    Raises
    ------
    KeyError : the manifest is of a version that did not keep the problem's data.
    """
    source = manifest["source"]
    return RunSpec.of({
        "name": manifest["name"],
        "problem": manifest["problem"],
        "origin": {
            "name": source["problem"],
            "assignments": source["set"],
            "data": None if source["data"] is None else settable(source["data"]),
            "folder": source["folder"],
        },
        "engine": manifest["engine"],
        "population": manifest["population"],
        "evaluations": manifest["budget"],
        "seed": manifest["seed"],
        "keep": manifest["keep"],
        "method": manifest["method"],
        "seconds": manifest["seconds"],
        "workers": manifest["workers"],
        "experiment": manifest["experiment"],
        "label": manifest["label"],
    })  # fmt: skip


def spec_as_run(folder: RunFolder, *, trust_code: bool = False) -> RunSpec:
    """Return a run as its manifest has it, with the folder of its problem's files where that is by now.

    The problem's own file is not read: its data is in the manifest. Other files that it names are looked for where they
    were, and where they are when the run and they have been moved together.

    Parameters
    ----------
    folder : of the run.
    trust_code : run the code of a problem that the run names as ``module:object``.

    Raises
    ------
    InputError : there is no manifest or it is of an older version, the problem is code that is not trusted, cannot be
        built any more, or is another one by now.
    """
    manifest = folder.read_json(MANIFEST)
    try:
        spec = spec_of(manifest)
    except KeyError as error:
        raise InputError(f"{folder.path} is of a version that did not keep the problem ({error})") from None
    if not trust_code:
        refuse_code(code_of_run(replace(spec, engine="")), str(folder.path))
    try:
        _check(spec.origin, spec, folder)
    except InputError as error:
        return _moved(spec, folder, manifest["source"].get("folder_from_run"), error)
    return spec


def _moved(spec: RunSpec, folder: RunFolder, way: str | None, error: InputError) -> RunSpec:
    """Return a run whose problem's files lie where the way from its folder leads; raise the error if they do not."""
    if way is None:
        raise error
    origin = replace(spec.origin, folder=str((folder.path / way).resolve()))
    try:
        _check(origin, spec, folder)
    except InputError:
        raise error from None
    return replace(spec, origin=origin)


def _check(origin: Origin, spec: RunSpec, folder: RunFolder) -> None:
    """Refuse what is not the problem of a run, when it is built."""
    if canonical_hash(build(origin).identity()) != canonical_hash(spec.problem):
        what = "the code" if origin.data is None else "a catalogue or a workload file"
        raise InputError(f"{what} of the problem of {folder.path} has changed since its run")


def problem_as_run(folder: RunFolder) -> SearchProblem:
    """Return the problem of a run as its manifest has it, wherever its files are by now.

    Raises
    ------
    InputError : as for `spec_as_run`, or the problem is written in Python.
    """
    if folder.read_json(MANIFEST).get("source", {}).get("data", "") is None:
        raise InputError(f"{folder.path} is of a problem written in Python, which evaluates genes, not designs")
    return build(spec_as_run(folder).origin)


def stale(folder: RunFolder) -> bool:
    """Return whether a finished run was made by another version of the program."""
    return folder.read_json(MANIFEST).get("program") != program()
