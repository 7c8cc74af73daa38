"""Verdicts under other assumptions: by hand, against files with other prices, and where they turn."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from order_files import order_problem
from order_results import order_front, orders

from evo_libra import load_problem
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.failed_part import Degraded, _at_share, degraded, if_failed
from evo_libra.explain.price_draws import price_draws
from evo_libra.explain.tornado import tornado, tornado_section
from evo_libra.explain.verdict import names_of, verdict
from evo_libra.explain.verdict_basis import basis_of
from evo_libra.explain.what_if import Asked, read_energy, read_price
from evo_libra.network.orders.failures import order_failure
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.topology import topology_of
from evo_libra.pictures.plots.tornado import tornado_png, tornado_text
from evo_libra.problem.problem import Problem


@cache
def asked() -> Asked:
    return Asked(basis_of(order_front(), candidates_of(order_front()), orders()), names_of(order_front()))


def totals() -> tuple[FloatArray, FloatArray]:
    """Return USD and ms of both designs of the front, with the energy of 4 years."""
    price = asked().basis.stated.price
    assert price.total_usd is not None
    return price.total_usd, order_front().frame["time_ms"].to_numpy()


@pytest.mark.slow
def test_a_price_turns_the_verdict_where_both_do_the_work_for_the_same_money() -> None:
    """(T0 + (f - 1) P) t0 = T1 t1, with P the USD of gb200-nvl72 of #0, spare ones included."""
    usd, time = totals()
    mine = sum(part.usd[0] for part in asked().basis.parts if part.name == "gb200-nvl72")
    factor = 1.0 + (usd[1] * time[1] / time[0] - usd[0]) / mine
    found = asked().price(read_price("gb200-nvl72=+10%"))
    assert found.holds
    (turn,) = (one for one in found.turns if "+" in one.at)
    assert turn.id == 1
    assert f"({100 * (factor - 1):+.3g} %)" in turn.at
    assert asked().price(read_price(f"gb200-nvl72=x{factor * 1.01:.6f}")).id == 1
    assert asked().price(read_price(f"gb200-nvl72=x{factor * 0.99:.6f}")).holds


@pytest.mark.slow
def test_a_verdict_at_another_price_is_that_of_a_file_with_it() -> None:
    stated = next(part.piece_usd for part in asked().basis.parts if part.name == "gb200-nvl72")
    assert stated is not None
    other = order_problem(prices={"gb200-nvl72": stated * 3.0})
    frame, found = order_front(), asked().price(read_price("gb200-nvl72=x3"))
    usd = other.evaluate(frame.frame["design"].to_list()).objectives[1]
    figures = candidates_of(frame).figures | {"order_cost_usd": usd}
    again = basis_of(frame, replace(candidates_of(frame), figures=figures), other)
    assert int(again.found.ids[again.bought[0]]) == found.id
    assert found.lead_usd == pytest.approx(asked().basis.lead(again.stated)[0], rel=1e-6)


def test_kinds_stand_for_all_of_their_parts() -> None:
    systems = {asked().basis.parts[place].name for place in asked().places("systems")}
    assert systems == {"gb200-nvl72", "hgx-h100"}
    assert asked().places("switch") == asked().places("switches")
    with pytest.raises(InputError, match=r"--price: unknown part, product or kind 'sn560'.*sn5600"):
        asked().places("sn560")
    with pytest.raises(InputError, match="'systems' has no single price; give a share, such as"):
        asked().price(read_price("systems=900USD"))


