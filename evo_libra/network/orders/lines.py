"""Lines of a bill, and their sums, which are exact to the cent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from evo_libra.errors import InputError
from evo_libra.network.blocks import Range
from evo_libra.network.orders.catalog import give_power
from evo_libra.network.orders.products import Price, ProductSpec, ProductsSpec
from evo_libra.network.orders.racks import room_of

Section = Literal[
    "systems", "network", "management", "storage", "spares", "racks", "cooling", "licences", "support", "installation"
]

Group = Literal["systems", "nics", "switches", "cables", "modules", "ocs", "rack"]
"""A group of products of a catalogue."""

_CENTS = 100


@dataclass(frozen=True)
class Line:
    """A line of a bill.

    Attributes
    ----------
    section, product : part of the bill, and the product, or the rule that the line follows from.
    what : one line for people, such as "leaf switches" or "cables to leaves, 2 m".
    pieces : how many; whole but for shares.
    usd : price of a piece; None where no source gives one.
    watts : power of a piece under load; None where no source gives it.
    source : where the price comes from, with its year.
    rule : the rule that the line follows from; none where the order itself has it.
    lacks : why there is no price, where no figure of the product is missing.
    parts : trays of a product that a piece is one of; price and power are those of the whole product.
    """

    section: Section
    product: str
    what: str
    pieces: float
    usd: Range | None
    watts: float | None
    source: str
    rule: str = ""
    lacks: str = ""
    parts: int = 1

    @property
    def products(self) -> float:
        """The products that the pieces make up."""
        return self.pieces / self.parts

    def cents(self) -> tuple[int, int, int]:
        """Return the lowest price of the line, the one that counts, and the highest, in whole cents."""
        if self.usd is None:
            key, of_rule = ("usd", True) if self.product == self.rule else ("price_usd", False)
            give = "" if of_rule else f"; `prices: {{{self.product}: ...}}` gives USD of a piece"
            needs = f"{self.product} has no {key}, which the cost of an order needs ({self.what}){give}"
            raise InputError(self.lacks or needs)
        each = self.products * _CENTS
        return round(self.usd.low * each), round(self.usd.value * each), round(self.usd.high * each)

    def power(self) -> float:
        """Return the W of the line under load."""
        if self.watts is None:
            key = "kW" if self.section == "systems" else "power_W"
            needs = f"{self.product} has no {key}, which the power of an order needs ({self.what})"
            raise InputError(f"{needs}; {give_power(self.product)}")
        return self.products * self.watts


def usd_of(lines: Iterable[Line]) -> Range:
    """Return the price of some lines; an InputError names a product that has none, and the key."""
    low = value = high = 0
    for line in lines:
        cents = line.cents()
        low, value, high = low + cents[0], value + cents[1], high + cents[2]
    return Range(low / _CENTS, value / _CENTS, high / _CENTS)


@dataclass(frozen=True)
class Offer:
    """The price of a product, and its source."""

    usd: Range | None
    source: str


@lru_cache(maxsize=4096)
def offer_of(group: Group, name: str, products: ProductsSpec) -> Offer:
    """Return what a product of a group costs; the rack is that of the room."""
    group_of: dict[Group, Mapping[str, ProductSpec]] = {
        "systems": products.systems, "nics": products.nics, "switches": products.switches, "cables": products.cables,
        "modules": products.modules, "ocs": products.ocs,
    }  # fmt: skip
    product = room_of(products).rack if group == "rack" else group_of[group][name]
    source = product.sources.get("price_usd") or f"{product.source}, {product.year}"
    return Offer(range_of(product.price_usd), source)


@lru_cache(maxsize=4096)
def offer_of_rule(name: str, products: ProductsSpec) -> Offer:
    """Return what a unit of a rule costs; None where that is the price of what is counted."""
    rule = products.rules[name]
    return Offer(range_of(rule.usd), f"{rule.source}, {rule.year}")


def range_of(price: Price | None) -> Range | None:
    """Return a price of a catalogue as a range."""
    if price is None:
        return None
    if isinstance(price, float | int):
        return Range(price, price, price)
    return Range(price.low, price.value, price.high)
