"""Scripts of traces that say the same but for ranks of messages and groups of collectives."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.chakra.check import node_mistakes
from evo_libra.chakra.known import NumberedNodes
from evo_libra.chakra.trace import Kind, Node
from evo_libra.timing.traces.operations import MESSAGES, Action, Dimensions, NodeReader, Script

_NAMING = (Kind.COMM_SEND, Kind.COMM_RECV, Kind.COMM_COLL)
_NAMES = ("comm_src", "comm_dst", "pg_name")


class NodeNames:
    """Numbers of the nodes of traces: of what each says, of that without its names, and of the names.

    Names are the ranks of a message and the group of a collective. Every node object is read once.
    """

    def __init__(self, traces: Sequence[Sequence[Node]]) -> None:
        self._row: dict[int, int] | None = None
        shapes, sorts, names = dict[Hashable, int](), dict[Hashable, int](), dict[Hashable, int]()
        rows = list[tuple[int, int, int]]()
        for node in self._nodes(traces):
            sort, name = _parts(node)
            at = sorts.setdefault(sort, len(sorts))
            shape = shapes.setdefault((node.id, node.name, node.control, node.data, at), len(shapes))
            rows.append((shape, at, names.setdefault(name, len(names))))
        self._table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        self._count = len(names)

    def _nodes(self, traces: Sequence[Sequence[Node]]) -> Sequence[Node]:
        """Return all nodes once; the row of each is its number, or kept by its identity."""
        first = traces[0]
        if isinstance(first, NumberedNodes) and all(_is_numbered_by(trace, first.known) for trace in traces):
            return first.known
        found = {id(node): node for trace in {id(trace): trace for trace in traces}.values() for node in trace}
        self._row = {key: row for row, key in enumerate(found)}
        return [*found.values()]

    def shape(self, trace: Sequence[Node]) -> bytes:
        """Return what tells a trace from others, but for names."""
        return self._rows(trace)[:, 0].tobytes()

    def names(self, trace: Sequence[Node]) -> IntArray:
        """Return (n,) numbers of the nodes of a trace, equal for those that differ in ids and dependencies alone."""
        rows = self._rows(trace)
        return np.asarray(rows[:, 1] * self._count + rows[:, 2])

    def _rows(self, trace: Sequence[Node]) -> IntArray:
        if self._row is None:
            assert isinstance(trace, NumberedNodes)  # noqa: S101 - all are, or none
            return np.asarray(self._table[trace.numbers])
        rows = map(self._row.__getitem__, map(id, trace))
        return np.asarray(self._table[np.fromiter(rows, dtype=np.int64, count=len(trace))])


def _is_numbered_by(trace: Sequence[Node], known: list[Node]) -> bool:
    return isinstance(trace, NumberedNodes) and trace.known is known


def _parts(node: Node) -> tuple[Hashable, Hashable]:
    """Return what a node says but for its id, its dependencies and its names; and its names."""
    if node.kind not in _NAMING:
        kept = tuple((name, a.type, a.value) for name, a in node.attributes.items())
        return (node.kind, node.duration, kept), None
    kept = tuple((name, a.type, "" if name in _NAMES else a.value) for name, a in node.attributes.items())
    names = tuple(a.value for name, a in node.attributes.items() if name in _NAMES)
    return (node.kind, node.duration, kept), names


class NamedScript:
    """The script of a trace, with where its nodes have names."""

    def __init__(self, script: Script, trace: Sequence[Node], dimensions: Dimensions) -> None:
        self.script, self.dimensions = script, dimensions
        place = {node.id: at for at, node in enumerate(trace)}
        named = [o.action in (*MESSAGES, Action.COLLECTIVE) for o in script.operations]
        self.at = np.array([place[node] for node, is_named in zip(script.nodes, named, strict=True) if is_named], int)
        self.numbers = np.array([o.number for o in script.operations if o.action in (*MESSAGES, Action.COLLECTIVE)])

    def renamed(self, trace: Sequence[Node], npu: int, names: IntArray) -> Script | None:
        """Return the script of a trace of the same shape, with other names; None where these do not fit."""
        _, first, inverse = np.unique(names[self.at], return_index=True, return_inverse=True)
        reader, numbers = NodeReader(npu, self.dimensions, replay=False), np.empty(len(first), dtype=np.int64)
        for one in np.argsort(first).tolist():
            node = trace[int(self.at[first[one]])]
            if next(node_mistakes(node), None) is not None:
                return None
            numbers[one] = reader.read(node, ()).number
        if reader.mistakes or (numbers[inverse] != self.numbers).any():
            return None
        collectives = tuple(map(frozenset, reader.scopes.values()))
        return replace(
            self.script, scopes=tuple(reader.scopes), channels=tuple(reader.channels), collectives=collectives
        )
