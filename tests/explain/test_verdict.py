"""Verdicts: which design they buy, the sum against the next best one, and the words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InfeasibleError, InputError
from evo_libra.explain.candidates import Candidates, candidates_of
from evo_libra.explain.choice import TRAINING_DAYS, Choice
from evo_libra.explain.hour_price import HourPrice, hour_price
from evo_libra.explain.verdict import verdict, verdict_of
from evo_libra.explain.verdict_record import BY_LIMIT, BY_PRICE, BY_SHAPE, BY_VALUE, Verdict
from evo_libra.front.front import Front
from evo_libra.problem.bands import Part
from evo_libra.problem.figures import TotalCostOfOwnership

YEAR = TotalCostOfOwnership(years=1, usd_per_kWh=0.0, pue=1.0)


def front(time: list[float], cost: list[float], **limits: float) -> Candidates:
    figures = {"time_ms": np.array(time), "cost_usd": np.array(cost)}
    count = len(time)
    return Candidates(np.arange(count), np.arange(count), figures, ("time_ms", "cost_usd"), limits, noun="order")


def hours(total: list[float] | None, count: int = 2, value: float | None = None) -> HourPrice:
    """Return the price of 1,000 NPUs over a year of 8,760 hours."""
    usd = None if total is None else np.array(total)
    return HourPrice(
        tco=YEAR, assumed=False, npus=np.full(count, 1000.0), total_usd=usd, value=value, parts=("NPUs",),
        missing="" if total else "the NPU has no price",
    )  # fmt: skip


def bought(found: Candidates, price: HourPrice) -> Verdict:
    return verdict_of(found, price, [f"net{number}" for number in range(len(found.ids))])


def test_a_step_that_costs_more_than_it_saves_is_not_taken() -> None:
    """#0 saves 5 % of the hours of a system of 110 MUSD, 5.5 MUSD, and costs 10 MUSD more.

    110 MUSD / 8,760 h / 1,000 = 12.56 USD per NPU-hour; ln(100/95) of 8.76e6 NPU-hours pays 10 MUSD at 22.26 USD.
    """
    found = bought(front([95.0, 100.0], [30e6, 20e6]), hours([110e6, 100e6]))
    assert (found.id, found.rule) == (1, BY_PRICE)
    assert found.usd_per_npu_hour == pytest.approx(100e6 / 8760 / 1000)
    rival = found.next_best
    assert rival is not None
    assert (rival.id, rival.costs_usd) == (0, 10e6)
    assert rival.saves_usd == pytest.approx(5.5e6)
    assert rival.time_percent == pytest.approx(5.0)
    assert rival.turns_at_usd_per_npu_hour == pytest.approx(10e6 / (np.log(100 / 95) * 8760 * 1000))
    assert found.sentences == (
        "Buy #1 net1. It does the work for the least money: 11.4 USD per NPU-hour for NPUs over 1 year.",
        (
            "Next best: #0 net0, which costs 10 MUSD more and saves 5.5 MUSD of time (5 % of 1 year): a loss of "
            "4.5 MUSD. Against #1 it pays from 22.3 USD per NPU-hour."
        ),
    )


def test_a_second_rail_for_a_third_of_a_percent_is_refused_with_the_sum() -> None:
    """34.6 % of a network of 20 MUSD for 0.364 % of the time of a system of 400 MUSD: 6.92 against 1.48 MUSD."""
    found = bought(front([99.636, 100.0], [26.92e6, 20e6]), hours([406.92e6, 400e6]))
    assert found.id == 1
    assert "costs 6.92 MUSD more and saves 1.48 MUSD of time (0.364 % of 1 year): a loss of 5.44 MUSD" in found.text


def test_a_step_that_saves_more_than_it_costs_is_taken() -> None:
    """The slower one is 10 MUSD cheaper, and needs 100 / 88 of the hours of its 100 MUSD: 13.6 MUSD."""
    found = bought(front([88.0, 100.0], [30e6, 20e6]), hours([110e6, 100e6]))
    assert found.id == 0
    assert "costs 10 MUSD less and loses 13.6 MUSD of time (13.6 % of 1 year): a loss of 3.64 MUSD" in found.text
    assert found.faster is None


def test_a_given_price_of_time_takes_the_place_of_that_of_the_system() -> None:
    """30 USD for each of 8,760,000 NPU-hours: ln(100/95) of them are 13.5 MUSD, more than the 10 that #0 costs."""
    found = front([95.0, 100.0], [30e6, 20e6])
    assert bought(found, hours([110e6, 100e6], value=30.0)).id == 0
    cheap = bought(found, hours(None, value=20.0))
    assert (cheap.id, cheap.rule) == (1, BY_VALUE)
    assert cheap.next_best is not None
    assert cheap.next_best.saves_usd == pytest.approx(np.log(100 / 95) * 20 * 8.76e6)
    assert cheap.next_best.turns_at_usd_per_npu_hour == pytest.approx(10e6 / (np.log(100 / 95) * 8.76e6))


