"""Figures of designs and what objectives make of them, worked by hand on two designs of 4 NPUs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.problem.figures import (
    NONE_LEFT,
    Figures,
    ServedFigures,
    TotalCostOfOwnership,
    TrainingFigures,
    energy_per_token,
    left_of,
    memory,
    served_figures,
    system_cost,
    system_tco,
    system_watts,
    tokens_per_second,
    usd_per_token,
)
from evo_libra.problem.objectives import MEASURES, PLAIN, bisection, cuts, values

# 5 years at 0.1 USD/kWh with 1.5 W of the site for each W: a kW costs 1.5 x 0.1 x 8760 x 5 = 6570 USD.
TCO = TotalCostOfOwnership(years=5.0, usd_per_kWh=0.1, pue=1.5)
SWITCH, RING = BLOCK_NAMES.index("switch"), BLOCK_NAMES.index("ring")
FIGURES = Figures(
    time=np.array([2.0, 4.0]), cost=np.array([100.0, 50.0]), watts=np.array([1000.0, 500.0]),
    npus=np.array([[4, 2], [1, 2]]), block=np.array([[SWITCH, RING], [SWITCH, SWITCH]]),
    bandwidth=np.array([[3.0, 5.0], [0.0, 7.0]]), tco=TCO,
    training=TrainingFigures(memory=np.array([16.0]), tokens=600.0), npu_watts=np.array([250.0]),
    npu_price=np.array([10.0]), useful=np.array([0.5, 0.8]),
)  # fmt: skip


def test_a_year_has_8760_hours() -> None:
    assert TCO.seconds == 5 * 8760 * 3600
    assert TCO.cost(np.array([1000.0, 2.0])).tolist() == pytest.approx([6570.0, 13.14])


def test_spare_npus_are_bought_and_draw_no_power() -> None:
    some = replace(FIGURES, spares=np.array([2, 0]))
    assert some.bought_npus.tolist() == [6, 4]
    assert system_cost(some).tolist() == [160.0, 90.0]
    assert system_watts(some).tolist() == [2000.0, 1500.0]


def test_figures_of_a_system() -> None:
    assert system_cost(FIGURES).tolist() == [140.0, 90.0]
    assert system_watts(FIGURES).tolist() == [2000.0, 1500.0]
    # 140 + 2 kW, 90 + 1.5 kW.
    assert system_tco(FIGURES).tolist() == pytest.approx([140 + 13140, 90 + 9855])
    around = replace(FIGURES, around_cost=np.array([7.0, 8.0]), around_watts=np.array([1000.0, 0.0]))
    assert system_cost(around).tolist() == [147.0, 98.0]
    assert system_watts(around).tolist() == [3000.0, 1500.0]


def test_figures_of_tokens() -> None:
    assert tokens_per_second(FIGURES).tolist() == [300.0, 150.0]
    assert memory(FIGURES).tolist() == [16.0, 16.0]
    # 2 kW x 2 s / 600, 1.5 kW x 4 s / 600.
    assert energy_per_token(FIGURES).tolist() == pytest.approx([2000 * 2 / 600, 1500 * 4 / 600])
    # 13280 USD over 157.68e6 s, for 2 s / 600 of a token.
    assert usd_per_token(FIGURES).tolist() == pytest.approx([13280 / 157.68e6 * 2 / 600, 9945 / 157.68e6 * 4 / 600])


def test_users_wait_for_the_slowest_workload() -> None:
    found = served_figures([np.array([1.0, 5.0]), np.array([2.0, 3.0])], [np.array([7.0]), np.array([6.0])])
    assert found is not None
    assert (found.first.tolist(), found.token.tolist()) == ([2.0, 5.0], [7.0])
    assert served_figures([], []) is None


def test_a_bisection_is_the_narrowest_cut() -> None:
    # A switch of 4: two NPUs send to the others. A ring of 2: one bandwidth of an NPU each of two rings; a switch of
    # two: one in each of two.
    assert cuts(FIGURES.npus, FIGURES.block).tolist() == [[2.0, 2.0], [np.inf, 2.0]]
    assert bisection(FIGURES.npus, FIGURES.block, FIGURES.bandwidth).tolist() == [2 * 3.0, 2 * 5.0]
    # 8 NPUs as a ring of 4 (2 links of half of the bandwidth) in a switch of 2: 1 x 2 and 1 x 4.
    npus, block = np.array([[4], [2]]), np.array([[RING], [SWITCH]])
    assert cuts(npus, block).tolist() == [[2.0], [4.0]]


@pytest.mark.parametrize(("name", "expected"), [
    ("time", [2.0, 4.0]), ("cost", [100.0, 50.0]), ("power", [1000.0, 500.0]),
    ("system-power", [2000.0, 1500.0]), ("system-cost", [140.0, 90.0]),
    ("tco", [100 + 6570, 50 + 3285]), ("energy", [2000.0, 2000.0]), ("time-cost", [200.0, 200.0]),
    ("bisection", [1e12 / 6, 1e12 / 10]), ("tokens-per-s", [1e6 / 300, 1e6 / 150]), ("memory", [16.0, 16.0]),
    ("energy-per-token", [20 / 3, 10.0]), ("system-tco", [13280.0, 9945.0]),
    ("usd-per-Mtoken", [1e6 * 13280 / 157.68e6 * 2 / 600, 1e6 * 9945 / 157.68e6 * 4 / 600]),
    ("usd-per-trillion-tokens", [1e12 * 13280 / 157.68e6 * 2 / 600, 1e12 * 9945 / 157.68e6 * 4 / 600]),
    ("goodput", [2.0 / 0.5, 4.0 / 0.8]), ("useful-share", [2.0, 1.25]),
])  # fmt: skip
def test_objectives(name: str, expected: list[float]) -> None:
    assert values([PLAIN[name].objective], FIGURES)[0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(("name", "column", "scale"), [
    ("time", "time_ms", 1e-3), ("cost", "cost_usd", 1.0), ("power", "power_kW", 1e3),
    ("system-power", "system_power_kW", 1e3),
    ("system-cost", "system_cost_usd", 1.0), ("tco", "tco_usd", 1.0), ("energy", "energy_kJ", 1e3),
    ("time-cost", "time_cost_usd_s", 1.0), ("bisection", "bisection_s_per_TB", 1.0),
    ("tokens-per-s", "s_per_Mtoken", 1.0), ("tokens-per-s-one-out", "s_per_Mtoken_one_out", 1.0),
    ("memory", "memory_GB", 1e9),
    ("energy-per-token", "energy_per_token_J", 1.0), ("system-tco", "system_tco_usd", 1.0),
    ("usd-per-Mtoken", "cost_per_Mtoken_usd", 1.0), ("usd-per-trillion-tokens", "cost_per_Ttoken_usd", 1.0),
    ("ttft", "ttft_ms", 1e-3), ("tpot", "tpot_ms", 1e-3), ("goodput", "useful_iteration_ms", 1e-3),
    ("useful-share", "time_per_useful_time", 1.0),
])  # fmt: skip
def test_columns_have_the_scale_of_their_unit(name: str, column: str, scale: float) -> None:
    objective = PLAIN[name].objective
    assert (objective.column, objective.scale) == (column, scale)


def test_what_constraints_limit_is_the_inverse_of_some_objectives() -> None:
    assert PLAIN["goodput"].value(FIGURES).tolist() == [0.25, 0.2]
    assert PLAIN["useful-share"].value(FIGURES).tolist() == [0.5, 0.8]
    assert PLAIN["tokens-per-s"].value(FIGURES).tolist() == [300.0, 150.0]
    assert PLAIN["bisection"].value(FIGURES).tolist() == [6.0, 10.0]


def test_a_rate_with_one_out_is_that_of_the_replicas_that_are_left() -> None:
    served = ServedFigures(first=np.ones(2), token=np.ones(2), left=np.array([0.75, NONE_LEFT]))
    some = replace(FIGURES, served=served)
    measure = PLAIN["tokens-per-s-one-out"]
    assert measure.value(some).tolist() == pytest.approx([225.0, 150e-12])
    assert measure.minimised(some).tolist() == pytest.approx([1e6 / 225, 1e18 / 150])


@given(st.integers(1, 12), st.integers(1, 8), st.integers(1, 96))
def test_what_is_left_is_counted_over_all_places(systems: int, size: int, together: int) -> None:
    """Groups of neighbours that have no NPU of the one system that is out; of uneven sizes the formula may be lower."""
    npus = systems * size
    together = min(together, npus)
    groups = np.arange(npus // together * together).reshape(-1, together) // size
    left = min(float((groups != out).all(axis=1).mean()) for out in range(systems))
    found = float(left_of(np.array([npus // together]), np.array([together]), np.array([size]))[0])
    if together % size == 0 or size % together == 0:
        assert found == pytest.approx(left, abs=2 * NONE_LEFT)
    assert found <= left + 1e-9 or found == NONE_LEFT
    assert left_of(np.array([npus // together]), np.array([together]), np.array([0])).tolist() == [1.0]


def test_statistics_of_a_rate_are_of_what_is_minimised() -> None:
    # 2, 4 and 6 s for 600 tokens at low, stated and high weights, and drawn 5 and 3 s: the worst takes 6 s.
    scenarios = replace(FIGURES, time=np.array([[2.0], [4.0], [6.0], [5.0], [3.0]]))
    some = replace(FIGURES, scenarios=scenarios)
    assert MEASURES["tokens-per-s.worst"].value(some).tolist() == pytest.approx([100.0])
    assert MEASURES["tokens-per-s.worst"].minimised(some).tolist() == pytest.approx([1e4])
    assert MEASURES["time.mean"].value(some).tolist() == [4.0]
    assert MEASURES["time.worst"].objective.column == "worst_time_ms"
    assert MEASURES["time.p95"].objective.label == "iteration time, p95 [ms]"


@pytest.mark.parametrize(
    ("name", "traits", "needs"),
    [
        ("time", "timed", ""),
        ("cost", "paid", ""),
        ("power", "", "watts"),
        ("system-power", "", "watts npu.watts"),
        ("system-cost", "paid", "npu.price"),
        ("tco", "paid", "watts tco"),
        ("energy", "timed", "watts"),
        ("time-cost", "timed paid", ""),
        ("bisection", "", ""),
        ("tokens-per-s", "timed", "training tokens"),
        ("tokens-per-s-one-out", "timed", "training tokens users order"),
        ("memory", "", "training"),
        ("energy-per-token", "timed", "watts training tokens npu.watts"),
        ("system-tco", "paid", "watts tco npu.watts npu.price"),
        ("usd-per-Mtoken", "timed paid", "watts tco training tokens npu.watts npu.price"),
        ("usd-per-trillion-tokens", "timed paid", "watts tco training tokens npu.watts npu.price"),
        ("ttft", "", "users"),
        ("tpot", "", "users"),
        ("goodput", "timed", "faults"),
        ("useful-share", "", "faults"),
    ],
)
def test_what_objectives_need(name: str, traits: str, needs: str) -> None:
    assert {trait for trait in ("timed", "paid") if getattr(PLAIN[name], trait)} == set(traits.split())
    assert PLAIN[name].needs == set(needs.split())
