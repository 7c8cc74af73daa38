"""Cables by length: short ones within reach of a switch, and optics beyond."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.network.bill import bill, cost_by_item, fits, power_by_item
from evo_libra.network.blocks import ITEMS, Kit, Part, Range
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.parts import load_parts

COPPER = Part("copper", "link", Range(1, 1, 1), 0.1, None, 0.0, "made up", 2024)


def kit_of(name: str, radix: int = 64, room: int = 96) -> Kit:
    index = BLOCK_NAMES.index(name)
    return replace(sample_kit(BLOCKS[index], radix=radix), block=index, short=COPPER, room=room)


def items_of(kit: Kit, npus: int, inside: int) -> dict[str, float]:
    """Return the items of the outer dimension, with one port each."""
    node = replace(sample_kit(BLOCKS[0]), block=0)
    sizes, ports = np.array([[max(inside, 2)], [npus]]), np.array([[2], [1]])
    found = bill([node, kit], np.array([[0], [1]]), sizes, ports)[:, 1, 0]
    return dict(zip(ITEMS, found.tolist(), strict=True))


def test_leaves_of_servers_in_order_are_reached_by_copper() -> None:
    # 128 servers of 8: leaves of 32 NPUs, one rack each. Of 1024 NPUs, the switches in the middle reach 96.
    found = items_of(kit_of("fat-tree"), 128, 8)
    assert (found["link"], found["short link"]) == (0, 1024)
    assert (found["uplink"], found["short uplink"]) == (1024 - 96, 96)
    assert found["transceiver"] == 2 * found["uplink"]
    found = items_of(kit_of("fat-tree-4"), 128, 8)
    assert (found["uplink"], found["short uplink"]) == (256 - 24, 24)


def test_leaves_of_rails_reach_few_servers() -> None:
    # A leaf of 32 NPUs of as many servers of 8: 12 of them stand within 96 NPUs.
    found = items_of(kit_of("switch"), 128, 8)
    assert found["short link"] == 8 * 4 * 12
    assert found["link"] + found["short link"] == 1024
    # Of each rail's 128 uplinks, 96 of 1024.
    assert found["short uplink"] == 8 * 12


def test_light_is_switched_as_light() -> None:
    kit = kit_of("ocs-rail")
    assert items_of(kit, 8, 2) == items_of(replace(kit, short=None), 8, 2)


def test_direct_links_are_short_where_all_stand_within_reach() -> None:
    near, far = items_of(kit_of("ring"), 12, 8), items_of(kit_of("ring"), 16, 8)
    assert (near["link"], near["transceiver"]) == (0, 0)
    assert (far["short link"], far["link"]) == (0, near["short link"] / 12 * 16)


@given(
    st.sampled_from([block.name for block in BLOCKS if block.switch_kind != "ocs"]), st.sampled_from([8, 16, 64]),
    st.integers(2, 300), st.sampled_from([2, 4, 8]), st.integers(0, 400), st.integers(1, 4),
)  # fmt: skip
def test_cables_are_the_links_there_are(name: str, radix: int, npus: int, inside: int, room: int, times: int) -> None:
    kit = kit_of(name, radix, room)
    if not fits(kit, np.array([npus]), np.array([inside]))[0]:
        return
    quantum = int(BLOCKS[kit.block].quantum(np.array([npus]), kit)[0])
    node = replace(sample_kit(BLOCKS[0]), block=0)
    sizes, ports = np.array([[inside], [npus]]), np.array([[2], [times * quantum]])
    with_, without = (
        bill([node, some], np.array([[0], [1]]), sizes, ports)[:, 1, 0] for some in (kit, replace(kit, short=None))
    )
    found, whole = (dict(zip(ITEMS, items.tolist(), strict=True)) for items in (with_, without))
    assert np.allclose(with_, np.rint(with_), atol=1e-6)
    assert (with_ >= -1e-9).all()
    for item in ("link", "uplink"):
        assert found[item] + found[f"short {item}"] == pytest.approx(whole[item])
    shorter = found["short link"] + found["short uplink"]
    assert found["transceiver"] == pytest.approx(whole["transceiver"] - 2 * shorter)
    assert found["nic"] == whole["nic"]
    assert found["switch"] == pytest.approx(whole["switch"])


def test_short_links_have_their_own_price_and_power() -> None:
    kit = kit_of("fat-tree")
    node = replace(sample_kit(BLOCKS[0]), block=0)
    place = np.array([[0], [1]])
    found = bill([node, kit], place, np.array([[8], [128]]), np.array([[2], [1]]))
    at = ITEMS.index("short link")
    assert cost_by_item(found, [node, kit], place)[at, 1, 0] == 1024
    # 0.1 W of the cable, and 1 pJ for each bit in both directions of a link of 1 GB/s.
    assert power_by_item(found, [node, kit], place)[at, 1, 0] == pytest.approx(1024 * (0.1 + 2 * 8e9 * 1e-12))


def test_copper_of_a_shipped_catalogue() -> None:
    kits = {kit.technology: kit for kit in load_parts("products-2025").kits}
    ndr = kits["infiniband-ndr"]
    assert ndr.short is not None
    assert (ndr.short.name, ndr.room) == ("dac-400g", 96)
    assert kits["infiniband-xdr"].short is None


def test_what_is_within_reach_needs_a_layout_and_a_link(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    text = (
        "kind: parts\nname: own\nsource: here\nextends: parts-2024\ntechnologies:\n  far: {port_GBps: 50, ports: 1, "
        "latency_ns: 9, blocks: [switch], switch: switch-400g, within_reach: {cable: LINK, longest_m: 3}, "
        "source: here, year: 2025}\n"
    )
    path.write_text(text.replace("LINK", "dac-400g"))
    with pytest.raises(InputError, match="the catalogue has no layout, which says what is within reach"):
        load_parts(str(path))
    path.write_text(text.replace("LINK", "optics-400g"))
    with pytest.raises(InputError, match="'optics-400g' is a transceiver, a link is needed"):
        load_parts(str(path))
