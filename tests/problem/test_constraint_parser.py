"""The language of constraints, term by term, and how far designs break them, by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.constraints import Constraint, excess, project, violation
from evo_libra.problem.figures import Figures, TotalCostOfOwnership

TCO = TotalCostOfOwnership(years=5.0, usd_per_kWh=0.1, pue=1.5)


def read(text: str) -> Constraint:
    (found,) = parse_constraint(text, 3, ("node", "pod", "pod"), TCO)
    return found


@pytest.mark.parametrize(("text", "dimension", "technology", "limit"), [
    ("bw[0] <= 5 GB/s", (1, 0, 0), (0, 0, 0), 5e9),
    ("bw[0] >= bw[1]", (-1, 1, 0), (0, 0, 0), 0),
    ("2 bw[0] + 3 * bw[2] <= 1 TB/s", (2, 0, 3), (0, 0, 0), 1e12),
    ("-bw[0] - bw[1] <= -4 MB/s", (-1, -1, 0), (0, 0, 0), -4e6),
    ("sum(bw) <= 1 GB/s + 2 GB/s", (1, 1, 1), (0, 0, 0), 3e9),
    ("bw[pod] <= 1 GB/s", (0, 0, 0), (0, 1, 1), 1e9),  # a technology of two kits
    ("bw[node] + 1 GB/s >= 3 GB/s", (0, 0, 0), (-1, 0, 0), -2e9),
    ("1.5e1 GB/s >= .5 bw[1]", (0, 0.5, 0), (0, 0, 0), 15e9),
    ("bw[0] >= 0", (-1, 0, 0), (0, 0, 0), 0),
])  # fmt: skip
def test_bandwidths(text: str, dimension: tuple[float, ...], technology: tuple[float, ...], limit: float) -> None:
    found = read(text)
    assert (found.quantity, found.dimension, found.technology, found.limit) == (
        "bandwidth", dimension, technology, limit,
    )  # fmt: skip
    assert found.at_least == (">=" in text)
    assert not found.equality


@pytest.mark.parametrize(("text", "quantity", "objective", "limit"), [
    ("cost <= 2 USD", "cost", 1, 2), ("cost <= 2 kUSD", "cost", 1, 2e3), ("cost <= 2 MUSD", "cost", 1, 2e6),
    ("time <= 3 s", "time", 1, 3), ("time <= 3 ms", "time", 1, 3e-3), ("2 time <= 3 us", "time", 2, 3e-6),
    ("power <= 1 W", "power", 1, 1), ("power <= 1 kW", "power", 1, 1e3), ("1 MW >= power", "power", 1, 1e6),
    ("energy <= 1 J", "energy", 1, 1), ("energy <= 1 kJ", "energy", 1, 1e3), ("energy <= 1 MJ", "energy", 1, 1e6),
    ("memory <= 1 GB", "memory", 1, 1e9), ("memory <= 1 MB", "memory", 1, 1e6), ("memory <= 1 TB", "memory", 1, 1e12),
    ("tokens-per-s >= 1 token/s", "tokens-per-s", -1, -1), ("tokens-per-s >= 1 ktoken/s", "tokens-per-s", -1, -1e3),
    ("tokens-per-s >= 1 Mtoken/s", "tokens-per-s", -1, -1e6),
    ("goodput >= 1 iteration/s", "goodput", -1, -1), ("goodput >= 3600 iteration/h", "goodput", -1, -1),
    ("goodput >= 86400 iteration/day", "goodput", -1, -1), ("useful-share >= 90 %", "useful-share", -1, -0.9),
    ("time-cost <= 1 USD s", "time-cost", 1, 1), ("time-cost <= 1 kUSD s", "time-cost", 1, 1e3),
    ("time-cost <= 1 MUSD s", "time-cost", 1, 1e6), ("usd-per-Mtoken <= 2 USD/Mtoken", "usd-per-Mtoken", 1, 2),
    ("usd-per-trillion-tokens <= 2 kUSD/Ttoken", "usd-per-trillion-tokens", 1, 2e3),
    ("usd-per-trillion-tokens <= 2 MUSD/Ttoken", "usd-per-trillion-tokens", 1, 2e6),
    ("usd-per-trillion-tokens <= 2 USD/Ttoken", "usd-per-trillion-tokens", 1, 2),
    ("bisection >= 2 TB/s", "bisection", -1, -2e12), ("cost.p95 <= 2 USD", "cost.p95", 1, 2),
])  # fmt: skip
def test_objectives(text: str, quantity: str, objective: float, limit: float) -> None:
    found = read(text)
    assert (found.quantity, found.objective, found.limit) == (quantity, objective, pytest.approx(limit))


def test_a_chain_is_several() -> None:
    first, second = parse_constraint("bw[0] >= bw[1] >= 2 GB/s", 3, ())
    assert [first.text, second.text] == ["bw[0] >= bw[1]", "bw[1] >= 2 GB/s"]
    assert (second.dimension, second.limit) == ((0, -1, 0), -2e9)
    (both,) = parse_constraint("bw[0] == 2 GB/s", 3, ())
    assert (both.equality, both.dimension, both.limit) == (True, (1, 0, 0), 2e9)


@pytest.mark.parametrize(("text", "words"), [
    ("bw[3] <= 1 GB/s", "dimensions count from 0 to 2"),
    ("bw[0] <= 5", "5 has no unit; allowed: TB/s, GB/s, MB/s"),
    ("tokens-per-s >= 10000", "10000 has no unit; allowed: token/s, ktoken/s, Mtoken/s"),
    ("bw[0] < 5 GB/s", "'<' is no relation; '<=' is"),
    ("cost <= 5 GB/s", "compares cost with a number of bandwidth; allowed: USD, kUSD, MUSD"),
    ("cost + time <= 5 s", "it compares time and cost"),
    ("1 GB/s <= 2 GB/s", "it compares only numbers"),
    ("bw[rack] <= 1 GB/s", "technology"),
    ("sum(cost) <= 1 USD", "sum is written sum"),
    ("bw <= 1 GB/s", "bandwidth is written"),
    ("bw[0] <=", "it ends too early"),
    ("1e999 bw[0] <= 1 GB/s", "a number is too large"),
])  # fmt: skip
def test_what_is_no_constraint(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        parse_constraint(text, 3, ("node", "pod"))


def test_the_cost_of_ownership_needs_its_figures() -> None:
    assert read("tco <= 1 MUSD").tco is TCO
    assert read("cost <= 1 MUSD").tco is None
    with pytest.raises(InputError, match="needs the key 'tco'"):
        parse_constraint("tco <= 1 MUSD", 3, ())


# How far constraints are broken: relative to the limit, or to the size of the terms where that is larger.


@pytest.mark.parametrize(("text", "value", "scale", "expected"), [
    ("bw[0] <= 4 GB/s", 5e9, 0.0, 0.25),
    ("bw[0] <= 4 GB/s", 3e9, 0.0, 0.0),
    ("bw[0] <= 4 GB/s", 5e9, 10e9, 0.1),
    ("bw[0] == 4 GB/s", 3e9, 0.0, 0.25),
    ("bw[0] <= 4 GB/s", 4e9 * (1 + 0.9e-9), 0.0, 0.0),
    ("bw[0] - bw[1] <= 0 GB/s", 2.0, 0.0, 2.0),
])  # fmt: skip
def test_violations(text: str, value: float, scale: float, expected: float) -> None:
    assert excess(read(text), np.array([value]), scale).tolist() == [pytest.approx(expected)]


@dataclass
class Designs:
    """A network of a dimension of each of two technologies, and an unused one."""

    used: FloatArray = field(default_factory=lambda: np.array([[1.0], [1.0], [0.0]]))
    technology: IntArray = field(default_factory=lambda: np.array([[0], [1], [0]]))
    price: FloatArray = field(default_factory=lambda: np.array([[2.0], [3.0], [0.0]]))
    watts: FloatArray = field(default_factory=lambda: np.array([[0.5], [1.0], [0.0]]))
    cuts: FloatArray = field(default_factory=lambda: np.array([[4.0], [8.0], [np.inf]]))


@pytest.mark.parametrize(("text", "expected"), [
    ("bw[0] + bw[2] <= 1 GB/s", [[1.0, 0.0, 0.0]]),  # an unused dimension has no bandwidth
    ("bw[node] <= 1 GB/s", [[1.0, 0.0, 0.0]]),
    ("bw[pod] >= 1 GB/s", [[0.0, -1.0, 0.0]]),
    ("cost <= 1 USD", [[2.0, 3.0, 0.0]]),
    ("power <= 1 W", [[0.5, 1.0, 0.0]]),
    # A W costs 6.57 USD in five years.
    ("tco <= 1 USD", [[2 + 0.5 * 6.57, 3 + 6.57, 0.0]]),
    # At least so much over the cut of each dimension; the first one stands for the unused one.
    ("bisection >= 1 GB/s", [[-4.0, 0.0, 0.0], [0.0, -8.0, 0.0], [-4.0, 0.0, 0.0]]),
    ("bisection <= 1 GB/s", []),
    ("time <= 1 s", []),
])  # fmt: skip
def test_rows_of_linear_constraints(text: str, expected: list[list[float]]) -> None:
    found = read(text)
    assert found.linear == bool(expected)
    assert [row[:, 0].tolist() for row in found.rows(Designs())] == [pytest.approx(row) for row in expected]


def test_the_memory_of_each_npu_limits() -> None:
    # 60 of 80 GB on one NPU, 60 of 40 GB on another; the limit of the problem is the larger one.
    limit = Constraint("memory", "memory", False, (), (), 1.0, 80.0, own_memory=True)  # noqa: FBT003 - a record
    from evo_libra.problem.figures import TrainingFigures  # noqa: PLC0415 - beside its use

    figures = Figures(
        np.ones(2), np.ones(2), np.ones(2), np.full((1, 2), 2), np.zeros((1, 2), dtype=np.int64), np.ones((1, 2)),
        training=TrainingFigures(np.array([60.0]), None), npu_capacity=np.array([80.0, 40.0]),
    )  # fmt: skip
    assert limit.excess(figures).tolist() == [0.0, 0.5]
    assert limit.limit_of_first(figures) == 80.0


def test_bandwidths_are_moved_to_meet_a_sum() -> None:
    # 6 + 2 <= 4: all are scaled alike. With a floor of 2 under the first one, the second has what is left.
    limit, row = read("sum(bw) <= 4 MB/s"), np.ones((2, 1))
    start = np.array([[6e6], [2e6]])
    free = project(start, np.zeros((2, 1)), np.full((2, 1), 9e6), [(limit, row)])
    assert free[:, 0].tolist() == pytest.approx([3e6, 1e6])
    held = project(start, np.array([[3.5e6], [0.0]]), np.full((2, 1), 9e6), [(limit, row)])
    assert held[:, 0].tolist() == pytest.approx([3.5e6, 0.5e6])
    assert violation(limit, row, start).tolist() == [pytest.approx(4 / 6)]  # relative to the largest term
    # Without constraints only the box counts; an equality is met from below, too.
    assert project(start, np.zeros((2, 1)), np.full((2, 1), 3e6), []).tolist() == [[3e6], [2e6]]
    equal = project(
        np.array([[1e6], [1e6]]), np.zeros((2, 1)), np.full((2, 1), 9e6), [(read("sum(bw) == 4 MB/s"), row)]
    )
    assert equal[:, 0].tolist() == pytest.approx([2e6, 2e6])


def test_long_constraints_and_long_lists_are_refused() -> None:
    """Their number decides how long a file takes to read, and a sum of a thousand terms is a mistake."""
    for constraints, said in (
        (["+".join(["bw[0]"] * 400) + " >= 1 GB/s"], "a length of at most 2000 is needed"),
        (["bw[0] >= 1 GB/s"] * 1001, "a length of at most 1000 is needed"),
    ):
        with pytest.raises(InputError, match=said):
            load_problem("gpt3-4k", [f"constraints={json.dumps(constraints)}"])
    assert load_problem("gpt3-4k", [f"constraints={json.dumps(['bw[0] >= 1 GB/s'] * 20)}"])
