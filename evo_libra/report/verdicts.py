"""The verdicts of a report: their sentences, and the designs that are marked for them."""

from __future__ import annotations

from collections.abc import Sequence

from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.recommend import recommend
from evo_libra.explain.verdict_record import Verdict
from evo_libra.front.front import Front

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


def recommended(front: Front, said: Verdict | None) -> dict[int, tuple[str, str]]:
    """Return the names under which designs are recommended and why, by row; that of the verdict is among them."""
    if said is None:
        return {}
    found = {one.row: (", ".join(one.kinds), one.reason) for one in recommend(candidates_of(front))}
    found.setdefault(front.frame["id"].to_list().index(said.id), (BUY, said.it_is))
    return found
