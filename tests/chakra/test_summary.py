"""What a trace holds, counted by hand and by brute force."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.chakra.check import Chain, graph_of, longest_chain, running_order
from evo_libra.chakra.read import read_trace
from evo_libra.chakra.summary import CollectiveKey, ComputeSummary, Volume, compute_time, summarise
from evo_libra.chakra.trace import Attribute, CollectiveType, Kind, Metadata, Node
from evo_libra.chakra.write import (
    collective_node,
    compute_node,
    load_node,
    receive_node,
    send_node,
    store_node,
    write_trace,
)
from evo_libra.errors import InputError

GOLDEN = Path(__file__).parents[1] / "golden" / "chakra"


def test_everything_is_counted(tmp_path: Path) -> None:
    nodes = [
        compute_node(1, "a", operations=100, size=10),
        compute_node(2, "b", duration=30, data=[1]),
        compute_node(3, "c", operations=50, size=500, duration=7, data=[1], on_cpu=True),
        compute_node(4, "d", data=[2, 3]),
        collective_node(5, "e", CollectiveType.ALL_REDUCE, 64, group="0", data=[4]),
        collective_node(6, "f", CollectiveType.ALL_REDUCE, 32, data=[4]),
        collective_node(7, "g", CollectiveType.ALL_REDUCE, 16, group="3", data=[4]),
        collective_node(8, "h", CollectiveType.ALL_TO_ALL, 8, involved=[False, True], data=[4]),
        send_node(9, "i", source=0, destination=5, size=1000, tag=1, data=[8]),
        send_node(10, "j", source=0, destination=5, size=1000, tag=2, data=[8]),
        receive_node(11, "k", source=7, destination=0, size=500, tag=1, data=[8]),
        load_node(12, "l", 4096, control=[1]),
        store_node(13, "m", 2048, control=[1]),
        Node(14, "n", Kind.METADATA),
    ]
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), nodes)
    found = summarise(path)
    assert (found.file, found.version, found.dependencies) == (str(path), "0.0.4", 13)
    assert found.kinds == Counter(node.kind for node in nodes)
    assert found.compute == ComputeSummary(4, 150, 510, pytest.approx(37e-6), 2)
    assert found.collectives == {
        CollectiveKey(CollectiveType.ALL_REDUCE, "", None): Volume(2, 96),
        CollectiveKey(CollectiveType.ALL_REDUCE, "3", None): Volume(1, 16),
        CollectiveKey(CollectiveType.ALL_TO_ALL, "", (False, True)): Volume(1, 8),
    }
    assert (found.sends, found.receives) == ({5: Volume(2, 2000)}, {7: Volume(1, 500)})
    assert (found.loads, found.stores) == (Volume(1, 4096), Volume(1, 2048))
    assert found.longest == Chain(5, 1, 9, 5.0)
    assert found.critical == Chain(5, 1, 9, pytest.approx(30e-6))
    # 100 operations at 2e6/s take 50 us, 10 B at 1e6 B/s take 10 us; the CPU's and the recorded ones stay.
    timed = summarise(path, peak=2e6, memory_bandwidth=1e6)
    assert timed.compute.untimed == 1
    assert timed.critical == Chain(5, 1, 9, pytest.approx(80e-6))
    assert summarise(path, peak=2e6, memory_bandwidth=1e3).critical == Chain(5, 1, 9, pytest.approx(10e-3 + 30e-6))


def test_without_times_there_is_no_critical_path(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), [compute_node(0, "a", operations=1, size=1), load_node(1, "b", 5, data=[0])])
    found = summarise(path)
    assert (found.critical, found.longest) == (None, Chain(2, 0, 1, 2.0))
    write_trace(path, Metadata(), [load_node(1, "b", 5)])
    assert summarise(path, peak=1.0, memory_bandwidth=1.0).critical is None


def test_times_of_computations() -> None:
    both = compute_node(0, "a", operations=8, size=6, duration=5)
    assert compute_time(both, peak=4.0, memory_bandwidth=1.0) == 6.0
    assert compute_time(both, peak=1.0, memory_bandwidth=3.0) == 8.0
    assert compute_time(both) == pytest.approx(5e-6)
    half = Node(0, "a", Kind.COMP, attributes={"num_ops": Attribute("int64", 8)})
    assert compute_time(half, peak=4.0, memory_bandwidth=1.0) is None
    # is_cpu_op as some tools write it
    on_cpu = Node(0, "a", Kind.COMP, attributes={**both.attributes, "is_cpu_op": Attribute("int32", 1)}, duration=2)
    assert compute_time(on_cpu, peak=4.0, memory_bandwidth=1.0) == pytest.approx(2e-6)


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """Return the nodes of an acyclic graph, in any order, with ids in any order."""
    count = draw(st.integers(1, 9))
    ids = draw(st.permutations(range(0, 3 * count, 3)))
    pairs = [(end, start) for end in range(count) for start in range(end)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=14)) if pairs else []
    nodes = [Node(ids[at], data=tuple(ids[start] for end, start in edges if end == at)) for at in range(count)]
    return draw(st.permutations(nodes))


def chains(nodes: list[Node]) -> list[list[Node]]:
    """Return every chain of dependencies, found by walking all of them."""
    by_id = {node.id: node for node in nodes}
    found = waiting = [[node] for node in nodes]
    while waiting:
        waiting = [[*chain, by_id[other]] for chain in waiting for other in set(chain[-1].data)]
        found = found + waiting
    return [chain[::-1] for chain in found]


@given(nodes=graphs(), data=st.data())
def test_longest_chain_is_the_longest_of_all(nodes: list[Node], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(nodes), max_size=len(nodes)))
    graph = graph_of(nodes)
    order = running_order(graph)
    assert sorted(order) == list(range(len(nodes)))
    found = longest_chain(graph, order, np.array(weights, dtype=float))
    weight = {node.id: value for node, value in zip(nodes, weights, strict=True)}
    every = {(sum(weight[n.id] for n in chain), len(chain), chain[0].id, chain[-1].id) for chain in chains(nodes)}
    assert (found.weight, found.nodes, found.first, found.last) in every
    assert (found.weight, found.nodes) == max(every)[:2]


@given(nodes=graphs())
def test_nodes_run_after_what_they_wait_for(nodes: list[Node]) -> None:
    place = {nodes[at].id: when for when, at in enumerate(running_order(graph_of(nodes)))}
    assert all(place[other] < place[node.id] for node in nodes for other in node.data)


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("*/trace.*.et")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_samples_agree_with_their_decoded_nodes(path: Path) -> None:
    decoded = json.loads((path.parent / "decoded_and_result.json").read_text())["decoded"][path.name]

    def total(kind: str, name: str) -> int:
        values = [entry for node in decoded if node["type"] == kind for entry in node["attr"]]
        return sum(entry["value"] for entry in values if entry["name"] == name)

    found = summarise(path, peak=1e14, memory_bandwidth=1e12)
    assert sum(found.kinds.values()) == len(decoded)
    assert found.compute.operations == total("COMP_NODE", "num_ops")
    assert found.compute.size == total("COMP_NODE", "tensor_size")
    assert sum(volume.size for volume in found.collectives.values()) == total("COMM_COLL_NODE", "comm_size")
    assert sum(volume.size for volume in found.sends.values()) == total("COMM_SEND_NODE", "comm_size")
    assert sum(volume.size for volume in found.receives.values()) == total("COMM_RECV_NODE", "comm_size")
    assert found.critical is None or found.critical.weight <= sum(times(path)) * (1 + 1e-12)
    assert (found.critical is None) == (found.compute.nodes == 0)


def times(path: Path) -> list[float]:
    return [compute_time(node, 1e14, 1e12) or 0.0 for node in read_trace(path)[1] if node.kind is Kind.COMP]


@pytest.mark.parametrize("nodes", [
    [],
    [Node(1, "a", Kind.COMM_COLL)],
    [Node(1, "a", Kind.COMM_COLL, attributes={name: Attribute("int64", 77) for name in ("comm_type", "comm_size")})],
    [Node(1, "a", Kind.COMP, data=(2,)), Node(2, "b", Kind.COMP, data=(1,))],
    [Node(1, "a", Kind.COMP, attributes={"num_ops": Attribute("string", "5")})],
])  # fmt: skip
def test_what_cannot_be_read_cannot_be_summed_up(nodes: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), nodes)
    with pytest.raises(InputError) as read:
        read_trace(path)
    with pytest.raises(InputError) as summed_up:
        summarise(path)
    assert str(summed_up.value) == str(read.value)


def test_progress_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), (compute_node(number, "a" * 50, duration=1) for number in range(3000)))
    positions: list[int] = []
    summarise(path, watch=positions.append)
    assert len(positions) == 2
    assert 0 < positions[0] < positions[1] <= path.stat().st_size
