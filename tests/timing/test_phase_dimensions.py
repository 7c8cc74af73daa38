"""The dimensions that phases run in, worked by hand: what blocks are timed as, links of groups and of messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evo_libra.arrays import Population
from evo_libra.network.blocks import Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.timing.phase_dimensions import (
    DIRECT,
    DIVIDED,
    HALVING_DOUBLING,
    ONE_ALGORITHM,
    OPTICAL,
    PHASE_BLOCK,
    RING_ALGORITHM,
    SITED,
    TIMED_BLOCKS,
    PhaseDimensions,
    levels_of,
    message_latency,
)

AT = {name: BLOCK_NAMES.index(name) for name in BLOCK_NAMES}


def dimensions(*rows: tuple[str, int, int, int], algorithm: int = RING_ALGORITHM, **more: Any) -> PhaseDimensions:
    """Return groups of blocks, NPUs, extents and strides, with 12 B/s of an NPU and 10 ns; 6 ns under a leaf."""
    names, npus, extent, stride = zip(*rows, strict=True)
    block = PHASE_BLOCK[np.array([[AT[name]] for name in names])]
    size, group, apart = (np.array(values)[:, None] for values in (npus, extent, stride))
    leaf = more.pop("leaf", group)
    return PhaseDimensions(
        block, size, group, apart, np.full(block.shape, 12.0), np.full(block.shape, 10.0),
        np.full(block.shape, algorithm), leaf, np.full(block.shape, 6.0), **more,
    )  # fmt: skip


def test_what_blocks_are_timed_as() -> None:
    timed = {name: BLOCK_NAMES[PHASE_BLOCK[AT[name]]] for name in BLOCK_NAMES}
    assert {name: timed[name] for name in ("torus-2d", "torus-3d", "hypercube", "ocs-rail", "ring")} == dict.fromkeys(
        ("torus-2d", "torus-3d", "hypercube", "ocs-rail", "ring"), "ring"
    )
    assert {timed[name] for name in ("switch", "fat-tree", "fat-tree-2", "dragonfly", "hyperx")} == {"switch"}
    assert (timed["fully-connected"], timed["mesh-2d"]) == ("fully-connected", "mesh-2d")
    assert [timed[f"fred-{letter}"] for letter in "abcd"] == [f"fred-{letter}" for letter in "abcd"]
    assert TIMED_BLOCKS["TO"] == AT["ring"]
    assert {BLOCK_NAMES[place] for place in ONE_ALGORITHM} == {
        "ring", "torus-2d", "torus-3d", "hypercube", "ocs-rail", "mesh-2d", "fred-b", "fred-d",
    }  # fmt: skip
    assert [BLOCK_NAMES[place] for place in np.flatnonzero(OPTICAL)] == ["ocs-rail"]
    assert {BLOCK_NAMES[place] for place in np.flatnonzero(DIVIDED)} == {"hypercube", "mesh-2d", "torus-2d", "torus-3d"}
    assert SITED[AT["fat-tree-2"]]
    assert not SITED[AT["fat-tree"]]


@pytest.mark.parametrize(("name", "algorithm", "expected"), [
    # Direct algorithms send to three others at a time, and so does what is fully connected, whatever runs.
    ("switch", RING_ALGORITHM, 12.0), ("switch", DIRECT, 4.0), ("switch", HALVING_DOUBLING, 12.0),
    ("fully-connected", RING_ALGORITHM, 4.0), ("ring", RING_ALGORITHM, 12.0), ("fred-a", DIRECT, 12.0),
])  # fmt: skip
def test_links_of_collectives(name: str, algorithm: int, expected: float) -> None:
    link = dimensions((name, 8, 4, 1), algorithm=algorithm).link()
    assert (link.bandwidth.tolist(), link.npus.tolist(), link.latency.tolist()) == ([[expected]], [[4]], [[10.0]])
    # Trees know what stays below a switch.
    assert (link.leaf is None) == (name != "fred-a")


def levels(algorithm: int) -> PhaseDimensions:
    """Return a group of 8 with two under a leaf, four in a pod: 1/2 and 1/4 above these."""
    one = np.ones((1, 1))
    return dimensions(("switch", 8, 8, 1), algorithm=algorithm, leaf=np.array([[2]]), pod=np.array([[4]]),
                      upper=one / 2, top=one / 4, uniform=0 * one)  # fmt: skip


def test_links_of_groups_on_fat_trees() -> None:
    # A ring has one link for two and for four NPUs: 1/2 x 2 and 1/4 x 4, all of it. Direct: 7/6 of 1/2, 7/4 of 1/4,
    # spread over 7. Halving and doubling knows the parts itself.
    assert levels(RING_ALGORITHM).link().bandwidth.tolist() == [[12.0]]
    assert levels(DIRECT).link().bandwidth.ravel().tolist() == pytest.approx([12.0 * 7 / 16 / 7])
    for algorithm, parts in ((HALVING_DOUBLING, (0.5, 0.25)), (RING_ALGORITHM, (1.0, 1.0))):
        link = levels(algorithm).link()
        assert link.upper is not None
        assert link.top is not None
        assert (float(link.upper.item()), float(link.top.item())) == parts
        assert (link.leaf.tolist(), link.pod.tolist()) == ([[2]], [[4]])
    assert dimensions(("switch", 8, 8, 1)).levels is None
    assert levels(DIRECT).levels is not None


def test_links_of_messages_between_npus() -> None:
    # Under the same leaf all of 12 B/s, in the same pod 1/2 of it, beyond 1/4.
    rates = [float(levels(RING_ALGORITHM).links_between(0, target)[0].bandwidth.item()) for target in (1, 2, 4)]
    assert rates == [12.0, 6.0, 3.0]
    # FRED-A has 1/8 between switches, whose messages take 10 ns, and 6 ns within one.
    tree = dimensions(("fred-a", 8, 8, 1), leaf=np.array([[4]]))
    near, far = (tree.links_between(0, target)[0] for target in (3, 4))
    assert [float(link.bandwidth.item()) for link in (near, far)] == [12.0, 1.5]
    assert [float(link.latency.item()) for link in (near, far)] == [6.0, 10.0]
    # A network file's link has what an all-reduce needs: direct spreads over 7 others.
    plain = dimensions(("switch", 8, 8, 1), algorithm=DIRECT)
    assert plain.message_links(np.array([[True]]))[0].bandwidth.tolist() == pytest.approx([12.0 / 7])


def test_npus_apart() -> None:
    two = dimensions(("ring", 4, 4, 1), ("mesh-2d", 3, 3, 1))
    # NPU 6 is at (2, 1): from NPU 0 it is charged the ring, 2 away; from NPU 2 the line, one away, and back the same.
    assert two.apart(0, 6).tolist() == [[2.0], [0.0]]
    assert two.apart(2, 6).tolist() == [[0.0], [1.0]]
    assert two.apart(10, 2).tolist() == [[0.0], [2.0]]
    assert two.apart(3, 0).tolist() == [[1.0], [0.0]]


def test_inner_dimensions_in_place_of_others() -> None:
    # A torus of 4 x 4 with half of 12 B/s on each axis, and a switch beside it.
    built = np.array([[AT["torus-2d"]], [AT["switch"]]])
    found = dimensions(("torus-2d", 16, 16, 1), ("switch", 2, 2, 1)).divided(built, np.full((2, 1), 12.0))
    assert (found.npus.ravel().tolist(), found.extent.ravel().tolist()) == ([4, 4, 2], [4, 4, 2])
    assert found.bandwidth.ravel().tolist() == [6.0, 6.0, 12.0]
    # What one axis holds takes one row; a group of one NPU and what is not divided stay.
    part = dimensions(("torus-2d", 16, 4, 4), ("switch", 2, 2, 1)).divided(built, np.full((2, 1), 12.0))
    assert (part.extent.ravel().tolist(), part.bandwidth.ravel().tolist()) == ([4, 2], [6.0, 12.0])
    alone = dimensions(("torus-2d", 16, 1, 1), ("switch", 2, 2, 1))
    assert alone.divided(built, np.full((2, 1), 12.0)) is alone
    # A group that is no product is one ring of 3, with 15/64 of the bandwidth.
    odd = dimensions(("torus-2d", 16, 3, 1), ("switch", 2, 1, 1)).divided(built, np.full((2, 1), 12.0))
    assert (odd.extent.ravel().tolist(), odd.bandwidth.ravel().tolist()) == ([3], [12.0 * 15 / 64])


def kit(block: str) -> Kit:
    switch = Part("some", "switch", Range(1.0, 1.0, 1.0), 1.0, 6, 100e-9, "by hand", 2026)
    return Kit("some", AT[block], 0, 1e9, 4, None, 10e-9, 0.0, None, None, None, None, switch)


def test_levels_of_designs() -> None:
    npus, block = np.array([[8, 8]]), np.array([[AT["switch-2"], AT["ring"]]])
    designs = Population(npus, block, np.array([[0, 1]]), np.ones((1, 2)))
    extent, stride = np.array([[8, 8]]), np.ones((1, 2), dtype=np.int64)
    kits = (kit("switch-2"), kit("ring"))
    found = levels_of(designs, kits, extent, stride, extent)
    # Ports of 6 at 2:1: two leaves of 4. A ring is in one pod under one leaf.
    assert {name: values.tolist() for name, values in found.items()} == {
        "leaf": [[4, 8]], "pod": [[8, 8]], "upper": [[0.5, 1.0]], "top": [[0.5, 1.0]], "uniform": [[0.0, 0.0]],
    }  # fmt: skip
    assert levels_of(designs, kits, np.array([[1, 8]]), stride, extent) == {}


def test_latency_of_hops() -> None:
    def latency(block: str, npus: int, reached: int) -> float:
        size = np.array([[npus]])
        return float(message_latency(np.array([[10.0]]), (kit(block),), 0 * size, size, np.array([[reached]])).item())

    # Two links and a switch over two hops; four and three; FRED's tree is charged one hop.
    assert (latency("switch", 6, 6), latency("switch", 8, 8), latency("switch", 8, 6)) == (60.0, 170.0, 60.0)
    assert (latency("fred-a", 8, 8), latency("fred-a", 8, 4)) == (4 * 10.0 + 3 * 100.0, 2 * 10.0 + 100.0)
    assert (latency("ring", 8, 8), latency("switch", 1, 1)) == (10.0, 10.0)
