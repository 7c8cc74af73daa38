"""Machines, algorithms and durations by hand: 4 NPUs on a ring, two such on a switch; 1 and 0.5 B/ns."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.chakra.trace import CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, load_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.network.blocks.block import Levels
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, LINE, RING, SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory, Route
from evo_libra.timing.phase_dimensions import (
    DIRECT,
    HALVING_DOUBLING,
    RING_ALGORITHM,
    leaving,
    link_bandwidth,
    runnable,
)
from evo_libra.timing.trace_time import TraceAccelerator, computing_seconds, grid_of, group_name
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.durations import durations, ring_ends


def machine(compute: ComputeModel | None = None, *, splits: int = 1, endpoint: float = 5.0) -> Machine:
    links = [Link(np.array([block]), np.array([npus]), np.array([rate]), np.array([10.0]))
             for block, npus, rate in ((RING, 4, 1e9), (SWITCH, 2, 0.5e9))]  # fmt: skip
    rows = {kind: [Implementation.read("ring")] * 2 for kind in Collective}
    system = System(rows, splits, 1, shrinking=True, overheads=Overheads(endpoint, 2.0))
    return Machine(links, system, compute or ComputeModel(), RemoteMemory(MemoryKind.PER_NODE, 7.0, 3.0, 4))


def ns(*nodes: Node, of: Machine | None = None, groups: dict[str, tuple[int, ...]] | None = None) -> list[float]:
    where = of or machine()
    return [float(time) for time in durations(compile_program([list(nodes)], groups or {}, where), where)]


def test_a_message_is_charged_the_first_dimension_in_which_its_ends_differ() -> None:
    of = machine()
    assert of.route(0, 1) == Route(0, 1)
    assert of.route(0, 3) == Route(0, 1)  # the other way around
    assert of.route(0, 2) == Route(0, 2)
    assert of.route(0, 4) == Route(1, 2)
    assert of.route(1, 7) == Route(0, 2)
    assert of.transfer(100, Route(0, 2)) == 120.0
    assert of.transfer(100, Route(1, 2)) == 220.0
    with pytest.raises(ValueError, match="no way from an NPU to itself"):
        of.route(5, 5)


def test_remote_memory() -> None:
    # 7 ns and floor(100 B / 3 B/ns).
    memory = RemoteMemory(MemoryKind.PER_NODE, 7.0, 3.0, 4)
    assert memory.transfer(100) == 40.0
    assert [memory.server(npu) for npu in (0, 3, 4)] == [0, 0, 1]
    assert RemoteMemory(MemoryKind.POOL).server(5) == 0
    assert RemoteMemory(MemoryKind.PER_NPU).server(5) is None
    assert RemoteMemory().server(5) is None


def test_a_machine_is_one_design_of_links_that_are_not_shared() -> None:
    several = Link(np.array([RING] * 2), np.array([4, 4]), np.ones(2), np.ones(2))
    with pytest.raises(InputError, match="a machine is one design"):
        Machine([several], machine().system)
    shared = Link(np.array([RING]), np.array([4]), np.ones(1), np.ones(1), shared=True)
    with pytest.raises(InputError, match="links that messages do not share"):
        Machine([shared], machine().system)


def test_computations() -> None:
    # Recorded: 3 us. Roofline: 1000 FLOP and 500 B, 2 GB/s x 2 FLOP/B = 4 GFLOP/s below the peak of 5: 250 ns.
    assert ns(compute_node(1, "", duration=3)) == [3000.0]
    node = compute_node(1, "", operations=1000, size=500)
    assert ns(node, of=machine(ComputeModel(5e9, roofline=True))) == [250.0]
    assert ns(node, of=machine(ComputeModel(3e9, roofline=True))) == [333.0]
    with pytest.raises(InputError, match="has num_ops 0 and tensor_size 500"):
        ns(compute_node(1, "", operations=0, size=500), of=machine(ComputeModel(3e9, roofline=True)))
    with pytest.raises(InputError, match="needs a peak-perf"):
        ns(node, of=machine(ComputeModel(0.0, roofline=True)))
    assert set(ns(load_node(1, "", 100))) == {40.0}


def test_messages_and_collectives() -> None:
    of = machine()
    nodes = [[send_node(1, "", source=npu, destination=(npu + 4) % 8, size=100, tag=npu),
              receive_node(2, "", source=(npu + 4) % 8, destination=npu, size=100, tag=(npu + 4) % 8)]
             for npu in range(8)]  # fmt: skip
    assert sorted(set(durations(compile_program(nodes, {}, of), of).tolist())) == [0.0, 220.0]
    # All NPUs, 800 B: reduce-scatter on the ring 5 + 3 (210 + 5 + 300); of 200 B on the switch an all-reduce of
    # messages of 100 B, 5 + 2 (220 + 5) + 150; and back 5 + 3 (210 + 5).
    collective = collective_node(1, "", CollectiveType.ALL_REDUCE, 800)
    assert ns(collective) == [5 + 3 * 515 + (5 + 450 + 150) + 650]
    # On one dimension, as one ring: 5 + 6 (210 + 5) + 3 x 300.
    assert ns(collective_node(1, "", CollectiveType.ALL_REDUCE, 800, involved=[True, False])) == [5 + 6 * 215 + 900]


def test_a_listed_group_is_a_ring_over_its_members_with_ten_ns_before_a_message() -> None:
    # NPUs 0 and 4 on the switch: messages of 400 B in 820 ns; 10 + 2 (820 + 10) + 600.
    nodes = [[collective_node(1, "", CollectiveType.ALL_REDUCE, 800, group="1")] if npu in (0, 4) else
             [compute_node(1, "", duration=1)] for npu in range(8)]  # fmt: skip
    of = machine()
    found = durations(compile_program(nodes, {"1": (0, 4)}, of), of)
    assert set(found.tolist()) == {1000.0, 10 + 2 * 830 + 600}


def test_a_listed_group_of_one_dimension_runs_its_algorithm() -> None:
    # Direct on links of 1 B/ns, 2 of 4 NPUs: 3 x 10 + 2 (100 + 10) + 3 x 50 ns for messages of 100 B.
    link = Link(np.array([FULLY_CONNECTED]), np.array([4]), np.array([1e9]), np.array([10.0]))
    rows = {kind: [Implementation.read("direct")] for kind in Collective}
    of = Machine([link], System(rows, 1, 1, shrinking=True, overheads=Overheads(5.0, 2.0)))
    nodes = [[collective_node(1, "", CollectiveType.ALL_REDUCE, 200, group="1")] if npu in (0, 1) else
             [compute_node(1, "", duration=1)] for npu in range(4)]  # fmt: skip
    assert set(durations(compile_program(nodes, {"1": (0, 1)}, of), of).tolist()) == {1000.0, 400.0}


def test_members_of_a_ring_end_when_the_messages_of_those_before_them_have_come() -> None:
    # Member i ends at the latest of start of i - k and the links between, k = 0 to the steps. Starts 0, 10, 0; links of
    # 5 ns (0 to 1), 7 and 2 ns.
    starts, links = np.array([0.0, 10.0, 0.0]), np.array([5.0, 7.0, 2.0])
    # Two steps: max(0, 0 + 2, 10 + 7 + 2), max(10, 5, 2 + 5), max(0, 10 + 7, 5 + 7), and 1 ns of their own.
    assert ring_ends(starts, links, 2, 1.0).tolist() == [20.0, 11.0, 18.0]
    # Three: one lap of 14 ns more for each of them.
    assert ring_ends(starts, links, 3, 0.0).tolist() == [19.0, 24.0, 17.0]


def test_algorithms_that_run() -> None:
    block = np.array([[RING, LINE, SWITCH, FULLY_CONNECTED, SWITCH]])
    extent = np.array([[4, 4, 6, 8, 8]])
    halving = np.full(block.shape, HALVING_DOUBLING)
    assert runnable(halving, Collective.ALL_REDUCE, block, extent).tolist() == [
        [RING_ALGORITHM, RING_ALGORITHM, RING_ALGORITHM, HALVING_DOUBLING, HALVING_DOUBLING]
    ]
    assert runnable(halving, Collective.ALL_TO_ALL, block, extent).tolist() == [
        [RING_ALGORITHM, RING_ALGORITHM, DIRECT, DIRECT, DIRECT]
    ]
    direct = np.full(block.shape, DIRECT)
    assert runnable(direct, Collective.ALL_REDUCE, block, extent)[0, 2:].tolist() == [DIRECT] * 3


def test_a_link_has_its_part_of_an_npu() -> None:
    # Of 12 B/s: a third to each of 3 others where all are sent to, all of it in rings; fully connected links are three.
    four = np.full(4, 4)
    block = np.array([SWITCH, SWITCH, FULLY_CONNECTED, RING])
    algorithm = np.array([DIRECT, RING_ALGORITHM, RING_ALGORITHM, RING_ALGORITHM])
    assert link_bandwidth(np.full(4, 12.0), algorithm, block, four).tolist() == [4.0, 12.0, 4.0, 12.0]
    assert link_bandwidth(np.array([12.0]), np.array([DIRECT]), np.array([SWITCH]), np.array([1])).tolist() == [12.0]


def test_what_leaves_a_leaf_has_its_part() -> None:
    # 8 NPUs, 4 under a leaf whose NPUs have 1/8 of their bandwidth upwards: a ring has 4/8, an all-to-all 7/4 of 1/8.
    levels = Levels(np.full(3, 4), np.full(3, 8), np.full(3, 0.125), np.full(3, 0.125), np.zeros(3))
    algorithm = np.array([RING_ALGORITHM, DIRECT, HALVING_DOUBLING])
    assert leaving(levels, algorithm, np.full(3, 8)).tolist() == [0.5, 0.21875, 1.0]


def test_groups_on_grids() -> None:
    assert grid_of([4, 5, 6, 7], 8) == (("member", 4),)
    assert grid_of([1, 3, 5, 7], 8) == (("between", 2), ("member", 4))
    assert grid_of([3], 8) == (("member", 1),)
    assert grid_of(list(range(8)), 8) == ()
    assert group_name(grid_of([0, 2, 8, 10], 16)) == "2x+2+2x+2"
    assert group_name(()) == "all"
    for members in ([0, 1, 3], [1, 2], [0, 3, 6]):
        with pytest.raises(ValueError, match="are no grid"):
            grid_of(members, 8)


def test_seconds_of_computations() -> None:
    program = compile_program([[compute_node(1, "", operations=1000, size=500, duration=3)]], {}, 2)
    assert computing_seconds(program, TraceAccelerator()).tolist() == pytest.approx([3e-6])
    assert computing_seconds(program, TraceAccelerator(scale=0.5)).tolist() == pytest.approx([1.5e-6])
    assert computing_seconds(program, TraceAccelerator(5e9, 2e9)).tolist() == pytest.approx([250e-9])
    for given in ({"operations": 0, "size": 500}, {"operations": 1000, "size": 0}, {"size": 500}):
        lacking = compile_program([[compute_node(1, "", duration=3, **given)]], {}, 2)
        with pytest.raises(InputError, match="needs num_ops and tensor_size above 0"):
            computing_seconds(lacking, TraceAccelerator(5e9, 2e9))
        assert computing_seconds(lacking, TraceAccelerator()).tolist() == pytest.approx([3e-6])
    memory = compile_program([[load_node(1, "", 100)]], {}, 2)
    with pytest.raises(InputError, match="uses remote memory"):
        computing_seconds(memory, TraceAccelerator())
