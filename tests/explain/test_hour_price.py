"""The price of an hour of a design, and prices of time as a user writes them."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.explain.hour_price import ASSUMED, HourPrice, hour_price, read_value
from evo_libra.problem.problem import Problem


@pytest.mark.parametrize("text", ["2USD/GPU-hour", "2 USD/NPU-hour", "2 USD per GPU hour", "2/h", "2", "2usd/TPU-hour"])
def test_a_price_of_time_in_the_words_of_users(text: str) -> None:
    assert read_value(text) == 2.0


@pytest.mark.parametrize("text", ["", "cheap", "2 EUR", "-1", "0", "2USD/day"])
def test_what_is_no_price_of_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"found '{text}'; a price of an NPU-hour is needed, such as 2USD/GPU-hour"):
        read_value(text)


def test_an_hour_of_one_npu_by_hand() -> None:
    """35.04 MUSD over four years of 8,760 h are 1,000 USD an hour: 2 USD for each of 500 NPUs."""
    price = HourPrice(npus=np.array([500.0]), total_usd=np.array([35.04e6]))
    assert price.usd_per_npu_hour() == pytest.approx(np.array([2.0]))
    assert HourPrice(npus=np.array([500.0]), missing="no price").usd_per_npu_hour() is None


def test_what_has_no_price_says_why() -> None:
    problem = load_problem("gpt3-4k")
    assert isinstance(problem, Problem)
    found = hour_price(problem, ["RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"])
    assert (found.total_usd, found.missing, found.tco, found.assumed) == (None, "the NPU has no price", ASSUMED, True)
    assert found.npus == pytest.approx(np.array([4096.0]))


def test_why_an_hour_has_no_price() -> None:
    assert hour_price(None, ["a"]).missing == "the problem is not at hand"
    assert hour_price(None, ["a"], fabrics=True).missing == "the cost of a fabric is without its NPUs"
    assert hour_price(None, None).missing == "a problem in Python has no prices of NPUs"
