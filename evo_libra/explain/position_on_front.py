"""Where a design stands on a front: its neighbours there, or what beats it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evo_libra.explain.candidates import Candidates
from evo_libra.explain.labels import noun
from evo_libra.explain.reasons import compared_with, difference


def position_on_front(found: Candidates, row: int) -> list[str]:
    """Return why nothing on the front beats a design of it: what the next better one in each objective is worse in."""
    sentences = []
    for column in found.objectives:
        values = found.figures[column]
        better = np.flatnonzero(values < values[row])
        word, of = {"time_ms": ("faster", ""), "cost_usd": ("cheaper", "")}.get(
            column, ("better", f" in {noun(column)}")
        )
        if len(better):
            nearest = int(better[values[better].argmax()])
            sentences.append(f"#{found.ids[nearest]}, the next {word} design{of}, is {difference(found, nearest, row)}")
        else:
            sentences.append(f"no design on the front is {word}{of}")
    return sentences


def beaten_by(found: Candidates, figures: Mapping[str, float]) -> list[str]:
    """Return what on a front is as good as some figures in every objective and better in one; that nothing is."""
    mine = np.array([[figures[column]] for column in found.objectives])
    better = np.flatnonzero((found.values <= mine).all(axis=0) & (found.values < mine).any(axis=0))
    if not len(better):
        return ["nothing on the front is as good in every objective"]
    best = int(better[(found.values[:, better] / mine).prod(axis=0).argmin()])
    own = {column: figures[column] for column in found.objectives}
    count = f"{len(better):,} of {len(found.ids):,} designs on the front are better"
    return [f"{count}; #{found.ids[best]} is {compared_with(found.of(best), own)}"]
