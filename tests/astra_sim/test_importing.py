"""From a design to ASTRA-sim's files and back."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.arrays import IntArray, Population, Schedule
from evo_libra.astra_sim.cluster import ONE_AT_A_TIME, cluster_of, dimension_algorithms
from evo_libra.astra_sim.importing import Imported, problem_texts, read_cluster
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.files.source import parse_source
from evo_libra.problem.file.spec import TimeSpec
from evo_libra.problem.problem import Problem
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import Overheads
from evo_libra.timing.fidelity import Fidelity
from evo_libra.timing.input_files.network_file import NetworkFile, network_text, parse_network
from evo_libra.timing.input_files.system_file import SystemFile, parse_system, system_text
from evo_libra.timing.names import ALGORITHMS, SCHEDULERS, Policy

RING, FULLY_CONNECTED, SWITCH = range(3)
EVERY = np.array([[0, 0, 0], [1, 0, 2], [2, 0, 1]])
A2A = Collective.ALL_TO_ALL


def one_at_a_time(dimension: int, npus: int) -> str:
    """Return what is told of a switch whose all-to-all runs direct1."""
    return (
        f"dimension {dimension}, a switch of {npus} NPUs: its all-to-all runs direct1, one message after the other; in "
        "a design an NPU sends all of them at once, and latency counts once"
    )


def through_files(network: NetworkFile, system: SystemFile) -> tuple[NetworkFile, SystemFile]:
    links = parse_network(parse_source(network_text(network), "network.yml"))
    return links, parse_system(parse_source(system_text(system), "system.json"), links)


@st.composite
def designs(draw: st.DrawFn, *, scheduled: bool = True) -> tuple[Fidelity, Population]:
    depth = draw(st.integers(1, 4))

    def some(values: st.SearchStrategy[Any]) -> list[list[Any]]:
        return [[draw(values)] for _ in range(depth)]

    block = np.array(some(st.integers(0, 2)))
    algorithm = np.array(some(st.integers(0, 2)))
    algorithm[block == RING] = 0
    scheduler = draw(st.integers(0, SCHEDULERS.index("themis-paper") - 1)) if scheduled else 0
    policies = [None, Policy.FIFO, Policy.ALTERNATING, Policy.SMALLEST_FIRST, Policy.FEWEST_PHASES_FIRST]
    latency = np.array([draw(st.just(0.0) | st.floats(1e-15, 1e4)) for _ in range(depth)])  # as files may have it
    chunks = draw(st.integers(1, 512))
    fidelity = Fidelity(
        (chunks,), (scheduler,), EVERY, latency,
        Overheads(draw(st.integers(0, 100)), draw(st.floats(1.0, 1e4) | st.just(np.inf))), draw(st.integers(1, 8)),
        draw(st.booleans()), draw(st.sampled_from(policies)) if scheduled else None,
    )  # fmt: skip
    npus: IntArray = np.array(some(st.integers(1, 16)))
    if (npus == 1).all():
        npus[0] = 4
    bandwidth = np.where(npus > 1, np.array(some(st.floats(1e8, 1e12))), 0.0)
    technology = np.arange(depth)[:, None]
    schedule = Schedule(np.array([chunks]), np.array([scheduler]), algorithm)
    return fidelity, Population(npus, block, technology, bandwidth, schedule)


@pytest.mark.slow
@given(designs())
@settings(max_examples=80)
def test_what_is_exported_comes_back(case: tuple[Fidelity, Population]) -> None:
    fidelity, design = case
    cluster = cluster_of(fidelity, design)
    found = read_cluster(*through_files(cluster.network, cluster.system))
    used = np.flatnonzero(design.npus[:, 0] > 1)
    apart = [d for d, row in enumerate(cluster.system.system.implementations[A2A]) if row == ONE_AT_A_TIME]
    assert found.without == tuple(one_at_a_time(d, int(design.npus[used[d], 0])) for d in apart)
    assert [dimension.npus for dimension in found.fabric.dimensions] == design.npus[used, 0].tolist()
    assert [dimension.block for dimension in found.fabric.dimensions] == design.block[used, 0].tolist()
    bandwidth = [dimension.bandwidth for dimension in found.fabric.dimensions]
    np.testing.assert_allclose(bandwidth, design.bandwidth[used, 0], rtol=1e-12)
    schedule = design.schedule
    assert schedule is not None
    assert found.time["chunks"] == schedule.chunks[0]
    assert found.time.get("scheduler", "baseline") == SCHEDULERS[int(schedule.scheduler[0])]
    assert found.time["active_chunks"] == fidelity.active
    assert found.time["endpoint_delay_ns"] == fidelity.overheads.endpoint
    assert found.time.get("local_memory_GBps", np.inf) == fidelity.overheads.memory
    latency = found.time["latency_ns"]
    names = [str(dimension.technology) for dimension in found.fabric.dimensions]
    rows = [latency] * len(used) if isinstance(latency, float) else [latency[name] for name in names]
    assert rows == fidelity.latency[used].tolist()
    named = [ALGORITHMS[a] for a in schedule.algorithm[used, 0]]
    assert algorithms_of(found) == named


def algorithms_of(found: Imported) -> list[str]:
    """Return what a problem file makes of the algorithms."""
    options = dict(found.fabric.options)
    if found.time.get("algorithms") == "search":
        return options["algorithms"].split(",")
    natural = {RING: "ring", FULLY_CONNECTED: "direct", SWITCH: "halving-doubling"}
    names = {"ring": RING, "fully-connected": FULLY_CONNECTED, "switch": SWITCH}
    natural |= {names[block]: name for block, name in found.time.get("algorithms", {}).items()}
    return [natural[dimension.block] for dimension in found.fabric.dimensions]


@pytest.mark.slow
@given(designs(), st.sampled_from([Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER]))
@settings(max_examples=25)
def test_files_take_the_time_of_the_design(case: tuple[Fidelity, Population], collective: Collective) -> None:
    fidelity, design = case
    cluster = cluster_of(fidelity, design)
    links, system = through_files(cluster.network, cluster.system)
    # An all-gather's bytes are those of a shard; of a whole message it would take months, which have no exact ns.
    size = 2**22 * (1 if collective is Collective.ALL_GATHER else int(design.npus.prod()))
    expected = fidelity.seconds(collective, size, design.npus, design)[0] * 1e9
    found = collective_time(collective, size, links.links, system.scheduled)[0]
    assert found == round(expected)


@pytest.mark.parametrize(("algorithm", "block", "npus", "names"), [
    (0, RING, 6, "ring ring"), (0, SWITCH, 6, "ring ring"), (1, SWITCH, 6, "direct direct"),
    (2, SWITCH, 8, "halvingDoubling direct1"), (2, SWITCH, 6, "ring direct1"), (2, SWITCH, 2, "halvingDoubling direct"),
    (2, FULLY_CONNECTED, 8, "halvingDoubling direct"), (2, FULLY_CONNECTED, 6, "ring direct"),
])  # fmt: skip
def test_one_bandwidth_serves_all_collectives(algorithm: int, block: int, npus: int, names: str) -> None:
    found = dimension_algorithms(algorithm, block, npus)
    assert found[Collective.ALL_REDUCE] == found[Collective.ALL_GATHER] == found[Collective.REDUCE_SCATTER]
    rows = (found[Collective.ALL_REDUCE], found[Collective.ALL_TO_ALL])
    assert " ".join(f"{row.algorithm.value}{row.window or ''}" for row in rows) == names
    assert (names.endswith("direct1")) == (found[Collective.ALL_TO_ALL] == ONE_AT_A_TIME)


NETWORK = {"topology": ["Switch", "Switch"], "npus_count": [8, 4], "bandwidth": [200, 50], "latency": [500, 12.5]}
ROWS = {f"{collective.value}-implementation": ["halvingDoubling", "halvingDoubling"] for collective in Collective}
ROWS["all-to-all-implementation"] = ["direct1", "direct1"]
SYSTEM = {"preferred-dataset-splits": 4, "collective-optimization": "baseline", "local-mem-bw": 50, **ROWS}


def read(network: dict[str, Any] | None = None, system: dict[str, Any] | None = None) -> Imported:
    links = parse_network(parse_source(json.dumps(NETWORK | (network or {})), "network.yml"))
    return read_cluster(links, parse_system(parse_source(json.dumps(SYSTEM | (system or {})), "system.json"), links))


ONE_AT_A_TIME_EACH = (one_at_a_time(0, 8), one_at_a_time(1, 4))


def test_a_cluster_that_a_problem_file_can_say() -> None:
    found = read()
    assert found.without == ONE_AT_A_TIME_EACH  # but for these
    assert str(found.fabric) == "SW(8)@dim0:214.7483648_SW(4)@dim1:53.6870912"
    assert dict(found.time) == {
        "model": "astra", "chunks": 4, "endpoint_delay_ns": 10, "local_memory_GBps": 50.0, "active_chunks": 1,
        "collective_optimization": "baseline", "latency_ns": {"dim0": 500.0, "dim1": 12.5},
    }  # fmt: skip
    assert found.compute is None
    assert read(system={"roofline-enabled": 1, "peak-perf": 312}).compute == 312
    assert read(system={"roofline-enabled": 1, "peak-perf": 1}).compute is None


MEANS = "what a problem file calls halving-doubling would run"


@pytest.mark.parametrize(("system", "sentence"), [
    ({"all-gather-implementation": ["ring", "halvingDoubling"]}, f"all-gather runs ring; {MEANS} halvingDoubling"),
    ({"all-to-all-implementation": ["direct1", "direct"]}, f"all-to-all runs direct; {MEANS} direct1"),
    ({"all-reduce-implementation": ["halvingDoubling", "doubleBinaryTree"], "preferred-dataset-splits": 1},
     "all-reduce runs doubleBinaryTree"),
    ({"all-gather-implementation": ["halvingDoubling"]}, "dimension 1 is not used by an all-gather"),
    ({"reduce-scatter-implementation": ["halvingDoubling"]}, "dimension 1 is not used by a reduce-scatter"),
    ({"replay-only": 1}, "replay-only"),
])  # fmt: skip
def test_what_a_problem_file_cannot_say_is_told(system: dict[str, Any], sentence: str) -> None:
    (without,) = set(read(system=system).without) - set(ONE_AT_A_TIME_EACH)
    assert sentence in without


def test_an_all_to_all_of_one_message_at_a_time_takes_another_time_than_a_design() -> None:
    network = {"topology": ["Switch"], "npus_count": [8], "bandwidth": [200], "latency": [500]}
    rows = {key: value[:1] for key, value in ROWS.items()}
    links = parse_network(parse_source(json.dumps(network), "network.yml"))
    file = parse_system(parse_source(json.dumps(SYSTEM | rows | {"preferred-dataset-splits": 1}), "a"), links)
    found = read_cluster(links, file)
    assert found.without == ONE_AT_A_TIME_EACH[:1]
    with TemporaryDirectory() as name:
        for path, text in zip(("a.yaml", "b.yaml"), problem_texts(found, "a", "b.yaml"), strict=True):
            (Path(name) / path).write_text(text)
        problem = load_problem(f"{name}/a.yaml")
    assert isinstance(problem, Problem)
    fidelity, design = problem.time.fidelity_of(problem.name), problem.read(str(found.fabric))
    here = fidelity.seconds(A2A, 2**20, design.npus, design)[0] * 1e9
    # Six latencies of two hops more, each with a delay, and as many roundings.
    assert collective_time(A2A, 2**20, links.links, file.system)[0] - here == pytest.approx(6 * 1010, abs=7)


def test_a_cluster_without_algorithms_of_an_all_reduce_is_told() -> None:
    links = parse_network(parse_source(json.dumps(NETWORK), "network.yml"))
    keys = {key: value for key, value in SYSTEM.items() if key != "all-reduce-implementation"}
    file = parse_system(parse_source(json.dumps(keys), "system.json"), links)
    assert file.notices == ("all-reduce-implementation: missing, so no trace with an all-reduce can run",)
    sentence = "there are no algorithms of an all-reduce; in a design they say what bandwidths mean"
    assert sentence in read_cluster(links, file).without


@pytest.mark.slow
@pytest.mark.parametrize("key", ["preferred-dataset-splits", "active-chunks-per-dimension", "endpoint-delay"])
def test_problem_files_take_the_largest_numbers_of_system_files(key: str) -> None:
    highest = 0
    for power in range(40):
        try:
            found = read(system={key: 2**power})
        except InputError as error:
            assert "system.json:1:" in str(error)
            assert f"{key}: found {2**power}" in str(error)
        else:
            highest = power
            TimeSpec.model_validate(found.time)
    assert highest < 39


def test_algorithms_of_rings_have_no_counterpart() -> None:
    rows = {key: ["direct", "direct"] for key in ROWS}
    found = read({"topology": ["Ring", "Switch"]}, rows)
    assert len(found.without) == len(Collective)
    assert "dimension 0, a ring of 8 NPUs: its all-reduce runs direct" in found.without[0]
    assert found.time["algorithms"] == {"switch": "direct"}
    # A ring sends over one link at a time, a direct switch to all others at once.
    assert str(found.fabric) == "RI(8)@dim0:214.7483648_SW(4)@dim1:161.0612736"


def test_algorithms_of_one_block_that_differ_are_searched_and_named_by_the_design() -> None:
    rows = {key: ["ring", "direct"] for key in ROWS}
    found = read(system=rows)
    assert found.without == ()
    assert found.time["algorithms"] == "search"
    assert found.fabric.options == (("algorithms", "ring,direct"),)


def test_schedulers() -> None:
    def time(scheduler: str, policy: str) -> dict[str, Any]:
        keys = {"inter-dimension-scheduling": scheduler, "intra-dimension-scheduling": policy}
        return {key: read(system=keys).time.get(key) for key in ("model", "scheduler", "policy")}

    assert time("offlineGreedy", "smallestFirst") == {"model": "themis", "scheduler": "offline-greedy", "policy": None}
    assert time("roundRobin", "RG") == {"model": "astra", "scheduler": "round-robin", "policy": "alternate"}
    assert time("offlineGreedyFlex", "FIFO")["policy"] == "first-come"


@pytest.mark.slow
@given(designs(scheduled=False))
@settings(max_examples=15)
def test_problem_files_load_and_time_the_design_alike(case: tuple[Fidelity, Population]) -> None:
    fidelity, design = case
    cluster = cluster_of(fidelity, design)
    found = read_cluster(*through_files(cluster.network, cluster.system))
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in zip(("a.yaml", "a b.yaml"), problem_texts(found, "a", "a b.yaml"), strict=True):
            (folder / file).write_text(text)
        problem = load_problem(str(folder / "a.yaml"))
    assert isinstance(problem, Problem)
    assert problem.npus == design.npus.prod()
    assert [objective.name for objective in problem.objectives] == ["time"]
    read_back = problem.read(str(found.fabric))
    again = problem.time.fidelity_of(problem.name)
    size = 2**20 * problem.npus
    expected = fidelity.seconds(Collective.ALL_REDUCE, size, design.npus, design)[0] * 1e9
    time = again.seconds(Collective.ALL_REDUCE, size, read_back.npus, read_back)[0] * 1e9
    assert time == expected
