"""Checks of the nodes of a trace: their attributes, and the graph of their dependencies."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evo_libra.chakra.trace import NO_OPERATION, Attribute, CollectiveType, Kind, Node
from evo_libra.errors import InputError, Mistake, printable
from evo_libra.files.mistakes import short

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Graph:
    """The nodes of a trace and what each waits for.

    Attributes
    ----------
    ids : of the nodes, in the order of the file [n].
    first : where the dependencies of each node begin, and last where they end [n + 1].
    dependencies : ids of the nodes that must finish first, control before data, node after node [e].
    """

    ids: npt.NDArray[np.uint64]
    first: Integers
    dependencies: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self) -> Integers:
        """Return the place of each dependency in `ids`, -1 where there is none; of equal ids the first counts [e]."""
        if not len(self):
            return np.full(len(self.dependencies), -1)
        order = np.argsort(self.ids, kind="stable")
        at = order[np.minimum(np.searchsorted(self.ids[order], self.dependencies), len(self) - 1)]
        return np.where(self.ids[at] == self.dependencies, at, -1)

    def owners(self) -> Integers:
        """Return the place of the node that each dependency is of [e]."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))


def graph_of(nodes: Iterable[Node]) -> Graph:
    """Return the graph of some nodes, with one node at a time in memory."""
    ids, first, dependencies = array("Q"), array("q", [0]), array("Q")
    for node in nodes:
        ids.append(node.id)
        dependencies.extend(node.control)
        dependencies.extend(node.data)
        first.append(len(dependencies))
    return Graph(
        np.array(ids, dtype=np.uint64), np.array(first, dtype=np.int64), np.array(dependencies, dtype=np.uint64)
    )


def running_order(graph: Graph) -> Integers:
    """Return the places of the nodes in an order in which each comes after all that it waits for [at most n].

    Nodes in a cycle, and those that wait for one, are left out. Dependencies on nodes that are not there do not count.
    """
    positions = graph.positions()
    there = positions >= 0
    owners = graph.owners()[there]
    waiting = np.bincount(owners, minlength=len(graph))
    by_dependency = np.argsort(positions[there], kind="stable")
    children = owners[by_dependency].data
    first = np.searchsorted(positions[there][by_dependency], np.arange(len(graph) + 1)).data
    ready = array("q", np.flatnonzero(waiting == 0).astype(np.int64).tobytes())
    left = array("q", waiting.astype(np.int64).tobytes())
    for at in ready:  # which grows while it is gone through
        for child in children[first[at] : first[at + 1]]:
            left[child] -= 1
            if not left[child]:
                ready.append(child)
    return np.array(ready, dtype=np.int64)


def cycle_in(graph: Graph, order: Integers) -> tuple[int, ...]:
    """Return the ids of a circle of nodes, each waiting for the next; none if all can run."""
    if len(order) == len(graph):
        return ()
    stuck = np.ones(len(graph), dtype=bool)
    stuck[order] = False
    positions = graph.positions()
    at, seen = int(np.argmax(stuck)), dict[int, int]()
    while at not in seen:  # every node that is stuck waits for one that is, and so this comes back
        seen[at] = len(seen)
        waits_for = positions[graph.first[at] : graph.first[at + 1]]
        at = next(int(other) for other in waits_for if other >= 0 and stuck[other])
    return tuple(int(graph.ids[other]) for other in list(seen)[seen[at] :])


@dataclass(frozen=True)
class Chain:
    """Nodes in a chain, each waiting for the one before: their number, the ids of the ends, the sum of weights."""

    nodes: int
    first: int
    last: int
    weight: float


def longest_chain(graph: Graph, order: Integers, weights: npt.NDArray[np.float64]) -> Chain:
    """Return the chain with the largest sum of weights, of equals the one with the most nodes.

    Weights (n,) are not negative, and every node of the graph is in its `running_order`.
    """
    total, count, begin = (
        array("d", weights.astype(np.float64).tobytes()),
        array("q", [1]) * len(graph),
        array("q", range(len(graph))),
    )
    positions, first = graph.positions().data, graph.first.data
    best = int(order[0])
    for at in order.data:
        longest, most, start = 0.0, 0, at
        for other in positions[first[at] : first[at + 1]]:
            if (total[other], count[other]) > (longest, most):
                longest, most, start = total[other], count[other], begin[other]
        total[at], count[at], begin[at] = total[at] + longest, most + 1, start
        if (total[at], count[at]) > (total[best], count[best]):
            best = at
    return Chain(count[best], int(graph.ids[begin[best]]), int(graph.ids[best]), total[best])


MAX_MISTAKES = 20
"""Mistakes listed for one trace. As many in its nodes end the reading; further ones of its graph are counted."""

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
_MAX_SHOWN = 8
# Attributes that are no integers, the types they may have, and how those are called.
_OTHER: Mapping[str, tuple[frozenset[str], str]] = {
    "is_cpu_op": (_INTEGER_TYPES | {"bool"}, "a boolean"),
    "pg_name": (frozenset({"string"}), "text"),
    "involved_dim": (frozenset({"bool_list"}), "a list of booleans"),
}


def check_nodes(nodes: Iterable[Node], file: str) -> tuple[Graph, Integers]:
    """Return the graph of a trace and its `running_order`.

    Checked are the attributes that ASTRA-sim reads (`node_mistakes`) and the graph (`graph_mistakes`); what roofline
    times need is the business of whoever computes them. Raises `InputError` with all mistakes.
    """
    collected = _MistakeList(file)
    graph = graph_of(collected.watch(nodes))
    order = running_order(graph)
    collected.add_graph(graph, order)
    if mistakes := collected.mistakes():
        raise InputError(mistakes)
    return graph, order


class _MistakeList:
    """Collects the mistakes of a trace, and lists the first few."""

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
            if self._count >= MAX_MISTAKES or self._repeats():
                self._end(node)
                return

    def _repeats(self) -> bool:
        """Tell whether many nodes have ids of others; checked whenever the trace has become twice as long."""
        if len(self._ids) < self._counted:
            return False
        self._counted *= 2
        ids = np.sort(np.array(self._ids, dtype=np.uint64))
        return int((ids[1:] == ids[:-1]).sum()) >= MAX_MISTAKES

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
        if len(self._found) < MAX_MISTAKES:
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
    yield from missing_attributes(node)
    for name, found in node.attributes.items():
        sentence = attribute_mistake(name, found) if found.type else ""
        if sentence:
            yield f"{_called(node)}: {sentence}"


def missing_attributes(node: Node) -> Iterator[str]:
    """Yield what a node lacks, each in a sentence: a kind, or attributes that its kind needs."""
    if node.kind is Kind.INVALID:
        yield NO_OPERATION
    for name in _REQUIRED.get(node.kind, ()):
        if not node.attributes.get(name, _NONE).type:
            needed = ", ".join(_REQUIRED[node.kind])
            yield f"{_called(node)} has no {name}; a {node.kind.name} node needs {needed}"


_NONE = Attribute("", "")


def _called(node: Node) -> str:
    return f"'{short(printable(node.name))}'" if node.name else "it"


def attribute_mistake(name: str, found: Attribute) -> str:
    """Return what is wrong with an attribute that ASTRA-sim reads; "" for nothing."""
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
    shown = [str(number) for number in cycle[:_MAX_SHOWN]] + ["..."] * (len(cycle) > _MAX_SHOWN) + [str(cycle[0])]
    over = f", over {others} other{'s' if others > 1 else ''}: {' -> '.join(shown)}" if others else ""
    return f"waits for itself{over}" + ("" if can_start else "; no node of the trace can start")
