"""Every row of the front of a problem that asks for an order, and comes with the package, can be ordered."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import independent_check
import pytest

from evo_libra import load_problem, search
from evo_libra.files.source import read_source
from evo_libra.front.front import Front
from evo_libra.network import orders as room
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.notation import read_order
from evo_libra.problem.orders import OrderBook
from evo_libra.problem.problem import Problem

PROBLEMS = Path(__file__).parents[2] / "problems"
QUICK = "buy-deepseek-v3-8k"
SHIPPED = [
    pytest.param(path.stem, marks=[] if path.stem == QUICK else [pytest.mark.slow])
    for path in sorted(PROBLEMS.glob("*.yaml"))
    if "question: order\n" in path.read_text()
]
CATALOGUE: dict[str, Any] = read_source(Path(room.__file__).parent / "products-2026.yaml").data


@cache
def _searched(name: str) -> tuple[OrderBook, Front]:
    """Return the orders that a problem allows, and its front."""
    problem = load_problem(name)
    assert isinstance(problem, Problem)
    assert problem.book is not None
    return problem.book, search(problem)


def _orders(front: Front) -> list[str]:
    return [str(row["design"]).partition(" | ")[0] for row in front.rows()]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_row_passes_the_check_of_orders(name: str) -> None:
    book, front = _searched(name)
    for text in _orders(front):
        assert violations(read_order(text, book.products), book.products, book.limits, priced=True) == [], text


@pytest.mark.parametrize("name", SHIPPED)
def test_every_row_passes_a_check_that_is_written_from_the_catalogue_alone(name: str) -> None:
    """The file's limits are those of the packaged catalogue, whose rules that check has."""
    _, front = _searched(name)
    for text in _orders(front):
        assert independent_check.broken_rules(text, CATALOGUE) == set(), text


@pytest.mark.parametrize(
    ("name", "rows", "systems"),
    [
        (QUICK, 8, 3),
        pytest.param("buy-llama3-405b-16k", 4, 3, marks=pytest.mark.slow),
    ],
)
def test_the_front_offers_several_systems(name: str, rows: int, systems: int) -> None:
    _, front = _searched(name)
    assert len(front) >= rows
    assert len({row["system"] for row in front.rows()}) >= systems
