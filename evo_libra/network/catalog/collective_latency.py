"""Time of collectives of serving beyond the bytes on their links, by link: measured tables, and their fits.

Software of 2024 and later reduces small messages in one or two shots, in kernels that CUDA graphs launch. Software
before it, and groups for which no such kernel exists, call NCCL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import BeyondBytes, Collective, Dispatch, NextStage
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.network.catalog.technologies import Catalog, Technology

_MICRO, _GIGA = 1e-6, 1e9
_AICONFIGURATOR = "communication tables of ai-dynamo/aiconfigurator 0.12 (2026)"

SIMULATED_FROM = 1e6
"""Bytes above which a time model with messages of its own times the bytes; below, the tables say the whole time."""


@dataclass(frozen=True)
class LinkLatency:
    """Collectives among n NPUs of a scale-up domain; S bytes of an all-reduce take the least of three times.

    These are ``start + n x each + (n - 1) S / rate`` in one shot, ``two_shots + 2 (n - 1) / n S / two_rate`` in two,
    and ``two_shots`` with the bytes of a large message, which run at the bus constants of the accelerator.

    Attributes
    ----------
    start, each, two_shots : s.
    rate, two_rate : B/s.
    all_to_all : s of an all-to-all of experts; `message` : s of a message to one NPU.
    source : of the figures, with its year.
    """

    start: float
    each: float
    rate: float
    two_shots: float
    two_rate: float
    all_to_all: float
    message: float
    source: str


@dataclass(frozen=True)
class NetworkLatency:
    """Collectives among NPUs of several servers m: ``start + step x log2(m)``, of each kind of them.

    Attributes
    ----------
    all_reduce, all_to_all, message : s; a doubling of the servers adds `step`, `all_to_all_step` or nothing.
    source : of the figures, with its year.
    """

    all_reduce: float
    step: float
    all_to_all: float
    all_to_all_step: float
    message: float
    source: str


def _link(figures: Sequence[float], source: str) -> LinkLatency:
    """Return constants from us, us, GB/s, us, GB/s, us and us."""
    start, each, rate, two_shots, two_rate, all_to_all, message = figures
    return LinkLatency(
        start=start * _MICRO, each=each * _MICRO, rate=rate * _GIGA, two_shots=two_shots * _MICRO,
        two_rate=two_rate * _GIGA, all_to_all=all_to_all * _MICRO, message=message * _MICRO, source=source,
    )  # fmt: skip


_NVLINK = f"fit to all-reduces in CUDA graphs of SGLang, vLLM and TensorRT-LLM, {_AICONFIGURATOR}"
_DEEPEP = "all-to-alls of DeepEP on H100 there"
_ASSUMED = "messages are assumed"

LINKS = {
    "nvlink3": _link((3.6, 0.15, 80, 14, 84, 13.5, 8), f"{_NVLINK}; {_DEEPEP}; {_ASSUMED}"),
    "nvlink4": _link((2.3, 0.12, 150, 7.4, 147, 13.5, 8), f"{_NVLINK}; {_DEEPEP}; {_ASSUMED}"),
    "nvlink5": _link(
        (3.6, 0.12, 230, 10, 200, 26, 8), f"{_NVLINK}; all-to-alls of TensorRT-LLM on GB200 NVL72 there; {_ASSUMED}"
    ),
    "pcie5": _link(
        (2.0, 2.8, 14, 25, 6, 40, 25), f"fit to vLLM on RTX Pro 6000, {_AICONFIGURATOR}; the last two assumed"
    ),
    "pcie4": _link(
        (2.0, 2.8, 4.7, 25, 1.3, 60, 25), f"fit to vLLM on L40S, {_AICONFIGURATOR}; the last two assumed"
    ),
    "other": _link((3.6, 0.15, 80, 14, 84, 26, 8), "class default of scale-up links: those of NVLink 3"),
}  # fmt: skip
"""Links of scale-up domains by kind."""

_SERVERS = (
    "60 us among two servers of eight, the middle of 46 to 48 (NVIDIA/nccl issue 1244, 2024) and 62 to 75 (issue 1453, "
    "2024), times 1.5 in service; 5 us for each of two steps of a tree (NCCL's tuning model); all-to-alls of DeepEP on "
    f"2 to 8 servers of H100, {_AICONFIGURATOR}; messages are assumed"
)
_ROCE = f"{_SERVERS}; RoCE 2 us more for each step, assumed: both were not measured on the same machines"
NETWORKS = {
    "infiniband": NetworkLatency(
        all_reduce=80e-6, step=10e-6, all_to_all=21e-6, all_to_all_step=3e-6, message=16e-6, source=_SERVERS
    ),
    "ethernet": NetworkLatency(
        all_reduce=80e-6, step=14e-6, all_to_all=23e-6, all_to_all_step=5e-6, message=18e-6, source=_ROCE
    ),
}
"""Networks of NICs by link layer."""

IN_SERVICE = 1.5
"""Time of a collective of NCCL in a step of serving, over that of one that is measured alone.

