"""Cables of the catalogue products-2026: which ends they have, which layers they join, and how far they reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.cables import choices_of
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.ends import ends_between, ends_down
from evo_libra.network.orders.layout import layout_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import CableSpec, NicModeSpec, SwitchModeSpec, SwitchSpec
from evo_libra.network.orders.tree import tree_of

PRODUCTS = load_products("products-2026")


def test_infiniband_has_no_active_electrical_cables() -> None:
    """DAC, linear active copper, active optical cables and modules (docs.nvidia.com, LinkX 100G-PAM4, 2025)."""
    order = Order("hgx-h100", 32, 8, 8, "connectx-7", 1, 400.0, 1, "rail-optimised", "qm9700")
    lines = Counter[str]()
    for line in bill_of(order, PRODUCTS).lines:
        lines[line.product] += int(line.pieces) if line.section == "network" else 0
    # 8 racks of systems around one of switches: 6 to 8 m, which linear active copper of 5 m does not reach. Leaves and
    # spines in one rack are joined by copper, two links a cable.
    assert +lines == {
        "qm9700": 8 + 4, "sr-400": 256, "dac-400": 256 // 2, "osfp-sr4": 256, "osfp-2xsr4": 256 // 2,
    }  # fmt: skip
    ethernet = {line.product for line in bill_of(replace(order, switch="sn5600"), PRODUCTS).lines}
    assert "aec-400-split" in ethernet


def test_a_cage_of_qsfp112_has_modules_of_qsfp112() -> None:
    """BlueField-3 only accepts QSFP112, which switches do not take (docs.nvidia.com, MMA1Z00-NS400, 2025)."""
    order = Order("mi350x-8", 32, 8, 8, "pollara-400", 1, 400.0, 1, "rail-optimised", "th5-64")
    layout = layout_of(order, tree_of(order, PRODUCTS), PRODUCTS)
    assert {run.cable for run in layout.runs if run.tier == "leaf"} == {"aec-400-split-qsfp112", "sr-400-qsfp112"}
    assert {module.product for module in layout.modules if module.place == "NICs"} == {"qsfp112-sr4"}
    two = Order("hgx-h100", 32, 8, 8, "connectx-7-dual", 2, 200.0, 2, "rail-optimised", "sn5600")
    modules = layout_of(two, tree_of(two, PRODUCTS), PRODUCTS).modules
    assert {module.product for module in modules if module.place == "NICs"} == {"qsfp112-sr4-as-200"}


@pytest.mark.parametrize(
    ("cable", "end"),
    [("sr-400", "module osfp-sr4"), ("aec-400-split", "cable aec-400-split"), ("dr-400", "module osfp-dr4")],
)
def test_an_end_that_does_not_fit_its_cage_is_refused(cable: str, end: str) -> None:
    order = Order("mi350x-8", 9, 8, 8, "pollara-400", 1, 400.0, 1, "fat-tree", "th5-64")
    alone = PRODUCTS.model_copy(update={"cables": {cable: PRODUCTS.cables[cable]}})
    (sentence,) = violations(order, alone)
    assert sentence == (
        f"no cable of 400 Gb/s reaches 6 m between a switch and a cage of 1 ports; {end} does not fit the cage qsfp112 "
        "of pollara-400"
    )


def links() -> Iterator[tuple[str, NicModeSpec, str, SwitchModeSpec]]:
    """Yield each NIC in a mode with each switch in a mode that it agrees with."""
    for nic, its in PRODUCTS.nics.items():
        for mode in its.modes:
            for switch, theirs in PRODUCTS.switches.items():
                for port in theirs.modes:
                    if (port.Gbps, port.lane_Gbps) == (mode.Gbps, mode.lane_Gbps) and theirs.layer in mode.layers:
                        yield nic, mode, switch, port


def cables(port: SwitchModeSpec, reach: float) -> dict[str, CableSpec]:
    rate = (port.Gbps, port.lane_Gbps)
    return {
        name: cable
        for name, cable in PRODUCTS.cables.items()
        if (cable.Gbps, cable.lane_Gbps) == rate and cable.reach_m >= reach
    }


@pytest.mark.parametrize(
    ("nic", "mode", "switch", "port"),
    [pytest.param(*link, id=f"{link[0]}-{link[1].ports}x{link[1].Gbps:g}-{link[2]}") for link in links()],
)
def test_a_nic_and_a_switch_that_agree_have_a_cable_through_the_room(
    nic: str, mode: NicModeSpec, switch: str, port: SwitchModeSpec
) -> None:
    order = Order("any", 2, 8, 8, nic, mode.ports, mode.Gbps, 1, "fat-tree", switch)
    for ends in (ends_down(order, PRODUCTS), ends_between(order, PRODUCTS)):
        assert any(choice.reach >= 50 for choice in choices_of(ends, PRODUCTS))
    assert PRODUCTS.switches[switch].modes.count(port) == 1


def fits(switch: SwitchSpec, port: SwitchModeSpec, cable: CableSpec, modules: Mapping[str, Any]) -> bool:
    module = cable.switch_module
    return switch.co_packaged or module is None or modules[module].links == port.per_cage


def test_a_module_has_as_many_links_as_its_cage_has_ports() -> None:
    for _, _, name, port in links():
        switch = PRODUCTS.switches[name]
        assert all(fits(switch, port, cable, PRODUCTS.modules) for cable in cables(port, reach=0).values())


def test_kinds_of_cables_reach_as_far_as_their_sources_say() -> None:
    reach = {name: cable.reach_m for name, cable in PRODUCTS.cables.items() if cable.Gbps == 400}
    assert reach == {
        "dac-400": 2, "dac-400-split": 3, "acc-400": 5, "acc-400-split": 5, "aec-400": 7, "aec-400-split": 7,
        "sr-400": 50, "sr-400-twin": 50, "dr-400": 500, "dr-400-twin": 500, "fr-400": 2000, "sr-400-qsfp112": 50,
        "fr-400-nic": 2000,
        "dr-400-qsfp112": 100, "dac-400-split-qsfp112": 3, "acc-400-split-qsfp112": 5, "aec-400-split-qsfp112": 7,
    }  # fmt: skip
