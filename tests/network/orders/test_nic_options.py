"""NICs in the place of those that systems include: price, power, racks, slots, notation, and what switches reach."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.files.source import parse_source, validate
from evo_libra.network.blocks import Range
from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products, with_powers, with_prices
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.choices import OrderChoices, orders_of
from evo_libra.network.orders.nic_options import added_kilowatts, reached
from evo_libra.network.orders.notation import read_order, written
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.tor_racks import systems_of_rack

PRODUCTS = load_products("products-2026")
OWN = "32 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1"
OTHER = "32 hgx-h100 / bluefield-3 1 x 400G / qm9700 rail-optimised 1:1"


def changed(group: str, name: str, **figures: Any) -> ProductsSpec:
    """Return the catalogue with other figures of a product."""
    products = getattr(PRODUCTS, group)
    other = products[name].model_validate_json(json.dumps(products[name].model_dump(mode="json") | figures))
    return PRODUCTS.model_copy(update={group: products | {name: other}})


def slots(name: str, **figures: Any) -> ProductsSpec:
    """Return the catalogue with other slots of a system."""
    own = PRODUCTS.systems[name].slots
    assert own is not None
    return changed("systems", name, slots=own.model_dump(mode="json") | figures)


def test_nics_cost_and_take_what_they_do_beyond_those_in_whose_place_they_are() -> None:
    # 256 cards of 2,500 (2,000 to 3,000) less 1,499 (1,499 to 1,580) USD, and of 75 less 24.6 W.
    order = read_order(OTHER, PRODUCTS)
    bill = bill_of(order, PRODUCTS)
    (line,) = (line for line in bill.lines if line.product == "bluefield-3" and line.section == "network")
    assert (line.what, line.pieces) == ("NICs in the place of connectx-7, for the difference", 256)
    assert line.usd == Range(2000 - 1580, 1001, 3000 - 1499)
    assert line.power() == pytest.approx(256 * 50.4)
    assert line.source.startswith("2,000 to 3,000 USD (yobitel.com), 2026; less 1,499 USD in MixNet")
    assert violations(order, PRODUCTS, priced=True) == []


def test_an_order_with_the_included_nics_has_no_line_of_them() -> None:
    lines = bill_of(read_order(OWN, PRODUCTS), PRODUCTS).lines
    assert not {line.product for line in lines} & set(PRODUCTS.nics)


def test_spare_servers_have_the_nics_of_the_order() -> None:
    # One of 72 servers is spare, with eight cards, whose power no bill counts.
    order = read_order("72 hgx-h100 / bluefield-3 1 x 400G / qm9700 fat tree 1:1", PRODUCTS)
    bill = bill_of(order, PRODUCTS)
    (line,) = (line for line in bill.lines if line.product == "bluefield-3" and line.section == "spares")
    assert (line.pieces, line.rule, line.watts) == (8, "spare-servers", 0.0)
    assert line.cents()[1] == 8 * 100_100


def test_a_buyers_price_of_either_nic_counts() -> None:
    own = with_prices(PRODUCTS, {"bluefield-3": 2200.0, "connectx-7": 1500.0})
    (line,) = (line for line in bill_of(read_order(OTHER, own), own).lines if line.section == "network" and line.usd
               and line.product == "bluefield-3")  # fmt: skip
    assert line.usd == Range(700, 700, 700)


def test_a_rack_holds_as_many_systems_as_their_nics_leave_power_for() -> None:
    # Eight cards add 0.4032 kW to 10.2 kW: a rack of 42 kW takes four servers, and three with the other NICs.
    assert PRODUCTS.room is not None
    rack = PRODUCTS.room.rack.model_copy(update={"kW": 42.0})
    room = PRODUCTS.room.model_copy(update={"rack": rack})
    tight = PRODUCTS.model_copy(update={"room": room})
    orders = [read_order(text, tight) for text in (OWN, OTHER)]
    assert [added_kilowatts(order, tight) for order in orders] == pytest.approx([0.0, 0.4032])
    assert [systems_of_rack(order, tight) for order in orders] == [4, 3]


def test_the_notation_names_a_nic_in_the_place_of_another() -> None:
    order = read_order(OTHER, PRODUCTS)
    assert (order.nic, written(order, PRODUCTS)) == ("bluefield-3", OTHER)
    assert read_order(OWN, PRODUCTS).nic == "connectx-7"
    with pytest.raises(InputError, match=r"allowed: .*, bluefield-3 1 x 400G, connectx-8 1 x 400G$"):
        read_order("32 hgx-h100 / 2 x 400G / qm9700 fat tree 1:1", PRODUCTS)


@pytest.mark.parametrize(("text", "products", "sentence"), [
    (
        "32 hgx-h100 / connectx-8 2 x 400G / sn5600 fat tree 1:1", PRODUCTS,
        "connectx-8 with 2 x 400G sends 100 GB/s; a slot of hgx-h100 (pcie5-x16) carries 63 GB/s",
    ),
    (OTHER, slots("hgx-h100", bus="pcie5-x8"), "bluefield-3 needs pcie5-x16; a slot of hgx-h100 is pcie5-x8"),
    (
        OTHER.replace("hgx-h100", "hgx-b300"), PRODUCTS,
        "hgx-b300 does not take bluefield-3; allowed: connectx-8-onboard",
    ),
    (
        "32 hgx-h100 / connectx-8 1 x 400G / sn5600 fat tree 1:1", PRODUCTS,
        "connectx-8 has no power_W, which its place in racks needs; `powers: {connectx-8: ...}` gives W of a piece",
    ),
    (
        "32 hgx-h100 / connectx-8 1 x 400G / sn5600 fat tree 1:1", changed("nics", "connectx-8", power_W=30),
        ("connectx-8 has no price_usd, which the cost of connectx-8 in the place of connectx-7 needs; "
        "`prices: {connectx-8: ...}` gives USD of a piece"),
    ),
    (
        OTHER, changed("nics", "connectx-7", price_usd=None),
        ("connectx-7 has no price_usd, which the cost of bluefield-3 in the place of connectx-7 needs; "
        "`prices: {connectx-7: ...}` gives USD of a piece"),
    ),
])  # fmt: skip
def test_what_no_slot_carries_or_no_source_prices_is_refused(text: str, products: ProductsSpec, sentence: str) -> None:
    assert violations(read_order(text, products), products, priced=True) == [sentence]


@pytest.mark.parametrize(("system", "nic", "switch", "efficiency"), [
    ("hgx-h100", "bluefield-3", "sn5600", 0.95), ("hgx-h100", "connectx-7", "sn5600", 0.95),
    ("mi355x-8", "pollara-400", "sn5600", 0.8), ("hgx-h100", "bluefield-3", "th5-64", 0.8),
    ("hgx-h100", "bluefield-3", "qm9700", 0.95),
])  # fmt: skip
def test_a_switch_reaches_more_with_nics_of_its_platform(system: str, nic: str, switch: str, efficiency: float) -> None:
    order = read_order(f"32 {system} / {nic} 1 x 400G / {switch} fat tree 1:1", PRODUCTS)
    assert reached(order, PRODUCTS).efficiency == efficiency


def test_a_power_that_a_file_gives_is_that_of_a_piece() -> None:
    """30 W in place of the 24.6 of a ConnectX-7, in each of the 8 slots of a server: 43.2 W."""
    own = with_powers(with_prices(PRODUCTS, {"connectx-8": 2000.0}), {"connectx-8": 30.0, "hgx-h100": 9_000.0})
    order = read_order("32 hgx-h100 / connectx-8 1 x 400G / sn5600 fat tree 1:1", own)
    assert violations(order, own, priced=True) == []
    assert added_kilowatts(order, own) == pytest.approx(0.0432)
    assert own.systems["hgx-h100"].kW == 9
    assert own.nics["connectx-8"].sources["power_W"] == "the buyer's own"
    assert own.systems["hgx-h200"] == PRODUCTS.systems["hgx-h200"]


@pytest.mark.parametrize(("nics", "bought"), [
    ("", {"connectx-7", "connectx-7-dual"}),
    ("nics: [connectx-7, bluefield-3, connectx-8], ", {"connectx-7", "bluefield-3"}),
])  # fmt: skip
def test_nics_in_the_place_of_others_are_a_choice_where_a_file_names_them(nics: str, bought: set[str]) -> None:
    """A card of ConnectX-8 has no power, which its place in racks needs; a line says so."""
    fabric = "fabric: {families: fat-tree, switches: qm9700, ratio: {leaf: 1}}"
    source = parse_source(f"{{systems: hgx-h100, {nics}npus: 256, {fabric}}}", "orders.yaml")
    found = orders_of(validate(OrderChoices, source), PRODUCTS, priced=True)
    assert {order.nic for order in found.orders} == bought
    assert [reason.partition(",")[0] for reason in found.reasons] == ["connectx-8 has no power_W"] * bool(nics)
