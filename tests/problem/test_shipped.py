"""The problems of the package and the studies that are built of parts."""

from __future__ import annotations

import numpy as np
import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.problem.problem import Problem

PLANNED = ("llama3-405b-16k", "deepseek-v3-2k", "mixtral-8x7b-256", "megatron-1t-3072", "mixed-models-4k")
SERVED = ("llama3-70b-serving", "deepseek-v3-serving", "llama2-70b-xeon")
SHIPPED = ("dense-1k", "dense-4k", "dense-32k", "moe-4k", "dlrm-1k-parts", "wafer-20", *PLANNED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in ("mixed-models-4k", "deepseek-v3-2k") else name
             for name in SHIPPED],
)  # fmt: skip
def test_a_small_search_finds_a_front(name: str) -> None:
    problem = load_problem(design_file(name))
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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "design"), [
    ("llama3-405b-16k", "SW(8)@nvlink4:450_CL(2048)@optics-400g:50 | tp8 pp16x8 dp128 mb1 zero1 order-tp-cp-dp-pp"),
    ("deepseek-v3-2k", "SW(8)@nvlink4:200_CL(256)@optics-400g:50 | pp16 ep64 dp128 mb1 zero1 full fp8"),
])  # fmt: skip
def test_the_published_cluster_and_plan_are_a_design(name: str, design: str) -> None:
    """They are named at the head of the problem; nothing but memory, of which their software needs less, is broken."""
    problem = load_problem(design_file(name))
    assert isinstance(problem, Problem)
    population = problem.read(design)
    (capacity,) = (constraint for constraint in problem.constraints if constraint.quantity == "memory")
    broken = problem.evaluator.excess(capacity, problem.measure(population), population)
    np.testing.assert_allclose(problem.evaluate(population).violation, broken)


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVED)
def test_a_search_finds_what_more_users_and_fewer_dollars_cost(name: str) -> None:
    problem = load_problem(name)
    assert isinstance(problem, Problem)
    front = search(problem, evaluations=5000, population=200, seed=0)
    rows = front.rows()
    assert len(rows) > 5
    again = problem.evaluate([str(row["design"]) for row in rows])
    assert (again.violation == 0).all()
    np.testing.assert_allclose(again.objectives[0], [row["tpot_ms"] * 1e-3 for row in rows], rtol=1e-12)
    np.testing.assert_allclose(again.objectives[1], [row["cost_per_Mtoken_usd"] for row in rows], rtol=1e-12)
    fastest, cheapest = (min(rows, key=lambda row: float(row[key])) for key in ("tpot_ms", "cost_per_Mtoken_usd"))
    assert float(cheapest["cost_per_Mtoken_usd"]) < 0.1 * float(fastest["cost_per_Mtoken_usd"])
    assert float(cheapest["tpot_ms"]) < 15 * float(fastest["tpot_ms"])
