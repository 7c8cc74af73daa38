"""The orders that a file allows: numbers of systems, networks, and reasons of what is left out."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest
from small_products import small_products

from evo_libra.errors import InputError
from evo_libra.files.source import parse_source, validate
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.choices import OrderChoices, OrdersOffered, offered_products, orders_of
from evo_libra.network.orders.counts import AboutSpec, SystemCount, counts_of
from evo_libra.network.orders.notation import written

PRODUCTS = small_products()
SOLD = load_products("products-2026")
SIX = "[hgx-h100, hgx-h200, hgx-b200, hgx-b300, gb200-nvl72, gb300-nvl72]"


def _choices(text: str) -> OrderChoices:
    return validate(OrderChoices, parse_source(text, "orders.yaml"))


def _offered(text: str) -> OrdersOffered:
    return orders_of(_choices(text), PRODUCTS)


def _written(text: str) -> list[str]:
    return [written(order, PRODUCTS) for order in _offered(text).orders]


@pytest.mark.parametrize(
    ("npus", "counts"),
    [
        (8064, [(112, 72), (126, 64)]),
        (8192, [(128, 64)]),
        ((7200, 9216), [(100, 72), (128, 72), (144, 64)]),
        (AboutSpec(about=8192), [(112, 72), (113, 72), (114, 72), (115, 72), (116, 72), (128, 64)]),
        (AboutSpec(about=8192, within=0.01), [(113, 72), (114, 72), (128, 64)]),
    ],
)
def test_systems_that_make_up_a_number(npus: Any, counts: list[tuple[int, int]]) -> None:
    system = PRODUCTS.systems["gb300-nvl72"]
    assert counts_of(system, npus) == [SystemCount(count, 72, active) for count, active in counts]


def test_a_domain_that_divides_no_number() -> None:
    whole = small_products(systems={"gb200-nvl72": _dumped("gb200-nvl72") | {"active": []}})
    offered = orders_of(_choices("{systems: gb200-nvl72, npus: 8192}"), whole)
    assert offered.orders == ()
    assert offered.reasons == (
        "gb200-nvl72: no domain of 72 divides 8,192; 8,064 = 112 x 72 is near, 8,208 = 114 x 72 nearer",
    )


def _dumped(name: str) -> dict[str, Any]:
    return PRODUCTS.systems[name].model_dump(mode="json")


def test_no_multiple_within_the_share() -> None:
    offered = _offered("{systems: gb300-nvl72, npus: {about: 100, within: 0.1}}")
    assert offered.reasons == (
        "gb300-nvl72: no multiple of 72 or 64 lies between 90 and 110 NPUs; 72 = 1 x 72 is near",
    )


def test_a_reason_is_told_once_with_all_that_it_leaves_out() -> None:
    choices = _choices("{systems: [hgx-b200, hgx-h200], npus: 64, fabric: {switches: sn5640}}")
    reason = (
        "sn5640 has no price_usd, which the cost of an order needs (leaf switches); `prices: {sn5640: ...}` gives USD "
        "of a piece"
    )
    assert orders_of(choices, SOLD, priced=True).reasons == (f"hgx-b200, hgx-h200: {reason}",)


def test_one_system_has_no_network() -> None:
    assert _written("{systems: [gb300-nvl72, hgx-b200], npus: 72, fabric: {families: tor, switches: th5-64}}")[:1] == [
        "1 gb300-nvl72"
    ]


def test_a_slice_is_rented() -> None:
    file = "{systems: tpu7x-slice, npus: 256%s}"
    assert _offered(file % "").reasons == ("tpu7x-slice has order: rent; limits.order allows buy",)
    assert _written(file % ", limits: {order: [buy, rent]}") == ["1 tpu7x-slice-256"]


def test_networks_of_a_server() -> None:
    assert _written(
        "{systems: hgx-b300, npus: 512, fabric: {families: rail-optimised, switches: [q3400, sn5600]}}"
    ) == [
        "64 hgx-b300 / 1 x 800G / q3400 rail-optimised 1:1",
        "64 hgx-b300 / 1 x 800G / q3400 rail-optimised 2:1",
        "64 hgx-b300 / 1 x 800G / sn5600 rail-optimised 1:1",
        "64 hgx-b300 / 1 x 800G / sn5600 rail-optimised 2:1",
        "64 hgx-b300 / 2 x 400G / sn5600 rail-optimised 1:1",
        "64 hgx-b300 / 2 x 400G / sn5600 rail-optimised 2:1",
        "64 hgx-b300 / 2 x 400G / 2 planes / sn5600 rail-optimised 1:1",
        "64 hgx-b300 / 2 x 400G / 2 planes / sn5600 rail-optimised 2:1",
    ]


def test_a_ratio_of_a_tier_that_is_not_there_makes_no_second_order() -> None:
    small = (
        "{systems: hgx-b200, nics: thor2, npus: 32, fabric: {families: fat-tree, switches: th5-64, ratio: {leaf: %s}}}"
    )
    one = ["4 hgx-b200 / thor2 1 x 400G / th5-64 fat tree 1:1"]
    assert _written(small % "[1, 2, 4]") == one
    assert _written(small % "4") == one


def test_dragonflies_and_hyperx_are_offered_where_a_file_names_them() -> None:
    file = "{systems: hgx-b300, npus: 4096, fabric: {switches: sn5600, ratio: {leaf: [1, 2], pod: [1, 7]}%s}}"
    assert not {"dragonfly", "hyperx"} & {order.family for order in _offered(file % "").orders}
    named = _written(file % ", families: [dragonfly, hyperx], planes: 1")
    # A ratio of groups is of dragonflies alone: 8 groups of 32 switches have 10 of 512 / 7 links to each other one.
    assert [text for text in named if "1 x 800G" in text] == [
        "512 hgx-b300 / 1 x 800G / sn5600 dragonfly 1:1",
        "512 hgx-b300 / 1 x 800G / sn5600 dragonfly 1:1 pods 7:1",
        "512 hgx-b300 / 1 x 800G / sn5600 dragonfly 2:1",
        "512 hgx-b300 / 1 x 800G / sn5600 dragonfly 2:1 pods 7:1",
        "512 hgx-b300 / 1 x 800G / sn5600 hyperx 1:1",
        "512 hgx-b300 / 1 x 800G / sn5600 hyperx 2:1",
    ]


def test_one_switch_is_the_same_network_in_each_family() -> None:
    file = (
        "{systems: hgx-b200, nics: thor2, npus: 64, fabric: {families: [rail-optimised, fat-tree], switches: th5-64}}"
    )
    offered = _offered(file)
    assert [written(order, PRODUCTS) for order in offered.orders] == [
        "8 hgx-b200 / thor2 1 x 400G / th5-64 rail-optimised 1:1"
    ]
    assert offered.reasons == ("fat-tree: its networks are those of another family of the file",)


@pytest.mark.slow
def test_orders_do_not_depend_on_what_else_is_offered() -> None:
    file = "{systems: %s, npus: {about: 2048}}"
    both = _offered(file % "[hgx-b300, gb300-nvl72]").orders
    assert both == _offered(file % "hgx-b300").orders + _offered(file % "gb300-nvl72").orders


def test_left_out_products_have_a_reason() -> None:
    offered = _offered(
        "{systems: [gb300-nvl72, mi999], npus: {about: 4096}, "
        "fabric: {families: [tor, rail-optimised], switches: [q3400, qm9700, th6]}}"
    )
    assert {order.switch for order in offered.orders} == {"q3400"}
    assert offered.reasons == (
        "mi999: cx8 with 2 x 400G sends 100 GB/s; a slot of mi999 (pcie5-x16) carries 63 GB/s",
        "qm9700 is a switch of infiniband; cx8-onboard has 2 x 400G with ethernet only",
        "th6 has order: roadmap; limits.order allows buy",
        "tor: gb300-nvl72 has 0 units free; 1 leaf of q3400 needs 4",
    )


def test_planes_uplinks_and_cables_of_a_file() -> None:
    file = "{systems: hgx-b200, nics: cx7, npus: 15360, fabric: {families: rail-optimised, switches: th5-64, %s}}"
    assert _written(file % "planes: 2, uplinks: 400, ratio: {leaf: 2, pod: 15}") == [
        "1920 hgx-b200 / 2 x 200G / 2 planes / th5-64 rail-optimised 2:1 uplinks 400G"
    ]
    offered = _offered(file % "cables: [dac-400, dac-800]")
    assert offered.orders == ()
    assert "reach" in offered.reasons[0]


@pytest.mark.parametrize(
    ("text", "key", "name"),
    [
        ("{systems: [hgx-b200, hgx-b30], npus: 64}", "systems[1]", "hgx-b300"),
        ("{systems: hgx-b200, nics: cx77, npus: 64}", "nics", "cx7"),
        ("{systems: hgx-b200, npus: 64, fabric: {switches: [qm970]}}", "fabric.switches[0]", "qm9700"),
        ("{systems: hgx-b200, npus: 64, fabric: {cables: [dac-40]}}", "fabric.cables[0]", "dac-400"),
        ("{systems: hgx-b200, npus: 64, limits: {suppliers: [edgecor]}}", "limits.suppliers[0]", "edgecore"),
    ],
)
def test_unknown_names_are_mistakes_with_their_key(text: str, key: str, name: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{name}'") as caught:
        _offered(text)
    assert [mistake.key for mistake in caught.value.mistakes] == [key]


@pytest.mark.slow
@pytest.mark.parametrize("npus", ["8192", "{about: 8192}", pytest.param("{about: 16384}", marks=pytest.mark.slow)])
def test_all_orders_pass_the_check_and_differ(npus: str) -> None:
    choices = _choices(f"{{systems: {SIX}, npus: {npus}}}")
    orders = orders_of(choices, SOLD).orders
    own = offered_products(choices, SOLD)
    assert {order.system for order in orders} >= {"hgx-h100", "hgx-b200", "hgx-b300", "gb200-nvl72", "gb300-nvl72"}
    assert not any(violations(order, own) for order in orders)
    assert len({(order.of(1), order.count) for order in orders}) == len(orders)
    assert orders == orders_of(choices, SOLD).orders


@pytest.mark.slow
def test_a_large_file_is_quick() -> None:
    choices = _choices(
        f"{{systems: {SIX}, npus: {{about: 8192}}, fabric: {{switches: [qm9700, q3400-ra, sn5600, th5-64, th5-512]}}}}"
    )
    start = perf_counter()
    orders_of(choices, SOLD)
    assert perf_counter() - start < 6  # 2 s on a machine that does nothing else


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{systems: [], npus: 64}", "systems: found [] (list), a length of at least 1 is needed"),
        (
            "{systems: hgx-b200, npus: 64, fabric: {families: rail-optimized}}",
            (
                "fabric.families: found 'rail-optimized' (text); allowed: rail-optimised, tor, fat-tree, rail-only, "
                "dragonfly, hyperx, ocs-rails, apart; did you mean 'rail-optimised'?"
            ),
        ),
        (
            "{systems: hgx-b200, npus: 64, limits: {month: 2026-13}}",
            "limits.month: found '2026-13' (text), a month or a year, such as 2026-11 is needed",
        ),
    ],
)
def test_mistakes_of_a_file(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        _choices(text)
    assert str(caught.value).partition(": ")[2] == message


def test_a_file_has_at_most_five_hundred_numbers_of_systems() -> None:
    fitting = "{systems: [hgx-h100], npus: {about: 100001, within: 0.019}}"
    assert len(counts_of(SOLD.systems["hgx-h100"], _choices(fitting).npus)) == 475
    with pytest.raises(InputError) as caught:
        orders_of(_choices("{systems: [hgx-h100, hgx-h200], npus: {about: 100001, within: 0.019}}"), SOLD)
    (mistake,) = caught.value.mistakes
    assert mistake.key == "npus"
    assert mistake.message == "allows 950 numbers of systems, and 500 at most can be tried; allow fewer NPUs"
