"""Executions of a few operations, event by event, compiled and in NumPy: each design has durations of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from evo_libra.chakra.trace import CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, load_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.timing.collectives.phase import RING, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.program import TraceProgram, arrays_of_program
from evo_libra.timing.traces.replay import replay_population

pytestmark = pytest.mark.parametrize("compiled", [False, True])


def computes(number: int, *data: int, on_cpu: bool = False) -> Node:
    return compute_node(number, "", duration=1, data=data, on_cpu=on_cpu)


def reduces(number: int, *data: int, size: int = 100, group: str = "") -> Node:
    return collective_node(number, "", CollectiveType.ALL_REDUCE, size, data=data, group=group)


def sends(number: int, target: int, *data: int, source: int = 0) -> Node:
    return send_node(number, "", source=source, destination=target, size=64, tag=0, data=data)


def receives(number: int, source: int, *data: int, target: int = 1) -> Node:
    return receive_node(number, "", source=source, destination=target, size=64, tag=0, data=data)


def finish(program: TraceProgram, *designs: Sequence[float], compiled: bool) -> list[list[float]]:
    """Return the ends of the classes of each design, from the durations of its operations."""
    found = replay_population(program, np.array(designs).T, compiled=compiled)
    assert found.all.tolist() == found.classes.max(axis=0).tolist()
    return found.classes.T.tolist()


def test_one_operation_of_a_resource_at_a_time(*, compiled: bool) -> None:
    program = compile_program([[computes(1), computes(2), computes(3, on_cpu=True), computes(4, 1)]], {}, 1)
    # Computations 1, 2 and 4 follow each other, and 3 runs beside them on the CPU.
    assert finish(program, [1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 40.0, 8.0], compiled=compiled) == [[11.0], [40.0]]
    # Node 5 waits for 2: where 3 is ready before, it goes first, though its id is larger.
    program = compile_program([[computes(1), computes(3, on_cpu=True), computes(5, 3), computes(7, 1)]], {}, 1)
    # At 1 only node 7 is ready; at 3 node 5 is, and runs behind it from 9 on.
    assert finish(program, [1.0, 3.0, 4.0, 8.0], [4.0, 3.0, 4.0, 8.0], compiled=compiled) == [[13.0], [16.0]]


def test_many_operations_wait_in_the_order_of_their_ids(*, compiled: bool) -> None:
    # 70 computations wait for the first one, more than the bits of a word; what waits for the 66th begins when it ends.
    nodes = [computes(0), *(computes(n, 0) for n in range(1, 71)), computes(99, 66, on_cpu=True)]
    program = compile_program([nodes], {}, 1)
    each = np.arange(71.0)
    # They end at n (n + 1) / 2: the 66th at 2211, and 1000 more are 3211, past the last one at 2485.
    assert finish(program, [*each, 1000.0], [*each, 1.0], compiled=compiled) == [[3211.0], [2485.0]]


def test_a_collective_begins_with_its_last_member_and_takes_the_longest(*, compiled: bool) -> None:
    first, second = [computes(1), reduces(2, 1)], [reduces(2), computes(3, 2)]
    program = compile_program([first, second], {}, 2)
    # NPU 0 comes at 5; of 3 and 4 the longer one counts; then NPU 1 computes for 6. In the second design it comes at 0.
    assert finish(program, [5.0, 3.0, 4.0, 6.0], [0.0, 7.0, 4.0, 1.0], compiled=compiled) == [[9.0, 15.0], [7.0, 8.0]]


def test_a_collective_runs_again_when_all_have_come_again(*, compiled: bool) -> None:
    program = compile_program([[reduces(1), computes(2, 1), reduces(3, 2)], [reduces(1), reduces(3)]], {}, 2)
    # The second one begins at 2 + 5.
    assert finish(program, [2.0, 5.0, 3.0, 2.0, 3.0], compiled=compiled) == [[10.0, 10.0]]


def test_a_receive_ends_with_its_message(*, compiled: bool) -> None:
    program = compile_program([[computes(1), sends(2, 1, 1)], [receives(1, 0), computes(2, 1)]], {}, 2)
    # Sent at 5, there at 8; then NPU 1 computes for 4. Durations of receives do not count.
    assert finish(program, [5.0, 3.0, 9.0, 4.0], [1.0, 1.0, 9.0, 0.5], compiled=compiled) == [[8.0, 12.0], [2.0, 2.5]]
    # One whose message is there already ends when it is looked for.
    program = compile_program([[sends(2, 1)], [computes(1), receives(2, 0, 1), computes(3, 2)]], {}, 2)
    assert finish(program, [3.0, 10.0, 9.0, 4.0], [30.0, 10.0, 9.0, 4.0], compiled=compiled) == [
        [3.0, 14.0],
        [30.0, 34.0],
    ]


def test_what_ends_together_frees_what_waits_in_order(*, compiled: bool) -> None:
    # Node 1 computes and node 2 reduces until 4; of these the computation ends first, and node 9 begins before node 5
    # is free. Were the collective first, node 5 would go before it.
    program = compile_program([[computes(1), reduces(2), computes(9, 1), computes(5, 2)]], {}, 2)
    order = [program.nodes.index(node) for node in (1, 2, 9, 5)]
    each = np.zeros(4)
    each[order] = [4.0, 4.0, 10.0, 1.0]
    assert finish(program, each, compiled=compiled) == [[15.0]]
    # CPU and compute units: of ends at the same time, that which began first comes first.
    nodes = [computes(1, on_cpu=True), computes(2), computes(3, 1, on_cpu=True), reduces(4, 2), reduces(5, 3)]
    program = compile_program([nodes], {}, 2)
    # Node 1 ends at 1, node 3 runs at 1 to 4, node 2 at 0 to 4: 2 began first, and 4 goes before 5.
    assert finish(program, [1.0, 4.0, 3.0, 10.0, 100.0], compiled=compiled) == [[114.0]]


def cluster(kind: MemoryKind) -> Machine:
    link = Link(np.array([RING]), np.array([4]), np.array([1e9]), np.array([10.0]))
    rows = {collective: [Implementation.read("ring")] for collective in Collective}
    return Machine([link], System(rows, 1, 1, shrinking=True, overheads=Overheads(0.0, np.inf)), ComputeModel(),
                   RemoteMemory(kind, 40.0, 1.0, 2))  # fmt: skip


def test_a_memory_serves_one_after_the_other(*, compiled: bool) -> None:
    traces = [[computes(1), load_node(2, "", 60, data=[1])]] * 2 + [[load_node(2, "", 60)]] * 2
    pool = compile_program(traces, {}, cluster(MemoryKind.POOL))
    # NPUs 2 and 3 at 0 to 5 and to 10; NPUs 0 and 1, which come at 1 and 20, wait until 10, and begin at 20.
    names = {pool.classes[owner]: owner for owner in range(len(pool.classes))}
    each = np.full(len(pool), 5.0)
    for at, (owner, node) in enumerate(zip(pool.owner.tolist(), pool.nodes, strict=True)):
        if node == 1:
            each[at] = 1.0 if owner == names[(0,)] else 20.0
    assert finish(pool, each, compiled=compiled) == [[15.0, 25.0, 5.0, 10.0]]
    # A memory for two NPUs each: 0 at 1 to 6 and 1 at 20 to 25; 2 and 3 as before.
    nodes = compile_program(traces, {}, cluster(MemoryKind.PER_NODE))
    each = np.where(np.array(nodes.nodes) == 1, 1.0, 5.0)
    ends = replay_population(nodes, each[:, None], compiled=compiled).classes[nodes.npus, 0]
    assert ends.tolist() == [6.0, 11.0, 5.0, 10.0]


def test_who_waits_for_ever_is_named(*, compiled: bool) -> None:
    program = compile_program([[reduces(1, group="a")], [computes(1)]], {"a": (0, 1)}, 2)
    with pytest.raises(InputError, match=r"waits for ever in .* of group 'a': NPU 1 does not come to it"):
        finish(program, [1.0, 1.0], compiled=compiled)
    other = compile_program([[reduces(1)], [reduces(1, size=64)]], {}, 2)
    with pytest.raises(InputError, match="where another NPU of all NPUs runs another"):
        finish(other, [1.0, 1.0], compiled=compiled)
    cycle = compile_program([
        [receives(1, 1, target=0), sends(2, 1, 1)], [receives(1, 0), sends(2, 0, 1, source=1)],
    ], {}, 2)  # fmt: skip
    with pytest.raises(InputError, match="waits for ever for a message of NPU 1"):
        finish(cycle, [1.0] * len(cycle), compiled=compiled)


def test_programs_as_arrays(*, compiled: bool) -> None:  # noqa: ARG001 - both ways run these
    program = compile_program([[computes(1), sends(2, 1, 1)], [receives(1, 0), reduces(5, group="a")],
                               [reduces(5, group="a")]], {"a": (1, 2)}, 3)  # fmt: skip
    found = arrays_of_program(program)
    # Operations: compute, send; receive, reduce; reduce. What waits for nothing waits for the start, which is the last.
    assert found.waits.tolist() == [1, 1, 1, 1, 1]
    assert (found.first_successor.tolist(), found.successors.tolist()) == ([0, 1, 1, 1, 1, 1, 5], [1, 0, 2, 3, 4])
    assert found.place.tolist() == [0, 0, -1, 0, 0]
    assert found.is_collective.tolist() == [False, False, False, True, True]
    assert (found.communicator.tolist(), found.roles.tolist()) == ([-1, -1, -1, 0, 0], [2])
    # The links of classes 1 and 2 are slots 3 + 2 and 6 + 2.
    assert found.role_slot.tolist() == [[5, 8]]
    assert (found.receive.tolist(), found.receives.tolist()) == ([-1, 0, 0, -1, -1], [2])
