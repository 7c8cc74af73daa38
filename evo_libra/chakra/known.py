"""Traces whose nodes are mostly known already: nodes with the same bytes are one object, decoded and checked once.

Traces of NPUs differ in little, and so do their nodes: attributes with the same bytes are decoded once as well. Nodes
that are not as every writer makes them are left to the readers that say what is wrong.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from evo_libra.chakra.check import (
    attribute_mistake,
    graph_mistakes,
    graph_of,
    missing_attributes,
    node_mistakes,
    running_order,
)
from evo_libra.chakra.decode import DecodeError, decode_metadata, decode_node
from evo_libra.chakra.framing import GZIP, split_messages
from evo_libra.chakra.schema import TODAY, schema_of
from evo_libra.chakra.trace import Attribute, Kind, Metadata, Node
from evo_libra.errors import InputError
from evo_libra.files.kinds import varint

Integers = npt.NDArray[np.int64]

_ATTRIBUTE = 0x52
_INTEGERS, _TEXT, _IDS = {0x08: "id", 0x18: "kind", 0x30: "start", 0x38: "duration"}, 0x12, {0x22: 0, 0x2A: 1}
_KINDS = {kind.value: kind for kind in Kind if kind is not Kind.INVALID}


class NumberedNodes(tuple[Node, ...]):  # noqa: SLOT001 - tuples have no slots but empty ones
    """Nodes of a trace, with a number of each: equal ones are the same object, in all traces of a `KnownNodes`.

    Attributes
    ----------
    known : the nodes by number, and numbers (n,) of those of this trace.
    """

    known: list[Node]
    numbers: Integers


class KnownNodes:
    """Nodes that were read, by their bytes, and graphs of traces that can run.

    Parameters
    ----------
    nodes, dependencies, size : the most of a trace, and of its bytes; longer ones are left to other readers.
    """

    def __init__(self, *, nodes: int, dependencies: int, size: int) -> None:
        self.most_nodes, self.most_dependencies, self.most_bytes = nodes, dependencies, size
        self.nodes: list[Node] = []
        self._numbers: dict[str, dict[bytes, int]] = {}
        self._attributes: dict[bytes, tuple[str, Attribute]] = {}
        self._rows: list[int] = []
        self._known_rows: dict[tuple[int, tuple[int, ...], tuple[int, ...]], int] = {}
        self._graphs: set[bytes] = set()

    def trace(self, path: Path) -> tuple[Metadata, NumberedNodes] | None:
        """Return a trace; None where it has a mistake, is gzipped or too long."""
        try:
            schema = schema_of(path)
            if path.stat().st_size > self.most_bytes:
                return None
            data = path.read_bytes()
        except (OSError, InputError):
            return None
        messages = None if data.startswith(GZIP) else split_messages(data)
        if messages is None or not 1 < len(messages) <= self.most_nodes:
            return None
        try:
            first = (
                decode_metadata(messages.pop(0), schema.version) if schema.has_metadata else Metadata(schema.version)
            )
            nodes = self._read(messages, schema.version)
        except DecodeError:
            return None
        return (first, nodes) if self._can_run(nodes) else None

    def _read(self, messages: list[bytes], version: str) -> NumberedNodes:
        known = self._numbers.setdefault(version, {})
        numbers = list(map(known.get, messages))
        if None in numbers:
            for message in messages:
                if message not in known:
                    self._add(self._decoded(message, version))
                    known[message] = len(self.nodes) - 1
            numbers = list(map(known.get, messages))
        found = NumberedNodes(map(self.nodes.__getitem__, numbers))  # type: ignore[arg-type]  # none is missing now
        found.known, found.numbers = self.nodes, np.array(numbers, dtype=np.int64)
        return found

    def _decoded(self, message: bytes, version: str) -> Node:
        node = self._quick(message) if version == TODAY else None
        # Attributes of nodes that were read quickly were checked when they were first seen.
        mistakes = None if node is None else missing_attributes(node)
        if node is None or mistakes is None:
            node = decode_node(message, version)
            mistakes = node_mistakes(node)
        if next(mistakes, None) is not None:
            raise DecodeError("a node with a mistake")
        return node

    def _add(self, node: Node) -> None:
        row = node.id, node.control, node.data
        self._rows.append(self._known_rows.setdefault(row, len(self._known_rows)))
        self.nodes.append(node)

    def _can_run(self, nodes: NumberedNodes) -> bool:
        """Tell whether no node waits for ever; nodes that wait for each other as known ones can all run."""
        rows = self._rows
        key = np.array([rows[number] for number in nodes.numbers.tolist()], dtype=np.int64).tobytes()
        if key not in self._graphs:
            graph = graph_of(nodes)
            order = running_order(graph)
            many = len(graph.dependencies) > self.most_dependencies
            if many or next(graph_mistakes(graph, order), None) is not None:
                return False
            self._graphs.add(key)
        return True

    def _quick(self, data: bytes) -> Node | None:
        """Return a node of today's schema without tensors, whose fields ascend and are there once; None for others."""
        integers, name = {"id": 0, "kind": 0, "start": 0, "duration": 0}, ""
        ids: list[tuple[int, ...]] = [(), ()]
        attributes, at, last, end = dict[str, Attribute](), 0, 0, len(data)
        while at < end:
            begin, tag = at, data[at]
            if tag < last or (tag == last and tag != _ATTRIBUTE):
                return None
            last = tag
            number, at = varint(data, at + 1)
            if (field := _INTEGERS.get(tag)) is not None:
                integers[field] = number
                continue
            content, at = data[at : at + number], at + number
            if at > end:
                return None
            if tag == _ATTRIBUTE:
                key, found = self._attribute(data[begin:at])
                if key in attributes:
                    return None
                attributes[key] = found
            elif tag == _TEXT:
                name = content.decode(errors="replace")
            elif tag in _IDS:
                ids[_IDS[tag]] = _packed(content)
            else:
                return None
        kind = _KINDS.get(integers["kind"])
        if kind is None or at > end or "\ufffd" in name or max(integers.values()) >= _MOST:
            return None
        return Node(
            id=integers["id"], name=name, kind=kind, control=ids[0], data=ids[1], start=integers["start"],
            duration=integers["duration"], attributes=MappingProxyType(attributes),
        )  # fmt: skip

    def _attribute(self, field: bytes) -> tuple[str, Attribute]:
        """Return an attribute by the bytes of its field, which is a message of a node with nothing else."""
        if field not in self._attributes:
            # A node needs a kind, whatever it is.
            (found,) = decode_node(b"\x18\x04" + field, TODAY).attributes.items()
            if found[1].type and attribute_mistake(*found):
                raise DecodeError("an attribute with a mistake")
            self._attributes[field] = found
        return self._attributes[field]


_MOST = 2**63


def _packed(content: bytes) -> tuple[int, ...]:
    """Return numbers that follow each other; a DecodeError says that the last one is cut off, or one is too large."""
    found, at = list[int](), 0
    while at < len(content):
        number, at = varint(content, at)
        if at > len(content) or number >= _MOST:
            raise DecodeError("ids that are cut off or too large")
        found.append(number)
    return tuple(found)
