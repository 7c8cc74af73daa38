"""A program as plain arrays, for executions of a whole population at once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.errors import InputError
from evo_libra.timing.traces.operations import MESSAGES, Action
from evo_libra.timing.traces.program import TraceProgram


@dataclass(frozen=True, eq=False)
class ProgramArrays:
    """What an execution needs to know of o operations, s slots, r receives, p communicators; -1 where there is none.

    Attributes
    ----------
    program : what it was made of.
    slot, owner, server, exchange : (o,) as in the program.
    waits : (o,) how many operations each waits for; those that wait for none wait for the start.
    first_successor, successors : (o + 2,) and the operations that wait for each; number o is the start.
    place : (o,) of each operation among those of its slot.
    on_slot : (s, most) operations of each slot, in the order of their ids.
    slots : (s,) class of each slot.
    is_collective : (o,) whether it is one.
    communicator : (o,) of a collective of several roles.
    roles : (p,) how many must come before a communicator begins; one more than there are where a member never comes.
    role_slot : (p, most) slot of each role.
    receive : (o,) the number of a receive; of a send, that of the receive of its message.
    receives : (r,) operation of each receive.
    """

    program: TraceProgram
    slot: IntArray
    owner: IntArray
    server: IntArray
    exchange: IntArray
    waits: IntArray
    first_successor: IntArray
    successors: IntArray
    place: IntArray
    on_slot: IntArray
    slots: IntArray
    is_collective: BoolArray
    communicator: IntArray
    roles: IntArray
    role_slot: IntArray
    receive: IntArray
    receives: IntArray


@lru_cache(maxsize=32)
def arrays_of_program(program: TraceProgram) -> ProgramArrays:
    """Return a program as arrays; those of the last few programs are kept.

    Raises
    ------
    InputError : messages with the same ends, tag and size have no order, and so it is open which receive gets which.
    """
    actions = [operation.action for operation in program.operations]
    place = np.full(len(program), -1, dtype=np.int64)
    on_slot = [np.flatnonzero(program.slot == s) for s in range(len(program.slots))]
    for row in on_slot:
        place[row] = np.arange(len(row))
    alone = np.array(
        [len(communicator.roles) == 1 and not communicator.absent for communicator in program.communicators],
        dtype=np.bool_,
    )
    communicator = program.communicator.copy()
    communicator[communicator >= 0] = np.where(
        alone[communicator[communicator >= 0]], -1, communicator[communicator >= 0]
    )
    first_slot = np.searchsorted(program.slots, np.arange(len(program.classes)))
    receive, receives = _receives(program)
    roots = np.flatnonzero(program.waits == 0)
    return ProgramArrays(
        program=program,
        slot=program.slot,
        owner=program.owner,
        server=program.server,
        exchange=program.exchange,
        waits=np.maximum(program.waits, 1),
        first_successor=np.append(program.first_successor, len(program.successors) + len(roots)),
        successors=np.append(program.successors, roots),
        place=place,
        on_slot=_padded(on_slot),
        slots=program.slots,
        is_collective=np.array([action is Action.COLLECTIVE for action in actions], dtype=np.bool_),
        communicator=communicator,
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
