"""Products of a roadmap in the orders of a problem: announced, and asked for with `limits.order`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from evo_libra.network.orders.check_products import bought_by
from evo_libra.network.orders.order import Order
from evo_libra.problem.orders import OrderBook
from evo_libra.timing.quirks import Quirk, Warned


def roadmap_products(order: Order, book: OrderBook) -> tuple[str, ...]:
    """Return the system, the NIC and the switch of an order as far as they are announced, and not sold yet."""
    return tuple(name for name, product in bought_by(order, book.products).items() if product.order == "roadmap")


def roadmap_warnings(book: OrderBook, places: Sequence[int]) -> list[Warned]:
    """Return which products of the orders at some places of a book are announced, with the number of these orders."""
    having: defaultdict[str, list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        for name in roadmap_products(book.orders[place], book):
            having[name].append(number)
    alike: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, numbers in having.items():
        alike[tuple(numbers)].append(name)
    return [
        Warned(Quirk("roadmap", roadmap_sentence(names)), len(numbers), len(places)) for numbers, names in alike.items()
    ]


def roadmap_sentence(names: Iterable[str]) -> str:
    """Return that products are announced.

    >>> roadmap_sentence(["th6-128"])
    'th6-128 is a roadmap product: it is announced and cannot be ordered yet, so figures and price may change'
    """
    first, *others = names
    if others:
        every = f"{', '.join([first, *others[:-1]])} and {others[-1]} are roadmap products: they are"
    else:
        every = f"{first} is a roadmap product: it is"
    return f"{every} announced and cannot be ordered yet, so figures and price may change"
