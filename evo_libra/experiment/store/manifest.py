"""The manifest of a run, and the run and its problem as they are built from it again."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError
from evo_libra.experiment.run.origin import Origin, build, digest_of, refuse_code
from evo_libra.experiment.run.provenance import git_state, machine, program, versions
from evo_libra.experiment.run.settings import read_settings, settings_json
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.problem.file.spec import ordered, settable
from evo_libra.problem.protocol import Objective, SearchProblem


def manifest_of(spec: RunSpec, problem: SearchProblem, command: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return problem, settings, versions, git state, machine and start of a run as JSON-able data.

    Parameters
    ----------
    spec, problem : the run, and its problem.
    command : the words of the command line that started it.
    folder : of the run.
    """
    origin = spec.origin
    return {
        "problem": dict(spec.problem),
        "source": {
            **source_of_problem(origin),
            "data": None if origin.data is None else ordered(origin.data),
            "folder": origin.folder,
            "folder_from_run": os.path.relpath(origin.folder, folder.resolve()),
        },
        **head_of(spec),
        **settings_json(spec),
        "experiment": spec.experiment,
        "objectives": [_objective_json(objective) for objective in problem.objectives],
        "program": program(),
        "versions": versions(),
        "git": git_state(),
        "machine": machine(),
        "command": list(command),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def planned_json(spec: RunSpec) -> dict[str, Any]:
    """Return a run as the plan of its batch has it; a problem file is named, not copied."""
    folder = {} if spec.origin.data is not None else {"folder": spec.origin.folder}
    return {
        "id": spec.id,
        **head_of(spec),
        **settings_json(spec, short=True),
        "source": {**source_of_problem(spec.origin), **folder},
    }


def head_of(spec: RunSpec) -> dict[str, Any]:
    """Return the keys that a manifest and a plan share, beside the settings."""
    return {"name": spec.name, "label": spec.label, "hash": spec.hash, "search": spec.search}


def source_of_problem(origin: Origin) -> dict[str, Any]:
    """Return what a user named as the problem."""
    return {"problem": origin.name, "set": list(origin.assignments)}


def _objective_json(objective: Objective) -> dict[str, Any]:
    return {key: getattr(objective, key) for key in ("name", "column", "scale", "label")}


def spec_of(manifest: Mapping[str, Any]) -> RunSpec:
    """Return the run that a manifest describes.

    Raises
    ------
    KeyError : the manifest is of a version that did not keep the problem's data.
    """
    source = manifest["source"]
    data = None if source["data"] is None else settable(source["data"])
    return RunSpec(
        name=manifest["name"],
        problem=manifest["problem"],
        origin=Origin(source["problem"], tuple(source["set"]), data, source["folder"]),
        experiment=manifest["experiment"],
        label=manifest["label"],
        **read_settings(manifest),
    )


def spec_as_run(folder: RunFolder, *, trust_code: bool = False) -> RunSpec:
    """Return a run as its manifest has it, with the folder of its problem's files where that is by now.

    The problem's own file is not read: its data is in the manifest. Other files that it names are looked for where they
    were, and, when the run and they have been moved together, where they are now.

    Parameters
    ----------
    folder : of the run.
    trust_code : run the code of a problem that the run names as ``module:object``.

    Raises
    ------
    InputError : there is no manifest or it is of an older version, the problem is code that is not trusted, cannot be
        built any more, or has changed.
    """
    manifest = folder.read_json(MANIFEST)
    try:
        spec = spec_of(manifest)
    except KeyError as error:
        raise InputError(f"{folder.path} is of a version that did not keep the problem ({error})") from None
    if not trust_code:
        refuse_code(replace(spec, engine="").code, str(folder.path))
    try:
        _check(spec.origin, spec, folder)
    except InputError as error:
        return _moved(spec, folder, manifest["source"].get("folder_from_run"), error)
    return spec


def _moved(spec: RunSpec, folder: RunFolder, way: str | None, error: InputError) -> RunSpec:
    """Return a run whose files lie at a relative path from its folder; raise the error where they do not."""
    if way is None:
        raise error
    origin = replace(spec.origin, folder=str((folder.path / way).resolve()))
    try:
        _check(origin, spec, folder)
    except InputError:
        raise error from None
    return replace(spec, origin=origin)


def _check(origin: Origin, spec: RunSpec, folder: RunFolder) -> None:
    if digest_of(build(origin)) != spec.problem_digest:
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
