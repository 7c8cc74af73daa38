"""A server and its collectives as parts of a problem: NCCL's topology, `nvidia-smi topo -m`, nccl-tests."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from typing import Any

from evo_libra.errors import InputError, Mistake
from evo_libra.exchange.formats import Draft, Reader
from evo_libra.exchange.gpu_node import MOST_GPUS, MOST_LINKS, GpuNode
from evo_libra.exchange.nccl import large_messages, read_nccl_tests, read_nccl_topology
from evo_libra.exchange.samples import (
    MATRIX_A800,
    NCCL_ALL_GATHER,
    NCCL_BEFORE_OPERATIONS,
    NCCL_BEFORE_ROOTS,
    TOPOLOGY_A100,
)
from evo_libra.files.source import Source
from evo_libra.files.yaml_reader import Position

_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_GPU = re.compile(r"GPU[0-9]{1,4}")
_NIC = re.compile(r"NIC[0-9]{1,4}|mlx[0-9]+_[A-Za-z0-9_]+|bnxt_re[0-9]+|rdmap[0-9a-z]+|hfi[0-9_]+")
_PATH = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|NV[0-9]{1,2}")
_MOST_DIRECT = 18
"""Links of a GPU; where those to all peers add up to more, each is over switches and is counted for every peer."""


def read_gpu_matrix(text: str, file: str) -> GpuNode:
    """Return the server of a matrix; it says neither the generation of NVLink nor what interfaces send.

    Raises `InputError` with the line and the two ends of what cannot be read.
    """
    lines = [_ESCAPE.sub("", line) for line in text.splitlines()]
    head = next((at for at, line in enumerate(lines) if line.split()[:1] == ["GPU0"] and "X" not in line.split()), None)
    if head is None:
        raise InputError(Mistake("no header with GPU0 was found; the output of `nvidia-smi topo -m` is read", file))
    names = _names(lines[head])
    if len(set(names)) < len(names):
        raise InputError(Mistake("a name comes twice in the header", file, head + 1))
    gpus = [name for name in names if _GPU.fullmatch(name)]
    if len(gpus) > MOST_GPUS:
        raise InputError(Mistake(f"more than {MOST_GPUS} GPUs are not read", file, head + 1))
    rows = _rows(lines, head, names, file)
    missing = [name for name in gpus if name not in rows]
    if missing:
        raise InputError(Mistake(f"the row of {missing[0]} is missing", file, head + 1, key=missing[0]))
    return _node(gpus, names, rows, file)


def _names(line: str) -> list[str]:
    """Return the columns that have a row; those of affinities come after them."""
    found: list[str] = []
    for word in line.split():
        if not (_GPU.fullmatch(word) or _NIC.fullmatch(word)):
            break
        found.append(word)
    return found


def _rows(lines: list[str], head: int, names: list[str], file: str) -> dict[str, tuple[int, list[str]]]:
    rows: dict[str, tuple[int, list[str]]] = {}
    known = set(names)
    for at, line in enumerate(lines[head + 1 :], head + 2):
        words = line.split()
        if not words or words[0] not in known:
            if words and words[0].startswith("Legend"):
                break
            continue
        name, cells = words[0], words[1 : len(names) + 1]
        if name in rows:
            raise InputError(Mistake("this row comes twice", file, at, key=name))
        if len(cells) < len(names):
            raise InputError(Mistake(f"found {len(cells)} cells; {len(names)} are needed", file, at, key=name))
        for other, cell in zip(names, cells, strict=True):
            if not _PATH.fullmatch(cell) or (cell == "X") != (name == other):
                message = f"found {cell!r:.40}; allowed: X of itself, SYS, NODE, PHB, PXB, PIX and NV with a number"
                raise InputError(Mistake(message, file, at, key=f"{name}.{other}"))
        rows[name] = (at, cells)
    return rows


def _node(gpus: list[str], names: list[str], rows: dict[str, tuple[int, list[str]]], file: str) -> GpuNode:
    peers: dict[tuple[int, int], int] = {}
    column = {name: place for place, name in enumerate(names)}
    for first, name in enumerate(gpus):
        line, cells = rows[name]
        for second, other in enumerate(gpus):
            cell = cells[column[other]]
            if not cell.startswith("NV"):
                continue
            if rows[other][1][column[name]] != cell or not 0 < int(cell[2:]) <= MOST_LINKS:
                message = f"found {cell}; the other direction has to say the same, from NV1 to NV{MOST_LINKS}"
                raise InputError(Mistake(message, file, line, key=f"{name}.{other}"))
            peers[first, second] = int(cell[2:])
    nics = tuple(None for name in names if not _GPU.fullmatch(name))
    each, alike = len(gpus) - 1, set(peers.values())
    complete = len(peers) == len(gpus) * each and len(alike) == 1
    if complete and max(alike) * each > _MOST_DIRECT:
        return GpuNode(len(gpus), {}, alike.pop(), None, nics)
    return GpuNode(len(gpus), peers, 0, None, nics)


_NODE, _TESTS = "node", "tests"


def _parser(key: str, read: Callable[[str, str], Any]) -> Callable[[str, str], Source]:
    """Return what makes a source of a text that is read as a whole."""
    return lambda text, file: Source(file, {key: read(text, file)}, {(): Position(file, 1, 1)})


def _read_node(source: Source) -> Draft:
    return Draft(node=source.data[_NODE])


def _read_tests(source: Source) -> Draft:
    table = source.data[_TESTS]
    if not table.ranks:
        raise InputError(Mistake("no line `#  Rank ...` was found; it says how many GPUs took part", source.file))
    rows = large_messages(table)
    if not rows:
        raise InputError(
            Mistake("no message of 30 MB and more was found; smaller ones wait for latencies", source.file)
        )
    return Draft(
        bus=(table.ranks, statistics.median(row.bus for row in rows)), collective=table.collective, gpu=table.device
    )


def _has(key: str) -> Callable[[Source], bool]:
    return lambda source: isinstance(source.data, dict) and key in source.data and not isinstance(source.data[key], str)


_TOPOLOGY = """<system version="1">
<pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" sm="90">
<nvlink target="0000:05:00.0" count="18" tclass="0x068000"/>
</gpu></pci>
<pci busid="0000:02:00.0" class="0x030200"><gpu dev="1" sm="90">
<nvlink target="0000:05:00.0" count="18" tclass="0x068000"/>
</gpu></pci>
<pci busid="0000:03:00.0"><nic><net name="mlx5_0" speed="400000"/></nic></pci>
<pci busid="0000:04:00.0"><nic><net name="mlx5_1" speed="400000"/></nic></pci>
</system>
"""
_MATRIX = """\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\tPIX\t0-47\t0
GPU1\tNV18\t X \tSYS\t0-47\t0
NIC0\tPIX\tSYS\t X

