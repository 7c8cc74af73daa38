"""Lengths, cables, modules and bills of dragonflies and HyperX networks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import SAID, catalogue, order_of, switch_of

from evo_libra.errors import InputError
from evo_libra.network.blocks import Range
from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.direct import direct_of
from evo_libra.network.orders.direct_layout import topology_layout
from evo_libra.network.orders.layout import Layout
from evo_libra.network.orders.products import ProductsSpec

# Four systems of 10.2 kW fill a rack of 41 kW.
_PAIR = {"npus": 2, "rails": 2, "kW": 10.2, "height_U": 8, "price_usd": 100_000, "includes": ["nics", "scale-up"]}
_HGX = _PAIR | {"npus": 8, "rails": 8}
_DAC = {"kind": "dac", "Gbps": 400, "reach_m": 6, "price_usd": 250, **SAID}
_SR = {
    "kind": "sr", "Gbps": 400, "reach_m": 50, "fibres": 8, "switch_module": "twin", "nic_module": "single",
    "price_usd": 100, **SAID,
}  # fmt: skip
_MODULES = {
    "twin": {"Gbps": 400, "links": 2, "power_W": 15, "price_usd": {"low": 800, "value": 900, "high": 1400}, **SAID},
    "single": {"Gbps": 400, "power_W": 8, "price_usd": 600, **SAID},
}


def made(
    ports: int, cables: dict[str, Any], system: dict[str, Any] = _PAIR, nic_ports: int = 1, watts: float = 10_000
) -> ProductsSpec:
    """Return a catalogue where four switches of few ports fill a rack."""
    switch = switch_of(ports, per_cage=2) | {"price_usd": 40_000, "power_W": watts}
    nic = {"ports": nic_ports, "Gbps": 400}
    return catalogue(system=system, nic=nic, switch=switch, kilowatts=41, cables=cables, modules=_MODULES)


def laid(products: ProductsSpec, count: int, **figures: Any) -> Layout:
    order = order_of(products, count, **figures)
    return topology_layout(order, direct_of(order, products), products)


def links(layout: Layout, tier: str) -> dict[tuple[str, float], int]:
    """Return the links of a tier by their cable and their metres."""
    found: Counter[tuple[str, float]] = Counter()
    for run in layout.runs:
        found[run.cable, run.metres] += run.links if run.tier == tier else 0
    return dict(+found)


def modules(layout: Layout) -> dict[str, int]:
    return {f"{one.tier} {one.place} {one.product}": one.pieces for one in layout.modules}


def test_a_dragonfly_has_copper_in_its_groups_and_fibres_between_them() -> None:
    # Kim et al., figure 5: 9 groups of 4 switches, 2 NPUs each. A rack of 4 systems and a rack of their switches are a
    # block, 0.6 m apart, and a group. A cable has 5 m for both ends.
    found = laid(made(7, {"dac": _DAC, "sr": _SR}), 36, family="dragonfly")
    assert links(found, "switch") == {("dac", 6): 72}
    assert links(found, "group") == {("dac", 5): 9 * 6}
    # 9 - d pairs of groups are d x 1.2 m apart: 6.2, 7.4, 8.6 and 9.8 m, and from 11.0 to 14.6 m.
    assert links(found, "groups") == {
        ("sr", 7): 8,
        ("sr", 8): 7,
        ("sr", 9): 6,
        ("sr", 10): 5,
        ("sr", 15): 4 + 3 + 2 + 1,
    }
    # Each switch has two links to other groups, which a module of two serves.
    assert modules(found) == {"groups switches twin": 36}
    assert (found.system_racks, found.racks_of_switches, found.nics) == (9, ((4, 9),), 72)


def test_a_bill_of_a_dragonfly_worked_by_hand() -> None:
    products = made(7, {"dac": _DAC, "sr": _SR})
    bill = bill_of(order_of(products, 36, family="dragonfly"), products)
    assert {f"{line.product}: {line.what}": line.pieces for line in bill.lines if line.section == "network"} == {
        "switch: dragonfly switches, 9 groups of 4": 36,
        "dac: cables to switches, 6 m": 72,
        "dac: cables to switches of a group, 5 m": 54,
        "sr: fibres to other groups, 7 to 15 m": 36,
        "twin: modules in switches to other groups": 36,
    }
    # 36 x 40,000 + 126 x 250 + 36 x 100 + 36 x 900 (800 to 1,400) USD.
    assert bill.network_usd() == Range(1_475_100 + 36 * 800, 1_507_500, 1_475_100 + 36 * 1400)
    assert bill.order_usd().value == 36 * 100_000 + 1_507_500 + 18 * 12_000


def test_a_hyperx_has_copper_along_its_lines_and_fibres_along_its_columns() -> None:
    # 16 systems of two NPUs on 8 ports: 2 down, 3 in the line of 4 and 3 in the column of 4. A line is a
    # block of a rack of systems and one of switches.
    found = laid(made(8, {"dac": _DAC, "sr": _SR}), 16, family="hyperx")
    assert (links(found, "switch"), links(found, "line")) == ({("dac", 6): 32}, {("dac", 5): 4 * 6})
    # Four columns; of 6 pairs of lines 3 are 1.2 m apart, 2 are 2.4 m and one is 3.6 m.
    assert links(found, "column") == {("sr", 7): 12, ("sr", 8): 8, ("sr", 9): 4}
    # Three links of a switch along its column: two modules.
    assert modules(found) == {"column switches twin": 32}
    bill = bill_of(order_of(made(8, {"dac": _DAC, "sr": _SR}), 16, family="hyperx"), made(8, {"dac": _DAC, "sr": _SR}))
    whats = [line.what for line in bill.lines if line.section == "network"]
    assert whats[0] == "hyperx switches, 4 x 4"
    assert whats[2:4] == ["cables to switches of a line, 5 m", "fibres to switches of a column, 7 to 9 m"]


def test_planes_have_cables_of_their_own() -> None:
    two = laid(made(7, {"dac": _DAC, "sr": _SR}, nic_ports=2), 36, family="dragonfly", planes=2)
    one = laid(made(7, {"dac": _DAC, "sr": _SR}), 36, family="dragonfly")
    for tier in ("switch", "group", "groups"):
        assert sum(links(two, tier).values()) == 2 * sum(links(one, tier).values())
    # Two switches next to each other for each system, so that a rack of switches has those of two systems.
    assert (one.racks_of_switches, two.racks_of_switches) == (((4, 9),), ((4, 18),))
    assert links(two, "switch") == {("dac", 6): 144}


def test_a_cable_of_two_links_joins_switches_that_have_two() -> None:
    # 4 links of two switches of a line and 2 of a column at 2:1 on 128 ports, one each at 1:1 on 64.
    pair = {"pair": _DAC | {"links": 2, "reach_m": 500, "price_usd": 10}, "sr": _SR | {"reach_m": 500}}
    many = laid(made(128, pair, _HGX), 1024, family="hyperx", leaf_ratio=2.0)
    assert {run.cable for run in many.runs} == {"pair"}
    assert all(run.pieces == run.links // 2 for run in many.runs)
    few = laid(made(64, pair, _HGX), 512, family="hyperx")
    assert {run.cable for run in few.runs if run.tier != "switch"} == {"sr"}


def test_switches_are_in_the_middle_of_eight_racks_as_leaves_are() -> None:
    # 7 groups of 16 racks, each on three switches of 24 ports. A switch takes 0.7 kW and 64 cages of 15 W, so that a
    # rack takes 24: those of 8 racks, in the middle of these. Two racks each are 1, 2, 3 and 4 places away.
    rack = {"npus": 72, "rails": 4, "is_rack": True, "kW": 132, "cooling": "liquid", "price_usd": 4e6}
    found = laid(made(128, {"sr": _SR}, rack, watts=700), 112, family="dragonfly")
    pair = 14 * 2 * 72
    assert links(found, "switch") == {("sr", 6): pair, ("sr", 7): 2 * pair, ("sr", 8): pair}
    # A group is two blocks of 9 racks in a row. Its switches are in one rack, or 10.4 m apart: 2 x 24 x 23 / 2 links,
    # and 24 x 24.
    assert links(found, "group") == {("sr", 5): 7 * 24 * 23, ("sr", 15): 7 * 24 * 24}
    assert (found.system_racks, found.racks_of_switches) == (112, ((24, 14),))


def test_no_cable_reaches_other_groups() -> None:
    with pytest.raises(InputError, match=r"no cable of 400 Gb/s reaches 7 m between two switches"):
        laid(made(7, {"dac": _DAC}), 36, family="dragonfly")


@pytest.mark.slow
@given(
    count=st.integers(2, 600), ports=st.sampled_from([16, 64, 128]), family=st.sampled_from(["dragonfly", "hyperx"]),
    system=st.sampled_from([_PAIR, _HGX]), ratio=st.sampled_from([0.5, 1.0, 2.0]), planes=st.sampled_from([1, 2]),
)  # fmt: skip
def test_runs_have_all_links_and_modules_serve_them(
    count: int, ports: int, family: Any, system: dict[str, Any], ratio: float, planes: int
) -> None:
    products = made(ports, {"sr": _SR | {"reach_m": 500}}, system, nic_ports=planes)
    order = order_of(products, count, family=family, leaf_ratio=ratio, planes=planes)
    try:
        found = direct_of(order, products)
    except InputError:
        return
    layout = topology_layout(order, found, products)
    tiers = ("switch", "group", "groups") if family == "dragonfly" else ("switch", "line", "column")
    each = [sum(run.links for run in layout.runs if run.tier == tier) for tier in tiers]
    assert each == [found.links, found.unit_links, found.far_unit_links]
    ends = Counter[str]()
    for one in layout.modules:
        ends[one.place] += one.pieces * products.modules[one.product].links
    upper = each[0] + 2 * (each[1] + each[2])
    assert ends["NICs"] == each[0]
    assert upper <= ends["switches"] <= upper + 3 * found.switches
