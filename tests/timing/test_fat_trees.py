"""Fat trees that are oversubscribed: times against simulations of every message, and the laws of their ratios."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from block_cases import CASES, COLLECTIVES, SEEDS, Case, design_of, draw, fidelity_of
from block_simulation import Axis, nearest_sides
from effort import costly
from fat_tree_simulation import FatTreeSimulation, Network, build
from hypothesis import assume, given
from hypothesis import strategies as st

from evo_libra.arrays import Population
from evo_libra.collective import Collective
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.fat_tree import FAMILIES, RATIOS, oversubscribed, tree
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.timing.fidelity import Fidelity
from evo_libra.timing.names import ALGORITHMS, SCHEDULERS
from evo_libra.workload.layers.iteration_time import Message

RADICES = (4, 6, 8, 16)


def kit_of(name: str, radix: int) -> Kit:
    index = BLOCK_NAMES.index(name)
    return replace(sample_kit(BLOCKS[index], radix=radix), block=index)


def alike(random: np.random.Generator, ratios: tuple[int, int], *, joined: bool) -> tuple[int, int, int, Network]:
    """Return the radix, the NPUs of a dimension, those inside each and the network of one of equal leaves and pods."""
    while True:
        radix, inside = int(random.choice(RADICES)), int(random.choice([1, 2, 3, 4, 8]))
        npus = int(random.integers(2, 1 + 96 // inside))
        network = build(npus, inside if joined else 1, radix, ratios)
        if network is not None and network.npus <= 96:
            return radix, npus, inside, network


def placed(case: Case, name: str, kit: Kit, npus: int, inside: int) -> tuple[Fidelity, Population]:
    fidelity = replace(fidelity_of(case), kits=(kit,), latency=np.array([case.latency]))
    return fidelity, design_of(fidelity, ["ring", name], [inside, npus], [1e9, case.rate * 1e9])


@pytest.mark.slow
@given(SEEDS, st.sampled_from(RATIOS), st.sampled_from(sorted(FAMILIES)), COLLECTIVES, st.sampled_from(range(3)))
@costly(CASES)
def test_fat_trees_take_as_long_as_their_messages(
    seed: int, ratios: tuple[int, int], kind: str, collective: Collective, algorithm: int
) -> None:
    random, joined = np.random.default_rng(seed), kind == "fat-tree"
    radix, npus, inside, network = alike(random, ratios, joined=joined)
    groups = [(e, s) for e in range(2, npus + 1) for s in range(1, npus // e + 1) if npus % (e * s) == 0]
    extent, stride = groups[int(random.integers(len(groups)))]
    step = stride * inside if joined else stride
    # Groups that leaves or pods cut unevenly have less than their messages need.
    assume(even(extent, step, network))
    case, name = draw(random), oversubscribed(kind, ratios)
    fidelity, designs = placed(case, name, kit_of(name, radix), npus, inside)
    assert designs.schedule is not None
    designs = replace(designs, schedule=replace(designs.schedule, algorithm=np.full((2, 1), algorithm)))
    found = fidelity.seconds(
        collective, case.chunk * case.chunks, np.array([[1], [extent]]), designs, None, np.array([[1], [stride]])
    )[0] * 1e9  # fmt: skip
    tiers = 2 if len({npu // network.leaf for npu in range(network.npus)}) <= radix else 3
    simulation = FatTreeSimulation(
        [Axis(extent, 0.0, 0.0)], int(case.overheads.endpoint), case.overheads.memory, case.active, network=network,
        extent=extent, stride=step, rate=case.rate, latency=2 * tiers * case.latency + (2 * tiers - 1) * 100.0,
        algorithm=ALGORITHMS[algorithm],
    )  # fmt: skip
    assert simulation.run(collective.value, case.chunk, case.chunks) == np.rint(found)


def even(extent: int, stride: int, network: Network) -> bool:
    """Return whether leaves and pods cut all groups alike: those they touch are within them or take whole ones."""
    return all(
        (size % stride == 0 and ((size // stride) % extent == 0 or extent % (size // stride) == 0))
        or stride % size == 0
        for size in (network.leaf, network.pod)
    )


def routers(random: np.random.Generator, name: str) -> tuple[int, int, int, Network]:
    """Return the radix, the NPUs of a dimension, those inside each and their network of routers, from its rules."""
    while True:
        p, inside = int(random.integers(1, 5)), int(random.choice([1, 2, 3, 4]))
        if name == "dragonfly":
            radix, members, pods = 4 * p - 1, 2 * p * p, int(random.integers(2, 2 * p * p + 2))
            pair = members // (pods - 1)
            even = 4 * (pods // 2) * (pods - pods // 2) * pair >= members * pods
            uniform = pair * (members * pods - 1) / members**2
            upper = top = min(uniform, 1 - 1 / (members * pods)) / 2
        else:
            line, pods = sorted(int(one) for one in random.integers(2, 9, 2))
            radix, members = p + line + pods - 2, p * line
            upper, top = (min((side - 1) / p * (side / (2 * (side - 1))), 1.0) for side in (line, pods))
            even = nearest_sides(line * pods, 2) == (line, pods) and all(
                4 * (side // 2) * (side - side // 2) >= p * side for side in (line, pods)
            )
            uniform = 1.0
        reached = members * pods
        if not (even and radix < reached <= 128 and reached % inside == 0 and reached // inside > 1):
            continue
        # Other networks of so many NPUs have more of them at a router.
        found = BLOCKS[BLOCK_NAMES.index(name)].at(kit_of(name, radix), np.array([1]))
        one = np.array([reached])
        if found.levels(one, one // one, one).leaf[0] == p:
            whole = min(uniform, (reached - 1) / reached) if inside == 1 else 0.0
            return (
                radix,
                reached // inside,
                inside,
                Network(reached, p, members, parts=(upper, min(top, upper)), uniform=whole),
            )


@pytest.mark.slow
@given(SEEDS, st.sampled_from(["dragonfly", "hyperx"]), COLLECTIVES, st.sampled_from(range(3)))
@costly(2 * CASES)
def test_routers_take_as_long_as_their_messages(seed: int, name: str, collective: Collective, algorithm: int) -> None:
    random = np.random.default_rng(seed)
    radix, npus, inside, network = routers(random, name)
    groups = [(e, s) for e in range(2, npus + 1) for s in range(1, npus // e + 1) if npus % (e * s) == 0]
    extent, stride = groups[int(random.integers(len(groups)))]
    assume(even(extent, stride * inside, network))
    case = draw(random)
    fidelity, designs = placed(case, name, kit_of(name, radix), npus, inside)
    assert designs.schedule is not None
    designs = replace(designs, schedule=replace(designs.schedule, algorithm=np.full((2, 1), algorithm)))
    found = fidelity.seconds(
        collective, case.chunk * case.chunks, np.array([[1], [extent]]), designs, None, np.array([[1], [stride]])
    )[0] * 1e9  # fmt: skip
    passed = {"dragonfly": 7, "hyperx": 5}[name]
    simulation = FatTreeSimulation(
        [Axis(extent, 0.0, 0.0)], int(case.overheads.endpoint), case.overheads.memory, case.active, network=network,
        extent=extent, stride=stride * inside, rate=case.rate, latency=(passed + 1) * case.latency + passed * 100.0,
        algorithm=ALGORITHMS[algorithm],
    )  # fmt: skip
    assert simulation.run(collective.value, case.chunk, case.chunks) == np.rint(found)


@given(SEEDS, st.sampled_from(sorted(FAMILIES)))
@costly(CASES)
def test_messages_have_an_npus_part_of_what_they_leave(seed: int, kind: str) -> None:
    random, ratios = np.random.default_rng(seed), [(2, 1), (4, 1), (1, 2), (2, 2)][seed % 4]
    radix, npus, inside, network = alike(random, ratios, joined=kind == "fat-tree")
    case, name = draw(random), oversubscribed(kind, ratios)
    fidelity, designs = placed(case, name, kit_of(name, radix), npus, inside)
    step = inside if kind == "fat-tree" else 1
    assume(even(npus, step, network))
    source, target = random.permutation(npus)[:2].tolist()
    part = 1.0
    for size, ratio in ((network.leaf, ratios[0]), (network.pod, ratios[1])):
        part /= ratio if source * step // size != target * step // size else 1
    tiers = 3 if ratios[1] > 1 or network.npus // network.leaf > radix else 2
    latency = 2 * tiers * case.latency + (2 * tiers - 1) * 100.0
    found = fidelity.message_seconds(Message(source * inside, target * inside, case.chunk), designs)[0] * 1e9
    assert np.rint(found) == np.floor(latency + case.chunk / (case.rate * part))


@pytest.mark.slow
@given(SEEDS, st.sampled_from(sorted(FAMILIES)), COLLECTIVES, st.sampled_from(range(3)), st.sampled_from(SCHEDULERS))
@costly(200)
def test_times_grow_with_the_ratio(
    seed: int, kind: str, collective: Collective, algorithm: int, scheduler: str
) -> None:
    """Of trees whose leaves and tiers are the same; none is faster than 1:1 with as many tiers."""
    random = np.random.default_rng(seed)
    radix, inside, npus = (
        int(random.choice([8, 16, 64])),
        int(random.choice([1, 2, 8])),
        int(random.choice([32, 64, 96])),
    )
    extents = [e for e in range(2, npus + 1) if npus % e == 0]
    extent, case = int(random.choice(extents)), draw(random)
    together = inside if kind == "fat-tree" else 1
    times, trees = [], []
    for ratio in (1, 2, 4, 8):
        name = kind if ratio == 1 else oversubscribed(kind, (ratio, 1))
        trees.append(tree(npus, together, radix, (ratio, 1)))
        assume(trees[-1].tiers > 1)
        fidelity, designs = placed(case, name, kit_of(name, radix), npus, inside)
        fidelity = replace(fidelity, schedulers=(SCHEDULERS.index(scheduler),))
        assert designs.schedule is not None
        schedule = replace(
            designs.schedule, algorithm=np.full((2, 1), algorithm), scheduler=np.array(fidelity.schedulers)
        )
        size = case.chunk * case.chunks
        groups = np.array([[1], [extent]]), replace(designs, schedule=schedule), None, np.array([[1], [npus // extent]])
        times.append(fidelity.seconds(collective, size, *groups)[0])
    for n, found in enumerate(trees[1:], 1):
        assert times[n] >= times[0] * (1 - 1e-12) or found.tiers < trees[0].tiers
    for (low, high), (before, behind) in zip(pairwise(trees[1:]), pairwise(times[1:]), strict=True):
        assert behind >= before * (1 - 1e-12) or (low.leaves, low.tiers) != (high.leaves, high.tiers)
