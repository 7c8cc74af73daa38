"""The sum of a second rail against every order with one, and where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from order_files import order_problem

from evo_libra import search
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.verdict import verdict
from evo_libra.front.families import short_network
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem


def one_rail(problem: Problem) -> Front:
    """Return the front of the problem without orders of two ports."""
    found = search(problem)
    return replace(found, frame=found.frame.filter(~found.frame["design"].str.contains(" / 2 x ")))


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Return a choice of servers that take a second NIC for each NPU, and of racks that do not."""
    return order_problem(systems=["hgx-b300"], npus=576)


@pytest.mark.slow
def test_a_second_rail_is_the_best_of_all_orders_that_have_one(problem: Problem) -> None:
    """Every order of two ports with every plan that fits is evaluated; its hours and its money are summed here."""
    front = one_rail(problem)
    said = verdict(front, candidates_of(front), problem)
    assert problem.book is not None
    assert problem.sources.tco is None
    mine = front.frame.filter(front.frame["id"] == said.id)["design"].item()
    Gbps = problem.book.orders[int(problem.book.place(problem.read([mine]))[0])].Gbps  # noqa: N806 - the unit
    plans = [problem.time.tables[0].text(place) for place in range(len(problem.time.tables[0]))]
    heads = [
        problem.book.notation(place)
        for place, order in enumerate(problem.book.orders)
        if (order.ports, order.Gbps) == (2, Gbps)
    ]
    designs = [mine, *(f"{head} | {plan}" for head in heads for plan in plans)]
    figures = problem.measure(problem.read(designs))
    kept = problem.evaluate(designs).violation <= 0
    usd = figures.cost + figures.around_cost + figures.npu_price * 576  # type: ignore[operator]
    watts = figures.watts + figures.around_watts + figures.npu_watts * 576  # type: ignore[operator]
    total = usd + watts / 1e3 * 1.2 * 0.10 * 4 * 8760
    work = figures.time / figures.training.tokens  # type: ignore[union-attr, operator]
    loss = np.where(kept, total - total[0] - total * (1.0 - work / work[0]), np.inf)
    best = 1 + int(loss[1:].argmin())
    assert said.rail is not None
    rail = said.rail.order
    assert rail is not None
    assert rail.id is None
    assert rail.costs_usd is not None
    assert rail.saves_usd is not None
    assert rail.name == short_network(designs[best])
    assert rail.costs_usd - rail.saves_usd == pytest.approx(loss[best], rel=1e-9)
    assert f"Second rail (2 x {Gbps:g}G): {rail.name}, which costs " in said.text


def test_a_rival_that_is_the_second_rail_is_said_once(problem: Problem) -> None:
    front = search(problem)
    said = verdict(front, candidates_of(front), problem)
    other = None if said.rail is None else said.rail.order
    rivals = [one.name for one in (said.next_best, said.faster, other) if one is not None]
    assert len(set(rivals)) == len(rivals)


def test_systems_that_take_no_second_nic_have_none() -> None:
    problem = order_problem(systems=["hgx-b300", "gb200-nvl72"], npus=576, objectives=["time", "order-cost"])
    front = one_rail(problem)
    rack = replace(front, frame=front.frame.filter(front.frame["system"] == "gb200-nvl72"))
    said = verdict(rack, candidates_of(rack), problem)
    assert said.rail is not None
    assert said.rail.order is None
    assert "Second rail (2 x 400G): no order of this file has it for 8 gb200-nvl72." in said.sentences


def test_a_file_without_second_nics_says_nothing_of_them() -> None:
    problem = order_problem(systems=["gb200-nvl72"], npus=576)
    front = search(problem)
    assert "Second rail" not in verdict(front, candidates_of(front), problem).text


def test_of_an_order_with_two_rails_the_sum_of_one_less_is_said(problem: Problem) -> None:
    front = search(problem)
    two = replace(front, frame=front.frame.filter(front.frame["design"].str.contains(" / 2 x ")))
    said = verdict(two, candidates_of(two), problem)
    assert said.rail is not None
    assert said.rail.name.startswith("One rail (1 x ")
    assert said.rail.order is not None
    assert " / 1 x " in said.rail.order.name
    assert said.rail.order.costs_usd is not None
    assert said.rail.order.costs_usd < 0


def test_where_the_limits_of_the_file_exclude_two_rails_the_line_says_so(problem: Problem) -> None:
    """The limit is the cost of the cheapest order with one rail, and a dollar: none with two costs less."""
    front = one_rail(problem)
    cheapest = front.frame["order_cost_usd"].min()
    tight = order_problem(systems=["hgx-b300"], npus=576, constraints=[f"order-cost <= {cheapest + 1.0} USD"])
    found = search(tight)
    said = verdict(found, candidates_of(found), tight)
    assert said.rail is not None
    assert said.rail.order is None
    assert "rail (2 x" in said.rail.name
    assert said.rail.missing == "no order of 72 hgx-b300 with it meets the file's constraints"
