"""Bills of materials: published ones, and what holds for any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.network.bill import (
    bill,
    cost_by_item,
    counting,
    fits,
    inner_npus,
    part_figures,
    power_by_item,
    relaxed_price,
)
from evo_libra.network.blocks import ITEMS, Part, Range
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.parts import load_parts
from evo_libra.validation import fabrics
from evo_libra.validation.fabrics import NODE, RAIL, kit, part

FAT_TREE = BLOCK_NAMES.index("fat-tree")
LINK, UPLINK, TRANSCEIVER, NIC, SWITCHES, *_ = range(len(ITEMS))


def column(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values)[:, None]


def test_there_are_eleven_fat_trees() -> None:
    assert len(fabrics.fat_trees()) == 11


@pytest.mark.parametrize("row", fabrics.fat_trees(), ids=lambda row: row["id"])
def test_eight_rails_of_64_ports(row: dict[str, Any]) -> None:
    items, usd, _ = fabrics.rails(fabrics.RAIL, row["inputs"]["gpus"])
    assert items["switch"] == row["value"]["switches"]
    assert usd["switch"] == row["value"]["switch_usd"]
    assert usd["link"] + usd["uplink"] == row["value"]["cable_usd"]
    assert usd["transceiver"] == usd["nic"] == 0


def test_a_fat_tree_is_one_network_over_all_npus() -> None:
    kits = [NODE, replace(RAIL, block=FAT_TREE)]
    items = bill(kits, column(0, 1), column(256, 128), column(1, 1))[:, 1, 0]
    assert items.tolist() == [32768, 2 * 32768, 0, 0, 5 * 32768 / 64, 0, 0]
    # Whatever the domain, the network is the same.
    assert bill(kits, column(0, 1), column(8, 4096), column(1, 1))[:, 1, 0].tolist() == items.tolist()


def test_optical_rails_cost_what_opus_says() -> None:
    row = next(row for row in fabrics.figures() if row["id"] == "opus.ocs.h200.2048")
    _, usd, watts = fabrics.rails(fabrics.optical(row["inputs"]), row["inputs"]["gpus"])
    assert sum(usd.values()) == pytest.approx(row["value"]["usd"], rel=1e-3)
    assert sum(watts.values()) == pytest.approx(row["value"]["W"], rel=4e-3)


def test_the_tree_of_a_wafer_takes_the_published_power() -> None:
    kits = [kit for kit in load_parts("wafer").kits if BLOCK_NAMES[kit.block] == "fred-d"]
    items = bill(kits, column(0), column(20), column(4))
    assert items[SWITCHES, 0, 0] == 6
    assert power_by_item(items, kits, column(0)).sum() == pytest.approx(fabrics.value("fred.hw.power"), rel=1e-3)


def test_the_uplinks_of_a_tree_are_whole() -> None:
    kits = [kit for kit in load_parts("wafer").kits if BLOCK_NAMES[kit.block] == "fred-a"]
    found = [bill(kits, column(0), column(20), column(ports))[UPLINK, 0, 0] for ports in (1, 2, 3, 4)]
    # Half an uplink of each of five switches for a port of its four NPUs.
    assert found == [5, 5, 10, 10]


def test_energy_is_spent_both_ways_on_every_link() -> None:
    one = replace(kit("switch", links=part("link", 0, 3.0), switch=part("switch", 0, 100.0, 64)), energy=2e-12)
    assert part_figures(one)[1].tolist() == pytest.approx([4.6, 1.6, 0, 0, 100.0, 1.6, 1.6])


def test_prices_have_scenarios() -> None:
    optics = Part("optics", "transceiver", Range(600, 659, 800), 9, None, 0, "", 2025)
    one = kit("switch", transceiver=optics, switch=part("switch", 10, ports=64))
    usd = [part_figures(one, scenario)[0, TRANSCEIVER] for scenario in ("low", "value", "high")]
    assert usd == [600, 659, 800]


def test_an_npu_buys_whole_nics() -> None:
    one = kit("switch", nic=part("nic", 1000, ports=2), switch=part("switch", 0, ports=64))
    found = [bill([one], column(0), column(16), column(ports))[NIC, 0, 0] for ports in (1, 2, 3, 4)]
    assert found == [16, 16, 32, 32]


def test_unused_dimensions_are_free() -> None:
    assert not bill([RAIL], column(0, 0), column(8, 1), column(1, 0))[:, 1].any()


def test_inner_npus() -> None:
    assert inner_npus(column(4, 1, 8, 2))[:, 0].tolist() == [1, 4, 4, 32]


def test_domains_stay_within_their_span() -> None:
    nvlink = replace(NODE, domain_size=72)
    assert fits(nvlink, np.array([8, 8, 64]), np.array([4, 16, 1])).tolist() == [True, False, True]
    assert fits(replace(NODE, domain_size=None), np.array([8]), np.array([9])).tolist() == [True]


KITS = [*load_parts("parts-2024").kits, *load_parts("wafer").kits]
KITS += [replace(sample_kit(block), block=index) for index, block in enumerate(BLOCKS)]


@pytest.mark.slow
@given(st.integers(0, len(KITS) - 1), st.integers(2, 4096), st.integers(1, 64), st.integers(1, 8))
@settings(max_examples=300)
def test_parts_in_any_fraction_cost_no_more(index: int, npus: int, ports: int, inside: int) -> None:
    one = replace(KITS[index], domain_size=None)
    if not fits(one, np.array([npus]), np.array([inside]))[0]:
        return
    quantum = int(BLOCKS[one.block].quantum(np.array([npus]), one)[0])
    count = max(1, min(ports, one.ports) // quantum) * quantum
    kits, chosen, sizes = [NODE, one], column(0, 1), column(inside, npus)
    items = bill(kits, chosen, sizes, column(1, count))
    assert (items >= 0).all()
    assert (items[NIC, 1] == (0 if one.nic is None else inside * npus * -(-count // (one.nic.ports or 1)))).all()
    usd = cost_by_item(items, kits, chosen)[:, 1].sum()
    relaxed = relaxed_price(kits, chosen, sizes)[1, 0] * count * one.port_rate
    assert relaxed <= usd * (1 + 1e-12)
    # Whole numbers of parts are reached where the last of them is full.
    many = counting(kits, chosen, sizes).slope[:, 1, 0]
    if (np.abs(count * many - np.rint(count * many)) < 1e-9).all():
        assert relaxed == pytest.approx(usd, rel=1e-9)


@given(st.lists(st.integers(0, len(KITS) - 1), min_size=2, max_size=6), st.integers(1, 4))
@settings(max_examples=60)
def test_designs_do_not_depend_on_each_other(indices: list[int], ports: int) -> None:
    index = np.array([indices, indices[::-1]])
    sizes = np.full(index.shape, 4)
    together = bill(KITS, index, sizes, np.full(index.shape, ports))
    for n in range(len(indices)):
        alone = bill(KITS, index[:, n : n + 1], sizes[:, n : n + 1], np.full((2, 1), ports))
        np.testing.assert_array_equal(together[:, :, n : n + 1], alone)
