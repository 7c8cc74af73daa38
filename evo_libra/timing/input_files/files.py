"""What ASTRA-sim's files say of a cluster: its network, its system, its remote memory.

They are read as ASTRA-sim 2.0 reads them. Where it would hang, crash, or take a value that nobody wrote, reading is an
error; what it passes over is accepted, with a notice.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from evo_libra.errors import InputError
from evo_libra.files.source import Source, read_source, validate
from evo_libra.timing.input_files.network_file import MOST_NPUS, NetworkFile, known_keys, network_text, parse_network
from evo_libra.timing.input_files.system_file import SystemFile, parse_system, system_text
from evo_libra.timing.machine import Machine, MemoryKind, RemoteMemory

__all__ = [
    "Machine", "NetworkFile", "SystemFile", "memory_text", "network_text", "parse_memory", "parse_network",
    "parse_system", "read_machine", "read_memory", "read_network", "read_system", "system_text",
]  # fmt: skip


def read_network(path: Path) -> NetworkFile:
    """Read a network file; see `parse_network` for the errors."""
    return parse_network(read_source(path))


def read_system(path: Path, network: NetworkFile) -> SystemFile:
    """Read the system file of a network; see `parse_system` for the errors."""
    return parse_system(read_source(path), network)


def read_memory(path: Path) -> tuple[RemoteMemory, tuple[str, ...]]:
    """Read a file of remote memory; see `parse_memory`."""
    return parse_memory(read_source(path))


def read_machine(network: Path, system: Path, memory: Path | None = None) -> tuple[Machine, tuple[str, ...]]:
    """Read a cluster as released versions of ASTRA-sim 2 read it, without schedulers, and the notices of its files.

    Without a file of remote memory there is none. An InputError says what is wrong with a file.
    """
    links = read_network(network)
    file = read_system(system, links)
    remote, notices = (RemoteMemory(), ()) if memory is None else read_memory(memory)
    all_notices = [(network, links.notices), (system, file.notices), (memory, notices)]
    machine = Machine(links.links, file.system, file.compute, remote)
    return machine, tuple(f"{path}: {notice}" for path, some in all_notices for notice in some)


class _MemorySpec(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, alias_generator=lambda key: key.replace("_", "-")
    )

    memory_type: Literal["NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"]
    remote_mem_latency: Annotated[float, Field(ge=0, le=1e15)] | None = None
    remote_mem_bw: Annotated[float, Field(gt=0, le=1e15)] | None = None
    num_nodes: Annotated[int, Field(ge=1, le=MOST_NPUS)] | None = None
    num_npus_per_node: Annotated[int, Field(ge=1, le=MOST_NPUS)] | None = None


def parse_memory(source: Source) -> tuple[RemoteMemory, tuple[str, ...]]:
    """Return what a file of remote memory says, and notices of what ASTRA-sim passes over."""
    known, notices = known_keys(source, _MemorySpec, "file of remote memory")
    spec = validate(_MemorySpec, known)
    kind = MemoryKind(spec.memory_type)
    if kind is MemoryKind.NONE:
        return RemoteMemory(), notices
    needed = {"remote-mem-latency": spec.remote_mem_latency, "remote-mem-bw": spec.remote_mem_bw}
    if kind is MemoryKind.PER_NODE:
        needed |= {"num-nodes": spec.num_nodes, "num-npus-per-node": spec.num_npus_per_node}
    missing = [key for key, value in needed.items() if value is None]
    if missing:
        raise InputError(
            source.mistake((key,), f"a required key is missing; memory-type is {kind.value}") for key in missing
        )
    latency, bandwidth = spec.remote_mem_latency or 0.0, spec.remote_mem_bw or 1.0
    return RemoteMemory(kind, latency, bandwidth, spec.num_npus_per_node or 1), notices


def memory_text(memory: RemoteMemory, npus: int = 1) -> str:
    """Return the file that says this of the remote memory of some NPUs, of which the number of nodes follows."""
    keys: dict[str, object] = {"memory-type": memory.kind.value}
    if memory.kind is not MemoryKind.NONE:
        keys |= {"remote-mem-latency": memory.latency, "remote-mem-bw": memory.bandwidth}
    if memory.kind is MemoryKind.PER_NODE:
        keys |= {"num-nodes": -(-npus // memory.npus_per_node), "num-npus-per-node": memory.npus_per_node}
    return json.dumps(keys, indent=2) + "\n"
