"""Every row of the front of a problem that asks for an order, and comes with the package, can be ordered."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import independent_check
import pytest

from evo_libra import load_problem, search
from evo_libra.front.front import Front
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.notation import read_order
from evo_libra.problem.orders import OrderBook
from evo_libra.problem.problem import Problem

PROBLEMS = Path(__file__).parents[2] / "problems"
QUICK = (
    "buy-kimi-k2-8k", "deepseek-r1-64", "gpt3-175b-1536", "llama3-70b-serving",
    "megatron-1t-3072", "qwen3-235b-256",
)  # fmt: skip


def named(name: str, *more: int) -> Any:
    """Return a case of a problem, which is slow unless its search is quick."""
    return pytest.param(name, *more, marks=[] if name in QUICK else [pytest.mark.slow])


SHIPPED = [named(path.stem) for path in sorted(PROBLEMS.glob("*.yaml")) if "question: order\n" in path.read_text()]
CATALOGUE = independent_check.catalogue()


@cache
def _searched(name: str) -> tuple[OrderBook, Front]:
    """Return the orders that a problem allows, and its front."""
    problem = load_problem(name)
    assert isinstance(problem, Problem)
    assert problem.book is not None
    return problem.book, search(problem)


def _orders(front: Front) -> list[str]:
    return [str(row["design"]).partition(" | ")[0] for row in front.rows()]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_row_passes_the_check_of_orders(name: str) -> None:
    book, front = _searched(name)
    for text in _orders(front):
        assert violations(read_order(text, book.products), book.products, book.limits, priced=True) == [], text


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_row_passes_a_check_that_is_written_from_the_catalogue_alone(name: str) -> None:
    """The file's limits are those of the packaged catalogue, whose rules that check has, and states of sale."""
    book, front = _searched(name)
    for text in _orders(front):
        assert independent_check.broken_rules(text, CATALOGUE, book.limits.order) == set(), text


@pytest.mark.parametrize(("name", "rows", "systems"), [
    named("buy-deepseek-v3-8k", 8, 3), named("buy-kimi-k2-8k", 6, 2),
    named("buy-llama3-405b-16k", 4, 3), named("deepseek-v3-2k", 8, 4),
    named("mixtral-8x7b-256", 7, 5), named("mixed-models-4k", 7, 5), named("gpt3-175b-1536", 3, 2),
    named("megatron-1t-3072", 5, 2), named("llama3-70b-serving", 9, 1),
])  # fmt: skip
def test_the_front_offers_several_systems(name: str, rows: int, systems: int) -> None:
    _, front = _searched(name)
    assert len(front) >= rows
    assert len({row["system"] for row in front.rows()}) >= systems


# Time of a step [s], by the order and the plan of those who published them.
PUBLISHED = (
    # Narayanan et al. 2021, table 2: GPT-3 on 1,536 A100, 20.8 s as the file says.
    ("gpt3-175b-1536", "192 hgx-a100 / 1 x 200G / qm8790 rail-optimised 1:1 | tp8 pp12 dp16 mb1 zero0 full", 20.8),
    # Table 1: 163 TFLOP/s of each of 3,072 A100. Their equation 3 counts 96 B s l h^2 (1 + s/6h + V/16lh) operations:
    # 96 x 3072 x 2048 x 128 x 25600^2 x (1 + 2048/153600 + 51200/52428800) = 5.139e19, at 3072 x 163e12 a second.
    (
        "megatron-1t-3072",
        "384 hgx-a100 / 1 x 200G / qm8790 fat tree 1:1 | tp8 pp64 dp6 mb1 zero0 full nosp order-tp-cp-pp-dp",
        102.63,
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "design", "seconds"), PUBLISHED)
def test_the_published_cluster_and_plan_take_the_published_time(name: str, design: str, seconds: float) -> None:
    book, _ = _searched(name)
    found = load_problem(name).evaluate(design)  # type: ignore[union-attr]
    assert violations(read_order(design.partition(" | ")[0], book.products), book.products, book.limits) == []
    assert found.violation == 0
    assert found.objectives[0] == pytest.approx(seconds, rel=0.02)


@pytest.mark.slow
def test_the_plan_of_llama_is_an_order_that_breaks_nothing_but_memory() -> None:
    """Their software needs less memory (arXiv 2407.21783, section 3.3): a rack has 16 GPUs, and pods are 7:1."""
    problem = load_problem("buy-llama3-405b-16k")
    assert isinstance(problem, Problem)
    order = "2048 hgx-h100 / 1 x 400G / sn5600 tor 1:1 pods 7:1"
    design = problem.read(f"{order} | tp8 pp16x8 dp128 mb1 zero1 order-tp-cp-dp-pp batch2048")
    (capacity,) = (constraint for constraint in problem.constraints if constraint.quantity == "memory")
    broken = problem.evaluator.excess(capacity, problem.measure(design), design)
    found = problem.evaluate(design)
    assert found.violation == pytest.approx(broken)
    # Table 4: 400 TFLOP/s of each GPU. 6 x 405e9 x 2048 x 8192 operations without attention take 6.2 s at that rate.
    assert found.objectives[0] == pytest.approx(6.2, rel=0.05)


@pytest.mark.slow
def test_the_plan_of_deepseek_is_an_order_of_its_number_of_gpus() -> None:
    """Pp16 and ep64 on 2,048 GPUs (arXiv 2412.19437, section 3), here on H100 for their H800: 128 replicas."""
    problem = load_problem("deepseek-v3-2k")
    design = "256 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1 | pp16 ep64 dp128 mb1 zero1 full fp8"
    found = problem.evaluate(design)  # type: ignore[union-attr]
    assert found.violation == 0
