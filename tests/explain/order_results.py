"""The front of a small problem of orders."""

from __future__ import annotations

from functools import cache

from order_files import order_problem

from evo_libra import search
from evo_libra.front.front import Front
from evo_libra.network.orders.bill import OrderBill
from evo_libra.problem.orders import OrderBook
from evo_libra.problem.problem import Problem


@cache
def orders() -> Problem:
    """Return the problem."""
    return order_problem()


@cache
def order_front() -> Front:
    """Return its front."""
    return search(orders())


def book() -> OrderBook:
    """Return its orders."""
    found = orders().book
    assert found is not None
    return found


def bill_of_row(design: str) -> OrderBill:
    """Return the bill of a row of the front."""
    return book().bills[int(book().place(orders().read(design))[0])]
