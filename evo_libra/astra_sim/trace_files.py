"""The traces of an export as files, one for each NPU."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.astra_sim.cluster import ExportedGroup
from evo_libra.astra_sim.loops import LoopTraces
from evo_libra.chakra.decode import decode_metadata, decode_node
from evo_libra.chakra.framing import read_messages
from evo_libra.chakra.schema import TODAY
from evo_libra.chakra.trace import Kind, Metadata, Node
from evo_libra.chakra.write import encode_metadata, encode_node, framed
from evo_libra.workload.trace_nodes import between, in_group


def file_names(names: Sequence[str]) -> list[str]:
    """Return names of files, each once."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "workload"
        tries = (plain if number == 1 else f"{plain}-{number}" for number in range(1, len(names) + 2))
        found.append(next(each for each in tries if each not in found))
    return found


def owners_of(traces: LoopTraces, placed: Mapping[str, ExportedGroup]) -> IntArray:
    """Return (N,) the first NPU that has the same trace as each."""
    lists = [where.lists for where in placed.values() if len(where.lists)]
    # A message names NPUs, so that no two NPUs of pipelines of several stages have the same trace.
    names = np.arange(traces.pipelines.size) if len(traces.stages) > 1 else np.zeros(traces.pipelines.size)
    row = np.array([*lists, names], dtype=np.int64)
    _, first, same = np.unique(row, axis=1, return_index=True, return_inverse=True)
    return np.asarray(first[same.reshape(-1)], dtype=np.int64)


def write_traces(prefix: Path, traces: LoopTraces, placed: Mapping[str, ExportedGroup], owner: IntArray) -> None:
    """Write the trace of each NPU; those of the same owner are equal."""
    writer = _Writer(traces, {name: where.lists for name, where in placed.items() if len(where.lists)})
    link = _Linker()
    for npu, first in enumerate(owner.tolist()):
        path = Path(f"{prefix}.{npu}.et")
        if first == npu:
            path.write_bytes(writer.trace(npu))
        else:
            link(Path(f"{prefix}.{first}.et"), path)


class _Writer:
    """Encodes the traces of NPUs; what several of them have in common is encoded once."""

    def __init__(self, traces: LoopTraces, lists: Mapping[str, IntArray]) -> None:
        self.stages, self.lists = traces.stages, lists
        self.head = framed(encode_metadata(Metadata()))
        rows = traces.pipelines.tolist()
        self.places = {npu: (row, stage) for row in rows for stage, npu in enumerate(row)}
        self.known = dict[tuple[int, int, str], bytes]()

    def trace(self, npu: int) -> bytes:
        npus, stage = self.places[npu]
        return b"".join((self.head, *(self.node(node, npu, stage, npus) for node in self.stages[stage])))

    def node(self, node: Node, npu: int, stage: int, npus: Sequence[int]) -> bytes:
        if node.kind in (Kind.COMM_SEND, Kind.COMM_RECV):
            ends = (npus[int(str(node.attributes[name].value))] for name in ("comm_src", "comm_dst"))
            return framed(encode_node(between(node, *ends)))
        name = str(node.attributes["pg_name"].value) if "pg_name" in node.attributes else ""
        key = stage, node.id, str(self.lists[name][npu]) if name else ""
        if key not in self.known:
            self.known[key] = framed(encode_node(in_group(node, key[2]) if name else node))
        return self.known[key]


def read_traces(prefix: Path, owner: IntArray) -> list[tuple[Node, ...]]:
    """Read the trace of each NPU, of those that are equal the first one's; equal nodes are the same object."""
    known: dict[bytes, Node] = {}
    read = {npu: _nodes_of(Path(f"{prefix}.{npu}.et"), known) for npu in np.unique(owner).tolist()}
    return [read[npu] for npu in owner.tolist()]


def _nodes_of(path: Path, known: dict[bytes, Node]) -> tuple[Node, ...]:
    messages = read_messages(path)
    decode_metadata(next(messages).data, TODAY)  # which refuses what is none
    nodes = []
    for message in messages:
        if message.data not in known:
            known[message.data] = decode_node(message.data, TODAY)
        nodes.append(known[message.data])
    return tuple(nodes)


class _Linker:
    """Gives files a second name, or a copy where the file system has no more names for them."""

    def __init__(self) -> None:
        self.known: dict[Path, Path] = {}

    def __call__(self, source: Path, path: Path) -> None:
        try:
            os.link(self.known.get(source, source), path)
        except OSError:
            shutil.copyfile(source, path)
            self.known[source] = path
