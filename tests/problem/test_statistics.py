"""Statistics over scenarios by hand: low, stated and high figures first, then those that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.network.blocks import Range
from evo_libra.problem.scenarios import beyond, draw
from evo_libra.problem.statistics import STATISTICS


@pytest.mark.parametrize(("name", "drawn", "expected"), [
    ("mean", [10.0, 20.0, 60.0], 30.0),
    ("p50", [60.0, 10.0, 20.0], 20.0),
    ("p50", [10.0, 20.0], 15.0),
    # 0.95 of the way of 2 steps is 1.9: 20 + 0.9 x 40.
    ("p95", [10.0, 20.0, 60.0], 56.0),
    # Of 21 drawn ones, the 20th.
    ("p95", [float(value) for value in range(21)], 19.0),
    ("p95", [7.0], 7.0),
    ("worst", [10.0, 20.0, 60.0], 99.0),
    ("worst", [10.0, 200.0], 200.0),
])  # fmt: skip
def test_of_drawn_scenarios(name: str, drawn: list[float], expected: float) -> None:
    figures = np.array([[1.0], [50.0], [99.0], *([value] for value in drawn)])
    assert STATISTICS[name].of(figures).tolist() == pytest.approx([expected])


def test_draws_are_triangular() -> None:
    # A triangle from 0 to 4 with its mode at 1: chance u below 1/4 is sqrt(4 u), else 4 - sqrt(12 (1 - u)).
    (found,) = draw([Range(0.0, 1.0, 4.0)], 3, 7)
    chance = np.random.default_rng(7).random(3)
    assert found[:3].tolist() == [0.0, 1.0, 4.0]
    expected = [(4 * u) ** 0.5 if u < 0.25 else 4 - (12 * (1 - u)) ** 0.5 for u in chance]
    assert found[3:].tolist() == pytest.approx(expected)
    assert draw([Range(2.0, 2.0, 2.0)], 2, 0).tolist() == [[2.0] * 5]


def test_a_range_without_a_mode_between_its_ends() -> None:
    # A mode at the low end: 4 - sqrt(16 (1 - u)).
    (found,) = draw([Range(0.0, 0.0, 4.0)], 2, 3)
    chance = np.random.default_rng(3).random(2)
    assert found[3:].tolist() == pytest.approx([4 - 4 * (1 - u) ** 0.5 for u in chance])


def test_changes_are_about_the_stated_figure() -> None:
    assert beyond(np.array([[1.0, 2.0, 5.0, 4.0]])).tolist() == [[-1.0, 0.0, 3.0, 2.0]]
