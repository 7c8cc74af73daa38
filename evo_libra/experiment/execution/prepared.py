"""A problem that is ready to be searched, with what its runs share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from evo_libra.errors import InputError
from evo_libra.experiment.run.origin import build, digest_of
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.folder import REFERENCES, RunFolder
from evo_libra.explain.references import ReferencePoint, References, references_of
from evo_libra.front.archive import Archive
from evo_libra.problem.protocol import ReadsDesigns, SearchProblem
from evo_libra.searching.evaluation.usable import evaluate
from evo_libra.searching.loop import Extent, extent_of

_SAMPLE, _SEED = 128, 0
_KEPT = 16


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem, the scale of its hypervolumes where that is the same for every run, and its reference designs."""

    problem: SearchProblem

    @cached_property
    def scale(self) -> Extent | None:
        """The ideal and the nadir point of the best of 128 designs drawn at random.

        Runs of one problem are measured alike whatever their engine and seed; a front that is better than the sample
        has a hypervolume above 1. The designs are not counted as evaluations. None when none of them is feasible, they
        have no extent in an objective, or the problem is written in Python: its designs may take long.
        """
        problem = self.problem
        if not isinstance(problem, ReadsDesigns):
            return None
        genes = problem.genome.sample(np.random.Generator(np.random.PCG64(_SEED)), _SAMPLE)
        evaluation = evaluate(problem, genes)
        best = Archive.empty(len(problem.genome), len(problem.objectives))
        return extent_of(best.add(genes, evaluation.objectives, evaluation.violation))

    @cached_property
    def compared(self) -> References:
        """The reference designs of the problem's size, and why others of it have no figures."""
        return references_of(self.problem)

    @property
    def references(self) -> list[ReferencePoint]:
        """The reference designs of the problem's size."""
        return list(self.compared.points)

    def keep_references(self, folder: RunFolder) -> None:
        """Write the reference designs to the folder of a run, where there are any."""
        points, absent = self.references, list(self.compared.absent)
        if points or absent:
            folder.write_json(REFERENCES, {"designs": list(map(asdict, points)), "absent": absent}, sync=False)


class Problems:
    """The problems of the runs that a process executes, each built once; the last 16 are kept.

    One written in Python is its module's object, which is another one once the module was imported again.
    """

    def __init__(self) -> None:
        self._known: dict[str, Prepared] = {}

    def of(self, spec: RunSpec) -> Prepared:
        """Return a run's problem. Raises an InputError where it is not the one that was planned."""
        digest = spec.problem_digest
        found = self._known.pop(digest, None)
        if found is None or (spec.origin.data is None and found.problem is not build(spec.origin)):
            found = Prepared(_planned(spec))
        self._known[digest] = found
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return found


def _planned(spec: RunSpec) -> SearchProblem:
    problem = build(spec.origin)
    if digest_of(problem) != spec.problem_digest:
        raise InputError(
            f"the problem '{spec.name}' is another one here than where it was planned: a catalogue, a workload file or "
            "its code differs"
        )
    return problem


OF_THIS_PROCESS = Problems()
"""Those of a worker: its tasks are functions, which have no other place to keep what they share."""
