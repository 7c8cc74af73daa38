"""Traces that cannot run are refused, with the node and the reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from evo_libra.chakra.trace import Attribute, CollectiveType, Kind, Node
from evo_libra.chakra.write import collective_node, compute_node, load_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.execute import execute
from evo_libra.timing.traces.replay import replay_population

AR, AG, A2A = CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.ALL_TO_ALL


def machine(
    npus: Sequence[int] = (4,), algorithm: str = "ring", *, block: int = RING, roofline: bool = False, splits: int = 4
) -> Machine:
    links = [Link(np.array([block]), np.array([n]), np.array([50e9]), np.array([100.0])) for n in npus]
    rows = [Implementation.read(algorithm)] * len(npus)
    system = System(dict.fromkeys(Collective, rows), splits, 1, shrinking=True, overheads=Overheads(10.0, 1600.0))
    return Machine(links, system, ComputeModel(1e14, roofline=roofline))


def message(npu: int, peer: int, node: int = 0, *, sends: bool, **named: int) -> Node:
    source, destination = (npu, peer) if sends else (peer, npu)
    make = send_node if sends else receive_node
    return make(node, "", source=source, destination=destination, **{"size": 1024, "tag": 7, **named})


def with_type(kind: CollectiveType) -> Node:
    return collective_node(3, "", kind, 1024)


def refused(traces: list[list[Node]], cluster: Machine, groups: dict[str, tuple[int, ...]] | None = None) -> list[str]:
    with pytest.raises(InputError) as caught:
        execute(traces, groups or {}, cluster)
    return str(caught.value).splitlines()


IDLE = [compute_node(0, "")]
SOME_GROUPS = {"1": (0, 1), "2": (2, 3)}


@pytest.mark.parametrize("kind", [
    CollectiveType.REDUCE, CollectiveType.GATHER, CollectiveType.SCATTER, CollectiveType.BARRIER,
    CollectiveType.REDUCE_SCATTER_BLOCK,
])  # fmt: skip
def test_collectives_that_the_simulator_lacks(kind: CollectiveType) -> None:
    found = refused([[with_type(kind)]], machine())
    known = "ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST"
    assert found == [f"trace of NPU 0: node 3: is a {kind.name}, which ASTRA-sim does not have; it has {known}"]


def test_a_broadcast_takes_its_recorded_time() -> None:
    node = replace(collective_node(0, "", CollectiveType.BROADCAST, 1024), duration=3)
    assert execute([[node]], {}, machine()).finish.tolist() == [3000.0] * 4


@pytest.mark.parametrize(("node", "cluster", "message"), [
    (collective_node(5, "", AR, 2**20), machine((6,), "halvingDoubling"), "needs a power of two of NPUs"),
    (collective_node(5, "", AR, 2**20), machine((8,), "doubleBinaryTree", block=SWITCH), "doubleBinaryTree with sev"),
    (collective_node(5, "", AR, 2**20), machine((8,), "doubleBinaryTree", splits=1), "doubleBinaryTree on a ring"),
    (collective_node(5, "", A2A, 2**20), machine((8,), "halvingDoubling"), "halvingDoubling has no all-to-all"),
    (collective_node(5, "", AG, 3), machine(), "an all-gather of 3 bytes cannot be cut into 4 chunks"),
    (collective_node(5, "", AR, 2**20), machine((2, 2, 2, 2, 2)), "has no involved_dim.*uses 4.*network has 5"),
    (collective_node(5, "", AR, 2**20, involved=[True]), machine((2, 2)), "involved_dim of 1 dim.*network has 2"),
    (collective_node(5, "", AR, 2**20, involved=[False]), machine(), "with itself, on which ASTRA-sim never ends"),
    (collective_node(5, "", AR, 2**20, group="11"), machine(), "unknown communicator group '11'; allowed: 1, 2;"),
    (collective_node(5, "", AR, 2**20, group="2"), machine(), "to which the NPU does not belong"),
    (compute_node(5, ""), machine(roofline=True), "has num_ops missing and tensor_size missing; with roofline-enabled"),
    (compute_node(5, "", operations=9, size=0), machine(roofline=True), "has num_ops 9 and tensor_size 0; with"),
    (compute_node(5, "", operations=9), machine(roofline=True), "has num_ops 9 and tensor_size missing; with"),
    (load_node(5, "", 1024), machine(), "needs remote memory, which the cluster has not"),
    (Node(5, "", Kind.MEM_LOAD), machine(), "has no tensor_size; a MEM_LOAD node needs it"),
    (compute_node(5, "", data=[4]), machine(), "waits for node 4, which is not there"),
    (compute_node(5, "", data=[5]), machine(), "waits for itself"),
    (message(0, 1, 5, sends=False), machine(), "receives from NPU 1 of 1024 bytes with tag 7; which does not send it"),
    (message(0, 9, 5, sends=True), machine(), "a message to NPU 9 of 1024 bytes with tag 7; there are 4 NPUs"),
    (message(0, 0, 5, sends=True), machine(), "comm_dst is 0, the NPU itself"),
    (message(3, 1, 5, sends=True), machine(), "comm_src is 3, but this is the trace of NPU 0"),
])  # fmt: skip
def test_nodes(node: Node, cluster: Machine, message: str) -> None:
    total = int(np.prod(cluster.npus))
    others = [[compute_node(0, "", operations=1, size=1)]] * (total - 1)
    found = refused([[node], *others], cluster, SOME_GROUPS)
    assert len(found) == 1
    assert re.match(f"trace of NPU 0: node 5: .*{message}", found[0]), found[0]


def test_communication_on_the_cpu() -> None:
    node = collective_node(1, "", AR, 1024)
    node = replace(node, attributes={**node.attributes, "is_cpu_op": Attribute("bool", value=True)})
    assert refused([[node]], machine()) == [
        "trace of NPU 0: node 1: is communication on the CPU; is_cpu_op must be false"
    ]


@pytest.mark.parametrize(("groups", "message"), [
    ({"1": (0, 4)}, "group '1': has NPU 4; there are 4 NPUs"),
    ({"1": (0, 0)}, "group '1': must name at least one NPU, and none twice"),
    ({"1": ()}, "group '1': must name at least one NPU, and none twice"),
])  # fmt: skip
def test_groups(groups: dict[str, tuple[int, ...]], message: str) -> None:
    assert refused([IDLE], machine(), groups) == [message]


def test_groups_of_one() -> None:
    node = collective_node(5, "", AR, 1024, group="1")
    found = refused([[node], IDLE, IDLE, IDLE], machine(), {"1": (0,)})
    assert found == ["trace of NPU 0: node 5: runs all-reduce of an NPU with itself, on which ASTRA-sim never ends"]


def test_numbers_of_traces() -> None:
    assert refused([IDLE, IDLE], machine()) == ["there are 2 traces for 4 NPUs; one each is needed, or one for all"]
    assert refused([[]], machine()) == ["trace of NPU 0: has no nodes"]


def test_a_machine_is_one_design() -> None:
    link = Link(np.array([RING] * 2), np.array([4, 4]), np.array([1.0, 1.0]), np.array([0.0, 0.0]))
    with pytest.raises(InputError, match="its links have several"):
        replace(machine(), links=[link])
    with pytest.raises(InputError, match="links that messages do not share"):
        replace(machine(), links=[replace(link.select(np.array([0])), shared=True)])


def test_systems_without_an_algorithm() -> None:
    cluster = machine()
    rows = {Collective.ALL_REDUCE: cluster.system.implementations[Collective.ALL_REDUCE]}
    cluster = replace(cluster, system=replace(cluster.system, implementations=rows))
    for group in ("", "1"):
        found = refused([[collective_node(2, "", A2A, 2**20, group=group)]], cluster, {"1": (0, 1)})
        assert found == ["trace of NPU 0: node 2: runs all-to-all, for which the system has no algorithm"]


def test_groups_that_nobody_has_given() -> None:
    node = collective_node(5, "", AR, 2**20, group="7")
    for network in (machine(), 4):
        with pytest.raises(InputError) as caught:
            compile_program([[node]], {}, network)
        reason = "unknown communicator group '7'; no groups are given; give their file as 'groups:'"
        assert str(caught.value) == f"trace of NPU 0: node 5: {reason}"


def test_trees_of_several_chunks_in_groups() -> None:
    nodes = [collective_node(5, "", AR, 2**20, group="1")]
    traces = [nodes, nodes, nodes, nodes, *[IDLE] * 4]
    found = refused(traces, machine((8,), "doubleBinaryTree", block=SWITCH), {"1": (0, 1, 2, 3)})
    assert all("doubleBinaryTree with several chunks" in line for line in found)
    assert found[0].startswith("trace of NPU 0: node 5: ")
    execute(traces, {"1": (0, 1, 2, 3)}, machine((8,), "doubleBinaryTree", block=SWITCH, splits=1))


def test_two_names_for_all_npus_are_two_groups() -> None:
    nodes = [collective_node(0, "", AR, 2**20, group="1"), collective_node(1, "", AR, 2**20, group="0", data=[0])]
    alone = execute([nodes[:1]], {"1": (3, 2, 1, 0)}, machine()).finish
    assert execute([nodes], {"1": (3, 2, 1, 0)}, machine()).finish.tolist() == (2 * alone).tolist()


def both(traces: list[list[Node]], groups: dict[str, tuple[int, ...]], algorithm: str = "ring") -> list[str]:
    """Return what is said by the exact execution, and check that populations say the same."""
    cluster = machine((len(traces),), algorithm, block=FULLY_CONNECTED)
    found = refused(traces, cluster, groups)
    program = compile_program(traces, groups, cluster)
    for compiled in (False, True):
        with pytest.raises(InputError) as caught:
            replay_population(program, np.ones((len(program), 2)), compiled=compiled)
        assert str(caught.value).splitlines() == found
    return found


def test_a_member_that_never_comes() -> None:
    node = collective_node(5, "", AR, 1024, group="1")
    found = both([[node], [*IDLE, node], IDLE, IDLE], {"1": (0, 1, 2)})
    said = "node 5: waits for ever in all-reduce of 1024 bytes of group '1': NPU 2 does not come to it"
    assert found == [f"trace of NPU 0: {said}", f"trace of NPU 1: {said}"]


def test_collectives_in_another_order() -> None:
    one, two = (collective_node(at, "", AR, 1024, group=name) for at, name in ((1, "1"), (2, "2")))
    first = [one, replace(two, data=(1,))]
    last = [replace(one, data=(2,)), two]
    found = both([first, last], {"1": (0, 1), "2": (1, 0)})
    # Groups of all NPUs are two groups nonetheless.
    assert found == [
        "trace of NPU 0: node 1: waits for ever in all-reduce of 1024 bytes of group '1': NPU 1 does not come to it",
        "trace of NPU 1: node 2: waits for ever in all-reduce of 1024 bytes of group '2': NPU 0 does not come to it",
    ]


@pytest.mark.parametrize(("kind", "size", "name"), [(AR, 2048, "all-reduce"), (AG, 1024, "all-gather")])
def test_members_that_come_to_different_collectives(kind: CollectiveType, size: int, name: str) -> None:
    found = both([[collective_node(1, "", AR, 1024)], [collective_node(2, "", kind, size)]], {})
    assert found == [
        "trace of NPU 0: node 1: runs all-reduce of 1024 bytes where another NPU of all NPUs runs another",
        f"trace of NPU 1: node 2: runs {name} of {size} bytes where another NPU of all NPUs runs another",
    ]


def test_messages_that_wait_for_each_other() -> None:
    traces = [
        [message(npu, 1 - npu, 1, sends=False), replace(message(npu, 1 - npu, 2, sends=True), data=(1,))]
        for npu in (0, 1)
    ]
    assert both(traces, {}) == ["trace of NPU 0: node 1: waits for ever for a message of NPU 1"]


def test_fewer_messages_than_receives() -> None:
    traces = [[message(0, 1, sends=True)], [message(1, 0, sends=False), message(1, 0, 4, sends=False)]]
    assert refused(traces, machine((2,))) == [
        "trace of NPU 1: node 4: receives from NPU 0 of 1024 bytes with tag 7; which does not send it"
    ]


def test_messages_without_order() -> None:
    slow = [
        compute_node(0, "", duration=1),
        *(replace(message(0, 1, at, sends=True), data=d) for at, d in ((1, (0,)), (2, ()))),
    ]
    traces = [slow, [message(1, 0, 1, sends=False), message(1, 0, 2, sends=False)]]
    cluster = machine((2,))
    assert execute(traces, {}, cluster).finish[1] == 1000 + 120  # the first one to go is for the first one to wait
    with pytest.raises(InputError, match="trace of NPU 0: node 1: is a message like that of node 2, and either"):
        replay_population(compile_program(traces, {}, cluster), np.ones((5, 1)))


def test_durations() -> None:
    program = compile_program([IDLE], {}, 4)
    for wrong in (np.ones(1), np.ones((2, 3))):
        with pytest.raises(ValueError, match=r"\(1, n\) is needed"):
            replay_population(program, wrong)
    for value in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="finite and not negative"):
            replay_population(program, np.full((1, 3), value))


def test_programs_without_a_network() -> None:
    with pytest.raises(InputError, match="trace of NPU 0: node 1: involved_dim can only be read with a known network"):
        compile_program([[collective_node(1, "", AR, 1024, involved=[True])]], {}, 4)
    program = compile_program([[load_node(0, "", 10), collective_node(1, "", AR, 1024, data=[0])]], {}, 4)
    assert replay_population(program, np.array([[2.0], [3.0]])).all.tolist() == [5.0]


def test_remote_memory_by_kind() -> None:
    traces = [[load_node(0, "", 8000)]]
    finish = {}
    for kind in (MemoryKind.PER_NPU, MemoryKind.PER_NODE, MemoryKind.POOL):
        cluster = replace(machine(), memory=RemoteMemory(kind, 100.0, 80.0, 2))
        finish[kind] = execute(traces, {}, cluster).finish.tolist()
    assert finish == {
        MemoryKind.PER_NPU: [200.0] * 4,
        MemoryKind.PER_NODE: [200.0, 400.0, 200.0, 400.0],
        MemoryKind.POOL: [200.0, 400.0, 600.0, 800.0],
    }


def test_replay_takes_recorded_times_only() -> None:
    trace = [replace(collective_node(0, "", AR, 2**30), duration=5), compute_node(1, "", duration=2, data=[0])]
    cluster = machine()
    cluster = replace(cluster, compute=replace(cluster.compute, replay=True))
    found = execute([trace, *[[compute_node(0, "")]] * 3], {}, cluster)
    assert found.finish.tolist() == [7000.0, 1.0, 1.0, 1.0]


def test_metadata_is_seen_through() -> None:
    nodes = [compute_node(0, "", duration=1), Node(1, "", Kind.METADATA, data=(0,)), compute_node(2, "", data=[1])]
    found = execute([nodes], {}, machine())
    assert (found.finish[0], len(found.program)) == (1001.0, 2)
