"""Scenarios of the prices of products: in each, a product has one price, in whichever order and section it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.blocks import Kit, Range
from evo_libra.network.orders.bill import OrderBill
from evo_libra.network.orders.lines import Line
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.problem.orders import NETWORK, SYSTEMS, OrderBook, ProductOfOrders, price_of
from evo_libra.problem.scenarios import Scenarios, beyond, draw, priced_scenarios
from evo_libra.problem.system import SystemRow
from evo_libra.problem.system_bill import SystemBill


@dataclass(frozen=True)
class ProductPrices:
    """Prices of products in scenarios; those of `NAMED` come first.

    Attributes
    ----------
    place : of each product, by its name and the range of its price.
    usd : (product, s) of a piece.
    """

    place: dict[tuple[str, Range], int]
    usd: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """The products."""
        return tuple(name for name, _ in self.place)

    def pieces(self, bills: Sequence[OrderBill]) -> FloatArray:
        """Return (product, n) pieces of bills."""
        found = np.zeros((len(self.place), len(bills)))
        for n, bill in enumerate(bills):
            for line in bill.lines:
                found[self.place[price_of(line)], n] += line.products
        return found

    def beyond(self, lines: Iterable[Line]) -> FloatArray:
        """Return (s,) USD of lines beyond the stated ones."""
        change, found = beyond(self.usd), np.zeros(self.usd.shape[1])
        for line in lines:
            found = found + line.products * change[self.place[price_of(line)]]
        return found


def product_prices(book: OrderBook, drawn: int, seed: int, *, vary: bool = True) -> ProductPrices:
    """Return the prices of all products of some orders; those of fewer scenarios are the first of more."""
    keys = sorted({price_of(line) for bill in book.bills for line in bill.lines}, key=_name_and_value)
    ranges = [usd if vary else Range(usd.value, usd.value, usd.value) for _, usd in keys]
    return ProductPrices({key: n for n, key in enumerate(keys)}, draw(ranges, drawn, seed))


def _name_and_value(price: tuple[str, Range]) -> tuple[str, float]:
    return price[0], price[1].value


def scenarios_of(
    kits: Sequence[Kit], npu: NpuChoice, system: SystemBill, book: OrderBook | None, weight: FloatArray, drawn: int,
    seed: int, *, vary: bool = True,
) -> Scenarios:  # fmt: skip
    """Return scenarios of the prices of products, or of parts and NPUs of designs, besides those of weights.

    Parameters
    ----------
    system : what is bought around networks and NPUs.
    book : the orders; None of designs.
    weight : (w, s) beyond the stated ones.
    drawn, seed : scenarios to draw.
    vary : whether prices vary.
    """
    found = priced_scenarios(kits, npu, system, weight, drawn=drawn, seed=seed, vary=vary)
    if book is None:
        return found
    prices = product_prices(book, drawn, seed, vary=vary)
    joined = [place for place, order in enumerate(book.orders) if order.count > 1]
    first = [int(np.flatnonzero(book.pool == pool)[0]) for pool in range(len(book.pools))]
    networks = [prices.beyond(_lines(book, place, NETWORK)) for place in joined]
    systems = [prices.beyond(_lines(book, place, SYSTEMS)) / book.orders[place].active_npus for place in first]
    return Scenarios(
        tuple(book.notation(place) for place in joined),
        np.array(networks).reshape(len(joined), -1),
        weight,
        np.array(systems),
        np.array([_around(row, prices, found.around_price[n]) for n, row in enumerate(system.rows)]),
    )


def _around(row: SystemRow, prices: ProductPrices, stated: FloatArray) -> FloatArray:
    """Return (s,) USD beyond the stated ones of what is bought around systems, which may be one of their products."""
    known = isinstance(row, ProductOfOrders) and row.price is not None and (row.name, row.price) in prices.place
    return beyond(prices.usd)[prices.place[row.name, row.price]] if known and row.price is not None else stated


def _lines(book: OrderBook, place: int, section: str) -> list[Line]:
    return [line for line in book.bills[place].lines if line.section == section]
