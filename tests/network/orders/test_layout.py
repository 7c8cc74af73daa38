"""Racks, lengths, cables and modules of orders."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import SAID, catalogue, order_of, switch_of

from evo_libra.errors import InputError
from evo_libra.network.orders.layout import Layout, layout_of
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.tree import tree_of

_HGX = {"npus": 8, "rails": 8, "kW": 10.2, "height_U": 8}
_CARD = {"ports": 1, "Gbps": 400}


def _cable(kind: str, reach: float, usd: float, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "Gbps": 400, "reach_m": reach, "price_usd": usd, **SAID, **more}


_SR = _cable("sr", 50, 100, fibres=8, switch_module="twin", nic_module="single")
_DR = _cable("dr", 500, 100, fibres=8, switch_module="twin-dr", nic_module="single-dr")
_CABLES = {
    "sr": _SR,
    "dr": _DR,
    "dac": _cable("dac", 3, 250, links=2, joins_switches=False),
    "aec": _cable("aec", 7, 500, links=2, joins_switches=False),
}
_MODULES = {
    "twin": {"Gbps": 400, "links": 2, "power_W": 15, "price_usd": 900, **SAID},
    "single": {"Gbps": 400, "power_W": 8, "price_usd": 600, **SAID},
    "twin-dr": {"Gbps": 400, "links": 2, "power_W": 16, "price_usd": 1400, **SAID},
    "single-dr": {"Gbps": 400, "power_W": 9, "price_usd": 659, **SAID},
}


def made(cables: dict[str, Any] = _CABLES, **changes: Any) -> ProductsSpec:
    figures: dict[str, Any] = {"system": _HGX, "nic": _CARD, "switch": switch_of(64, per_cage=2), "kilowatts": 41}
    return catalogue(**figures | {"cables": cables, "modules": _MODULES} | changes)


def laid(products: ProductsSpec, count: int, **figures: Any) -> Layout:
    order = order_of(products, count, **figures)
    return layout_of(order, tree_of(order, products), products)


def links_by_cable(layout: Layout, tier: str) -> dict[str, int]:
    found: Counter[str] = Counter()
    for run in layout.runs:
        found[run.cable] += run.links if run.tier == tier else 0
    return dict(+found)


def modules_at(layout: Layout) -> dict[str, int]:
    found: Counter[str] = Counter()
    for module in layout.modules:
        found[f"{module.product} {module.place}"] += module.pieces
    return dict(found)


def test_a_superpod_of_1024_has_4096_ends_of_400_gbps() -> None:
    # 1,024 links to 32 leaves and 1,024 to 16 spines, each with two ends. Twin modules: 32 x 64 / 2 in leaves and
    # 16 x 64 / 2 in spines are 1,536; single ones: one for each of 1,024 NICs.
    found = laid(made({"sr": _SR}), 128, family="rail-optimised")
    assert 2 * sum(run.links for run in found.runs) == 4096
    modules = Counter[str]()
    for module in found.modules:
        modules[module.product] += module.pieces
    assert modules == {"twin": 1536, "single": 1024}
    assert sum(module.pieces * (2 if module.product == "twin" else 1) for module in found.modules) == 4096


def test_a_rail_optimised_leaf_has_a_part_of_its_links_in_copper() -> None:
    # 2 nodes a rack, 16 racks and one of leaves in the middle: 3 racks on each side are within 7 m, 6 of 16.
    found = laid(made(kilowatts=21), 32, family="rail-optimised")
    assert links_by_cable(found, "leaf") == {"aec": 6 * 2 * 8, "sr": 10 * 2 * 8}
    assert links_by_cable(found, "spine") == {"sr": 256}
    # A leaf has 20 links of SR: 10 twin modules in each of 8.
    assert modules_at(found) == {"single NICs": 160, "twin leaves": 8 * 10 + 8 * 16, "twin spines": 4 * 32}
    assert all(run.pieces == run.links // 2 for run in found.runs if run.cable == "aec")


def test_links_to_cores_are_as_long_as_a_row_is_away() -> None:
    # 512 nodes of 4 a rack, 128 leaves, 128 spines and 64 cores; 33 switches of 0.7 + 32 x 0.016 kW fill 41 kW. 16
    # blocks of 9 racks in 8 rows; the row of 4 racks of spines is the fifth, that of 2 racks of cores the sixth.
    found = laid(made(), 512, family="rail-optimised")
    assert (found.system_racks, found.switch_racks) == (128, 16 + 4 + 2)
    assert links_by_cable(found, "core") == {"sr": 4096}
    assert {run.metres for run in found.runs if run.tier == "core"} == {8, 9, 10}


def test_a_group_that_starts_in_the_middle_of_a_row_ends_in_it() -> None:
    # 5 nodes a rack: 32 take 7 racks, and one of leaves; the furthest is 4 racks away, 7.4 m. The third block begins a
    # row. A group cut by rows would have links as long as a row.
    found = laid(made(kilowatts=51), 128, family="rail-optimised")
    assert {run.metres for run in found.runs if run.tier == "leaf"} == {6, 7, 8}
    assert found.system_racks == 4 * 7


def test_a_block_has_one_rack_of_leaves() -> None:
    # 8 ports down, so that 8 nodes in 2 racks have 8 leaves of 3 units, of which 16 are in a rack: 2 groups in a block
    # of 4 racks and one, though half a row has places for 4. No node is more than 2 racks from its leaves. There are
    # 2 racks of leaves, 2 of 4 x 8 spines, and one of 16 cores.
    found = laid(made(switch=switch_of(16, per_cage=2) | {"height_U": 3}), 32, family="rail-optimised")
    assert {run.metres for run in found.runs if run.tier == "leaf"} == {6, 7}
    assert found.racks_of_switches == ((16, 5),)


def test_a_leaf_in_the_rack_is_joined_by_copper() -> None:
    # 4 nodes of 10.2 kW and a leaf of 0.7 kW with modules of 16 W in its 16 cages of uplinks in each rack: 41.756 kW.
    found = laid(made(kilowatts=41.8), 32, family="tor")
    assert links_by_cable(found, "leaf") == {"dac": 256}
    assert {run.metres for run in found.runs if run.tier == "leaf"} == {2.0}
    assert (found.system_racks, found.switch_racks) == (8, 1)
    assert laid(made(kilowatts=41.7), 32, family="tor").system_racks == 11


def test_far_switches_have_the_cheapest_cable_that_reaches() -> None:
    # 512 racks in 26 rows: ways above 50 m have DR, nearer ones SR.
    found = laid(made(), 2048, family="tor")
    reach = {"sr": 50, "dr": 500, "dac": 3, "aec": 7}
    assert all(run.metres <= reach[run.cable] for run in found.runs)
    assert all(run.metres > 50 for run in found.runs if run.cable == "dr")


def test_no_cable_that_reaches_is_refused() -> None:
    with pytest.raises(InputError, match=r"no cable of 400 Gb/s reaches 6 m between a switch and a cage of 1 ports"):
        laid(made({"dac": _CABLES["dac"] | {"reach_m": 5}}), 32, family="rail-optimised")


def test_twin_modules_serve_both_ports_of_a_nic() -> None:
    nic = {"ports": 2, "Gbps": 400, "per_cage": 2}
    twin = _SR | {"nic_ports": 2, "nic_module": "twin", "joins_switches": False}
    copper = _cable("aec", 20, 100, links=2, nic_ports=2)
    products = made({"sr": _SR, "twin": twin, "aec": copper}, nic=nic, switch=switch_of(128, per_cage=2))
    two = laid(products, 32, family="rail-optimised", planes=2)
    # The two ports lead to two planes, so that no cable with fixed ends joins the cage with one switch.
    assert links_by_cable(two, "leaf") == {"twin": 512}
    assert modules_at(two)["twin NICs"] == two.nics == 256
    one = laid(products, 32, family="rail-optimised")
    assert links_by_cable(one, "leaf") == {"aec": 512}


def test_co_packaged_switches_need_no_modules() -> None:
    switch = switch_of(64) | {"co_packaged": True, "cooling": "liquid"}
    found = laid(made(switch=switch), 32, family="rail-optimised")
    assert modules_at(found) == {"single NICs": 256}
    assert set(links_by_cable(found, "leaf")) == {"sr"}


def test_racks_of_switches_by_units_and_power() -> None:
    # Switches of 1 unit and 700 + 32 x 15 W: 34 fit into 41 kW, of 128 spines and 64 cores. Each of 16 units has a rack
    # with its 8 leaves.
    found = laid(made({"sr": _SR}), 512, family="rail-optimised")
    assert (found.system_racks, found.switch_racks) == (128, 16 + 4 + 2)
    assert found.racks_of_switches == ((8, 16), (26, 1), (30, 1), (34, 4))
    assert found.switch_kW == pytest.approx(1.18)


def test_a_rack_has_units_left_for_its_leaves() -> None:
    # 6 nodes of 8 units fill 48 units; with a leaf of 1 unit there are 5. A block of half a row has 13 leaves of 4
    # nodes in 9 racks, and two racks have the other 8 nodes.
    small = {"npus": 8, "rails": 8, "kW": 1.0, "height_U": 8}
    assert laid(made(system=small), 60, family="fat-tree").system_racks == 9 + 2
    assert laid(made(system=small), 60, family="tor").system_racks == 12


def test_a_switch_without_a_known_power_has_no_place() -> None:
    with pytest.raises(InputError, match="switch has no power_W"):
        laid(made(switch=switch_of(64) | {"power_W": None}), 32, family="rail-optimised")


def test_a_system_without_a_network_stands_in_racks() -> None:
    products = made()
    order = order_of(products, 1, family="none", nic=None, switch=None, ports=0, Gbps=0.0)
    assert layout_of(order, tree_of(order, products), products) == Layout(1)
    rented = order_of(products, 1, family="slice", nic=None, switch=None, ports=0, Gbps=0.0)
    assert layout_of(rented, tree_of(rented, products), products) == Layout(0)


_FAMILIES = st.sampled_from(["rail-only", "rail-optimised", "tor", "fat-tree"])


@pytest.mark.slow
@given(st.integers(1, 300), _FAMILIES, st.sampled_from([1, 2, 7]))
def test_runs_have_all_links_and_modules_serve_them(count: int, family: str, ratio: int) -> None:
    products = made({"sr": _SR | {"reach_m": 500}})
    order = order_of(products, count, family=family, leaf_ratio=float(ratio))
    tree = tree_of(order, products)
    found = layout_of(order, tree, products)
    tiers = ("leaf", "spine", "core")
    links = [sum(run.links for run in found.runs if run.tier == tier) for tier in tiers]
    assert links == [tree.links, tree.uplinks, tree.core_links]
    # Both links of a twin module are of one kind, and may have different lengths.
    served = sum(module.pieces * products.modules[module.product].links for module in found.modules)
    assert 2 * sum(links) <= served <= 2 * sum(links) + 2 * tree.switches
    assert found.nics == order.bought_npus
