"""Orders one step from an order: another switch, ratio, family or port mode around the same systems, and its plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from evo_libra.network.orders.notation import mode_text, ratio_text
from evo_libra.network.orders.order import Order
from evo_libra.problem.orders import OrderBook, pool_of
from evo_libra.problem.problem import Problem

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "switch": ("switch",), "family": ("family",), "ports": ("nic", "ports", "Gbps"), "planes": ("planes",),
    "leaf ratio": ("leaf_ratio",), "pod ratio": ("pod_ratio",), "uplinks": ("uplink_Gbps",),
}  # fmt: skip
"""Choices that one step changes, by the fields of an order."""


def order_steps(problem: Problem, book: OrderBook, design: str) -> Iterator[tuple[str, int | None, str]]:
    """Yield what each step changes, the dimension that it changes, and the design behind it.

    A step to another order keeps the systems and the plans. Plans have the next value of one option.
    """
    place = int(book.place(problem.read(design))[0])
    _, bar, plans = design.partition(" | ")
    mine = book.orders[place]
    for other, order in enumerate(book.orders):
        if pool_of(order) == pool_of(mine) and (change := _change(mine, order)):
            yield change, 1, f"{book.notation(other)}{bar}{plans}"
    for table_place, table in enumerate(problem.time.tables):
        for change, plan in _plans(problem, design, table_place):
            texts = plans.split(" | ")
            yield (
                f"{table.name}: {change}",
                None,
                " | ".join([book.notation(place), *texts[:table_place], plan, *texts[table_place + 1 :]]),
            )


def _change(mine: Order, other: Order) -> str:
    """Return the one choice that two orders differ in; empty where there is none or several."""
    differing = {field.name for field in fields(Order) if getattr(mine, field.name) != getattr(other, field.name)}
    found = [name for name, keys in _CHOICES.items() if differing & set(keys)]
    if len(found) != 1 or not differing <= set(_CHOICES[found[0]]):
        return ""
    return f"{found[0]} {_value(other, found[0])} instead of {_value(mine, found[0])}"


def _value(order: Order, choice: str) -> str:
    if choice == "ports":
        return mode_text(order.ports, order.Gbps)
    if choice in ("leaf ratio", "pod ratio"):
        return ratio_text(order.leaf_ratio if choice == "leaf ratio" else order.pod_ratio)
    value = getattr(order, _CHOICES[choice][0])
    return str(value) if choice != "uplinks" else ("as below" if value is None else f"{value:g}G")


def _plans(problem: Problem, design: str, place: int) -> Iterator[tuple[str, str]]:
    """Yield plans with the next value of one option that fit memory and network."""
    from evo_libra.explain.plan_alternatives import plan_alternatives  # noqa: PLC0415 - takes a while, and few ask

    for one in plan_alternatives(problem, problem.read(design), place).changes:
        if one.fits_memory and one.fits_network:
            yield one.change, one.plan
