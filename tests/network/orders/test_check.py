"""The check of an order: each rule with its sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from small_products import DATA, small_products

from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.limits import Limits
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.order import Order

PRODUCTS = small_products()
GOOD = (
    "1 gb300-nvl72",
    "4 gb300-nvl72",  # apart, as replicas of a served model may be
    "4 hgx-b200 / cx7 1 x 400G / qm9700 tor 1:1",
    "32 hgx-b200 / cx7 1 x 400G / qm9700 rail-optimised 1:1",
    "32 hgx-b200 / thor2 1 x 400G / th5-64 tor 2:1",
    "64 hgx-b300 / 2 x 400G / 2 planes / sn5600 rail-only 1:1",
    "64 hgx-b300 / 2 x 400G / 2 planes / sn5600 dragonfly 1:1",
    "64 hgx-b300 / 1 x 800G / sn5600 hyperx 2:1",
    "112 gb300-nvl72 / 1 x 800G / q3400 rail-optimised 1:1",
    "128 gb200-nvl72 (64 active) / 1 x 400G / qm9700 rail-optimised 1:1 pods 7:1",
    "1920 hgx-b200 / 2 x 200G / 2 planes / th5-64 rail-optimised 16:15 uplinks 400G",
)


def _unpriced(product: str, what: str) -> str:
    give = f"`prices: {{{product}: ...}}` gives USD of a piece"
    return f"{product} has no price_usd, which the cost of an order needs ({what}); {give}"


def _broken(text: str, **limits: Any) -> list[str]:
    return violations(read_order(text, PRODUCTS), PRODUCTS, Limits(**limits))


@pytest.mark.parametrize("text", GOOD)
def test_orders_that_a_vendor_accepts(text: str) -> None:
    assert _broken(text) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "1 gb300-nvl72 / 1 x 800G / q3400 rail-optimised 1:1",
            "one gb300-nvl72 needs no switches: its scale-up network joins its NPUs",
        ),
        ("2 gb300-nvl72 (60 active) / 1 x 800G / q3400 rail-optimised 1:1",
         "72 or 64 of 72 NPUs of gb300-nvl72 can be in use, not 60"),
        ("32 hgx-b300 / cx8 2 x 400G / sn5600 tor 1:1", "hgx-b300 does not take cx8; allowed: cx8-onboard"),
        ("32 hgx-b200 / cx7 4 x 100G / th5-64 tor 1:1", "cx7 has no mode of 4 x 100G; allowed: 1 x 400G, 2 x 200G"),
        ("32 mi999 / 1 x 800G / sn5600 tor 1:1",
         "cx8 with 1 x 800G sends 100 GB/s; a slot of mi999 (pcie5-x16) carries 63 GB/s"),
        ("32 hgx-b300 / 1 x 800G / 2 planes / sn5600 tor 1:1", "1 port of an NPU cannot be in 2 planes alike"),
        ("32 hgx-b300 / 2 x 400G / q3400 tor 1:1",
         "q3400 is a switch of infiniband; cx8-onboard has 2 x 400G with ethernet only"),
        ("32 hgx-b300 / 1 x 800G / qm9700 tor 1:1",
         "qm9700 has no infiniband ports of 800 Gb/s that cx8-onboard takes; its modes: 64 x 400G, 128 x 200G"),
        ("32 hgx-b200 / cx7 1 x 400G / qm9700 tor 1:1 uplinks 800G",
         "qm9700 has no ports of 800 Gb/s; its modes: 64 x 400G, 128 x 200G"),
        ("32 hgx-b300 / 1 x 800G / th6 tor 1:1", "th6 has order: roadmap; limits.order allows buy"),
        ("1 tpu7x-slice-64", "tpu7x-slice has order: rent; limits.order allows buy"),
        ("112 gb300-nvl72 / 1 x 800G / q3400 tor 1:1",
         "gb300-nvl72 has 0 units free; 1 leaf of q3400 needs 4"),
        ("8 hgx-b200 / cx7 1 x 400G / qm9700 tor 1:1",
         "one qm9700 joins all systems of 2 racks; tor has leaves in each rack"),
        ("32 hgx-b200 / cx7 1 x 400G / qm9700 rail-optimised 1:1 pods 7:1",
         "a ratio of pods of 7:1 needs three tiers; this network has 2 tiers"),
        ("64 hgx-b200 / cx7 1 x 400G / th5-64 hyperx 1:1 pods 2:1",
         "a ratio of pods of 2:1 needs groups; hyperx has none"),
        ("64 hgx-b200 / cx7 2 x 200G / th5-64 dragonfly 1:1 uplinks 400G",
         "links of a dragonfly have the rate of its NICs; uplinks of another rate are of trees"),
        ("8 hgx-b200 / cx7 1 x 400G / qm9700 dragonfly 1:1",
         "no dragonfly of qm9700 joins 64 NPUs: one switch does"),
        ("4096 hgx-b200 / cx7 1 x 400G / qm9700 hyperx 1:1",
         "no hyperx of qm9700 joins 32,768 NPUs: no grid of two dimensions has enough ports"),
        ("8 hgx-b200 / cx7 1 x 400G / qm9700 fat tree 2:1",
         "a ratio of leaves of 2:1 needs two tiers; this network has 1 tier"),
    ],
)  # fmt: skip
def test_each_rule_has_a_sentence(text: str, sentence: str) -> None:
    assert _broken(text) == [sentence]


def test_several_systems_have_a_network_or_are_apart() -> None:
    joined = Order("gb300-nvl72", 4, 72, 72, family="none")
    assert violations(joined, PRODUCTS, Limits()) == [
        "nothing joins 4 gb300-nvl72 of 72 NPUs: a network needs NICs and a switch"
    ]
    assert violations(replace(joined, family="apart"), PRODUCTS, Limits()) == []


def test_a_system_of_several_racks_is_bought_alone() -> None:
    """559 kW in 16 racks are 34.9 kW in each."""
    products = load_products("products-2026")
    assert violations(read_order("1 cloudmatrix-384", products), products, Limits(rack_kW=35.0)) == []
    assert violations(read_order("1 cloudmatrix-384", products), products, Limits(rack_kW=34.0)) == [
        "cloudmatrix-384 takes 34.94 kW; a rack has 34 kW"
    ]
    two = read_order("2 cloudmatrix-384 / 2 x 200G / th5-64 fat tree 1:1", products)
    assert violations(two, products) == ["cloudmatrix-384 fills 16 racks; no source says how 2 of them are cabled"]


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"cooling": ("air",)}, "gb300-nvl72 is cooled by liquid; the room has air"),
        ({"rack_kW": 100.0}, "gb300-nvl72 takes 132 kW; a rack has 100 kW"),
        ({"suppliers": ("edgecore",)}, "q3400 comes from nvidia; limits.suppliers allows edgecore"),
        # 112 x 132 kW and (112 + 72) x 0.9 kW.
        ({"room_MW": 14.0}, "systems, switches and optics take 14.95 MW; the room has 14 MW"),
    ],
)
def test_limits_have_a_sentence(limits: dict[str, Any], sentence: str) -> None:
    broken = _broken("112 gb300-nvl72 / 1 x 800G / q3400 rail-optimised 1:1", **limits)
    assert broken == [sentence]


def test_what_a_limit_allows_is_met_exactly() -> None:
    assert _broken("112 gb300-nvl72 / 1 x 800G / q3400 rail-optimised 1:1", rack_kW=132.0) == []
    slots = {"slots": {"bus": "pcie5-x16", "GBps": 50.0}, "includes": ["nics", "scale-up", "host"]}
    systems = DATA["systems"] | {"hgx-b200": DATA["systems"]["hgx-b200"] | slots}
    rack = DATA["room"]["rack"] | {"U": 8.0, "kW": 14.0}
    tight = small_products(systems=systems, room=DATA["room"] | {"rack": rack})
    order = read_order("32 hgx-b200 / thor2 1 x 400G / th5-64 rail-optimised 1:1", tight)
    watts = bill_of(order, tight).watts()
    assert violations(order, tight, Limits(room_MW=watts / 1e6)) == []


@pytest.mark.parametrize(("slots", "is_refused"), [(None, True), (1.0, True), (2.0, False)])
def test_an_npu_has_as_many_nics_as_slots(slots: float | None, *, is_refused: bool) -> None:
    found = None if slots is None else {"per_npu": slots, "bus": "pcie5-x16", "GBps": 63.0}
    products = small_products(systems={"hgx-b200": DATA["systems"]["hgx-b200"] | {"slots": found}})
    broken = violations(read_order("32 hgx-b200 / cx7 2 x 400G / qm9700 fat tree 1:1", products), products)
    assert broken[:1] == ["cx7 has no mode of 2 x 400G; allowed: 1 x 400G, 2 x 200G"] * is_refused


def test_a_rack_that_holds_no_server() -> None:
    text = "32 hgx-b200 / thor2 1 x 400G / th5-64 rail-optimised 1:1"
    assert _broken(text, rack_kW=12.0) == ["hgx-b200 takes 14 kW; a rack has 12 kW"]
    flat = small_products(room=DATA["room"] | {"rack": DATA["room"]["rack"] | {"U": 6.0}})
    assert violations(read_order(text, flat), flat) == ["hgx-b200 takes 8 units; a rack has 6"]


@pytest.mark.parametrize(
    ("kilowatts", "sentences"),
    [
        # 8 x 15.8 kW and two leaves of 0.747 kW, with 16 cables of 0.1 W and 16 modules of 17 W, are 128.44 kW of 140.
        (None, []),
        (128.5, []),
        (128.4, ["one qm9700 joins all systems of 2 racks; tor has leaves in each rack"]),
        (20, ["one qm9700 joins all systems of 8 racks; tor has leaves in each rack"]),
        (16.8, ["a rack of 48 units and 16.8 kW does not take mi355x-8 with its leaves"]),
        (15, ["mi355x-8 takes 15.8 kW; a rack has 15 kW"]),
    ],
)
def test_a_rack_of_servers_that_liquid_cools_has_a_power(kilowatts: float | None, sentences: list[str]) -> None:
    products = load_products("products-2026")
    order = read_order("8 mi355x-8 / connectx-7 1 x 400G / qm9700 tor 1:1", products)
    assert violations(order, products, Limits(rack_kW=kilowatts)) == sentences


def test_a_cable_that_does_not_reach() -> None:
    short = small_products(cables={name: DATA["cables"][name] for name in ("dac-400", "dac-800")})
    broken = violations(read_order("32 hgx-b200 / thor2 1 x 400G / th5-64 rail-optimised 1:1", short), short)
    assert broken == ["no cable of 400 Gb/s reaches 6 m between a switch and a cage of 1 ports"]


def test_products_without_a_price_where_cost_is_asked() -> None:
    order = read_order("32 mi999 / cx8 2 x 400G / th5-64 tor 1:1", PRODUCTS)
    cables = {name: DATA["cables"][name] | {"price_usd": None} for name in DATA["cables"]}
    slots = {"slots": {"bus": "pcie6-x16", "GBps": 126.0}}
    products = small_products(cables=cables, systems=DATA["systems"] | {"mi999": DATA["systems"]["mi999"] | slots})
    assert violations(order, products) == []
    assert violations(order, products, priced=True) == [
        _unpriced("mi999", "systems of 8 NPUs"), _unpriced("dac-400", "cables to leaves, 2 m"),
        _unpriced("dr-400", "cables to spines, 6 to 8 m"),
    ]  # fmt: skip


def test_an_order_of_unknown_products() -> None:
    order = Order("hgx-b20", 2, 8, 8, "cx", 1, 400.0, 1, "tor", "th")
    assert [sentence.partition(";")[0] for sentence in violations(order, PRODUCTS)] == [
        "unknown system 'hgx-b20'",
        "unknown NIC 'cx'",
        "unknown switch 'th'",
    ]


def test_a_product_is_sold_from_its_first_month_to_its_last() -> None:
    systems = DATA["systems"] | {"hgx-b200": DATA["systems"]["hgx-b200"] | {"since": "2025-01", "until": "2026"}}
    products = small_products(systems=systems)
    order = read_order("32 hgx-b200 / thor2 1 x 400G / th5-64 tor 1:1", products)
    found = {
        month: violations(order, products, Limits(month=month)) for month in ("2024-12", "2025", "2026-12", "2027-01")
    }
    assert found == {
        "2024-12": ["hgx-b200 is sold from 2025-01; the order is of 2024-12"],
        "2025": [],
        "2026-12": [],
        "2027-01": ["hgx-b200 was sold until 2026; the order is of 2027-01"],
    }


@pytest.mark.parametrize(("fabric", "sentence"), [
    ("tor of 2 1:1", ""),
    ("tor of 6 1:1", "a rack of 6 hgx-h100 with leaves is too full; one takes 4"),
    ("fat tree of 2 1:1", "systems of a rack are stated for tor alone, not for fat tree"),
    ("dragonfly of 2 1:1", "systems of a rack are stated for tor alone, not for dragonfly"),
])  # fmt: skip
def test_a_rack_of_tor_has_as_many_systems_as_stated(fabric: str, sentence: str) -> None:
    products = load_products("products-2026")
    order = read_order(f"128 hgx-h100 / 1 x 400G / th5-64 {fabric}", products)
    assert violations(order, products) == [sentence] * bool(sentence)
