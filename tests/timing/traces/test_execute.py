"""Small traces on two NPUs, event by event: an all-reduce of 100 B takes 120 ns, a message 110 ns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from evo_libra.chakra.trace import CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, load_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.execute import Execution, execute
from evo_libra.timing.traces.replay import replay_population


def machine(kind: MemoryKind = MemoryKind.POOL) -> Machine:
    """Return two NPUs with a link of 1 B/ns and 10 ns: 2 messages of 50 B in 60 ns each, without endpoint delay."""
    link = Link(np.array([FULLY_CONNECTED]), np.array([2]), np.array([1e9]), np.array([10.0]))
    rows = {collective: [Implementation.read("ring")] for collective in Collective}
    system = System(rows, 1, 1, shrinking=True, overheads=Overheads(0.0, np.inf))
    return Machine([link], system, ComputeModel(), RemoteMemory(kind, 40.0, 1.0))


def run(*traces: Sequence[Node], kind: MemoryKind = MemoryKind.POOL) -> Execution:
    return execute(traces, {}, machine(kind))


def reduces(number: int, data: Sequence[int] = ()) -> Node:
    return collective_node(number, "all", CollectiveType.ALL_REDUCE, 100, data=data)


def test_computation_overlaps_communication() -> None:
    found = run([compute_node(1, "", duration=1), reduces(2)])
    assert found.finish.tolist() == [1000.0, 1000.0]
    assert found.exposed.tolist() == [0.0, 0.0]
    assert found.communication.tolist() == [120.0, 120.0]
    assert found.idle.tolist() == [0.0, 0.0]
    after = run([compute_node(1, "", duration=1), reduces(2, data=[1])])
    assert after.finish.tolist() == [1120.0, 1120.0]
    assert after.exposed.tolist() == [120.0, 120.0]


def test_an_npu_runs_one_collective_and_one_computation_at_a_time() -> None:
    assert run([reduces(1), reduces(2)]).finish.tolist() == [240.0, 240.0]
    assert run([compute_node(1, "", duration=1), compute_node(2, "", duration=2)]).finish[0] == 3000.0
    both = run([compute_node(1, "", duration=1), compute_node(2, "", duration=2, on_cpu=True)])
    assert (both.finish[0], both.cpu[0], both.compute[0]) == (2000.0, 2000.0, 1000.0)


def test_the_least_id_goes_first() -> None:
    found = run([reduces(7), compute_node(3, "b", duration=1), compute_node(2, "a", duration=2)])
    assert [(span.name, span.start, span.end) for span in found.timeline()] == [
        ("a", 0.0, 2000.0), ("all", 0.0, 120.0), ("b", 2000.0, 3000.0),
    ]  # fmt: skip


def test_a_collective_begins_when_its_last_member_comes() -> None:
    late = [compute_node(1, "", duration=1), reduces(2, data=[1])]
    found = run([reduces(1)], late)
    # A ring of two: NPU 0 has the message that NPU 1 sends at 1000 at 1060, and sends its second one then, which NPU 1
    # has at 1120; that of NPU 1 is there at 1060.
    assert found.finish.tolist() == [1060.0, 1120.0]
    assert found.apart
    assert not found.late


def test_a_message_ends_its_receive() -> None:
    sender = [compute_node(1, "", duration=1), send_node(2, "", source=0, destination=1, size=100, tag=1, data=[1])]
    receiver = [
        receive_node(1, "", source=0, destination=1, size=100, tag=1),
        compute_node(2, "", duration=3, data=[1]),
    ]
    assert run(sender, receiver).finish.tolist() == [1110.0, 4110.0]
    # One that is there already ends at once.
    busy = [compute_node(1, "", duration=5), receive_node(2, "", source=0, destination=1, size=100, tag=1, data=[1])]
    assert run(sender, busy).finish.tolist() == [1110.0, 5000.0]


def test_a_shared_memory_serves_one_npu_at_a_time() -> None:
    # 40 + 60 ns each, one after the other.
    assert sorted(run([load_node(1, "", 60)]).finish.tolist()) == [100.0, 200.0]
    assert run([load_node(1, "", 60)], kind=MemoryKind.PER_NPU).finish.tolist() == [100.0, 100.0]


def test_idle_times_are_those_between() -> None:
    # Computes until 1000, waits for a message of an NPU that computes until 2000: 2110; then computes until 3110.
    sender = [compute_node(1, "", duration=2), send_node(2, "", source=1, destination=0, size=100, tag=1, data=[1])]
    waiting = [compute_node(1, "", duration=1), receive_node(2, "", source=1, destination=0, size=100, tag=1, data=[1]),
               compute_node(3, "", duration=1, data=[2])]  # fmt: skip
    found = run(waiting, sender)
    assert found.finish.tolist() == [3110.0, 2110.0]
    assert found.idle.tolist() == [1110.0, 0.0]
    assert found.compute.tolist() == [2000.0, 2000.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_population_has_durations_of_its_own(*, compiled: bool) -> None:
    program = compile_program([[compute_node(1, "", duration=1), reduces(2), reduces(3, data=[1])]], {}, 2)
    # Of two designs: computes 5 and 1, reduces 2 and 3, then 4 and 6 when both are done.
    found = replay_population(program, np.array([[5.0, 1.0], [2.0, 3.0], [4.0, 6.0]]), compiled=compiled)
    assert found.all.tolist() == [9.0, 9.0]
    other = replay_population(program, np.array([[5.0, 1.0], [7.0, 3.0], [4.0, 6.0]]), compiled=compiled)
    assert other.all.tolist() == [11.0, 9.0]


def test_what_takes_time_and_no_resource_has_a_slot_of_its_own() -> None:
    cluster = machine()
    replayed = Machine(cluster.links, cluster.system, ComputeModel(replay=True), cluster.memory)
    ends = {"source": 0, "destination": 1, "size": 100}
    second = [receive_node(1, "", tag=1, **ends), receive_node(2, "", tag=2, **ends), compute_node(3, "", duration=1)]
    first = [send_node(1, "", tag=1, **ends), send_node(2, "", tag=2, **ends)]
    program = compile_program([first, second], {}, replayed)
    # In a replay, receives take their recorded time: beside the three resources of a class, each has a slot.
    assert program.slots.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert program.slot.tolist() == [2, 2, 6, 7, 4]
