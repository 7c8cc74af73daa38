"""Traces of all NPUs as one program of the classes of NPUs that do the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evo_libra.arrays import IntArray
from evo_libra.collective import SizedCollective
from evo_libra.errors import InputError, Mistake
from evo_libra.timing.traces.operations import Scope, TraceOperation, mistake_in


@dataclass(frozen=True)
class Communicator:
    """NPUs that run collectives together, in the order of their ring; of all that are the same to their classes, one.

    Attributes
    ----------
    roles : class of each role: members of a class that know the communicator by the same number have the same role.
    seats : role of each member; -1 for one whose trace has no collective of the communicator.
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
    """What all NPUs do, every class of them once.

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
        missing = next(npu for npu, role in seats if (number, role) not in joined)
        message = f"waits for ever in {exchange} of {_name(program, communicator)}: NPU {missing} does not come to it"
        mistakes.append(program.mistake(at, message))
    return InputError(mistakes)


def _name(program: TraceProgram, communicator: Communicator) -> str:
    every = len(communicator.members) == len(program.npus) and not communicator.scope.group
    return "all NPUs" if every else str(communicator)
