"""Orders under uncertain prices: what is drawn is the price of each product, and what costs is the whole order."""

from __future__ import annotations

import numpy as np
import pytest
from order_files import order_problem
from order_results import bill_of_row, book, order_front, orders

from evo_libra import load_problem, search
from evo_libra.explain.prices import kept_with_prices, price_front
from evo_libra.explain.rescore import rescore
from evo_libra.network.blocks import Range
from evo_libra.problem.figures import tokens_per_second
from evo_libra.problem.order_scenarios import product_prices
from evo_libra.problem.problem import Problem

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


@pytest.mark.slow
def test_tokens_of_a_served_order_cost_its_part_of_the_whole_order() -> None:
    """A million tokens cost (order + energy) / (years x tokens per s): the difference is that of orders."""
    served = load_problem("deepseek-v3-serving", ["systems=[gb200-nvl72]"])
    assert isinstance(served, Problem)
    assert served.book is not None
    found = search(served)
    priced = price_front(found, served, DRAWN, 0)
    assert priced.money == "cost_per_Mtoken_usd"
    assert priced.frame["tpot_ms"].equals(found.frame["tpot_ms"])
    designs = served.read(found.frame["design"].to_list())
    rate = tokens_per_second(served.measure(designs))
    bills = [served.book.bills[place].order_usd() for place in served.book.place(designs).tolist()]
    for end in ("low", "value", "high"):
        saved = np.array([getattr(bill, end) - bill.value for bill in bills]) / (4 * 8760 * 3600 * rate) * 1e6
        expected = found.frame["cost_per_Mtoken_usd"].to_numpy() + saved
        assert priced.frame[f"cost_{end}_usd"].to_numpy() == pytest.approx(expected, rel=1e-9)
    kept = kept_with_prices(found, served, DRAWN, 0)
    assert np.array_equal(priced.frame["front_share"].to_numpy(), kept)


@pytest.mark.slow
def test_times_of_served_orders_are_compared_under_another_model() -> None:
    served = load_problem("deepseek-v3-serving", ["systems=[gb200-nvl72]"])
    other = load_problem("deepseek-v3-serving", ["systems=[gb200-nvl72]", "time=astra"])
    assert isinstance(other, Problem)
    found = rescore(search(served), other).frame
    assert (found["tpot_ms_rescored"] >= found["tpot_ms"]).all()
    assert found["rank"].to_list() == list(range(1, len(found) + 1))
