"""The sum of a second rail, or of one rail less: the best order of the same systems, whether or not a front has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo_libra.explain.candidates import Candidates
from evo_libra.explain.choice import Choice
from evo_libra.explain.hour_price import hour_price
from evo_libra.explain.verdict_record import OtherRail, Rival
from evo_libra.front.families import short_network
from evo_libra.network.orders.notation import mode_text
from evo_libra.optimality.order_fronts import SystemFront, front_of_some
from evo_libra.problem.orders import pool_of
from evo_libra.problem.problem import Problem

_ONE, _TWO = 1, 2


def other_rail(
    problem: Problem, found: Candidates, designs: Sequence[str], row: int, value: float | None
) -> OtherRail | None:
    """Return what a second rail for the design to buy costs and saves, or what one rail less does.

    It is the best of all plans and all orders of the problem that have the same systems and the other number of ports
    of the rate; None where no order of the problem has that number of ports.

    Parameters
    ----------
    found : the designs of a front, whose time has a price.
    designs : in the notation; `row` : the place of the one to buy.
    value : USD of an NPU-hour that a user has given.
    """
    book = problem.book
    if book is None:
        return None
    mine = book.orders[int(book.place(problem.read([designs[row]]))[0])]
    ports = {_ONE: _TWO, _TWO: _ONE}.get(mine.ports)
    if ports is None or not any(order.ports == ports for order in book.orders):
        return None
    name = f"{'Second' if ports == _TWO else 'One'} rail ({mode_text(ports, mine.Gbps)})"
    wanted = (pool_of(mine), ports, mine.Gbps)
    places = [n for n, order in enumerate(book.orders) if (pool_of(order), order.ports, order.Gbps) == wanted]
    if not places:
        return OtherRail(name=name, missing=f"no order of this file has it for {mine.count} {mine.system}")
    best = front_of_some(problem, np.array(places))
    if best is not None and not len(best.designs):
        return OtherRail(
            name=name, missing=f"no order of {mine.count} {mine.system} with it meets the file's constraints"
        )
    return None if best is None else OtherRail(name=name, order=_best_of(best, problem, found, designs[row], value))


def _best_of(best: SystemFront, problem: Problem, found: Candidates, design: str, value: float | None) -> Rival:
    """Return the one of some orders that loses least against a design."""
    names = [design, *problem.notation.written(best.designs.population(problem))]
    values = zip(problem.objectives, problem.evaluate(names).objectives, strict=True)
    figures = {objective.column: row / objective.scale for objective, row in values}
    count = np.arange(len(names))
    several = Candidates(count, count, figures, found.objectives, noun=found.noun)
    choice = Choice(several, hour_price(problem, names, value))
    costs, saves = choice.sums(0)
    other = 1 + int((costs - saves)[1:].argmin())
    return replace(choice.rival(0, other, short_network(names[other])), id=None)
