"""Servers as dimensions of a network: which block they are, and what a GPU has, link by link."""

from __future__ import annotations

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.gpu_node import GpuNode, node_design


def both_ways(*pairs: tuple[int, int], links: int) -> dict[tuple[int, int], int]:
    return {ends: links for first, second in pairs for ends in ((first, second), (second, first))}


@pytest.mark.parametrize(("capability", "expected"), [
    # 12 and 18 links of 25 GB/s each way, 18 of 50 GB/s (NVIDIA's A100, H100 and B200 datasheets: 600, 900, 1800 GB/s
    # in both directions together).
    (80, "SW(8)@nvlink3:300"),
    (90, "SW(8)@nvlink4:450"),
    (100, "SW(8)@nvlink5:900"),
])  # fmt: skip
def test_generations_of_nvlink(capability: int, expected: str) -> None:
    links = 12 if capability == 80 else 18
    assert node_design(GpuNode(8, {}, links, capability, ()), "f") == expected


def test_the_capability_of_the_file_counts_before_the_given_one() -> None:
    assert node_design(GpuNode(2, {}, 4, 80, ()), "f", 90) == "SW(2)@nvlink3:100"
    assert node_design(GpuNode(2, {}, 4, None, ()), "f", 90) == "SW(2)@nvlink4:100"
    with pytest.raises(InputError, match="found compute capability 70"):
        node_design(GpuNode(2, {}, 4, None, ()), "f", 70)


def test_all_pairs_alike_are_fully_connected() -> None:
    # 4 links to each of 3 others: 12 x 25 GB/s.
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert node_design(GpuNode(4, both_ways(*pairs, links=4), 0, 80, ()), "f") == "FC(4)@nvlink3:300"
    with pytest.raises(InputError, match="found 15 links of a GPU; nvlink3 has 12 at most"):
        node_design(GpuNode(4, both_ways(*pairs, links=5), 0, 80, ()), "f")


def test_a_ring_has_links_on_both_sides() -> None:
    ring = both_ways((0, 1), (1, 2), (2, 3), (3, 0), links=6)
    assert node_design(GpuNode(4, ring, 0, 80, ()), "f") == "RI(4)@nvlink3:300"


@pytest.mark.parametrize("peers", [
    both_ways((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), links=6),  # two rings of three
    both_ways((0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (4, 5), links=2),  # as many pairs as GPUs, and no ring
    both_ways((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), links=2),  # a line
    both_ways((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), links=2) | both_ways((5, 0), links=3),  # an uneven ring
    {},
])  # fmt: skip
def test_what_is_no_block_is_refused(peers: dict[tuple[int, int], int]) -> None:
    with pytest.raises(InputError, match="only a switch, a ring and all pairs alike are read"):
        node_design(GpuNode(6, peers, 0, 80, ()), "f")


def test_a_single_gpu_is_no_dimension() -> None:
    with pytest.raises(InputError, match="0 pairs of 1 GPUs"):
        node_design(GpuNode(1, {}, 18, 90, ()), "f")


def test_a_gpu_has_its_part_of_the_fastest_interfaces() -> None:
    def scale_out(*nics: float | None) -> float | None:
        return GpuNode(4, {}, 18, 90, nics).scale_out

    assert scale_out(50e9, 50e9) == 25e9  # two interfaces of four GPUs
    assert scale_out(50e9, 50e9, 3e9) == 25e9  # one of management
    assert scale_out(50e9, None) is None
    assert scale_out() is None
