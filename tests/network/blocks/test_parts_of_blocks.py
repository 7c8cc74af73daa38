"""Parts and failures of small networks, block by block, counted by hand: switches of 4 ports, 2 ports of an NPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks import ITEMS, Kit, Part, Range
from evo_libra.network.blocks.blast import STATED
from evo_libra.network.blocks.block import (
    Levels,
    direct_steps,
    halving_doubling_steps,
    ring_steps,
)
from evo_libra.network.blocks.grid import grid_cut, line_share, mean_distance, on_axes, product_share, ring_share, sides
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.blocks.routers import dragonfly, hyperx, spread

BY_NAME = {block.name: block for block in BLOCKS}
AR, RS, AG, A2A = (
    Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_TO_ALL,
)  # fmt: skip


def part(kind: str, ports: int | None = None) -> Part:
    return Part(f"some {kind}", kind, Range(1.0, 1.0, 1.0), 1.0, ports, 0.0, "by hand", 2026)


def kit(radix: int = 4, ports: int = 2, room: int = 0, fibres: int = 2) -> Kit:
    return Kit(
        "some", 0, 0, 1e9, ports, None, 0.0, 0.0, links=part("link"), uplink=part("link"),
        transceiver=replace(part("transceiver"), fibres=fibres), nic=part("nic", 2), switch=part("switch", radix),
        room=room,
    )  # fmt: skip


def counted(name: str, npus: int, ports: int, inside: int = 1, **of: Any) -> dict[str, float]:
    """Return the pieces of one instance."""
    found = BY_NAME[name].counts(np.array([npus]), kit(**of), np.array([inside])).at(np.array([ports]))[:, 0]
    return {item: float(count) for item, count in zip(ITEMS, found, strict=True) if count}


@pytest.mark.parametrize(("name", "npus", "ports", "inside", "expected"), [
    # One switch of 4 ports for each port; two planes of 2 NPUs share one.
    ("switch", 4, 2, 1, {"link": 8, "transceiver": 16, "nic": 4, "switch": 2}),
    ("switch", 2, 2, 1, {"link": 4, "transceiver": 8, "nic": 2, "switch": 1}),
    ("switch", 2, 3, 1, {"link": 6, "transceiver": 12, "nic": 4, "switch": 2}),
    # Two tiers: 4 leaves of 2 NPUs, 2 spines; three: the fat tree of Al-Fares with 16 NPUs, 8 + 8 + 4 switches.
    ("switch", 8, 1, 1, {"link": 8, "uplink": 8, "transceiver": 32, "nic": 8, "switch": 6}),
    ("switch", 16, 1, 1, {"link": 16, "uplink": 32, "transceiver": 96, "nic": 16, "switch": 20}),
    # Rails have a network for each NPU inside; a joined one is shared: an instance has its fourth of 6 switches.
    ("switch", 2, 1, 4, {"link": 2, "transceiver": 4, "nic": 2, "switch": 1}),
    ("fat-tree", 2, 1, 4, {"link": 2, "uplink": 2, "transceiver": 8, "nic": 2, "switch": 1.5}),
    # A ring has a link for every two ports, all to all for each pair, a mesh of 2 x 3 seven for four ports.
    ("ring", 4, 2, 1, {"link": 4, "transceiver": 8, "nic": 4}),
    ("fully-connected", 4, 3, 1, {"link": 6, "transceiver": 12, "nic": 8}),
    ("mesh-2d", 6, 4, 1, {"link": 7, "transceiver": 14, "nic": 12}),
    ("torus-2d", 6, 4, 1, {"link": 12, "transceiver": 24, "nic": 12}),
    # An OCS of 4 ports holds a ring of 2 NPUs; transceivers at NPUs alone.
    ("ocs-rail", 2, 2, 1, {"link": 4, "transceiver": 4, "nic": 2, "switch": 2}),
    # FRED: two switches of 4 NPUs and one above; of 2 ports 4 x 2 / 8 uplinks or 4 x 2 each.
    ("fred-a", 8, 2, 1, {"link": 16, "uplink": 2, "transceiver": 36, "nic": 8, "switch": 3}),
    ("fred-d", 8, 2, 1, {"link": 16, "uplink": 16, "transceiver": 64, "nic": 8, "switch": 3}),
    ("fred-d", 4, 2, 1, {"link": 8, "transceiver": 16, "nic": 4, "switch": 1}),
    # Dragonfly of 3-port routers would have p = 1; of 4 ports, 6 NPUs: 3 groups of 2 routers, 3 + 3 links.
    ("dragonfly", 6, 1, 1, {"link": 6, "uplink": 6, "transceiver": 24, "nic": 6, "switch": 6}),
    # HyperX of 8 NPUs: 2 x 2 routers of 2 NPUs, 4 links.
    ("hyperx", 8, 1, 1, {"link": 8, "uplink": 4, "transceiver": 24, "nic": 8, "switch": 4}),
])  # fmt: skip
def test_pieces(name: str, npus: int, ports: int, inside: int, expected: dict[str, float]) -> None:
    assert counted(name, npus, ports, inside) == expected


def blasts(name: str, npus: int, **of: Any) -> dict[str, tuple[float, float, float]]:
    found = BY_NAME[name].blast(np.array([npus]), kit(**of), np.array([1]))
    each = np.stack([found.one, found.many, found.slowed])[:, :, 0]
    return {item: tuple(each[:, i].round(9).tolist()) for i, item in enumerate(STATED)}


@pytest.mark.parametrize(("name", "npus", "link", "uplink", "switch"), [
    # One place, several places, part of a port's network.
    ("ring", 4, (0, 0, 1), (0, 0, 1), (0, 0, 0)),
    ("switch", 4, (1, 0, 0), (0, 0, 0), (0, 1, 0)),
    # 4 of 6 switches are leaves; an uplink has 4 / 8, a spine a half, of which a third of the switches are.
    ("switch", 8, (1, 0, 0), (0, 0, 0.5), (0, 2 / 3, 1 / 6)),
    # 8 of 20 are leaves; (8 leaves + 4 pods) / 32 uplinks, (1 + 4) / 12 of the others.
    ("switch", 16, (1, 0, 0), (0, 0, 0.375), (0, 0.4, 0.25)),
    # Two of three are first-level; the second level has 2 ports. Of FRED-A a leaf has 1/2 uplink, of FRED-D 4.
    ("fred-a", 8, (1, 0, 0), (0, 0, 1), (0, 2 / 3, 2 / 3)),
    ("fred-d", 8, (1, 0, 0), (0, 0, 0.25), (0, 2 / 3, 2 / 3)),
    ("ocs-rail", 2, (1, 0, 0), (0, 0, 0), (0, 0, 1)),
    # A link takes its part of a router's to its group, or of the group's: 3 (2 + 1) / 2 over 6 links; of HyperX 4 / 4.
    ("dragonfly", 6, (1, 0, 0), (0, 0, 0.75), (0, 1, 0)),
    ("hyperx", 8, (1, 0, 0), (0, 0, 1), (0, 1, 0)),
])  # fmt: skip
def test_failures(
    name: str, npus: int, link: tuple[float, ...], uplink: tuple[float, ...], switch: tuple[float, ...]
) -> None:
    found = blasts(name, npus)
    assert found["link"] == link
    assert found["uplink"] == pytest.approx(uplink)
    assert found["switch"] == pytest.approx(switch)
    assert found["nic"] == (1, 0, 0)


def test_an_ocs_holds_several_ports_of_few_npus() -> None:
    # 8 ports hold 2 ports of 2 NPUs, whose two fibres each take them.
    assert counted("ocs-rail", 2, 3, radix=8)["switch"] == 2
    assert blasts("ocs-rail", 2, radix=8)["switch"] == (0, 0, 2)
    assert BY_NAME["ocs-rail"].allowed(np.array([4, 5]), kit(radix=8)).tolist() == [True, False]


def test_a_parallel_optic_takes_eight_ports_of_an_ocs() -> None:
    # 192 ports hold 24 NPUs with four fibres each way, and 96 with one: an OCS for each of 2 ports of 24 NPUs.
    block, npus = BY_NAME["ocs-rail"], np.array([24, 25, 96, 97])
    assert block.allowed(npus, kit(radix=192, fibres=8)).tolist() == [True, False, False, False]
    assert block.allowed(npus, kit(radix=192)).tolist() == [True, True, True, False]
    assert counted("ocs-rail", 24, 2, radix=192, fibres=8)["switch"] == 2
    assert counted("ocs-rail", 8, 3, radix=192, fibres=8)["switch"] == 1
    assert counted("ocs-rail", 24, 2, radix=192)["switch"] == 1
    assert blasts("ocs-rail", 8, radix=192, fibres=8)["switch"] == (0, 0, 3)


@pytest.mark.parametrize(("name", "npus", "inside", "room", "expected"), [
    # A switch amid 4 NPUs, which on rails are as far apart as there are NPUs inside.
    ("switch", 4, 1, 4, (4, 0)), ("switch", 4, 1, 3, (3, 0)), ("switch", 4, 2, 4, (2, 0)),
    # 4 leaves of 2 with 8 uplinks, whose upper end stands amid all 8: the part of them within reach.
    ("switch", 8, 1, 2, (8, 2)), ("switch", 8, 1, 1, (4, 1)),
    # 7 NPUs: a leaf of one and three of two; of 7 uplinks 2/7 are within reach of the middle.
    ("switch", 7, 1, 2, (7, 2)), ("switch", 7, 1, 1, (4, 1)),
    ("fat-tree", 2, 4, 2, (2, 0.5)),
    ("ring", 4, 1, 4, (2, 0)), ("ring", 4, 2, 4, (0, 0)),
    ("ocs-rail", 2, 1, 9, (0, 0)),
    ("hyperx", 8, 1, 2, (8, 0)), ("hyperx", 8, 1, 1, (0, 0)),
])  # fmt: skip
def test_short_links(name: str, npus: int, inside: int, room: int, expected: tuple[float, float]) -> None:
    links, uplinks = BY_NAME[name].near(np.array([npus]), kit(room=room), np.array([inside]))
    assert (float(links[0]), float(uplinks[0])) == expected


def test_steps_of_algorithms() -> None:
    extent = np.array([1, 2, 4, 6])
    assert ring_steps(RS, extent).tolist() == [0, 1, 3, 5]
    assert ring_steps(AR, extent).tolist() == [0, 2, 6, 10]
    assert ring_steps(A2A, np.array([4, 5])).tolist() == [2, 2]
    assert direct_steps(AR, extent).tolist() == [0, 2, 2, 2]
    assert direct_steps(AG, extent).tolist() == [0, 1, 1, 1]
    assert halving_doubling_steps(RS, extent).tolist() == [0, 1, 2, 5]  # a ring of 6
    assert halving_doubling_steps(AR, extent).tolist() == [0, 2, 4, 10]
    assert halving_doubling_steps(A2A, extent).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(("name", "collective", "extent", "expected"), [
    ("hypercube", A2A, 8, 3), ("hypercube", RS, 8, 3), ("fred-b", AR, 8, 1), ("fred-b", AR, 1, 0),
    ("fred-a", AR, 8, 6), ("ocs-rail", A2A, 4, 3), ("ocs-rail", AR, 4, 6), ("torus-2d", RS, 16, 6),
    ("torus-2d", AR, 6, 6), ("mesh-2d", A2A, 6, 3), ("mesh-2d", AR, 6, 6), ("torus-2d", A2A, 16, 4),
])  # fmt: skip
def test_steps_of_blocks(name: str, collective: Collective, extent: int, expected: float) -> None:
    assert BY_NAME[name].steps(collective, np.array([extent])).tolist() == [expected]


@pytest.mark.parametrize(("name", "npus", "links", "switches"), [
    ("ring", 4, 1, 0), ("switch", 4, 2, 1), ("switch", 8, 4, 3), ("switch", 16, 6, 5), ("fred-a", 4, 2, 1),
    ("fred-a", 8, 4, 3), ("ocs-rail", 2, 2, 1), ("dragonfly", 6, 8, 7), ("hyperx", 8, 6, 5),
])  # fmt: skip
def test_hops(name: str, npus: int, links: float, switches: float) -> None:
    found = BY_NAME[name].hops(np.array([npus]), kit(), np.array([1]))
    assert [float(each[0]) for each in found] == [links, switches]


@pytest.mark.parametrize(("name", "npus", "expected"), [
    ("ring", 8, 1.0),  # two links of half of the bandwidth
    ("switch", 7, 3.0), ("ocs-rail", 6, 3.0), ("fred-a", 8, 0.5), ("fred-c", 8, 4.0), ("fred-a", 4, 2.0),
    ("torus-2d", 16, 2.0),  # 4 lines, there and back, with a quarter of the bandwidth each
    ("mesh-2d", 16, 1.0),
    ("fully-connected", 8, 16 / 7), ("hypercube", 8, 4 / 3), ("dragonfly", 6, 1.5), ("hyperx", 8, 2.0),
])  # fmt: skip
def test_cuts(name: str, npus: int, expected: float) -> None:
    assert BY_NAME[name].cut(np.array([npus])).tolist() == pytest.approx([expected])


@pytest.mark.parametrize(("name", "npus", "inside", "expected"), [
    ("switch", 4, 1, (1,)), ("switch", 8, 1, (4, 2)), ("switch", 16, 1, (8, 8, 4)), ("fat-tree", 2, 4, (4, 2)),
    ("ring", 4, 1, ()), ("fred-a", 8, 1, (2, 1)), ("fred-a", 4, 1, (1,)),
])  # fmt: skip
def test_tiers(name: str, npus: int, inside: int, expected: tuple[int, ...]) -> None:
    assert BY_NAME[name].tier_switches(npus, kit(), inside) == expected


def test_what_fits_ports_and_switches() -> None:
    def allowed(name: str, npus: list[int], **of: Any) -> list[bool]:
        return [bool(one) for one in BY_NAME[name].allowed(np.array(npus), kit(**of), np.ones(len(npus), np.int64))]

    assert allowed("switch", [16, 17]) == [True, False]
    assert allowed("fully-connected", [3, 4]) == [True, False]  # 2 ports
    assert allowed("hypercube", [4, 6, 8]) == [True, False, False]
    assert allowed("ring", [2, 3], ports=1) == [True, False]
    assert allowed("torus-2d", [4, 5, 6], ports=4) == [True, False, True]
    assert allowed("torus-2d", [4], ports=3) == [False]
    assert allowed("fred-a", [3, 4, 6, 8, 16, 20]) == [True, True, False, True, True, False]
    assert allowed("dragonfly", [4, 6, 8]) == [False, True, False]
    assert allowed("hyperx", [4, 8, 9]) == [False, True, False]
    assert allowed("hyperx", [9], radix=5) == [True]  # 3 x 3 routers of one NPU and 4 links


# Groups on levels: 2 NPUs under a leaf, 4 in a pod, of 8; an NPU has 1/4 of its bandwidth between leaves, 1/8 on top.


def test_shares_of_levels() -> None:
    one, extent = np.ones(1), np.array([8])
    levels = Levels(np.array([2]), np.array([4]), one / 4, one / 8, np.zeros(1))
    # Shrinking: 7/8 is sent, (4 - 1) / 8 leaves leaves and (2 - 1) / 8 pods: min(7/3 / 4, 7 / 8).
    assert levels.shrinking_share(extent).tolist() == pytest.approx([7 / 12])
    # All-to-all: 6/8 leave leaves, 4/8 pods: min(7/6 / 4, 7/4 / 8).
    assert levels.exchange_share(extent).tolist() == pytest.approx([7 / 32])
    # A ring: one link for two NPUs, and one for four.
    assert levels.ring_share(extent).tolist() == [0.5]
    assert Levels(np.array([2]), np.array([4]), one, one / 16, np.zeros(1)).ring_share(extent).tolist() == [0.25]
    assert Levels(np.array([8]), np.array([8]), one / 4, one / 8, np.zeros(1)).ring_share(extent).tolist() == [1.0]
    assert Levels(np.array([2]), np.array([4]), one / 4, one / 8, one / 3).exchange_share(extent).tolist() == [1 / 3]
    assert Levels(np.array([8]), np.array([8]), one / 4, one / 8, np.zeros(1)).shrinking_share(extent).tolist() == [1.0]


def test_groups_on_axes() -> None:
    lengths = np.array([[4], [3]])

    def lie(extent: int, stride: int) -> tuple[list[int], list[int], bool]:
        extents, strides, regular = on_axes(np.array([extent]), np.array([stride]), lengths)
        return extents[:, 0].tolist(), strides[:, 0].tolist(), bool(regular[0])

    assert lie(12, 1) == ([4, 3], [1, 1], True)
    assert lie(2, 2) == ([2, 1], [2, 1], True)
    assert lie(6, 2) == ([2, 3], [2, 1], True)
    assert lie(3, 4) == ([1, 3], [1, 1], True)
    assert not lie(3, 1)[2]
    assert not lie(2, 3)[2]
    assert not lie(2, 6)[2]


def test_shares_on_lines_and_rings() -> None:
    def ring(pattern: Pattern, extent: int, stride: int, npus: int) -> float:
        return float(ring_share(pattern, np.array([extent]), np.array([stride]), np.array([npus]))[0])

    shrinking, every = Pattern.SHRINKING, Pattern.ALL_TO_ALL
    # All of a ring, also where its members are a stride apart; half of it, one direction of two, as a line.
    assert [ring(shrinking, 8, 1, 8), ring(shrinking, 4, 2, 8), ring(shrinking, 4, 1, 8)] == [1.0, 0.5, 0.5]
    # The mean distance around 4 is 4/3; on a line of 4, 2 x 2 pairs cross the middle in one direction: 3 / (2 x 4).
    assert ring(every, 4, 1, 4) == pytest.approx(0.75)
    assert ring(every, 4, 1, 8) == pytest.approx(3 / 8)
    assert ring(every, 3, 2, 9) == pytest.approx(2 / (2 * 2 * 2))
    assert line_share(shrinking, np.array([3]), np.array([2])).tolist() == [0.25]
    assert mean_distance(np.array([5, 1])).tolist() == [1.5, 1.0]


def test_shares_of_products() -> None:
    # 2 x 4 of a 2-D torus with half of an NPU's bandwidth on each axis: {2}: 1/2 over 1/7, {4}: 1/2 over 3/7, both: 1.
    extents = np.array([[2], [4]])
    assert product_share(Pattern.SHRINKING, extents, np.ones((2, 1))).tolist() == pytest.approx([1.0])
    # One of the shares a quarter: {4}: 1/8 over 3/7 = 7/24; both 1/2 + 1/8.
    slow = product_share(Pattern.SHRINKING, extents, np.array([[1.0], [0.25]]))
    assert slow.tolist() == pytest.approx([7 / 24])
    # All-to-all: 1/2 and 3/4 of a message of which 7/8 is sent: 1/2 x 7/8 / (3/4).
    assert product_share(Pattern.ALL_TO_ALL, extents, np.ones((2, 1))).tolist() == pytest.approx([7 / 12])


def test_grids() -> None:
    assert sides(np.array([6, 12, 7]), 2).T.tolist() == [[2, 3], [3, 4], [1, 7]]
    assert sides(np.array([24]), 3).T.tolist() == [[2, 3, 4]]
    # 3 x 3: three links across, and where the side is odd, the middle line of three is cut in turn: 3 + 1.
    assert grid_cut(np.array([9, 6, 12]), 2).tolist() == [4.0, 3.0, 3.0]


def test_planes_of_routers() -> None:
    found = dragonfly(6, 4)
    # An all-to-all sends 2 x 2 x 5 / 6 between two groups over one link: 1 x 5 / 4 over it, at most 5/6.
    assert (found.leaf, found.routers, found.pods, found.links) == (1, 2, 3, 6)
    assert [found.uniform, found.upper, found.top] == pytest.approx([5 / 6, 5 / 12, 5 / 12])
    # Two groups of 4 routers of 2 NPUs: 6 links in each, and 8 between them.
    two = dragonfly(16, 8)
    assert (two.leaf, two.routers, two.pods, two.links) == (2, 4, 2, 20)
    grid = hyperx(8, 4)
    # One link of a router with two NPUs to the other one in its line: 1/2, and all of it goes straight.
    assert (grid.leaf, grid.routers, grid.pods, grid.links) == (2, 2, 2, 4)
    assert [grid.upper, grid.top, grid.uniform] == pytest.approx([0.5, 0.5, 7 / 8])
    assert spread(5) == 0.625
