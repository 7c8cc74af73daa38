"""The networks around a server that exists: its own links are fixed, and what is outside of it is searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError, Mistake
from evo_libra.exchange.gpu_node import GENERATIONS, GpuNode, node_dimension
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.network.catalog.parts import load_parts

_NAMES = {block.code: block.name for block in BLOCKS}
_COMMON = 80e9
"""Bytes of memory that an accelerator has at least; a topology does not say it."""

_GIGABIT = 1e9 / 8
CATALOG, OPTICS = "parts-2024", "optics-"
"""The catalogue of problems that are imported, and how the names of its optics begin."""

_USUAL = "optics-400g"
"""Network outside of a server whose file does not say the rate of its interfaces."""


@dataclass(frozen=True)
class NodeFabric:
    """The fabric of a problem file, what traffic reaches of its technologies, and what no file said."""

    fabric: Mapping[str, Any]
    efficiency: Mapping[str, float]
    assumed: tuple[str, ...]


def npu_of(node: GpuNode) -> str | None:
    """Return an accelerator of the catalogue with the NVLink of a server; None where the file does not say which."""
    technology, *_ = GENERATIONS.get(node.capability or 0, (None,))
    fitting = {name: npu for name, npu in load_accelerators().items() if technology in npu.ports}
    return next((name for name, npu in fitting.items() if npu.memory_capacity >= _COMMON), None)


def fabric_of(node: GpuNode, file: str, npu: str, buses: Sequence[tuple[str, int, float]]) -> NodeFabric:
    """Return the fabric around a server.

    Parameters
    ----------
    file : of the server, for its mistakes.
    npu : the accelerator, whose NVLink counts where the file does not say its generation.
    buses : measured collectives: file, ranks, bus bandwidth in B/s.

    Raises
    ------
    InputError : no building block is wired as the server, or a measurement is of no whole number of servers.
    """
    code, inner, bandwidth = node_dimension(node, file, _capability(npu))
    outer, assumed = _optics(node)
    pin = {
        "dimension": 0, "npus": node.gpus, "block": _NAMES[code], "technology": inner,
        "bandwidth_GBps": bandwidth / GIGA,
    }  # fmt: skip
    fabric = {
        "catalog": CATALOG, "technologies": [inner, outer], "domains": {inner: [node.gpus]},
        "blocks": list(dict.fromkeys([_NAMES[code], "switch", "fat-tree"])), "max_dimensions": 3, "pin": [pin],
    }  # fmt: skip
    efficiency: dict[str, float] = {}
    for measured, ranks, bus in buses:
        name, wire = _measured(node, measured, ranks, (inner, bandwidth), outer)
        if name in efficiency:
            raise InputError(Mistake(f"another file measures {name}, too; one of the two is needed", measured))
        if bus > wire:
            assumed.append(f"{measured}: measured {100 * bus / wire:.1f} % of the rate of {name}; capped at 100 %")
        if ranks > node.gpus:
            assumed.append(f"{measured}: NCCL's rings use each NIC of a server once")
        efficiency[name] = min(bus / wire, 1.0)
    return NodeFabric(fabric, efficiency, tuple(assumed))


def _capability(npu: str) -> int | None:
    ports = load_accelerators()[npu].ports if npu in load_accelerators() else {}
    return next((sm for sm, (technology, *_) in GENERATIONS.items() if technology in ports), None)


def _optics(node: GpuNode) -> tuple[str, list[str]]:
    """Return the technology outside of a server: that of its fastest interfaces, or the next faster one."""
    known = [rate for rate in node.nics if rate is not None]
    if not known:
        return _USUAL, [f"{_USUAL} outside of the server, as no file says the rate of its interfaces"]
    rate = max(known) / _GIGABIT
    kits = load_parts(CATALOG).kits
    optics = {kit.technology: kit.port_rate for kit in kits if kit.technology.startswith(OPTICS)}
    fitting = [name for name, one in optics.items() if one >= max(known)]
    chosen = min(fitting or optics, key=lambda name: optics[name] if fitting else -optics[name])
    exact = optics[chosen] == max(known)
    return chosen, [] if exact else [f"{chosen} for interfaces of {rate:g} Gb/s"]


def _measured(node: GpuNode, file: str, ranks: int, inner: tuple[str, float], outer: str) -> tuple[str, float]:
    """Return which technology a measurement is of, and the B/s of an NPU's bus that its wires have.

    Rings between servers pass all interfaces of each server, one after the other, so that the bus of every GPU has the
    bandwidth of all of them (nccl-tests' PERFORMANCE.md: the bus bandwidth is that of the slowest link).
    """
    if ranks == node.gpus:
        return inner
    if ranks % node.gpus or ranks < node.gpus:
        message = f"found {ranks} ranks; servers of {node.gpus} GPUs are needed, all of each"
        raise InputError(Mistake(message, file, key="Rank"))
    if node.scale_out is None:
        message = f"found {ranks} ranks, of several servers, whose interfaces no file has; a topology of NCCL has them"
        raise InputError(Mistake(message, file, key="Rank"))
    return outer, min(node.scale_out * node.gpus, inner[1])
