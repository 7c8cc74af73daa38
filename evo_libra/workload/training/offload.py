"""Place of the optimizer and its states: on the NPUs, in hosts, on SSDs, in a server of the network, or behind its I/O.

Bytes and FLOP of a weight under Adam (DisDP, formerly LuWu, arXiv 2409.00918, section III.D and table III;
ZeRO-Offload, arXiv 2101.06840; ZeRO-Infinity, arXiv 2104.07857): states have 12 bytes, a weight and a gradient 2 each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.workload.plans.plans import HOST, IO, NETWORK, NPU, NVME, Plans

WEIGHT, GRADIENT, STATES = 2.0, 2.0, 12.0
"""Bytes of a weight in 16 bits, of its gradient, and of its optimizer states: master copy and two moments."""

ADAM_FLOP = 17.0
"""FLOP of an update of a weight."""

_UPDATE = 2.0 * (STATES + WEIGHT)
"""Bytes of host memory that an update reads and writes: states and gradient, then states and weight."""

HOST_MEMORY = GRADIENT + _UPDATE + WEIGHT
"""Bytes of host memory per weight of an update: the gradient comes in, and the weight goes out."""

NVME_MEMORY = GRADIENT + STATES + _UPDATE + STATES + WEIGHT
"""The same where states come from an SSD, and states and weight go back to it."""

READ_MEMORY = 2.0 * WEIGHT
"""Bytes of host memory per weight that comes from an SSD and goes on."""

SSD_UPDATE = STATES + WEIGHT
"""Bytes per weight and direction of an SSD: states and weight are read for the backward pass, and written."""

NVME_HOST_BYTES = 8.0
"""Bytes of host memory per weight of an NPU's share where states are on SSDs (assumed): weight, gradient, and a
gradient of 32 bits. DisDP (section IV.B) says that buffers of the host limit ZeRO-Infinity to 175B on 8 hosts of
256 GB, which is so for anything between 7.4 and 11.5 bytes."""


@dataclass(frozen=True)
class HostUpdate:
    """Software of the update in a host.

    Attributes
    ----------
    rate : weights per second that the processors of an NPU's share of its host update, at most.
    serial : the SSDs are read, the weights updated, and the SSDs written one after the other, in place of a pipeline.
    gradient : bytes of a weight's gradient that SSDs hold from the backward pass to the update.
    """

    rate: float = np.inf
    serial: bool = False
    gradient: float = 0.0


@dataclass(frozen=True)
class OffloadHost:
    """An NPU's share of its host; a rate that no source gives is None.

    Attributes
    ----------
    link : B/s between the NPU and the memory of its host, in each direction.
    memory_capacity, memory_bandwidth : B, and B/s of reads and writes together.
    flop_rate : FLOP/s of the processors.
    ssd_rate : B/s of the SSDs in each direction, with as many reads as writes; None without SSDs.
    update : software of the update.
    """

    link: float
    memory_capacity: float
    memory_bandwidth: float
    flop_rate: float
    ssd_rate: float | None
    update: HostUpdate = HostUpdate()


@dataclass(frozen=True)
class ParameterServer:
    """Servers that hold weights and states, or I/O channels to a memory that does, all of them together.

    Attributes
    ----------
    link : B/s to the network in each direction; a channel has no other limit.
    memory_bandwidth, flop_rate, ssd_rate : as of `OffloadHost`.
    """

    link: float
    memory_bandwidth: float
    flop_rate: float
    ssd_rate: float


@dataclass(frozen=True)
class Offload:
    """Places for optimizers.

    Attributes
    ----------
    host, server : None where the file names none.
    checkpoints : whether the inputs of layers that full recomputation keeps are in the host's memory.
    """

    host: OffloadHost | None = None
    server: ParameterServer | None = None
    checkpoints: bool = False


@dataclass(frozen=True)
class Stream:
    """Streams that a pass, or the update after the last one, waits for besides compute and the network.

    Attributes
    ----------
    name : the part of a report.
    seconds : (n,) of one pass or update.
    """

    name: str
    seconds: FloatArray


@dataclass(frozen=True)
class OffloadStreams:
    """Streams of a microbatch's forward and backward pass, and of the update, which comes after the last pass."""

    forward: tuple[Stream, ...] = ()
    backward: tuple[Stream, ...] = ()
    update: tuple[Stream, ...] = ()

    def beside(self, other: OffloadStreams) -> OffloadStreams:
        """Return the streams of both."""
        return OffloadStreams(self.forward + other.forward, self.backward + other.backward, self.update + other.update)


