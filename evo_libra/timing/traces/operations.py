"""Operations of a trace: what each node takes, how long, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Protocol

from evo_libra.chakra.check import check_nodes, graph_of, running_order
from evo_libra.chakra.trace import CollectiveType, Kind, Node, Value
from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake

_MICROSECOND = 1000
_KEPT = "ASTRA-sim keeps the first one for all of a group"
_COLLECTIVES = {
    CollectiveType.ALL_REDUCE: Collective.ALL_REDUCE,
    CollectiveType.ALL_GATHER: Collective.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER: Collective.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL: Collective.ALL_TO_ALL,
}


class Resource(IntEnum):
    """Resource of an operation; an NPU runs one operation on each at a time, but any number that take nothing."""

    CPU = 0
    COMPUTE = 1
    COMMUNICATION = 2
    NOTHING = 3


class Action(Enum):
    """Action of an operation, as far as its time depends on it."""

    REPLAY = "a replay of its recorded time"
    COMPUTE = "a computation"
    MEMORY = "a transfer of remote memory"
    COLLECTIVE = "a collective"
    SEND = "a send"
    RECEIVE = "a receive"


MESSAGES = (Action.SEND, Action.RECEIVE)


@dataclass(frozen=True, slots=True)
class TraceOperation:
    """One operation, without anything that tells its NPU from others that do the same.

    It waits for places, ascending; its recorded duration is in ns, its work in FLOP, its size in bytes of a tensor, a
    message or a collective, each -1 where it has none. The number is that of the trace's `Scope` or `Channel`, or -1.
    The algorithm is the user's own of a collective.
    """

    action: Action
    resource: Resource
    waits_for: tuple[int, ...]
    duration: int
    work: int = -1
    size: int = -1
    collective: Collective | None = None
    number: int = -1
    algorithm: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """Scope of the collectives of a trace: the name of a communicator group, "" for all NPUs.

    The dimensions are those that take part, where all NPUs do; None where the group decides, or nothing. Collectives of
    users' own algorithms are told apart from others.
    """

    group: str
    dimensions: tuple[int, ...] | None
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Channel:
    """Messages of one trace, to or from a peer, that only their order tells apart."""

    peer: int
    tag: int
    size: int
    sends: bool


@dataclass(frozen=True)
class Script:
    """Operations of one NPU, in the order of the ids of its nodes.

    Operations name scopes and channels by number, in the order in which they are first named; each scope has
    collectives.
    """

    operations: tuple[TraceOperation, ...]
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    scopes: tuple[Scope, ...]
    channels: tuple[Channel, ...]
    collectives: tuple[frozenset[Collective], ...]

    def first(self, action: Action, number: int) -> int:
        """Return the node of the first operation with a scope or a channel."""
        return next(
            node
            for node, operation in zip(self.nodes, self.operations, strict=True)
            if operation.action is action and operation.number == number
        )


class Dimensions(Protocol):
    """Gives the dimensions that a collective uses (see `Scope`), by group, collective and ``involved_dim``.

    A ValueError says why there are none. A collective may be the user's own algorithm.
    """

    def __call__(
        self, group: str, collective: Collective, involved: tuple[bool, ...] | None, *, own: bool = False
    ) -> tuple[int, ...] | None:
        """Return them, ascending; None where the group decides, or nothing."""
        ...


OwnAlgorithm = Callable[[Collective, int], str]
"""Gives the user's own algorithm of a collective, by its kind and the id of its node; "" for none."""


def read_script(
    trace: Sequence[Node], npu: int, dimensions: Dimensions, *, replay: bool = False, own: OwnAlgorithm | None = None
) -> Script:
    """Return what an NPU does.

    Nodes of metadata, and those of no kind, take no time and nothing else: what waits for them waits for what they wait
    for. A broadcast takes its recorded time, as ASTRA-sim has none; recorded times of 0 are 1 ns. In a replay, all
    nodes take their recorded time. An InputError lists all wrong nodes: what `evo_libra.chakra.check.check_nodes`
    finds; collectives that ASTRA-sim does not have; communication on the CPU; messages of another NPU or to itself.
    """
    check_nodes(trace, _file(npu))
    reader = NodeReader(npu, dimensions, replay=replay, own=own)
    order = sorted((node for node in trace if not reader.is_idle(node)), key=lambda node: node.id)
    waits = _waits([*trace], {node.id: place for place, node in enumerate(order)})
    operations = tuple(reader.read(node, waits[node.id]) for node in order)
    if reader.mistakes:
        raise InputError(reader.mistakes)
    nodes, names = tuple(node.id for node in order), tuple(node.name for node in order)
    collectives = tuple(map(frozenset, reader.scopes.values()))
    return Script(
        operations=operations, nodes=nodes, names=names, scopes=tuple(reader.scopes), channels=tuple(reader.channels),
        collectives=collectives,
    )  # fmt: skip


def mistake_in(npu: int, node: int, message: str) -> Mistake:
    """Return a mistake in a node of the trace of an NPU."""
    return Mistake(message, _file(npu), key=f"node {node}")


def _file(npu: int) -> str:
    return f"trace of NPU {npu}"


