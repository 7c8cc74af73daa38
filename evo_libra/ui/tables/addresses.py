"""Addresses of designs: ``RESULT#ID``, or where it is from and the design in the notation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from evo_libra.errors import InputError, unknown
from evo_libra.network.orders.text import is_order
from evo_libra.ui.tables.named_runs import folder_at, given_of, problem_of_result, run_folder

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
    text: str, *, problem: str | None = None, assignments: Sequence[str] = (), trust_code: bool | None = None,
    beside: Addressed | None = None,
) -> Addressed:  # fmt: skip
    """Return the design that an address names.

    Parameters
    ----------
    text : an address; the folder or the name of a run alone stands for its knee.
    problem : where the design is written in the notation, the problem; of a result whose files have moved, where they
        are now.
    assignments : ``KEY=VALUE`` of a problem, not of a result.
    trust_code : whether the code of a problem in Python is run; None for a command that has no use for such a problem.
    beside : a design whose front or problem a plain id, or a design in the notation, belongs to.

    Raises
    ------
    InputError : there is no such run, id or problem, or its code is not trusted.
    """
    from evo_libra.experiment.run.origin import origin_of
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
        return written(where, origin_of(problem, assignments))
    if what is not None and _is_notation(what):
        return _at(where, what, problem, assignments, trust_code=trust_code)
    if assignments:
        raise InputError("--set belongs to a problem; a design of a result is evaluated as its run did")
    run = RunFolder(run_folder(where))
    origin, found = _problem_of_run(run, problem, trust_code=trust_code)
    return _of_front(run, found, origin, what or NAMED[0])


def row_of(front: Front, what: str, result: object) -> int:
    """Return the place of a design on a front by its id, or by one of the words that stand for one.

    An `InputError` says that there is none.
    """
    from evo_libra.explain.recommend import knee

    if not len(front):
        raise InputError(f"the front of {result} is empty")
    if what.isdecimal():
        ids = front.frame["id"].to_list()
        if int(what) not in ids:
            raise InputError(f"the front of {result} has no design {what}; its ids are {ids[0]} to {ids[-1]}")
        return ids.index(int(what))
    if what not in NAMED:
        raise InputError(f"{unknown('design', what, NAMED)}; or an id, or a design in the notation")
    if what == NAMED[0]:
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
    from evo_libra.experiment.run.origin import origin_of

    if design is not None and number is not None:
        raise InputError("--design and --id both name a design; give one of the two")
    if design is not None:
        return written(design, origin_of(problem, assignments))
    if number is not None:
        return addressed(f"{problem}#{number}", assignments=assignments)
    if is_address(problem):
        return addressed(problem, assignments=assignments)
    raise InputError("a design is needed: RESULT#ID, --design of a problem, or --id of a design of a result")


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


def _at(
    where: str, design: str, problem: str | None, assignments: Sequence[str], *, trust_code: bool | None
) -> Addressed:
    """Return a design of a folder of a run, of a problem, or of a run by its name, in this order."""
    from pathlib import Path

    from evo_libra.experiment.run.origin import origin_of
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.file.registry import problem_names

    # A file is no folder of a run.
    if Path(where).is_file() or (folder_at(where) is None and (where in problem_names() or assignments)):
        return written(design, origin_of(where, assignments))
    if assignments:
        raise InputError("--set belongs to a problem; a design of a result is evaluated as its run did")
    run = RunFolder(run_folder(where))
    origin, found = _problem_of_run(run, problem, trust_code=trust_code)
    return Addressed(design, found, origin, run, run.read_front())


def _problem_of_run(run: RunFolder, problem: str | None, *, trust_code: bool | None) -> tuple[Origin, Problem]:
    from evo_libra.experiment.store.folder import MANIFEST

    if trust_code is None and run.read_json(MANIFEST).get("source", {}).get("data", "") is None:
        raise InputError(f"{run.path} is of a problem written in Python, which evaluates genes, not designs")
    origin, found = problem_of_result(run, problem, given_of(run), trust_code=bool(trust_code))
    return origin, _of_file(origin, found)


def _of_file(origin: Origin, found: SearchProblem) -> Problem:
    from evo_libra.problem.problem import Problem

    if not isinstance(found, Problem):
        raise InputError(f"'{origin.name}' is no problem file; one written in Python evaluates genes, not designs")
    return found
