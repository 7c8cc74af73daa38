"""Stacks of layers: kinds, counts, and the stage that sets the pace."""

from __future__ import annotations

import numpy as np

from evo_libra.workload.models.layer_stack import Stack
from evo_libra.workload.models.layers.attention import GroupedAttention
from evo_libra.workload.models.layers.feed_forward import FeedForward, RoutedFeedForward

ATTENTION = GroupedAttention(64, 8, 2, 16)
SMALL = ATTENTION, FeedForward(64, 8, gated=True)
LARGE = ATTENTION, RoutedFeedForward(64, 32, 8, 2, 0, gated=True)


def test_kinds_are_in_order_of_appearance() -> None:
    stack = Stack.of([SMALL, LARGE, SMALL, LARGE])
    assert (stack.kinds, stack.order) == ((SMALL, LARGE), (0, 1, 0, 1))
    assert [float(count[0]) for count in stack.counts([1, 2, 3])] == [1, 2]


def test_the_longest_stage_has_the_adjacent_layers_of_most_weights() -> None:
    """Of one dense layer and three with experts, 2 layers are both with experts, and 4 are all."""
    counts = Stack.of([SMALL, LARGE, LARGE, LARGE]).largest(np.array([1.0, 2.0, 4.0, 2.0]))
    assert [one.tolist() for one in counts] == [[0, 0, 1, 0], [1, 2, 3, 2]]
    counts = Stack.of([LARGE, SMALL, SMALL, LARGE, SMALL]).largest(np.array([2.0, 3.0]))
    assert [one.tolist() for one in counts] == [[1, 1], [1, 2]]


def test_equal_sublayers_of_several_kinds_are_counted_together() -> None:
    parts = Stack.of([SMALL, LARGE, LARGE]).parts((np.array([1.0]), np.array([2.0])))
    assert [(float(count[0]), part) for count, part in parts] == [(3, ATTENTION), (1, SMALL[1]), (2, LARGE[1])]


def test_kinds_have_names_and_numbers_of_layers() -> None:
    assert Stack.of([SMALL, LARGE, SMALL]).texts() == {
        "grouped-attention + feed-forward": 2, "grouped-attention + experts": 1,
    }  # fmt: skip
