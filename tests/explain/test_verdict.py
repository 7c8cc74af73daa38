"""Verdicts: which design they buy, the sum against the next best one, and the words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InfeasibleError, InputError
from evo_libra.explain.candidates import Candidates, candidates_of
from evo_libra.explain.hour_price import HourPrice
from evo_libra.explain.verdict import TRAINING_DAYS, verdict, verdict_of
from evo_libra.explain.verdict_record import BY_LIMIT, BY_PRICE, BY_SHAPE, BY_VALUE, Verdict
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

    110 MUSD / 8,760 h / 1,000 = 12.56 USD per NPU-hour; the 438,000 NPU-hours pay 10 MUSD at 22.83 USD.
    """
    found = bought(front([95.0, 100.0], [30e6, 20e6]), hours([110e6, 100e6]))
    assert (found.id, found.rule) == (1, BY_PRICE)
    assert found.usd_per_npu_hour == pytest.approx(100e6 / 8760 / 1000)
    rival = found.next_best
    assert rival is not None
    assert (rival.id, rival.costs_usd) == (0, 10e6)
    assert rival.saves_usd == pytest.approx(5.5e6)
    assert rival.time_percent == pytest.approx(5.0)
    assert rival.turns_at_usd_per_npu_hour == pytest.approx(10e6 / (0.05 * 8760 * 1000))
    assert found.sentences == (
        "Buy #1 net1. It does the work for the least money: 11.4 USD per NPU-hour for NPUs over 1 year.",
        (
            "Next best: #0 net0, which costs 10 MUSD more and saves 5.5 MUSD of time (5 % of 1 year): a loss of "
            "4.5 MUSD. It pays from 22.8 USD per NPU-hour."
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
    """30 USD for each of 8,760,000 NPU-hours: 5 % are 13.14 MUSD, more than the 10 MUSD that #0 costs."""
    found = front([95.0, 100.0], [30e6, 20e6])
    assert bought(found, hours([110e6, 100e6], value=30.0)).id == 0
    cheap = bought(found, hours(None, value=20.0))
    assert (cheap.id, cheap.rule) == (1, BY_VALUE)
    assert cheap.next_best is not None
    assert cheap.next_best.saves_usd == pytest.approx(0.05 * 20 * 8.76e6)
    assert cheap.next_best.turns_at_usd_per_npu_hour == pytest.approx(10e6 / (0.05 * 8.76e6))


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
    assert said.it_is == "It is the cheapest order within training <= 5 days."
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
    assert "Its time is equal to that of #0 within their bands, and it is the cheapest of these orders." in said.text


def test_without_a_price_the_shape_decides_and_the_range_of_prices_is_said() -> None:
    """Of 200, 100 and 80 ms: 200 ms take 8.76e6 NPU-hours more than 100 ms, and save 5 MUSD: 0.571 USD each."""
    found = bought(front([80.0, 100.0, 200.0], [20e6, 10e6, 5e6], cost_usd=15e6), hours(None, 3))
    assert (found.id, found.rule) == (1, BY_SHAPE)
    assert found.it_is == (
        "It is the fastest within the limits. It is the best at a price of time of 0.571 USD per NPU-hour and more."
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
    assert verdict_of(found, hours([1e6, 1e6]), ["a", "b"], limited=True).it_is == (
        "It is the cheapest design per Mtoken within the limits of the file."
    )


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
    assert said.notes == ("Assumed: 4 years of operation, 0.1 USD/kWh and PUE 1.2. The file has no `tco`.",)