@given(
    st.lists(st.tuples(st.floats(1.0, 100.0), st.floats(1e6, 1e8)), min_size=2, max_size=12),
    st.one_of(st.none(), st.floats(0.01, 100.0)),
)
def test_no_other_design_saves_more_than_it_costs(points: list[tuple[float, float]], value: float | None) -> None:
    time, cost = (list(each) for each in zip(*points, strict=True))
    total = [usd + 3e7 for usd in cost]
    found = bought(front(time, cost), hours(total, len(time), value))
    for rival in (found.next_best, found.faster):
        if rival is not None:
            assert rival.costs_usd is not None
            assert rival.saves_usd is not None
            assert rival.costs_usd - rival.saves_usd >= -1e-6 * max(total)


@given(
    st.lists(
        st.tuples(st.floats(1.0, 100.0), st.floats(1e6, 1e8), st.sampled_from([500.0, 1000.0, 2000.0])),
        min_size=2, max_size=12,
    )
)  # fmt: skip
def test_the_price_of_its_own_hour_buys_the_same_design(points: list[tuple[float, float, float]]) -> None:
    """Whatever the numbers of NPUs of the others: C + C* ln(t) is least where C t is."""
    time, cost, npus = (list(each) for each in zip(*points, strict=True))
    price = replace(hours([usd + 3e7 for usd in cost], len(time)), npus=np.array(npus))
    found = front(time, cost)
    said = bought(found, price)
    again = bought(found, replace(price, value=said.usd_per_npu_hour))
    work = [(usd + 3e7) * one for usd, one in zip(cost, time, strict=True)]
    assert work[again.id] == pytest.approx(work[said.id], rel=1e-6)


# Times that differ in their last bits alone are the same, for which no price of time is known to a USD.
DISTINCT = st.integers(50_000, 100_000).map(lambda time: time / 1000)


@given(
    st.lists(st.tuples(DISTINCT, st.floats(1e6, 1e8)), min_size=2, max_size=2),
    st.one_of(st.none(), st.floats(0.01, 100.0)),
    st.floats(500.0, 2000.0),
)
def test_two_designs_have_one_price_of_time_at_which_both_are_as_good(
    points: list[tuple[float, float]], value: float | None, npus: float
) -> None:
    """It is the same from both sides, with and without a given price of time, and the verdict turns there."""
    time, cost = (list(each) for each in zip(*points, strict=True))
    price = replace(hours([usd + 3e7 for usd in cost], value=value), npus=np.array([npus, 1000.0]))
    turns = Choice(front(time, cost), price).turns(0)[1], Choice(front(time, cost), price).turns(1)[0]
    assume(turns[0] > 1e-3)
    assert turns[0] == pytest.approx(turns[1], rel=1e-9)
    rows = [
        Choice(front(time, cost), replace(price, value=turns[0] * factor)).row(BY_VALUE)[0] for factor in (0.99, 1.01)
    ]
    cheaper = int(np.argmin(cost))
    assert rows == [cheaper, 1 - cheaper]


def test_the_same_work_counts_and_not_the_iteration() -> None:
    """#0 is 2 % slower in an iteration that has 4 % more tokens: 102 / 1.04 is less than 100."""
    found = front([102.0, 100.0], [20e6, 20e6])
    tokens = np.array([1040.0, 1000.0])
    assert bought(found, hours([100e6, 100e6])).id == 1
    assert bought(found, replace(hours([100e6, 100e6]), tokens=tokens)).id == 0


def test_a_training_of_the_file_has_its_days_and_its_price() -> None:
    """1e9 tokens in steps of 1,000 of 100 ms take 1e5 s, 1.157 days, 27.78 h of 100 MUSD / 8,760 h = 317 kUSD."""
    price = replace(hours([110e6, 100e6]), tokens=np.full(2, 1000.0), training_tokens=1e9)
    said = bought(front([95.0, 100.0], [30e6, 20e6]), price).it_is
    assert said.endswith("The training of 0.001 trillion tokens takes 1.16 days and costs 317 kUSD.")


