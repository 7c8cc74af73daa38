"""Where NPUs meet, and which of them do the same, on clusters of a few NPUs by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from evo_libra.chakra.trace import CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, load_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory, Route
from evo_libra.timing.names import Scheduler
from evo_libra.timing.traces.communicators import (
    Grid,
    Meeting,
    Order,
    Partition,
    Peer,
    _period,
    find_meetings,
    partition,
    peers_of,
)
from evo_libra.timing.traces.compile import compile_program, scripts_of
from evo_libra.timing.traces.operations import Scope
from evo_libra.timing.traces.process_groups import GroupShape, ProcessGroups, group_shape

AR, AG = Collective.ALL_REDUCE, Collective.ALL_GATHER


def machine(*dimensions: tuple[int, int], algorithm: str = "ring", memory: MemoryKind = MemoryKind.POOL,
            scheduler: Scheduler = Scheduler.BASELINE) -> Machine:  # fmt: skip
    """Return a cluster of blocks and sizes; two NPUs are a node."""
    links = [Link(np.array([block]), np.array([npus]), np.array([1e9]), np.array([10.0])) for block, npus in dimensions]
    rows = [Implementation.read(algorithm)] * len(links)
    system = System(dict.fromkeys(Collective, rows), 1, 1, shrinking=True, overheads=Overheads(0.0, np.inf),
                    scheduler=scheduler)  # fmt: skip
    return Machine(links, system, ComputeModel(), RemoteMemory(memory, 40.0, 1.0, 2))


IDLE = [compute_node(99, "", duration=1)]
RING_OF_4, GRID = machine((RING, 4)), machine((RING, 2), (SWITCH, 2))


def reduces(number: int, group: str = "", kind: CollectiveType = CollectiveType.ALL_REDUCE) -> Node:
    return collective_node(number, "all", kind, 100, group=group)


def messages(*ends: tuple[int, int, int]) -> list[list[Node]]:
    """Return the traces of 4 NPUs with messages of source, target and bytes."""
    traces: list[list[Node]] = [[*IDLE] for _ in range(4)]
    for number, (source, target, size) in enumerate(ends):
        traces[source].append(send_node(number, "", source=source, destination=target, size=size, tag=0))
        traces[target].append(receive_node(number, "", source=source, destination=target, size=size, tag=0))
    return traces


def meetings(traces: Sequence[Sequence[Node]], groups: dict[str, tuple[int, ...]], on: Machine | None = None) -> object:
    some = ProcessGroups(4, groups, on)
    return find_meetings(scripts_of(traces, some), some)


def test_members_of_communicators_and_the_numbers_that_they_know_them_by() -> None:
    groups = {"a": (0, 1), "b": (3, 2)}
    first, second = [reduces(1, "a"), reduces(2)], [reduces(1), reduces(2, "b")]
    found = meetings([first, first, second, second], groups)
    assert found.scopes == [Scope("a", None), Scope("", None), Scope("b", None)]
    assert found.members == [(0, 1), (0, 1, 2, 3), (3, 2)]
    assert found.communicator_of == [[0, 1], [0, 1], [1, 2], [1, 2]]
    # NPUs 0 and 1 know all NPUs by 1, NPUs 2 and 3 by 0. A group is in the order of its ring.
    assert [one.seats for one in found.meetings] == [
        ((0, 0), (1, 0)), ((0, 1), (1, 1), (2, 0), (3, 0)), ((3, 1), (2, 1)),
    ]  # fmt: skip
    # Without a network no link tells members apart.
    assert [(one.order, one.labels[0], one.label) for one in found.meetings] == [(Order.ANY, None, None)] * 3
    assert found.memory_of == [None] * 4


def test_a_member_that_never_comes_has_no_number() -> None:
    found = meetings([[reduces(1, "a")], IDLE, IDLE, IDLE], {"a": (0, 1)})
    assert found.meetings[0].seats == ((0, 0), (1, -1))
    with pytest.raises(InputError, match="trace of NPU 2: node 1: uses communicator group 'a'"):
        meetings([IDLE, IDLE, [reduces(1, "a")], IDLE], {"a": (0, 1)})


def test_rings_have_links_and_other_groups_a_shape() -> None:
    groups = {"a": (0, 1, 2)}
    (ring,) = meetings([[reduces(1, "a")], [reduces(1, "a")], [reduces(1, "a")], IDLE], groups, RING_OF_4).meetings
    # From 0 to 1 to 2, and back over two links.
    assert (ring.order, ring.labels, ring.label) == (Order.RING, (Route(0, 1), Route(0, 1), Route(0, 2)), None)
    direct = machine((FULLY_CONNECTED, 4), algorithm="direct")
    (group,) = meetings([[reduces(1, "a")], [reduces(1, "a")], [reduces(1, "a")], IDLE], groups, direct).meetings
    assert (group.order, group.labels, group.label) == (Order.ANY, (None,) * 3, GroupShape(0, 1, around=False))
    # All NPUs have the dimensions that take part; a single one with a ring is a ring of equals.
    (world,) = meetings([[reduces(1)]] * 4, {}, RING_OF_4).meetings
    assert (world.order, world.labels, world.label) == (Order.RING, (None,) * 4, (0,))
    (both,) = meetings([[reduces(1)]] * 4, {}, GRID).meetings
    assert (both.order, both.label) == (Order.ANY, (0, 1))


def test_memories_that_npus_share() -> None:
    loads = [[load_node(1, "", 60)], IDLE, [load_node(1, "", 60)], [load_node(1, "", 60)]]
    pool = meetings(loads, {}, RING_OF_4)
    # One for all, of those that use it; each place in its line is another one.
    assert pool.memory_of == [0, None, 0, 0]
    assert (pool.meetings[0].order, [npu for npu, _ in pool.meetings[0].seats]) == (Order.LINE, [0, 2, 3])
    nodes = meetings(loads, {}, machine((RING, 4), memory=MemoryKind.PER_NODE))
    assert nodes.memory_of == [0, None, 1, 1]
    assert meetings(loads, {}, machine((RING, 4), memory=MemoryKind.PER_NPU)).memory_of == [None] * 4
    assert meetings(loads, {}).memory_of == [None] * 4
    # A memory comes behind the communicators, by the number behind them.
    mixed = meetings([[reduces(1), load_node(2, "", 60)]] * 4, {}, RING_OF_4)
    assert mixed.memory_of == [1] * 4
    assert mixed.meetings[1].seats == ((0, 1), (1, 1), (2, 1), (3, 1))
    with pytest.raises(InputError, match="trace of NPU 0: node 1: needs remote memory, which the cluster has not"):
        meetings(loads, {}, machine((RING, 4), memory=MemoryKind.NONE))


def test_the_other_ends_of_channels() -> None:
    traces = messages((0, 1, 64), (0, 3, 64), (1, 0, 32))
    groups = ProcessGroups(4, {}, RING_OF_4)
    found = peers_of(scripts_of(traces, groups), RING_OF_4)
    # NPU 0 sends to 1, which receives that first, and to 3, one link the other way; it receives from 1.
    assert found == [
        [Peer(1, 0, (0, 0, Route(0, 1))), Peer(3, 0, (1, 0, Route(0, 1))), Peer(1, 1, (2, 1, Route(0, 1)))],
        [Peer(0, 0, (0, 0, Route(0, 1))), Peer(0, 2, (1, 2, Route(0, 1)))], [],
        [Peer(0, 1, (0, 1, Route(0, 1)))],
    ]  # fmt: skip
    assert peers_of(scripts_of(traces, ProcessGroups(4, {})), None)[0][0] == Peer(1, 0, (0, 0, None))
    assert peers_of(scripts_of([[reduces(1)]], groups), RING_OF_4) == [[], [], [], []]
    # What nobody receives has no number there.
    lonely = [messages((0, 1, 64))[0], IDLE, IDLE, IDLE]
    assert peers_of(scripts_of(lonely, groups), RING_OF_4) == [[Peer(1, -1, (0, -1, Route(0, 1)))], [], [], []]


def test_messages_that_nobody_sends_or_that_go_nowhere() -> None:
    groups = ProcessGroups(4, {}, RING_OF_4)
    receives = [receive_node(number, "", source=0, destination=1, size=64, tag=0) for number in (5, 6)]
    twice = [messages((0, 1, 64))[0], receives, IDLE, IDLE]
    # Of two receives of one message, the second one waits for ever.
    with pytest.raises(InputError, match=r"NPU 1: node 6: receives from NPU 0 of 64 bytes with tag 0; which does not"):
        peers_of(scripts_of(twice, groups), RING_OF_4)
    beyond = [[send_node(3, "", source=0, destination=4, size=64, tag=7)], IDLE, IDLE, IDLE]
    with pytest.raises(InputError, match=r"node 3: a message to NPU 4 of 64 bytes with tag 7; there are 4 NPUs"):
        peers_of(scripts_of(beyond, groups), RING_OF_4)


@pytest.mark.parametrize(("rows", "expected"), [
    ("aaaa", 1), ("abab", 2), ("abc", 3), ("abcabc", 3), ("aab", 3), ("a", 1), ("abababa", 7), ("aabaab", 3),
    ("abaaba", 3), ("aabaaabaa", 9), ("aabaabaab", 3),
])  # fmt: skip
def test_after_how_many_seats_a_ring_repeats(rows: str, expected: int) -> None:
    assert _period(rows) == expected


def test_what_meetings_have_in_common() -> None:
    seats, labels = ((0, 0), (1, 0), (2, 0), (3, 0)), (None,) * 4

    def signature(order: Order, *colours: int) -> tuple[object, list[int]]:
        key, places = Meeting(order, seats, labels, "x").signature(colours, {})
        return key, list(places)

    both = frozenset({(0, 0, None), (1, 0, None)})
    assert signature(Order.ANY, 0, 1, 0, 1) == ((Order.ANY, "x", 4, both), [0, 0, 0, 0])
    assert signature(Order.ANY, 0, 1, 0, 1) == signature(Order.ANY, 1, 0, 0, 1)
    assert signature(Order.RING, 0, 1, 0, 1) == ((Order.RING, "x", 4, ((0, 0, None), (1, 0, None))), [0, 1, 0, 1])
    assert signature(Order.LINE, 0, 0, 0, 0) == ((Order.LINE, "x", 4, ((0, 0, None),) * 4), [0, 1, 2, 3])


def test_members_of_a_grid_are_told_apart_by_what_they_see() -> None:
    """A straggler in a corner of 4 x 2: places at two distances around a ring, or by the bits of pairs, are others."""

    def places(colours: str, sizes: tuple[int, ...], *paired: tuple[bool, ...]) -> list[int]:
        seats = tuple((npu, 0) for npu in range(len(colours)))
        meeting = Meeting(Order.GRID, seats, (None,) * len(seats), grid=Grid(sizes, paired))
        _, numbers = meeting.signature([*map(ord, colours)], {})
        return [list(dict.fromkeys(numbers)).index(number) for number in numbers]

    around = (False, False)
    assert places("aaaaaaaa", (4, 2), around) == [0] * 8
    assert places("baaaaaaa", (4, 2), around) == [*range(8)]
    assert places("baabaaba"[:4], (4,), (False,)) == [0, 1, 2, 3]
    assert places("abab", (4,), (False,)) == [0, 1, 0, 1]
    assert places("abba", (4,), (False,)) == [0, 1, 2, 3]
    # Places 0 and 3 differ in both bits, and so do 1 and 2: pairs that exchange do not tell them apart.
    assert places("abba", (4,), (True,)) == [0, 1, 1, 0]
    assert places("abba", (4,), (True,), (False,)) == [0, 1, 2, 3]


def test_npus_that_do_the_same() -> None:
    ring = Meeting(Order.RING, ((0, 0), (1, 0), (2, 0), (3, 0)), (None,) * 4)
    none: list[list[tuple[int, object]]] = [[], [], [], []]
    # All say the same around a ring. Where every second one says something else, there are two classes.
    assert partition("aaaa", [ring], none) == Partition((0, 0, 0, 0), (0,))
    assert partition("abab", [ring], none) == Partition((0, 1, 0, 1), (0,))
    # One that differs tells all apart by their places; in a group without an order only itself.
    assert partition("baaa", [ring], none) == Partition((0, 1, 2, 3), (0,))
    group = Meeting(Order.ANY, ring.seats, ring.labels)
    assert partition("baaa", [group], none) == Partition((0, 1, 1, 1), (0,))
    line = Meeting(Order.LINE, ring.seats, ring.labels)
    assert partition("aaaa", [line], none) == Partition((0, 1, 2, 3), (0,))
    # Who never comes to a meeting is not told apart by it; two pairs are of one kind.
    absent = Meeting(Order.LINE, ((0, -1), (1, -1), (2, 0), (3, 0)), ring.labels)
    assert partition("aaaa", [absent], none) == Partition((0, 0, 1, 2), (0,))
    pairs = [Meeting(Order.ANY, ((a, 0), (b, 0)), (None,) * 2) for a, b in ((0, 1), (2, 3))]
    assert partition("aaaa", pairs, none) == Partition((0, 0, 0, 0), (0, 0))
    assert partition("abaa", pairs, none) == Partition((0, 1, 2, 2), (0, 1))
    # Each sends to the next one: the class of the other end counts, and what tells the channel from others.
    around: list[list[tuple[int, object]]] = [[((npu + 1) % 4, "link")] for npu in range(4)]
    assert partition("aaaa", [], around) == Partition((0, 0, 0, 0), ())
    assert partition("aaab", [], around).colours == (0, 1, 2, 3)
    around[3] = [(0, "longer")]
    assert partition("aaaa", [], around).colours == (0, 1, 2, 3)


def test_meetings_are_told_apart_by_their_numbers() -> None:
    # NPU 0 knows pair (0, 1) by 0 and pair (0, 2) by 1, the others know theirs by 0.
    pairs = [Meeting(Order.ANY, ((0, n), (n + 1, 0)), (None,) * 2) for n in (0, 1)]
    found = partition("baa", pairs, [[], [], []])
    assert found == Partition((0, 1, 2), (0, 1))


def test_dimensions_of_collectives() -> None:
    groups = ProcessGroups(4, {"a": (0, 1), "all": (0, 1, 2, 3), "one": (2,)}, GRID)
    assert groups.dimensions("", AR, None) == (0, 1)
    assert groups.dimensions("", AR, (True, False)) == (0,)
    assert groups.dimensions("all", AR, (True, False)) == (0, 1)
    assert groups.dimensions("a", AR, None) is None
    for group, involved in (("one", None), ("", (False, False))):
        with pytest.raises(ValueError, match="of an NPU with itself"):
            groups.dimensions(group, AR, involved)
    with pytest.raises(ValueError, match="an involved_dim of 1 dimensions; the network has 2"):
        groups.dimensions("", AR, (True,))
    five = ProcessGroups(32, {}, machine(*[(RING, 2)] * 5))
    with pytest.raises(ValueError, match="ASTRA-sim uses 4 dimensions; the network has 5"):
        five.dimensions("", AR, None)
    assert five.dimensions("", AR, (True,) * 5) == (0, 1, 2, 3, 4)
    four = ProcessGroups(16, {}, machine(*[(RING, 2)] * 4))
    assert four.dimensions("", AR, None) == (0, 1, 2, 3)
    # A dimension of one NPU takes no part.
    assert ProcessGroups(2, {}, machine((RING, 1), (RING, 2))).dimensions("", AR, None) == (1,)
    bare = ProcessGroups(4, {"all": (0, 1, 2, 3)})
    assert bare.dimensions("", AR, None) is bare.dimensions("all", AR, (True,)) is None
    with pytest.raises(ValueError, match="involved_dim can only be read with a known network"):
        bare.dimensions("", AR, (True,))


def test_npus_that_differ_in_some_dimensions_only() -> None:
    # 2 x 3 x 2 NPUs, numbered with the first dimension fastest.
    groups = ProcessGroups(12, {}, machine((RING, 2), (RING, 3), (SWITCH, 2)))
    assert groups.members(Scope("", (0,)), 5) == (4, 5)
    assert groups.members(Scope("", (1,)), 9) == (7, 9, 11)
    assert groups.members(Scope("", (2,)), 9) == (3, 9)
    assert groups.members(Scope("", (0, 2)), 5) == (4, 5, 10, 11)
    assert groups.members(Scope("", (0, 1, 2)), 5) == tuple(range(12))
    assert groups.members(Scope("", None), 5) == tuple(range(12))


@pytest.mark.parametrize(("where", "scope", "expected"), [
    (RING_OF_4, Scope("", (0,)), True), (RING_OF_4, Scope("a", None), True), (GRID, Scope("", (0,)), True),
    (GRID, Scope("", (0, 1)), False), (GRID, Scope("a", None), True),
    (machine((RING, 4), algorithm="direct"), Scope("", (0,)), False),
    (machine((RING, 4), algorithm="direct"), Scope("a", None), False),
    # Several algorithms in the list make a group of some NPUs a ring, whatever they are.
    (machine((RING, 2), (RING, 2), algorithm="direct"), Scope("a", None), True),
    (machine((RING, 4), scheduler=Scheduler.ROUND_ROBIN), Scope("", (0,)), False),
])  # fmt: skip
def test_collectives_that_are_rings(where: Machine, scope: Scope, *, expected: bool) -> None:
    assert ProcessGroups(4, {"a": (0, 1)}, where).is_ring(scope, AR) == expected
    assert not ProcessGroups(4, {"a": (0, 1)}).is_ring(scope, AR)


def test_how_members_lie_to_each_other() -> None:
    eight = machine((RING, 8))
    # Every second one of 8 lies around the ring, two links apart, and so do two opposite ones, in whatever order.
    assert group_shape((0, 2, 4, 6), eight) == GroupShape(0, 2, around=True)
    assert group_shape((6, 4, 2, 0), eight) == GroupShape(0, 2, around=True)
    assert group_shape((1, 4), eight) == GroupShape(0, 3, around=False)
    for uneven in ((0, 1, 2), (0, 2, 5), (0, 1, 4, 5)):
        with pytest.raises(ValueError, match="links that differ between the members"):
            group_shape(uneven, eight)
    switch = machine((RING, 2), (SWITCH, 4))
    assert group_shape((0, 2, 6), switch) == GroupShape(1, 2, around=False)
    assert group_shape((0, 1), switch) == GroupShape(0, 1, around=False)
    with pytest.raises(ValueError, match="links that differ"):
        group_shape((0, 1, 2, 3), switch)


def test_groups_have_npus_that_are_there_and_none_twice() -> None:
    for members, words in (((0, 4), "has NPU 4; there are 4 NPUs"), ((-1, 0), "has NPU -1"), ((), "at least one"),
                           ((1, 1), "none twice")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            ProcessGroups(4, {"a": members})


def test_a_program_has_every_class_once() -> None:
    first, second = [compute_node(1, "x", duration=1), reduces(2, "a")], [reduces(2, "b")]
    program = compile_program([first, first, second, second], {"a": (0, 1), "b": (2, 3)}, 4)
    assert program.classes == ((0, 1), (2, 3))
    assert (program.npus.tolist(), program.owner.tolist()) == ([0, 0, 1, 1], [0, 0, 1])
    assert (program.nodes, program.names) == ((1, 2, 2), ("x", "all", "all"))
    # Three slots for each class: processor, compute units, links; computing takes the second, communication the third.
    assert (program.slot.tolist(), program.slots.tolist()) == ([1, 2, 5], [0, 0, 0, 1, 1, 1])
    assert (program.communicator.tolist(), program.role.tolist()) == ([-1, 0, 1], [-1, 0, 0])
    assert program.exchange.tolist() == [-1, 0, 0]
    assert [one.seats for one in program.communicators] == [(0, 0), (0, 0)]
    assert (program.waits.tolist(), program.successors.tolist()) == ([0, 0, 0], [])