@pytest.mark.parametrize("text", ["sn5600", "=+3%", "sn5600=30%", "sn5600=-200%", "sn5600=+3", "sn5600=x+3", "a=3EUR"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="found"):
        read_price(text)


def test_energy_and_several_changes_at_once() -> None:
    assert asked().energy(read_energy("0.2 USD/kWh")).text.startswith("If energy costs 0.2 USD/kWh: the verdict holds.")
    together = asked().together([read_price("gb200-nvl72=x8"), read_price("switches=+10%")], 0.2)
    assert (together.holds, together.id) == (False, 1)
    (turn,) = together.turns  # of a part of the changes
    assert turn.id == 1
    times = float(turn.at.split(" times these changes")[0])
    assert 0.0 < times < 1.0
    for factor, holds in ((0.99, True), (1.01, False)):
        part = [
            read_price(f"gb200-nvl72=x{1 + 7 * times * factor}"),
            read_price(f"switches={10 * times * factor:+.6f}%"),
        ]
        usd = asked().basis.tco.usd_per_kWh
        assert asked().together(part, usd + times * factor * (0.2 - usd)).holds == holds
    with pytest.raises(InputError, match="a price of energy is needed"):
        read_energy("cheap")


def test_a_verdict_says_in_how_many_draws_of_prices_it_stays() -> None:
    found = price_draws(asked().basis)
    assert found is not None
    assert (found.share, found.rival) == (1.0, None)
    said = verdict(order_front(), candidates_of(order_front()), orders())
    assert "With prices drawn from their ranges it is the best in 100 % of 1,000 draws." in said.notes


@pytest.mark.slow
def test_the_assumptions_that_move_a_verdict_most_come_first_and_turn_where_prices_say() -> None:
    found = tornado(asked().basis, "it")
    assert found is not None
    assert found.lead_usd == pytest.approx(34.4e6, rel=0.01)
    widths = [one.usd for one in found.swings]
    assert widths == sorted(widths, reverse=True)
    assert len(widths) <= 10
    first = found.swings[0]
    mine = sum(part.usd[0] for part in asked().basis.parts if part.name == "gb200-nvl72")
    usd, time = totals()
    if first.of == "price of gb200-nvl72":
        low = (usd[1] * time[1] - (usd[0] - mine * (1 - first.low / first.stated)) * time[0]) / time[0]
        assert first.low_usd == pytest.approx(low, rel=1e-6)
    energy = next(one for one in found.swings if one.of == "price of energy")
    assert not energy.is_range
    table = tornado_section(found).parts[0]
    assert not isinstance(table, str)
    assert len(table.rows) == len(found.swings)


@pytest.mark.slow
def test_a_tornado_is_drawn_as_text_and_as_a_picture() -> None:
    found = tornado(asked().basis, "it")
    assert found is not None
    lines = tornado_text(found, 70, ascii_only=True).splitlines()
    assert len(lines) == len(found.swings) + 1
    assert max(map(len, lines)) <= 70
    assert all("#" in line for line in lines[:-1])
    assert tornado_png(found)[:4] == b"\x89PNG"
    assert tornado_png(found) == tornado_png(found)


def test_failures_take_what_the_wiring_says() -> None:
    """8 NPUs with one port each: a NIC is an eighth; 8 rails: a leaf is one of them; one plane: all of it."""
    order, products = server(), _products()
    tree = topology_of(order, products)
    left = {what: order_failure(order, tree, products, what).left for what in ("nic", "link", "leaf", "rail", "plane")}
    assert left == {"nic": 7 / 8, "link": 7 / 8, "leaf": 7 / 8, "rail": 7 / 8, "plane": 0.0}
    assert order_failure(order, tree, products, "npu").left == 0.0
    tor = server(family="tor", leaf_ratio=2.0)
    assert order_failure(tor, topology_of(tor, products), products, "leaf").left == 0.0
    assert order_failure(tor, topology_of(tor, products), products, "rail").pieces == 0


def server(**changes: object) -> Order:
    book = orders().book
    assert book is not None
    one = next(one for one in book.orders if one.system == "hgx-h100" and one.family == "rail-optimised")
    return replace(one, **changes)  # type: ignore[arg-type]


def _products() -> ProductsSpec:
    book = orders().book
    assert book is not None
    return book.products


def test_work_goes_on_slower_while_a_part_is_in_repair() -> None:
    """A tenth of the time at twice the time of a step: 1 / (0.9 + 0.1 / 2); a job that stops: 1 / 0.9."""
    found = Degraded(np.array([2.0, np.inf]), np.array([0.1, 0.1]), ("", ""))
    np.testing.assert_allclose(found.of_all_time(), [1 / 0.95, 1 / 0.9])
    np.testing.assert_allclose(found.of_all_time(2.0)[1], 1 / 0.81)


def test_the_time_of_a_degraded_design_is_that_of_its_bandwidth() -> None:
    designs = order_front().frame["design"].to_list()
    problem = orders()
    found = degraded(problem, problem.read(designs), designs, "nic")
    assert (found.slower >= 1.0).all()
    assert (found.share > 0).all()
    text = if_failed(asked(), designs, "nic").text
    assert text.startswith("If a NIC fails: #0 takes ")
    assert "#1 takes" in text
    assert "The verdict holds." in text


def test_a_failure_of_no_known_rate_turns_a_verdict_at_a_share_of_time() -> None:
    """A job of #0 that stops for a share s has 1 / (1 - s) of its time; #1 goes on."""
    usd, time = totals()
    basis = asked().basis
    found = Degraded(np.array([np.inf, 1.0]), np.full(2, np.nan), ("", ""))
    share = 1.0 - usd[0] * time[0] / (usd[1] * time[1])
    assert basis.is_same(_at_share(basis, found, 10 * share * 0.999).row(basis.rule)[0])
    assert not basis.is_same(_at_share(basis, found, 10 * share * 1.001).row(basis.rule)[0])
    (turn,) = asked().turns_at(partial(_at_share, basis, found), str)
    assert float(turn.at) == pytest.approx(10 * share, rel=1e-3)


def test_orders_that_stop_have_no_sum_of_money() -> None:
    """A sum against an order that does no work would be of thousands of billions."""
    question = asked()
    mine, _ = question.basis.bought
    slower = np.where(np.arange(len(order_front())) == mine, 1.0, 1e6)
    text = question.answer("a part fails", question.basis.choice(slower=slower), None).text
    assert text == "If a part fails: the verdict holds. No other order works on then."


def test_a_figure_that_turns_the_verdict_itself_is_said_by_how_much_less_it_would_not() -> None:
    """A verdict that turns at 0.4 of a figure is turned at all of it: from 60 % less on."""
    basis = asked().basis
    mine = [place for place, part in enumerate(basis.parts) if part.name == "gb200-nvl72"]
    (above,) = basis.turns(lambda factor: basis.choice(dict.fromkeys(mine, factor)))
    (turn,) = basis.turns(lambda factor: basis.choice(dict.fromkeys(mine, 2.5 * above.factor * factor)))
    assert turn.factor == pytest.approx(0.4)
    assert turn.row == 1


def test_replicas_of_a_file_are_those_of_its_data_parallel_groups() -> None:
    """moe-4k has 512 data parallel groups: 1 of them is out, and the work takes 512 / 511 of the time."""
    problem = load_problem("moe-4k")
    assert isinstance(problem, Problem)
    design = "SW(8)@nvlink4:450_CL(512)@optics-400g:50"
    found = degraded(problem, problem.read(design), [design], "npu")
    np.testing.assert_allclose(found.slower, [512 / 511])
    stopped = degraded(problem, problem.read(design), [design], "link")
    assert np.isinf(stopped.slower[0])
    assert stopped.says == ["it cuts NPUs off"]
    with pytest.raises(InputError, match="no rails that are wired apart"):
        degraded(problem, problem.read(design), [design], "rail")


@pytest.mark.slow
def test_a_price_that_takes_the_order_out_of_the_budget_is_said_so() -> None:
    """The faster order fits by 2 %; at 10 % more for its racks it does not, whatever it saves."""
    usd = float(order_front().frame["order_cost_usd"].max())
    found = candidates_of(order_front(), {"order_cost_usd": 1.02 * usd})
    basis = basis_of(order_front(), found, orders())
    limited = Asked(basis, names_of(order_front())).price(read_price("gb200-nvl72=+10%"))
    assert (limited.holds, limited.id) == (False, 1)
    assert "#0 does not keep the limits then." in limited.text
    swings = tornado(basis, "net")
    assert swings is not None
    assert np.isfinite([(one.low_usd, one.high_usd) for one in swings.swings]).all()
    assert tornado_text(swings, 80)


def test_an_order_without_a_network_has_no_leaf_that_could_fail() -> None:
    alone = server(switch=None)
    tree = topology_of(server(), _products())
    assert order_failure(alone, tree, _products(), "leaf").kind == "switch"
    assert {order_failure(alone, tree, _products(), what).pieces for what in ("nic", "leaf", "rail")} == {0.0}