def test_a_deadline_takes_the_cheapest_order_that_keeps_it() -> None:
    found = front([88.0, 100.0, 120.0], [30e6, 20e6, 10e6], training_days=5.0)
    found = replace(found, figures={**found.figures, TRAINING_DAYS: np.array([4.4, 5.0, 6.0])})
    said = bought(found, hours([110e6, 100e6, 90e6], 3))
    assert (said.id, said.rule) == (1, BY_LIMIT)
    assert said.it_is == "It is the cheapest order within training <= 5 days, at 20 MUSD."
    assert said.next_best is not None
    assert said.next_best.id == 0
    assert "The limits do not ask for it." in said.text
    # A price of time decides within the deadline.
    assert bought(found, hours([110e6, 100e6, 90e6], 3, value=90.0)).id == 0


def test_a_budget_leaves_out_what_would_pay() -> None:
    found = front([50.0, 100.0, 101.0], [30e6, 20e6, 19.9e6], cost_usd=25e6)
    said = bought(found, hours([110e6, 100e6, 99.9e6], 3))
    assert said.id == 1
    assert said.it_is.startswith("It does the work for the least money within cost <= 25 MUSD: ")
    with pytest.raises(InfeasibleError, match="nothing on the front keeps cost <= 1 USD"):
        verdict(search(load_problem("gpt3-4k"), evaluations=300), replace(found, limits={"cost_usd": 1.0}))


def test_designs_that_are_equal_within_their_bands_are_one() -> None:
    """98 ms may be 78 to 118 ms: the cheaper 100 ms is as good as known, and 150 ms is not."""
    found = replace(
        front([98.0, 100.0, 150.0], [20e6, 19e6, 18e6]),
        reasons=((Part(of="a", low_factor=0.8, high_factor=1.2),), (), ()),
    )
    said = bought(found, hours([100e6, 99e6, 98e6], 3))
    assert (said.id, said.equal) == (1, (0,))
    assert said.next_best is not None
    assert said.next_best.id == 2
    assert "Its time equals the time of #0 within their bands, and it is the cheapest of these orders." in said.text


def test_without_a_price_the_shape_decides_and_the_range_of_prices_is_said() -> None:
    """Of 200, 100 and 80 ms: 200 ms save 5 MUSD against ln 2 of 8.76e6 NPU-hours: 0.823 USD each."""
    found = bought(front([80.0, 100.0, 200.0], [20e6, 10e6, 5e6], cost_usd=15e6), hours(None, 3))
    assert (found.id, found.rule) == (1, BY_SHAPE)
    assert found.it_is == (
        "It is the fastest within the limits. It is the best at a price of time of 0.823 USD per NPU-hour and more."
    )
    assert found.notes[0] == (
        "Time has no price here: the NPU has no price. `recommend --value 2USD/NPU-hour` gives it one."
    )
    assert found.next_best is not None
    assert found.next_best.it_is == "100 % slower, 50 % cheaper"


def test_a_price_of_time_without_use_is_refused() -> None:
    found = Candidates(
        np.arange(2), np.arange(2), {"tpot_ms": np.array([9.0, 20.0]), "cost_per_Mtoken_usd": np.array([3.0, 1.0])},
        ("tpot_ms", "cost_per_Mtoken_usd"),
    )  # fmt: skip
    with pytest.raises(InputError, match=r"has no use here. The cost of a token has the price of time in it"):
        bought(found, hours([1e6, 1e6], value=2.0))
    with pytest.raises(InputError, match=r"has no use here. Time has no price here: the problem is not at hand"):
        bought(front([9.0, 20.0], [3.0, 1.0]), HourPrice(value=2.0, missing="the problem is not at hand"))
    # The file limits the time of users: the cheapest token.
    waits = replace(hours([1e6, 1e6]), serves=True, users_limited=True)
    assert verdict_of(found, waits, ["a", "b"]).it_is == (
        "It is the cheapest design per Mtoken within the limits of the file."
    )


def test_of_systems_that_serve_the_cheapest_that_keeps_the_limits_of_users_is_bought() -> None:
    """Users wait for a token; whole systems do not work for it, so that no hour has a price."""
    found = Candidates(
        np.arange(3), np.arange(3),
        {"tpot_ms": np.array([10.0, 12.0, 18.0]), "order_cost_usd": np.array([4.0, 2.0, 1.0])},
        ("tpot_ms", "order_cost_usd"), noun="order",
    )  # fmt: skip
    waits = replace(hours([4e6, 2e6, 1e6], 3), serves=True)
    said = verdict_of(found, replace(waits, users_limited=True), ["a", "b", "c"])
    assert (said.id, said.it_is) == (2, "It is the cheapest order within the limits of the file, at 1 USD.")
    assert "".join(verdict_of(found, waits, ["a", "b", "c"]).notes) == (
        "Time has no price here, because users wait for it. A constraint on ttft, tpot or tokens-per-s in the file "
        "decides, or `recommend --rate`."
    )


