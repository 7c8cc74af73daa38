"""Themis as its paper has it (Rashidi et al., ISCA 2022): collectives whose chunks choose their own way.

It differs from ASTRA-sim's implementation: loads are times and begin at each dimension's fixed latency, the threshold
is a time, latency delays a chunk but does not keep its dimension busy, and nothing is rounded to bytes or nanoseconds.
Bandwidth is all that an NPU sends in a dimension. The paper's algorithm schedules all-reduce, reduce-scatter and
all-gather; an all-to-all, which it leaves alone, takes the dimensions in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, LINE, RING
from evo_libra.timing.collectives.queues import finish, tiles
from evo_libra.timing.collectives.queues_numpy import SCATTERS, Joining, max_bits
from evo_libra.timing.names import Policy

Bytes = FloatArray | IntArray | float
"""Bytes of a message, a number or (n,)."""

_FRACTION = 16
_BITS = 35
"""The queues count in whole numbers, the paper does not: the bits of all phases of a design together."""

_RS, _AG, _AR = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE
_A2A = Collective.ALL_TO_ALL


@dataclass(frozen=True)
class Fabrics:
    """Networks as the paper describes them; a dimension of one NPU is passed over.

    Attributes
    ----------
    block : (d, n) index into the table of blocks; rings and lines run ring, fully connected dimensions direct and
        switches halving-doubling algorithms.
    npus : (d, n).
    bandwidth : (d, n) bytes per ns of an NPU.
    latency : (d, n) ns of a step.
    """

    block: IntArray
    npus: IntArray
    bandwidth: FloatArray
    latency: FloatArray

    def fixed_latency(self) -> FloatArray:
        """Return the (d, n) ns of the steps of a reduce-scatter, which an all-gather has too."""
        doubling = np.ceil(np.log2(self.npus))
        steps = np.where(self.block == RING, self.npus - 1, np.where(self.block == FULLY_CONNECTED, 1, doubling))
        # A message on a line passes two links, see `evo_libra.timing.collectives.block_phase.line_time`.
        steps = np.where(self.block == LINE, (self.npus - 1) * np.minimum(self.npus - 1, 2), steps)
        return np.asarray(steps * self.latency)

    def total_bandwidth(self) -> FloatArray:
        """Return (n,) the bytes per ns of an NPU in all dimensions together."""
        return np.asarray(np.where(self.npus > 1, self.bandwidth, 0.0).sum(axis=0))

    def involved(self, taking: Sequence[bool] | None) -> Fabrics:
        """Return the networks of the dimensions that take part, all when left out."""
        if taking is None:
            return self
        return replace(self, npus=np.where(np.array(taking, dtype=np.bool_)[:, None], self.npus, 1))

    def packed(self, designs: IntArray, depth: int) -> Fabrics:
        """Return some designs of a number of dimensions, without the unused ones."""
        used = np.argsort(self.npus[:, designs] == 1, axis=0, kind="stable")[:depth]
        fields = ("block", "npus", "bandwidth", "latency")
        return replace(self, **{name: getattr(self, name)[used, designs] for name in fields})


def paper_time(
    collective: Collective,
    size: Bytes,
    fabrics: Fabrics,
    involved: Sequence[bool] | None = None,
    *,
    chunks: int | IntArray = 64,
    greedy: bool = True,
    policy: Policy = Policy.SMALLEST_CHUNK_FIRST,
) -> FloatArray:
    """Return (n,) ns of one collective that all NPUs begin at once.

    A reduce-scatter is the first half of an all-reduce, with the loads of that half; an all-gather is a reduce-scatter
    of the gathered message the other way round. An all-to-all takes each dimension with the whole message and, as the
    paper gives none, with the latency of a reduce-scatter.

    Parameters
    ----------
    collective : what runs.
    size : bytes, a number or (n,): the whole message, for an all-gather the shard.
    fabrics : the networks.
    involved : dimensions that take part; all when left out.
    chunks : equal parts that the message is cut into, a number or (n,).
    greedy : whether chunks go from the least loaded dimension to the most loaded one, or all from the inside out.
    policy : which chunk a dimension takes first; FIFO, or the one with the least bytes in it. A ValueError refuses
        others.
    """
    if policy not in {Policy.FIFO, Policy.SMALLEST_CHUNK_FIRST}:
        raise ValueError(f"Themis' paper has no policy {policy.value}")
    fabrics = fabrics.involved(involved)
    depth = (fabrics.npus > 1).sum(axis=0)
    count, bytes_ = (np.broadcast_to(np.asarray(given), depth.shape) for given in (chunks, size))
    time = np.zeros(len(depth))
    for dims in np.unique(depth[depth > 0]).tolist():
        alike = np.flatnonzero(depth == dims)
        for tile in tiles(count[alike], 4 * dims):
            designs = alike[tile]
            some = fabrics.packed(designs, dims)
            time[designs] = _time(collective, bytes_[designs], some, count[designs], greedy=greedy, policy=policy)
    return time


def ideal_time(collective: Collective, size: Bytes, fabrics: Fabrics) -> FloatArray:
    """Return (n,) ns of a collective that fills all bandwidth (table 3: "collective size / total BW").

    The size is what an NPU sends: figure 12 has 2 (1 - 1/P) times the message for an all-reduce of P NPUs.
    """
    return sent(collective, size, fabrics) / np.maximum(fabrics.total_bandwidth(), np.finfo(np.float64).tiny)


def utilisation(collective: Collective, size: Bytes, fabrics: Fabrics, time: FloatArray) -> FloatArray:
    """Return (n,) the share of all bandwidth that a collective of some ns uses."""
    return np.asarray(sent(collective, size, fabrics) / (time * fabrics.total_bandwidth()))


def sent(collective: Collective, size: Bytes, fabrics: Fabrics) -> FloatArray:
    """Return the (n,) bytes that an NPU sends in all dimensions together, in whatever order it takes them."""
    if collective is _A2A:
        return np.asarray((size * (1.0 - 1.0 / fabrics.npus)).sum(axis=0))
    total = fabrics.npus.prod(axis=0)
    return np.asarray(_whole(collective, size, total) * (1.0 - 1.0 / total))


def _whole(collective: Collective, size: Bytes, total: IntArray) -> FloatArray:
    """Return the (n,) bytes of the reduce-scatter that sends as much."""
    if collective is _AG:
        return np.asarray(size * total)
    return np.full(len(total), 2.0 * size if collective is _AR else size, dtype=np.float64)


def _time(
    collective: Collective,
    size: FloatArray | IntArray,
    fabrics: Fabrics,
    count: IntArray,
    *,
    greedy: bool,
    policy: Policy,
) -> FloatArray:
    """Return (n,) ns of designs that use all of their dimensions."""
    depth, designs = fabrics.npus.shape
    chunks, every = int(count.max()), np.arange(designs)
    resident = size / count
    if greedy and collective is not _A2A:
        gathered = resident * fabrics.npus.prod(axis=0) if collective is _AG else resident
        order = _orders(gathered, fabrics, chunks, times=2.0 if collective is _AR else 1.0)
    else:
        order = np.broadcast_to(np.arange(depth)[:, None, None], (depth, chunks, designs))
    way = order[::-1] if collective is _AG else order
    if collective is _AR:
        way = np.concatenate([order, order[::-1]])
    fixed, share = fabrics.fixed_latency(), (fabrics.npus - 1) / fabrics.npus
    resident = np.broadcast_to(resident, (chunks, designs))
    busy, delay, bytes_ = (np.empty(way.shape) for _ in range(3))
    for phase, dimension in enumerate(way):
        npus, gathers = fabrics.npus[dimension, every], collective is _AG or phase >= depth
        bytes_[phase] = resident
        largest = resident * npus if gathers else resident
        busy[phase] = share[dimension, every] * largest / fabrics.bandwidth[dimension, every]
        delay[phase] = fixed[dimension, every]
        if collective is not _A2A:
            resident = largest if gathers else resident / npus
    # A phase keeps its dimension busy, then its chunk is under way for the latency, where it waits for no other chunk.
    stages = np.stack([busy, delay], axis=1).reshape(-1, chunks, designs)
    server = np.stack([way, np.full_like(way, depth)], axis=1).reshape(stages.shape)
    joining = Joining(policy, np.full(stages.shape[:2], SCATTERS), np.repeat(bytes_, 2, axis=0))
    slots = np.array([1] * depth + [chunks])
    stages *= np.arange(chunks)[:, None] < count
    bits = min(_BITS, max_bits(slots, *stages.shape[:2]) - 1)
    scale = 2.0 ** np.floor(bits - np.log2(stages.sum(axis=(0, 1))))
    return np.asarray(finish(server, np.rint(stages * scale), slots, joining, count=count) / scale)


def _orders(chunk: FloatArray, fabrics: Fabrics, chunks: int, *, times: float) -> IntArray:
    """Return (d, k, n) the dimensions of each chunk, scattering; it gathers the other way round (algorithm 1).

    A chunk loads a dimension with `times` its scattering.
    """
    depth, designs = fabrics.npus.shape
    every = np.arange(designs)
    load = times * fabrics.fixed_latency()
    share = (fabrics.npus - 1) / fabrics.npus
    orders = np.empty((depth, chunks, designs), dtype=np.int64)
    for place in range(chunks):
        least = load.argmin(axis=0)
        threshold = share[least, every] * (chunk / _FRACTION) / fabrics.bandwidth[least, every]
        even = np.ptp(load, axis=0) < threshold
        order = np.where(even, np.arange(depth)[:, None], np.argsort(load, axis=0, kind="stable"))
        resident = chunk
        for dimension in order:
            load[dimension, every] += times * share[dimension, every] * resident / fabrics.bandwidth[dimension, every]
            resident = resident / fabrics.npus[dimension, every]
        orders[:, place] = order
    return orders
