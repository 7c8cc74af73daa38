"""Best bandwidths of two patterns under a budget, worked by hand, with the multipliers that prove them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_programs import one

from evo_libra.bandwidth.closed_form import closed_form, has_closed_form
from evo_libra.bandwidth.program import lower_bound

APART, INF = [[1.0, 0.0], [0.0, 1.0]], np.inf


@pytest.mark.parametrize(
    ("traffic", "given", "bandwidth", "seconds"),
    [
        # One pattern: b is in proportion to its traffic. 3 s + 2 x 4 s = 22 gives a rate of 2.
        ([[3, 4]], {"rows": [[1, 2]], "limit": [22]}, [6, 8], 0.5),
        ([[3, 4]], {"rows": [[1, 2]], "limit": [22], "size": [5], "base": 7}, [6, 8], 9.5),
        # A cap of 3 holds the rate at 1; the other dimension needs no more than 4 then.
        ([[3, 4]], {"rows": [[1, 2]], "limit": [22], "high": [3, INF]}, [3, 4], 1.0),
        # Two patterns with a dimension each: b_g in proportion to sqrt(size_g / price_g), and
        # T = (sum_g sqrt(size_g price_g))^2 / limit.
        (APART, {}, [0.5, 0.5], 4.0),
        (APART, {"size": [1, 4]}, [1 / 3, 2 / 3], 9.0),
        (APART, {"size": [1, 4], "rows": [[4, 1]], "limit": [2]}, [0.25, 1.0], 8.0),
        # b_0 carries both, b_1 the second alone: b_0 = max(s_0, s_1), b_1 = s_1. At the kink both rates are 1.
        ([[1, 0], [1, 1]], {"limit": [2]}, [1, 1], 2.0),
        # 4 / s_0 + 1 / s_1 under s_0 + s_1 = 2 is least at 4/3 and 2/3, beyond the kink.
        ([[1, 0], [1, 1]], {"limit": [2], "size": [4, 1]}, [4 / 3, 2 / 3], 4.5),
        # With 1 / s_0 + 4 / s_1 the first rate may rise to the second's at no cost: the kink again.
        ([[1, 0], [1, 1]], {"limit": [2], "size": [1, 4]}, [1, 1], 5.0),
        # The same with the patterns and the dimensions the other way round.
        ([[1, 1], [0, 1]], {"limit": [2], "size": [1, 4]}, [2 / 3, 4 / 3], 4.5),
        # A cap of 1/4 on the first dimension leaves 3/4 to the second; a cap of 1/2 on that one, too, leaves some over.
        (APART, {"high": [0.25, INF]}, [0.25, 0.75], 4 + 4 / 3),
        (APART, {"high": [INF, 0.25]}, [0.75, 0.25], 4 + 4 / 3),
        (APART, {"high": [0.25, 0.5]}, [0.25, 0.5], 6.0),
        (APART, {"high": [0.25, INF], "rows": [[1, 3]], "size": [1, 2]}, [0.25, 0.25], 12.0),
        # The first pattern, held at 1/4, takes the second dimension, too; its 2 bytes take 8 s, and 1/2 is left.
        ([[1, 1, 0], [0, 0, 1]], {"high": [0.25, INF, INF], "size": [2, 1]}, [0.25, 0.25, 0.5], 10.0),
        ([[0, 0, 1], [1, 1, 0]], {"high": [0.25, INF, INF], "size": [1, 2]}, [0.25, 0.25, 0.5], 10.0),
        ([[1, 1, 0], [0, 0, 1]], {"high": [INF, 0.25, INF], "size": [2, 1]}, [0.25, 0.25, 0.5], 10.0),
        # Both use the second dimension, where the second pattern is a little ahead.
        ([[1, 1], [0, 1]], {"high": [0.25, INF], "limit": [0.6]}, [0.25, 0.35], 4 + 1 / 0.35),
        # A pattern without bytes, or without traffic, needs nothing.
        (APART, {"size": [1, 0]}, [1, 0], 1.0),
        ([[1, 2], [0, 0]], {"limit": [3]}, [1, 2], 1.0),
        # Floors: the first dimension keeps 0.6 of the budget of 1; of one pattern the rate is (22 - 10) / 8.
        (APART, {"low": [0.6, 0]}, [0.6, 0.4], 1 / 0.6 + 2.5),
        (APART, {"low": [0, 0.6]}, [0.4, 0.6], 1 / 0.6 + 2.5),
        (APART, {"low": [0.1, 0.2]}, [0.5, 0.5], 4.0),
        ([[3, 4]], {"rows": [[1, 2]], "limit": [22], "low": [10, 0]}, [10, 6], 4 / 6),
        # A dimension without traffic stands at its floor, which costs half of the budget.
        ([[1, 0, 0], [0, 1, 0]], {"low": [0, 0, 1], "limit": [2]}, [0.5, 0.5, 1], 4.0),
    ],
)
def test_bandwidths_by_hand(
    traffic: list[list[float]], given: dict[str, Any], bandwidth: list[float], seconds: float
) -> None:
    program = one(traffic, **given)
    assert has_closed_form(program).all()
    found, multipliers, short = closed_form(program)
    np.testing.assert_allclose(found[:, 0], bandwidth, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(program.objective(found), seconds, rtol=1e-9)
    np.testing.assert_allclose(lower_bound(program, multipliers), seconds, rtol=1e-9)
    used = (program.traffic.any(axis=1) & (program.size > 0))[:, 0]
    np.testing.assert_allclose(multipliers.share.sum(axis=1)[used], 1.0, rtol=1e-9)
    assert not short.any()


@pytest.mark.parametrize(
    ("high", "bandwidth", "missing"),
    [
        ([1, INF], [1, 2], False),  # where nothing ends, the rest of the budget goes
        ([1, 2.5], [1, 2], False),
        ([1, 1.5], [1, 1.5], True),
        ([INF, INF], [3, 0], False),  # more bandwidth where it is of use
    ],
)
def test_an_equality_is_filled_where_there_is_room(high: list[float], bandwidth: list[float], *, missing: bool) -> None:
    program = one([[1.0, 0.0]], high=high, limit=[3.0], equality=np.array([True]))
    found, _, short = closed_form(program)
    np.testing.assert_allclose(found[:, 0], bandwidth)
    assert short.tolist() == [missing]


def test_what_costs_nothing_spends_nothing() -> None:
    program = one([[1.0, 0.0]], high=[1.0, INF], rows=[[1.0, 0.0]], limit=[3.0], equality=np.array([True]))
    _, _, short = closed_form(program)
    assert short.tolist() == [True]


def test_room_is_shared_in_proportion() -> None:
    # Of 10 the caps leave 1 + 0.5 to the traffic; the rest of 8.5 is parted 9 : 8, as the idle ones have room.
    program = one(
        [[1.0, 0.5, 0.0, 0.0]], high=[1.0, 0.5, 9.0, 8.0], limit=[10.0], equality=np.array([True]), rows=[[1, 1, 1, 1]]
    )
    found, _, short = closed_form(program)
    np.testing.assert_allclose(found[:, 0], [1.0, 0.5, 4.5, 4.0])
    assert not short.any()


def test_floors_beyond_the_budget_have_no_answer() -> None:
    _, _, short = closed_form(one(APART, low=[0.6, 0.5]))
    assert short.tolist() == [True]
    _, _, short = closed_form(one(APART, low=[0.5, 0.5]))
    assert short.tolist() == [False]


@pytest.mark.parametrize(
    ("traffic", "given", "has"),
    [
        (APART, {}, True),
        ([*APART, [1, 1]], {}, False),  # three patterns
        (APART, {"rows": [[1, 0]]}, False),  # the budget leaves traffic free
        ([[1, 0]], {"rows": [[1, 0]]}, True),
        (APART, {"rows": [[1, -1]]}, False),
        ([[1, 0]], {"rows": [[1, -1]]}, False),
        (APART, {"limit": [0]}, False),
        (APART, {"price": [0, 1]}, False),
        (APART, {"rows": [[1, 1], [1, 2]], "limit": [1, 1]}, False),
    ],
)
def test_what_has_a_closed_form(traffic: list[list[float]], given: dict[str, Any], *, has: bool) -> None:
    if len(given.get("limit", [1])) > 1:
        given = {**given, "equality": np.zeros(2, dtype=np.bool_)}
    assert has_closed_form(one(traffic, **given)).tolist() == [has]
