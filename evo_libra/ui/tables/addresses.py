"""Addresses of designs: ``RESULT#ID``, or where it is from and the design in the notation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from evo_libra.errors import InputError, unknown
from evo_libra.network.orders.text import is_order
from evo_libra.ui.tables.named_runs import folder_at, given_of, named_origin, problem_of_result, run_folder

if TYPE_CHECKING:
    from evo_libra.experiment.run.origin import Origin
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.record import DesignRecord
    from evo_libra.front.front import Front
    from evo_libra.problem.problem import Problem
    from evo_libra.problem.protocol import SearchProblem

MARK = "#"
NAMED = ("knee", "fastest", "cheapest")
"""Words that stand for a design of a front instead of its id."""
ANY = ""
"""The design that a run alone stands for."""

_HELP = (
    "RESULT#ID, such as last#12; also RESULT#knee, RESULT#fastest and RESULT#cheapest. Or PROBLEM#DESIGN or "
    "RESULT#DESIGN, the design in the notation."
)
DesignAddress = Annotated[str, Parameter(help=_HELP)]


@dataclass(frozen=True)
class Addressed:
    """A design that a user has named.

    Attributes
    ----------
    design : in the notation, with all digits.
    problem : what it is a design of; of a result, as its run built it.
    origin : where the problem comes from.
    result, front : the run and its front; None for a design of a problem.
    row : the design's place on the front; None for one that is not on it.
    """

    design: str
    problem: Problem
    origin: Origin
    result: RunFolder | None = None
    front: Front | None = None
    row: int | None = None

    def on_front(self) -> Addressed:
        """Return the design with its place on the front, where its notation is there."""
        if self.front is None or self.row is not None:
            return self
        designs = self.front.frame["design"].to_list()
        return replace(self, row=designs.index(self.design)) if self.design in designs else self

    @property
    def name(self) -> str:
        """Its name: its id on its front, or the network."""
        if self.front is None or self.row is None:
            return self.design
        return f"{MARK}{self.front.frame['id'][self.row]}"

    def record(self, *, alternatives: bool = True) -> DesignRecord:
        """Return the record of the design, which stands on its front; without other plans where they do not matter."""
        from evo_libra.explain.candidates import candidates_of
        from evo_libra.explain.design_record import design_record

        return design_record(
            self.problem,
            self.design,
            name="" if self.row is None else self.name,
            front=None if self.front is None else candidates_of(self.front),
            row=self.row,
            alternatives=alternatives,
        )


def is_address(text: str) -> bool:
    """Return whether a text names a design, and not a run or a problem.

    >>> [is_address(text) for text in ("last#12", "last", "RI(4)@node:20")]
    [True, False, True]
    """
    return (MARK in text and not os.path.exists(text)) or _is_notation(text)  # noqa: PTH110 - for any text


def addressed(
    text: str, *, problem: str | None = None, assignments: Sequence[str] = (), beside: Addressed | None = None,
) -> Addressed:  # fmt: skip
    """Return the design that an address names.

    Parameters
    ----------
    text : an address; the folder or the name of a run alone stands for its knee, or its most even design.
    problem : where the design is written in the notation, the problem; of a result whose files have moved, where they
        are now.
    assignments : ``KEY=VALUE`` of a problem, not of a result.
    beside : a design whose front or problem a plain id, or a design in the notation, belongs to.

    Raises
    ------
    InputError : there is no such run, id or problem, or its code is not trusted.
    """
    from evo_libra.experiment.store.folder import RunFolder

    where, what = _split(text)
    if what is None and beside is not None and where.isdecimal():
        if beside.result is None:
            raise InputError(f"'{text}' is the id of a design of a front, and the other design is in none")
        return _of_front(beside.result, beside.problem, beside.origin, where)
    if what is None and _is_notation(where):
        if problem is None and beside is not None:
            return Addressed(where, beside.problem, beside.origin)
        if problem is None:
            raise InputError(f"'{where}' is a design of some problem; write it like gpt3-4k{MARK}{where}")
        return written(where, named_origin(problem, assignments))
    if what is not None and _is_notation(what):
        return _at(where, what, problem, assignments)
    if assignments:
        raise InputError("--set belongs to a problem; a design of a result is evaluated as its run did")
    try:
        run = RunFolder(run_folder(where))
    except InputError:
        if what is not None and not what.isdecimal() and what not in NAMED and is_problem(where):
            raise InputError(
                f"'{where}' is a problem; '{what}' is no design in the notation, and ids are of results"
            ) from None
        raise
    origin, found = _problem_of_run(run, problem)
    return _of_front(run, found, origin, what or ANY)


def row_of(front: Front, what: str, result: object) -> int:
    """Return the place of a design on a front by its id, or by one of the words that stand for one.

    `ANY` is the knee, or on a front that is too short for one the design closest to the best of every objective.

    An `InputError` says that there is none.
    """
    from evo_libra.explain.candidates import FEWEST_WITH_KNEE, candidates_of
    from evo_libra.explain.recommend import knee

    if not len(front):
        raise InputError(f"the front of {result} is empty")
    if what.isdecimal():
        ids = front.frame["id"].to_list()
        if int(what) not in ids:
            raise InputError(f"the front of {result} has no design {what}; its ids are {ids[0]} to {ids[-1]}")
        return ids.index(int(what))
    if what not in (ANY, *NAMED):
        raise InputError(f"{unknown('design', what, NAMED)}; or an id, or a design in the notation")
    if what == NAMED[0] and not candidates_of(front).bends:
        why = f"{len(front)} on the front, and a knee takes {FEWEST_WITH_KNEE} that their bands tell apart"
        raise InputError(f"{result} has no knee: {why}; name an id, {MARK}fastest or {MARK}cheapest")
    if what in (ANY, NAMED[0]):
        return knee(front.frame.select(front.objectives).to_numpy().T)
    first, unit = {"fastest": ("time_ms", "_ms"), "cheapest": ("cost_usd", "_usd")}[what]
    column = next((name for name in (first, *front.objectives) if name in front.objectives and name.endswith(unit)), "")
    if not column:
        kind = "time" if what == "fastest" else "cost"
        raise InputError(f"'{what}' is by a {kind}, and {result} has none: {', '.join(front.objectives)}")
    found = front.frame[column].arg_min()
    assert found is not None, "the front is not empty"  # noqa: S101 - checked above
    return found


def _split(text: str) -> tuple[str, str | None]:
    """Return where a design is from and which one it is; None where only one of the two is named."""
    where, mark, what = text.rpartition(MARK)
    if not mark or os.path.exists(text):  # noqa: PTH110 - false for a name that is too long
        return text, None
    if not where or not what:
        raise InputError(f"'{text}' names no design; write it like last{MARK}12 or results/gpt3-4k{MARK}knee")
    return where, what


def _is_notation(text: str) -> bool:
    return ("(" in text or is_order(text)) and MARK not in text


def chosen(problem: str, design: str | None, number: int | None, assignments: Sequence[str]) -> Addressed:
    """Return the design of an address, or of a problem or a result that options complete."""
    if design is not None and number is not None:
        raise InputError("--design and --id both name a design; give one of the two")
    number = number if number is not None or design is None or not design.isdecimal() else int(design)
    if number is not None:
        return addressed(f"{problem}#{number}", assignments=assignments)
    if design is not None and not (design in NAMED or _is_notation(design)):
        return written(design, named_origin(problem, assignments))
    try:
        return addressed(problem if design is None else f"{problem}#{design}", assignments=assignments)
    except InputError:
        if design is None and is_problem(problem):
            raise InputError(
                "a design is needed: RESULT#ID, PROBLEM#DESIGN, or --design or --id after one of both"
            ) from None
        raise


def is_problem(name: str) -> bool:
    """Return whether a name is that of a problem, or of a file that may have one, and no folder of a run."""
    from evo_libra.problem.file.registry import problem_names

    return os.path.isfile(name) or (folder_at(name) is None and name in problem_names())  # noqa: PTH113 - any length


def written(design: str, origin: Origin) -> Addressed:
    """Return a design in the notation; an `InputError` says that the problem is none of a file."""
    from evo_libra.experiment.run.origin import build

    return Addressed(design, _of_file(origin, build(origin)), origin)


def _of_front(run: RunFolder, problem: Problem, origin: Origin, what: str) -> Addressed:
    front = run.read_front()
    row = row_of(front, what, run.path)
    return Addressed(
        design=str(front.frame["design"][row]), problem=problem, origin=origin, result=run, front=front, row=row
    )


def _at(where: str, design: str, problem: str | None, assignments: Sequence[str]) -> Addressed:
    """Return a design of a folder of a run, of a problem, or of a run by its name, in this order."""
    from evo_libra.experiment.store.folder import RunFolder

    if is_problem(where) or (folder_at(where) is None and assignments):
        return written(design, named_origin(where, assignments))
    if assignments:
        raise InputError("--set belongs to a problem; a design of a result is evaluated as its run did")
    run = RunFolder(run_folder(where))
    origin, found = _problem_of_run(run, problem)
    return Addressed(design, found, origin, run, run.read_front())


def _problem_of_run(run: RunFolder, problem: str | None) -> tuple[Origin, Problem]:
    origin, found = problem_of_result(run, problem, given_of(run))
    return origin, _of_file(origin, found)


def _of_file(origin: Origin, found: SearchProblem) -> Problem:
    from evo_libra.problem.problem import Problem
    from evo_libra.problem.protocol import ReadsDesigns

    if isinstance(found, ReadsDesigns) and not isinstance(found, Problem):
        raise InputError(f"'{origin.name}' asks for a fabric of switches; `evo-libra evaluate` shows one")
    if not isinstance(found, Problem):
        raise InputError(f"'{origin.name}' is no problem file; one written in Python evaluates genes, not designs")
    return found
