"""The manifest of a run: what its result came from."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from evo_libra.errors import InputError
from evo_libra.experiment.provenance import canonical_hash, git_state, machine, program, versions
from evo_libra.experiment.runspec import RunSpec, build
from evo_libra.experiment.store import MANIFEST, RunFolder
from evo_libra.problem.protocol import SearchProblem
from evo_libra.problem.spec import ordered


def manifest_of(spec: RunSpec, problem: SearchProblem, command: Sequence[str]) -> dict[str, Any]:
    """Return problem, settings, versions, git state, machine and start of a run as JSON-able data."""
    origin = spec.origin
    return {
        "problem": dict(spec.problem),
        "source": {
            "problem": origin.name,
            "set": list(origin.assignments),
            "data": None if origin.data is None else ordered(origin.data),
            "folder": origin.folder,
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
            "data": source["data"],
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


def problem_as_run(folder: RunFolder) -> SearchProblem:
    """Return the problem of a run as its manifest has it, wherever the problem's file is by now.

    Raises
    ------
    InputError : there is no manifest or it is of an older version, the problem is written in Python, cannot be built
        any more, or is another one by now.
    """
    manifest = folder.read_json(MANIFEST)
    try:
        spec = spec_of(manifest)
    except KeyError as error:
        raise InputError(f"{folder.path} is of a version that did not keep the problem ({error})") from None
    if spec.origin.data is None:
        raise InputError(f"{folder.path} is of a problem written in Python, which evaluates genes, not designs")
    problem = build(spec.origin)
    if canonical_hash(problem.identity()) != canonical_hash(spec.problem):
        raise InputError(f"a catalogue or a workload file of the problem of {folder.path} has changed since its run")
    return problem


def stale(folder: RunFolder) -> bool:
    """Return whether a finished run was made by another version of the program."""
    return folder.read_json(MANIFEST).get("program") != program()