def _waits(trace: Sequence[Node], place: Mapping[int, int]) -> Mapping[int, tuple[int, ...]]:
    """Return the places that each node waits for, by id; nodes that have no place are seen through."""
    found: dict[int, tuple[int, ...]] = {}
    for at in running_order(graph_of(trace)).tolist():
        node, waits = trace[at], set[int]()
        for other in (*node.control, *node.data):
            waits.update((place[other],) if other in place else found[other])
        found[node.id] = tuple(sorted(waits))
    return found


class NodeReader:
    """Reads the nodes of one NPU one by one, and collects what they name and what is wrong with them."""

    def __init__(self, npu: int, dimensions: Dimensions, *, replay: bool, own: OwnAlgorithm | None = None) -> None:
        self.npu, self.dimensions, self.replay, self.own = npu, dimensions, replay, own
        self.kept = dict[tuple[str, Collective], str]()
        self.scopes, self.channels = dict[Scope, set[Collective]](), dict[Channel, int]()
        self.mistakes: list[Mistake] = []

    def is_idle(self, node: Node) -> bool:
        """Tell whether a node is no operation."""
        return node.kind is Kind.METADATA and not self.replay

    def read(self, node: Node, waits: tuple[int, ...]) -> TraceOperation:
        """Return the operation of a node that waits for some places."""
        on_cpu = bool(_integer(node, "is_cpu_op", 0))
        recorded = TraceOperation(
            Action.REPLAY, _resource(node, on_cpu=on_cpu), waits, max(node.duration * _MICROSECOND, 1)
        )
        if self.replay or (on_cpu and node.kind is Kind.COMP):
            return recorded
        size = _integer(node, "tensor_size", -1)
        if node.kind is Kind.COMP:
            return replace(recorded, action=Action.COMPUTE, work=_integer(node, "num_ops", -1), size=size)
        if node.kind in (Kind.MEM_LOAD, Kind.MEM_STORE):
            return replace(recorded, action=Action.MEMORY, size=self._needed(node, "tensor_size", size))
        if on_cpu:
            self._refuse(node, "is communication on the CPU; is_cpu_op must be false")
        return self._collective(node, recorded) if node.kind is Kind.COMM_COLL else self._message(node, recorded)

    def _collective(self, node: Node, recorded: TraceOperation) -> TraceOperation:
        kind = CollectiveType(_integer(node, "comm_type", 0))
        if kind is CollectiveType.BROADCAST:
            return recorded
        if kind not in _COLLECTIVES:
            known = ", ".join(kind.name for kind in (*_COLLECTIVES, CollectiveType.BROADCAST))
            self._refuse(node, f"is a {kind.name}, which ASTRA-sim does not have; it has {known}")
            return recorded
        name, involved = (_value(node, key) for key in ("pg_name", "involved_dim"))
        group, collective = name if isinstance(name, str) and name != "0" else "", _COLLECTIVES[kind]
        mask = tuple(bool(flag) for flag in involved) if isinstance(involved, tuple) else None
        algorithm = self.own(collective, node.id) if self.own is not None else ""
        if group and self.kept.setdefault((group, collective), algorithm) != algorithm:
            self._refuse(
                node, f"{collective.called} of group '{group}' has another algorithm than those before it; {_KEPT}"
            )
        try:
            dimensions = self.dimensions(group, collective, mask, own=bool(algorithm))
        except ValueError as error:
            self._refuse(node, str(error))
            return recorded
        scope = Scope(group, dimensions, bool(algorithm))
        self.scopes.setdefault(scope, set()).add(collective)
        size, number = _integer(node, "comm_size", 0), [*self.scopes].index(scope)
        return replace(
            recorded, action=Action.COLLECTIVE, size=size, collective=collective, number=number, algorithm=algorithm
        )

    def _message(self, node: Node, recorded: TraceOperation) -> TraceOperation:
        sends = node.kind is Kind.COMM_SEND
        own, other = ("comm_src", "comm_dst") if sends else ("comm_dst", "comm_src")
        size, peer = _integer(node, "comm_size", 0), _integer(node, other, 0)
        if _integer(node, own, self.npu) != self.npu:
            self._refuse(node, f"{own} is {_integer(node, own, 0)}, but this is the trace of NPU {self.npu}")
        if peer == self.npu:
            self._refuse(node, f"{other} is {peer}, the NPU itself")
        channel = Channel(peer, _integer(node, "comm_tag", 0), size, sends)
        number = self.channels.setdefault(channel, len(self.channels))
        return replace(recorded, action=Action.SEND if sends else Action.RECEIVE, size=size, number=number)

    def _needed(self, node: Node, name: str, found: int) -> int:
        if found < 0:
            self._refuse(node, f"has no {name}; a {node.kind.name} node needs it")
        return found

    def _refuse(self, node: Node, message: str) -> None:
        self.mistakes.append(mistake_in(self.npu, node.id, message))


def _resource(node: Node, *, on_cpu: bool) -> Resource:
    """Return what a node takes; memory has the resource of communication, and so has what is left of kinds."""
    if on_cpu:
        return Resource.CPU
    return {Kind.COMP: Resource.COMPUTE, Kind.COMM_RECV: Resource.NOTHING}.get(node.kind, Resource.COMMUNICATION)


def _value(node: Node, name: str) -> Value | None:
    found = node.attributes.get(name)
    return found.value if found is not None and found.type else None


def _integer(node: Node, name: str, default: int) -> int:
    found = _value(node, name)
    return found if isinstance(found, int) else default
