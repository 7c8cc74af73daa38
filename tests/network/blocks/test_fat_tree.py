"""Oversubscribed trees counted by hand, and how groups lie under their leaves and in their pods."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Pattern
from evo_libra.network.blocks import Kit, Part, Range
from evo_libra.network.blocks.fat_tree import Tree, tree
from evo_libra.network.blocks.registry import BLOCKS

BY_NAME = {block.name: block for block in BLOCKS}


def kit(radix: int) -> Kit:
    switch = Part("some", "switch", Range(1.0, 1.0, 1.0), 1.0, radix, 0.0, "by hand", 2026)
    return Kit("some", 0, 0, 1e9, 2, None, 0.0, 0.0, None, None, None, None, switch)


@pytest.mark.parametrize(("npus", "inside", "radix", "ratios", "expected"), [
    (6, 1, 6, (2, 1), Tree(1, 1, 1, 0, 1)),
    # Leaves of 6 x 2 // 3 = 4 NPUs with 2 links up each, to one spine.
    (8, 1, 6, (2, 1), Tree(2, 2, 1, 4, 3)),
    # 7 NPUs: leaves of 3 and of 4, of 2 links up each.
    (7, 1, 6, (2, 1), Tree(2, 2, 1, 4, 3)),
    # 4 NPUs with 2 inside each stay together: 2 of them under a leaf.
    (4, 2, 6, (2, 1), Tree(2, 2, 1, 4, 3)),
    # Three tiers of 4 ports at 1:2: 6 leaves of 2, pods of 2 leaves with 4 links from below on two switches of 2 down,
    # 2 links up from each pod; 6 in all to two cores.
    (12, 1, 4, (1, 2), Tree(3, 6, 3, 18, 14)),
    # At 2:1: 6 leaves with a link each, which 3 switches in the middle take, and two cores.
    (12, 1, 4, (2, 1), Tree(3, 6, 3, 12, 11)),
    # Pods for 16 leaves would be 8, more than a core has ports.
    (32, 1, 4, (1, 2), Tree(0, 16, 8, 48, 36)),
])  # fmt: skip
def test_trees(npus: int, inside: int, radix: int, ratios: tuple[int, int], expected: Tree) -> None:
    assert tree(npus, inside, radix, ratios) == expected


def lie(name: str, npus: int, radix: int, extent: int, stride: int = 1, inside: int = 1) -> list[float]:
    """Return NPUs of a group under a leaf and in a pod, and its parts of the bandwidth above these."""
    block = BY_NAME[name].at(kit(radix), np.array([inside]))
    found = block.levels(np.array([extent]), np.array([stride]), np.array([npus]))
    return [float(each[0]) for each in (found.leaf, found.pod, found.upper, found.top)]


@pytest.mark.parametrize(("name", "npus", "radix", "extent", "stride", "inside", "expected"), [
    # Two leaves of 4 at 2:1: one pod, in which are all.
    ("switch-2", 8, 6, 8, 1, 1, [4, 8, 0.5, 0.5]),
    ("switch-2", 8, 6, 4, 1, 1, [4, 4, 0.5, 0.5]),
    ("switch-2", 8, 6, 4, 2, 1, [2, 4, 0.5, 0.5]),
    ("switch-2", 8, 6, 2, 4, 1, [1, 2, 0.5, 0.5]),
    # Uneven leaves of 3 and 4: each NPU counts as alone.
    ("switch-2", 7, 6, 7, 1, 1, [1, 7, 0.5, 0.5]),
    # Leaves of 2, pods of 4.
    ("switch-1-2", 12, 4, 12, 1, 1, [2, 4, 1.0, 0.5]),
    ("switch-1-2", 12, 4, 4, 1, 1, [2, 4, 1.0, 0.5]),
    ("switch-1-2", 12, 4, 3, 4, 1, [1, 1, 1.0, 0.5]),
    ("switch-1-2", 12, 4, 3, 1, 1, [1, 1, 1.0, 0.5]),
    # A network of 4 NPUs with 2 inside each: a leaf has 2 of them.
    ("fat-tree-2", 4, 6, 4, 1, 2, [2, 4, 0.5, 0.5]),
    ("switch-2-2", 12, 4, 12, 1, 1, [2, 4, 0.5, 0.25]),
])  # fmt: skip
def test_groups(name: str, npus: int, radix: int, extent: int, stride: int, inside: int, expected: list[float]) -> None:
    assert lie(name, npus, radix, extent, stride, inside) == expected


def test_shares_of_groups() -> None:
    block = BY_NAME["switch-2"].at(kit(6), np.array([1]))
    groups = np.array([8, 2]), np.array([1, 4]), np.array([8, 8])
    # 8 NPUs: 7/8 sent, 1/8 leaves a leaf: all; all-to-all 4/8 leave: 7/4 of 1/2. Two under different leaves: half.
    assert block.share(Pattern.SHRINKING, *groups).tolist() == [1.0, 0.5]
    assert block.share(Pattern.ALL_TO_ALL, *groups).tolist() == [0.875, 0.5]
    assert block.next_share(*groups).tolist() == [1.0, 0.5]
    with pytest.raises(ValueError, match="ask the block `at` its kit"):
        BY_NAME["switch-2"].share(Pattern.SHRINKING, *groups)


def test_what_is_built() -> None:
    def allowed(name: str, *npus: int, radix: int = 4) -> list[bool]:
        return [bool(one) for one in BY_NAME[name].allowed(np.array(npus), kit(radix), np.ones(len(npus), np.int64))]

    # A ratio of leaves needs leaves, one of pods three tiers.
    assert allowed("switch-2", 4, 8, 12, 32) == [False, True, True, False]
    assert allowed("switch-1-2", 4, 8, 12, 32) == [False, False, True, False]
    assert BY_NAME["switch-2"].cut(np.array([8])).tolist() == [2.0]
    assert BY_NAME["switch-2-2"].cut(np.array([12])).tolist() == [1.5]
    assert BY_NAME["switch-1-2"].tier_switches(12, kit(4)) == (6, 6, 2)
    assert BY_NAME["switch-2"].tier_switches(12, kit(4)) == (6, 3, 2)
    assert BY_NAME["switch-2"].tier_switches(8, kit(6)) == (2, 1)
    hops = BY_NAME["switch-2"].hops(np.array([8, 12]), kit(4), np.array([1, 1]))
    assert [each.tolist() for each in hops] == [[4.0, 6.0], [3.0, 5.0]]
    assert BY_NAME["switch-1-2"].pods(np.array([12]), kit(4)).tolist() == [3]
    assert BY_NAME["switch-2"].pods(np.array([8]), kit(6)).tolist() == [0]
