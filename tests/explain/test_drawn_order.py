"""Contents of pictures of orders have the counts of the bill, and lines only where links are."""

from __future__ import annotations

from collections import Counter

import pytest

from evo_libra.errors import InputError
from evo_libra.explain.drawn_order import DrawnOrder, drawn_order
from evo_libra.explain.order_captions import (
    apart_text,
    between_text,
    groups_text,
    links_text,
    ports_text,
    ratio_title,
    subtitle,
    tier_title,
)
from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.notation import read_order

PRODUCTS = load_products("products-2026")
SUPERPOD = "96 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1"
PODS = "1024 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1"
RACKS = "112 gb300-nvl72 / 1 x 800G / q3450-ld fat tree 2:1"
PLANES = "1024 hgx-b300 / 2 x 400G / 2 planes / sn5600 fat tree 2:1"
RAILS = "2048 hgx-h100 / 1 x 400G / qm9700 rail-only 1:1"
DRAGONFLY = "128 hgx-h100 / 1 x 400G / qm9700 dragonfly 1:1"
HYPERX = "112 gb300-nvl72 / 2 x 400G / 2 planes / sn5600 hyperx 1:1"
SWITCHES = ("qm9700", "q3450-ld", "sn5600", "polatis-192")
OPTICAL = "24 hgx-h200 / 1 x 400G / polatis-192 ocs rails"
SHARED = "32 hgx-h100 / 1 x 400G / qm9700 rail-only 1:1"
ORDERS = (
    SUPERPOD,
    PODS,
    RACKS,
    PLANES,
    RAILS,
    SHARED,
    DRAGONFLY,
    HYPERX,
    OPTICAL,
    "1000 hgx-h100 / 1 x 400G / sn5600 tor 2:1",
    "1 hgx-h100",
)


def drawn(text: str) -> DrawnOrder:
    return drawn_order(text, PRODUCTS)


def test_captions_of_optical_rails() -> None:
    # Rings of 24 servers, four on each of two circuit switches.
    order = drawn(OPTICAL)
    (tier,) = order.tiers
    assert subtitle(order) == "192 NPUs, optical rails, 8 rails"
    assert (tier_title(tier), ports_text(tier), links_text(tier), groups_text(order)) == (
        "2 circuit switches", "96 down", "192 links of 400G", "",
    )  # fmt: skip


def test_captions_of_a_fat_tree_over_racks() -> None:
    # Four racks fill three leaves of 96 ports; 48 uplinks, one to each of 48 spines, which have 84 of 144 ports in use.
    order = drawn(RACKS)
    leaf, spine = order.tiers
    assert (leaf.count, ports_text(leaf), ratio_title(leaf), groups_text(order)) == (
        84, "96 down, 48 up", "2:1", "3 per 4 systems",
    )  # fmt: skip
    assert (spine.count, ports_text(spine), ratio_title(spine), links_text(spine)) == (
        48, "84 down", "", "4,032 links of 800G",
    )  # fmt: skip
    assert subtitle(order) == "8,064 NPUs, fat tree"


def test_captions_of_planes_and_rails() -> None:
    # 128 ports of 400G: 80 down for 10 servers of 8, 40 up; 103 leaves a plane, the last with 4 servers.
    planes, rails = drawn(PLANES), drawn(RAILS)
    assert (ports_text(planes.tiers[0]), apart_text(planes, planes.tiers[0])) == (
        "32 to 80 down, 40 up", "103 in each plane",
    )  # fmt: skip
    assert groups_text(drawn(SUPERPOD)) == "8 per 32 systems, one a rail"
    # 2,048 NPUs a rail: 64 leaves and 32 spines in each.
    assert [(tier.count, apart_text(rails, tier)) for tier in rails.tiers] == [
        (512, "64 in each rail"), (256, "32 in each rail"),
    ]  # fmt: skip


