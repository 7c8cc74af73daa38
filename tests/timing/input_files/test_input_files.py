"""ASTRA-sim's files: what is read of them, what is refused, and what is written is read back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.files.source import Source, parse_source
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.input_files.network_file import (
    NetworkFile,
    memory_text,
    network_text,
    parse_memory,
    parse_network,
)
from evo_libra.timing.input_files.system_file import SystemFile, parse_system, read_machine, system_text
from evo_libra.timing.machine import ComputeModel, MemoryKind, RemoteMemory
from evo_libra.timing.names import ASTRA_POLICIES, ASTRA_SCHEDULERS, CollectiveAlgorithm, Policy, Scheduler
from evo_libra.units import GIBI

CASES = json.loads((Path(__file__).parents[2] / "golden" / "astra_collectives.json").read_text())
COLLECTIVES = {collective.name: collective for collective in Collective}
BLOCK = {"Ring": "ring", "FullyConnected": "fully-connected", "Switch": "switch"}
NAMES = [block.name for block in BLOCKS]

NETWORK = {"topology": ["Ring", "Switch"], "npus_count": [4, 8], "bandwidth": [200.0, 50], "latency": [500, 12.5]}
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring", "halvingDoubling"],
    "all-gather-implementation": ["ring", "halvingDoubling"],
    "reduce-scatter-implementation": ["ring", "halvingDoubling"],
    "all-to-all-implementation": ["ring", "direct"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 50,
}


def network(**changes: Any) -> NetworkFile:
    return parse_network(parse_source(json.dumps(NETWORK | changes, indent=1), "network.yml"))


def system(changes: dict[str, Any] | None = None, without: str = "", of: NetworkFile | None = None) -> SystemFile:
    data = {key: value for key, value in (SYSTEM | (changes or {})).items() if key != without}
    return parse_system(parse_source(json.dumps(data, indent=1), "system.json"), of or network())


# What the golden test of single collectives builds by hand; only what a case runs is in its system.
def built_links(given_: dict[str, Any]) -> list[Link]:
    rows = zip(given_["topology"], given_["npus_count"], given_["bandwidth"], given_["latency"], strict=True)
    return [
        Link(np.array([NAMES.index(BLOCK[b])]), np.array([n]), np.array([g * GIBI]), np.array([ns]))
        for b, n, g, ns in rows
    ]


def built_system(case: dict[str, Any]) -> System:
    file = case["system"]
    collective = COLLECTIVES[case["collective"]]
    return System(
        {collective: tuple(map(Implementation.read, file[f"{collective.value}-implementation"]))},
        file["preferred-dataset-splits"],
        file["active-chunks-per-dimension"],
        file["collective-optimization"] == "localBWAware",
        Overheads(float(file["endpoint-delay"]), float(file["local-mem-bw"])),
        1,
        Scheduler(file.get("inter-dimension-scheduling", "baseline")),
        Policy(file.get("intra-dimension-scheduling", "FIFO")),
    )


def files_of(case: dict[str, Any]) -> tuple[NetworkFile, SystemFile]:
    links = parse_network(parse_source(json.dumps(case["network"]), "network.yml"))
    return links, parse_system(parse_source(json.dumps(case["system"]), "system.json"), links)


def has_untimed_tree(case: dict[str, Any]) -> bool:
    trees = "doubleBinaryTree" in case["system"].get("all-reduce-implementation", ())
    return trees and (case["system"]["preferred-dataset-splits"] > 1 or "Ring" in case["network"]["topology"])


def test_trees_of_which_no_time_is_known_are_refused() -> None:
    cases = list(filter(has_untimed_tree, CASES))
    assert len(cases) == 7
    for case in cases:
        with pytest.raises(InputError) as caught:
            files_of(case)
        splits, told = case["system"]["preferred-dataset-splits"], str(caught.value)
        assert told.startswith("system.json:1:")
        assert "all-reduce-implementation[0]: doubleBinaryTree" in told
        assert (f"preferred-dataset-splits has to be 1, found {splits}" in told) == (splits > 1)
        assert ("doubleBinaryTree on a ring: no exact time" in told) == (case["network"]["topology"] == ["Ring"])


@pytest.mark.slow
def test_every_golden_file_says_what_is_built_by_hand() -> None:
    for case in {json.dumps([c["network"], c["system"]]): c for c in CASES if not has_untimed_tree(c)}.values():
        links, file = files_of(case)
        by_hand = built_system(case)
        assert file.scheduled == by_hand
        assert (file.system.scheduler, file.system.policy) == (Scheduler.BASELINE, Policy.FIFO)
        for found, expected in zip(links.links, built_links(case["network"]), strict=True):
            assert all(
                getattr(found, name) == getattr(expected, name) for name in ("block", "npus", "bandwidth", "latency")
            )


@pytest.mark.parametrize("case", CASES[::40], ids=lambda case: case["id"])
def test_golden_files_take_the_same_times(case: dict[str, Any]) -> None:
    links, file = files_of(case)
    run = COLLECTIVES[case["collective"]], case["bytes"]
    found = collective_time(*run, links.links, file.scheduled, case["involved"])
    expected = collective_time(*run, built_links(case["network"]), built_system(case), case["involved"])
    assert found[0] == expected[0]


def test_units() -> None:
    assert network().links[0].bandwidth[0] == 200 * 2**30
    assert network().links[1].latency[0] == 12.5
    file = system({"roofline-enabled": 1, "peak-perf": 312})
    assert file.compute == ComputeModel(312e12, roofline=True)
    assert file.system.overheads == Overheads(10.0, 50.0)


@pytest.mark.parametrize(
    ("changes", "place", "part"),
    [
        ({"topology": ["Ring", "Swich"]}, ":4:", "did you mean 'Switch'?"),
        ({"topology": []}, "topology", "at least 1"),
        ({"npus_count": [4, 1]}, "npus_count[1]", "at least 2"),
        ({"npus_count": [4, 8.0]}, "npus_count[1]", "whole number"),
        ({"npus_count": [4]}, "npus_count", "has 1 item, topology has 2"),
        ({"bandwidth": [200, 0]}, "bandwidth[1]", "above 0"),
        ({"bandwidth": [200, "fast"]}, "bandwidth[1]", "a number is needed"),
        ({"latency": [-1, 0]}, "latency[0]", "at least 0"),
        ({"latency": 500}, "latency", "a list is needed"),
        ({"npus_count": [10**9, 2]}, "npus_count", "NPUs in all"),
    ],
)
def test_wrong_networks_are_told(changes: dict[str, Any], place: str, part: str) -> None:
    with pytest.raises(InputError) as caught:
        network(**changes)
    assert str(caught.value).startswith("network.yml:")
    assert place in str(caught.value)
    assert part in str(caught.value)


@pytest.mark.parametrize(("read", "parts"), [
    (parse_network, ("a network file of ASTRA-sim", "topology, npus_count, bandwidth, latency")),
    (lambda source: parse_system(source, network()), ("a system file", "preferred-dataset-splits, collective")),
    (parse_memory, ("a file of remote memory of ASTRA-sim", "memory-type")),
])  # fmt: skip
def test_files_of_something_else_are_told(read: Callable[[Source], object], parts: tuple[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        read(parse_source("version: 1\nname: mine\nnpus: 4\n", "other.yml"))
    told = str(caught.value)
    assert told.startswith(f"other.yml:1:1: is no {parts[0].removeprefix('a ')}")
    assert f"has the keys {parts[1]}" in told
    assert told.endswith("; found: version, name, npus")
    assert "\n" not in told


def test_a_misspelt_key_that_is_needed_is_a_mistake_and_others_are_noticed() -> None:
    data = {("latencies" if key == "latency" else key): value for key, value in NETWORK.items()}
    with pytest.raises(InputError, match="unknown key 'latencies'; did you mean 'latency'"):
        parse_network(parse_source(json.dumps(data), "network.yml"))
    assert network(fabric="x").notices == ("fabric: ASTRA-sim does not read this key",)
    assert "did you mean 'peak-perf'?" in system({"peak_perf": 3}).notices[0]
    with pytest.raises(InputError, match="a mapping is needed"):
        parse_network(parse_source("[1]", "network.yml"))


@pytest.mark.parametrize("key", ["preferred-dataset-splits", "collective-optimization"])
def test_what_makes_astra_sim_hang_when_it_is_missing_is_needed(key: str) -> None:
    with pytest.raises(InputError, match=f"{key}: a required key is missing"):
        system(without=key)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"preferred-dataset-splits": 0}, "preferred-dataset-splits: found 0 (number), a number of at least 1"),
        ({"active-chunks-per-dimension": 0}, "at least 1"),
        (
            {"preferred-dataset-splits": 2**20},
            "preferred-dataset-splits: found 1048576 (number), a number of at most 65536",
        ),
        ({"active-chunks-per-dimension": 2**16 + 1}, "active-chunks-per-dimension: found 65537"),
        ({"endpoint-delay": 10**9 + 1}, "endpoint-delay: found 1000000001 (number), a number of at most 1000000000"),
        ({"collective-optimization": "local"}, "allowed: baseline, localBWAware"),
        ({"all-reduce-implementation": ["ring", "halvingdoubling"]}, "did you mean 'halvingDoubling'?"),
        ({"all-reduce-implementation": ["ring"] * 3}, "names 3 algorithms, the network has 2 dimensions"),
        ({"all-reduce-implementation": []}, "at least 1"),
        ({"all-reduce-implementation": ["oneRing"]}, "one flat group of all NPUs"),
        ({"all-gather-implementation": ["oneDirect3"]}, "one flat group of all NPUs"),
        ({"all-reduce-implementation-custom": ["a"]}, "written as traces"),
        ({"per-node-custom-implementation": "a.yml"}, "written as traces"),
        ({"model-shared-bus": 1}, "not modelled"),
        ({"roofline-enabled": 1}, "peak-perf: a required key is missing; roofline-enabled is 1"),
        ({"roofline-enabled": False}, "a whole number is needed"),
        ({"endpoint-delay": 1.5}, "a whole number is needed"),
        ({"local-mem-bw": 0}, "above 0"),
        ({"inter-dimension-scheduling": "offlinegreedy"}, "did you mean 'offlineGreedy'?"),
    ],
)
def test_wrong_systems_are_told(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError) as caught:
        system(changes)
    assert str(caught.value).startswith("system.json:")
    assert part in str(caught.value)


@pytest.mark.parametrize("name", ["halvingDoubling", "doubleBinaryTree"])
def test_algorithms_of_powers_of_two_are_refused_elsewhere(name: str) -> None:
    with pytest.raises(InputError) as caught:
        system(
            {"all-reduce-implementation": ["ring", name], "preferred-dataset-splits": 1}, of=network(npus_count=[4, 12])
        )
    assert "all-reduce-implementation[1]" in str(caught.value)
    assert "needs a power of two of NPUs in its dimension; this has 12 NPUs" in str(caught.value)


def test_all_mistakes_are_told() -> None:
    with pytest.raises(InputError) as caught:
        system(
            {"all-reduce-implementation": ["oneRing"], "all-gather-implementation": ["x", "y"], "model-shared-bus": 1}
        )
    assert len(caught.value.mistakes) == 4


def test_collectives_that_no_algorithm_runs_are_left_out() -> None:
    file = system({"all-to-all-implementation": ["ring", "halvingDoubling"]})
    assert Collective.ALL_TO_ALL not in file.system.implementations
    assert "halvingDoubling has no all-to-all" in file.notices[0]
    assert "no trace with an all-to-all can run" in file.notices[0]
    tree = system({"reduce-scatter-implementation": ["ring", "doubleBinaryTree"]})
    assert "no trace with a reduce-scatter can run" in tree.notices[0]
    assert Collective.ALL_GATHER not in system(without="all-gather-implementation").system.implementations
    short = system({"all-gather-implementation": ["ring"]})
    assert len(short.system.implementations[Collective.ALL_GATHER]) == 1
    assert "the other dimensions of 2 are not used" in short.notices[0]


def test_what_astra_sim_leaves_undefined_or_does_not_read_is_noticed() -> None:
    missing = system(without="local-mem-bw")
    assert missing.system.overheads.memory == math.inf
    assert "local-mem-bw" in missing.notices[0]
    asked = system({"inter-dimension-scheduling": "offlineGreedy", "intra-dimension-scheduling": "RG", "boost-mode": 0})
    assert asked.system.scheduler is Scheduler.BASELINE
    assert (asked.scheduled.scheduler, asked.scheduled.policy) == (Scheduler.OFFLINE_GREEDY, Policy.ALTERNATING)
    assert [notice.partition(":")[0] for notice in asked.notices] == [
        "boost-mode", "inter-dimension-scheduling", "intra-dimension-scheduling",
    ]  # fmt: skip


def test_what_may_stop_astra_sim_is_noticed() -> None:
    assert system().notices == ()
    assert system({"track-local-mem": 0, "endpoint-delay": 1}).notices == ()
    (tracking,) = system({"track-local-mem": 1}).notices
    assert tracking == (
        "track-local-mem: With track-local-mem, no NPU finishes the example traces that come with ASTRA-sim. "
        "0 leaves it out"
    )
    (zero,) = system({"endpoint-delay": 0}).notices
    assert zero.startswith("endpoint-delay: found 0. With an endpoint-delay of 0, ASTRA-sim stops on an assertion")


@pytest.mark.parametrize("collective", Collective)
def test_collectives_without_an_algorithm_are_noticed(collective: Collective) -> None:
    key = f"{collective.value}-implementation"
    file = system(without=key)
    assert collective not in file.system.implementations
    assert file.notices == (f"{key}: missing, so no trace with {collective.called} can run",)


def test_machine_of_files(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("network.yml", "system.json", "memory.json")]
    memory = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 5, "remote-mem-bw": 2, "x": 1}
    for path, data in zip(paths, (NETWORK, SYSTEM | {"boost-mode": 0}, memory), strict=True):
        path.write_text(json.dumps(data))
    machine, notices = read_machine(*paths)
    assert machine.npus == (4, 8)
    assert machine.memory == RemoteMemory(MemoryKind.POOL, 5.0, 2.0)
    assert [notice.partition(": ")[0] for notice in notices] == [str(path) for path in paths[1:]]
    assert read_machine(*paths[:2])[0].memory == RemoteMemory()
    with pytest.raises(InputError, match="cannot be read"):
        read_machine(tmp_path / "no.yml", paths[1])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{}", "memory-type: a required key is missing"),
        ('{"memory-type": "MEMORY_POL"}', "did you mean 'MEMORY_POOL'?"),
        ('{"memory-type": "MEMORY_POOL", "remote-mem-bw": 1}', "remote-mem-latency: a required key is missing"),
        (
            '{"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-bw": 1, "remote-mem-latency": 0, "num-nodes": 2}',
            "num-npus-per-node: a required key is missing",
        ),
    ],
)
def test_wrong_memories_are_told(text: str, part: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_memory(parse_source(text, "memory.json"))
    assert part in str(caught.value)


POSITIVE = st.floats(1e-3, 1e6)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[NetworkFile, SystemFile]:
    depth = draw(st.integers(1, 4))
    values = st.integers(0, 2), st.integers(1, 6).map(lambda power: 2**power), st.floats(1e6, 1e15), st.floats(0, 1e6)
    network_ = NetworkFile(*(draw(st.tuples(*[value] * depth)) for value in values))
    ring, window = st.just(Implementation(CollectiveAlgorithm.RING)), st.none() | st.integers(1, 9)
    rows = st.tuples(*[ring | window.map(lambda some: Implementation(CollectiveAlgorithm.DIRECT, some))] * depth)
    memory = draw(POSITIVE | st.just(math.inf))
    found = System(
        {collective: draw(rows) for collective in Collective}, draw(st.integers(1, 999)), draw(st.integers(1, 99)),
        draw(st.booleans()), Overheads(float(draw(st.integers(0, 999))), memory),
    )  # fmt: skip
    compute = ComputeModel(draw(st.integers(1, 999)) * 1e12, roofline=draw(st.booleans()), replay=draw(st.booleans()))
    policy = draw(st.sampled_from(ASTRA_POLICIES))
    return network_, SystemFile(found, compute, draw(st.sampled_from(ASTRA_SCHEDULERS)), policy)


@pytest.mark.slow
@given(clusters())
@settings(max_examples=40)
def test_what_is_written_is_read_back(cluster: tuple[NetworkFile, SystemFile]) -> None:
    network_, system_ = cluster
    again = parse_network(parse_source(network_text(network_), "network.yml"))
    assert again == network_
    back = parse_system(parse_source(system_text(system_), "system.json"), again)
    assert (back.system, back.compute) == (system_.system, system_.compute)
    assert (back.scheduler, back.policy) == (system_.scheduler, system_.policy)


@given(st.sampled_from(MemoryKind), st.floats(0, 1e6), POSITIVE, st.integers(1, 64))
@settings(max_examples=30)
def test_memories_are_read_back(kind: MemoryKind, latency: float, bandwidth: float, npus: int) -> None:
    memory = RemoteMemory() if kind is MemoryKind.NONE else RemoteMemory(kind, latency, bandwidth)
    if kind is MemoryKind.PER_NODE:
        memory = RemoteMemory(kind, latency, bandwidth, npus)
    assert parse_memory(parse_source(memory_text(memory, 128), "memory.json")) == (memory, ())
