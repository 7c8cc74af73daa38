"""Orders with rails of optical circuit switches: their counts by hand, links, bills, and what is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evo_libra.errors import InputError
from evo_libra.files.source import parse_source, validate
from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products, with_prices
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.choices import OrderChoices, offered_products, orders_of
from evo_libra.network.orders.circuits import ports_of_link
from evo_libra.network.orders.layout import layout_of
from evo_libra.network.orders.notation import read_order, written
from evo_libra.network.orders.places import places_of
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.tree import Tree, tree_of
from evo_libra.network.orders.wiring import wires_of

PRODUCTS = load_products("products-2026")
SERVERS = "24 hgx-h200 / 1 x 400G / polatis-192 ocs rails"
TRAYS = "16 gb200-nvl72 (64 active) / 1 x 400G / polatis-192 ocs rails"
PARALLEL = "24 gb300-nvl72 / 1 x 800G / polatis-192 ocs rails"
PORTS = "20 hgx-b300 / 2 x 400G / polatis-192 ocs rails"
ORDERS = (SERVERS, TRAYS, PARALLEL, PORTS)


def tree(text: str, products: ProductsSpec = PRODUCTS) -> Tree:
    return tree_of(read_order(text, products), products)


def network(text: str, products: ProductsSpec = PRODUCTS) -> dict[str, float]:
    """Return the pieces of each product of the network in a bill."""
    lines = bill_of(read_order(text, products), products).lines
    return {line.product: line.pieces for line in lines if line.section == "network"}


def with_cables(*names: str) -> ProductsSpec:
    return PRODUCTS.model_copy(update={"cables": {name: PRODUCTS.cables[name] for name in names}})


def test_a_link_takes_a_port_for_each_fibre() -> None:
    ocs = PRODUCTS.ocs["polatis-192"]
    assert [ports_of_link(ocs, fibres) for fibres in (2, 4, 8, 16)] == [2, 4, 8, 16]


def test_duplex_optics_of_servers() -> None:
    # 192 ports are 96 of NPUs with two fibres each: four rings of 24. Eight NPUs of a server make two of them.
    found = tree(SERVERS)
    assert (found.rings, found.leaves, found.down, found.links, found.tiers) == (4, 2, 96, 192, 1)
    assert network(SERVERS) == {"polatis-192": 2, "fr-400-nic": 192, "fr4-400": 192}


def test_racks_have_a_ring_for_each_place() -> None:
    # Six rings of 16 racks: 72 places of each take 12 circuit switches, those of spare NPUs with them.
    assert (tree(TRAYS).rings, tree(TRAYS).leaves, tree(TRAYS).links) == (6, 12, 16 * 72)


def test_parallel_optics_take_eight_ports() -> None:
    # 800 Gb/s have four fibres each way alone: 192 ports are 24 of NPUs, one ring.
    assert (tree(PARALLEL).rings, tree(PARALLEL).leaves) == (1, 72)
    # With parallel optics alone, 24 servers need a circuit switch for each of eight rails.
    assert network(SERVERS, with_cables("dr-400")) == {"polatis-192": 8, "dr-400": 192, "osfp-dr4": 192}


def test_both_ports_of_an_npu_have_rings() -> None:
    # Cages with two ports take parallel optics: a ring of 20 a switch, and 16 rings. A module serves both ports.
    assert tree(PORTS).leaves == 16
    assert network(PORTS) == {"polatis-192": 16, "dr-400-twin": 320, "osfp-2xdr4": 160}


@pytest.mark.parametrize("text", ORDERS)
def test_notation_is_read_back(text: str) -> None:
    order = read_order(text, PRODUCTS)
    assert (order.family, order.switch) == ("ocs-rails", "polatis-192")
    assert written(order, PRODUCTS) == text
    assert violations(order, PRODUCTS, priced=True) == []


@pytest.mark.parametrize("text", ORDERS)
def test_links_are_whole_rings_with_the_lengths_of_the_bill(text: str) -> None:
    order = read_order(text, PRODUCTS)
    (wires,), found = wires_of(order, tree(text), PRODUCTS), tree(text)
    # Each ring, a port of one place of all systems, is on one circuit switch, which has at most its rings.
    of_ring = [set(wires.upper[wires.lower_port == ring].tolist()) for ring in range(order.npus * order.ports)]
    assert {len(some) for some in of_ring} == {1}
    assert np.bincount(wires.upper).tolist()[0] == found.rings * order.count
    assert np.bincount(wires.upper).max() == found.down
    places, runs = places_of(order, found, PRODUCTS), layout_of(order, found, PRODUCTS).runs
    assert not len(places.short(wires, runs))
    assert sum(run.links for run in runs) == len(wires) == found.links


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "97 hgx-h200 / 1 x 400G / polatis-192 ocs rails",
            "polatis-192 has ports for a ring of 96 NPUs, and a rail has 97 NPUs, one of each hgx-h200",
        ),
        (
            "25 gb300-nvl72 / 1 x 800G / polatis-192 ocs rails",
            "polatis-192 has ports for a ring of 24 NPUs, and a rail has 25 NPUs, one of each gb300-nvl72",
        ),
        (
            "16 hgx-b300 / 2 x 400G / 2 planes / polatis-192 ocs rails",
            "ocs rails have no planes: each port of an NPU has rings of its own",
        ),
        (
            "16 hgx-h200 / 1 x 400G / palomar-136 ocs rails",
            "palomar-136 has order: own; limits.order allows buy",
        ),
        (
            "16 hgx-h200 / 1 x 400G / polatis-192 ocs rails 2:1",
            "a ratio of leaves of 2:1 needs two tiers; this network has 1 tier",
        ),
    ],
)
def test_what_is_refused(text: str, sentence: str) -> None:
    assert violations(read_order(text, PRODUCTS), PRODUCTS) == [sentence]


def test_light_reaches_from_nic_to_nic() -> None:
    # 16 servers, 4 of a rack: two racks on each side of that of the circuit switches, 6 and 7 m. Light goes 14 m.
    text = "16 hgx-h200 / 1 x 400G / polatis-192 ocs rails"
    order, cable = read_order(text, PRODUCTS), PRODUCTS.cables["fr-400-nic"]
    assert {run.metres for run in layout_of(order, tree(text), PRODUCTS).runs} == {6, 7}
    for reach, accepted in ((14, True), (13, False)):
        short = PRODUCTS.model_copy(update={"cables": {"fr": cable.model_copy(update={"reach_m": reach})}})
        assert (violations(order, short) == []) == accepted


def test_no_module_of_several_modes_passes_a_circuit_switch() -> None:
    order = read_order(SERVERS, PRODUCTS)
    (sentence,) = violations(order, with_cables("sr-400", "dac-400-split"))
    assert sentence == "no cable of single mode joins 1 x 400G of connectx-7 and a circuit switch"


def test_kinds_of_switches_go_with_their_families() -> None:
    with pytest.raises(InputError, match="unknown optical circuit switch 'qm9700'"):
        read_order("16 hgx-h200 / 1 x 400G / qm9700 ocs rails", PRODUCTS)
    with pytest.raises(InputError, match="unknown switch 'polatis-192'"):
        read_order("16 hgx-h200 / 1 x 400G / polatis-192 fat tree 1:1", PRODUCTS)


def offered(file: str) -> list[str]:
    choices = validate(OrderChoices, parse_source(file, "orders.yaml"))
    own = offered_products(choices, PRODUCTS)
    return [written(order, own) for order in orders_of(choices, PRODUCTS, priced=True).orders]


@pytest.mark.slow
def test_they_are_offered_where_a_file_names_them() -> None:
    file = "{systems: hgx-h200, npus: 192, fabric: {families: %s, switches: %s}}"
    rails = [text for text in offered(file % ("[ocs-rails, tor]", "qm9700")) if "ocs" in text]
    assert rails == [SERVERS, "24 hgx-h200 / 2 x 200G / polatis-192 ocs rails"]
    assert offered(file % ("ocs-rails", "polatis-192")) == rails
    assert not [text for text in offered("{systems: hgx-h200, npus: 192}") if "ocs" in text]


def test_a_family_without_an_order_has_its_reason() -> None:
    choices = validate(
        OrderChoices, parse_source("{systems: hgx-h200, npus: 1024, fabric: {families: ocs-rails}}", "orders.yaml")
    )
    found = orders_of(choices, PRODUCTS)
    assert found.orders == ()
    assert found.reasons[0].endswith("and a rail has 128 NPUs, one of each hgx-h200")


def test_prices_of_circuit_switches_are_the_buyers() -> None:
    bill = bill_of(read_order(SERVERS, PRODUCTS), with_prices(PRODUCTS, {"polatis-192": 50_000.0}))
    by_section = Counter({line.section: 0.0 for line in bill.lines})
    for line in bill.lines:
        if line.product == "polatis-192" and line.usd is not None:
            by_section[line.section] += line.pieces * line.usd.value
    # Two in the network, and one of 1 % as a spare.
    assert (by_section["network"], by_section["spares"]) == (100_000.0, 50_000.0)
    # 75 W each, and 10 W of each of 192 modules.
    assert bill.watts_of("network") == 2 * 75 + 192 * 10
