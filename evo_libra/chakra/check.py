"""What may be wrong with the nodes of a trace: their attributes, and the graph of their dependencies."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from evo_libra.chakra.graph import Graph, Integers, cycle_in, graph_of, running_order
from evo_libra.chakra.trace import NO_OPERATION, Attribute, CollectiveType, Kind, Node
from evo_libra.errors import Mistake, printable
from evo_libra.files.mistakes import short

MOST_MISTAKES = 20
"""Mistakes listed for one trace: so many in its nodes end the reading; of more in its graph, the number is given."""

_FIRST_COUNT = 1024

_REQUIRED = {
    Kind.COMM_COLL: ("comm_type", "comm_size"),
    Kind.COMM_SEND: ("comm_dst", "comm_tag", "comm_size"),
    Kind.COMM_RECV: ("comm_src", "comm_tag", "comm_size"),
}
_AMOUNTS = ("num_ops", "tensor_size", "comm_size", "comm_src", "comm_dst")
_INTEGERS = (*_AMOUNTS, "comm_type", "comm_tag", "comm_priority")
_INTEGER_TYPES = frozenset(
    ("int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64")
)
_COLLECTIVES = frozenset(kind.value for kind in CollectiveType)
_MOST_SHOWN = 8
# Attributes that are no integers, the types they may have, and how those are called.
_OTHER: Mapping[str, tuple[frozenset[str], str]] = {
    "is_cpu_op": (_INTEGER_TYPES | {"bool"}, "a boolean"),
    "pg_name": (frozenset({"string"}), "text"),
    "involved_dim": (frozenset({"bool_list"}), "a list of booleans"),
}


def mistakes_in(nodes: Iterable[Node], file: str) -> list[Mistake]:
    """Return what is wrong with the nodes of a trace and their dependencies.

    Checked are the attributes that ASTRA-sim reads (`node_mistakes`) and the graph (`graph_mistakes`); what roofline
    times need is the business of whoever computes them.

    Parameters
    ----------
    nodes : of one trace.
    file : what errors call it.
    """
    collected = MistakeList(file)
    graph = graph_of(collected.watch(nodes))
    collected.add_graph(graph, running_order(graph))
    return collected.mistakes()


class MistakeList:
    """Collects the mistakes of a trace, of which the first few are listed."""

    def __init__(self, file: str) -> None:
        self._file, self._found, self._count = file, list[Mistake](), 0
        self._ids, self._counted, self._ended = array("Q"), _FIRST_COUNT, False

    def watch(self, nodes: Iterable[Node]) -> Iterator[Node]:
        """Yield the nodes on, and keep what is wrong with each; end where that becomes too much."""
        for node in nodes:
            for message in node_mistakes(node):
                self._add(node.id, message)
            self._ids.append(node.id)
            yield node
            if self._count >= MOST_MISTAKES or self._repeats():
                self._end(node)
                return

    def _repeats(self) -> bool:
        """Tell whether many nodes have ids of others; looked at whenever the trace has become twice as long."""
        if len(self._ids) < self._counted:
            return False
        self._counted *= 2
        ids = np.sort(np.array(self._ids, dtype=np.uint64))
        return int((ids[1:] == ids[:-1]).sum()) >= MOST_MISTAKES

    def _end(self, last: Node) -> None:
        self._ended = True
        for number, message in _equal_ids(np.array(self._ids, dtype=np.uint64)):
            self._add(number, message)
        self._count = len(self._found)
        ended = Mistake(f"the reading ended at node {last.id}; there may be more mistakes", self._file)
        self._found, self._count = [*self._found, ended], self._count + 1

    def add_graph(self, graph: Graph, order: Integers) -> None:
        """Keep what is wrong with the graph, whose `running_order` is given; nothing where the reading has ended."""
        if self._ended:
            return
        if not len(graph):
            self._count += 1
            self._found.append(Mistake("has no nodes", self._file))
        for number, message in graph_mistakes(graph, order):
            self._add(number, message)

    def _add(self, number: int, message: str) -> None:
        self._count += 1
        if len(self._found) < MOST_MISTAKES:
            self._found.append(Mistake(message, self._file, key=f"node {number}"))

    def mistakes(self) -> list[Mistake]:
        """Return the mistakes so far."""
        more = self._count - len(self._found)
        return [*self._found, Mistake(f"{more} more mistakes like these", self._file)] if more else self._found


def node_mistakes(node: Node) -> Iterator[str]:
    """Yield what is wrong with the attributes of a node, each in a sentence.

    A collective needs comm_type and comm_size, a send comm_dst, comm_tag and comm_size, a receive comm_src, comm_tag
    and comm_size. Attributes that ASTRA-sim reads must have a type that it can convert, known values, and no negative
    sizes or ranks. Attributes of other names may be anything. A node must have a kind.
    """
    if node.kind is Kind.INVALID:
        yield NO_OPERATION
    for name in _REQUIRED.get(node.kind, ()):
        if not node.attributes.get(name, _NONE).type:
            needed = ", ".join(_REQUIRED[node.kind])
            yield f"{_called(node)} has no {name}; a {node.kind.name} node needs {needed}"
    for name, found in node.attributes.items():
        sentence = _attribute_mistake(name, found) if found.type else ""
        if sentence:
            yield f"{_called(node)}: {sentence}"


_NONE = Attribute("", "")


def _called(node: Node) -> str:
    return f"'{short(printable(node.name))}'" if node.name else "it"


def _attribute_mistake(name: str, found: Attribute) -> str:
    if name in _OTHER:
        allowed, words = _OTHER[name]
        return "" if found.type in allowed else f"{name} is of type {found.type}; {words} is needed"
    if name not in _INTEGERS:
        return ""
    if found.type not in _INTEGER_TYPES or not isinstance(found.value, int):
        return f"{name} is of type {found.type}; an integer is needed"
    if name in _AMOUNTS and found.value < 0:
        return f"{name} is {found.value}; it cannot be negative"
    if name == "comm_type" and found.value not in _COLLECTIVES:
        known = ", ".join(f"{kind.value} {kind.name}" for kind in CollectiveType)
        return f"unknown comm_type {found.value}; known: {known}"
    return ""


def graph_mistakes(graph: Graph, order: Integers) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with the graph of a trace: the id of a node and a sentence about it.

    An id may stand for one node; every dependency must be there; no node may wait for itself, be it over others. With
    that, a node exists that can start.

    Parameters
    ----------
    graph : of a trace.
    order : its `running_order`.
    """
    yield from _equal_ids(graph.ids)
    missing = graph.positions() < 0
    for owner, other in zip(graph.owners()[missing], graph.dependencies[missing], strict=True):
        yield int(graph.ids[owner]), f"waits for node {other}, which is not there"
    cycle = cycle_in(graph, order)
    if cycle:
        yield cycle[0], _cycle_sentence(cycle, can_start=len(order) > 0)


def _equal_ids(ids: npt.NDArray[np.uint64]) -> Iterator[tuple[int, str]]:
    found, counts = np.unique(ids, return_counts=True)
    for number, count in zip(found[counts > 1], counts[counts > 1], strict=True):
        yield int(number), f"{count} nodes have this id; ids are unique in a trace"


def _cycle_sentence(cycle: tuple[int, ...], *, can_start: bool) -> str:
    others = len(cycle) - 1
    shown = [str(number) for number in cycle[:_MOST_SHOWN]] + ["..."] * (len(cycle) > _MOST_SHOWN) + [str(cycle[0])]
    over = f", over {others} other{'s' if others > 1 else ''}: {' -> '.join(shown)}" if others else ""
    return f"waits for itself{over}" + ("" if can_start else "; no node of the trace can start")
