"""Summary of a trace, read node by node: only ids, dependencies and times stay in memory."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from evo_libra.chakra.check import Chain, check_nodes, longest_chain
from evo_libra.chakra.read import read_metadata, read_nodes
from evo_libra.chakra.trace import CollectiveType, Kind, Node

_MICRO = 1e-6
_WORLD = ("", "0")
_COLLECTIVES: Mapping[int | None, CollectiveType] = {kind.value: kind for kind in CollectiveType}
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Volume:
    """Number of nodes of a sort, the sum of their bytes, and the number of them without bytes."""

    nodes: int
    size: int
    empty: int = 0


@dataclass(frozen=True, slots=True)
class CollectiveKey:
    """Kind of collectives, their group, empty for all NPUs, and the dimensions that take part, if the trace says."""

    collective: CollectiveType
    group: str
    involved: tuple[bool, ...] | None


@dataclass(frozen=True, slots=True)
class ComputeSummary:
    """The computations of a trace: sums of operations, bytes and recorded seconds, and how many have no time."""

    nodes: int
    operations: int
    size: int
    recorded: float
    untimed: int


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Contents of a trace, with its file and the version of its schema.

    Collectives have the bytes that each node's ``comm_size`` has, sends and receives are by the NPU at the other end,
    loads and stores those of remote memory. `longest` is the chain of dependencies with the most nodes, `critical` the
    one that computes longest, with the seconds of its computations as weight, those without a time counted as none: a
    lower bound of the trace's time, communication left out. It is None where no computation has a time.
    """

    file: str
    version: str
    kinds: Mapping[Kind, int]
    dependencies: int
    compute: ComputeSummary
    collectives: Mapping[CollectiveKey, Volume]
    sends: Mapping[int, Volume]
    receives: Mapping[int, Volume]
    loads: Volume
    stores: Volume
    longest: Chain
    critical: Chain | None


def compute_time(node: Node, peak: float | None = None, memory_bandwidth: float | None = None) -> float | None:
    """Return the time of a computation in s, or None where nothing says it.

    With a roofline it is the longer one of its operations at the peak and its bytes at the bandwidth of the memory, not
    rounded to nanoseconds as ASTRA-sim does; on the CPU, without a roofline or without both figures it is the recorded
    duration; 0 means none. The peak is in operations per s, and the bandwidth in B/s.
    """
    operations, size = amount(node, "num_ops"), amount(node, "tensor_size")
    if peak and memory_bandwidth and operations is not None and size is not None and not amount(node, "is_cpu_op"):
        return max(operations / peak, size / memory_bandwidth)
    return node.duration * _MICRO if node.duration else None


def amount(node: Node, name: str) -> int | None:
    """Return an attribute that is an integer, or None where the node has none of the name, or no integer."""
    found = node.attributes.get(name)
    return int(found.value) if found and isinstance(found.value, int) else None


def summarise(
    path: Path,
    *,
    peak: float | None = None,
    memory_bandwidth: float | None = None,
    watch: Callable[[int], None] | None = None,
) -> TraceSummary:
    """Read a trace and return what it holds.

    The roofline of computations has both operations per s and B/s, or none. `watch` is called now and then with the
    bytes of the file that have been read. Raises `InputError` as `read.read_trace` does.
    """
    tally = _Tally(peak, memory_bandwidth)
    graph, order = check_nodes(tally.watch(read_nodes(path, watch)), str(path))
    weights = np.array(tally.times)
    untimed = int(np.isnan(weights).sum())
    timed = tally.kinds[Kind.COMP] > untimed
    return TraceSummary(
        file=str(path), version=read_metadata(path).version,
        kinds={kind: tally.kinds[kind] for kind in Kind if kind in tally.kinds}, dependencies=len(graph.dependencies),
        compute=ComputeSummary(tally.kinds[Kind.COMP], tally.operations, tally.size, tally.duration * _MICRO, untimed),
        collectives={key: Volume(*sums) for key, sums in tally.collectives.items()},
        sends={npu: Volume(*sums) for npu, sums in tally.sends.items()},
        receives={npu: Volume(*sums) for npu, sums in tally.receives.items()},
        loads=Volume(*tally.memory[Kind.MEM_LOAD]), stores=Volume(*tally.memory[Kind.MEM_STORE]),
        longest=longest_chain(graph, order, np.ones(len(graph))),
        critical=longest_chain(graph, order, np.nan_to_num(weights)) if timed else None,
    )  # fmt: skip


class _Sums(defaultdict[K, list[int]]):
    """Nodes, bytes and nodes without any, by a key."""

    def __init__(self) -> None:
        super().__init__(lambda: [0, 0, 0])

    def add(self, key: K, size: int | None) -> None:
        sums = self[key]
        sums[:] = sums[0] + 1, sums[1] + (size or 0), sums[2] + (size == 0)


class _Tally:
    """Sums up nodes; a wrong attribute counts as nothing."""

    def __init__(self, peak: float | None, memory_bandwidth: float | None) -> None:
        self.roofline, self.times = (peak, memory_bandwidth), array("d")
        self.kinds, self.memory = Counter[Kind](), _Sums[Kind]()
        self.collectives, self.sends, self.receives = _Sums[CollectiveKey](), _Sums[int](), _Sums[int]()
        self.operations = self.size = self.duration = 0

    def watch(self, nodes: Iterable[Node]) -> Iterator[Node]:
        for node in nodes:
            self.add(node)
            time = compute_time(node, *self.roofline) if node.kind is Kind.COMP else 0.0
            self.times.append(np.nan if time is None else time)
            yield node

    def add(self, node: Node) -> None:
        self.kinds[node.kind] += 1
        size = amount(node, "comm_size")
        if node.kind is Kind.COMP:
            self.operations += amount(node, "num_ops") or 0
            self.size += amount(node, "tensor_size") or 0
            self.duration += node.duration
        elif node.kind is Kind.COMM_COLL and (use := _use(node)):
            self.collectives.add(use, size)
        elif node.kind is Kind.COMM_SEND:
            self.sends.add(amount(node, "comm_dst") or 0, size)
        elif node.kind is Kind.COMM_RECV:
            self.receives.add(amount(node, "comm_src") or 0, size)
        elif node.kind in (Kind.MEM_LOAD, Kind.MEM_STORE):
            self.memory.add(node.kind, amount(node, "tensor_size"))


def _use(node: Node) -> CollectiveKey | None:
    """Return the key of a collective, or None where its type is unknown."""
    collective = _COLLECTIVES.get(amount(node, "comm_type"))
    if collective is None:
        return None
    group, involved = node.attributes.get("pg_name"), node.attributes.get("involved_dim")
    return CollectiveKey(
        collective,
        "" if group is None or group.value in _WORLD else str(group.value),
        tuple(map(bool, involved.value)) if involved and isinstance(involved.value, tuple) else None,
    )
