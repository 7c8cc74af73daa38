"""The phases of blocks that ASTRA-sim does not have, against simulations of every message."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from block_cases import CASES, COLLECTIVES, SEEDS, Case, design_of, draw, fidelity_of
from block_simulation import Axis, Simulation, TreeSimulation, nearest_sides
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import IMPLEMENTATIONS, RING, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.names import ALGORITHMS, SCHEDULERS
from evo_libra.workload.layers.iteration_time import Message

SIZES = {"torus-2d": [4, 6, 9, 12, 16, 20], "torus-3d": [8, 12, 18, 27]}


@pytest.mark.slow
@given(SEEDS, st.sampled_from(["torus-2d", "torus-3d"]), COLLECTIVES, st.sampled_from(range(len(SCHEDULERS))))
@costly(2 * CASES)
def test_a_torus_is_rings_of_rings(seed: int, name: str, collective: Collective, scheduler: int) -> None:
    """The time of the rings is that of ASTRA-sim, to the nanosecond: see the golden cases."""
    random = np.random.default_rng(seed)
    axes = 2 if name == "torus-2d" else 3
    case = draw(random)
    npus, outer = int(random.choice([8, 16, 32, 36, 48, 64, 216])), int(random.integers(2, 6))
    fidelity, size = fidelity_of(case, scheduler), case.chunk * case.chunks + 7
    torus = design_of(fidelity, [name, "ring"], [npus, outer], [case.rate * 1e9, 50e9])
    sides, each = nearest_sides(npus, axes), case.rate * 1e9 * (1 / axes)
    rings = design_of(fidelity, ["ring"] * (axes + 1), [*sides, outer], [each] * axes + [50e9])
    found = fidelity.seconds(collective, size, torus.npus, torus)
    assert found == fidelity.seconds(collective, size, rings.npus, rings)
    if scheduler == 0:
        shape, latency = zip(rings.npus, rings.bandwidth, strict=True), np.array([case.latency])
        links = [Link(np.array([RING]), *row, latency) for row in shape]
        ring = {collective: [IMPLEMENTATIONS[0]] * len(links)}
        system = System(ring, case.chunks, case.active, shrinking=True, overheads=case.overheads)
        assert np.rint(found * 1e9) == collective_time(collective, size, links, system)


@pytest.mark.slow
@given(SEEDS, st.sampled_from(["torus-2d", "torus-3d"]), COLLECTIVES)
@costly(2 * CASES)
def test_tori_take_as_long_as_their_messages(seed: int, name: str, collective: Collective) -> None:
    random = np.random.default_rng(seed)
    axes, npus = 2 if name == "torus-2d" else 3, int(random.choice(SIZES[name]))
    case = draw(random)
    sides = nearest_sides(npus, axes)
    check(case, name, npus, collective, [case.axis(side, 1 / axes) for side in sides])


@pytest.mark.slow
@given(SEEDS, COLLECTIVES)
@costly(CASES)
def test_meshes_take_as_long_as_their_messages(seed: int, collective: Collective) -> None:
    """On a line messages go to every second NPU and back over the others; a link has a quarter of the bandwidth."""
    random = np.random.default_rng(seed)
    case, npus = draw(random), int(random.choice([4, 6, 8, 10, 12, 15, 16, 20, 25]))
    sides = nearest_sides(npus, 2)
    check(case, "mesh-2d", npus, collective, [case.axis(side, 1 / 4, line=True) for side in sides])


@pytest.mark.slow
@given(SEEDS, COLLECTIVES)
@costly(CASES)
def test_hypercubes_take_as_long_as_their_messages(seed: int, collective: Collective) -> None:
    """Of each chunk, the NPUs of a pair exchange halves over the link of one bit, bit after bit."""
    random = np.random.default_rng(seed)
    case, bits = draw(random), int(random.integers(1, 6))
    check(case, "hypercube", 2**bits, collective, [case.axis(2, 1 / bits)] * bits)


@pytest.mark.slow
@given(SEEDS, COLLECTIVES)
@costly(CASES)
def test_optical_rails_take_as_long_as_their_messages(seed: int, collective: Collective) -> None:
    """Circuits are a ring; a message passes a link to the switch, its 100 ns, and a link from it."""
    random = np.random.default_rng(seed)
    case, npus = draw(random), int(random.integers(2, 13))
    kit = replace(sample_kit(BLOCKS[BLOCK_NAMES.index("ocs-rail")]), block=BLOCK_NAMES.index("ocs-rail"))
    far = replace(case, latency=2 * case.latency + 100)
    check(case, "ocs-rail", npus, collective, [far.axis(npus, 1.0)], (kit,))


@pytest.mark.slow
@given(SEEDS, st.sampled_from(["fred-a", "fred-b", "fred-c", "fred-d"]), COLLECTIVES, st.sampled_from(range(3)))
@costly(4 * CASES)
def test_freds_trees_take_as_long_as_their_messages(
    seed: int, name: str, collective: Collective, algorithm: int
) -> None:
    """Of NPUs that reduce, both levels run an algorithm in turns; of switches that do, an NPU has one stream."""
    random = np.random.default_rng(seed)
    case, npus = draw(random), int(random.choice([2, 3, 4, 8, 12, 16, 20, 32]))
    index = BLOCK_NAMES.index(name)
    kit = replace(sample_kit(BLOCKS[index]), block=index)
    simulation = TreeSimulation(
        [Axis(npus, 0.0, 0.0)], int(case.overheads.endpoint), case.overheads.memory, case.active,
        rate=case.rate * 1e9 / 1e9, upper=1.0 if name in ("fred-c", "fred-d") else 1 / 8, latency=(case.latency, 100.0),
        algorithm=ALGORITHMS[algorithm], reduces=name in ("fred-b", "fred-d"),
    )  # fmt: skip
    check(case, name, npus, collective, [], (kit,), simulation, algorithm)


@pytest.mark.slow
@given(SEEDS, st.sampled_from(["torus-2d", "torus-3d", "mesh-2d", "hypercube", "fred-a", "fred-d"]))
@costly(CASES)
def test_messages_pass_the_links_between_their_ends(seed: int, name: str) -> None:
    """On axes they are charged the first one in which their ends differ, as between dimensions in ASTRA-sim."""
    random = np.random.default_rng(seed)
    case, npus = draw(random), int(random.choice([8, 16, 32]))
    source, target = random.permutation(npus)[:2].tolist()
    index = BLOCK_NAMES.index(name)
    fidelity = replace(fidelity_of(case), kits=(replace(sample_kit(BLOCKS[index]), block=index),))
    designs = design_of(fidelity, [name], [npus], [case.rate * 1e9])
    if name.startswith("fred"):
        near = source // 4 == target // 4
        latency = (2 if near else 4) * case.latency + (1 if near else 3) * 100
        rate = case.rate * (1 if near or name == "fred-d" else 1 / 8)
    else:
        sides = {"torus-3d": nearest_sides(npus, 3), "hypercube": (2,) * (npus.bit_length() - 1)}
        axes, first, second = sides.get(name, nearest_sides(npus, 2)), source, target
        hops = 0
        for side in axes:
            there, back = abs(first % side - second % side), side - abs(first % side - second % side)
            hops = hops or (there if name == "mesh-2d" else min(there, back))
            first, second = first // side, second // side
        rate = case.rate / (4 if name == "mesh-2d" else len(axes))
        latency = hops * case.latency
    expected = np.floor(latency + case.chunk / (rate * 1e9 / 1e9))
    found = fidelity.message_seconds(Message(source, target, case.chunk), designs)[0] * 1e9
    assert abs(found - expected) < 1e-6


def test_a_greedy_scheduler_orders_so_many_bits_and_no_more() -> None:
    case = Case(2**20, 3, 1, 100.0, 20.0, Overheads(10.0, inf))
    fidelity = fidelity_of(case, SCHEDULERS.index("offline-greedy"))
    most, more = (design_of(fidelity, ["hypercube"], [npus], [100e9]) for npus in (2**14, 2**15))
    assert fidelity.seconds(Collective.ALL_REDUCE, 2**24, most.npus, most)[0] > 0
    with pytest.raises(InputError, match=r"offline-greedy orders at most 14 dimensions; .* some design has 15"):
        fidelity.seconds(Collective.ALL_REDUCE, 2**24, more.npus, more)


def check(
    case: Case,
    name: str,
    npus: int,
    collective: Collective,
    axes: list[Axis],
    kits: tuple[Kit, ...] = (),
    simulation: Simulation | None = None,
    algorithm: int = 0,
) -> None:
    """Compare a block with the simulation of all its messages, which wait for each other nowhere."""
    fidelity = replace(fidelity_of(case), kits=kits)
    designs = design_of(fidelity, [name], [npus], [case.rate * 1e9])
    assert designs.schedule is not None
    designs = replace(designs, schedule=replace(designs.schedule, algorithm=np.full((1, 1), algorithm)))
    found = fidelity.seconds(collective, case.chunk * case.chunks, designs.npus, designs)[0] * 1e9
    simulation = simulation or Simulation(axes, int(case.overheads.endpoint), case.overheads.memory, case.active)
    assert simulation.run(collective.value, case.chunk, case.chunks) == np.rint(found)
    assert simulation.waits == 0
