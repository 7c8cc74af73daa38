"""A server and its collectives as parts of a problem: NCCL's topology, `nvidia-smi topo -m`, nccl-tests."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from evo_libra.errors import InputError, Mistake
from evo_libra.exchange.gpu_matrix import read_gpu_matrix
from evo_libra.exchange.nccl_tests import large_messages, read_nccl_tests
from evo_libra.exchange.nccl_topology import read_nccl_topology
from evo_libra.exchange.reader import Draft, Reader
from evo_libra.exchange.samples import (
    MATRIX_A800,
    NCCL_ALL_GATHER,
    NCCL_BEFORE_OPERATIONS,
    NCCL_BEFORE_ROOTS,
    TOPOLOGY_A100,
)
from evo_libra.files.source import Source
from evo_libra.files.yaml_reader import Position

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
    return Draft(bus=(table.ranks, statistics.median(row.bus for row in rows)))


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
