"""The verdicts of a report: their sentences, and the designs that are marked for them."""

from __future__ import annotations

from collections.abc import Sequence

from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.recommend import recommend
from evo_libra.explain.tornado import Tornado, tornado
from evo_libra.explain.verdict import names_of
from evo_libra.explain.verdict_basis import basis_of
from evo_libra.explain.verdict_record import Verdict
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem

BUY = "to buy"
"""The mark of the design of a verdict where no recommendation names it."""


def verdict_texts(names: Sequence[str], verdicts: Sequence[Verdict | None]) -> list[str]:
    """Return the sentences of verdicts on results, whose names begin them where there are several."""
    found: list[str] = []
    for name, said in zip(names, verdicts, strict=True):
        if said is not None:
            first, *others = said.sentences
            found += [f"{name}: {first}" if len(names) > 1 else first, *others]
    return found


def tornado_of(front: Front, problem: SearchProblem | None, value: float | None = None) -> Tornado | None:
    """Return the assumptions that move the verdict on a front most; None where no sums of money decide."""
    if not isinstance(problem, Problem) or not len(front):
        return None
    basis = basis_of(front, candidates_of(front), problem, value)
    return tornado(basis, names_of(front)[basis.bought[0]])


def recommended(front: Front, said: Verdict | None) -> dict[int, tuple[str, str]]:
    """Return the names under which designs are recommended and why, by row; that of the verdict is among them."""
    if said is None:
        return {}
    found = {one.row: (", ".join(one.kinds), one.reason) for one in recommend(candidates_of(front))}
    found.setdefault(front.frame["id"].to_list().index(said.id), (BUY, said.it_is))
    return found
