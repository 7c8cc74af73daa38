"""The graph of a trace as arrays: ids and dependencies, an order in which nodes can run, cycles, longest chains.

A node costs 16 bytes here and a dependency 8, about ten times that while chains are looked for: a graph of millions of
nodes fits where the nodes would not.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evo_libra.chakra.trace import Node

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


class GraphBuilder:
    """Collects a graph node by node."""

    def __init__(self) -> None:
        self._ids, self._first, self._dependencies = array("Q"), array("q", [0]), array("Q")

    def add(self, node: Node) -> None:
        """Add a node behind the others."""
        self._ids.append(node.id)
        self._dependencies.extend(node.control)
        self._dependencies.extend(node.data)
        self._first.append(len(self._dependencies))

    def graph(self) -> Graph:
        """Return the graph of the nodes so far."""
        return Graph(
            np.array(self._ids, dtype=np.uint64),
            np.array(self._first, dtype=np.int64),
            np.array(self._dependencies, dtype=np.uint64),
        )


def graph_of(nodes: Iterable[Node]) -> Graph:
    """Return the graph of some nodes."""
    builder = GraphBuilder()
    for node in nodes:
        builder.add(node)
    return builder.graph()


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
    """Return the ids of nodes of which each waits for the next and the last for the first; none if all can run.

    Parameters
    ----------
    graph : of a trace.
    order : its `running_order`.
    """
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
    """Nodes of which each waits for the one before.

    Attributes
    ----------
    nodes : how many they are.
    first, last : ids of the ends.
    weight : sum over the nodes.
    """

    nodes: int
    first: int
    last: int
    weight: float


def longest_chain(graph: Graph, order: Integers, weights: npt.NDArray[np.float64]) -> Chain:
    """Return the chain with the largest sum of weights, of equals the one with the most nodes.

    Parameters
    ----------
    graph : of a trace, with at least one node.
    order : its `running_order`; every node is in it.
    weights : of the nodes, none negative [n].
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
