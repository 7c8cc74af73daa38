"""Algorithms of collectives that a user wrote as traces, one for each place in a group (ASTRA-sim's custom ones)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evo_libra.chakra.check import graph_of
from evo_libra.chakra.trace import Kind, Node
from evo_libra.collective import Collective

_MICROSECOND = 1000


@dataclass(frozen=True)
class OwnStep:
    """A step of a member: a message to or from a place, with its bytes and tag, or a reduction of some ns.

    The kind is that of a node; successors are the places, among the steps of the member, of those that wait for it.
    """

    kind: Kind
    peer: int
    size: int
    tag: int
    nanoseconds: int
    waits: int
    successors: tuple[int, ...]

    def key(self, source: int, target: int) -> tuple[int, int, int, int]:
        """Return what tells its message between two NPUs from others."""
        return source, target, self.size, self.tag


@dataclass(frozen=True)
class OwnAlgorithm:
    """An algorithm: the steps of the member at each place."""

    name: str
    places: tuple[tuple[OwnStep, ...], ...] = field(repr=False)


@dataclass(frozen=True)
class OwnAlgorithms:
    """Algorithms by name, and the names of those of kinds of collectives, and of nodes, which come first."""

    known: Mapping[str, OwnAlgorithm] = field(default_factory=dict, repr=False)
    of_kind: Mapping[Collective, str] = field(default_factory=dict)
    of_node: Mapping[int, str] = field(default_factory=dict)

    def of(self, collective: Collective, node: int) -> str:
        """Return the name of the algorithm of a collective; "" for one of the system's."""
        return self.of_node.get(node, self.of_kind.get(collective, ""))

    def __bool__(self) -> bool:
        return bool(self.known)


def own_steps(trace: Sequence[Node]) -> tuple[OwnStep, ...]:
    """Return the steps of a checked trace; a ValueError names a node of a kind on which ASTRA-sim never ends."""
    for node in trace:
        if node.kind not in (Kind.COMM_SEND, Kind.COMM_RECV, Kind.COMP):
            raise ValueError(
                f"node {node.id} is a {node.kind.name}; an algorithm has COMM_SEND, COMM_RECV and COMP nodes, and"
                " ASTRA-sim never ends on others"
            )
    graph = graph_of(trace)
    positions, owners = graph.positions().tolist(), graph.owners().tolist()
    following: list[list[int]] = [[] for _ in trace]
    for position, owner in zip(positions, owners, strict=True):
        following[position].append(owner)
    return tuple(
        OwnStep(
            node.kind, peer=_number(node, "comm_dst" if node.kind is Kind.COMM_SEND else "comm_src"),
            size=_number(node, "comm_size"), tag=_number(node, "comm_tag"),
            nanoseconds=max(node.duration * _MICROSECOND, 1), waits=len(node.control) + len(node.data),
            successors=tuple(after),
        )
        for node, after in zip(trace, following, strict=True)
    )  # fmt: skip


def _number(node: Node, name: str) -> int:
    found = node.attributes.get(name)
    return found.value if found is not None and isinstance(found.value, int) else 0
