"""Sentences on what an order loses by products that it has together, and on what its switches may lose or gain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evo_libra.arrays import FloatArray, Population
from evo_libra.explain.labels import noun, value_text
from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.nic_options import reached
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.remarks import remarks
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.units import seconds


def order_remarks(problem: Problem, population: Population) -> tuple[str, ...]:
    """Return what the first design, an order, loses by its products, and its times at the ends of their ranges."""
    book, first = problem.book, population.select([0])
    place = -1 if book is None else int(book.place(first)[0])
    if book is None or place < 0:
        return ()
    order, technology = book.orders[place], int(book.technology[place])
    if order.count == 1 or order.switch is None:
        return tuple(remarks(order, book.products))
    efficiency = _efficiency(problem, first, technology, order, book.products)
    latency = _latency(problem, first, technology, order, book.products)
    return (*remarks(order, book.products), *efficiency, *latency)


def _efficiency(
    problem: Problem, first: Population, technology: int, order: Order, products: ProductsSpec
) -> Iterator[str]:
    """Yield the figures that depend on time at the ends of a switch's range of efficiency."""
    spec, efficiency = reached(order, products), problem.time.efficiency
    if spec.efficiency_range is None or efficiency is None:
        return
    times = [problem.time.with_efficiency(technology, end / spec.efficiency) for end in spec.efficiency_range]
    said = f"{order.switch} reaches {_percent(spec.efficiency)} of the wire here"
    yield from _at_both_ends(problem, first, said, ends=tuple(map(_percent, spec.efficiency_range)), times=times)


def _latency(
    problem: Problem, first: Population, technology: int, order: Order, products: ProductsSpec
) -> Iterator[str]:
    """Yield the figures that depend on time at the ends of a switch's range of latency; none where none counts."""
    switch = switch_of(order, products)
    if switch.latency_range_ns is None:
        return
    times = [problem.time.with_switch_latency(technology, seconds(end)) for end in switch.latency_range_ns]
    said = f"{order.switch} passes a message on in {_nanoseconds(switch.latency_ns)} here"
    yield from _at_both_ends(problem, first, said, ends=tuple(map(_nanoseconds, switch.latency_range_ns)), times=times)


def _at_both_ends(
    problem: Problem, first: Population, said: str, *, ends: tuple[str, ...], times: list[TimeModel]
) -> Iterator[str]:
    """Yield a sentence for each objective that differs between the time models of the two ends of a range."""
    low, high = (_evaluated(problem, first, time) for time in times)
    for m, objective in enumerate(problem.objectives):
        if MEASURES[objective.name].timed and low[m] != high[m]:
            one, other = (value_text(objective.column, figures[m] / objective.scale) for figures in (low, high))
            of = f"the catalogue's range is {ends[0]}, at which the {noun(objective.column)} is {one}"
            yield f"{said}; {of}, to {ends[1]}, {other}"


def _evaluated(problem: Problem, first: Population, time: TimeModel) -> FloatArray:
    """Return the (m,) objectives of a design under another time model."""
    return replace(problem, time=time).evaluate(first).objectives[:, 0]


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _nanoseconds(latency: float) -> str:
    return f"{latency:,.4g} ns"
