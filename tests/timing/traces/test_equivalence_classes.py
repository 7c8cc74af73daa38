"""NPUs that do the same are executed once; rings and groups of NPUs that do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from effort import costly
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.chakra.trace import Attribute, CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node
from evo_libra.collective import Collective, SizedCollective
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.durations import CollectiveTimes, _Ring, ring_ends
from evo_libra.timing.traces.execute import execute, execute_program
from evo_libra.timing.traces.operations import Scope
from evo_libra.timing.traces.program import Communicator

SEEDS = st.integers(0, 2**32 - 1)
KINDS = (CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.ALL_TO_ALL)
Groups = dict[str, tuple[int, ...]]


def link(block: int, npus: int, bandwidth: float = 50.0, latency: float = 100.0) -> Link:
    return Link(np.array([block]), np.array([npus]), np.array([bandwidth * 1e9]), np.array([latency]))


def machine(links: Sequence[Link], algorithm: str, memory: MemoryKind = MemoryKind.POOL, splits: int = 2) -> Machine:
    rows = [Implementation.read(algorithm)] * len(links)
    system = System(dict.fromkeys(Collective, rows), splits, 1, shrinking=True, overheads=Overheads(10.0, 1600.0))
    return Machine(links, system, ComputeModel(), RemoteMemory(memory, 250.0, 80.0, 2))


@given(SEEDS)
@costly(60)
def test_classes_change_no_result(seed: int) -> None:
    """Work of computations that take their recorded time tells NPUs apart, and nothing else."""
    random = np.random.default_rng(seed)
    groups: Groups = {"1": (0, 1, 2, 3), "2": (4, 5, 6, 7), "3": (0, 4), "4": (1, 5), "5": (2, 6), "6": (7, 3)}
    rows = [["1", "3"], ["1", "4"], ["1", "5"], ["1", "6"], ["2", "3"], ["2", "4"], ["2", "5"], ["2", "6"]]
    steps = [random.integers(0, 4, 2).tolist() for _ in range(6)]
    late = random.integers(0, 8, 2).tolist() if random.random() < 0.7 else []
    cluster = machine([link(RING, 4), link(SWITCH, 2, 20.0, 1000.0)], "ring")
    found = []
    for apart in (False, True):
        traces = [spmd(npu, rows[npu], steps, late=npu in late, mark=npu if apart else 0) for npu in range(8)]
        program = compile_program(traces, groups, cluster)
        assert len(program.classes) == 8 if apart else len(program.classes) <= 8
        found.append(execute_program(program, cluster).finish.tolist())
    assert found[0] == found[1]


def spmd(npu: int, groups: list[str], steps: list[list[int]], *, late: bool, mark: int) -> list[Node]:
    first = compute_node(0, "", operations=mark, size=1, duration=7 if late else 3)
    nodes = [first]
    for kind, what in steps:
        node = len(nodes)
        if what < 3:
            group = ["", *groups][what]
            nodes.append(collective_node(node, "", KINDS[kind % 3], 2**16, group=group, data=[node - 1]))
        else:
            ends = {"size": 2**15, "tag": node}
            nodes.append(send_node(node, "", source=npu, destination=npu ^ 1, data=[node - 1], **ends))
            nodes.append(receive_node(node + 1, "", source=npu ^ 1, destination=npu, data=[node - 1], **ends))
            nodes.append(compute_node(node + 2, "", operations=mark, size=1, duration=1, data=[node, node + 1]))
    return nodes


@pytest.mark.slow
def test_what_all_npus_do_is_executed_once() -> None:
    trace = [collective_node(i, "", KINDS[i % 3], 2**20, data=[i - 1] if i else []) for i in range(6)]
    links = [link(RING, 4), link(FULLY_CONNECTED, 8), link(SWITCH, 8), link(RING, 16)]
    program = compile_program([trace], {}, machine(links, "direct"))
    assert ([len(members) for members in program.classes], len(program)) == ([4096], 6)
    groups = {str(1 + first): tuple(range(first, first + 4)) for first in range(0, 512, 4)}
    in_group = [[replace(node, attributes=MappingProxyType({
        **node.attributes, "pg_name": Attribute("string", str(1 + npu // 4 * 4))
    })) for node in trace] for npu in range(512)]  # fmt: skip
    cluster = machine([link(RING, 4), link(FULLY_CONNECTED, 8), link(SWITCH, 16)], "direct")
    program = compile_program(in_group, groups, cluster)
    assert ([len(members) for members in program.classes], len(program)) == ([512], 6)
    found = execute_program(program, cluster)
    assert (found.finish.shape, found.late) == ((512,), ())


@given(SEEDS, st.integers(2, 9), st.sampled_from(Collective))
@settings(max_examples=80)
def test_ring_is_what_its_steps_are(seed: int, members: int, collective: Collective) -> None:
    random = np.random.default_rng(seed)
    starts, links = random.integers(0, 500, members), random.integers(0, 100, members)
    steps = {Collective.ALL_REDUCE: 2 * members - 2, Collective.ALL_TO_ALL: members * (members - 1) // 2}
    count = steps.get(collective, members - 1)
    at = starts.copy()
    for _ in range(count):
        at = np.maximum(np.roll(at + links, 1), at) + 10
    found = ring_ends(starts.astype(float), links.astype(float), count, 10.0 * count)
    assert found.tolist() == at.tolist()


@given(SEEDS, st.sampled_from(Collective))
@settings(max_examples=80)
def test_ring_of_equals_is_the_collective(seed: int, collective: Collective) -> None:
    random = np.random.default_rng(seed)
    npus, block = int(random.integers(2, 9)), int(random.choice([RING, FULLY_CONNECTED, SWITCH]))
    cluster = machine([link(block, npus, *random.uniform(1, 200, 2))], "ring", splits=int(random.integers(1, 9)))
    active, queues, shrinking = int(random.integers(1, 5)), int(random.integers(1, 4)), bool(random.integers(0, 2))
    system = replace(cluster.system, active=active, queues=queues, shrinking=shrinking)
    size = int(random.integers(2**14, 2**20))
    communicator = Communicator(Scope("", (0,)), tuple(range(npus)), (0,), (0,) * npus)
    found = CollectiveTimes(replace(cluster, system=system), [communicator]).together(
        0, SizedCollective(collective, size)
    )
    assert found.tolist() == collective_time(collective, size, cluster.links, system).tolist()


def test_members_of_a_ring_that_come_late_hold_up_those_behind() -> None:
    communicator = Communicator(Scope("", (0,)), (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
    times = CollectiveTimes(machine([link(RING, 4)], "ring", splits=1), [communicator])
    exchange = SizedCollective(Collective.ALL_GATHER, 2**20)
    together = times.together(0, exchange)
    ends, exact = times.ends(0, exchange, np.array([0.0, 0.0, 1e6, 0.0]))
    assert exact
    assert ends.max() == 1e6 + together.max()
    assert np.diff(ends[[2, 3, 0, 1]]).min() > 0  # the late one has nothing to wait for
    direct = CollectiveTimes(machine([link(RING, 4)], "direct"), [communicator])
    ends, exact = direct.ends(0, exchange, np.array([0.0, 0.0, 1e6, 0.0]))
    assert (not exact, np.ptp(ends)) == (True, 0.0)


@pytest.mark.parametrize(("block", "members", "around"), [
    (RING, (0, 2, 4, 6), True), (RING, (6, 4, 2, 0), True), (RING, (1, 5), False), (SWITCH, (0, 3, 5), False),
])  # fmt: skip
def test_groups_run_their_algorithm_where_all_members_lie_alike(
    block: int,
    members: tuple[int, ...],
    around: bool,  # noqa: FBT001 - a column of the table
) -> None:
    cluster = machine([link(block, 8)], "direct")
    trace = [collective_node(0, "", CollectiveType.ALL_REDUCE, 2**20, group="1")]
    idle = [compute_node(0, "")]
    traces = [trace if npu in members else idle for npu in range(8)]
    found = execute(traces, {"1": members}, cluster).finish
    # The same as a network of their own, with links as long as the way between them.
    hops = {(RING, 2): 4.0, (RING, 4): 2.0}.get((block, len(members)), 1.0)
    alone = link(RING if around else block, len(members), latency=100.0 * hops)
    system = replace(cluster.system, overheads=replace(cluster.system.overheads, listed=True))
    expected = collective_time(Collective.ALL_REDUCE, 2**20, [alone], system, world=8)
    assert found[list(members)].tolist() == [expected[0]] * len(members)


def test_npus_whose_messages_go_other_ways_are_told_apart() -> None:
    ways = {0: 1, 1: 0, 4: 5, 5: 4, 2: 6, 6: 2, 3: 7, 7: 3}
    traces = [
        [send_node(0, "", source=npu, destination=to, size=10, tag=1),
         receive_node(1, "", source=to, destination=npu, size=10, tag=1)]
        for npu, to in sorted(ways.items())
    ]  # fmt: skip
    cluster = machine([link(RING, 4), link(SWITCH, 2, 20.0, 1000.0)], "ring")
    assert execute(traces, {}, cluster).finish.tolist() == [100.0, 100.0, 2000.0, 2000.0] * 2


def test_groups_whose_members_lie_otherwise_are_told_apart() -> None:
    near, far = (0, 1), (2, 6)
    traces = [[compute_node(0, "")] for _ in range(8)]
    for name, members in (("1", near), ("2", far)):
        for npu in members:
            traces[npu] = [collective_node(0, "", CollectiveType.ALL_REDUCE, 2**20, group=name)]
    cluster = machine([link(RING, 8)], "direct")
    found = execute(traces, {"1": near, "2": far}, cluster).finish
    assert found[2] == found[6] > found[0] == found[1]


def test_chunks_of_groups_have_as_many_bytes_as_there_are_npus() -> None:
    cluster = machine([link(SWITCH, 8, 0.001)], "direct")
    trace = [collective_node(0, "", CollectiveType.ALL_REDUCE, 10, group="1")]
    traces = [trace if npu < 4 else [compute_node(0, "")] for npu in range(8)]
    found = execute(traces, {"1": (0, 1, 2, 3)}, cluster).finish[0]
    alone = link(SWITCH, 4, 0.001)
    assert found == collective_time(Collective.ALL_REDUCE, 16, [alone], cluster.system)[0]
    assert found > collective_time(Collective.ALL_REDUCE, 10, [alone], cluster.system)[0]


@given(
    st.integers(2, 9), st.integers(0, 40), st.integers(1, 30), st.integers(1, 12), st.integers(0, 2**32 - 1)
)  # fmt: skip
@settings(max_examples=80)
def test_chunks_of_a_ring_are_one_ring_of_all_their_steps(
    count: int, more: int, chunks: int, window: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    starts, links = random.integers(0, 10_000, count).astype(float), random.integers(0, 1000, count).astype(float)
    steps, own = count - 1 + more, float(random.integers(0, 500))
    under_way = [starts] * window
    for chunk in range(chunks):
        under_way[chunk % window] = ring_ends(under_way[chunk % window], links, steps, own)
    found = _Ring(links, steps, own, chunks, window).ends(starts)
    np.testing.assert_array_equal(found, np.maximum.reduce(under_way))


def test_rings_of_many_chunks_end_at_once() -> None:
    ring = _Ring(np.array([3.0, 5.0]), 2, 7.0, 2**31 - 1, 2**31 - 1)
    one, many = ring.ends(np.zeros(2)), replace(ring, window=1).ends(np.zeros(2))
    np.testing.assert_array_equal(one, 15.0)
    np.testing.assert_array_equal(many, 15.0 * (2**31 - 1))
