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
    if node.npu is not None:
        return node.npu
    technology, *_ = GENERATIONS.get(node.capability or 0, (None,))
    fitting = {name: npu for name, npu in load_accelerators().items() if technology in npu.ports}
    return next((name for name, npu in fitting.items() if npu.memory_capacity >= _COMMON), None)


def fabric_of(node: GpuNode, file: str, npu: str, buses: Sequence[tuple[str, int, float, str]]) -> NodeFabric:
    """Return the fabric around a server.

    Parameters
    ----------
    file : of the server, for its mistakes.
    npu : the accelerator, whose NVLink counts where the file does not say its generation.
    buses : measured collectives: file, ranks, bus bandwidth in B/s, name.

    Raises
    ------
    InputError : no building block is wired as the server, or a measurement is of no whole number of servers.
    """
    outer, assumed = _optics(node)
    pcie = _bus_of(npu) if node.gpus > 1 and not node.switched and not node.peers else None
    if pcie is None:
        code, inner, bandwidth = node_dimension(node, file, _capability(npu))
    else:
        code, inner, bandwidth = "SW", *pcie
        assumed.append(f"that GPUs of a server share {inner} as one switch because no GPU has NVLink")
    pin = {
        "dimension": 0, "npus": node.gpus, "block": _NAMES[code], "technology": inner,
        "bandwidth_GBps": bandwidth / GIGA,
    }  # fmt: skip
    fabric = {
        "catalog": CATALOG, "technologies": [inner, outer], "domains": {inner: [node.gpus]},
        "blocks": list(dict.fromkeys([_NAMES[code], "switch", "fat-tree"])), "max_dimensions": 3, "pin": [pin],
    }  # fmt: skip
    efficiency: dict[str, float] = {}
    for measured, ranks, bus, collective in buses:
        name, wire = _measured(node, measured, ranks, (inner, bandwidth), outer, collective=collective)
        if name in efficiency:
            raise InputError(Mistake(f"another file measures {name}, too; one of the two is needed", measured))
        if bus > _MOST_OF_WIRE * wire:
            raise InputError(Mistake(_contradiction(collective, ranks, bus, wire, name), measured, key="busbw"))
        if bus > wire:
            assumed.append(f"{measured}: measured {100 * bus / wire:.1f} % of the rate of {name}; capped at 100 %")
        if ranks > node.gpus and collective in _RINGS:
            assumed.append(f"{measured}: NCCL's rings use each NIC of a server once")
        efficiency[name] = min(bus / wire, 1.0)
    return NodeFabric(fabric, efficiency, tuple(assumed))


def _bus_of(npu: str) -> tuple[str, float] | None:
    """Return the PCI Express of an accelerator and its B/s each way; None where the catalogue has none."""
    ports = load_accelerators()[npu].ports if npu in load_accelerators() else {}
    rates = {kit.technology: kit.port_rate for kit in load_parts(CATALOG).kits if kit.technology in ports}
    return next(((name, rate) for name, rate in rates.items() if name.startswith("pcie")), None)


def _capability(npu: str) -> int | None:
    ports = load_accelerators()[npu].ports if npu in load_accelerators() else {}
    return next((sm for sm, (technology, *_) in GENERATIONS.items() if technology in ports), None)


def _optics(node: GpuNode) -> tuple[str, list[str]]:
    """Return the technology outside of a server: that of its fastest interfaces, or the next faster one."""
    known = [rate for rate in node.nics if rate is not None]
    if not known:
        return _USUAL, [f"{_USUAL} outside of the server because no file says the rate of its interfaces"]
    rate = max(known) / _GIGABIT
    each = max(known) if node.scale_out is None else min(node.scale_out, max(known))
    kits = load_parts(CATALOG).kits
    optics = {kit.technology: kit.port_rate for kit in kits if kit.technology.startswith(OPTICS)}
    fitting = [name for name, one in optics.items() if one >= each]
    chosen = min(fitting or optics, key=lambda name: optics[name] if fitting else -optics[name])
    if optics[chosen] == max(known):
        return chosen, []
    shared = f", {len(known)} for {node.gpus} GPUs, {each / GIGA:g} GB/s each" if each < max(known) else ""
    return chosen, [f"{chosen} for interfaces of {rate:g} Gb/s{shared}"]


_RINGS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
"""Collectives that NCCL sends around rings, which pass all interfaces of each server."""

_MOST_OF_WIRE = 1.15
"""Part of a wire rate above which a measurement is of another network; reduction in switches gives up to 1.1."""


def _contradiction(collective: str, ranks: int, bus: float, wire: float, name: str) -> str:
    measured = f"{collective} of {ranks} ranks has a bus of {bus / GIGA:.1f} GB/s"
    return f"{measured}; the wires of {name} give it {wire / GIGA:.1f} GB/s, so it is of another network or server"


def _measured(
    node: GpuNode, file: str, ranks: int, inner: tuple[str, float], outer: str, collective: str
) -> tuple[str, float]:
    """Return which technology a measurement is of, and the B/s of an NPU's bus that its wires have.

    NCCL's rings use every NIC of a server once, so the reported bus bandwidth is that of all NICs together (nccl-tests'
    PERFORMANCE.md: the slowest link has the bus bandwidth). Of the n - 1 parts that a rank sends in an all-to-all,
    n - g leave its server of g GPUs over its own part of the interfaces.
    """
    if ranks == node.gpus:
        return inner
    if ranks % node.gpus or ranks < node.gpus:
        message = f"found {ranks} ranks; servers of {node.gpus} GPUs are needed, all of each"
        raise InputError(Mistake(message, file, key="Rank"))
    if node.scale_out is None:
        message = f"found {ranks} ranks, of several servers, whose interfaces no file has; a topology of NCCL has them"
        raise InputError(Mistake(message, file, key="Rank"))
    if collective in _RINGS:
        return outer, min(node.scale_out * node.gpus, inner[1])
    if collective == "alltoall":
        return outer, node.scale_out * (ranks - 1) / (ranks - node.gpus)
    if collective == "sendrecv":
        return outer, node.scale_out
    allowed = ", ".join((*_RINGS, "alltoall", "sendrecv"))
    raise InputError(Mistake(f"found {collective} between servers; allowed: {allowed}", file))
