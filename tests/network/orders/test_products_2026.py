"""The catalogue products-2026: figures by hand, sources, and nothing in a system that is paid for twice."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evo_libra.network.catalog.accelerator import leaves
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.orders.catalog import load_products, products_names
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.limits import Limits, limited_products
from evo_libra.network.orders.mistakes import product_mistakes
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.products import (
    PriceSpec,
    ProductSpec,
)
from evo_libra.network.orders.racks import systems_per_rack

PRODUCTS = load_products("products-2026")
YEAR = re.compile(r"\b20[0-9]{2}\b")
GROUPS = ("systems", "nics", "switches", "cables", "modules", "ocs")
ENTRIES: dict[str, ProductSpec] = {
    f"{group}.{name}": entry for group in GROUPS for name, entry in getattr(PRODUCTS, group).items()
}


def value(price: float | PriceSpec | None) -> float | None:
    return price.value if isinstance(price, PriceSpec) else price


def ends(price: float | PriceSpec | None) -> tuple[float, float]:
    assert price is not None
    return (price.low, price.high) if isinstance(price, PriceSpec) else (price, price)


def test_the_catalogue_comes_with_the_package_and_has_no_mistakes() -> None:
    assert products_names() == ["products-2026"]
    assert list(product_mistakes(PRODUCTS)) == []
    assert load_products("products-2026") is PRODUCTS, "a process opens it once"


SYSTEMS = [
    # name, NPU, NPUs, GB/s inside, rails, slot GB/s, value of the price, kW, rack units, a rack, cooling
    ("hgx-h100", "h100-80gb", 8, 450, 8, 63, 313_500, 10.2, 8, False, "air"),
    ("hgx-h200", "h200-141gb", 8, 450, 8, 63, 340_000, 10.2, 8, False, "air"),
    ("hgx-b200", "b200", 8, 900, 8, 63, 400_000, 14.3, 10, False, "air"),
    ("hgx-b300", "b300", 8, 900, 8, 126, 450_000, 14.0, 10, False, "air"),
    ("gb200-nvl72", "gb200", 72, 900, 4, 63, 3_400_000, 120, 48, True, "liquid"),
    ("gb300-nvl72", "gb300", 72, 900, 4, 126, 4_000_000, 132, 48, True, "liquid"),
    ("mi325x-8", "mi325x", 8, 448, 8, 63, None, 12.6, 8, False, "air"),
    ("mi350x-8", "mi350x", 8, 537.6, 8, 63, None, 12.6, 8, False, "air"),
    # Eight GPUs at 23,000 USD and a host at 60,000 USD; 8 x 1.4 kW and 4.6 kW.
    ("mi355x-8", "mi355x", 8, 537.6, 8, 63, 244_000, 15.8, 4, False, "liquid"),
    # 1.2 million CNY at 7.25 a USD are 165,500 USD; 10.2 kW less 8 x 0.3 kW.
    ("hgx-h20", "h20-96gb", 8, 450, 8, 63, 165_000, 7.8, 8, False, "air"),
    ("hgx-h800", "h800-80gb", 8, 200, 8, 63, None, 10.2, 8, False, "air"),
    # Eight cards at 9,000 USD and a host at 30,000 USD; 5.5 kW of ten less 2 x 0.35 kW.
    ("l40s-8", "l40s-48gb", 8, 31, 8, 63, 102_000, 4.8, 4, False, "air"),
    # Eight cards at 16,000 USD and a host at 60,000 USD.
    ("rtx-pro-6000-8", "rtx-pro-6000", 8, 63, 8, 63, 188_000, 7.0, 4, False, "air"),
    # Racks ran at partners in August 2026 (NVIDIA's results); 7.8 million USD (Morgan Stanley, May 2026).
    ("vr200-nvl72", "vr200", 72, 1800, 4, 252, 7_800_000, 230, 48, True, "liquid"),
    ("gaudi3-8", "gaudi3", 8, 525, 8, 75, 185_000, 11.8, 8, False, "air"),
    ("cloudmatrix-384", "ascend-910c", 384, 392, 8, 50, 8_200_000, 559, 48, True, "liquid"),
]


@pytest.mark.parametrize("row", SYSTEMS, ids=lambda row: row[0])
def test_a_system_has_the_figures_of_its_sources(row: tuple[Any, ...]) -> None:
    it = PRODUCTS.systems[row[0]]
    assert it.slots is not None
    inside = (it.npu, it.npus, it.scale_up.GBps, it.rails, it.slots.GBps)
    assert (inside, value(it.price_usd), it.kW, it.height_U, it.is_rack, it.cooling) == (row[1:6], *row[6:])
    assert it.order == "buy"
    assert it.sizes == (row[2],)


@pytest.mark.parametrize(("name", "held"), [("hgx-h100", 4), ("hgx-b200", 4), ("hgx-b300", 4), ("gb300-nvl72", 1)])
def test_racks_hold_what_reference_architectures_have_in_them(name: str, held: int) -> None:
    # DGX SuperPOD (docs.nvidia.com): 4 DGX H100 in 41 kW, of which 60 kW would hold 5, and 4 DGX B300 in 56 kW.
    assert systems_per_rack(name, PRODUCTS) == held


def test_a_rack_of_less_power_holds_fewer_than_its_reference() -> None:
    # 3 x 10.2 kW in 40 kW, not 4.
    assert systems_per_rack("hgx-h100", limited_products(PRODUCTS, Limits(rack_kW=40))) == 3


def test_a_rack_that_liquid_cools_holds_as_many_as_its_power() -> None:
    # 140 kW of 15.8 kW each; 12 by units. Eight such servers are in a rack of Colossus (electronicdesign.com, 2024).
    assert systems_per_rack("mi355x-8", PRODUCTS) == 8
    assert systems_per_rack("mi355x-8", limited_products(PRODUCTS, Limits(rack_kW=100))) == 6


SWITCHES = [
    # name, layer, ports of each mode by Gb/s and rate of a lane, cages, value of the price, W
    ("qm9700", "infiniband", {(400, 100): 64, (200, 100): 128}, 32, 40_000, 747),
    ("q3400-ra", "infiniband", {(800, 200): 144, (400, 100): 144}, 72, 149_939, 4840),
    ("q3450-ld", "infiniband", {(800, 200): 144}, 144, 351_395, 3950),
    ("sn5600", "ethernet", {(800, 100): 64, (400, 100): 128, (200, 100): 256}, 64, 89_600, 913),
    ("th5-64", "ethernet", {(800, 100): 64, (400, 100): 128, (200, 100): 256}, 64, 45_000, 913),
    ("sn5640", "ethernet", {(800, 100): 64, (400, 100): 128, (200, 100): 256, (100, 100): 512}, 64, None, 913),
    ("th-ultra-512", "ethernet", {(800, 100): 64, (100, 100): 512}, 64, None, None),
    ("arista-7816r4", "ethernet", {(800, 100): 576, (400, 100): 1152}, 576, None, None),
    ("sn6600", "ethernet", {(800, 200): 128}, 64, None, None),
    ("sn6800-ld", "ethernet", {(800, 200): 512}, 512, None, None),
    ("sn6810-ld", "ethernet", {(800, 200): 128}, 128, None, None),
]


@pytest.mark.parametrize("row", SWITCHES, ids=lambda row: row[0])
def test_a_switch_has_the_figures_of_its_sources(row: tuple[Any, ...]) -> None:
    it = PRODUCTS.switches[row[0]]
    modes = {(mode.Gbps, mode.lane_Gbps): mode.ports for mode in it.modes}
    assert (it.layer, modes, it.cages, value(it.price_usd), it.power_W) == row[1:]


RENTED = (
    "tpu-v4-slice", "tpu-v5p-slice", "tpu-v6e-slice", "tpu7x-slice", "trn2-server", "trn2-ultraserver",
    "trn3-ultraserver",
)  # fmt: skip


def test_systems_that_cannot_be_bought_say_so() -> None:
    orders = {name: it.order for name, it in PRODUCTS.systems.items() if it.order != "buy"}
    assert orders == {"helios-mi455x": "roadmap", **dict.fromkeys(RENTED, "rent"), "maia-200-cluster": "own"}
    unpriced = {name for name, it in PRODUCTS.systems.items() if it.price_usd is None}
    assert unpriced == {"mi325x-8", "mi350x-8", "helios-mi455x", "hgx-h800", "maia-200-cluster", *RENTED}
    assert {name: it.until for name, it in PRODUCTS.systems.items() if it.until} == {
        "hgx-h20": "2025", "hgx-h800": "2023-10",
    }  # fmt: skip


def test_what_is_announced_is_in_an_order_where_a_buyer_asks_for_it() -> None:
    order = read_order("16 helios-mi455x / 3 x 800G / sn6600 rail-optimised 1:1", PRODUCTS)
    assert violations(order, PRODUCTS)[0].startswith("helios-mi455x has order: roadmap; limits.order allows buy")
    (left,) = violations(order, PRODUCTS, Limits(order=("buy", "roadmap")))
    assert left.startswith("sn6600 has no power_W")  # announced, too, and asked for


def test_what_ships_with_a_price_is_bought() -> None:
    order = read_order("16 vr200-nvl72 / 2 x 800G / q3400-ra rail-optimised 1:1", PRODUCTS)
    assert violations(order, PRODUCTS, priced=True) == []


@pytest.mark.parametrize("name", ENTRIES)
def test_what_nobody_publishes_says_so(name: str) -> None:
    entry = ENTRIES[name]
    on_board = name.endswith(("-onboard", "-half"))
    if entry.order == "buy" and entry.price_usd is None and not on_board:
        assert re.search("[Nn]o (public )?price", " ".join(entry.source.split())), entry.source


@pytest.mark.parametrize("name", PRODUCTS.systems)
def test_the_network_inside_is_one_of_its_accelerator(name: str) -> None:
    it = PRODUCTS.systems[name].scale_up
    rate = accelerator(PRODUCTS.systems[name].npu).wire_rate(it.technology) / 1e9
    # A server of Trainium2 has four links of 128 GB/s; those of its UltraServer have two of 64 GB/s more.
    assert it.GBps == pytest.approx(512 if name == "trn2-server" else rate)


@pytest.mark.parametrize("name", ENTRIES)
def test_each_source_is_of_a_figure_and_has_a_year(name: str) -> None:
    entry = ENTRIES[name]
    figures = entry.model_dump(exclude={"sources", "source", "year"}, exclude_none=True)
    known = {key.rsplit(".", cut)[0] for key, _ in leaves(figures) for cut in range(key.count(".") + 1)}
    lacking = {key: text for key, text in entry.sources.items() if ELSEWHERE.match(text) and key in ASKED}
    assert set(entry.sources) - lacking.keys() <= known
    derived = re.compile(r"\b[Aa]s of\b")
    dated = {key: text for key, text in entry.sources.items() if key not in lacking}
    assert [key for key, text in dated.items() if not YEAR.search(text) and not derived.search(text)] == []


ASKED = ("price_usd", "power_W", "kW")
ELSEWHERE = re.compile(
    r"No public (price|power) was found, looked for (in|at) .*20\d\d"
    r"|In the (price|power|rent) of (a|the) (server|slice|system)|It is not sold, in the data centres of "
)
"""Reasons for a figure that no source gives: where it was looked for, or who has it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_a_figure_that_no_source_gives_says_where_it_was_looked_for(name: str) -> None:
    entry = ENTRIES[name]
    rented = getattr(entry, "order", "") == "rent"
    keys = [key for key in ASKED if key in type(entry).model_fields and getattr(entry, key) is None]
    for key in keys if not rented else ["kW"]:
        text = " ".join(entry.sources.get(key, "").split())
        in_the_source = key == "price_usd" and re.search(r"No public price was found \(looked for", entry.source)
        assert ELSEWHERE.match(text) or in_the_source, f"{name} {key}: {text}"
    if rented and getattr(entry, "usd_per_npu_hour", None) is None:
        assert re.search(r"No public price.* (was|were) found \(looked for in", " ".join(entry.source.split()))