Legend:
  X    = Self
"""
_OUTPUT = """# nThread 1 nGpus 2
#  Rank  0 Group  0 Pid     71 on       node device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid     71 on       node device  1 [0x43] NVIDIA H100 80GB HBM3
#       size         count    type redop root    time   algbw   busbw wrong   time   algbw   busbw wrong
    33554432       8388608     float  sum  -1    112.5  298.26  298.26  0    112.7  297.73  297.73  0
   134217728      33554432     float  sum  -1    402.1  333.79  333.79  0    402.5  333.46  333.46  0
"""

READERS = (
    Reader(
        "nccl-topology", "the XML that NCCL writes to `NCCL_TOPO_DUMP_FILE`: a server", _has(_NODE), read=_read_node,
        samples=(_TOPOLOGY, TOPOLOGY_A100), parse=_parser(_NODE, read_nccl_topology), mark="<system",
    ),
    Reader(
        "nvidia-smi", "what `nvidia-smi topo -m` prints: a server", _has(_NODE), read=_read_node,
        samples=(_MATRIX, MATRIX_A800), parse=_parser(_NODE, read_gpu_matrix), mark="GPU0",
    ),
    Reader(
        "nccl-tests", "the output of one of the nccl-tests: what collectives reach of a bandwidth", _has(_TESTS),
        read=_read_tests, samples=(_OUTPUT, NCCL_ALL_GATHER, NCCL_BEFORE_ROOTS, NCCL_BEFORE_OPERATIONS),
        parse=_parser(_TESTS, read_nccl_tests), mark="busbw",
    ),
)  # fmt: skip
