"""Orders one step from an order: another switch, ratio, family or port mode around the same systems, and its plans."""

from __future__ import annotations

from collections.abc import Iterator

from evo_libra.network.orders.differences import differing, value_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.text import split_options, with_options
from evo_libra.problem.orders import OrderBook, pool_of
from evo_libra.problem.problem import Problem


def order_steps(problem: Problem, book: OrderBook, design: str) -> Iterator[tuple[str, int | None, str]]:
    """Yield what each step changes, the dimension that it changes, and the design behind it.

    A step to another order keeps the systems and the plans. Plans have the next value of one option.
    """
    place = int(book.place(problem.read(design))[0])
    head, bar, plans = design.partition(" | ")
    mine, options = book.orders[place], split_options(head)[1]
    for other, order in enumerate(book.orders):
        if pool_of(order) == pool_of(mine) and (change := _change(mine, order)):
            yield change, 1, f"{with_options(book.notation(other), options)}{bar}{plans}"
    for table_place, table in enumerate(problem.time.tables):
        for change, plan in _plans(problem, design, table_place):
            texts = plans.split(" | ")
            yield (
                f"{table.name}: {change}",
                None,
                " | ".join([head, *texts[:table_place], plan, *texts[table_place + 1 :]]),
            )


def _change(mine: Order, other: Order) -> str:
    """Return the one choice that two orders differ in; empty where there is none or several."""
    choices = differing(mine, other)
    if len(choices) != 1:
        return ""
    return f"{choices[0]} {value_of(other, choices[0])} instead of {value_of(mine, choices[0])}"


def _plans(problem: Problem, design: str, place: int) -> Iterator[tuple[str, str]]:
    """Yield plans with the next value of one option that fit memory and network."""
    from evo_libra.explain.plan_alternatives import plan_alternatives  # noqa: PLC0415 - takes a while, and few ask

    for one in plan_alternatives(problem, problem.read(design), place).changes:
        if one.fits_memory and one.fits_network:
            yield one.change, one.plan