def test_captions_of_dragonflies_and_hyperx() -> None:
    # Two groups of 32 switches with 31 links in the group and 16 to the other one: 2 x 32 x 31 / 2 and 32 x 16.
    order = drawn(DRAGONFLY)
    (switches,) = order.tiers
    assert (switches.count, ports_text(switches), ratio_title(switches)) == (64, "16 to NPUs, 47 to switches", "")
    assert [between_text(links) for links in switches.between] == [
        "992 links of 400G in groups", "512 links of 400G between groups",
    ]  # fmt: skip
    assert (subtitle(order), groups_text(order)) == ("1,024 NPUs, dragonfly of 2 groups of 32", "1 per 2 systems")
    assert subtitle(drawn(HYPERX)) == "8,064 NPUs, HyperX of 14 x 16, 2 planes"


@pytest.mark.parametrize("text", ORDERS)
def test_counts_are_those_of_the_bill(text: str) -> None:
    order, pieces = drawn(text), Counter[str]()
    bill = bill_of(read_order(text, PRODUCTS), PRODUCTS)
    for line in bill.lines:
        if not line.rule:
            pieces[line.product] += round(line.pieces)
    assert sum(tier.count for tier in order.tiers) == sum(pieces[name] for name in SWITCHES)
    cables = Counter[str]()
    for tier in order.tiers:
        for cable in (*tier.cables, *(cable for links in tier.between for cable in links.cables)):
            cables[cable.name] += cable.pieces
    assert cables == {name: pieces[name] for name in cables}
    assert order.order_usd == bill.order_usd().value


def test_pods_have_spines_of_their_own() -> None:
    # Pods of 128 servers: systems 1 to 32 are under leaves 1 to 8 and spines 1 to 32, the last ones under 225 to 256.
    systems, leaves, spines, cores = (
        [(box.first, box.last) for box in row] for row in drawn(PODS).sketch.rows
    )  # fmt: skip
    left = (0, 0)
    assert systems == [(1, 32), left, (993, 1024)]
    assert leaves == [(1, 1), (2, 2), left, (8, 8), left, (249, 249), (250, 250), left, (256, 256)]
    assert spines == [(1, 1), (2, 2), left, (32, 32), left, (225, 225), (226, 226), left, (256, 256)]
    assert cores == [*((number, number) for number in range(1, 8)), left, (128, 128)]
    below, between, _ = drawn(PODS).sketch.lines
    assert below == ((0, 0), (0, 1), (0, 3), (2, 5), (2, 6), (2, 8))
    assert {(one // 5, other // 5) for one, other in between} == {(0, 0), (1, 1)}
    assert len(between) == 2 * 3 * 3


def test_rails_that_share_switches_are_one_network() -> None:
    # 32 NPUs a rail on 64 ports: 8 rails take 4 switches, and each system is on all of them.
    order = drawn(SHARED)
    assert order.groups.trees == 1
    systems, _ = order.sketch.rows
    assert [box.first for box in systems] == [1, 2, 3, 4, 5, 6, 7, 0, 32]
    assert order.sketch.lines == (tuple((one, other) for one in (0, 1, 2, 3, 4, 5, 6, 8) for other in range(4)),)


@pytest.mark.parametrize("text", ORDERS)
def test_boxes_do_not_overlap(text: str) -> None:
    for row in drawn(text).sketch.rows:
        ends = 0.0
        for box in row:
            assert box.slot >= ends
            ends = box.slot + box.slots
        assert ends <= 9


def test_an_order_that_no_vendor_accepts_is_not_drawn() -> None:
    with pytest.raises(InputError, match="takes no NIC with 1 x 800G"):
        drawn("128 hgx-h100 / 1 x 800G / q3450-ld fat tree 2:1")


def test_rented_slices_are_drawn() -> None:
    order = drawn("1 tpu-v4-slice-64")
    assert (subtitle(order), order.tiers) == ("64 NPUs, slice", ())
    # 64 cubes of 6 faces of 16 links, over 48 switches (TPU v4, ISCA 2023).
    assert drawn("1 tpu-v4-slice-4096").scale_up == (
        "16 x 16 x 16, ici-v4, 300 GB/s per NPU, 6,144 optical links over 48 palomar-136"
    )


def test_planes_that_all_rails_meet_in_are_planes() -> None:
    order = drawn("512 hgx-b300 / 8 x 100G / 8 planes / th5-512 rail-optimised 1:1")
    assert [apart_text(order, tier) for tier in order.tiers] == ["16 in each plane", "8 in each plane"]
