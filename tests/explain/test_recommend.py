"""Recommendations: what they choose, and that their sentences say the figures of the front."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InfeasibleError, InputError
from evo_libra.explain.candidates import STEP, Candidates, candidates_of, step
from evo_libra.explain.reasons import compared_with
from evo_libra.explain.recommend import (
    CHEAPEST,
    EVEN,
    KNEE,
    NEAR,
    NEAR_FASTEST,
    WITHIN,
    knee,
    recommend,
    recommendation_rows,
)
from evo_libra.front.front import Front
from evo_libra.problem.bands import Part


@pytest.fixture(scope="module")
def front() -> Front:
    return search(load_problem("gpt3-4k"), evaluations=4000)


def curve(power: float, count: int = 60) -> Candidates:
    """Return designs whose cost falls with a power of the time, of two kinds of network in turn."""
    time = np.geomspace(100.0, 1000.0, count)
    figures = {"time_ms": time, "cost_usd": 1e6 * (time / 100.0) ** -power}
    return Candidates(np.arange(count) + 7, np.arange(count) % 2, figures, ("time_ms", "cost_usd"))


def figures_in(text: str) -> list[float]:
    """Return the figures of a sentence in order, money in USD; ids are none."""
    size = {"kUSD": 1e3, "MUSD": 1e6}
    found = re.findall(r"(?<![#\w.])(\d[\d,]*\.?\d*(?:e[-+]\d+)?)(?: ([kM]USD))?", text)
    return [float(number.replace(",", "")) * size.get(unit, 1.0) for number, unit in found]


def test_the_knee_is_furthest_from_the_line_between_the_ends(front: Front) -> None:
    values = front.frame.select(front.objectives).to_numpy().T
    logs = np.log(values)
    scaled = (logs - logs.min(axis=1, keepdims=True)) / np.ptp(logs, axis=1, keepdims=True)
    distance = (1.0 - scaled.sum(axis=0)) / np.sqrt(2.0)
    assert knee(values) == distance.argmax()
    assert 0 < knee(values) < len(front) - 1


@given(st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(1.0, 1e6)), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_the_knee_does_not_depend_on_units(points: list[tuple[float, float]], factor: float) -> None:
    values = np.array(points).T
    first, other = knee(values), knee(values * np.array([[factor], [1.0]]))
    logs = np.log(values)
    span = np.ptp(logs, axis=1, keepdims=True)
    total = np.divide(logs - logs.min(axis=1, keepdims=True), span, out=np.zeros_like(logs), where=span > 1e-9).sum(0)
    assert total[first] == pytest.approx(total[other], abs=1e-6)


def test_a_step_is_a_tenth_of_the_time_at_least_and_the_cheapest() -> None:
    found = curve(1.0)
    time, cost = found.figures["time_ms"], found.figures["cost_usd"]
    ahead, back = step(found, 30, to_faster=True), step(found, 30, to_faster=False)
    assert ahead is not None
    assert back is not None
    there = np.flatnonzero(time <= time[30] * (1 - STEP))
    assert cost[ahead.row] == cost[there].min()
    assert ahead.usd_per_ms == pytest.approx((cost[ahead.row] - cost[30]) / (time[30] - time[ahead.row]))
    assert back.share == pytest.approx(1 - time[30] / time[back.row])
    assert step(found, 0, to_faster=True) is None
    assert step(found, 59, to_faster=False) is None


def test_the_price_of_time_is_that_of_the_table(front: Front) -> None:
    found = candidates_of(front)
    (one,) = [one for one in recommend(found) if KNEE in one.kinds]
    assert one.faster is not None
    assert one.slower is not None
    rows = front.frame
    cost, time = rows["cost_usd"].to_list(), rows["time_ms"].to_list()
    percent, usd, ahead, behind = figures_in(one.reason)
    assert f"(#{rows['id'][one.faster.row]})" in one.reason
    assert percent == pytest.approx(100 * (1 - time[one.faster.row] / time[one.row]), rel=1e-2)
    assert usd == pytest.approx(cost[one.faster.row] - cost[one.row], rel=1e-2)
    step_ms = time[one.row] - time[one.faster.row]
    assert ahead == pytest.approx((cost[one.faster.row] - cost[one.row]) / step_ms, rel=1e-2)
    last_ms = time[one.slower.row] - time[one.row]
    assert behind == pytest.approx((cost[one.row] - cost[one.slower.row]) / last_ms, rel=1e-2)


def test_near_the_fastest_it_is_the_cheapest(front: Front) -> None:
    found = candidates_of(front)
    (one,) = [one for one in recommend(found) if NEAR_FASTEST in one.kinds]
    near = front.frame.filter(pl.col("time_ms") <= front.frame["time_ms"].min() * (1 + NEAR))  # type: ignore[operator]
    assert front.frame["cost_usd"][one.row] == near["cost_usd"].min()
    slower, cheaper = figures_in(one.reason)[-2:]
    mine, best = front.frame.row(one.row, named=True), front.frame.row(0, named=True)
    assert slower == pytest.approx(100 * (mine["time_ms"] / best["time_ms"] - 1), rel=0.01)
    assert cheaper == pytest.approx(100 * (1 - mine["cost_usd"] / best["cost_usd"]), rel=0.01)


def test_limits_choose_the_best_within_and_say_what_the_next_one_breaks(front: Front) -> None:
    limit = 2e6
    first = recommend(candidates_of(front, {"cost_usd": limit}))[0]
    assert WITHIN in first.kinds
    kept = front.frame.filter(pl.col("cost_usd") <= limit)
    assert front.frame["time_ms"][first.row] == kept["time_ms"].min()
    assert "No design within cost <= 2 MUSD is faster." in first.reason
    stated = figures_in(first.reason.split(" and has a ")[1])[-1]
    broken = front.frame.filter(pl.col("time_ms") < front.frame["time_ms"][first.row])["cost_usd"][-1]
    assert stated == pytest.approx(broken, rel=1e-3)
    assert stated > limit
    cheapest = recommend(candidates_of(front, {"time_ms": 1000.0}))[0]
    assert CHEAPEST in cheapest.kinds
    within = front.frame.filter(pl.col("time_ms") <= 1000.0)
    assert front.frame["cost_usd"][cheapest.row] == within["cost_usd"].min()


def test_nothing_within_the_limits_is_said_with_what_there_is(front: Front) -> None:
    with pytest.raises(InfeasibleError, match="nothing on the front keeps cost <= 1 USD; the lowest cost is"):
        recommend(candidates_of(front, {"cost_usd": 1.0}))
    with pytest.raises(InputError, match="power_kW is no objective of the front: time_ms, cost_usd"):
        candidates_of(front, {"power_kW": 1.0})


@given(st.floats(0.2, 5.0), st.integers(3, 80))
def test_a_runner_up_is_another_network_and_what_it_loses_is_computed(power: float, count: int) -> None:
    found = curve(power, count)
    for one in recommend(found):
        assert one.runner_up is not None
        assert found.network[one.runner_up] != found.network[one.row]
        assert one.loses == compared_with(found.of(one.runner_up), found.of(one.row))


def test_words_of_a_difference_have_a_side() -> None:
    mine = {"time_ms": 90.0, "cost_usd": 120.0, "power_kW": 50.0}
    other = {"time_ms": 100.0, "cost_usd": 120.0, "power_kW": 40.0}
    assert compared_with(mine, other) == "10 % faster, as cheap, 25 % more power"
    assert compared_with(other, mine) == "11.1 % slower, as cheap, 20 % less power"


def test_one_design_and_other_objectives_have_a_recommendation() -> None:
    frame = pl.DataFrame({"id": [0, 1], "hops": [2.0, 1.0], "area_mm2": [3.0, 9.0]})
    (one,) = recommend(candidates_of(Front(frame, ("hops", "area_mm2"))))
    assert one.kinds == (EVEN,)
    assert one.runner_up is None
    assert figures_in(one.reason) == [100.0, 0.0]
    (alone,) = recommend(candidates_of(Front(frame[:1], ("hops", "area_mm2"))))
    assert alone.row == 0


def test_rows_have_units_and_places_by_id(front: Front) -> None:
    found = candidates_of(front)
    for one, row in zip(recommend(found), recommendation_rows(found, recommend(found)), strict=True):
        mine = front.frame.row(one.row, named=True)
        assert (row.id, row.figures) == (mine["id"], {key: mine[key] for key in ("time_ms", "cost_usd")})
        assert row.reason == one.reason


def test_time_per_token_is_bought_for_the_price_of_tokens() -> None:
    """Whatever time and money are called, the same designs are recommended, for the same reasons in other words."""
    one = curve(1.5)
    names = {"tpot_ms": "time_ms", "cost_per_Mtoken_usd": "cost_usd"}
    other = Candidates(
        one.ids, one.network, {name: one.figures[column] for name, column in names.items()}, tuple(names)
    )  # fmt: skip
    for mine, theirs in zip(recommend(other), recommend(one), strict=True):
        assert (mine.kinds, mine.row, mine.faster, mine.slower, mine.runner_up) == (
            theirs.kinds, theirs.row, theirs.faster, theirs.slower, theirs.runner_up,
        )  # fmt: skip
        assert figures_in(mine.reason) == figures_in(theirs.reason)
    first = recommend(other)[0]
    assert "% of the tpot" in first.reason
    assert "USD per Mtoken" in first.reason
    assert recommendation_rows(other, [first])[0].steps_are_of == ("tpot_ms", "cost_per_Mtoken_usd")


def test_many_percent_are_a_factor() -> None:
    assert compared_with({"cost_usd": 2e6}, {"cost_usd": 1e5}) == "20 times as expensive"
    assert compared_with({"tpot_ms": 5e6, "power_kW": 2e6}, {"tpot_ms": 1e3, "power_kW": 1e5}) == (
        "5,000 times as long in tpot, 20 times as much power"
    )


def designs(time: list[float], cost: list[float], network: list[int] | None = None, **limits: float) -> Candidates:
    figures = {"time_ms": np.array(time), "cost_usd": np.array(cost)}
    kinds = np.zeros(len(time), dtype=np.int64) if network is None else np.array(network)
    return Candidates(np.arange(len(time)), kinds, figures, ("time_ms", "cost_usd"), limits)


def chosen(found: Candidates) -> dict[str, int]:
    """Return the row of each kind of recommendation."""
    return {kind: one.row for one in recommend(found) for kind in one.kinds}


def test_within_5_percent_of_the_fastest_that_the_limits_allow() -> None:
    time, cost = [100.0, 105.0, 106.0, 110.0, 112.0], [50.0, 40.0, 30.0, 20.0, 10.0]
    # The fastest takes 100 ms: 105 ms is within 5 %, 106 ms is not.
    assert chosen(designs(time, cost))[NEAR_FASTEST] == 1
    # Within 40 USD the fastest takes 105 ms, 5 % more are 110.25 ms: 110 ms is within, 112 ms is not.
    limited = chosen(designs(time, cost, cost_usd=40.0))
    assert (limited[NEAR_FASTEST], limited[WITHIN]) == (3, 1)
    # What is near the fastest has to keep the limits, too.
    assert chosen(designs(time, cost, time_ms=105.0))[NEAR_FASTEST] == 1
    assert chosen(designs([100.0, 104.0, 105.0], [50.0, 40.0, 30.0], time_ms=104.0))[NEAR_FASTEST] == 1


def test_limits_decide_which_kinds_there_are() -> None:
    time, cost = [100.0, 150.0, 400.0, 500.0], [50.0, 20.0, 10.0, 9.0]
    assert list(chosen(designs(time, cost))) == [KNEE, NEAR_FASTEST]
    # Three designs keep this limit, too few for a knee.
    assert list(chosen(designs(time, cost, cost_usd=20.0))) == [WITHIN, NEAR_FASTEST]
    assert chosen(designs(time, cost, cost_usd=20.0))[WITHIN] == 1
    assert list(chosen(designs(time, cost, cost_usd=50.0))) == [WITHIN, NEAR_FASTEST, KNEE]
    assert chosen(designs(time, cost, time_ms=399.0))[CHEAPEST] == 1
    # A limit on both has both kinds.
    assert chosen(designs(time, cost, time_ms=500.0, cost_usd=50.0)) == {
        WITHIN: 0, CHEAPEST: 3, KNEE: 1, NEAR_FASTEST: 0,
    }  # fmt: skip


def test_the_knee_by_hand() -> None:
    # In decades above the best: (0, 2), (0.5, 0.5), (1, 0.9) and (2, 0), of 2 by 2. The second has the least sum.
    values = 10.0 ** np.array([[0.0, 0.5, 1.0, 2.0], [2.0, 0.5, 0.9, 0.0]])
    assert knee(np.array([[7.0], [3.0]]) * values**0.1) == 1  # neither units nor the extent matter
    assert knee(values) == 1
    assert knee(values, np.array([True, False, True, True])) == 2
    # Each axis counts as much, whatever its range: sums are 1, 0.25 + 0.5 and 1.
    assert knee(10.0 ** np.array([[0.0, 1.0, 4.0], [1.0, 0.5, 0.0]])) == 1
    # An objective that is the same everywhere says nothing.
    assert knee(np.array([[1.0, 2.0, 8.0], [7.0, 7.0, 7.0], [8.0, 2.0, 1.0]])) == 1


def test_a_runner_up_is_the_best_of_the_other_networks_within_the_limits() -> None:
    time, cost, network = [100.0, 101.0, 104.0, 120.0, 90.0], [50.0, 49.0, 45.0, 20.0, 99.0], [0, 0, 1, 2, 1]
    (within, *_) = recommend(designs(time, cost, network, cost_usd=60.0))
    # 100 ms is the fastest within 60 USD. 101 ms is of the same network, and 90 ms breaks the limit.
    assert (within.kinds[0], within.row, within.runner_up) == (WITHIN, 0, 2)
    assert within.loses == "4 % slower, 10 % cheaper"
    # No other network is within 5 % of 100 ms: the fastest one of another network stands in.
    alone = recommend(designs([100.0, 104.0, 120.0, 130.0], [50.0, 45.0, 20.0, 10.0], [0, 0, 1, 2]))
    (near,) = [one for one in alone if NEAR_FASTEST in one.kinds]
    assert (near.row, near.kinds[0], near.runner_up) == (1, NEAR_FASTEST, 2)
    assert recommend(designs(time, cost))[0].runner_up is None


@pytest.mark.parametrize(("count", "bends"), [(3, False), (4, True)])
def test_a_front_of_few_designs_has_no_knee(count: int, *, bends: bool) -> None:
    found = designs([100.0, 150.0, 300.0, 400.0][:count], [50.0, 20.0, 11.0, 10.0][:count])
    assert found.bends == bends
    assert (KNEE in chosen(found)) == bends


def test_designs_that_are_equal_within_their_bands_are_one_for_a_knee() -> None:
    """Of 100, 110, 150 and 300 ms, the band of the first has the second in it: three designs are distinguished."""
    figures = {"time_ms": np.array([100.0, 110.0, 150.0, 300.0]), "cost_usd": np.array([9e6, 5e6, 4e6, 3e6])}
    band: tuple[tuple[Part, ...], ...] = ((Part(of="a", low_factor=0.9, high_factor=1.2),), (), (), ())
    found = Candidates(np.arange(4), np.arange(4), figures, ("time_ms", "cost_usd"))
    assert found.bends
    assert not replace(found, reasons=band).bends


def banded(classes: tuple[str | None, ...]) -> Candidates:
    """Return three designs of 100, 110 and 150 ms: those of a class may take 0.9 to 1.2 times as long."""
    has = np.array([1.0 if name else np.nan for name in classes])
    ends = {"time_ms": (np.array([90.0, 99.0, 135.0]) * has, np.array([120.0, 132.0, 180.0]) * has)}
    reasons = [(Part(of=name, low_factor=0.9, high_factor=1.2),) if name else () for name in classes]
    figures = {"time_ms": np.array([100.0, 110.0, 150.0]), "cost_usd": np.array([9e6, 5e6, 4e6])}
    return Candidates(
        np.arange(3), np.arange(3), figures, ("time_ms", "cost_usd"), {"cost_usd": 1e7}, ends=ends, reasons=reasons
    )


def test_designs_that_bands_leave_equal_in_time_are_said_to_be_and_the_cheaper_one_is_taken() -> None:
    """110 ms is between 90 and 120, 150 ms is not."""
    found = banded(("class default", None, None))
    assert found.equals(0).tolist() == [False, True, False]
    (first, *_) = recommend(found)
    assert (first.kinds[0], first.row) == (WITHIN, 1)
    assert first.reason.startswith(
        "Against the fastest, #0, it is 10 % slower, 44.4 % cheaper; the time of both is equal within their bands, and "
        "it is the cheapest of these."
    )
    assert first.loses.endswith("; the time of both is equal within their bands")
    rows = recommendation_rows(found, recommend(found))
    assert rows[0].between == {}
    assert next(row for row in rows if row.id == 0).between == {"time_ms": (90.0, 120.0)}


def test_independent_reasons_of_two_designs_add_up_as_squares() -> None:
    """The first may be 1.2 times as slow while the third is 0.9 times: sqrt(ln 1.2 ** 2 + ln 0.9 ** 2) = 0.2107.

    1.5 is more than exp(0.2107) = 1.2345, 1.1 is less. Ends that overlap, as 120 and 135 do not, would say nothing new.
    """
    found = banded(("one", "two", "two"))
    assert found.equals(0).tolist() == [False, True, False]
    assert found.equals(2).tolist() == [False, False, False]


def test_errors_of_one_class_cancel() -> None:
    found = banded(("class default", "class default", None))
    assert not found.equals(0).any()
    assert recommend(found)[0].row == 0
