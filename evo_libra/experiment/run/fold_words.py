"""Sentences about runs that several places say."""

from __future__ import annotations

from evo_libra.errors import counted
from evo_libra.searching.fold_ends import EXHAUSTED, GAP, SECONDS, STAGNATION

_ENDS = {
    STAGNATION: "ended as it stagnated",
    GAP: "ended as its gap is proven",
    SECONDS: "ended by its seconds",
    EXHAUSTED: "ended as nothing was left to evaluate",
}


def course(ended: str, restarts: int) -> str:
    """Return what ended a run before its evaluations, and how often it was started anew; empty for neither.

    >>> course("stagnation", 2), course("evaluations", 1), course("", 0)
    ('ended as it stagnated, 2 restarts', '1 restart', '')
    """
    parts = [_ENDS.get(ended, ""), counted(restarts, "restart") if restarts else ""]
    return ", ".join(part for part in parts if part)
