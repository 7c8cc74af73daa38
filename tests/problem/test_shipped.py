"""The problems that are built of parts and come with the package."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra import load_problem, search
from evo_libra.problem.problem import Problem

SHIPPED = ("dense-1k", "dense-4k", "dense-32k", "moe-4k", "dlrm-1k-parts", "wafer-20")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_small_search_finds_a_front(name: str) -> None:
    problem = load_problem(name)
    assert isinstance(problem, Problem)
    assert problem.name == name
    assert 1 < len(problem.structures) < 500_000
    front = search(problem, evaluations=1000, population=100, seed=0)
    rows = front.rows()
    assert len(rows) > 1
    again = problem.evaluate([str(row["design"]) for row in rows])
    assert (again.violation == 0).all()
    np.testing.assert_allclose(again.objectives[1], [row["cost_usd"] for row in rows], rtol=1e-12)
    order = np.argsort(again.objectives[1])
    assert (np.diff(again.objectives[0][order]) < 0).all()
