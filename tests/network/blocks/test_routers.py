"""Dragonflies and HyperX networks: their sizes, and their links against the traffic that their shares promise."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest

from evo_libra.arrays import IntArray
from evo_libra.network.blocks.blast import STATED
from evo_libra.network.blocks.block import ITEMS
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.kit import Kit
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.blocks.routers import Plane, dragonfly, hyperx

UPLINK = ITEMS.index("uplink")
BY_NAME = {block.name: block for block in BLOCKS}
Link = tuple[object, object]
Links = dict[Link, float]
Routes = Counter[Link]


def test_sizes_of_dragonflies() -> None:
    # Kim et al.: with p = h = 2 and a = 4, routers of 7 ports reach N = a p (a h + 1) = 72 NPUs with 36 routers.
    found = dragonfly(72, 7)
    assert (found.leaf, found.routers, found.pods) == (2, 4, 9)
    assert found.links == 9 * 6 + 9 * 8 // 2
    assert dragonfly(80, 7).leaf == 0
    # With 64 ports, p = 16 and a = 32: 262,656 NPUs.
    assert dragonfly(16 * 32 * (16 * 32 + 1), 64).pods == 513
    assert dragonfly(64, 64).leaf == 0


def test_sizes_of_hyperx_networks() -> None:
    found = hyperx(4096, 64)
    assert (found.leaf, found.routers, found.pods) == (16, 16, 16)
    assert found.links == 16 * 2 * (16 * 15 // 2)
    assert hyperx(47 * 53, 64).leaf == 0
    # Three NPUs a router on sides of 2 and 4 have 3 + 1 + 3 ports, but one link over the middle of the short side
    # for 3 NPUs on either half. Two a router on sides of 3 and 4 take 2 + 2 + 3 ports.
    assert vars(hyperx(24, 7)) | {"leaf": 2, "routers": 3, "pods": 4, "links": 12 * 5 // 2} == vars(hyperx(24, 7))


def test_parts_are_those_of_whole_networks() -> None:
    kit, npus = sample_kit(BY_NAME["dragonfly"], radix=7), np.array([72, 9])
    counts = BY_NAME["dragonfly"].counts(npus, kit, np.array([1, 8]))
    # Nine NPUs outside of eight have an eighth of the same network.
    assert (counts.step[4] * np.array([1, 8])).tolist() == [36, 36]
    assert (counts.linear[1] * np.array([1, 8])).tolist() == [90, 90]
    assert BY_NAME["dragonfly"].hops(npus, kit)[1].tolist() == [7, 7]


@pytest.mark.parametrize(("p", "groups"), [(1, 3), (2, 3), (2, 5), (2, 9)])
def test_a_link_of_a_dragonfly_takes_its_part_of_the_links_beside_it(p: int, groups: int) -> None:
    """Link by link: of those of a router to its group, or of those of a group to others."""
    links, _ = fly(p, groups)
    npus, block = np.array([2 * p * p * groups]), BY_NAME["dragonfly"]
    kit = sample_kit(block, radix=4 * p - 1)
    beside, among = Counter[tuple[int, int]](), Counter[int]()
    for (one, other), amount in links.items():
        if one[0] == other[0]:  # type: ignore[index]
            beside[one] += 1  # type: ignore[index]
        else:
            among[one[0]] += round(amount)  # type: ignore[index]
    lost = sum(
        1 / beside[one] if one[0] == other[0] else amount / among[one[0]]  # type: ignore[index]
        for (one, other), amount in links.items()
    )
    assert lost_by_links("dragonfly", npus, kit) == pytest.approx(lost / 2)


@pytest.mark.parametrize(("npus", "radix"), [(18, 6), (64, 10), (128, 16)])
def test_a_link_of_a_hyperx_takes_its_part_of_a_routers_links_of_its_line(npus: int, radix: int) -> None:
    plane, kit = hyperx(npus, radix), sample_kit(BY_NAME["hyperx"], radix=radix)
    routers = list(product(range(plane.routers), range(plane.pods)))
    pairs = [(one, other) for one in routers for other in routers if one < other]
    lines = [
        plane.routers - 1 if one[1] == other[1] else plane.pods - 1
        for one, other in pairs
        if (one[0] == other[0]) != (one[1] == other[1])
    ]
    assert len(lines) == plane.links
    assert lost_by_links("hyperx", np.array([npus]), kit) == pytest.approx(sum(1 / line for line in lines))


def lost_by_links(name: str, npus: IntArray, kit: Kit) -> float:
    """Return what all links between routers together take; every router cuts NPUs off."""
    block = BY_NAME[name]
    blast, links = block.blast(npus, kit, np.array([1])), block.counts(npus, kit, np.array([1])).linear[UPLINK]
    # Two NPUs inside each of half as many places are on the same network.
    inside = block.blast(npus // 2, kit, np.array([2]))
    np.testing.assert_allclose(inside.slowed, blast.slowed)
    switch, uplink = STATED.index("switch"), STATED.index("uplink")
    assert blast.many[switch].tolist() == [1.0]
    assert blast.slowed[switch].tolist() == [0.0]
    return float(links[0] * blast.slowed[uplink, 0])


def fly(p: int, groups: int) -> tuple[Links, dict[tuple[int, int], list[tuple[int, int]]]]:
    """Return the links of a dragonfly between routers, and the routers at each end of those between groups."""
    pair, links, between = 2 * p * p // (groups - 1), Links(), dict[tuple[int, int], list[tuple[int, int]]]()
    ports = [[(g, a) for a in range(2 * p) for _ in range(p)] for g in range(groups)]
    for g in range(groups):
        links |= {((g, one), (g, other)): 1.0 for one in range(2 * p) for other in range(2 * p) if one != other}
    for step in range(1, groups):
        for g in range(groups):
            other = (g + step) % groups
            for _ in range(pair if g < other else 0):
                one, two = ports[g].pop(0), ports[other].pop(0)
                between.setdefault((g, other), []).append((one[1], two[1]))
                between.setdefault((other, g), []).append((two[1], one[1]))
                for link in ((one, two), (two, one)):
                    links[link] = links.get(link, 0.0) + 1.0
    return links, between


def through(way: list[tuple[int, int]], amount: float, load: Routes) -> None:
    for one, other in pairwise(way):
        if one != other:
            load[one, other] += amount  # type: ignore[assignment]


@pytest.mark.parametrize(("p", "groups"), [(1, 3), (2, 3), (2, 5), (2, 9)])
def test_links_of_dragonflies_carry_all_to_alls(p: int, groups: int) -> None:
    links, between = fly(p, groups)
    npus, load = 2 * p * p * groups, Routes()
    plane = dragonfly(npus, 4 * p - 1)
    share = plane.uniform
    assert plane.upper == plane.top == share / 2
    each = p * p * share / (npus - 1)
    routers = list(product(range(groups), range(2 * p)))
    for source, target in product(routers, routers):
        if source == target:
            continue
        if source[0] == target[0]:
            through([source, target], each, load)
            continue
        ways = between[source[0], target[0]]
        for out, into in ways:
            through([source, (source[0], out), (target[0], into), target], each / len(ways), load)
    assert max(amount / links[link] for link, amount in load.items()) <= 1 + 1e-9


@pytest.mark.parametrize(("npus", "radix"), [(18, 6), (64, 10), (128, 16)])
def test_lines_carry_what_routers_send_to_each_other(npus: int, radix: int) -> None:
    plane: Plane = hyperx(npus, radix)
    for side, share in ((plane.routers, plane.upper), (plane.pods, plane.top)):
        for shift in range(1, side):
            load = Routes()
            for source in range(side):
                target = (source + shift) % side
                for middle in range(side):
                    if middle != source:
                        amount = plane.leaf * share / side * (1 + (middle == target))
                        through([(0, source), (0, middle), (0, target)], amount, load)
            assert max(load.values()) <= 1 + 1e-9


@pytest.mark.parametrize(("npus", "inside", "extent", "stride", "expected"), [
    # A dragonfly of 9 groups of 4 routers of 2 NPUs: all of it, a group, those of a router, every second one of a
    # group, one of each group, three that are no grid; and 9 places of 8 NPUs each, of the same network.
    (72, 1, 72, 1, (2, 8, True)), (72, 1, 8, 1, (2, 8, False)), (72, 1, 2, 1, (2, 2, False)),
    (72, 1, 4, 2, (1, 4, False)), (72, 1, 9, 8, (1, 1, False)), (72, 1, 3, 1, (1, 1, False)),
    (9, 8, 9, 1, (1, 1, False)), (36, 2, 4, 1, (1, 4, False)),
])  # fmt: skip
def test_groups_at_routers_and_in_pods(
    npus: int, inside: int, extent: int, stride: int, expected: tuple[int, int, bool]
) -> None:
    block = BY_NAME["dragonfly"]
    built = block.at(sample_kit(block, radix=7), np.array([inside]))
    found = built.levels(np.array([extent]), np.array([stride]), np.array([npus]))
    plane = dragonfly(72, 7)
    assert (found.leaf.tolist(), found.pod.tolist()) == ([expected[0]], [expected[1]])
    assert (found.upper.tolist(), found.top.tolist()) == ([plane.upper], [plane.top])
    # Only all NPUs of the network go straight in an all-to-all.
    assert found.uniform.tolist() == [plane.uniform if expected[2] else 0.0]