@pytest.mark.parametrize("name", ENTRIES)
def test_a_price_is_an_estimate_where_its_source_says_so(name: str) -> None:
    price, text = ENTRIES[name].price_usd, ENTRIES[name].sources.get("price_usd", "")
    estimated = isinstance(price, PriceSpec) and price.basis == "estimate"
    assert estimated == text.startswith("Estimate")


@pytest.mark.parametrize("name", PRODUCTS.rules)
def test_a_rule_has_a_source_or_waits_for_a_figure(name: str) -> None:
    rule = PRODUCTS.rules[name]
    assert (rule.units is None) == (rule.basis == "own")
    estimated = isinstance(rule.usd, PriceSpec) and rule.usd.basis == "estimate"
    assert not estimated or rule.basis == "estimate"


@pytest.mark.parametrize("name", [name for name, it in PRODUCTS.systems.items() if "nics" in it.includes and it.nics])
def test_the_parts_of_a_system_cost_and_draw_no_more_than_the_whole(name: str) -> None:
    """GPUs at their lowest price and the dearest NICs are within the price, so that nothing else may add them."""
    it = PRODUCTS.systems[name]
    npu = accelerator(it.npu)
    nics = [PRODUCTS.nics[nic] for nic in it.nics]
    watts = (npu.power or 0.0) + max(nic.power_W or 0.0 for nic in nics)
    assert it.kW is not None or it.order == "roadmap"
    assert it.kW is None or it.sizes[0] * watts <= it.kW * 1000
    if it.price_usd is not None and npu.price is not None:
        dearest = max(value(nic.price_usd) or 0.0 for nic in nics)
        assert it.sizes[0] * (npu.price[0] + dearest) <= ends(it.price_usd)[1]


