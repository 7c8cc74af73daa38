"""Links of dragonflies and HyperX networks one by one: their counts, ports, lengths and racks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.direct import direct_of
from evo_libra.network.orders.direct_layout import topology_layout
from evo_libra.network.orders.direct_wiring import topology_wires
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.places import places_of
from evo_libra.network.orders.wiring import runs_of

PRODUCTS = load_products("products-2026")
ORDERS = (
    "64 hgx-h100 / 1 x 400G / qm9700 dragonfly 1:1",
    "1000 hgx-h100 / 1 x 400G / sn5600 dragonfly 2:1",
    "116 gb200-nvl72 / 1 x 400G / sn5600 dragonfly 1:1 pods 7:1",
    "128 gb300-nvl72 (64 active) / 2 x 400G / sn5600 dragonfly 2:1",
    "1024 hgx-b300 / 2 x 400G / 2 planes / sn5600 hyperx 2:1",
    "250 hgx-h100 / 1 x 400G / qm9700 hyperx 1:1",
    "113 gb300-nvl72 / 1 x 400G / th5-64 hyperx 1:1",
)


def test_links_of_a_small_dragonfly() -> None:
    # 512 NPUs: two groups of 16 switches with 16 NPUs each; 31 // 15 = 2 links to each other, and 16 x 16 between them.
    down, group, groups = topology_wires(order := read_order(ORDERS[0], PRODUCTS), direct_of(order, PRODUCTS), PRODUCTS)
    assert (len(down), len(group), len(groups)) == (512, 2 * 120 * 2, 256)
    # System 3 is the second of switch 1: its NPU 5 takes the 14th port.
    (at,) = np.flatnonzero((down.lower == 3) & (down.lower_port == 5))
    assert (down.upper[at], down.upper_port[at]) == (1, 13)
    # Switches of a group have their links next to each other, on ports 16 to 45; those to the other group follow.
    assert (group.lower_port.min(), group.upper_port.max()) == (16, 45)
    assert set(Counter(zip(group.lower.tolist(), group.upper.tolist(), strict=True)).values()) == {2}
    assert (groups.lower_port.min(), groups.upper_port.max()) == (46, 61)
    assert groups.lower.max() < 16 <= groups.upper.min()


@pytest.mark.parametrize("text", ORDERS)
def test_links_are_those_of_the_bill_and_no_port_has_two(text: str) -> None:
    order = read_order(text, PRODUCTS)
    found = direct_of(order, PRODUCTS)
    wires = topology_wires(order, found, PRODUCTS)
    assert [len(one) for one in wires] == [found.links, found.unit_links, found.far_unit_links]
    ends = np.concatenate([np.stack((one.upper, one.upper_port)) for one in wires], axis=1)
    lower = np.concatenate([np.stack((one.lower, one.lower_port)) for one in wires[1:]], axis=1)
    ports = np.concatenate((ends, lower), axis=1)
    assert len({*map(tuple, ports.T.tolist())}) == ports.shape[1]
    assert ports[0].max() < found.switches
    modes = [mode.ports for mode in PRODUCTS.switches[order.switch or ""].modes if mode.Gbps == order.Gbps]
    assert ports[1].max() < max(modes)


@pytest.mark.parametrize("text", ORDERS)
def test_each_link_has_the_length_of_the_way_between_its_racks(text: str) -> None:
    order = read_order(text, PRODUCTS)
    found = direct_of(order, PRODUCTS)
    layout, places = topology_layout(order, found, PRODUCTS), places_of(order, found, PRODUCTS)
    wires = topology_wires(order, found, PRODUCTS)
    runs = [runs_of(one, layout.runs, places.metres(one)) for one in wires]
    assert np.bincount(np.concatenate(runs)).tolist() == [run.links for run in layout.runs]
    assert not any(len(places.short(one, layout.runs)) for one in wires)
    apart = Counter(places.switches["switch"].tolist())
    assert sorted(Counter(apart.values()).items()) == list(layout.racks_of_switches)
    assert len({*map(tuple, places.cells.tolist())}) == layout.system_racks + layout.switch_racks
