"""The reference designs of a run's problem, which a run keeps for whoever shows its front."""

from __future__ import annotations

from dataclasses import asdict

from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.folder import REFERENCES, RunFolder
from evo_libra.explain.references import ReferencePoint, reference_points
from evo_libra.problem.protocol import SearchProblem

_KNOWN: dict[str, list[ReferencePoint]] = {}


def references_of(spec: RunSpec, problem: SearchProblem) -> list[ReferencePoint]:
    """Return the reference designs of a run's problem; runs of one problem share them."""
    digest = spec.problem_digest
    if digest not in _KNOWN:
        _KNOWN[digest] = reference_points(problem)
    return _KNOWN[digest]


def keep_references(folder: RunFolder, spec: RunSpec, problem: SearchProblem) -> None:
    """Write the reference designs of a run's problem to its folder, where there are any."""
    if found := references_of(spec, problem):
        folder.write_json(REFERENCES, {"designs": [asdict(one) for one in found]}, sync=False)
