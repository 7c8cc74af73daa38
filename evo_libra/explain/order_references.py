"""Reference orders that fit a problem of orders, and their networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evo_libra.arrays import Population
from evo_libra.errors import InputError
from evo_libra.network.catalog.clusters import ReferenceOrder, reference_orders
from evo_libra.network.fabric import fabrics_of
from evo_libra.network.orders.notation import read_order
from evo_libra.problem.orders import OrderBook, pool_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.written_orders import networks_of_orders, place_of


def fitting_orders(problem: Problem, book: OrderBook) -> Iterator[tuple[str, ReferenceOrder, str, Population]]:
    """Yield the reference orders that a problem allows: name, reference, order, and its network without plans."""
    for name, reference in reference_orders().items():
        for place in _places(book, reference):
            network = networks_of_orders(book, np.array([place]))
            fabrics = fabrics_of(network, book.catalog.names)
            schedule = problem.time.schedules.read(fabrics, network.block)
            yield name, reference, book.notation(place), replace(network, schedule=schedule)


def _places(book: OrderBook, reference: ReferenceOrder) -> Iterator[int]:
    """Yield the places of a reference order among the orders of a problem: one for each number of its systems."""
    for pool in book.pools:
        _, count, active = pool
        try:
            order = read_order(reference.at(count, count * active), book.products)
            place = place_of(order, book) if pool_of(order) == pool else None
        except InputError:  # A catalogue of one's own may lack its products.
            continue
        if place is not None:
            yield place
