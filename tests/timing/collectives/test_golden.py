"""ASTRA-sim's own times of single collectives, to the nanosecond."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.collective import Collective, traffic
from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import SWITCH, Implementation, Link, Overheads, phase_time
from evo_libra.timing.collectives.system import Choice, System
from evo_libra.timing.names import CollectiveAlgorithm, Scheduler
from evo_libra.validation.astra import collective_ns, links_of, system_of

CASES = json.loads((Path(__file__).parents[2] / "golden" / "astra_collectives.json").read_text())
NAMES = [block.name for block in BLOCKS]
COLLECTIVES = {collective.name: collective for collective in Collective}


def is_tree_of_several_chunks(case: dict[str, Any]) -> bool:
    names = case["system"].get("all-reduce-implementation", [])
    ring = "Ring" in case["network"]["topology"]
    return "doubleBinaryTree" in names and (ring or case["system"]["preferred-dataset-splits"] > 1)


THEMIS = [case for case in CASES if case["themis"]]
PLAIN = [case for case in CASES if case["backend"] == "congestion_unaware" and not case["themis"]]
EXACT = [case for case in PLAIN if not is_tree_of_several_chunks(case)]


def test_there_are_enough_cases() -> None:
    assert (len(PLAIN), len(EXACT), len(THEMIS)) == (569, 562, 167)


@pytest.mark.parametrize("case", list(filter(is_tree_of_several_chunks, PLAIN)), ids=lambda case: case["id"])
def test_trees_of_which_no_time_is_known_are_refused(case: dict[str, Any]) -> None:
    several = case["system"]["preferred-dataset-splits"] > 1
    reason = "doubleBinaryTree with several chunks" if several else "doubleBinaryTree on a ring"
    with pytest.raises(ValueError, match=f"dimension 0 of design 0: .*{reason}"):
        collective_time(
            COLLECTIVES[case["collective"]], case["bytes"], links_of(case["network"]), system_of(case), case["involved"]
        )


@pytest.mark.parametrize("case", [*EXACT, *THEMIS], ids=lambda case: case["id"])
def test_single_collective(case: dict[str, Any]) -> None:
    assert abs(collective_ns(case) - case["finish_ns"]) <= 1


def alike(case: dict[str, Any]) -> str:
    """Say what of a case a population has in common."""
    system = system_of(case)
    values = (system.active, system.shrinking, system.overheads, system.queues, system.scheduler, system.policy)
    return f"{case['collective']} {values}"


def padded(case: dict[str, Any], depth: int, random: np.random.Generator) -> tuple[list[Link], list[Implementation]]:
    """Put dimensions of one NPU between those of a case."""
    links, names = links_of(case["network"]), list(system_of(case).implementations[COLLECTIVES[case["collective"]]])
    unused = Link(np.array([0]), np.array([1]), np.array([0.0]), np.array([0.0]))
    names += [Implementation(CollectiveAlgorithm.RING)] * (len(links) - len(names))
    while len(links) < depth:
        place = int(random.integers(0, len(links) + 1))
        links.insert(place, unused)
        names.insert(place, Implementation(CollectiveAlgorithm.HALVING_DOUBLING))
    return links, names


POPULATIONS: dict[str, list[dict[str, Any]]] = {}
for one in [*EXACT, *THEMIS]:
    if one["involved"] is None:
        POPULATIONS.setdefault(alike(one), []).append(one)


@pytest.mark.parametrize(
    "cases", [some for some in POPULATIONS.values() if len(some) > 1], ids=lambda some: some[0]["id"]
)
def test_cases_of_one_kind_are_one_population(cases: list[dict[str, Any]]) -> None:
    random = np.random.default_rng(len(cases))
    collective, world = COLLECTIVES[cases[0]["collective"]], {math.prod(c["network"]["npus_count"]) for c in cases}
    depth = max(len(case["network"]["npus_count"]) for case in cases) + 1
    links, rows = zip(*(padded(case, depth, random) for case in cases), strict=True)
    fields = ("block", "npus", "bandwidth", "latency")
    population = [
        Link(*(np.concatenate([getattr(one[d], name) for one in links]) for name in fields)) for d in range(depth)
    ]
    options = tuple(dict.fromkeys(implementation for row in rows for implementation in row))
    choices = [Choice(options, np.array([options.index(row[d]) for row in rows])) for d in range(depth)]
    splits = np.array([case["system"]["preferred-dataset-splits"] for case in cases])
    system = replace(system_of(cases[0]), implementations={collective: choices}, splits=splits)
    sizes = np.array([case["bytes"] for case in cases])
    time = collective_time(collective, sizes, population, system)
    assert np.abs(time - [case["finish_ns"] for case in cases]).max() <= 1
    if len(world) == 1:
        np.testing.assert_array_equal(time, collective_time(collective, sizes, population, system, world=world.pop()))


def test_a_process_group_has_chunks_of_the_whole_network() -> None:
    link = Link(np.array([0, 0]), np.array([4, 4]), np.array([1e9, 1e9]), np.array([0.0, 0.0]))
    rows = {Collective.ALL_REDUCE: [Implementation(CollectiveAlgorithm.RING)]}
    ring = System(rows, 4, 1, True, Overheads(0.0, np.inf))  # noqa: FBT003
    alone, in_a_world = (collective_time(Collective.ALL_REDUCE, 256, [link], ring, world=w) for w in (None, 128))
    # Four chunks of 64 bytes, or of 128: 6 messages of 16 or 32 bytes each.
    np.testing.assert_array_equal(alone, 4 * 6 * 16)
    np.testing.assert_array_equal(in_a_world, 4 * 6 * 32)
    # Chunks of 63 bytes have messages of 15, those of 64 bytes of 16.
    small, raised = (collective_time(Collective.ALL_REDUCE, 252, [link], ring, world=w) for w in (63, 64))
    np.testing.assert_array_equal(small, 4 * 6 * 15)
    np.testing.assert_array_equal(raised, 4 * 6 * 16)


def has_closed_form(case: dict[str, Any]) -> bool:
    names = case["system"][case["collective"].lower().replace("_", "-") + "-implementation"]
    around = names == ["halvingDoubling"] and case["network"]["topology"] == ["Ring"]
    return case["system"]["active-chunks-per-dimension"] == 1 and not around


SHARED = [case for case in CASES if case["backend"] == "congestion_aware"]
AWARE = list(filter(has_closed_form, SHARED))
OPEN = [case for case in SHARED if not has_closed_form(case)]


@pytest.mark.parametrize("case", AWARE, ids=lambda case: case["id"])
def test_single_collective_where_messages_share_links(case: dict[str, Any]) -> None:
    assert collective_ns(case) == pytest.approx(case["finish_ns"], rel=1e-6)


@pytest.mark.parametrize("case", OPEN, ids=lambda case: case["id"])
def test_where_messages_share_links_and_no_time_is_known_it_is_refused(case: dict[str, Any]) -> None:
    links, system = links_of(case["network"], shared=True), system_of(case)
    reason = "several chunks at a time" if system.active > 1 else "halvingDoubling on a ring"
    with pytest.raises(ValueError, match=f"links that messages share: .*{reason}"):
        collective_time(COLLECTIVES[case["collective"]], case["bytes"], links, system, case["involved"])


def shared_links(npus: list[list[int]], block: int = SWITCH) -> list[Link]:
    return [
        Link(np.full(len(row), block), np.array(row), np.full(len(row), 50e9), np.full(len(row), 500.0), shared=True)
        for row in npus
    ]


def test_of_shared_links_one_dimension_is_known() -> None:
    rows = [Implementation(CollectiveAlgorithm.RING)] * 2
    system = System(dict.fromkeys(Collective, rows), 1, 1, shrinking=True, overheads=Overheads(10.0, 50.0))
    for collective in Collective:
        with pytest.raises(ValueError, match=r"design 1: .*links that messages share: .*2 dimensions"):
            collective_time(collective, 2**20, shared_links([[8, 4], [1, 2]]), system)
        one = collective_time(collective, 2**20, shared_links([[8, 1], [1, 8]]), system)
        only = collective_time(collective, 2**20, shared_links([[8, 4], [1, 2]]), system, [True, False])
        assert one[0] == one[1] == only[0]


def test_windows_on_shared_links() -> None:
    overheads, size, links = Overheads(10.0, 50.0), np.array([2.0**20]), shared_links([[8]])[0]
    plain, wide, narrow = map(Implementation.read, ("direct", "direct7", "direct2"))
    for collective in Collective:
        with pytest.raises(ValueError, match=r"links that messages share: .*direct2"):
            phase_time(narrow, collective, size, links, overheads)
        both = [phase_time(row, collective, size, links, overheads)[0] for row in (plain, wide)]
        assert both[0] == both[1]


def test_several_chunks_under_way_on_shared_links() -> None:
    rows = dict.fromkeys(Collective, (Implementation(CollectiveAlgorithm.RING),))
    system = System(rows, np.array([1, 2]), 4, shrinking=True, overheads=Overheads(10.0, 50.0))
    links = shared_links([[8, 8]])
    with pytest.raises(ValueError, match=r"design 1: .*several chunks at a time"):
        collective_time(Collective.ALL_REDUCE, 2**20, links, system)
    # One chunk has the links to itself, however many might be under way.
    alone = collective_time(Collective.ALL_REDUCE, 2**20, links, replace(system, splits=1))
    np.testing.assert_array_equal(
        alone, collective_time(Collective.ALL_REDUCE, 2**20, links, replace(system, splits=1, active=1))
    )


@pytest.mark.parametrize("scheduler", [Scheduler.BASELINE, Scheduler.ROUND_ROBIN])
def test_a_tree_of_several_chunks_is_refused_wherever_it_runs(scheduler: Scheduler) -> None:
    options = (Implementation(CollectiveAlgorithm.RING), Implementation(CollectiveAlgorithm.DOUBLE_BINARY_TREE))
    links = [replace(link, shared=False) for link in shared_links([[4, 4, 4], [8, 8, 1]])]
    rows = {Collective.ALL_REDUCE: [options[0], Choice(options, np.array([0, 1, 1]))]}
    system = System(rows, 4, 1, shrinking=True, overheads=Overheads(10.0, 50.0), scheduler=scheduler)
    with pytest.raises(ValueError, match=r"dimension 1 of design 1: .*doubleBinaryTree with several chunks"):
        collective_time(Collective.ALL_REDUCE, 2**20, links, system)
    assert (collective_time(Collective.ALL_REDUCE, 2**20, links, replace(system, splits=1)) > 0).all()


def test_a_population_has_the_times_of_its_designs() -> None:
    cases = [case for case in EXACT if len(case["network"]["npus_count"]) == 3 and case["collective"] == "ALL_REDUCE"][
        :20
    ]
    for case in cases:
        system, single = system_of(case), links_of(case["network"])
        scale = np.array([1.0, 0.5, 2.0, 1.25])
        population = [
            Link(np.repeat(link.block, 4), np.repeat(link.npus, 4), link.bandwidth * scale, np.repeat(link.latency, 4))
            for link in single
        ]
        together = collective_time(Collective.ALL_REDUCE, case["bytes"], population, system, case["involved"])
        for n in range(4):
            alone = [link.select(np.array([n])) for link in population]
            one = collective_time(Collective.ALL_REDUCE, case["bytes"], alone, system, case["involved"])
            assert together[n] == one[0]


def test_what_would_hang_the_simulator_is_refused() -> None:
    link = Link(np.array([0]), np.array([6]), np.array([100e9]), np.array([0.0]))
    overheads = Overheads(10.0, 100.0)
    halving = Implementation(CollectiveAlgorithm.HALVING_DOUBLING)
    with pytest.raises(ValueError, match="power of two"):
        phase_time(halving, Collective.ALL_REDUCE, np.array([1e6]), link, overheads)
    with pytest.raises(ValueError, match="has no all-to-all"):
        phase_time(halving, Collective.ALL_TO_ALL, np.array([1e6]), link, overheads)
    with pytest.raises(InputError, match="did you mean 'direct'"):
        Implementation.read("direkt")
    ring = System({Collective.ALL_GATHER: [Implementation(CollectiveAlgorithm.RING)]}, 64, 1, True, overheads)  # noqa: FBT003
    with pytest.raises(ValueError, match="cannot be cut"):
        collective_time(Collective.ALL_GATHER, 63, [link], ring)
    with pytest.raises(ValueError, match="cut into 0 chunks"):
        collective_time(Collective.ALL_GATHER, 63, [link], replace(ring, splits=0))
    with pytest.raises(ValueError, match="out of range"):
        Choice((halving,), np.array([0, 1]))
    with pytest.raises(ValueError, match="one queue a dimension"):
        collective_time(Collective.ALL_GATHER, 64, [link], replace(ring, queues=2, scheduler=Scheduler.ROUND_ROBIN))


def test_a_design_whose_algorithm_cannot_run_is_named() -> None:
    overheads, designs = Overheads(10.0, 100.0), 5
    options = tuple(map(Implementation.read, ("ring", "halvingDoubling")))
    links = [
        Link(np.zeros(designs, dtype=np.int64), np.array(npus), np.full(designs, 100e9), np.zeros(designs))
        for npus in ([4, 6, 1, 2, 2], [2, 1, 8, 12, 4])
    ]
    choices = [Choice(options, np.array(index)) for index in ([0, 0, 1, 1, 1], [1, 1, 1, 0, 1])]
    for shrinking in (False, True):
        system = System({Collective.ALL_REDUCE: choices}, 4, 1, shrinking, overheads)
        assert (collective_time(Collective.ALL_REDUCE, 2**20, links, system) > 0).all()
        bad = [choices[0], Choice(options, np.array([1, 1, 1, 1, 1]))]
        system = replace(system, implementations={Collective.ALL_REDUCE: bad})
        with pytest.raises(ValueError, match="dimension 1 of design 3: halvingDoubling needs a power of two"):
            collective_time(Collective.ALL_REDUCE, 2**20, links, system)


@given(st.integers(0, 2**32 - 1), st.sampled_from(Collective), st.sampled_from(["ring", "halvingDoubling", "direct"]))
@settings(max_examples=40)
def test_libras_time_is_the_limit_of_many_chunks_without_overheads(
    seed: int, collective: Collective, name: str
) -> None:
    random = np.random.default_rng(seed)
    depth, designs = int(random.integers(1, 4)), 4
    npus = 2 ** random.integers(1, 4, depth)
    per_npu = random.uniform(10.0, 500.0, (depth, designs))
    if collective is Collective.ALL_TO_ALL:
        name = "direct"
    extent = np.repeat(npus[:, None], designs, axis=1)
    links = [
        Link(
            np.full(designs, NAMES.index("fully-connected")), extent[d],
            per_npu[d] * 1e9 / (npus[d] - 1 if name == "direct" else 1), np.zeros(designs),
        )
        for d in range(depth)
    ]  # fmt: skip
    overheads = Overheads(0.0, np.inf)
    size = 2**42
    libra = (traffic(collective, float(size), extent) / per_npu).max(axis=0)
    before = np.inf
    for chunks in (16, 128, 512):
        system = System({collective: [Implementation.read(name)] * depth}, chunks, 1, True, overheads)  # noqa: FBT003
        ratio = collective_time(collective, size, links, system) / libra
        # Chunks fill and drain the pipeline, at most once a phase each.
        assert (ratio >= 1 - 1e-6).all()
        assert (ratio <= 1 + 2.0 * depth / chunks * depth + 1e-6).all()
        assert ratio.max() <= before + 1e-6
        before = ratio.max()
