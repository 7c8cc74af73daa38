"""From traces to the script of each NPU, and to the program of their classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.chakra.groups import Groups
from evo_libra.chakra.trace import Node
from evo_libra.collective import SizedCollective
from evo_libra.errors import InputError
from evo_libra.timing.machine import Machine
from evo_libra.timing.traces.communicators import Meetings, Partition, Peer, find_meetings, partition, peers_of
from evo_libra.timing.traces.operations import (
    MESSAGES,
    Action,
    Resource,
    Script,
    TraceOperation,
    read_script,
)
from evo_libra.timing.traces.process_groups import ProcessGroups
from evo_libra.timing.traces.program import Communicator, TraceProgram
from evo_libra.timing.traces.same_shape import NamedScript, NodeNames

Traces = Sequence[Sequence[Node]]
"""One for each NPU, or a single one that all NPUs run."""


def scripts_of(traces: Traces, groups: ProcessGroups) -> list[Script]:
    """Return what each NPU does; errors are those of `read_script`, or that the number of traces is wrong.

    Traces that say the same but for the ranks of their messages and the groups of their collectives, as those of the
    NPUs of a pipeline stage do, are looked through once only.
    """
    if len(traces) not in (1, groups.total):
        total = groups.total
        raise InputError(f"there are {len(traces)} traces for {total} NPUs; one each is needed, or one for all")
    machine = groups.machine
    replay = machine is not None and machine.compute.replay
    own = machine.algorithms.of if machine is not None and machine.algorithms else None
    given = list(traces) if len(traces) > 1 else [traces[0]] * groups.total
    names, scripts = NodeNames(given), list[Script]()
    read: dict[int, Script] = {}
    alike: dict[bytes, NamedScript] = {}
    for npu, trace in enumerate(given):
        if id(trace) not in read or read[id(trace)].channels:  # whose messages name the NPU
            shape, found = names.shape(trace), None
            if shape in alike and own is None:
                found = alike[shape].renamed(trace, npu, names.names(trace))
            if found is None:
                found = read_script(trace, npu, groups.dimensions, replay=replay, own=own)
                alike.setdefault(shape, NamedScript(found, trace, groups.dimensions))
            read[id(trace)] = found
        scripts.append(read[id(trace)])
    return scripts


def compile_program(
    traces: Traces,
    groups: Groups,
    network: Machine | int,
    *,
    apart: bool = False,
    marks: Sequence[Hashable] | None = None,
) -> TraceProgram:
    """Return what all NPUs do as one program, from the nodes of each, or of all of them.

    Classes of NPUs are those of members that begin each collective together, or if they begin it apart, of those that
    have the same places among the others, too; rings always have the latter. NPUs with different marks are of different
    classes.

    The network is a cluster; or just how many NPUs it has, for a program whose times the caller gives: then links and
    algorithms do not tell NPUs apart, remote memory is not shared, and nothing is replayed. An InputError says that the
    number of traces is neither 1 nor that of the NPUs, or that something in a trace cannot run (see `read_script`,
    `peers_of`, `find_meetings` and `ProcessGroups`). That traces wait for each other for ever is only seen when they
    run.
    """
    machine = network if isinstance(network, Machine) else None
    total = network if isinstance(network, int) else int(np.prod(network.npus))
    process_groups = ProcessGroups(total, groups, machine)
    scripts = scripts_of(traces, process_groups)
    peers = peers_of(scripts, machine)
    meetings = find_meetings(scripts, process_groups, apart=apart)
    shapes: Sequence[Hashable] = _numbered([script.operations for script in scripts])
    if marks is not None:
        shapes = list(zip(shapes, marks, strict=True))
    labels = [[(peer.npu, peer.label) for peer in row] for row in peers]
    return _Builder(scripts, peers, meetings, partition(shapes, meetings.meetings, labels)).program()


def _numbered(rows: Sequence[Hashable]) -> list[int]:
    """Return a number for each row, equal for equal rows; what is the same object is compared once only."""
    by_value: dict[Hashable, int] = {}
    by_identity: dict[int, int] = {}
    for row in rows:
        if id(row) not in by_identity:
            by_identity[id(row)] = by_value.setdefault(row, len(by_value))
    return [by_identity[id(row)] for row in rows]


class _Builder:
    """Puts the scripts of the NPUs that stand for their classes behind each other."""

    def __init__(
        self, scripts: Sequence[Script], peers: Sequence[Sequence[Peer]], meetings: Meetings, found: Partition
    ) -> None:
        self.scripts, self.peers, self.meetings, self.found = scripts, peers, meetings, found
        members: list[list[int]] = [[] for _ in range(max(found.colours) + 1)]
        for npu, colour in enumerate(found.colours):
            members[colour].append(npu)
        self.classes = tuple(map(tuple, members))
        self.communicators: list[Communicator] = []
        self.roles: list[dict[tuple[int, int], int]] = []
        self.communicator_of_kind: dict[int, int] = {}
        for number in range(len(meetings.scopes)):
            if found.kinds[number] not in self.communicator_of_kind:
                self.communicator_of_kind[found.kinds[number]] = len(self.communicators)
                self.add_communicator(number)

    def add_communicator(self, number: int) -> None:
        meetings, roles = self.meetings, dict[tuple[int, int], int]()
        seats = []
        for npu, known_by in meetings.meetings[number].seats:
            role = (self.found.colours[npu], known_by)
            seats.append(roles.setdefault(role, len(roles)) if known_by >= 0 else -1)
        scope, members = meetings.scopes[number], meetings.members[number]
        self.communicators.append(Communicator(scope, members, tuple(colour for colour, _ in roles), tuple(seats)))
        self.roles.append(roles)

    def program(self) -> TraceProgram:
        stand_for = [self.scripts[members[0]] for members in self.classes]
        owner = [c for c, script in enumerate(stand_for) for _ in script.operations]
        operations = tuple(o for script in stand_for for o in script.operations)
        slot, slots = _slots(operations, owner, len(stand_for))
        first, successors, waits = _graph(stand_for)
        communicator, role = self.collectives(operations, owner)
        exchange, exchanges = _exchanges(operations)
        channel, peer = self.messages(operations, owner)
        return TraceProgram(
            classes=self.classes,
            npus=_integers(self.found.colours),
            operations=operations,
            nodes=tuple(node for script in stand_for for node in script.nodes),
            names=tuple(name for script in stand_for for name in script.names),
            owner=_integers(owner),
            slot=_integers(slot),
            slots=_integers(slots),
            waits=waits,
            first_successor=first,
            successors=successors,
            communicator=_integers(communicator),
            role=_integers(role),
            communicators=tuple(self.communicators),
            exchange=_integers(exchange),
            exchanges=exchanges,
            channel=_integers(channel),
            peer=_integers(peer),
            server=_integers(self.servers(operations, owner)),
        )

    def collectives(self, operations: Sequence[TraceOperation], owner: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the communicator and the role of each operation."""
        communicator, role = [-1] * len(operations), [-1] * len(operations)
        for at, operation in enumerate(operations):
            if operation.action is Action.COLLECTIVE:
                npu = self.classes[owner[at]][0]
                kind = self.found.kinds[self.meetings.communicator_of[npu][operation.number]]
                communicator[at] = self.communicator_of_kind[kind]
                role[at] = self.roles[communicator[at]][owner[at], operation.number]
        return communicator, role

    def messages(self, operations: Sequence[TraceOperation], owner: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return channel and peer of each operation; a channel is known by who sends, and by its number there."""
        numbers: dict[tuple[int, int], int] = {}
        channel, others = [-1] * len(operations), [-1] * len(operations)
        for at, operation in enumerate(operations):
            if operation.action in MESSAGES:
                peer = self.peers[self.classes[owner[at]][0]][operation.number]
                there = (self.found.colours[peer.npu], peer.number)
                key = there if operation.action is Action.RECEIVE else (owner[at], operation.number)
                channel[at], others[at] = numbers.setdefault(key, len(numbers)), peer.npu
        return channel, others

    def servers(self, operations: Sequence[TraceOperation], owner: Sequence[int]) -> list[int]:
        """Return the memory of each operation, where it is shared."""
        numbers: dict[int, int] = {}
        found = [-1] * len(operations)
        for at, operation in enumerate(operations):
            memory = self.meetings.memory_of[self.classes[owner[at]][0]]
            if operation.action is Action.MEMORY and memory is not None:
                found[at] = numbers.setdefault(self.found.kinds[memory], len(numbers))
        return found


def _slots(operations: Sequence[TraceOperation], owner: Sequence[int], classes: int) -> tuple[list[int], list[int]]:
    """Return the slot of each operation, and the class of each slot."""
    extra = [at for at, o in enumerate(operations) if o.resource is Resource.NOTHING and o.action is Action.REPLAY]
    count = [int(Resource.NOTHING)] * classes
    for at in extra:
        count[owner[at]] += 1
    first = [0, *accumulate(count)]
    taken = [first[c] + Resource.NOTHING for c in range(classes)]
    found = []
    for at, operation in enumerate(operations):
        found.append(first[owner[at]] + operation.resource if operation.resource is not Resource.NOTHING else -1)
        if operation.resource is Resource.NOTHING and operation.action is Action.REPLAY:
            found[at] = taken[owner[at]]
            taken[owner[at]] += 1
    return found, [c for c in range(classes) for _ in range(count[c])]


def _exchanges(operations: Sequence[TraceOperation]) -> tuple[list[int], tuple[SizedCollective, ...]]:
    numbers: dict[SizedCollective, int] = {}
    found = [-1] * len(operations)
    for at, operation in enumerate(operations):
        if operation.action is Action.COLLECTIVE and operation.collective is not None:
            exchange = SizedCollective(operation.collective, operation.size, operation.algorithm)
            found[at] = numbers.setdefault(exchange, len(numbers))
    return found, tuple(numbers)


def _graph(scripts: Sequence[Script]) -> tuple[IntArray, IntArray, IntArray]:
    """Return where the successors of each operation begin, all of them, and what each operation waits for."""
    following: list[list[int]] = []
    waits = []
    for script in scripts:
        base = len(following)
        following += [[] for _ in script.operations]
        for at, operation in enumerate(script.operations):
            waits.append(len(operation.waits_for))
            for other in operation.waits_for:
                following[base + other].append(base + at)
    first = _integers([0, *accumulate(len(row) for row in following)])
    return first, _integers([at for row in following for at in row]), _integers(waits)


def _integers(numbers: Sequence[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)
