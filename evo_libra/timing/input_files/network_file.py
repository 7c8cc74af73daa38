"""ASTRA-sim's network file and its file of remote memory.

All of ASTRA-sim's files are read as ASTRA-sim 2.0 reads them. If it would hang, crash, or take a value that no user
wrote, reading is an error; what it passes over is accepted, with a notice.
"""

from __future__ import annotations

import difflib
import json
import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from evo_libra.errors import InputError, counted, printable, suggestion
from evo_libra.files.mistakes import short
from evo_libra.files.source import Source, StrictModel, validate
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.timing.collectives.phase import Link
from evo_libra.timing.machine import MemoryKind, RemoteMemory
from evo_libra.units import bandwidth_in_file, bandwidth_of_file

TOPOLOGIES = {"Ring": "ring", "FullyConnected": "fully-connected", "Switch": "switch"}
"""Names of blocks by ASTRA-sim's names."""

MOST_NPUS = 10**9


class HyphenModel(StrictModel):
    """A model of a file whose keys have hyphens."""

    model_config = ConfigDict(alias_generator=lambda key: key.replace("_", "-"))


class _NetworkSpec(StrictModel):
    topology: tuple[Literal["Ring", "FullyConnected", "Switch"], ...] = Field(min_length=1)
    npus_count: tuple[Annotated[int, Field(ge=2, le=MOST_NPUS)], ...]
    bandwidth: tuple[Annotated[float, Field(gt=0, le=1e15)], ...]
    latency: tuple[Annotated[float, Field(ge=0, le=1e15)], ...]


@dataclass(frozen=True)
class NetworkFile:
    """Dimensions of a network file, the innermost first: index of the block, B/s and ns of a link.

    Notices say what ASTRA-sim passes over, a sentence each.
    """

    block: tuple[int, ...]
    npus: tuple[int, ...]
    bandwidth: tuple[float, ...]
    latency: tuple[float, ...]
    notices: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[Link, ...]:
        """Links of each dimension, of one design."""
        columns = (np.array(values)[:, None] for values in (self.block, self.npus, self.bandwidth, self.latency))
        block, npus, bandwidth, latency = columns
        return tuple(Link(*row) for row in zip(block, npus, bandwidth, latency, strict=True))


def parse_network(source: Source) -> NetworkFile:
    """Return what a network file says.

    An InputError lists all mistakes of a kind: keys that are missing or wrong, lists that are not of one length,
    dimensions of fewer than two NPUs, bandwidths not above 0, latencies below 0.
    """
    known, notices = known_keys(source, _NetworkSpec, "network file")
    spec = validate(_NetworkSpec, known)
    mistakes = [
        source.mistake((key,), f"has {counted(len(values), 'item')}, topology has {len(spec.topology)}")
        for key in ("npus_count", "bandwidth", "latency")
        if len(values := getattr(spec, key)) != len(spec.topology)
    ]
    if not mistakes and (total := math.prod(spec.npus_count)) > MOST_NPUS:
        mistakes.append(source.mistake(("npus_count",), f"found {total} NPUs in all, at most {MOST_NPUS} are read"))
    if mistakes:
        raise InputError(mistakes)
    block = tuple(BLOCK_NAMES.index(TOPOLOGIES[topology]) for topology in spec.topology)
    return NetworkFile(block, spec.npus_count, tuple(map(bandwidth_of_file, spec.bandwidth)), spec.latency, notices)


def network_text(network: NetworkFile) -> str:
    """Return the file that says this of a network, without its notices."""
    names = {block: topology for topology, block in TOPOLOGIES.items()}
    rows = {
        "topology": [names[BLOCK_NAMES[block]] for block in network.block],
        "npus_count": [str(npus) for npus in network.npus],
        "bandwidth": [repr(bandwidth_in_file(bandwidth)) for bandwidth in network.bandwidth],
        "latency": [repr(float(latency)) for latency in network.latency],
    }
    units = {"bandwidth": "  # GB/s of 2^30 bytes, of a link in each direction", "latency": "  # ns of a link"}
    return "".join(f"{key}: [ {', '.join(items)} ]{units.get(key, '')}\n" for key, items in rows.items())


class _MemorySpec(HyphenModel):
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
    """Return the file that says this of the remote memory of some NPUs, from which the number of nodes follows."""
    keys: dict[str, object] = {"memory-type": memory.kind.value}
    if memory.kind is not MemoryKind.NONE:
        keys |= {"remote-mem-latency": memory.latency, "remote-mem-bw": memory.bandwidth}
    if memory.kind is MemoryKind.PER_NODE:
        keys |= {"num-nodes": -(-npus // memory.npus_per_node), "num-npus-per-node": memory.npus_per_node}
    return json.dumps(keys, indent=2) + "\n"


def known_keys(source: Source, model: type[BaseModel], what: str) -> tuple[Source, tuple[str, ...]]:
    """Return a file without the keys that a model does not have, and a notice of each.

    A key that resembles a required one that is missing stays: it is a slip of the pen, and validation says so. An
    InputError refuses a file that has other keys only: it is not what it should be.
    """
    if not isinstance(source.data, dict):
        return source, ()
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    missing = [name for name, field in fields.items() if field.is_required() and name not in source.data]
    strange = [key for key in source.data if key not in fields and not difflib.get_close_matches(key, missing, n=1)]
    notices = [f"{short(printable(key))}: ASTRA-sim does not read this key{suggestion(key, fields)}" for key in strange]
    if len(strange) == len(source.data) > 0:
        needed, found = ", ".join(missing), short(printable(", ".join(map(str, strange))))
        raise InputError(source.mistake((), f"is no {what} of ASTRA-sim, which has the keys {needed}; found: {found}"))
    kept = {key: value for key, value in source.data.items() if key not in strange}
    return replace(source, data=kept), tuple(notices)
