"""Racks of systems and switches are those of the bill, and no two of them have one place."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from test_wiring import ORDERS

from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.layout import layout_of
from evo_libra.network.orders.lengths import sold
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.places import Places, places_of
from evo_libra.network.orders.tree import tree_of
from evo_libra.network.orders.wiring import wires_of

PRODUCTS = load_products("products-2026")


def placed(text: str) -> Places:
    order = read_order(text, PRODUCTS)
    return places_of(order, tree_of(order, PRODUCTS), PRODUCTS)


def test_a_group_has_its_leaves_in_its_middle() -> None:
    # 4 DGX H100 a rack: 32 systems fill 8 racks, with the rack of their 8 leaves as the fifth of 9.
    found = placed("96 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1")
    assert found.cells[:8].tolist() == [[0, place] for place in (0, 1, 2, 3, 5, 6, 7, 8)]
    assert found.systems[:9].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2]
    assert {found.cells[rack].tolist()[1] for rack in found.switches["leaf"][:8]} == {4}


def test_leaves_of_tor_are_with_their_systems() -> None:
    found = placed("1000 hgx-h100 / 1 x 400G / sn5600 tor 2:1")
    assert found.together == ("leaf",)
    assert found.switches["leaf"].tolist() == np.unique(found.systems).tolist()


def test_spines_of_a_small_cluster_are_with_its_leaves() -> None:
    found = placed("32 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1")
    assert found.together == ("spine",)
    assert (len(found.cells), found.system_racks) == (9, 8)
    assert {*found.switches["leaf"].tolist(), *found.switches["spine"].tolist()} == {8}
    assert short_cables("32 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1") == [0, 0]


def test_a_system_of_several_racks_fills_them() -> None:
    # Twelve racks of NPUs and four of switches, as one product.
    found = placed("1 cloudmatrix-384")
    assert (len(found.cells), found.system_racks, found.systems.tolist()) == (16, 16, [0])


@pytest.mark.parametrize("text", ORDERS)
def test_racks_are_those_of_the_bill(text: str) -> None:
    order = read_order(text, PRODUCTS)
    layout, found = layout_of(order, tree_of(order, PRODUCTS), PRODUCTS), placed(text)
    assert len({*map(tuple, found.cells.tolist())}) == len(found.cells) == layout.system_racks + layout.switch_racks
    apart = Counter[int]()
    for racks in found.switches.values():
        apart.update(rack for rack in racks.tolist() if rack >= found.system_racks)
    assert sorted(Counter(apart.values()).items()) == list(layout.racks_of_switches)


def short_cables(text: str) -> list[int]:
    """Return the links of each tier whose cable of the bill is shorter than the way between their racks."""
    order = read_order(text, PRODUCTS)
    tree, found = tree_of(order, PRODUCTS), placed(text)
    runs = layout_of(order, tree, PRODUCTS).runs
    return [len(found.short(wires, runs)) for wires in wires_of(order, tree, PRODUCTS)]


@pytest.mark.parametrize("text", ORDERS)
def test_cables_are_as_long_as_the_ways_between_their_ends(text: str) -> None:
    assert not any(short_cables(text))


@pytest.mark.parametrize("text", ORDERS)
def test_bills_have_the_lengths_of_the_links_above_leaves_one_by_one(text: str) -> None:
    order = read_order(text, PRODUCTS)
    tree, places = tree_of(order, PRODUCTS), placed(text)
    billed: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for run in layout_of(order, tree, PRODUCTS).runs:
        billed[run.tier][run.metres] += run.links
    for wires in wires_of(order, tree, PRODUCTS)[1:]:
        assert billed[wires.tier] == Counter(sold(places.metres(wires)).tolist())
