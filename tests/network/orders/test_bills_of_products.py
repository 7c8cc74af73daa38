"""Bills of the systems of products-2026: the price and power of the whole stand once, and nothing of it again."""

from __future__ import annotations

import pytest

from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.tree import tree_of

PRODUCTS = load_products("products-2026")
ORDERS = {
    # An order of each system; USD and kW of its systems, by hand.
    "128 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1": (128 * 313_500, 128 * 10.2),
    "128 hgx-h200 / 1 x 400G / sn5600 rail-optimised 2:1": (128 * 340_000, 128 * 10.2),
    "128 hgx-b200 / 1 x 400G / sn5600 tor 1:1": (128 * 400_000, 128 * 14.3),
    "128 hgx-b300 / 1 x 800G / q3400-ra rail-optimised 1:1": (128 * 450_000, 128 * 14.0),
    "128 hgx-b300 / 2 x 400G / 2 planes / sn5600 rail-optimised 1:1": (128 * 450_000, 128 * 14.0),
    "16 gb200-nvl72 / 1 x 400G / th5-64 rail-optimised 1:1": (16 * 3_400_000, 16 * 120.0),
    "16 gb300-nvl72 / 1 x 800G / q3450-ld rail-optimised 1:1": (16 * 4_000_000, 16 * 132.0),
    "128 mi300x-8 / 1 x 400G / th5-64 rail-optimised 1:1": (128 * 160_000, 128 * 10.6),
}


@pytest.mark.parametrize("text", ORDERS)
def test_what_a_system_includes_stands_once(text: str) -> None:
    order = read_order(text, PRODUCTS)
    system, bill = PRODUCTS.systems[order.system], bill_of(order, PRODUCTS)
    usd, kilowatts = ORDERS[text]
    assert bill.usd_of("systems").value == usd
    assert bill.watts_of("systems") == pytest.approx(kilowatts * 1000)
    assert [line.product for line in bill.lines if line.section == "systems"] == [order.system]
    assert "nics" in system.includes
    assert not [line for line in bill.lines if line.product in PRODUCTS.nics]
    assert ("cooling" in {line.section for line in bill.lines}) == (system.cooling == "liquid")


@pytest.mark.parametrize("text", ORDERS)
def test_the_lines_add_up_and_each_rule_can_be_switched_off(text: str) -> None:
    order = read_order(text, PRODUCTS)
    bill = bill_of(order, PRODUCTS)
    whole = sum(line.products * line.usd.value for line in bill.lines if line.usd is not None)
    assert bill.order_usd().value == pytest.approx(whole, abs=0.005 * len(bill.lines))
    for rule in PRODUCTS.rules:
        own = sum(line.products * line.usd.value for line in bill.lines if line.rule == rule and line.usd is not None)
        without = bill_of(order, PRODUCTS, without=frozenset({rule})).order_usd().value
        assert without == pytest.approx(whole - own, abs=0.005 * len(bill.lines))


def test_racks_of_a_rack_are_those_of_its_switches_alone() -> None:
    racks = {}
    for text in ("128 hgx-b300 / 1 x 800G / q3400-ra rail-optimised 1:1",
                 "16 gb300-nvl72 / 1 x 800G / q3400-ra rail-optimised 1:1"):  # fmt: skip
        order = read_order(text, PRODUCTS)
        lines = bill_of(order, PRODUCTS).lines
        racks[order.system] = sum(line.pieces for line in lines if line.section == "racks")
    # Four servers of 14 kW in a rack of 60 kW: 32 racks, and some for switches.
    assert racks["hgx-b300"] > 32
    assert 0 < racks["gb300-nvl72"] < 16


def test_a_superpod_has_nearly_as_many_racks_as_published() -> None:
    # DGX SuperPOD H100 of 127 nodes in 4 units: 38 racks (docs.nvidia.com, table 7), with those of storage and
    # management. Here 32 of 4 servers, one of leaves in each unit, and one of spines.
    order = read_order("128 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1", PRODUCTS)
    (racks,) = (line.pieces for line in bill_of(order, PRODUCTS).lines if line.section == "racks")
    assert racks == 32 + 4 + 1


def test_co_packaged_switches_have_modules_at_nics_alone() -> None:
    order = read_order("16 gb300-nvl72 / 1 x 800G / q3450-ld rail-optimised 1:1", PRODUCTS)
    modules = {line.product for line in bill_of(order, PRODUCTS).lines if line.product in PRODUCTS.modules}
    assert modules == {"osfp-800-dr4"}


def test_products_build_the_networks_that_were_published() -> None:
    # Eight planes of 100 Gb/s for 131,072 NPUs (arXiv 2605.04333): 512 + 256 switches of 512 ports in each plane.
    planes = read_order("16384 hgx-b300 / 8 x 100G / 8 planes / th5-512 rail-optimised 1:1", PRODUCTS)
    # A pod of HPN (SIGCOMM 2024): 15,360 GPUs, 128 ports of 200 Gb/s down and 60 of 400 Gb/s up, 240 + 120 switches.
    pod = read_order("1920 hgx-h100 / 2 x 200G / 2 planes / th5-64 rail-optimised 16:15 uplinks 400G", PRODUCTS)
    # DGX SuperPOD of 1,024 GPUs (docs.nvidia.com): 32 + 16 switches.
    superpod = read_order("128 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1", PRODUCTS)
    trees = [tree_of(order, PRODUCTS) for order in (planes, pod, superpod)]
    assert [(tree.leaves, tree.spines, tree.cores) for tree in trees] == [(4096, 2048, 0), (240, 120, 0), (32, 16, 0)]
    assert [violations(order, PRODUCTS) for order in (planes, pod, superpod)] == [[], [], []]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        # One of a hundred, to the nearest: 10.24 and 0.5 of servers, 0.49 of them.
        ("1024 hgx-h100 / connectx-7 1 x 400G / qm9700 fat tree 1:1", 10),
        ("50 hgx-h100 / connectx-7 1 x 400G / qm9700 fat tree 1:1", 1),
        ("49 hgx-h100 / connectx-7 1 x 400G / qm9700 fat tree 1:1", 0),
        # 112 x 18 trays have 20.16 spare ones; with 64 of 72 in use there are spare NPUs.
        ("112 gb200-nvl72 / 1 x 400G / qm9700 fat tree 1:1", 20),
        ("112 gb200-nvl72 (64 active) / 1 x 400G / qm9700 fat tree 1:1", 0),
    ],
)
def test_spares_are_whole_servers_and_trays(text: str, pieces: float) -> None:
    order = read_order(text, PRODUCTS)
    lines = [line for line in bill_of(order, PRODUCTS).lines if line.rule == "spare-servers"]
    assert [line.pieces for line in lines] == ([pieces] if pieces else [])
    assert all(line.product == order.system for line in lines)
    assert all(line.parts == (18 if "nvl72" in text else 1) for line in lines)


def test_spare_trays_are_a_part_of_the_price_of_their_rack() -> None:
    # 20 of 18 trays of 3,400,000 USD.
    bill = bill_of(read_order("112 gb200-nvl72 / 1 x 400G / qm9700 fat tree 1:1", PRODUCTS), PRODUCTS)
    (line,) = (line for line in bill.lines if line.rule == "spare-servers")
    assert line.what.endswith("; a tray is 1/18 of the price of gb200-nvl72")
    assert line.cents()[1] == 377_777_778
