"""Dragonflies and HyperX networks of orders: published systems, counts by hand, times of the blocks, and laws."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import catalogue, order_of, switch_of

from evo_libra.collective import Pattern
from evo_libra.errors import InputError
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.blocks.scale_out import Reach, ScaleOutKit
from evo_libra.network.orders.direct import Direct, direct_of
from evo_libra.network.orders.direct_wiring import topology_wires
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.topology import topology_of

_HGX = {"npus": 8, "rails": 8}
_NVL72 = {"npus": 72, "rails": 4, "is_rack": True, "kW": 132, "cooling": "liquid", "active": [72, 64]}
_CARD = {"ports": 1, "Gbps": 400}
_BY_NAME = {block.name: block for block in BLOCKS}


def direct(
    count: int, ports: int = 64, system: dict[str, Any] = _HGX, nic: dict[str, Any] = _CARD, **order: Any
) -> Direct:
    products = catalogue(system=system, nic=nic, switch=switch_of(ports, nic["Gbps"]))
    return direct_of(order_of(products, count, **order), products)


def shape(found: Direct) -> tuple[int, ...]:
    """Return the ports of a switch, the switches of a unit, the units, and the links of two of each."""
    return found.down, found.unit, found.units, found.near_links, found.far_links


def test_frontier() -> None:
    # A cabinet of Cray EX is a group of 128 nodes with 4 NICs each and of 32 switches of 64 ports: 16 down and 31 in
    # the group. 74 of these have 4 links to each other group, 512 / (4 x 73) = 1.75:1
    # (glennklockwood.com/garden/systems/frontier, 2024).
    found = direct(9472, system={"npus": 4, "rails": 4}, family="dragonfly", pod_ratio=1.75)
    assert shape(found) == (16, 32, 74, 1, 4)
    assert (found.near, found.pod_systems, found.switches) == (31, 128, 2368)
    assert (found.links, found.unit_links, found.far_unit_links) == (37_888, 74 * 32 * 31 // 2, 4 * 74 * 73 // 2)
    # A group sends 4 x 73 of 512 bandwidths, 57 %; half of it by way of third groups.
    assert found.pod_share == pytest.approx(4 * 37_887 / 512**2 / 2)


def test_aurora_has_5600_switches() -> None:
    # Nearly 85,000 NICs of nodes with 8 each, and 5,600 switches of 64 ports (arXiv 2512.04291, 2025): 175 groups of
    # 32, which have ports for 89,600.
    found = direct(175 * 64, family="dragonfly")
    assert (found.units, found.unit, found.switches, found.links) == (175, 32, 5600, 89_600)


def test_the_dragonfly_of_72_of_the_paper() -> None:
    # Kim et al., figure 5: p = h = 2, a = 4 and 9 groups on 7 ports.
    found = direct(36, 7, {"npus": 2, "rails": 2}, family="dragonfly")
    assert shape(found) == (2, 4, 9, 1, 1)
    assert (found.switches, found.unit_links, found.far_unit_links, found.near, found.far) == (36, 54, 36, 3, 2)
    with pytest.raises(InputError, match="a group has 8 links to 9 others"):
        direct(37, 7, {"npus": 2, "rails": 2}, family="dragonfly")


def test_a_ratio_leaves_more_ports_down() -> None:
    # 2:1 on 64 ports: p + 3 p / 2 - 1 <= 64 takes 24 of whole systems, h = 12, groups of 24 switches: 576 NPUs.
    found = direct(1024, family="dragonfly", leaf_ratio=2.0)
    # 15 groups of 69 systems: 23 switches with 3 each. 23 x 12 links over 14 others: 19.
    assert shape(found) == (24, 23, 15, 1, 19)
    # The last group has 58 of 69 systems. Links between groups have 19 x 8,191 / 552^2 = 51 %. A link in a group has
    # 24 x 24 for its own NPUs, and 2 x 24 x (8,192 - 552) / 23 for those of other groups, over 8,191: 50 %.
    near = 8191 / (24 * 24 + 2 * 24 * (8192 - 552) / 23)
    assert found.leaf_share == pytest.approx(near / 2)
    assert near == pytest.approx(0.4959, abs=1e-4)


def test_small_groups_have_parallel_links() -> None:
    # 1,024 NPUs on 128 ports: p = h = 32, two groups of 16 switches; 128 - 64 ports take 4 links to each of 15 others.
    found = direct(128, 128, family="dragonfly")
    assert shape(found) == (32, 16, 2, 4, 512)
    assert (found.near, found.far, found.unit_links, found.far_unit_links) == (60, 32, 2 * 120 * 4, 512)


def test_as_few_groups_as_have_enough_links() -> None:
    # 72 servers on 36 switches: 2 groups of 18 have 32 ports for 17 others, one link each, and 18 x 1 of the 24 that
    # 2 p - p / 2 needs; 3 of 12 have 2 each, 24 of 26.7: 90 %.
    found = direct(72, family="dragonfly")
    assert shape(found) == (16, 12, 3, 2, 96)
    near = 2 * 575 / (16**2 * 5)
    assert found.leaf_share == pytest.approx(near / 2)
    assert near == pytest.approx(0.898, abs=1e-3)


def test_a_rack_is_spread_over_switches() -> None:
    # 72 ports do not fit 32 down: three switches with 24 each. 48 of them are a group of 16 racks.
    found = direct(112, 128, _NVL72, family="dragonfly")
    assert (found.spread, found.leaf_systems, found.pod_systems, found.uneven) == (3, 1, 16, False)
    assert shape(found) == (24, 48, 7, 1, 192)
    # With 64 of 72 in use, 64 / 3 of the NPUs at a switch send.
    active = direct(112, 128, _NVL72, family="dragonfly", active=64)
    assert active.leaf_share == pytest.approx((7 * 1024 - 1) / (7 * 1024) / 2)


def test_a_hyperx_of_4096() -> None:
    # 16 down, and 15 in the line and in the column: 46 of 64 ports. A cube of 16, L K / (2 T) = 1/2.
    found = direct(512, family="hyperx")
    assert shape(found) == (16, 16, 16, 1, 1)
    assert (found.switches, found.unit_links, found.far_unit_links) == (256, 1920, 1920)
    assert (found.leaf_share, found.pod_share, found.leaf_systems, found.pod_systems) == (0.5, 0.5, 2, 32)


def test_short_lines_of_a_hyperx_have_parallel_links() -> None:
    # 2:1 on 128 ports: 64 down, 128 switches in lines of 8 and columns of 16; K L >= 32: 4 and 2. 64 + 28 + 30 ports.
    found = direct(1024, 128, family="hyperx", leaf_ratio=2.0)
    assert shape(found) == (64, 8, 16, 4, 2)
    assert (found.near, found.far, found.leaf_share, found.pod_share) == (28, 30, 0.25, 0.25)


def test_planes_are_networks_of_their_own() -> None:
    two = direct(512, nic={"ports": 2, "Gbps": 400}, family="hyperx", planes=2)
    one = direct(512, family="hyperx")
    assert (two.switches, two.links, two.unit_links) == (2 * one.switches, 2 * one.links, 2 * one.unit_links)
    assert two.leaf_share == one.leaf_share


def test_two_ports_in_one_plane_are_of_the_same_npu() -> None:
    # 16 ports of a system: one at a switch of 16 down, 8 NPUs with two ports each. Their share is that of any 16 ports.
    found = direct(256, nic={"ports": 2, "Gbps": 400}, family="hyperx")
    assert (found.down, found.leaf_systems, found.leaf_share) == (16, 1, 0.5)


@pytest.mark.parametrize(
    ("count", "figures", "message"),
    [
        (8, {"family": "dragonfly"}, "no dragonfly of switch joins 64 NPUs: one switch does"),
        (1024, {"family": "dragonfly", "pod_ratio": 0.5}, "the ratio of groups is 1:1 at least"),
        (1024, {"family": "hyperx", "uplink_Gbps": 800}, "links of a hyperx have the rate of its NICs"),
        (8192, {"family": "hyperx"}, "no grid of two dimensions has enough ports"),
    ],
)
def test_refused(count: int, figures: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        direct(count, **figures)


@pytest.mark.parametrize(
    ("family", "count"), [("dragonfly", 128), ("dragonfly", 512), ("hyperx", 512), ("hyperx", 1024)]
)
def test_times_are_those_of_the_block_of_designs(family: Any, count: int) -> None:
    """A dragonfly or a HyperX of the same structure gives the same share to each group, and has as long ways."""
    found, block, inside = direct(count, family=family), _BY_NAME[family], np.array([8])
    kit = sample_kit(block, radix=64)
    reach = Reach(found.passed, found.leaf_systems, found.pod_systems, found.leaf_share, found.pod_share)
    scale_out = _BY_NAME["scale-out"]
    mine = ScaleOutKit(**vars(sample_kit(scale_out)), reach=reach)
    npus = np.array([count])
    assert block.plane(8 * count, 64).leaf == found.down  # type: ignore[attr-defined]
    assert block.hops(npus, kit)[1] == scale_out.hops(npus, mine)[1]
    one, other = block.at(kit, inside), scale_out.at(mine, inside)
    for pattern in Pattern:
        for stride in (1, 2, 4, 32, 64, 128):
            for extent in (2, 4, 8, 16, count // stride):
                if extent * stride <= count:
                    group = np.array([extent]), np.array([stride]), npus
                    assert other.share(pattern, *group)[0] == pytest.approx(one.share(pattern, *group)[0]), group


@pytest.mark.slow
@pytest.mark.parametrize(("count", "ports", "npus"), [(36, 7, 2), (72, 64, 8), (61, 64, 8), (128, 128, 8)])
def test_shares_are_those_of_all_messages_on_all_links(count: int, ports: int, npus: int) -> None:
    """An all-to-all of all NPUs, link by link; 61 systems have a group that is not full, and a switch with one."""
    system = {"npus": npus, "rails": npus}
    products = catalogue(system=system, nic=_CARD, switch=switch_of(ports))
    found = direct_of(order := order_of(products, count, family="dragonfly"), products)
    down, near, far = topology_wires(order, found, products)
    at = np.bincount(down.upper, minlength=found.switches).astype(float)
    sent = np.outer(at, at) / (at.sum() - 1)
    group, local, between = (
        np.arange(found.switches) // found.unit,
        np.zeros((found.switches,) * 2),
        defaultdict[int, float](float),
    )
    for one, other in permutations(range(found.switches), 2):
        if group[one] == group[other]:
            local[one, other] += sent[one, other]
            continue
        ways = np.concatenate((np.stack((far.lower, far.upper)), np.stack((far.upper, far.lower))), axis=1)
        links = np.flatnonzero((group[ways[0]] == group[one]) & (group[ways[1]] == group[other]))
        part = sent[one, other] / len(links)
        for link in links.tolist():
            leaves, enters = ways[:, link]
            local[one, leaves] += part * (one != leaves)
            local[enters, other] += part * (enters != other)
            between[link] += part
    most = max(local.max() / found.near_links, *between.values())
    assert len(near) == found.unit_links
    assert 2 * found.leaf_share == pytest.approx(min(1 / most, 1 - 1 / at.sum()))


@given(
    count=st.integers(2, 3000),
    ports=st.sampled_from([16, 40, 64, 128, 144]),
    npus=st.sampled_from([1, 4, 8, 72]),
    family=st.sampled_from(["dragonfly", "hyperx"]),
    ratio=st.sampled_from([0.5, 1.0, 2.0, 3.0, 7.0]),
    pods=st.sampled_from([1.0, 2.0, 7.0]),
)
def test_laws(count: int, ports: int, npus: int, family: Any, ratio: float, pods: float) -> None:
    """Ports are enough, all systems have a place, links have their ends, and no group has more than its bandwidth."""
    try:
        found = direct(count, ports, {"npus": npus, "rails": 1}, family=family, leaf_ratio=ratio, pod_ratio=pods)
    except InputError:
        return
    assert found.down + found.near + found.far <= ports
    assert found.down * found.spread >= npus * found.leaf_systems
    places = found.unit // found.spread * found.leaf_systems
    assert found.unit % found.spread == 0
    assert places * found.units >= count > places * (found.units - 1)
    assert 2 * found.unit_links == found.switches * found.near
    assert 2 * found.far_unit_links <= found.switches * found.far
    assert 0 < found.pod_share <= found.leaf_share <= 1
    assert found.units >= 2
    if family == "dragonfly":
        assert found.units <= found.unit * found.far + 1


def test_topology_of_a_family() -> None:
    products = catalogue(system=_HGX, nic=_CARD, switch=switch_of(64))
    orders: list[Order] = [order_of(products, 512, family=family) for family in ("fat-tree", "hyperx")]
    assert [topology_of(order, products).stages for order in orders] == [
        (("leaf switches", 128), ("spine switches", 128), ("core switches", 64)),
        (("hyperx switches, 16 x 16", 256),),
    ]
