"""Traces from files: node by node, or whole and checked."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from evo_libra.chakra.check import check_nodes
from evo_libra.chakra.decode import DecodeError, decode_metadata, decode_node
from evo_libra.chakra.framing import FramedMessage, read_messages
from evo_libra.chakra.known import KnownNodes
from evo_libra.chakra.schema import Schema, schema_of
from evo_libra.chakra.trace import Metadata, Node
from evo_libra.errors import InputError, Mistake
from evo_libra.files.source import refusal_of_file

Trace = tuple[Metadata, tuple[Node, ...]]

MAX_NODES = 2**22
"""Of a trace. A summary takes 140 bytes for a node with one dependency, while chains are looked for: 0.6 GB in all."""

MAX_DEPENDENCIES = 2**24
"""Of all nodes of a trace: four of each. A summary takes some 80 bytes for one, 1.3 GB in all."""

MAX_TRACE_BYTES = 2**28
"""Bytes of the nodes, unpacked, where all of them are kept, which takes about 18 times as much memory: 5 GB."""

_NPU = re.compile(r"(0|[1-9][0-9]{0,8})\.et(\.gz)?")
_SHOWN = 5


def read_metadata(path: Path) -> Metadata:
    """Read what a trace says of itself; the version of an older schema is that of the schema.

    Raises `InputError` if the file cannot be read, or does not begin as a trace does.
    """
    schema = _schema(path)
    if not schema.has_metadata:
        return Metadata(schema.version)
    message = next(read_messages(path))
    try:
        return decode_metadata(message.data, schema.version)
    except DecodeError as error:
        _refuse(path, message, error)


def _schema(path: Path) -> Schema:
    try:
        return schema_of(path)
    except InputError:
        # A file with the name of a trace, be it gzipped, is a damaged one.
        if ".et" not in path.suffixes and path.is_file() and (other := refusal_of_file(path, "trace")):
            raise InputError(Mistake(other, str(path))) from None
        raise


def read_nodes(path: Path, watch: Callable[[int], None] | None = None) -> Iterator[Node]:
    """Yield the nodes of a trace in the order of the file, one in memory at a time.

    Nodes of older schemas come as they would be in today's: kinds and collectives by today's numbers, ``parent`` as
    data dependencies, the attributes ``is_host_op`` as ``is_cpu_op`` and ``runtime`` also as duration. The nodes are
    not checked against each other, nor for the attributes that their kinds need; `read_trace` does that. `watch` is
    called now and then with the bytes of the file that have been read. Raises `InputError` if the file cannot be read,
    is truncated or damaged, has a node, a kind or a collective of no schema that is known here, or has more than
    `MAX_NODES` nodes or `MAX_DEPENDENCIES` dependencies.
    """
    yield from _nodes(path, watch, None)


def _nodes(path: Path, watch: Callable[[int], None] | None, largest: int | None) -> Iterator[Node]:
    schema, so_far = _schema(path), _SoFar(path, largest)
    for message in read_messages(path, watch):
        try:
            if message.number == 1 and schema.has_metadata:
                decode_metadata(message.data, schema.version)
                continue
            node = decode_node(message.data, schema.version)
        except DecodeError as error:
            _refuse(path, message, error)
        so_far.add(node, len(message.data))
        yield node


class _SoFar:
    """Counts what has been read of a trace, and ends the reading where that is too much."""

    def __init__(self, path: Path, largest: int | None) -> None:
        self._path, self._largest = path, largest
        self._nodes = self._dependencies = self._size = 0

    def add(self, node: Node, size: int) -> None:
        """Count a node of some bytes."""
        self._nodes += 1
        self._dependencies += len(node.control) + len(node.data)
        self._size += size
        self._check(node, self._nodes, MAX_NODES, "nodes; {} are read")
        self._check(node, self._dependencies, MAX_DEPENDENCIES, "dependencies; {} are read")
        if self._largest is not None:
            self._check(node, self._size, self._largest, "bytes, unpacked; {} are read where all nodes are needed")

    def _check(self, node: Node, found: int, most: int, words: str) -> None:
        if found > most:
            message = f"brings the trace to {found} {words.format(f'at most {most}')}"
            raise InputError(Mistake(message, str(self._path), key=f"node {node.id}"))


def read_trace(path: Path) -> Trace:
    """Read a trace and check it.

    Raises `InputError` as `read_nodes` does, for all that `check.check_nodes` finds, and for nodes of more than
    `MAX_TRACE_BYTES` bytes.
    """
    metadata, nodes = read_metadata(path), list[Node]()
    check_nodes(_keep(_nodes(path, None, MAX_TRACE_BYTES), nodes), str(path))
    return metadata, tuple(nodes)


def _keep(nodes: Iterable[Node], kept: list[Node]) -> Iterator[Node]:
    for node in nodes:
        kept.append(node)
        yield node


def read_traces(prefix: Path, tell: Callable[[str], None] | None = None) -> tuple[Trace, ...]:
    """Read the traces of all NPUs, or the one that is good for all; files of the same bytes are the same object.

    The prefix is that of the files PREFIX.<npu>.et, or the one file. `tell` is told each file before it is read.
    Raises `InputError` as `trace_files` and `read_trace` do.
    """
    known, found = dict[bytes, Trace](), list[Trace]()
    nodes = KnownNodes(nodes=MAX_NODES, dependencies=MAX_DEPENDENCIES, size=MAX_TRACE_BYTES)
    for path in trace_files(prefix):
        key = _digest(path)
        if key not in known:
            if tell is not None:
                tell(f"reading {path.name}")
            known[key] = nodes.trace(path) or read_trace(path)
        found.append(known[key])
    return tuple(found)


def _digest(path: Path) -> bytes:
    """Return a digest of a file, or its name where it cannot be read, which reading then says."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return str(path).encode()


def trace_files(prefix: Path) -> tuple[Path, ...]:
    """Return the files PREFIX.<npu>.et or PREFIX.<npu>.et.gz by NPU from 0 on, or the one file itself.

    Raises `InputError` if there is no such file, one is missing between others, or an NPU has two.
    """
    if os.path.isfile(prefix):  # noqa: PTH113 - false for what cannot be the name of a file
        return (prefix,)
    found: dict[int, Path] = {}
    for path in sorted(prefix.parent.iterdir()) if prefix.parent.is_dir() else []:
        beginning, _, rest = path.name.partition(f"{prefix.name}.")
        match = _NPU.fullmatch(rest)
        if beginning or not match:
            continue
        npu = int(match[1])
        if npu in found:
            raise InputError(Mistake(f"NPU {npu} has two traces, {found[npu].name} and {path.name}", str(prefix)))
        found[npu] = path
    if not found:
        message = f"there is neither this file nor {prefix.name}.0.et and so on next to it"
        raise InputError(Mistake(message, str(prefix)))
    missing = [npu for npu in range(len(found)) if npu not in found]
    if missing:
        names = ", ".join(f"{prefix.name}.{npu}.et" for npu in missing[:_SHOWN])
        more = ", ..." if len(missing) > _SHOWN else ""
        raise InputError(Mistake(f"{len(found)} traces up to NPU {max(found)}, but no {names}{more}", str(prefix)))
    return tuple(found[npu] for npu in sorted(found))


def _refuse(path: Path, message: FramedMessage, error: DecodeError) -> NoReturn:
    raise InputError(Mistake(str(error), str(path), key=message.place)) from None
