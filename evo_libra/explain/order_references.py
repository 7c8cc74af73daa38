"""Reference orders of the systems and the size of a problem, and their networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import Population
from evo_libra.errors import InputError, Mistake
from evo_libra.network.catalog.clusters import ReferenceOrder, reference_orders
from evo_libra.network.fabric import fabrics_of
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.choices import listed
from evo_libra.network.orders.counts import AboutSpec, Npus
from evo_libra.network.orders.differences import not_among
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.order import Order
from evo_libra.problem.orders import OrderBook, pool_of
from evo_libra.problem.other_orders import OtherOrders
from evo_libra.problem.problem import Problem
from evo_libra.problem.written_orders import networks_of_orders, place_of


@dataclass(frozen=True)
class PlacedOrder:
    """A reference order among the orders of a problem, without plans.

    Attributes
    ----------
    problem : the problem that has it: that of a file, or one with this order alone.
    order, network : its notation and its network.
    not_allowed : the choices of it that the file does not allow, as a sentence; empty where it allows all.
    """

    name: str
    reference: ReferenceOrder
    problem: Problem
    order: str
    network: Population
    not_allowed: str = ""


@dataclass(frozen=True)
class AbsentReference:
    """A reference of the systems and the size of a problem that has no figures, and the reason."""

    name: str
    reason: str


def placed_orders(problem: Problem, book: OrderBook) -> Iterator[PlacedOrder | AbsentReference]:
    """Yield the reference orders of the systems and the size of a problem, whether its file allows them or not."""
    for name, reference in reference_orders().items():
        allowed = list(_allowed(problem, book, name, reference))
        yield from allowed
        if problem.others is not None and not allowed:
            yield from _others(problem.others, book, name, reference)


def _allowed(problem: Problem, book: OrderBook, name: str, reference: ReferenceOrder) -> Iterator[PlacedOrder]:
    """Yield a reference order as those that a problem allows: one for each number of its systems."""
    for pool in book.pools:
        _, count, active = pool
        try:
            order = read_order(reference.at(count, count * active), book.products)
            place = place_of(order, book) if pool_of(order) == pool else None
        except InputError:  # A catalogue of one's own may lack its products.
            continue
        if place is not None:
            yield _placed(problem, book, place, name=name, reference=reference)


def _placed(problem: Problem, book: OrderBook, place: int, *, name: str, reference: ReferenceOrder) -> PlacedOrder:
    network = networks_of_orders(book, np.array([place]))
    schedule = problem.time.schedules.read(fabrics_of(network, book.catalog.names), network.block)
    return PlacedOrder(name, reference, problem, book.notation(place), replace(network, schedule=schedule))


def _others(
    others: OtherOrders, book: OrderBook, name: str, reference: ReferenceOrder
) -> Iterator[PlacedOrder | AbsentReference]:
    """Yield a reference order that a file does not allow, for each of its sizes that the file asks for."""
    try:
        one = read_order(reference.systems(1), book.products)
    except InputError:  # A catalogue of one's own may lack its system, and then the file does not name it.
        return
    if one.system not in listed(others.choices.systems):
        return
    for npus in _sizes(reference, others.choices.npus):
        try:
            order = read_order(reference.at(npus // one.npus, npus), book.products)
            yield _alone(others, book, order, name=name, reference=reference)
        except InputError as error:
            yield AbsentReference(name, error.mistakes[0].message)


def _alone(others: OtherOrders, book: OrderBook, order: Order, *, name: str, reference: ReferenceOrder) -> PlacedOrder:
    """Return a reference order in a problem of its own; an `InputError` says why it has no figures."""
    limits, without = others.choices.limits, others.choices.without
    if broken := violations(order, book.products, limits, priced=True, without=without):
        raise InputError(Mistake(broken[0]))
    problem = others.load(order)
    assert problem.book is not None, "it asks for an order"  # noqa: S101 - internal error
    place = place_of(order, problem.book)
    if place is None:
        raise InputError(
            Mistake(f"it is none of the orders that can be bought: {not_among(order, problem.book.orders)}")
        )
    placed = _placed(problem, problem.book, place, name=name, reference=reference)
    return replace(placed, not_allowed=not_among(order, book.orders))


def _sizes(reference: ReferenceOrder, asked: Npus) -> list[int]:
    """Return the sizes of a reference among the NPUs that a file asks for; of a range the one nearest to its middle.

    >>> _sizes(reference_orders()["dgx-b300-superpod"], AboutSpec(about=8192))
    [8064]
    """
    if not isinstance(asked, AboutSpec):
        return [npus for npus in listed(asked) if reference.has(npus)]
    fewest, most = asked.bounds
    found = [npus for npus in range(fewest, most + 1) if reference.has(npus)]
    return sorted(found, key=lambda npus: (abs(npus - asked.about), npus))[:1]