Fitted to the 22 rows of Llama 2 (2023) with the time of a layer fixed.
"""

EAGER = 23e-6
"""s of a collective that is launched from Python without a graph, at least: H100, vLLM 0.24, in the same tables."""


def kind_of(technology: Technology, layer: str | None) -> str:
    """Return the kind of a technology's links: one of `NETWORKS` beyond domains, one of `LINKS` inside of them.

    A network whose link layer nothing says counts as Ethernet, the slower one.

    >>> link_kind("nvlink4-h800"), link_kind("ici-v5p")
    ('nvlink4', 'other')
    """
    if technology.scale_out:
        return layer or "ethernet"
    return link_kind(technology.family)


def link_kind(technology: str) -> str:
    """Return the kind of scale-up links of a name."""
    name = technology.replace("nvlink6", "nvlink5")
    return next((kind for kind in LINKS if name.startswith(kind) and "c2c" not in name), "other")


def kinds_of(catalog: Catalog) -> tuple[str, ...]:
    """Return the kind of links of each technology."""
    layers = catalog.links.layer
    return tuple(kind_of(one, layers.get(one.family)) for one in catalog.technologies)


@dataclass(frozen=True)
class CollectiveSoftware:
    """Libraries that run the collectives of serving software.

    Attributes
    ----------
    nccl : time of those of NCCL in service over that of ones measured alone; None where kernels of the software run
        small ones.
    """

    nccl: float | None = None

    def inside(
        self, kind: str, accelerator: Accelerator, operation: Collective | Dispatch | NextStage,
        size: FloatArray, npus: FloatArray, *, eager: bool,
    ) -> FloatArray:  # fmt: skip
        """Return (n,) s beyond the bytes of an operation of (n,) bytes among (n,) NPUs of a domain.

        Parameters
        ----------
        kind : of the links, one of `LINKS`.
        eager : whether it is launched without a graph.
        """
        link, rate, bus = LINKS[kind], *_ports(accelerator, kind)
        if isinstance(operation, NextStage):
            return np.full(1, link.message)
        if isinstance(operation, Dispatch):
            return np.full(1, max(link.all_to_all, EAGER if eager else 0.0))
        passes = 2.0 if operation is Collective.ALL_REDUCE else 1.0
        carried = passes * (npus - 1.0) / npus
        if self.nccl is not None:
            times = self.nccl * _of_nccl(link, bus, operation, size, npus, carried=carried, rate=rate)
        else:
            whole = npus if operation is Collective.ALL_REDUCE else 1.0
            shot = link.start + npus * link.each + carried / passes * whole * size / link.rate
            times = np.minimum(shot, link.two_shots + carried * size / link.two_rate)
        if bus is not None:
            times = np.minimum(times, link.two_shots + carried * (size + bus.half_message) / rate)
        return np.maximum(np.maximum(times, EAGER if eager else 0.0) - carried * size / rate, 0.0)


def _of_nccl(
    link: LinkLatency, bus: BusConstants | None, operation: Collective, size: FloatArray, npus: FloatArray, *,
    carried: FloatArray, rate: float,
) -> FloatArray:  # fmt: skip
    """Return (n,) s of small collectives of NCCL; without measured ones, those of the two shots of other software."""
    if bus is None or bus.small is None:
        return np.asarray(link.two_shots + carried * size / link.two_rate)
    return bus.small.latency(operation, npus) + carried * size / (rate * bus.small.share / bus.large_share)


def _ports(accelerator: Accelerator, kind: str) -> tuple[float, BusConstants | None]:
    """Return the B/s that large collectives reach on the accelerator's links of a kind; infinite without any.

    Of several technologies of the kind it is the fastest one, whatever their order in a file.
    """
    known = [(accelerator.wire_rate(one), one) for one in accelerator.ports if link_kind(one) == kind]
    if not known:
        return np.inf, None
    wire, technology = max(known)
    bus = accelerator.bus.get(technology)
    return wire * (1.0 if bus is None else min(bus.large_share, 1.0)), bus


def between(kind: str, operation: Collective | Dispatch | NextStage, *, eager: bool) -> tuple[float, float]:
    """Return the s beyond bytes among servers, and those that a doubling of the servers adds.

    They are ``first + second x log2(servers)`` together.
    """
    network = NETWORKS[kind]
    if isinstance(operation, NextStage):
        return network.message, 0.0
    if isinstance(operation, Dispatch):
        floor = EAGER - network.all_to_all - network.all_to_all_step if eager else 0.0
        return network.all_to_all + max(floor, 0.0), network.all_to_all_step
    return network.all_reduce, network.step


KINDS = (*LINKS, *NETWORKS)
"""Kinds of links, by whose places in it arrays of kinds say them."""


def link_factor(load: BeyondBytes, extent: IntArray, kind: IntArray, outside: BoolArray) -> FloatArray:
    """Return (n,) the factor of seconds beyond bytes in groups of (d, n) NPUs of each dimension.

    Only the outermost links of a group count: beyond domains, those inside are in the measured times.

    Parameters
    ----------
    kind : (d, n) places in `KINDS` of the links of dimensions; -1 where they are open.
    outside : (d, n) which dimensions are beyond domains.
    """
    wide = outside & (extent > 1)
    part = np.where(wide.any(axis=0), wide, extent > 1)
    outermost = len(part) - 1 - part[::-1].argmax(axis=0)
    mine = np.take_along_axis(kind, outermost[None], axis=0)[0]
    found = part.any(axis=0) & (mine == KINDS.index(load.link))
    times = np.log2(np.where(wide, extent, 1).prod(axis=0)) if load.doubling else 1.0
    return np.asarray(found * times, dtype=np.float64)