def test_a_whole_request_is_no_time_that_systems_work_for() -> None:
    waits = replace(hours([110e6, 100e6]), serves=True)
    assert bought(front([95.0, 100.0], [30e6, 20e6]), waits).rule == BY_SHAPE


@pytest.mark.parametrize(
    ("constraints", "limited"),
    [(["ttft <= 2 s"], True), (["tokens-per-s >= 1 ktoken/s"], True), (["order-cost <= 5 MUSD"], False)],
)
def test_a_file_limits_users_by_waits_and_rates(constraints: list[str], *, limited: bool) -> None:
    served = {"input": 1000, "output": 500, "concurrency": [1, 8]}
    problem = load_problem({
        "version": 1, "name": "serve", "question": "order", "systems": ["hgx-b200"], "npus": 8,
        "constraints": constraints,
        "workloads": [{"model": "llama-3.1-8b", "serving": served, "parallelism": {"tp": [1, 8]}}],
        "objectives": ["tpot", "order-cost"],
    })  # fmt: skip
    price = hour_price(problem, search(problem).frame["design"].to_list())
    assert (price.serves, price.users_limited) == (True, limited)


def test_a_rack_more_of_the_same_is_no_alternative() -> None:
    """#1 is nearer to #0 in money than #2 is, but has the same network around two racks more."""
    found = front([100.0, 98.2, 80.0], [100e6, 101e6, 150e6])
    racks = replace(found, same_but_number=np.array([0, 0, 1]))
    price = hours([100e6, 102e6, 130e6], 3)
    assert bought(found, price).next_best.id == 1  # type: ignore[union-attr]
    names = ["112 a / s", "116 a / s", "112 b / s"]
    said = verdict_of(racks, price, names)
    assert said.next_best is not None
    assert said.other_number is not None
    assert (said.next_best.id, said.other_number.id) == (2, 1)
    assert said.other_number.costs_usd == pytest.approx(2e6)
    assert said.other_number.saves_usd == pytest.approx(102e6 * 0.018)
    assert "Other number: #1 116 a / s, which costs 2 MUSD more" in said.text
    assert "about the same money" not in said.text
    near = verdict_of(racks, replace(price, total_usd=np.array([100e6, 101.85e6, 130e6])), names)
    assert near.text.count("Both do the work for about the same money.") == 1


def test_orders_are_the_same_but_for_their_number() -> None:
    frame = search(load_problem("dense-1k"), evaluations=2000).frame.head(4)
    heads = ("112 a / 1 x 400G / s tor 1:1", "116 a / 1 x 400G / s tor 1:1", "112 a / 1 x 400G / s tor 2:1", "8 b")
    orders = Front(
        frame.with_columns(design=pl.Series([f"{head} | tp8" for head in heads]), system=pl.Series(list("aaab"))),
        ("time_ms", "cost_usd"),
    )  # fmt: skip
    assert candidates_of(orders).alternatives.tolist() == [0, 0, 1, 2]


def test_a_single_design_has_no_rival() -> None:
    said = bought(front([9.0], [3.0]), hours([1e6], 1))
    assert said.it_is == "It is the only order on the front."
    assert (said.next_best, said.faster) == (None, None)


def test_a_front_of_a_problem_has_the_prices_of_its_file() -> None:
    """h100-80gb at 27,839 USD and 700 W: dense-1k has no hosts, so that NPUs and network are the system."""
    problem = load_problem("dense-1k")
    found = search(problem, evaluations=8000)
    said = verdict(found, candidates_of(found), problem)
    row = found.frame.filter(found.frame["id"] == said.id).to_dicts()[0]
    watts = float(problem.measure(problem.read([row["design"]]), timed=False).watts[0])  # type: ignore[attr-defined]
    energy = (watts + 1024 * 700.0) / 1e3 * 1.2 * 0.10 * 4 * 8760
    usd = (row["cost_usd"] + 1024 * 27_839.0 + energy) / (4 * 8760) / 1024
    assert said.usd_per_npu_hour == pytest.approx(usd, rel=1e-9)
    assert said.notes == (
        "With prices drawn from their ranges it is the best in 100 % of 1,000 draws.",
        "Assumed: 4 years of operation, 0.1 USD/kWh and PUE 1.2. The file has no `tco`.",
    )


def test_where_limits_decide_the_cheapest_is_bought_and_none_is_equal_to_it() -> None:
    """Bands that leave open which order is faster decide nothing: 12 % of cost do."""
    found = replace(front([100.0, 100.0], [473e3, 423e3]), limits={"time_ms": 120.0})
    row, equal = Choice(found, hours(None)).row(BY_LIMIT)
    assert (row, equal.tolist()) == (1, [False, False])
