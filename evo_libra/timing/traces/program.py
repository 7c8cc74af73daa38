"""Traces of all NPUs as one program of the classes of NPUs that do the same."""

from __future__ import annotations

from dataclasses import dataclass

from evo_libra.arrays import IntArray
from evo_libra.collective import Collective
from evo_libra.errors import Mistake
from evo_libra.timing.traces.operations import Operation, Use, mistake_in


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a party runs: a collective of some bytes."""

    collective: Collective
    size: int

    def __str__(self) -> str:
        return f"{self.collective.value} of {self.size} bytes"


@dataclass(frozen=True)
class Party:
    """NPUs that run collectives together; of all that are the same to their classes, one.

    Attributes
    ----------
    use : the group and the dimensions.
    members : NPUs, in the order of their ring.
    roles : class of each role: members of a class that know the party by the same number have the same role.
    seats : role of each member; -1 for one whose trace has no collective of the party.
    """

    use: Use
    members: tuple[int, ...]
    roles: tuple[int, ...]
    seats: tuple[int, ...]

    @property
    def absent(self) -> tuple[int, ...]:
        """Members whose traces have no collective of the party."""
        return tuple(npu for npu, role in zip(self.members, self.seats, strict=True) if role < 0)

    def __str__(self) -> str:
        if self.use.group:
            return f"group '{self.use.group}'"
        return "all NPUs" if not self.use.dimensions else f"dimensions {', '.join(map(str, self.use.dimensions))}"


@dataclass(frozen=True, eq=False)
class Program:
    """What all NPUs do, every class of them once.

    Attributes
    ----------
    classes : NPUs of each class; its first one stands for it.
    npus : (N,) class of each NPU.
    operations : class after class, in the order of the ids of their nodes; o of them.
    nodes, names : (o,) ids and names in the traces of the NPUs that stand for their classes.
    owner : (o,) class.
    slot : (o,) what the operation takes; -1 for a receive. A class has a slot of each resource, and one for each
        operation that takes time but no resource.
    slots : (s,) class of each slot, ascending.
    waits : (o,) operations of its own class that it waits for.
    first_successor, successors : (o + 1,) and operations that wait for each.
    party, role : (o,) of a collective; else -1.
    parties : see there.
    exchange : (o,) what a collective is; else -1.
    exchanges : see there.
    channel : (o,) of a message; else -1. Messages of a channel are told apart by their order alone.
    peer : (o,) NPU to or from which the NPU that stands for the class has a message; else -1.
    server : (o,) memory that classes share; else -1.
    """

    classes: tuple[tuple[int, ...], ...]
    npus: IntArray
    operations: tuple[Operation, ...]
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    owner: IntArray
    slot: IntArray
    slots: IntArray
    waits: IntArray
    first_successor: IntArray
    successors: IntArray
    party: IntArray
    role: IntArray
    parties: tuple[Party, ...]
    exchange: IntArray
    exchanges: tuple[Exchange, ...]
    channel: IntArray
    peer: IntArray
    server: IntArray

    def __len__(self) -> int:
        return len(self.operations)

    def mistake(self, operation: int, message: str) -> Mistake:
        """Return a mistake in the node of an operation."""
        return mistake_in(self.classes[self.owner[operation]][0], self.nodes[operation], message)
