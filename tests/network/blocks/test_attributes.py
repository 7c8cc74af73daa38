"""What every block says of itself, in one table; and groups on inner dimensions, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks import Block, Kit, Part, Range
from evo_libra.network.blocks.blast import STATED
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.blocks.routers import Plane, dragonfly, hyperx

BY_NAME = {block.name: block for block in BLOCKS}
RATIOS = ("2", "3", "4", "5", "6", "7", "8", "1-2", "1-3", "1-4", "1-5", "1-6", "1-7", "1-8", "2-2", "4-4")
NETWORK = "halving-doubling", "switch", "switch"
TABLE = {
    # Code, algorithm, its switch, timed as, what it is besides, an NPU's part of the upper level.
    "ring": ("RI", "ring", None, "ring", "", 0.0),
    "fully-connected": ("FC", "direct", None, "fully-connected", "", 0.0),
    "switch": ("SW", *NETWORK, "", 0.0),
    "fat-tree": ("CL", *NETWORK, "joined", 0.0),
    "scale-out": ("SO", *NETWORK, "joined sited", 0.0),
    "dragonfly": ("DF", *NETWORK, "joined sited", 0.0),
    "hyperx": ("HX", *NETWORK, "joined sited", 0.0),
    **{f"switch-{ratio}": (f"SW{ratio.replace('-', '')}", *NETWORK, "sited", 0.0) for ratio in RATIOS},
    **{f"fat-tree-{ratio}": (f"CL{ratio.replace('-', '')}", *NETWORK, "joined sited", 0.0) for ratio in RATIOS},
    "fred-a": ("WA", "halving-doubling", "switch", "tree", "", 1 / 8),
    "fred-b": ("WB", "halving-doubling", "switch", "tree", "in_network", 1 / 8),
    "fred-c": ("WC", "halving-doubling", "switch", "tree", "", 1.0),
    "fred-d": ("WD", "halving-doubling", "switch", "tree", "in_network", 1.0),
    "hypercube": ("HC", "halving-doubling", None, "ring", "divided", 0.0),
    "mesh-2d": ("ME", "ring", None, "line", "divided", 0.0),
    "torus-2d": ("TO", "ring", None, "ring", "divided", 0.0),
    "torus-3d": ("TC", "ring", None, "ring", "divided", 0.0),
    "ocs-rail": ("OC", "ring", "ocs", "ring", "", 0.0),
}
FLAGS = ("divided", "in_network", "joined", "sited")


def test_what_blocks_are() -> None:
    found = {
        block.name: (block.code, block.algorithm, block.switch_kind, block.timed_as,
                     " ".join(flag for flag in FLAGS if getattr(block, flag)), block.upper)
        for block in BLOCKS
    }  # fmt: skip
    assert found == TABLE
    # A spare takes any place where switches are.
    assert all(block.swaps == (TABLE[block.name][2] is not None) for block in BLOCKS)


def kit(radix: int, room: int = 0) -> Kit:
    switch = Part("some", "switch", Range(1.0, 1.0, 1.0), 1.0, radix, 0.0, "by hand", 2026)
    return Kit("some", 0, 0, 1e9, 2, None, 0.0, 0.0, None, None, None, None, switch, room=room)


def figures(name: str, what: str, radix: int, npus: int, inside: int) -> list[float]:
    found = getattr(BY_NAME[name], what)(np.array([npus]), kit(radix), np.array([inside]))
    return [float(each[0]) for each in (found if isinstance(found, tuple) else (found,))]


def test_rails_do_not_see_what_is_inside() -> None:
    # 8 NPUs with 4 inside each: rails of 8 have two leaves of 4 at 2:1 with ports of 6; one network of 32 has 8.
    assert [figures(name, "leaves", 6, 8, 4) for name in ("switch-2", "fat-tree-2")] == [[2.0], [8.0]]
    assert [figures(name, "leaves", 4, 8, 2) for name in ("switch", "fat-tree")] == [[4.0], [8.0]]
    assert figures("fat-tree", "leaves", 64, 8, 2) == figures("fat-tree", "leaves", 64, 8, 8) == [1.0]
    # 16 NPUs with ports of 4: 8 leaves in pods of two. A single switch and two tiers have none.
    assert [figures("switch", "pods", 4, npus, 1) for npus in (4, 8, 16)] == [[0.0], [0.0], [4.0]]
    assert [figures("fat-tree", "hops", 4, 4, inside) for inside in (1, 2, 4)] == [[2.0, 1.0], [4.0, 3.0], [6.0, 5.0]]


def test_tiers_of_one_switch() -> None:
    assert BY_NAME["fat-tree-2"].tier_switches(4, kit(6)) == (1,)
    assert BY_NAME["fat-tree-2"].tier_switches(2, kit(6), 4) == (2, 1)
    assert BY_NAME["ocs-rail"].tier_switches(4, kit(8)) == (1,)


def test_the_most_npus_at_a_router() -> None:
    # Ports of 12: at most (12 + 1) / 4 = 3 NPUs of a router. 16 NPUs are no groups of 18, and two groups of 8.
    found = dragonfly(16, 12)
    assert (found.leaf, found.routers, found.pods, found.links) == (2, 4, 2, 20)
    # 18 x 19 = 342 NPUs are the most with 3 of them: each two groups have one link.
    whole = dragonfly(342, 12)
    assert (whole.leaf, whole.routers, whole.pods, whole.links) == (3, 6, 19, 19 * 15 + 19 * 9)
    # Pairs have 18 / 18 = 1 link: 341 / 18^2 are above 341 / 342.
    assert whole.uniform == pytest.approx(341 / 342)
    # 12 x 3 NPUs: three groups of 12 routers would be more than a router has ports for.
    nothing = Plane(leaf=0, routers=0, pods=0, links=0, upper=1.0, top=1.0, uniform=0.0)
    assert dragonfly(13, 12) == dragonfly(12, 12) == hyperx(7, 4) == nothing
    # 3 x 2 routers of 3 NPUs need 3 + 2 + 1 ports; a side of 2 carries 4 x 1 >= 3 x 2 of no more than 2 NPUs.
    grid = hyperx(12, 5)
    assert (grid.leaf, grid.routers, grid.pods, grid.links) == (2, 2, 3, 9)
    # Of the line of 3: 2 links for 2 NPUs, 3/4 of which go to each; of the line of 2: 1 for 2.
    assert [grid.upper, grid.top, grid.uniform] == pytest.approx([0.5, 0.5, 11 / 12])


@pytest.mark.parametrize(("name", "extent", "stride", "npus", "expected"), [
    # NPUs, those of a group, their stride and share, of each inner dimension. A torus of 4 x 4 has half on each axis.
    ("torus-2d", 16, 1, 16, ([4, 4], [4, 4], [1, 1], [0.5, 0.5])),
    # Half of an axis is a line: a quarter of what is on the axis, half of it both ways.
    ("torus-2d", 2, 1, 16, ([4, 4], [2, 1], [1, 1], [0.25, 0.5])),
    ("torus-2d", 4, 4, 16, ([4, 4], [1, 4], [1, 1], [0.5, 0.5])),
    # Three of 16 are no product: a ring by way of all. That has half of the share of an all-to-all of rings of four,
    # which carry 3/4 of half of the bandwidth, and 3/4 x 16/15 of what is sent.
    ("torus-2d", 3, 1, 16, ([3, 1], [3, 1], [1, 1], [0.234375, 0.234375])),
    ("mesh-2d", 16, 1, 16, ([4, 4], [4, 4], [1, 1], [0.25, 0.25])),
    # A pair for each of two bits of four, with a quarter of the ports of 16 NPUs.
    ("hypercube", 4, 1, 16, ([2, 2], [2, 2], [1, 1], [0.25, 0.25])),
    # 8 NPUs in two switches of four; every second one of them.
    ("fred-a", 8, 1, 8, ([4, 2], [4, 2], [1, 1], [1.0, 0.125])),
    ("fred-a", 4, 2, 8, ([4, 2], [2, 2], [2, 1], [1.0, 0.125])),
    ("fred-a", 2, 4, 8, ([4, 2], [1, 2], [1, 1], [1.0, 0.125])),
    # Three of 20 are no grid: each is alone in its switch.
    ("fred-c", 3, 1, 20, ([4, 5], [1, 3], [1, 1], [1.0, 1.0])),
    ("fred-c", 6, 1, 20, ([4, 6], [1, 6], [1, 1], [1.0, 1.0])),
])  # fmt: skip
def test_inner_dimensions(
    name: str, extent: int, stride: int, npus: int, expected: tuple[list[float], list[float], list[float], list[float]]
) -> None:
    found = BY_NAME[name].inner(np.array([extent]), np.array([stride]), np.array([npus]))
    each = (found.npus, found.extent, found.stride, found.share)
    assert all(values.dtype == np.int64 for values in each[:3])
    assert [values[:, 0].tolist() for values in each] == [pytest.approx(list(values)) for values in expected]


@pytest.mark.parametrize(("name", "npus", "uplink", "switch"), [
    # Without a word of its block, every switch cuts NPUs off. 8 NPUs with ports of 4 are on 6 switches with 8 uplinks;
    # FRED-A has more switches, 3 for two ports, than uplinks, 2 x 4 / 8 for one, which then carry all of a network.
    ("switch", 4, 0.0, 1.0), ("switch", 8, 0.75, 1.0), ("switch", 16, 20 / 32, 1.0), ("fred-c", 8, 3 / 2 / 8, 1.0),
    ("fred-a", 8, 1.0, 1.0),
])  # fmt: skip
def test_failures_where_a_block_says_nothing(name: str, npus: int, uplink: float, switch: float) -> None:
    found = Block.blast(BY_NAME[name], np.array([npus]), kit(4), np.array([1]))
    assert found.slowed[STATED.index("uplink")].tolist() == pytest.approx([uplink])
    assert found.slowed[STATED.index("switch")].tolist() == [0.0]
    assert found.many[STATED.index("switch")].tolist() == [switch]
    assert found.one[STATED.index("link")].tolist() == [1.0]


@pytest.mark.parametrize(("name", "extent", "stride", "npus", "shrinking", "every"), [
    # FRED-A: 8 NPUs in two switches. (2 - 1) / 8 of the message goes up at 1/8: 7 / 8; all to all 4/8: 7 / 4 / 8.
    ("fred-a", 8, 1, 8, 7 / 8, 7 / 32),
    # Four in one switch, and four of which two are in each: 3 / 8 and 3 / 2 / 8.
    ("fred-a", 4, 1, 8, 1.0, 1.0), ("fred-a", 4, 2, 8, 3 / 8, 3 / 16),
    # Where switches reduce, one flow goes up for e0 NPUs: 4 / 8 and 2 / 8.
    ("fred-b", 8, 1, 8, 0.5, 7 / 32), ("fred-b", 4, 2, 8, 0.25, 3 / 16), ("fred-b", 2, 4, 8, 1 / 8, 1 / 8),
    ("fred-d", 8, 1, 8, 1.0, 1.0),
    # Of 16 NPUs of a hypercube, 2 of 4 bits; all to all 2 x 3/4 links of 4, and 2 x 15/16 of 4.
    ("hypercube", 4, 1, 16, 0.5, 0.375), ("hypercube", 16, 1, 16, 1.0, 15 / 32),
    ("ocs-rail", 8, 1, 8, 1.0, 0.25), ("ocs-rail", 2, 1, 8, 1.0, 1.0),
    ("fully-connected", 8, 1, 8, 1.0, 1.0), ("fully-connected", 3, 1, 8, 2 / 7, 2 / 7),
])  # fmt: skip
def test_shares(name: str, extent: int, stride: int, npus: int, shrinking: float, every: float) -> None:
    block, group = BY_NAME[name], (np.array([extent]), np.array([stride]), np.array([npus]))
    found = [float(block.share(pattern, *group)[0]) for pattern in (Pattern.SHRINKING, Pattern.ALL_TO_ALL)]
    assert found == pytest.approx([shrinking, every])


@pytest.mark.parametrize(("name", "extent", "shrinking"), [
    # Where switches reduce, of 2 (e - 1) / e messages one is sent: 4 / 6 and 8 / 14, and all of it by one alone.
    ("fred-b", 4, 2 / 3), ("fred-d", 8, 4 / 7), ("fred-d", 1, 1.0), ("fred-a", 4, 1.0),
])  # fmt: skip
def test_what_is_sent_where_switches_reduce(name: str, extent: int, shrinking: float) -> None:
    block, group = BY_NAME[name], np.array([extent])
    assert block.traffic_factor(Pattern.SHRINKING, group).tolist() == pytest.approx([shrinking])
    assert block.traffic_factor(Pattern.SHRINKING, group, Collective.ALL_GATHER).tolist() == [1.0]
    assert block.traffic_factor(Pattern.ALL_TO_ALL, group).tolist() == [1.0]
