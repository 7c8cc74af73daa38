"""The switches of orders: published tables, formulas worked by hand, and laws."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import catalogue, order_of, switch_of
from ruamel.yaml import YAML

from evo_libra.errors import InputError
from evo_libra.network.orders.order import Family, Order
from evo_libra.network.orders.tree import Tree, tree_of

_GOLDEN = Path(__file__).parents[2] / "golden/orders/reference_architectures.yaml"
_PUBLISHED = YAML(typ="safe").load(_GOLDEN.read_text(encoding="utf-8"))
_HGX = {"npus": 8, "rails": 8}
_NVL72 = {"npus": 72, "rails": 4, "is_rack": True, "kW": 132, "cooling": "liquid"}
_CARD = {"ports": 1, "Gbps": 400}


def tree(count: int, ports: int = 64, system: dict[str, Any] = _HGX, nic: dict[str, Any] = _CARD, **order: Any) -> Tree:
    products = catalogue(system=system, nic=nic, switch=switch_of(ports, nic["Gbps"]))
    return tree_of(order_of(products, count, **order), products)


@pytest.mark.parametrize(("case", "row"), [(case, row) for case in _PUBLISHED for row in case["rows"]])
def test_published_counts(case: dict[str, Any], row: list[int | None]) -> None:
    figures = {key: case[key] for key in ("system", "nic", "switch", "kilowatts") if key in case}
    products = catalogue(**figures)
    count, *published = row
    found = tree_of(order_of(products, count or 0, **case["order"]), products)
    twins = case.get("links_of_a_cable", 1)
    cables = [links // twins for links in (found.links, found.uplinks, found.core_links)]
    counts = [found.leaves, found.spines, found.cores, *cables]
    assert [count for count, known in zip(counts, published, strict=True) if known is not None] == [
        known for known in published if known is not None
    ]


def test_pods_of_a_superpod_are_of_four_units_of_32_nodes() -> None:
    # 512 nodes, 64 ports, 1:1: 32 down; a spine has 32 ports down, so a pod has 32 leaves: 4 units of 8 rails.
    found = tree(512, family="rail-optimised")
    assert (found.tiers, found.pods, found.leaf_systems, found.pod_systems) == (3, 4, 32, 128)
    assert (found.leaf_share, found.pod_share, found.uneven) == (1.0, 1.0, False)


def test_two_pods_of_hpn_have_cores_at_15_to_1() -> None:
    # Aggregation: 120 of 128 ports down, 8 up; 60 of them a pod and plane; cores: ceil(2 x 60 x 8 / 128) = 8 a plane.
    case = next(case for case in _PUBLISHED if "HPN" in case["source"])
    products = catalogue(system=case["system"], nic=case["nic"], switch=case["switch"])
    found = tree_of(order_of(products, 3840, **case["order"]), products)
    assert (found.leaves, found.spines, found.cores, found.pods) == (480, 240, 16, 2)
    assert (found.down, found.up, found.leaf_systems, found.pod_systems) == (128, 60, 128, 1920)
    assert found.leaf_share == pytest.approx(60 * 400 / (128 * 200))
    assert found.pod_share == pytest.approx(60 * 8 * 400 / (1920 * 8 * 200))


@pytest.mark.parametrize(("npus", "switches"), [(128, 2), (256, 4), (512, 8)])
def test_rails_share_switches(npus: int, switches: int) -> None:
    # n = npus / 8 ends of a rail; floor(64 / n) rails are on a switch.
    found = tree(npus // 8, family="rail-only")
    assert (found.tiers, found.switches, found.uplinks, found.leaf_systems) == (1, switches, 0, npus // 8)
    assert found.leaf_share == found.pod_share == 1.0


def test_a_large_rail_is_a_tree_of_its_own() -> None:
    # 16,384 NPUs, 2,048 a rail: 64 leaves and 32 spines, eight times.
    found = tree(2048, family="rail-only")
    assert (found.leaves, found.spines, found.switches) == (512, 256, 768)


def test_planes_share_a_switch_where_one_holds_several() -> None:
    # 16 NPUs with 2 x 400G in two planes: 16 ends a plane, so that a switch of 64 ports has both.
    two = {"ports": 2, "Gbps": 400}
    assert tree(2, nic=two, family="fat-tree", planes=2).switches == 1
    assert tree(8, nic=two, family="fat-tree", planes=2).switches == 2


@pytest.mark.parametrize(
    ("ports", "ratio", "down", "up"),
    [
        (64, 1.0, 32, 32),
        (64, 2.0, 42, 22),  # 24 leaves: 22 links among 11 spines, where 21 need 21
        (128, 2.0, 84, 44),  # not 85 and 43, which no spines but 43 divide
        (128, 7.0, 112, 16),
        (64, 0.5, 21, 42),
        (400, 1.07, 206, 194),  # 206 / 1.07 = 192.5; 193 is prime
    ],
)
def test_ports_of_a_leaf_by_ratio(ports: int, ratio: float, down: int, up: int) -> None:
    found = tree(down * 3, ports, family="rail-optimised", leaf_ratio=ratio)
    assert (found.down, found.up) == (down, up)
    assert found.leaf_share == min(ceil(down / ratio) / down, 1.0)


def test_ports_of_mixed_modes_fit_into_cages() -> None:
    # 64 cages for 200G down, four each, and 400G up, two each, at 2:1 in bandwidth, 4:1 in links: 170 and 43 ports take
    # 43 + 22 = 65 cages, 168 and 42 take 42 + 21 = 63, and 44 take 64.
    modes = [{"ports": 256, "Gbps": 200, "per_cage": 4}, {"ports": 128, "Gbps": 400, "per_cage": 2}]
    products = catalogue(system=_HGX, nic={"ports": 1, "Gbps": 200}, switch={"cages": 64, "modes": modes})
    found = tree_of(order_of(products, 400, family="rail-optimised", leaf_ratio=2.0, uplink_Gbps=400), products)
    assert (found.down, found.up, found.leaf_share) == (168, 44, 0.5)


def test_filled_leaves_and_leaves_of_racks_differ() -> None:
    # 24,576 GPUs on 64 ports: 768 filled leaves of 32; with a leaf a rack of 16, 1,536.
    assert tree(3072, family="fat-tree").leaves == 768
    products = catalogue(system=_HGX, nic=_CARD, switch=switch_of(64), kilowatts=21)
    found = tree_of(order_of(products, 3072, family="tor"), products)
    assert (found.leaves, found.down, found.up, found.leaf_systems) == (1536, 16, 16, 2)


def test_a_leaf_holds_whole_racks_of_its_rail() -> None:
    # 18 NPUs of a rack on a rail: 32 ports down hold one rack, 64 three, 72 four.
    found = {ports: tree(96, ports, _NVL72, family="rail-optimised") for ports in (64, 128, 144)}
    assert {ports: one.leaf_systems for ports, one in found.items()} == {64: 1, 128: 3, 144: 4}
    assert [(one.down, one.up, one.leaf_share) for one in found.values()] == [(18, 18, 1), (54, 54, 1), (72, 72, 1)]
    assert found[144].leaves == 4 * 24


def test_filled_leaves_have_npus_of_several_racks() -> None:
    # 72 ends of a rack on 64 of 128 ports: 8 racks fill 9 leaves, 112 racks 126. Each leaf has 64 uplinks, equally many
    # to each spine, so that 64 spines have them and not the 63 whose ports would do.
    found = tree(112, 128, _NVL72, family="fat-tree")
    assert (found.leaves, found.spines, found.down, found.up) == (126, 64, 64, 64)
    assert (found.leaf_systems, found.group_systems, found.leaf_share) == (1, 8, 1.0)
    assert tree(112, 128, _NVL72, family="tor").leaves == 224
    # Two racks fit on 144 ports: 56 leaves of whole racks, and no system is on two leaves.
    assert tree(112, 288, _NVL72, family="fat-tree").leaf_systems == 2


def test_filled_leaves_of_three_tiers_stay_in_their_pod() -> None:
    # 32 ports down: 4 racks fill 9 leaves. 114 racks fill 257 leaves, more than 64: pods have 32.
    # 14 racks have 32 leaves (31.5), 9 groups of 14 have 288, 38 of 3 (6.75: 7 leaves) 266, 29 of 4 261.
    found = tree(114, 64, _NVL72, family="fat-tree")
    assert (found.tiers, found.group_systems, found.leaves, found.pods) == (3, 4, 261, 10)
    assert found.pod_systems == 12


def test_active_npus_may_be_all_of_a_filled_leaf() -> None:
    # 2:1 on 128 ports: 84 down, 42 up; 7 racks of 72 fill 6 leaves, some of which have no spare NPU.
    found = tree(112, 128, _NVL72, family="fat-tree", leaf_ratio=2.0, active=64)
    assert (found.group_systems, found.leaves, found.down, found.up, found.leaf_share) == (7, 96, 84, 42, 0.5)


def test_a_rack_larger_than_a_leaf_spreads_over_several() -> None:
    # 72 ends on 32 ports down: 3 leaves of 24, 24 ports up.
    found = tree(16, 64, _NVL72, family="tor")
    assert (found.leaves, found.down, found.up, found.leaf_systems, found.leaf_share) == (48, 24, 24, 1, 1.0)
    halved = tree(16, 64, _NVL72, family="tor", leaf_ratio=2.0)
    # 42 ports down: 2 leaves of 36, 18 up.
    assert (halved.leaves, halved.down, halved.up, halved.leaf_share) == (32, 36, 18, 0.5)


def test_spare_npus_have_ports_and_active_ones_their_bandwidth() -> None:
    # 64 of 72 active at 2:1: 4 x 18 ends down, 36 up for 4 x 16 active ones.
    found = tree(32, 144, _NVL72, family="rail-optimised", leaf_ratio=2.0, active=64)
    assert (found.leaf_systems, found.down, found.up, found.links) == (5, 90, 45, 32 * 72)
    assert found.leaf_share == pytest.approx(45 / (5 * 16))


def test_a_larger_switch_can_have_less_above_a_leaf_where_a_smaller_one_rounds_up() -> None:
    # Racks with 18 ports on a rail, 7:1. Of 128 ports 6 racks have 108 down and ceil(108 / 7) = 16 up, a little more
    # than 7:1. Of 288 ports 14 racks have 252 down and 36 up, which are all ports. Both have what they pay for.
    found = {ports: tree(112, ports, _NVL72, family="rail-optimised", leaf_ratio=7.0) for ports in (128, 288)}
    assert [(one.leaf_systems, one.down, one.up) for one in found.values()] == [(6, 108, 16), (14, 252, 36)]
    assert [one.leaf_share for one in found.values()] == [16 / 108, 1 / 7]


@pytest.mark.slow
@given(
    st.integers(2, 1000), st.sampled_from([_HGX, _NVL72]), st.sampled_from([1.0, 2.0, 3.0, 4.0, 7.0]),
    st.lists(st.integers(40, 600), min_size=2, max_size=2, unique=True).map(sorted),
    st.sampled_from(["rail-optimised", "fat-tree", "tor", "rail-only"]),
)  # fmt: skip
def test_a_larger_switch_has_no_less_above_a_leaf_than_a_smaller_one_rounds_up(
    count: int, system: dict[str, Any], ratio: float, ports: list[int], family: Family
) -> None:
    """Of d ports down at r:1, ceil(d / r) are up: at most (r - 1) / d more than the ratio. No leaf has less than it."""
    try:
        small, large = (tree(count, one, system, family=family, leaf_ratio=ratio) for one in ports)
    except InputError:
        return
    if min(small.tiers, large.tiers) > 1:
        assert large.leaf_share >= min(1.0, 1 / ratio)
        assert small.leaf_share <= large.leaf_share * (1 + (ratio - 1) / small.down) + 1e-12


@pytest.mark.slow
@given(
    st.integers(2, 2000), st.sampled_from([_HGX, _NVL72]), st.sampled_from([1.0, 2.0, 3.0, 7.0]),
    st.lists(st.integers(40, 600), min_size=2, max_size=2, unique=True).map(sorted),
    st.sampled_from(["rail-optimised", "fat-tree", "tor", "rail-only"]),
)  # fmt: skip
def test_whole_systems_on_a_leaf_have_no_less_above_it_on_a_larger_switch(
    count: int, system: dict[str, Any], ratio: float, ports: list[int], family: Family
) -> None:
    """The same systems on a leaf have the same uplinks, and a larger switch needs no more tiers and no smaller pods."""
    try:
        small, large = (tree(count, one, system, family=family, leaf_ratio=ratio) for one in ports)
    except InputError:
        return
    assert large.tiers <= small.tiers
    ends = system["npus"] // (system["rails"] if family.startswith("rail") else 1)
    whole = small.down % ends == 0 and large.down % ends == 0  # filled leaves hold parts of systems
    if small.tiers > 1 and large.leaf_systems == small.leaf_systems and small.down >= ends and whole:
        assert large.leaf_share >= small.leaf_share
        assert large.pod_systems >= small.pod_systems
        assert large.pod_share >= small.pod_share


def test_leaves_that_hold_different_numbers_of_systems_are_uneven() -> None:
    assert not tree(128, family="rail-optimised").uneven
    assert tree(100, family="rail-optimised").uneven


def test_one_system_and_a_slice_have_no_network() -> None:
    alone = Order(system="box", count=1, npus=8, active=8)
    products = catalogue(system=_HGX, nic=_CARD, switch=switch_of(64))
    found = tree_of(alone, products)
    assert (found.tiers, found.switches, found.links, found.leaf_systems, found.leaf_share) == (0, 0, 0, 1, 1.0)


def test_three_tiers_are_refused_where_they_are_not_enough() -> None:
    with pytest.raises(InputError, match="three tiers of switch have no ports for 8,000 NPUs"):
        tree(1000, 16, family="rail-optimised")


def test_a_mode_that_the_switch_does_not_have_is_refused() -> None:
    products = catalogue(system=_HGX, nic=_CARD, switch=switch_of(64, 800))
    with pytest.raises(
        InputError, match="switch has no infiniband ports of 400 Gb/s that card takes; its modes: 64 x 800G"
    ):
        tree_of(order_of(products, 64, family="fat-tree"), products)


_FAMILIES = st.sampled_from(["rail-only", "rail-optimised", "tor", "fat-tree"])
_SYSTEMS = st.sampled_from([_HGX, _NVL72])


def _tree_or_none(count: int, ports: int, system: dict[str, Any], family: Family, ratio: float) -> Tree | None:
    try:
        return tree(count, ports, system, family=family, leaf_ratio=ratio)
    except InputError:
        return None


@pytest.mark.slow
@given(
    st.integers(1, 600), st.integers(32, 512), st.integers(0, 300), _SYSTEMS, _FAMILIES,
    st.sampled_from([0.5, 1.0, 2.0, 3.0]),
)  # fmt: skip
def test_a_larger_switch_is_never_worse(
    count: int, ports: int, more: int, system: dict[str, Any], family: Family, ratio: float
) -> None:
    small, large = (_tree_or_none(count, radix, system, family, ratio) for radix in (ports, ports + more))
    if small is None:
        return
    assert large is not None
    assert large.leaf_systems >= small.leaf_systems
    assert large.tiers <= small.tiers
    assert large.leaf_share >= min(1.0, 1.0 / ratio)


@pytest.mark.slow
@given(st.integers(1, 600), st.integers(32, 512), _SYSTEMS, _FAMILIES, st.sampled_from([0.5, 1.0, 2.0, 3.0, 7.0]))
def test_ports_are_enough_and_shares_are_those_of_links(
    count: int, ports: int, system: dict[str, Any], family: Family, ratio: float
) -> None:
    found = _tree_or_none(count, ports, system, family, ratio)
    if found is None:
        return
    assert found.links == count * system["npus"] <= found.leaves * found.down
    assert found.down + found.up <= ports
    assert found.uplinks == found.leaves * found.up
    if found.tiers > 1:
        assert found.uplinks + found.core_links <= found.spines * ports
        assert found.core_links <= found.cores * ports
    assert 1 <= found.leaf_systems <= found.pod_systems <= count
    assert 0 < found.pod_share <= found.leaf_share <= 1


@pytest.mark.slow
@given(st.integers(1, 400), st.integers(1, 100), st.sampled_from([32, 64, 144]), _SYSTEMS, _FAMILIES)
def test_counts_grow_with_systems(count: int, more: int, ports: int, system: dict[str, Any], family: Family) -> None:
    small, large = (_tree_or_none(number, ports, system, family, 1.0) for number in (count, count + more))
    if large is None or small is None:
        return
    assert large.leaves >= small.leaves
    assert large.links > small.links


@given(st.integers(1, 600), st.sampled_from([32, 64, 144]), _SYSTEMS, st.sampled_from(["rail-optimised", "fat-tree"]))
def test_leaves_have_equally_many_links_to_each_spine(
    count: int, ports: int, system: dict[str, Any], family: Family
) -> None:
    found = _tree_or_none(count, ports, system, family, 1.0)
    if found is not None and found.tiers == 2:
        assert found.up % found.spines == 0
