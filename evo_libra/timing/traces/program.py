"""Traces of all NPUs as one program of the classes of NPUs that do the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.collective import SizedCollective
from evo_libra.errors import InputError, Mistake
from evo_libra.timing.traces.operations import MESSAGES, Action, Scope, TraceOperation, mistake_in


@dataclass(frozen=True)
class Communicator:
    """NPUs that run collectives together, in the order of their ring; of all that are the same to their classes, one.

    A role is a class: members of a class that know the communicator by the same number have the same one. Seats are the
    roles of the members; -1 for one whose trace has no collective of the communicator.
    """

    scope: Scope
    members: tuple[int, ...]
    roles: tuple[int, ...]
    seats: tuple[int, ...]

    @property
    def absent(self) -> tuple[int, ...]:
        """Members whose traces have no collective of the communicator."""
        return tuple(npu for npu, role in zip(self.members, self.seats, strict=True) if role < 0)

    def __str__(self) -> str:
        if self.scope.group:
            return f"group '{self.scope.group}'"
        return "all NPUs" if not self.scope.dimensions else f"dimensions {', '.join(map(str, self.scope.dimensions))}"


@dataclass(frozen=True, eq=False)
class TraceProgram:
    """Operations of all NPUs, every class of NPUs once.

    Attributes
    ----------
    classes : NPUs of each class; its first one stands for it; `npus` : (N,) class of each NPU.
    operations : class after class, in the order of the ids of their nodes; o of them.
    nodes, names : (o,) ids and names in the traces of the NPUs that stand for their classes.
    owner : (o,) class.
    slot : (o,) what the operation takes; -1 for a receive. A class has a slot of each resource, and one for each
        operation that takes time but no resource.
    slots : (s,) class of each slot, ascending.
    waits : (o,) operations of its own class that it waits for.
    first_successor, successors : (o + 1,) and operations that wait for each.
    communicator, role, exchange : (o,) of a collective; else -1.
    channel : (o,) of a message; else -1. Messages of a channel are distinguished by their order alone.
    peer : (o,) NPU to or from which the NPU that stands for the class has a message; else -1.
    server : (o,) memory that classes share; else -1.
    """

    classes: tuple[tuple[int, ...], ...]
    npus: IntArray
    operations: tuple[TraceOperation, ...]
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    owner: IntArray
    slot: IntArray
    slots: IntArray
    waits: IntArray
    first_successor: IntArray
    successors: IntArray
    communicator: IntArray
    role: IntArray
    communicators: tuple[Communicator, ...]
    exchange: IntArray
    exchanges: tuple[SizedCollective, ...]
    channel: IntArray
    peer: IntArray
    server: IntArray

    def __len__(self) -> int:
        return len(self.operations)

    def mistake(self, operation: int, message: str) -> Mistake:
        """Return a mistake in the node of an operation."""
        return mistake_in(self.classes[self.owner[operation]][0], self.nodes[operation], message)


def disagreement(program: TraceProgram, operations: Sequence[int]) -> InputError:
    """Return the error of members of a communicator that came to different collectives; it names the first two."""
    kinds = program.exchange[list(operations)]
    two = operations[0], operations[int((kinds != kinds[0]).argmax())]
    name = _name(program, program.communicators[program.communicator[two[0]]])
    return InputError([
        program.mistake(at, f"runs {program.exchanges[program.exchange[at]]} where another NPU of {name} runs another")
        for at in two
    ])  # fmt: skip


def waiting_for_ever(program: TraceProgram, operations: Sequence[int]) -> InputError:
    """Return the error of traces that wait for each other, from the collectives and receives that never end."""
    joined = {(program.communicator[at], program.role[at]) for at in operations}
    mistakes = []
    for at in operations:
        number = program.communicator[at]
        if number < 0:
            mistakes.append(program.mistake(at, f"waits for ever for a message of NPU {program.peer[at]}"))
            continue
        communicator, exchange = program.communicators[number], program.exchanges[program.exchange[at]]
        seats = zip(communicator.members, communicator.seats, strict=True)
        missing = next((npu for npu, role in seats if (number, role) not in joined), None)
        why = "messages wait for each other" if missing is None else f"NPU {missing} does not come to it"
        message = f"waits for ever in {exchange} of {_name(program, communicator)}: {why}"
        mistakes.append(program.mistake(at, message))
    return InputError(mistakes)


def _name(program: TraceProgram, communicator: Communicator) -> str:
    every = len(communicator.members) == len(program.npus) and not communicator.scope.group
    return "all NPUs" if every else str(communicator)


@dataclass(frozen=True, eq=False)
class ProgramArrays:
    """A program as plain arrays: o operations, s slots, r receives, p communicators; -1 where there is none.

    Attributes
    ----------
    waits : (o,) how many operations each waits for; those that wait for none wait for the start.
    first_successor, successors : (o + 2,) and the operations that wait for each; number o is the start.
    place : (o,) of each operation among those of its slot.
    on_slot : (s, most) operations of each slot, in the order of their ids.
    is_collective : (o,) whether it is one.
    communicator : (o,) of a collective of several roles.
    roles : (p,) how many must come before a communicator begins; one more than there are where a member never comes.
    role_slot : (p, most) slot of each role.
    receive : (o,) the number of a receive; of a send, that of the receive of its message.
    receives : (r,) operation of each receive.
    """

    program: TraceProgram
    waits: IntArray
    first_successor: IntArray
    successors: IntArray
    place: IntArray
    on_slot: IntArray
    is_collective: BoolArray
    communicator: IntArray
    roles: IntArray
    role_slot: IntArray
    receive: IntArray
    receives: IntArray


@lru_cache(maxsize=32)
def arrays_of_program(program: TraceProgram) -> ProgramArrays:
    """Return a program as arrays; those of the last few programs are kept.

    An InputError says that messages with the same ends, tag and size have no order: it is open which receive gets
    which.
    """
    place = np.full(len(program), -1, dtype=np.int64)
    on_slot = [np.flatnonzero(program.slot == s) for s in range(len(program.slots))]
    for row in on_slot:
        place[row] = np.arange(len(row))
    alone = np.array([len(p.roles) == 1 and not p.absent for p in program.communicators], dtype=np.bool_)
    several = np.array([at >= 0 and not alone[at] for at in program.communicator.tolist()], dtype=np.bool_)
    first_slot = np.searchsorted(program.slots, np.arange(len(program.classes)))
    receive, receives = _receives(program)
    roots = np.flatnonzero(program.waits == 0)
    return ProgramArrays(
        program=program,
        waits=np.maximum(program.waits, 1),
        first_successor=np.append(program.first_successor, len(program.successors) + len(roots)),
        successors=np.append(program.successors, roots),
        place=place,
        on_slot=_padded(on_slot),
        is_collective=np.array([o.action is Action.COLLECTIVE for o in program.operations], dtype=np.bool_),
        communicator=np.where(several, program.communicator, -1),
        roles=np.array([len(p.roles) + bool(p.absent) for p in program.communicators], dtype=np.int64),
        role_slot=_padded([first_slot[list(p.roles)] + 2 for p in program.communicators]),
        receive=receive,
        receives=receives,
    )


def _padded(rows: list[IntArray]) -> IntArray:
    found = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int64)
    for at, row in enumerate(rows):
        found[at, : len(row)] = row
    return found


def _receives(program: TraceProgram) -> tuple[IntArray, IntArray]:
    """Return the number of the receive of each message, and the operation of each receive.

    Of a channel, the first send is for the first receive and so on; what is first must be certain.
    """
    sends, gets = dict[int, list[int]](), dict[int, list[int]]()
    level = _levels(program)
    messages = [at for at, operation in enumerate(program.operations) if operation.action in MESSAGES]
    for at in sorted(messages, key=lambda at: (level[at], at)):
        rows = sends if program.operations[at].action is Action.SEND else gets
        rows.setdefault(int(program.channel[at]), []).append(at)
    mistakes = [
        program.mistake(later, f"is a message like that of node {program.nodes[earlier]}, and either may come first")
        for row in (*sends.values(), *gets.values())
        for earlier, later in pairwise(row)
        if not _comes_first(program, earlier, later)
    ]
    if mistakes:
        raise InputError(mistakes)
    receives = [at for row in gets.values() for at in row]
    found = np.full(len(program), -1, dtype=np.int64)
    found[receives] = np.arange(len(receives))
    for channel, row in gets.items():
        sent = sends[channel][: len(row)]
        found[sent] = found[row]
    return found, np.array(receives, dtype=np.int64)


def _levels(program: TraceProgram) -> list[int]:
    """Return the length of the longest way to each operation from one that waits for nothing."""
    level, left = [0] * len(program), program.waits.tolist()
    queue = deque(at for at, waits in enumerate(left) if not waits)
    while queue:
        at = queue.popleft()
        for other in program.successors[program.first_successor[at] : program.first_successor[at + 1]].tolist():
            level[other] = max(level[other], level[at] + 1)
            left[other] -= 1
            if not left[other]:
                queue.append(other)
    return level


def _comes_first(program: TraceProgram, earlier: int, later: int) -> bool:
    """Tell whether an operation of a class begins before another one whatever the times.

    It does if the other one waits for it; or if it has the lesser id and the other one waits for all that it waits for.
    """
    base = int(np.searchsorted(program.owner, program.owner[earlier]))
    missing = set(program.operations[earlier].waits_for) if earlier < later else {earlier - base}
    seen, queue = set[int](), deque([later - base])
    while missing and queue:
        for other in program.operations[base + queue.popleft()].waits_for:
            if other == earlier - base:
                return True
            if other not in seen:
                seen.add(other)
                missing.discard(other)
                queue.append(other)
    return not missing
