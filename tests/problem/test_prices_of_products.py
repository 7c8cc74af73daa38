"""Prices of a buyer in place of those of the catalogue."""

from __future__ import annotations

import pytest
from order_files import order_problem

from evo_libra.errors import InputError
from evo_libra.network.blocks import Range
from evo_libra.network.orders.lines import Section
from evo_libra.problem.orders import OrderBook


def book(**changes: object) -> OrderBook:
    found = order_problem(**{"npus": 576, "systems": ["hgx-h100"], **changes}).book
    assert found is not None
    return found


def usd(some: OrderBook, section: Section) -> Range:
    return some.bills[0].usd_of(section)


@pytest.mark.slow
def test_a_price_of_ones_own_takes_the_place_of_the_catalogues() -> None:
    """72 servers at 300,000 USD are 21.6 million USD; 72 at 313,500 are 22.572."""
    assert usd(book(), "systems").value == 22_572_000
    own = book(prices={"hgx-h100": 300_000})
    assert usd(own, "systems") == Range(21_600_000, 21_600_000, 21_600_000)
    (line,) = [line for line in own.bills[0].lines if line.section == "systems"]
    assert line.source == "the buyer's own"
    assert usd(own, "network") == usd(book(), "network")


@pytest.mark.slow
def test_a_range_is_a_price_too() -> None:
    own = book(prices={"hgx-h100": {"low": 250_000, "value": 300_000, "high": 320_000}})
    assert usd(own, "systems") == Range(18_000_000, 21_600_000, 23_040_000)


def test_a_switch_has_one_too() -> None:
    changes = {"fabric": {"switches": ["qm9700"], "families": ["fat-tree"], "ratio": {"leaf": 1, "pod": 1}}}
    switches = sum(line.pieces for line in book(**changes).bills[0].lines if line.product == "qm9700" and not line.rule)
    cheaper = usd(book(**changes), "network").value - usd(book(**changes, prices={"qm9700": 30_000}), "network").value
    assert cheaper == pytest.approx(10_000 * switches)


@pytest.mark.slow
def test_a_price_that_is_not_published_is_given_in_the_file() -> None:
    asked = r"mi325x-8 has no price_usd, .*; `prices: \{mi325x-8: \.\.\.\}` gives USD of a piece"
    with pytest.raises(InputError, match=asked):
        book(systems=["mi325x-8"])
    assert usd(book(systems=["mi325x-8"], prices={"mi325x-8": 250_000}), "systems").value == 72 * 250_000


def test_names_that_are_no_products_are_refused() -> None:
    with pytest.raises(InputError, match="prices: unknown product 'hgx-h10'"):
        book(prices={"hgx-h10": 1})
    with pytest.raises(InputError, match="prices: unknown product 'tpu7x-slice'"):
        book(prices={"tpu7x-slice": 1})


@pytest.mark.slow
def test_prices_make_a_problem_another_one() -> None:
    plain, own = order_problem(), order_problem(prices={"hgx-h100": 300_000})
    assert plain.spec != own.spec
