"""Meshes: logical rings of groups that lie across both axes, and what streams in at the edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.collective import Pattern
from evo_libra.network.blocks.mesh import ring_load
from evo_libra.network.blocks.registry import BLOCKS

MESH = next(block for block in BLOCKS if block.name == "mesh-2d")
Place = tuple[int, int]


def share(pattern: Pattern, extent: int, stride: int, npus: int = 20) -> float:
    return float(MESH.share(pattern, *(np.array([one]) for one in (extent, stride, npus)))[0])


def along(start: Place, end: Place) -> Iterator[tuple[Place, Place]]:
    """Yield the links of a message that goes along the first axis, then along the second."""
    here = start
    for axis in (0, 1):
        while here[axis] != end[axis]:
            step = 1 if end[axis] > here[axis] else -1
            there = (here[0] + step, here[1]) if axis == 0 else (here[0], here[1] + step)
            yield here, there
            here = there


def walked(extent: int, stride: int, width: int, height: int) -> int:
    """Return the messages of the fullest link, message by message."""
    row = [(p % width if p // width % 2 == 0 else width - 1 - p % width, p // width) for p in range(width * height)]
    load: Counter[tuple[Place, Place]] = Counter()
    for block in range(width * height // (extent * stride)):
        for inside in range(stride):
            ring = [row[(block * extent + m) * stride + inside] for m in range(extent)]
            for place, member in enumerate(ring):
                load.update(along(member, ring[(place + 1) % extent]))
    return max(load.values(), default=0)


@pytest.mark.parametrize(
    ("extent", "stride", "load"),
    # On the snake 0 1 2 3 / 7 6 5 4 / 8 9 10 11 / ... rings of three neighbours have every link to themselves. In pairs
    # that are three apart, 0 sends to 3 along the row, and 1 to 4 by way of column 3: both pass from column 1 to 2.
    [(3, 1, 1), (2, 3, 2), (3, 6, 2), (20, 1, 1), (4, 1, 1)],
)
def test_fullest_links_of_rings_on_freds_wafer(extent: int, stride: int, load: int) -> None:
    assert ring_load(extent, stride, (4, 5)) == load


@given(st.integers(2, 7), st.integers(1, 7), st.integers(2, 6), st.integers(2, 6))
def test_loads_are_those_of_every_message(extent: int, stride: int, width: int, height: int) -> None:
    assert ring_load(extent, stride, (width, height)) == walked(extent, stride, width, height)


def test_groups_that_are_no_products_have_a_link_over_the_messages_on_it() -> None:
    # A link of the wafer is 750 of 3000 GB/s; the ring of three has it alone (FRED, section 8.2: MP is favoured).
    assert share(Pattern.SHRINKING, 3, 1) == 0.25
    assert share(Pattern.SHRINKING, 3, 6) == 0.125
    assert share(Pattern.ALL_TO_ALL, 3, 1) < 0.1, "messages that go to all are routed by way of all NPUs"


def test_products_of_groups_on_the_axes_are_not_rings() -> None:
    assert share(Pattern.SHRINKING, 20, 1) == 0.5
    assert share(Pattern.SHRINKING, 5, 4) == 0.25


def test_many_groups_at_once_are_those_one_by_one() -> None:
    groups = [(3, 1, 20), (2, 1, 20), (3, 6, 20), (20, 1, 20), (3, 1, 20), (1, 1, 20), (4, 1, 12)]
    together = MESH.share(Pattern.SHRINKING, *(np.array(column) for column in zip(*groups, strict=True)))
    np.testing.assert_array_equal(together, [share(Pattern.SHRINKING, *group) for group in groups])


@pytest.mark.parametrize(("width", "height", "load"), [(4, 4, 7), (4, 5, 9), (3, 5, 9)])
def test_channels_at_the_edges_fill_the_link_that_freds_equation_names(width: int, height: int, load: int) -> None:
    """The fullest link carries 2 n - 1 channels: 7 on 4 x 4 (figure 4), 9 on 5 x 4 (section 8.2)."""
    links: Counter[tuple[Place, Place]] = Counter()
    ends = [((0, y), 0) for y in range(height)] + [((width - 1, y), 0) for y in range(height)]
    ends += [((x, 0), 1) for x in range(width)] + [((x, height - 1), 1) for x in range(width)]
    for start, axis in ends:
        every = [(x, y) for x in range(width) for y in range(height)]
        tree = {
            link
            for end in every
            for corner in [(end[0], start[1]) if axis == 0 else (start[0], end[1])]
            for link in (*along(start, corner), *along(corner, end))
        }
        links.update(tree)
    assert max(links.values()) == load
    found = float(MESH.stream_share(np.array([width * height]))[0])
    # Of all channels, 2 (w + h), the link carries so many; it has a quarter of an NPU's bandwidth.
    assert found == pytest.approx(2 * (width + height) / load / 4)