def test_what_is_on_board_is_sold_with_its_system_alone() -> None:
    unpriced = {name for name, nic in PRODUCTS.nics.items() if nic.price_usd is None}
    assert {name for name in unpriced if not name.endswith(("-onboard", "-half"))} == {
        "connectx-8", "bluefield-4", "pollara-400",
    }  # fmt: skip
    for it in PRODUCTS.systems.values():
        assert not unpriced & set(it.nics) or "nics" in it.includes


@pytest.mark.parametrize("name", RENTED)
def test_a_slice_has_all_in_it(name: str) -> None:
    it = PRODUCTS.systems[name]
    assert set(it.includes) == {"nics", "scale-up", "host", "rack", "cooling", "scale-out", "optics"}
    assert (it.slots, it.nics) == (None, ())


def test_a_storage_port_costs_its_share_of_a_tree_at_the_prices_of_the_catalogue() -> None:
    # 128 ports at 2:1: 85 down and 43 up, so 43 / 85 uplinks a port, and 1/85 + 43/85/128 switches.
    switch, twin, single = PRODUCTS.switches["sn5600"], PRODUCTS.modules["osfp-2xdr4"], PRODUCTS.modules["osfp-dr4"]
    fibre = PRODUCTS.cables["dr-400"]
    uplinks = 43 / 85
    switches = 1 / 85 + uplinks / 128
    of_twin, of_single, of_fibre = (value(it.price_usd) or 0.0 for it in (twin, single, fibre))
    link, uplink = of_twin / 2 + of_single + of_fibre, of_twin + of_fibre
    usd = switches * (value(switch.price_usd) or 0.0) + link + uplinks * uplink
    watts = switches * (switch.power_W or 0.0) + twin.power_W / 2 + single.power_W + uplinks * twin.power_W
    rule = PRODUCTS.rules["storage-network"]
    assert usd == pytest.approx(3626, abs=1)
    assert value(rule.usd) == pytest.approx(usd, rel=0.01)
    assert rule.power_W == pytest.approx(watts, rel=0.01)
