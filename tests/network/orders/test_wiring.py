"""Links one by one have the counts of the tree, and no switch has more of them than ports."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.layout import layout_of
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.places import places_of
from evo_libra.network.orders.tree import tree_of
from evo_libra.network.orders.wiring import Wires, runs_of, wires_of

PRODUCTS = load_products("products-2026")

ORDERS = (
    "32 hgx-h100 / 1 x 400G / qm9700 rail-only 1:1",
    "96 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1",
    "1024 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1",
    "1024 hgx-b200 / 1 x 400G / qm9700 fat tree 2:1",
    "1000 hgx-h100 / 1 x 400G / sn5600 tor 2:1",
    "1024 hgx-b300 / 2 x 400G / 2 planes / sn5600 fat tree 2:1",
    "112 gb300-nvl72 / 1 x 800G / q3450-ld fat tree 2:1",
    "128 gb300-nvl72 (64 active) / 1 x 800G / q3400-ra rail-optimised 1:1",
    "2048 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1 pods 7:1",
    "2048 hgx-h100 / 1 x 400G / qm9700 rail-only 1:1",
)


def wired(text: str) -> tuple[Wires, ...]:
    order = read_order(text, PRODUCTS)
    return wires_of(order, tree_of(order, PRODUCTS), PRODUCTS)


def test_rail_optimised_leaves_join_one_rail_of_their_systems() -> None:
    # 96 systems of 8 NPUs, 32 ports down: 3 groups of 32 systems with 8 leaves, and 16 spines that divide 32 uplinks.
    leaf, spine = wired(ORDERS[1])
    assert (len(leaf), len(spine)) == (768, 768)
    # System 33 is the second of group 1; its NPU 5 is on leaf 8 + 5, whose port 1 it takes.
    (at,) = np.flatnonzero((leaf.lower == 33) & (leaf.lower_port == 5))
    assert (leaf.upper[at], leaf.upper_port[at]) == (13, 1)
    # Each of 24 leaves has 32 / 16 links to each spine, by its ports 32 to 63.
    pairs = Counter(zip(spine.lower.tolist(), spine.upper.tolist(), strict=True))
    assert (len(pairs), set(pairs.values())) == (24 * 16, {2})
    assert (spine.lower_port.min(), spine.lower_port.max()) == (32, 63)


def test_rails_share_switches_of_a_rail_only_network() -> None:
    # 32 NPUs a rail on 64 ports: two rails share a switch, 8 rails take 4.
    (leaf,) = wired(ORDERS[0])
    rails = {(upper, port % 8) for upper, port in zip(leaf.upper.tolist(), leaf.lower_port.tolist(), strict=True)}
    assert rails == {(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (3, 7)}


@pytest.mark.parametrize("text", ORDERS)
def test_links_are_those_of_the_tree(text: str) -> None:
    order = read_order(text, PRODUCTS)
    tree = tree_of(order, PRODUCTS)
    found = wires_of(order, tree, PRODUCTS)
    switches = {"leaf": tree.leaves, "spine": tree.spines, "core": tree.cores}
    assert [len(one) for one in found] == [n for n in (tree.links, tree.uplinks, tree.core_links) if n]
    for one in found:
        assert np.array_equal(np.unique(one.upper), np.arange(switches[one.tier]))
        for device, port in ((one.lower, one.lower_port), (one.upper, one.upper_port)):
            assert len({*zip(device.tolist(), port.tolist(), strict=True)}) == len(one)
    ports = PRODUCTS.switches[order.switch or ""].max_ports or max(
        mode.ports for mode in PRODUCTS.switches[order.switch or ""].modes if mode.Gbps == order.Gbps
    )
    used = [one.upper_port.max() for one in found] + [one.lower_port.max() for one in found[1:]]
    assert max(used) < ports


@pytest.mark.parametrize("text", ORDERS)
def test_lengths_are_those_of_the_bill(text: str) -> None:
    order = read_order(text, PRODUCTS)
    tree = tree_of(order, PRODUCTS)
    runs = layout_of(order, tree, PRODUCTS).runs
    places = places_of(order, tree, PRODUCTS)
    found = [runs_of(one, runs, places.metres(one)) for one in wires_of(order, tree, PRODUCTS)]
    assert np.bincount(np.concatenate(found)).tolist() == [run.links for run in runs]
