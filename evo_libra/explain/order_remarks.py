"""Sentences on what an order loses by products that it has together, and on what its switches may lose or gain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evo_libra.arrays import FloatArray, Population
from evo_libra.explain.labels import noun, value_text
from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.products import SwitchSpec
from evo_libra.network.orders.remarks import remarks
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.problem import Problem


def order_remarks(problem: Problem, population: Population) -> tuple[str, ...]:
    """Return what the first design, an order, loses by its products, and its times at other efficiencies."""
    book, first = problem.book, population.select([0])
    place = -1 if book is None else int(book.place(first)[0])
    if book is None or place < 0:
        return ()
    order = book.orders[place]
    switch = None if order.switch is None else switch_of(order, book.products)
    reached = () if switch is None else _reached(problem, first, int(book.technology[place]), order.switch, switch)
    return (*remarks(order, book.products), *reached)


def _reached(
    problem: Problem, first: Population, technology: int, name: str | None, switch: SwitchSpec
) -> Iterator[str]:
    """Yield the figures that depend on time at the ends of a switch's range of efficiency."""
    efficiency, ends = problem.time.efficiency, switch.efficiency_range
    if ends is None or efficiency is None:
        return
    low, high = (_evaluated(problem, first, technology, efficiency, end / switch.efficiency) for end in ends)
    for m, objective in enumerate(problem.objectives):
        if MEASURES[objective.name].timed and low[m] != high[m]:
            slow, fast = (value_text(objective.column, figures[m] / objective.scale) for figures in (low, high))
            wire = f"{name} reaches {switch.efficiency:.0%} of the wire here; the catalogue's range is"
            text = f"{wire} {ends[0]:.0%}, at which the {noun(objective.column)} is {slow}, to {ends[1]:.0%}, {fast}"
            yield text.replace("%", " %")


def _evaluated(
    problem: Problem, first: Population, technology: int, efficiency: FloatArray, factor: float
) -> FloatArray:
    """Return the (m,) objectives of a design whose scale-out network reaches a multiple of its efficiency."""
    changed = efficiency.copy()
    changed[technology] *= factor
    return replace(problem, time=replace(problem.time, efficiency=changed)).evaluate(first).objectives[:, 0]
