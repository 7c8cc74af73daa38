"""Costs as sums over parts: they add up to the figures, and other prices are those of another file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from order_files import order_problem
from order_results import order_front, orders
from small_problems import DESIGN, small

from evo_libra.explain.bought_parts import bought_parts, with_factors
from evo_libra.problem.figures import system_cost
from evo_libra.problem.problem import Problem


def added_up(problem: Problem, designs: list[str]) -> None:
    read = problem.read(designs)
    figures, parts = problem.measure(read, timed=False), bought_parts(problem, read)
    sums = {where: sum(part.usd for part in parts if part.where == where) for where in ("network", "npus", "around")}
    npus = None if figures.npu_price is None else figures.npu_price * figures.bought_npus
    for where, figure in (("network", figures.cost), ("npus", npus), ("around", figures.around_cost)):
        if figure is not None:
            np.testing.assert_allclose(np.broadcast_to(sums[where], len(read)), figure, rtol=1e-12)


def test_parts_of_orders_add_up_to_their_bills() -> None:
    added_up(orders(), order_front().frame["design"].to_list())


@pytest.mark.parametrize("parts", [False, True])
def test_parts_of_designs_add_up_to_the_cost_of_the_network(tmp_path: Path, *, parts: bool) -> None:
    added_up(small(tmp_path, parts=parts), [DESIGN])


def test_a_switch_of_parts_has_its_pieces_its_kind_and_its_range(tmp_path: Path) -> None:
    """Four rails of two ports: 8 ports of 25 GB/s fill two boxes of 4 ports, 1,000 USD each, from 900 to 1,300."""
    problem = small(tmp_path, parts=True)
    found = {part.name: part for part in bought_parts(problem, problem.read([DESIGN]))}
    box = found["box"]
    assert box.kinds == ("switch", "network")
    assert (box.factors.low, box.factors.high) == (0.9, 1.3)
    assert box.usd[0] % 1000.0 == 0
    assert box.piece_usd == 1000.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gb200-nvl72", "sn5600", "qm9700"])
def test_another_price_is_that_of_a_file_with_it(name: str) -> None:
    problem, designs = orders(), order_front().frame["design"].to_list()
    read = problem.read(designs)
    parts = bought_parts(problem, read)
    stated = next(part.piece_usd for part in parts if part.name == name)
    assert stated is not None
    factors = np.array([[1.3 if part.name == name else 1.0] for part in parts])
    changed = with_factors(problem.measure(read, timed=False), parts, factors)
    other = order_problem(prices={name: stated * 1.3})
    expected = system_cost(other.measure(other.read(designs), timed=False))
    np.testing.assert_allclose(system_cost(changed)[0], expected, rtol=1e-9)