def in_window(plans: Plans) -> BoolArray:
    """Return (n,) whether NPUs hold the weights and gradients of a layer only, and the rest is elsewhere."""
    return np.isin(plans.optimizer, (NVME, NETWORK, IO))


def offload_streams(
    offload: Offload, plans: Plans, owned: FloatArray, served: FloatArray, activations: FloatArray
) -> OffloadStreams:
    """Return the streams of each plan; they are 0 where a plan has none.

    Parameters
    ----------
    owned : (n,) weights of an NPU that its host updates.
    served : (n,) weights that all servers or channels together send and update.
    activations : (n,) bytes of a microbatch that go to the host and come back.
    """
    found = OffloadStreams()
    if offload.host is not None:
        found = _of_host(offload.host, plans, owned, activations)
    if offload.server is None:
        return found
    server, mine = offload.server, np.where(plans.optimizer == NETWORK, served, 0.0)
    through = np.where(plans.optimizer == IO, served, mine)
    forward = (
        Stream("server link", WEIGHT * through / server.link),
        Stream("server SSD", WEIGHT * mine / server.ssd_rate),
        Stream("server memory", READ_MEMORY * mine / server.memory_bandwidth),
    )
    backward = (
        Stream("server link", WEIGHT * through / server.link),
        Stream("server SSD", SSD_UPDATE * mine / server.ssd_rate),
        Stream("server memory", (READ_MEMORY + NVME_MEMORY) * mine / server.memory_bandwidth),
        Stream("server compute", ADAM_FLOP * mine / server.flop_rate),
    )
    return OffloadStreams((*found.forward, *forward), (*found.backward, *backward), found.update)


def _of_host(host: OffloadHost, plans: Plans, owned: FloatArray, activations: FloatArray) -> OffloadStreams:
    """Return the streams of hosts.

    Weights on SSDs come up with each pass, and their gradients go down with the backward pass. If NPUs hold weights
    and gradients, these go down and come up with the update. The update is a pipeline: its slowest stream counts.
    If it is serial, SSDs have as many bytes a second whether they read, write or do both (assumed).
    """
    paged = np.where(plans.optimizer == NVME, owned, 0.0)
    updated = np.where(plans.optimizer == HOST, owned, paged)
    ssd_rate, software = np.inf if host.ssd_rate is None else host.ssd_rate, host.update
    memory = Stream("host memory", READ_MEMORY * paged / host.memory_bandwidth)
    paging = Stream("host SSD", WEIGHT * paged / ssd_rate), memory
    written = Stream("host SSD", max(WEIGHT, software.gradient) * paged / ssd_rate), memory
    # Full duplex: what the other direction carries at the same time is no more.
    forward = Stream("host link", np.maximum(activations, WEIGHT * paged) / host.link)
    backward = Stream("host link", (activations + WEIGHT * paged) / host.link)
    bytes_ = np.where(plans.optimizer == NVME, NVME_MEMORY, HOST_MEMORY)
    moved, computed = bytes_ * updated / host.memory_bandwidth, updated / min(host.flop_rate / ADAM_FLOP, software.rate)
    update = (
        Stream("host link", np.where(plans.optimizer == HOST, GRADIENT * owned, 0.0) / host.link),
        Stream("host SSD", _ssd_seconds(software, paged / ssd_rate, np.maximum(moved, computed))),
        Stream("host memory", moved),
        Stream("host compute", computed),
    )
    return OffloadStreams((forward, *paging), (backward, *written), update)


def _ssd_seconds(software: HostUpdate, weights: FloatArray, between: FloatArray) -> FloatArray:
    """Return (n,) seconds of the SSDs in an update; `between` is the update itself, which a serial one waits for.

    Parameters
    ----------
    weights : (n,) seconds of the SSDs for a byte of every weight in each direction.
    """
    read = STATES + software.gradient
    if not software.serial:
        return np.asarray(max(read, SSD_UPDATE) * weights)
    return np.asarray(np.where(weights > 0.0, (read + SSD_UPDATE) / 2.0 * weights + between, 0.0))


def host_memory(plans: Plans, owned: FloatArray, activations: FloatArray) -> FloatArray:
    """Return (n,) bytes of host memory that an NPU needs; `activations` are those of all microbatches in flight."""
    states = np.where(plans.optimizer == HOST, (STATES + GRADIENT) * owned, 0.0)
    buffers = np.where(plans.optimizer == NVME, NVME_HOST_BYTES * owned, 0.0)
    return np.asarray(states + buffers + activations)


def on_npu(plans: Plans) -> BoolArray:
    """Return (n,) whether NPUs hold the optimizer states and update weights."""
    return np.asarray(plans.optimizer == NPU)
