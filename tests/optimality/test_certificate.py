"""Certificates of two designs against an ideal, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.optimality import certificate
from evo_libra.optimality.certificate import _Bounds, _certificate, _Designs, _time_limit
from evo_libra.optimality.whole_ports import WholeIdeal
from evo_libra.problem.problem import Problem

# The ideal takes 4 s from 1 USD on, 3 s from 2 USD on and 2 s from 3 USD on.
IDEAL = WholeIdeal(np.array([1.0, 2.0, 3.0]), np.array([4.0, 3.0, 2.0]), 3, 3, 0)
BOUNDS = _Bounds(IDEAL.at, np.array([1.0, 2.0, 3.0]), 2.0, np.array([2.0, 1.0]), np.array([4.0, 3.0]))


def problem(*changes: str) -> Problem:
    found = load_problem("gpt3-4k", changes)
    assert isinstance(found, Problem)
    return found


def test_an_ideal_is_a_staircase() -> None:
    cost = np.array([0.5, 1.0, 1.999, 2.0 * (1.0 - 5e-10), 2.5, 3.0, 100.0])
    np.testing.assert_array_equal(IDEAL.at(cost), [np.inf, 4.0, 4.0, 3.0, 3.0, 2.0, 2.0])
    levels, lower = np.array([1.0, 2.0, 3.0]), np.array([4.0, 3.0, 2.0])
    # Between two costs the bound of the upper one holds.
    stairs = certificate._staircase(levels, lower, np.array([0.5, 1.0, 1.5, 3.0, 9.0]))  # noqa: SLF001 - a formula
    assert stairs.tolist() == [4.0, 4.0, 3.0, 2.0, 2.0]


def test_a_certificate_by_hand() -> None:
    # The front has 4 s for 1 USD and 2 s for 3 USD, as good as the ideal. Just below 3 USD it still takes 4 s, where
    # the ideal takes 3 s: a factor of 4/3.
    designs = _Designs(np.array([4.0, 2.0]), np.array([1.0, 3.0]), np.array([1, 0]))
    found = _certificate(problem(), designs, BOUNDS, looked=5, waiting=6, solved=7)
    np.testing.assert_allclose([*found.factor, found.largest_factor, found.at_cost], [1.0, 1.0, 4.0 / 3.0, 3.0])
    assert (found.fastest, found.looked, found.waiting, found.solved) == (2.0, 5, 6, 7)
    # On axes from 0 to 1 the front is (1, 0) and (0, 1): 1.1^2 - 1. No front has more than one of 3 s for 1 USD and
    # 2 s for 2 USD, what the ideal has just below each next step: 1.1^2 - log(3 / 2) / log 2 x log 2 / log 3.
    np.testing.assert_allclose(found.hypervolume, 1.21 - 1.0)
    np.testing.assert_allclose(found.max_hypervolume, 1.21 - np.log(1.5) / np.log(3.0))
    np.testing.assert_allclose(found.missed_hypervolume, 1.0 - np.log(1.5) / np.log(3.0))
    assert replace(found, hypervolume=2.0).missed_hypervolume == 0.0


def test_a_slow_design_has_its_own_factor() -> None:
    # 5 s for 1 USD instead of 4 s; 3 s for 2.5 USD, as the ideal; nothing reaches 2 s: 3 / 2 at any higher cost.
    designs = _Designs(np.array([5.0, 3.0]), np.array([1.0, 2.5]), np.array([0, 1]))
    found = _certificate(problem(), designs, BOUNDS, looked=0, waiting=0, solved=0)
    np.testing.assert_allclose(found.factor, [1.25, 1.0])
    # Just below 2.5 USD the front takes 5 s and the ideal 3 s.
    np.testing.assert_allclose([found.largest_factor, found.at_cost], [5.0 / 3.0, 2.5])


def test_what_is_slower_than_the_time_limit_is_no_design() -> None:
    limited = problem("constraints=['time <= 2.5 s', 'time <= 9 s', 'cost <= 9 MUSD']")
    assert _time_limit(limited) == pytest.approx(2.5, rel=1e-7)
    assert _time_limit(limited) > 2.5
    assert _time_limit(problem("constraints=['time >= 2.5 s']")) == np.inf
    designs = _Designs(np.array([2.0]), np.array([3.0]), np.array([0]))
    found = _certificate(limited, designs, BOUNDS, looked=0, waiting=0, solved=0)
    # 3 s for 1 USD is left out: what remains is 2 s for 2 USD.
    np.testing.assert_allclose(found.max_hypervolume, 1.1 * (1.1 - np.log(2.0) / np.log(3.0)))


def test_levels_reach_from_the_cheapest_design_to_beyond_the_axes() -> None:
    designs = _Designs(np.array([9.0, 5.0]), np.array([2.0, 4.0]), np.array([0, 1]))
    cost, time = certificate._branch_levels(problem(), designs, 1.0, 1024.0)  # noqa: SLF001 - a rule of its own
    # The reference point, at 1.1, is 1024 x 1024^0.1 = 2048 USD; at the last level every budget is enough.
    np.testing.assert_allclose([cost[0], cost[-2], cost[-1]], [1.0, 2048.0, problem().pricing.max_cost()])
    assert {2.0, 4.0} <= set(cost.tolist())
    assert np.isinf(time[cost < 2.0]).all()
    assert (time[(cost >= 2.0) & (cost < 4.0)] == 9.0).all()
    assert (time[cost >= 4.0] == 5.0).all()
