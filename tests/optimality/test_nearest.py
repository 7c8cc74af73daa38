"""The nearest design of a problem without a design within its constraints, against all of its designs."""

from __future__ import annotations

import numpy as np
import pytest
from order_files import order_problem

from evo_libra import load_problem
from evo_libra.explain.infeasible import infeasible_text
from evo_libra.optimality.nearest import nearest_design
from evo_libra.problem.problem import Problem

CONSTRAINTS = (
    ("order-cost <= 10 MUSD",), ("time <= 1 ms",), ("network-cost <= 1 USD",),
    ("order-cost <= 30 MUSD", "time <= 0.1 s"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_no_order_that_is_drawn_is_nearer(constraints: tuple[str, ...]) -> None:
    problem = order_problem(constraints=list(constraints))
    nearest = nearest_design(problem)
    assert nearest is not None
    violation = float(problem.evaluate(nearest).violation[0])
    genes = problem.genome.sample(np.random.Generator(np.random.PCG64(3)), 3000)
    assert violation <= float(problem.evaluate_genes(genes).violation.min()) * (1 + 1e-12)


def test_the_cheapest_order_is_the_nearest_to_a_budget() -> None:
    problem = order_problem(constraints=["order-cost <= 10 MUSD"])
    assert problem.book is not None
    cheapest = min(problem.book.bills, key=lambda bill: bill.order_usd().value)
    text = infeasible_text(problem, 5, whole=True)
    order = problem.book.notation(problem.book.bills.index(cheapest))
    assert text.startswith(f"no order meets the constraints; the nearest of all (exact), {order} | ")
    assert text.endswith("of 10 MUSD; loosen them")


def test_networks_without_number_are_drawn() -> None:
    problem = load_problem("gpt3-4k", ["constraints=[time <= 0.001 ms]"])
    assert isinstance(problem, Problem)
    assert nearest_design(problem) is None
    assert "; the nearest of 200 random designs, " in infeasible_text(problem, 5, whole=False)
