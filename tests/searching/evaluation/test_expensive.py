"""How many designs of an expensive problem are not done: those that processes evaluate, and those that are known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from evo_libra.searching.evaluation.parallel import ExpensiveProblem


def test_designs_that_are_known_count_until_they_are_completed() -> None:
    waiting: Any = SimpleNamespace(_flying={1: "a"}, _known=["b", "c"])
    assert ExpensiveProblem.__len__(waiting) == 3
