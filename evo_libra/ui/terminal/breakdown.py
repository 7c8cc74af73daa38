"""Parts of the objectives of a design, read from the files of its run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import Population
from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.store.folder import DONE, MANIFEST, RunFolder
from evo_libra.ui.terminal.details import Breakdown, Design

if TYPE_CHECKING:
    from pathlib import Path

    from evo_libra.explain.drawn_network import DrawnNetwork
    from evo_libra.explain.drawn_order import DrawnOrder
    from evo_libra.problem.problem import Problem

_PYTHON = "The problem is written in Python: where its time and cost come from is not known here."
_STALE = "The run was made by another version of the program; where time and cost come from is this one's view."
EQUAL = "equal bandwidths, no larger total"
_NO_EQUAL = "With equal bandwidths and no larger total, this network cannot be built."


def problem_of_run(folder: RunFolder) -> Problem | None:
    """Return the problem of a run; None for one of fabrics, or in Python, as showing results runs no code."""
    from evo_libra.experiment.store.stored_runs import problem_as_run
    from evo_libra.problem.problem import Problem

    if "data" in (source := folder.read_json(MANIFEST).get("source", {})) and source["data"] is None:
        return None
    problem = problem_as_run(folder)
    return problem if isinstance(problem, Problem) else None


def break_down(folder: RunFolder, design: Design, last: dict[Path, Problem | None] | None = None) -> Breakdown:
    """Return where the objectives of a design come from; what is wrong is in the note.

    The problem of the last run, by its folder, serves the designs of that run.
    """
    from evo_libra.experiment.store.records import is_stale
    from evo_libra.explain.design_record import design_record
    from evo_libra.ui.tables.references import sentences_of_run

    try:
        problem = _problem(folder, {} if last is None else last)
        if problem is None:
            return Breakdown(note=_PYTHON)
        if not design.notation:
            design = replace(design, notation=_notation(folder, problem, design))
        population = problem.read(design.notation)
        record = design_record(problem, design.notation)
        equal, note = _equal(problem, design, population)
        network = _drawn(design.notation, problem)
    except EvoLibraError as error:
        return Breakdown(note=str(error))
    stale = _STALE if is_stale(folder.read_json(MANIFEST)) else ""
    claim = folder.read_json(DONE).get("claim", "") if folder.done else ""
    notes = " ".join(filter(None, (stale, note, claim, record.approximation)))
    return Breakdown(
        record=record, equal=equal, note=notes, notation=design.notation, references=tuple(sentences_of_run(folder)),
        network=network,
    )  # fmt: skip


def _drawn(notation: str, problem: Problem) -> DrawnNetwork | DrawnOrder:
    from evo_libra.explain.drawn_network import drawn_network
    from evo_libra.explain.drawn_order import drawn_order

    return drawn_network(notation, problem) if problem.book is None else drawn_order(notation, problem.book.products)


def _problem(folder: RunFolder, last: dict[Path, Problem | None]) -> Problem | None:
    if folder.path not in last:
        problem = problem_of_run(folder)
        last.clear()
        last[folder.path] = problem
    return last[folder.path]


def _notation(folder: RunFolder, problem: Problem, design: Design) -> str:
    """Return a design of a run at work, which its last checkpoint has as genes."""
    from evo_libra.experiment.store.search_state import read_checkpoint

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
    """Return the best that can be built of the same network with equal bandwidths, or that nothing can.

    Bandwidths of an order are those of its products.
    """
    from evo_libra.explain.neighbours import objectives_of
    from evo_libra.problem.allocation import equal_split

    if problem.book is not None:
        return None, ""
    used = population.npus[:, 0] > 1
    equal = equal_split(problem, population, max_bandwidth=float(population.bandwidth[used, 0].mean()))
    if equal is None:
        return None, _NO_EQUAL
    return Design(design.run, EQUAL, objectives_of(problem, equal), problem.notation.written(equal)[0]), ""
