"""Cables of small networks, end by end: NPUs from 0, then switches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evo_libra.network.blocks import ITEMS, Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.cabling import direct, switched
from evo_libra.network.cabling.cables import cables
from evo_libra.network.cabling.wiring import Wiring, equal_parts, planes, spread


def kit(block: str = "switch", radix: int = 4, ports: int = 2) -> Kit:
    def part(kind: str, count: int | None = None) -> Part:
        return Part(f"some {kind}", kind, Range(1.0, 1.0, 1.0), 1.0, count, 0.0, "by hand", 2026)

    return Kit(
        "some", BLOCK_NAMES.index(block), 0, 1e9, ports, None, 0.0, 0.0, links=part("link"), uplink=part("link"),
        transceiver=None, nic=None, switch=part("switch", radix),
    )  # fmt: skip


def ends(wiring: Wiring) -> list[tuple[int, int]]:
    return [(int(one), int(other)) for one, other in wiring.ends.T]


def test_direct_links() -> None:
    assert ends(direct.ring(4, kit(), 1, 2)) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert ends(direct.ring(4, kit(), 1, 4)) == [pair for pair in [(0, 1), (1, 2), (2, 3), (3, 0)] for _ in range(2)]
    assert ends(direct.ring(2, kit(), 1, 3)) == [(0, 1)] * 3
    assert ends(direct.fully_connected(3, kit(), 1, 2)) == [(0, 1), (0, 2), (1, 2)]
    assert ends(direct.hypercube(4, kit(), 1, 2)) == [(0, 1), (2, 3), (0, 2), (1, 3)]
    # 2 x 3: neighbours on the side of two are joined twice, and rings of 3 go 0-2-4, 1-3-5.
    assert sorted(ends(direct.torus(6, kit(), 1, 4, axes=2))) == sorted([
        (0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4), (0, 2), (2, 4), (4, 0), (1, 3), (3, 5), (5, 1),
    ])  # fmt: skip
    assert sorted(ends(direct.mesh(6, kit(), 1, 4, axes=2))) == [
        (0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5),
    ]  # fmt: skip


def test_single_switches_hold_several_ports() -> None:
    # Two NPUs with 3 ports on switches of 4: two ports on the first one, one on the second.
    found = switched.clos(2, kit(), 1, 3, joined=False)
    assert ends(found) == [(0, 2), (1, 2), (0, 2), (1, 2), (0, 3), (1, 3)]
    assert (found.tier.tolist(), found.position.tolist()) == ([1, 1], [0.0, 1.0, 0.5, 0.5])


def test_two_tiers() -> None:
    # 8 NPUs, leaves 8 to 11 of two NPUs each, spines 12 and 13; uplinks are dealt out in turn.
    found = switched.clos(8, kit(), 1, 1, joined=False)
    assert ends(found)[:8] == [(npu, 8 + npu // 2) for npu in range(8)]
    assert ends(found)[8:] == [(8 + up // 2, 12 + up % 2) for up in range(8)]
    assert found.tier.tolist() == [1] * 4 + [2] * 2
    assert found.position.tolist() == [*range(8), 0.5, 2.5, 4.5, 6.5, 3.5, 3.5]
    # A joined network is over the NPUs inside, too.
    assert ends(switched.clos(2, kit(), 4, 1, joined=True)) == ends(found)


def test_three_tiers() -> None:
    # The fat tree of Al-Fares with ports of 4: 8 leaves in 4 pods, 8 in the middle, 4 cores.
    found = switched.clos(16, kit(), 1, 1, joined=False)
    assert found.tier.tolist() == [1] * 8 + [2] * 8 + [3] * 4
    assert found.ends.shape == (2, 16 + 16 + 16)
    used = np.bincount(found.ends.ravel())
    assert used.tolist() == [1] * 16 + [4] * 20
    # The first pod: leaves 16 and 17 to the switches 24 and 25.
    assert ends(found)[16:20] == [(16, 24), (16, 25), (17, 24), (17, 25)]


def test_oversubscribed_trees() -> None:
    # 8 NPUs with ports of 6 at 2:1: leaves of 4 NPUs with 2 uplinks to one spine.
    found = switched.fat_tree(8, kit(radix=6), 1, 1, ratios=(2, 1), joined=False)
    assert ends(found) == [*((npu, 8 + npu // 4) for npu in range(8)), (8, 10), (8, 10), (9, 10), (9, 10)]
    assert found.tier.tolist() == [1, 1, 2]


def test_oversubscribed_trees_of_three_tiers() -> None:
    # 12 NPUs with ports of 4 at 2:1: leaves 12 to 17 with an uplink, two of which a switch takes, and cores 21 and 22.
    found = ends(switched.fat_tree(12, kit(), 1, 1, ratios=(2, 1), joined=False))
    assert found[:12] == [(npu, 12 + npu // 2) for npu in range(12)]
    assert found[12:18] == [(12, 18), (13, 18), (14, 19), (15, 19), (16, 20), (17, 20)]
    assert found[18:] == [(18, 21), (18, 22), (19, 21), (19, 22), (20, 21), (20, 22)]
    # At 1:2: two uplinks of each leaf to the two switches of its pod, 18 to 23, with a link each to cores 24 and 25.
    pods = ends(switched.fat_tree(12, kit(), 1, 1, ratios=(1, 2), joined=False))
    assert pods[12:20] == [(12, 18), (12, 19), (13, 18), (13, 19), (14, 20), (14, 21), (15, 20), (15, 21)]
    assert pods[24:] == [(18, 24), (19, 25), (20, 24), (21, 25), (22, 24), (23, 25)]


def test_trees_of_fred() -> None:
    # 8 NPUs under switches 8 and 9; with 2 ports, 2 x 4 / 8 = 1 uplink each to switch 10.
    found = switched.fred(8, kit(), 1, 2, upper=1 / 8)
    assert ends(found) == [*[(npu, 8 + npu // 4) for npu in range(8)] * 2, (8, 10), (9, 10)]
    assert ends(switched.fred(4, kit(), 1, 2, upper=1.0)) == [(npu, 4) for npu in range(4)] * 2


def test_rails_of_light() -> None:
    # 8 ports hold two ports of 2 NPUs with duplex optics, and 32 ports do with parallel ones of 8 fibres.
    parallel = Part("parallel", "transceiver", Range(1.0, 1.0, 1.0), 1.0, None, 0.0, "by hand", 2026, fibres=8)
    wide = replace(kit("ocs-rail", 32), transceiver=parallel)
    assert ends(switched.ocs_rail(2, wide, 1, 3)) == ends(switched.ocs_rail(2, kit("ocs-rail", 8), 1, 3))
    assert ends(switched.ocs_rail(2, kit("ocs-rail", 8), 1, 3)) == [(0, 2), (1, 2), (0, 2), (1, 2), (0, 3), (1, 3)]


def test_dragonflies_and_hyperx() -> None:
    # 6 NPUs with a router each, 6 to 11, in groups of two; each two groups have one link.
    found = ends(switched.dragonfly_network(6, kit(), 1, 1))
    assert found[:6] == [(npu, npu + 6) for npu in range(6)]
    assert found[6:] == [(6, 7), (8, 9), (10, 11), (6, 8), (7, 10), (9, 11)]
    # 8 NPUs on 2 x 2 routers of two NPUs.
    grid = switched.hyperx_network(8, kit(), 1, 1)
    assert ends(grid)[:8] == [(npu, 8 + npu // 2) for npu in range(8)]
    assert sorted(ends(grid)[8:]) == [(8, 9), (8, 10), (9, 11), (10, 11)]
    assert grid.position[8:].tolist() == [0.5, 2.5, 4.5, 6.5]


def test_parts_and_owners() -> None:
    assert equal_parts(7, 3).tolist() == [2, 2, 3]
    assert spread([2, 0, 1]).tolist() == [0, 0, 2]
    two = planes(Wiring(1, np.array([1]), np.array([[0], [1]]), np.array([0.0, 0.0])), 3, 2)
    assert ends(two) == [(0, 1), (0, 1), (0, 2)]


def items(**pieces: float) -> Any:
    found = np.zeros((len(ITEMS), 2))
    for name, count in pieces.items():
        found[ITEMS.index(name.replace("_", " "))] = [0.0, count]
    return found


def test_cables_of_a_design() -> None:
    # Pairs of NPUs in a switch of two places: NPUs 0 and 1, 2 and 3; networks of 0 and 2, of 1 and 3.
    found = cables([kit("ring"), kit()], [2, 2], [1, 1], items(short_link=1.0))
    assert [(int(a), int(b)) for a, b in found.ends.T] == [(0, 1), (2, 3), (0, 4), (2, 4), (1, 5), (3, 5)]
    assert found.dimension.tolist() == [0, 0, 1, 1, 1, 1]
    assert (found.npus, found.switch_dimension.tolist(), found.switch_tier.tolist()) == (4, [1, 1], [1, 1])
    # One of the shortest cables of the outer dimension is short.
    assert [ITEMS[item] for item in found.item] == ["link", "link", "short link", "link", "link", "link"]
    # Ports count from 0 for each dimension of an NPU, and for each switch.
    assert found.port.tolist() == [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1]]


def test_unused_dimensions_have_no_cables() -> None:
    # A ring of 4 with two ports, and 4 NPUs on switches for each of two ports.
    assert cables([kit("ring"), kit()], [4, 1], [2, 0], items()).ends.shape == (2, 4)
    assert cables([kit("ring"), kit()], [1, 4], [0, 2], items()).ends.shape == (2, 8)
