"""Times at the ends of what switches reach of the wire: those of a file that states the efficiency."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from order_results import order_front, orders

from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.tornado import _assumptions
from evo_libra.explain.verdict_basis import Basis, basis_of
from evo_libra.explain.wire_ranges import WireRange, wire_ranges
from evo_libra.network.orders.nic_options import reached


def basis() -> Basis:
    return basis_of(order_front(), candidates_of(order_front()), orders())


def ranges() -> list[WireRange]:
    return list(wire_ranges(basis()))


def test_each_switch_of_the_front_has_the_range_of_the_catalogue() -> None:
    book = orders().book
    assert book is not None
    places = book.place(basis().designs).tolist()
    found = {one.switch: one for one in ranges()}
    assert found.keys() == {book.orders[place].switch for place in places if book.orders[place].count > 1}
    for place in places:
        spec = reached(book.orders[place], book.products)
        one = found[str(book.orders[place].switch)]
        assert spec.efficiency_range is not None
        assert one.stated == spec.efficiency
        assert (one.stated * one.ends.low, one.stated * one.ends.high) == pytest.approx(spec.efficiency_range)


@pytest.mark.parametrize("end", ["low", "high"])
def test_times_at_an_end_are_those_of_a_network_that_reaches_so_much(end: str) -> None:
    """Only orders of that switch take another time, and a longer one where it reaches less."""
    book = orders().book
    assert book is not None
    places = book.place(basis().designs)
    for one in ranges():
        factor = getattr(one.ends, end)
        mine = np.array([book.orders[place].switch == one.switch for place in places.tolist()])
        efficiency = orders().time.efficiency
        assert efficiency is not None
        changed = efficiency.copy()
        changed[book.technology[places[mine]]] *= factor
        time = replace(orders(), time=replace(orders().time, efficiency=changed)).measure(basis().designs).time
        np.testing.assert_allclose(one.slower(factor), time / basis().figures.time, rtol=1e-12)
        assert (one.slower(factor)[~mine] == 1.0).all()
        assert ((one.slower(factor)[mine] >= 1.0) == (factor <= 1.0)).all()


def test_no_switch_reaches_more_than_the_wire() -> None:
    for one in ranges():
        assert one.slower(1.0) == pytest.approx(np.ones(len(order_front())))
        np.testing.assert_array_equal(one.slower(10.0), one.slower(1.0 / one.stated))


def test_the_share_of_the_wire_of_each_switch_is_an_assumption() -> None:
    """Its lead at an end is that of a choice whose times are those at this end."""
    known = {one.of: one for one in _assumptions(basis())}
    for one in ranges():
        found = known[f"share of the wire, {one.switch}"]
        assert (found.stated, found.ends) == (one.stated, one.ends)
        slower = basis().choice(slower=one.slower(one.ends.low))
        assert basis().lead(found.at(one.ends.low))[0] == pytest.approx(basis().lead(slower)[0])
