"""Shares of bandwidth against the links themselves: no more than flows and cuts allow, no less than schedules reach."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

from evo_libra.collective import Pattern
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.grid import sides
from evo_libra.network.blocks.registry import BLOCKS

BY_NAME = {block.name: block for block in BLOCKS}
OF_FOUR = BY_NAME["switch-4"]
# Leaves of four NPUs, with one port up.
BY_NAME["switch-4"] = OF_FOUR.at(sample_kit(OF_FOUR, radix=5), np.array([1]))
AXES = {"ring": 1, "torus-2d": 2, "torus-3d": 3, "mesh-2d": 2}
Arcs = dict[tuple[int, int], float]


def lengths_of(name: str, npus: int) -> list[int]:
    return [npus] if name == "ring" else sides(np.array([npus]), AXES[name])[:, 0].tolist()


def coordinates(npu: int, lengths: list[int]) -> tuple[int, ...]:
    found = []
    for length in lengths:
        npu, place = divmod(npu, length)
        found.append(place)
    return tuple(found)


def number(place: tuple[int, ...], lengths: list[int]) -> int:
    npu = 0
    for length, one in zip(reversed(lengths), reversed(place), strict=True):
        npu = npu * length + one
    return npu


def moved(npu: int, axis: int, by: int, lengths: list[int]) -> int:
    place = list(coordinates(npu, lengths))
    place[axis] = (place[axis] + by) % lengths[axis]
    return number(tuple(place), lengths)


def links_of(name: str, npus: int) -> list[tuple[int, int, float]]:
    """Return arcs that leave a lower node for another, with their capacity in bandwidths of an NPU."""
    if name == "hypercube":
        bits = npus.bit_length() - 1
        return [(npu, npu ^ (1 << bit), 1 / bits) for npu in range(npus) for bit in range(bits)]
    if name == "fully-connected":
        return [(npu, other, 1 / (npus - 1)) for npu in range(npus) for other in range(npus) if other != npu]
    if name not in AXES:  # a tree: NPUs, first-level switches of four, and one above
        leaves, upper = npus // 4, {"fred-a": 1 / 8, "fred-c": 1.0, "switch-4": 1 / 4}[name]
        up = [(npu, npus + npu // 4, 1.0) for npu in range(npus)]
        up += [(npus + leaf, npus + leaves, 4 * upper) for leaf in range(leaves)]
        return up + [(other, one, capacity) for one, other, capacity in up]
    lengths = lengths_of(name, npus)
    return [
        (npu, moved(npu, axis, by, lengths), 1 / (2 * len(lengths)))
        for npu in range(npus)
        for axis, length in enumerate(lengths)
        for by in (1, -1)
        if name != "mesh-2d" or 0 <= coordinates(npu, lengths)[axis] + by < length
    ]


def arcs_of(name: str, npus: int) -> Arcs:
    """Return the capacity of each arc, in bandwidths of an NPU; parallel links are one arc."""
    arcs: Arcs = {}
    for one, other, capacity in links_of(name, npus):
        arcs[one, other] = arcs.get((one, other), 0.0) + capacity
    return arcs


def members(npus: int, extent: int, stride: int) -> list[list[int]]:
    """Return all groups of an extent and a stride."""
    block = extent * stride
    return [
        [start + inner + k * stride for k in range(extent)]
        for start in range(0, npus, block)
        for inner in range(stride)
    ]


def most_exchanged(arcs: Arcs, groups: list[list[int]]) -> float:
    """Return the largest rate at which every NPU can send equal parts to all others of its group."""
    nodes = 1 + max(max(arc) for arc in arcs)
    pairs = list(arcs)
    sources = [npu for group in groups for npu in group]
    width = len(pairs)
    conserve = lil_matrix((len(sources) * nodes, len(sources) * width + 1))
    load = lil_matrix((width, len(sources) * width + 1))
    for group in groups:
        for source in group:
            s = sources.index(source)
            for p, (one, other) in enumerate(pairs):
                conserve[s * nodes + one, s * width + p] += 1
                conserve[s * nodes + other, s * width + p] -= 1
                load[p, s * width + p] = 1
            conserve[s * nodes + source, len(sources) * width] = -1
            for other in group:
                if other != source:
                    conserve[s * nodes + other, len(sources) * width] = 1 / (len(group) - 1)
    cost = np.zeros(len(sources) * width + 1)
    cost[-1] = -1
    found = linprog(
        cost, A_ub=load.tocsr(), b_ub=list(arcs.values()), A_eq=conserve.tocsr(), b_eq=np.zeros(conserve.shape[0])
    )
    assert found.status == 0
    return float(found.x[-1])


def least_time(arcs: Arcs, groups: list[list[int]]) -> float:
    """Return a time that no all-gather of a message of 1 undercuts: what must enter a set of NPUs over what can.

    Switches belong to a set if they join it with less than what they let in otherwise, so all sets of nodes are tried.
    """
    nodes = 1 + max(max(arc) for arc in arcs)
    sets = np.arange(1, 2**nodes - 1)
    entering = np.zeros(len(sets))
    for (one, other), capacity in arcs.items():
        entering += capacity * ((sets >> one & 1 == 0) & (sets >> other & 1 == 1))
    needed = np.zeros(len(sets))
    for group in groups:
        held = sum(sets >> npu & 1 for npu in group)
        needed += np.where(held > 0, (len(group) - held) / len(group), 0.0)
    return float((needed / np.maximum(entering, 1e-300))[entering > 0].max())


def all_groups(npus: int) -> list[tuple[int, int]]:
    return [(e, s) for e in range(2, npus + 1) for s in range(1, npus // e + 1) if npus % (e * s) == 0]


SMALL = [
    ("ring", 2), ("ring", 3), ("ring", 6), ("ring", 8), ("torus-2d", 4), ("torus-2d", 6), ("torus-2d", 9),
    ("torus-2d", 12), ("torus-3d", 8), ("torus-3d", 12), ("mesh-2d", 4), ("mesh-2d", 6), ("mesh-2d", 9),
    ("mesh-2d", 12), ("hypercube", 8), ("fully-connected", 6), ("fred-a", 8), ("fred-c", 8), ("fred-a", 12),
    ("switch-4", 8), ("switch-4", 12),
]  # fmt: skip


@pytest.mark.parametrize(("name", "npus"), SMALL)
def test_shares_are_no_more_than_links_allow(name: str, npus: int) -> None:
    arcs = arcs_of(name, npus)
    for extent, stride in all_groups(npus):
        groups = members(npus, extent, stride)
        everybody, gathered = (
            float(BY_NAME[name].share(pattern, *(np.array([one]) for one in (extent, stride, npus)))[0])
            for pattern in (Pattern.ALL_TO_ALL, Pattern.SHRINKING)
        )
        flow = most_exchanged(arcs, groups)
        assert everybody <= flow * (1 + 1e-9), (extent, stride)
        shrunk = (extent - 1) / extent / gathered
        assert shrunk >= least_time(arcs, groups) * (1 - 1e-9), (extent, stride)


TIGHT = [
    ("ring", 7), ("ring", 8), ("torus-2d", 9), ("torus-3d", 8), ("hypercube", 8), ("fully-connected", 6), ("fred-a", 8),
    ("switch-4", 8), ("switch-4", 12),
]  # fmt: skip


@pytest.mark.parametrize(("name", "npus"), TIGHT)
def test_all_to_all_of_a_whole_dimension_is_the_best_there_is(name: str, npus: int) -> None:
    share = BY_NAME[name].share(Pattern.ALL_TO_ALL, np.array([npus]), np.array([1]), np.array([npus]))[0]
    assert share == pytest.approx(most_exchanged(arcs_of(name, npus), [list(range(npus))]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "npus"), [*SMALL, ("mesh-2d", 20)])
def test_shrinking_of_a_whole_dimension_is_the_best_there_is(name: str, npus: int) -> None:
    share = BY_NAME[name].share(Pattern.SHRINKING, np.array([npus]), np.array([1]), np.array([npus]))[0]
    least = least_time(arcs_of(name, npus), [list(range(npus))])
    assert share == pytest.approx((npus - 1) / npus / least, rel=1e-9)


def along(group: list[int], name: str, lengths: list[int], axis: int) -> Arcs:
    """Return what a reduce-scatter of a message of 1 puts on the arcs, of a group that lies on one axis."""
    load: Arcs = {}
    places = [coordinates(npu, lengths)[axis] for npu in group]
    extent, step = len(group), places[1] - places[0]
    part, length = (extent - 1) / extent, lengths[axis]

    def walk(start: int, hops: int, by: int, amount: float) -> None:
        here = start
        for _ in range(hops):
            there = moved(here, axis, by, lengths)
            load[here, there] = load.get((here, there), 0.0) + amount
            here = there

    if name != "mesh-2d" and extent * step == length:
        for npu in group:
            walk(npu, step, 1, part / 2)
            walk(npu, step, -1, part / 2)
        return load
    for npu in group[:-1]:
        walk(npu, step, 1, part)
    walk(group[-1], places[-1] - places[0], -1, part)
    return load


def in_turn(name: str, npus: int, groups: list[list[int]], order: tuple[int, ...]) -> Arcs:
    """Return what a reduce-scatter along one axis after the other puts on the arcs."""
    lengths, load = lengths_of(name, npus), Arcs()
    for group in groups:
        size = 1.0
        for axis in order:
            lines: dict[tuple[int, ...], list[int]] = {}
            for npu in group:
                place = coordinates(npu, lengths)
                lines.setdefault((*place[:axis], *place[axis + 1 :]), []).append(npu)
            extent = len(next(iter(lines.values())))
            if extent > 1:
                for line in lines.values():
                    for arc, amount in along(line, name, lengths, axis).items():
                        load[arc] = load.get(arc, 0.0) + amount * size
            size /= extent
    return load


def time_of_mixed_orders(name: str, npus: int, groups: list[list[int]]) -> float:
    """Return the time when chunks go through the axes in the best mix of orders."""
    arcs = arcs_of(name, npus)
    orders = list(permutations(range(AXES[name])))
    loads = [in_turn(name, npus, groups, order) for order in orders]
    busy = np.array([[load.get(arc, 0.0) / capacity for load in loads] for arc, capacity in arcs.items()])
    found = linprog(
        [*np.zeros(len(orders)), 1.0],
        A_ub=np.column_stack([busy, -np.ones(len(arcs))]),
        b_ub=np.zeros(len(arcs)),
        A_eq=[[*np.ones(len(orders)), 0.0]],
        b_eq=[1.0],
    )
    assert found.status == 0
    return float(found.x[-1])


ALIGNED = [
    ("ring", 8, 8, 1), ("ring", 8, 4, 1), ("ring", 8, 2, 4), ("ring", 12, 3, 2), ("ring", 12, 3, 4),
    ("torus-2d", 16, 16, 1), ("torus-2d", 32, 32, 1), ("torus-2d", 32, 16, 1), ("torus-2d", 32, 8, 4),
    ("torus-2d", 64, 16, 2), ("torus-3d", 64, 64, 1), ("torus-3d", 128, 128, 1), ("torus-3d", 64, 8, 4),
    ("torus-3d", 64, 16, 2), ("torus-3d", 24, 24, 1), ("mesh-2d", 20, 20, 1), ("mesh-2d", 20, 2, 1),
    ("mesh-2d", 20, 5, 4), ("mesh-2d", 20, 2, 2), ("mesh-2d", 16, 8, 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "npus", "extent", "stride"), ALIGNED)
def test_shares_are_reached_by_rings_along_the_axes(name: str, npus: int, extent: int, stride: int) -> None:
    share = BY_NAME[name].share(Pattern.SHRINKING, *(np.array([one]) for one in (extent, stride, npus)))[0]
    time = time_of_mixed_orders(name, npus, members(npus, extent, stride))
    assert share == pytest.approx((extent - 1) / extent / time, rel=1e-9)


UNALIGNED = [("torus-2d", 12, 2, 1), ("torus-2d", 12, 2, 2), ("torus-3d", 12, 3, 1)]


@pytest.mark.parametrize(("name", "npus", "extent", "stride"), UNALIGNED)
def test_other_groups_are_reached_by_way_of_all_npus(name: str, npus: int, extent: int, stride: int) -> None:
    group = [np.array([one]) for one in (extent, stride, npus)]
    whole = [np.array([npus]), np.array([1]), np.array([npus])]
    half = BY_NAME[name].share(Pattern.ALL_TO_ALL, *whole)[0] / 2
    assert [BY_NAME[name].share(pattern, *group)[0] for pattern in Pattern] == [half, half]
    # A reduce-scatter can be run as an all-to-all, so the flow is a bound for both.
    assert half <= most_exchanged(arcs_of(name, npus), members(npus, extent, stride)) * (1 + 1e-9)
