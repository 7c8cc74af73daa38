"""Where the worth of a design of a run comes from: its problem, built anew from the run's manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.store.checkpoint import read_checkpoint
from evo_libra.experiment.run.fold_manifest import problem_as_run, stale
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.front.explain import explain
from evo_libra.arrays import Population
from evo_libra.problem.designs import read_designs
from evo_libra.problem.equal_bandwidth import equal_split
from evo_libra.problem.problem import Problem
from evo_libra.ui.terminal.details import Breakdown, Design

_PYTHON = "The problem is written in Python: where its time and cost come from is not known here."
_STALE = "The run was made by another version of the program; where time and cost come from is this one's view."
EQUAL = "equal bandwidths, no larger total"
_NO_EQUAL = "With equal bandwidths and no larger total, this network cannot be built."


def problem_of_run(folder: RunFolder) -> Problem | None:
    """Return the problem of a run; None where it is written in Python, whose code looking at results does not run.

    Raises
    ------
    InputError : as for `problem_as_run`.
    """
    if "data" in (source := folder.read_json(MANIFEST).get("source", {})) and source["data"] is None:
        return None
    problem = problem_as_run(folder)
    assert isinstance(problem, Problem)  # noqa: S101 - what problem files make
    return problem


def break_down(folder: RunFolder, design: Design) -> Breakdown:
    """Return where the worth of a design comes from; what is wrong is in the note."""
    try:
        problem = problem_of_run(folder)
        if problem is None:
            return Breakdown(note=_PYTHON)
        if not design.notation:
            design = replace(design, notation=_notation(folder, problem, design))
        population = read_designs(problem, design.notation)
        parts = explain(problem, population)
        equal, note = _equal(problem, design, population)
    except EvoLibraError as error:
        return Breakdown(note=str(error))
    said = " ".join(text for text in (_STALE if stale(folder) else "", note) if text)
    return Breakdown(parts, equal, said, design.notation)


def _notation(folder: RunFolder, problem: Problem, design: Design) -> str:
    """Return a design of a run at work, which its last checkpoint has as genes."""
    snapshot = read_checkpoint(folder, folder.read_json(MANIFEST)["search"])
    if snapshot is None:
        raise InputError("the design is known once the run has written a checkpoint")
    scales = [objective.scale for objective in problem.objectives]
    values = [design.objectives[objective.column] for objective in problem.objectives]
    found = snapshot.archive.objectives / np.array(scales)[:, None] == np.array(values)[:, None]
    which = np.flatnonzero(found.all(axis=0))
    if not len(which):
        raise InputError("the run has moved on from this design")
    return str(problem.describe(snapshot.archive.genes[:, which[:1]])["design"][0])


def _equal(problem: Problem, design: Design, population: Population) -> tuple[Design | None, str]:
    """Return the best that can be built of the same network with equal bandwidths, or that nothing can."""
    used = population.npus[:, 0] > 1
    equal = equal_split(problem, population, most=float(population.bandwidth[used, 0].mean()))
    if equal is None:
        return None, _NO_EQUAL
    return Design(design.run, EQUAL, _worth(problem, equal), str(problem.fabrics(equal)[0])), ""


def _worth(problem: Problem, population: Population) -> Mapping[str, float]:
    worth = problem.evaluate(population).objectives[:, 0]
    return {o.column: float(value) / o.scale for o, value in zip(problem.objectives, worth, strict=True)}
