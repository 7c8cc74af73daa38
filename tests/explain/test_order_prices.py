"""Orders under uncertain prices: what is drawn is the price of each product, and what costs is the whole order."""

from __future__ import annotations

import numpy as np
import pytest
from order_files import order_problem
from order_results import bill_of_row, book, order_front, orders

from evo_libra.explain.prices import kept_with_prices, price_front
from evo_libra.network.blocks import Range
from evo_libra.problem.order_scenarios import product_prices

DRAWN = 100


def test_costs_are_those_of_whole_orders_from_low_to_high() -> None:
    found = price_front(order_front(), orders(), DRAWN, 0).frame
    for row, design in zip(found.to_dicts(), order_front().frame["design"], strict=True):
        whole = bill_of_row(design).order_usd()
        ends = Range(*(row[f"cost_{end}_usd"] for end in ("low", "value", "high")))
        assert (ends.low, ends.value, ends.high) == pytest.approx((whole.low, whole.value, whole.high), abs=0.1)
        assert whole.low < row["mean_usd"] < whole.high


def test_a_product_has_one_price_in_all_orders() -> None:
    """A rack system in eight or nine pieces, a switch in the network or as a spare."""
    prices = product_prices(book(), DRAWN, 0)
    assert len(set(prices.names)) == len(prices.names)
    lines = [line for bill in book().bills for line in bill.lines]
    assert {line.product for line in lines} == set(prices.names)


def test_the_share_of_scenarios_is_the_same_for_all_commands() -> None:
    shares = price_front(order_front(), orders(), DRAWN, 0).frame["front_share"].to_numpy()
    assert np.array_equal(shares, kept_with_prices(order_front(), orders(), DRAWN, 0))
    assert (shares > 0).all()


def test_an_objective_over_scenarios_is_of_the_same_prices() -> None:
    """The largest cost of an order is that of all prices at their upper ends."""
    found = order_problem(objectives=["time", "order-cost.worst"], uncertainty={"scenarios": 20})
    assert found.book is not None
    design = found.read(order_front().frame["design"].to_list())
    bills = [found.book.bills[place].order_usd().high for place in found.book.place(design).tolist()]
    assert found.evaluate(design).objectives[1] == pytest.approx(bills, rel=1e-9)
