"""Answers of the terminal UI: which design to take, why one is as it is, what two differ in, as titles and texts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from evo_libra.explain.candidates import Candidates
    from evo_libra.explain.sheet import Section, Table
    from evo_libra.front.front import Front
    from evo_libra.problem.problem import Problem

Answer = list[tuple[str, str]]
"""Titles, each with the text below it."""


def which_one(front: Front, folder: Path | None = None) -> Answer:
    """Return the verdict on a front, then its recommended designs, and the losses of their runners-up.

    Parameters
    ----------
    folder : of its run, whose problem has prices; without one, time has no price.
    """
    from evo_libra.explain.advice import advice, advised
    from evo_libra.explain.candidates import candidates_of
    from evo_libra.explain.verdict import verdict

    found, problem = candidates_of(front), None if folder is None else _problem(folder)
    said = verdict(front, found, problem).text
    return [("verdict", said), *_assumptions(front, found, problem), *answer(advised(front, advice(front, found)))]


def _assumptions(front: Front, found: Candidates, problem: Problem | None) -> Answer:
    """Return the assumptions that move a verdict most; nothing where no sums of money decide."""
    from evo_libra.explain.tornado import tornado, tornado_section
    from evo_libra.explain.verdict import names_of
    from evo_libra.explain.verdict_basis import basis_of

    if problem is None:
        return []
    basis = basis_of(front, found, problem)
    swings = tornado(basis, names_of(front)[basis.bought[0]])
    return [] if swings is None or not swings.swings else answer([tornado_section(swings)])


def _problem(folder: Path) -> Problem | None:
    """Return the problem of a run; None where it cannot be built, which a verdict says."""
    from evo_libra.errors import InputError
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.ui.tables.named_runs import known_problem

    try:
        return known_problem(RunFolder(folder))
    except InputError:
        return None


def why(address: str) -> Answer:
    """Return why a design is as it is."""
    from evo_libra.explain.design_record import with_steps
    from evo_libra.explain.reason_sheet import explained
    from evo_libra.ui.tables.addresses import addressed

    one = addressed(address).on_front()
    return answer(explained(with_steps(one.record(alternatives=False), one.problem)))


def against(first: str, second: str) -> Answer:
    """Return what two designs differ in."""
    from evo_libra.explain.comparison import compared
    from evo_libra.ui.tables.addressed_designs import difference_of
    from evo_libra.ui.tables.addresses import addressed

    return answer(compared(difference_of(addressed(first).on_front(), addressed(second).on_front())))


def answer(sections: Iterable[Section]) -> Answer:
    """Return sections as titles and texts."""
    return [
        (one.title, "\n".join(part if isinstance(part, str) else _text(part) for part in one.parts)) for one in sections
    ]


def _text(part: Table | str) -> str:
    """Return a sentence, or a table as lines: words flush left, figures flush right, an empty line for a drawn one."""
    if isinstance(part, str):
        return part
    heads = zip_longest(*(column.split("\n") for column in part.columns), fillvalue="")
    rows = [*heads, *part.rows]
    left = [column in (*part.words, *part.folds) for column in part.columns]
    wide = [max(len(row[at]) for row in rows if row is not None) for at in range(len(left))]
    lines = [("" if row is None else "  ".join(map(_flush, row, wide, left)).rstrip()) for row in rows]
    return "\n".join([part.title, *lines, ""])


def _flush(cell: str, width: int, left: bool) -> str:  # noqa: FBT001 - of a column
    return f"{cell:<{width}}" if left else f"{cell:>{width}}"
