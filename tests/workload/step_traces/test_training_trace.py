"""Training loops as traces: what waits for what, and computations to the nanosecond."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evo_libra.chakra.trace import CollectiveType, Kind, Node
from evo_libra.collective import Collective
from evo_libra.units import roofline_ns
from evo_libra.workload.layers.workload import Layer, Phase, Workload
from evo_libra.workload.step_traces.training_trace import training_nodes
from evo_libra.workload.trace_nodes import DimensionGroup, ListedGroup, in_group, operations_of

TP = Phase(5e-9, Collective.ALL_REDUCE, 1000.0, "tp")
DP = Phase(7e-9, Collective.REDUCE_SCATTER, 64.0, "dp")
PLAIN, NOTHING = Phase(3e-9), Phase(0.0)
LOOP = Workload("two", (Layer("a", TP, TP, DP), Layer("b", PLAIN, NOTHING, PLAIN)))
PLACES = {"tp": DimensionGroup((True, False)), "dp": ListedGroup("dp")}


def waits(nodes: tuple[Node, ...]) -> dict[str, list[str]]:
    names = {node.id: node.name for node in nodes}
    return {node.name: [names[other] for other in node.data] for node in nodes}


def test_without_overlap_everything_is_one_chain_in_the_order_of_the_loop() -> None:
    nodes = training_nodes(LOOP.layers, "none", PLACES)
    assert [node.name for node in nodes] == [
        "a.forward.compute", "a.forward.all-reduce.tp", "b.forward.compute", "b.weight-gradient.compute",
        "a.input-gradient.compute", "a.input-gradient.all-reduce.tp",
        "a.weight-gradient.compute", "a.weight-gradient.reduce-scatter.dp",
    ]  # fmt: skip
    assert [node.data for node in nodes] == [(), *((node.id - 1,) for node in nodes[1:])]
    assert [node.id for node in nodes] == list(range(len(nodes)))


def test_with_overlap_two_chains_race_and_the_next_layer_waits_for_both() -> None:
    loop = Workload("two", (LOOP.layers[1], LOOP.layers[0]))
    found = waits(training_nodes(loop.layers, "tp-dp", PLACES))
    assert found["a.input-gradient.all-reduce.tp"] == ["a.input-gradient.compute"]
    assert found["a.weight-gradient.compute"] == ["a.input-gradient.compute"]
    assert found["a.weight-gradient.reduce-scatter.dp"] == ["a.weight-gradient.compute"]
    both = ["a.input-gradient.all-reduce.tp", "a.weight-gradient.reduce-scatter.dp"]
    assert found["b.weight-gradient.compute"] == both


def test_what_a_collective_says() -> None:
    nodes = {node.name: node for node in training_nodes(LOOP.layers, "none", PLACES)}
    world = nodes["a.forward.all-reduce.tp"]
    assert (world.kind, world.attributes["comm_type"].value) == (Kind.COMM_COLL, CollectiveType.ALL_REDUCE.value)
    assert world.attributes["comm_size"].value == 1000
    assert world.attributes["involved_dim"].value == (True, False)
    assert "pg_name" not in world.attributes
    listed = in_group(nodes["a.weight-gradient.reduce-scatter.dp"], "17")
    assert listed.attributes["pg_name"].value == "17"
    assert "involved_dim" not in listed.attributes
    assert listed.attributes["comm_size"].value == 64


def test_groups_of_one_npu_have_no_collectives() -> None:
    names = [node.name for node in training_nodes(LOOP.layers, "none", {"dp": DimensionGroup((True, True))})]
    assert [name for name in names if not name.endswith("compute")] == ["a.weight-gradient.reduce-scatter.dp"]


@given(st.integers(1, 10**13), st.sampled_from([1.0, 50.0, 1e15, float("inf")]))
def test_computations_take_their_nanoseconds(nanoseconds: int, memory: float) -> None:
    assert roofline_ns(operations_of(nanoseconds), 1, 1e12, memory * 1e9) == nanoseconds


def test_without_half_a_nanosecond_more_some_would_lose_one() -> None:
    lost = [ns for ns in range(1, 5000) if roofline_ns(1000 * ns, 1, 1e12, 50e9) != ns]
    assert lost
    assert all(roofline_ns(1000 * ns, 1, 1e12, 50e9) == ns - 1 for ns in lost)


def test_a_slow_memory_makes_computations_longer() -> None:
    assert roofline_ns(operations_of(1), 1, 1e12, 1e7) == 100
