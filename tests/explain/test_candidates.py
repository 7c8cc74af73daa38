"""Candidates and the steps between them, on designs whose figures are chosen by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.explain.candidates import Candidates, step

TIME = [90.0, 91.0, 100.0, 100.0, 111.0, 112.0, 120.0, 130.0]
COST = [50.0, 45.0, 40.0, 40.0, 39.0, 30.0, 20.0, 20.0]


def candidates(**limits: float) -> Candidates:
    figures = {"time_ms": np.array(TIME), "cost_usd": np.array(COST)}
    return Candidates(np.arange(8) + 3, np.zeros(8, dtype=np.int64), figures, ("time_ms", "cost_usd"), limits)


def test_the_next_step_is_the_cheapest_design_that_is_a_tenth_faster() -> None:
    # Of 100 ms a tenth is 10 ms: 90 ms will do, 91 ms will not. It costs 10 USD more, and saves 10 ms of 100 ms.
    found = step(candidates(), 2, to_faster=True)
    assert found is not None
    assert (found.row, found.usd, found.ms, found.share, found.usd_per_ms) == (0, 10.0, 10.0, 0.1, 1.0)
    # From 130 ms on: 111, 112 and 117 ms would do; 112 ms is the cheapest of those that are there.
    found = step(candidates(), 7, to_faster=True)
    assert found is not None
    assert (found.row, found.usd, found.ms) == (5, 10.0, 18.0)
    assert step(candidates(), 1, to_faster=True) is None


def test_the_last_step_is_the_fastest_cheaper_design_that_is_a_tenth_slower() -> None:
    # 100 ms are a tenth less than 111.1 ms: 111 ms will not do, 112 ms will. It saves 10 USD for 12 ms of 112 ms.
    found = step(candidates(), 2, to_faster=False)
    assert found is not None
    assert (found.row, found.usd, found.ms) == (5, 10.0, 12.0)
    assert found.share == pytest.approx(12 / 112)
    # From 112 ms on the threshold is 124.4 ms; 130 ms is slower and cheaper. From 120 ms on, nothing is cheaper.
    found = step(candidates(), 5, to_faster=False)
    assert found is not None
    assert found.row == 7
    assert step(candidates(), 6, to_faster=False) is None


def test_of_equal_figures_the_better_other_one_is_the_step() -> None:
    figures = {
        "time_ms": np.array([100.0, 80.0, 70.0, 150.0, 150.0]),
        "cost_usd": np.array([9.0, 12.0, 12.0, 8.0, 7.0]),
    }
    found = Candidates(np.arange(5), np.arange(5), figures, ("time_ms", "cost_usd"))
    faster, slower = step(found, 0, to_faster=True), step(found, 0, to_faster=False)
    assert faster is not None
    assert slower is not None
    assert (faster.row, slower.row) == (2, 4)


def test_limits_are_kept_to_the_digit() -> None:
    assert np.flatnonzero(candidates(time_ms=100.0).within).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(candidates(time_ms=100.0, cost_usd=45.0).within).tolist() == [1, 2, 3]
    assert candidates().within.all()


def test_time_and_money_are_found_by_their_units() -> None:
    def of(*objectives: str) -> Candidates:
        return Candidates(
            np.zeros(1, np.int64), np.zeros(1, np.int64), dict.fromkeys(objectives, np.ones(1)), objectives
        )

    assert (of("tpot_ms", "time_ms", "cost_usd").time, of("tpot_ms", "ttft_ms").time, of("hops").time) == (
        "time_ms", "tpot_ms", "",
    )  # fmt: skip
    assert (of("power_kW", "tco_usd", "cost_usd").money, of("hops").money) == ("tco_usd", "")
    assert [of(*names).priced for names in (("time_ms", "cost_usd"), ("time_ms",), ("cost_usd",))] == [
        True,
        False,
        False,
    ]
    np.testing.assert_array_equal(candidates().values, [TIME, COST])
    assert candidates().of(4) == {"time_ms": 111.0, "cost_usd": 39.0}
