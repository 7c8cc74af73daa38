"""Sentences about designs whose figures are chosen by hand, each with its figures worked out beside it."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.explain.candidates import Candidates, Step
from evo_libra.explain.design_record import beaten_by, position_on_front
from evo_libra.explain.reasons import (
    compared_with,
    difference,
    front_proof_text,
    nothing_within,
    price_of_time,
    proof_text,
    why_balanced,
    why_near,
    why_within,
)


def designs(time: list[float], cost: list[float], columns: tuple[str, str] = ("time_ms", "cost_usd"),
            **limits: float) -> Candidates:  # fmt: skip
    figures = {columns[0]: np.array(time), columns[1]: np.array(cost)}
    return Candidates(np.arange(len(time)) + 3, np.zeros(len(time), dtype=np.int64), figures, columns, limits)


@pytest.mark.parametrize(("column", "mine", "other", "expected"), [
    # 104 over 100 is 4 % more, 96 over 100 is 4 % less.
    ("time_ms", 104.0, 100.0, "4 % slower"), ("time_ms", 96.0, 100.0, "4 % faster"),
    ("cost_usd", 104.0, 100.0, "4 % more expensive"), ("cost_usd", 96.0, 100.0, "4 % cheaper"),
    ("cost_per_Mtoken_usd", 1.25, 1.0, "25 % more expensive per Mtoken"),
    ("cost_per_Mtoken_usd", 0.75, 1.0, "25 % cheaper per Mtoken"),
    ("tpot_ms", 104.0, 100.0, "4 % longer in tpot"), ("tpot_ms", 96.0, 100.0, "4 % shorter in tpot"),
    ("power_kW", 104.0, 100.0, "4 % more power"), ("power_kW", 96.0, 100.0, "4 % less power"),
    # Up to 0.0005 % are no difference.
    ("time_ms", 100.0004, 100.0, "as fast"), ("time_ms", 99.9996, 100.0, "as fast"),
    ("cost_usd", 100.0, 100.0, "as cheap"), ("tpot_ms", 100.0, 100.0, "the same tpot"),
    ("time_ms", 100.0008, 100.0, "0.0008 % slower"), ("cost_usd", 99.9992, 100.0, "0.0008 % cheaper"),
    # From 1000 % on, the factor is said: 11 is 1000 % more, 10.9 is 990 % more.
    ("time_ms", 1090.0, 100.0, "990 % slower"), ("time_ms", 1100.0, 100.0, "11 times as slow"),
    ("cost_usd", 1100.0, 100.0, "11 times as expensive"),
    ("cost_per_Mtoken_usd", 12.0, 1.0, "12 times as expensive per Mtoken"),
    ("tpot_ms", 1234.0, 100.0, "12.3 times as long in tpot"), ("power_kW", 2000.0, 100.0, "20 times as much power"),
    ("power_kW", 99900.0, 100.0, "999 times as much power"),
    ("power_kW", 100000.0, 100.0, "1,000 times as much power"), ("time_ms", 123400.0, 100.0, "1,234 times as slow"),
])  # fmt: skip
def test_one_figure_against_another(column: str, mine: float, other: float, expected: str) -> None:
    assert compared_with({column: mine}, {column: other}) == expected


def test_a_design_is_compared_in_every_objective() -> None:
    found = designs([90.0, 100.0], [120.0, 80.0])
    # 90 of 100 ms, 120 of 80 USD; the other way round 100 of 90 ms, 80 of 120 USD.
    assert difference(found, 0, 1) == "10 % faster, 50 % more expensive"
    assert difference(found, 1, 0) == "11.1 % slower, 33.3 % cheaper"


def test_why_a_design_is_near_the_fastest() -> None:
    found = designs([90.0, 100.0, 104.0], [200.0, 100.0, 75.0], cost_usd=150.0)
    # Within 150 USD the fastest takes 100 ms: 104 ms are 4 % more, 75 USD 25 % less.
    assert why_near(found, 2) == "Against the fastest, #4, it is 4 % slower, 25 % cheaper."
    assert why_near(found, 1) == "No cheaper design comes within 5 % of it."


def test_the_price_of_the_next_step_and_of_the_last_one() -> None:
    found = designs([80.0, 100.0, 125.0], [3e6, 1e6, 8e5])
    # 2 MUSD for 20 of 100 ms are 100 kUSD per ms; 0.2 MUSD for 25 ms are 8 kUSD per ms.
    faster, slower = Step(0, 2e6, 20.0, 0.2), Step(2, 2e5, 25.0, 0.2)
    up = "The next step up (#3) saves 20 % of the time"
    assert price_of_time(found, 1, faster, slower) == (
        f"{up} for 2 MUSD, 100 kUSD per ms. The step up to this one cost 8,000 USD per ms."
    )
    assert price_of_time(found, 1, faster, None) == (
        f"{up} for 2 MUSD, 100 kUSD per ms. No design is cheaper and at least 10 % slower."
    )
    assert price_of_time(found, 1, Step(0, 0.0, 20.0, 0.2), slower) == f"{up} for no more money."
    assert price_of_time(found, 1, Step(0, 1.0, 20.0, 0.2), slower).startswith(f"{up} for 1 USD, 0.05 USD per ms.")
    tokens = designs([8.0, 10.0], [3.0, 1.0], ("tpot_ms", "cost_per_Mtoken_usd"))
    assert price_of_time(tokens, 1, Step(0, 2.0, 2.0, 0.2), Step(0, 1.0, 4.0, 0.2)) == (
        "The next step up (#3) saves 20 % of the tpot for 2 USD per Mtoken, 1 USD per Mtoken per ms. "
        "The step up to this one cost 0.25 USD per Mtoken per ms."
    )


def test_where_less_than_a_step_is_left() -> None:
    found = designs([95.0, 100.0, 120.0, 110.0], [1.5e6, 1e6, 5e5, 8e5])
    # 5 of 100 ms for 0.5 MUSD more.
    assert price_of_time(found, 1, None, None) == (
        "The fastest design, #3, saves only 5 % of the time for 500 kUSD more."
    )
    # From the fastest: the next slower one takes 100 of 95 ms and costs 1 of 1.5 MUSD.
    assert price_of_time(found, 0, None, None) == (
        "It is the fastest design of the front. #4, the next one, is 5.26 % slower, 33.3 % cheaper."
    )
    assert price_of_time(designs([95.0], [1.0]), 0, None, None) == "It is the only design of the front."
    tied = designs([95.0, 95.0, 120.0, 110.0], [1.0, 2.0, 0.5, 0.8])
    assert "#6, the next one, is 15.8 % slower, 20 % cheaper" in price_of_time(tied, 0, None, None)


def test_why_a_design_is_balanced() -> None:
    # 110 over 100 ms, 30 over 20 USD.
    found = designs([100.0, 110.0], [50.0, 30.0])
    found = Candidates(found.ids, found.network, {**found.figures, "power_kW": np.array([4.0, 5.0])},
                       ("time_ms", "power_kW"))  # fmt: skip
    assert why_balanced(found, 1) == "It is 10 % above the lowest time, 25 % above the lowest power."
    assert why_balanced(found, 0) == "It is 0 % above the lowest time, 0 % above the lowest power."


def test_what_the_next_better_design_breaks() -> None:
    found = designs([80.0, 90.0, 100.0], [4e6, 3e6, 2e6], cost_usd=2.5e6)
    # 90 of 100 ms are 10 % less; it costs 3 MUSD. 80 ms is further away.
    assert why_within(found, 2, "time_ms") == (
        "No design within cost <= 2.5 MUSD is faster. #4 is 10 % faster and has a cost of 3 MUSD."
    )
    assert why_within(found, 0, "time_ms") == "It is the fastest design found; cost <= 2.5 MUSD does not limit you."
    both = designs([80.0, 90.0, 100.0], [4e6, 3e6, 2e6], cost_usd=2.5e6, time_ms=95.0)
    assert why_within(both, 1, "cost_usd") == (
        "No design within cost <= 2.5 MUSD and time <= 95 ms is cheaper. #5 is 33.3 % cheaper and has a time of 100 ms."
    )
    assert why_within(both, 2, "cost_usd") == (
        "It is the cheapest design found; cost <= 2.5 MUSD and time <= 95 ms do not limit you."
    )
    # What is exactly at its limit keeps it; what breaks both is said of both.
    edge = designs([90.0, 100.0], [3e6, 2e6], cost_usd=3e6, time_ms=89.0)
    assert why_within(edge, 1, "time_ms").endswith("#3 is 10 % faster and has a time of 90 ms.")
    worse = designs([90.0, 100.0], [3e6, 2e6], cost_usd=1e6, time_ms=85.0)
    assert why_within(worse, 1, "time_ms").endswith("has a cost of 3 MUSD and a time of 90 ms.")


@pytest.mark.parametrize(("factor", "expected"), [
    (1.0, "Proven: no design of its cost is faster."),
    # 1 - 1 / 1.000002 are 0.0002 %, more than nothing; 1 - 1 / 1.0000005 are 0.00005 %, nothing.
    (1.000002, "Proven: no design of its cost is more than 0.0002 % faster."),
    (1.0000005, "Proven: no design of its cost is faster."),
    # 1 - 1 / 1.1 are 9.09 %, and 1 - 1 / 1.125 are 11.1 %, above 10 %.
    (1.1, "Proven: no design of its cost is more than 9.09 % faster."),
    (1.125, "Not proven: the bound is loose (11 %). `certify` may tighten it."),
])  # fmt: skip
def test_what_is_proven(factor: float, expected: str) -> None:
    assert proof_text(factor, of_time_and_cost=True) == expected


def test_what_is_proven_of_other_objectives_and_of_fronts() -> None:
    assert proof_text(1.05, of_time_and_cost=False, space=" of all") == (
        "Proven of all: nothing that is as good in all other objectives is more than 4.76 % better in one."
    )
    assert front_proof_text(1.125) == "Not proven: the bound is loose (11 %). `certify` may tighten it."


def test_nothing_within_limits() -> None:
    assert nothing_within(designs([80.0, 90.0], [4e6, 3e6], cost_usd=1e6, time_ms=70.0)) == (
        "nothing on the front keeps cost <= 1 MUSD and time <= 70 ms; "
        "the lowest cost is 3 MUSD, the lowest time is 80 ms"
    )


def test_a_place_on_a_front() -> None:
    found = designs([80.0, 90.0, 100.0, 110.0], [4.0, 3.0, 2.0, 1.0])
    # The next faster: 90 of 100 ms, 3 of 2 USD. The next cheaper: 110 of 100 ms, 1 of 2 USD.
    assert position_on_front(found, 2) == [
        "#4, the next faster design, is 10 % faster, 50 % more expensive",
        "#6, the next cheaper design, is 10 % slower, 50 % cheaper",
    ]
    assert position_on_front(found, 0)[0] == "no design on the front is faster"
    tokens = designs([8.0, 10.0], [3.0, 2.0], ("tpot_ms", "cost_usd"))
    assert position_on_front(tokens, 1)[0] == (
        "#3, the next better design in tpot, is 20 % shorter in tpot, 50 % more expensive"
    )
    assert position_on_front(tokens, 0)[0] == "no design on the front is better in tpot"


def test_what_beats_a_design() -> None:
    found = designs([80.0, 90.0, 100.0, 110.0], [4.0, 3.0, 2.0, 1.0])
    # Of (100 ms, 3 USD): 90 ms for 3 USD, product 0.9; 100 ms for 2 USD, product 2/3.
    assert beaten_by(found, {"time_ms": 100.0, "cost_usd": 3.0}) == [
        "2 of 4 designs on the front are better; #5 is as fast, 33.3 % cheaper"
    ]
    # A design of the front does not beat itself.
    assert beaten_by(found, {"time_ms": 90.0, "cost_usd": 3.0}) == [
        "nothing on the front is as good in every objective"
    ]
