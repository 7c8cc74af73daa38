"""The share of groups in the network of an order, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.collective import Pattern
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.fat_tree import BLOCKS as FAT_TREES
from evo_libra.network.blocks.scale_out import BLOCKS, ONE_SWITCH, Reach, ScaleOutKit

BLOCK = BLOCKS[0]


def kit_of(reach: Reach) -> ScaleOutKit:
    """Return a kit with a network that reaches so far."""
    return ScaleOutKit(**vars(sample_kit(BLOCK)), reach=reach)


def share(reach: Reach, pattern: Pattern, extent: int, stride: int = 1, npus: int = 1024) -> float:
    """Return the share of a group of systems that are a stride apart."""
    block, each = BLOCK.at(kit_of(reach), np.array([8])), (np.array([one]) for one in (extent, stride, npus))
    return float(block.share(pattern, *each)[0])


TWO_TO_ONE = Reach(passed=3, leaf=32, pod=10**9, upper=0.5, top=1.0)
THREE_TIERS = Reach(passed=5, leaf=32, pod=512, upper=1.0, top=1 / 7)


@pytest.mark.parametrize(
    ("reach", "pattern", "extent", "stride", "expected"),
    [
        # A group under one leaf has all of its bandwidth.
        (TWO_TO_ONE, Pattern.SHRINKING, 32, 1, 1.0),
        # 1,024 systems have 32 under each leaf: (1024 - 1) / (1024 / 32 - 1) of a half, more than all.
        (TWO_TO_ONE, Pattern.SHRINKING, 1024, 1, 1.0),
        # Systems 32 apart are each under a leaf of their own: a half.
        (TWO_TO_ONE, Pattern.SHRINKING, 32, 32, 0.5),
        # An all-to-all of 64 sends (64 - 32) / 63 of its messages out of a leaf: 0.5 x 63 / 32.
        (TWO_TO_ONE, Pattern.ALL_TO_ALL, 64, 1, 0.5 * 63 / 32),
        # A pod of 512 lets a seventh out: groups 512 apart have a seventh.
        (THREE_TIERS, Pattern.SHRINKING, 2, 512, 1 / 7),
        # Two spans of 24 systems, of one group each, cross the ends of a leaf of 32: 0.5 x 32 / 2 links, more than all.
        (TWO_TO_ONE, Pattern.SHRINKING, 24, 1, 1.0),
        # Groups of 3, 16 apart, fill no leaf: their 32 systems there send all they have out of it.
        (TWO_TO_ONE, Pattern.SHRINKING, 3, 16, 0.5),
    ],
)
def test_share(reach: Reach, pattern: Pattern, extent: int, stride: int, expected: float) -> None:
    assert share(reach, pattern, extent, stride) == pytest.approx(min(expected, 1.0))


def test_messages_to_the_next_stage() -> None:
    """Of stages 8 apart, the last 8 of 32 systems under a leaf send out of it, which lets 16 out at a time."""
    block = BLOCK.at(kit_of(TWO_TO_ONE), np.array([8]))
    assert block.next_share(np.array([16]), np.array([8]), np.array([1024]))[0] == 1.0
    assert block.next_share(np.array([4]), np.array([64]), np.array([1024]))[0] == 0.5


def test_price_is_one_part() -> None:
    """A network of any size and ports takes one switch part, which is all of it."""
    kit = replace(kit_of(TWO_TO_ONE), ports=4)
    counts = BLOCK.counts(np.array([128]), kit, np.array([8]))
    assert 8 * counts.at(np.array([4]))[4, 0] == 1.0


def test_hops() -> None:
    links, switches = BLOCK.hops(np.array([128]), kit_of(THREE_TIERS))
    assert (links[0], switches[0]) == (6.0, 5.0)


def test_without_an_order_it_is_one_switch() -> None:
    kit = sample_kit(BLOCK, radix=16)
    assert BLOCK.allowed(np.array([16, 17]), kit).tolist() == [True, False]
    assert BLOCK.kin(kit) == ONE_SWITCH


powers = st.integers(0, 6).map(lambda power: 2**power)


@given(powers, powers, st.sampled_from(list(Pattern)))
def test_even_leaves_are_a_fat_tree(extent: int, stride: int, pattern: Pattern) -> None:
    """With 32 ports down and 16 up of 48, as a fat tree of 2:1 has them of each rail."""
    tree = next(one for one in FAT_TREES if one.ratios == (2, 1) and not one.joined)
    kit = replace(sample_kit(tree, radix=48), block=0)
    group = np.array([extent]), np.array([stride]), np.array([4096])
    mine = share(TWO_TO_ONE, pattern, extent, stride, npus=4096)
    assert mine == pytest.approx(float(tree.at(kit, np.array([8])).share(pattern, *group)[0]), rel=1e-12)


@given(st.integers(2, 300), st.integers(1, 100), st.integers(1, 128), st.sampled_from(list(Pattern)))
def test_more_systems_under_a_leaf_are_never_slower(extent: int, stride: int, leaf: int, pattern: Pattern) -> None:
    """The law of the issue, where the larger leaf holds a multiple of the systems, and where it holds one more."""
    small = Reach(passed=3, leaf=leaf, pod=10**9, upper=0.5, top=1.0)
    many = share(replace(small, leaf=2 * leaf), pattern, extent, stride)
    assert many >= share(small, pattern, extent, stride) - 1e-12
