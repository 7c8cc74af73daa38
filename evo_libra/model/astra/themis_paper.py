"""Themis as its paper has it (Rashidi et al., ISCA 2022): an all-reduce whose chunks choose their own way.

It differs from ASTRA-sim's implementation: loads are times and begin at each dimension's fixed latency, the threshold
is a time, and latency delays a chunk but does not keep its dimension busy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.astra.phase import FULLY_CONNECTED, RING
from evo_libra.model.astra.queues import SCATTERS, Joining, Policy, finish

_FRACTION = 16
_PICOSECONDS = 1000.0
"""In a nanosecond: the queues count in whole numbers, the paper does not."""


@dataclass(frozen=True)
class Fabrics:
    """Networks as the paper describes them, all dimensions in use.

    Attributes
    ----------
    block : (d, n) index into `evo_libra.model.fabric.BLOCKS`; rings run ring, fully connected dimensions direct and
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
        return np.asarray(steps * self.latency)


def all_reduce_time(
    size: float,
    fabrics: Fabrics,
    *,
    chunks: int = 64,
    greedy: bool = True,
    policy: Policy = Policy.SMALLEST_CHUNK_FIRST,
) -> FloatArray:
    """Return (n,) ns of an all-reduce.

    Parameters
    ----------
    size : bytes.
    fabrics : the networks.
    chunks : equal parts that the message is cut into.
    greedy : whether chunks go from the least loaded dimension to the most loaded one, or all from the inside out.
    policy : which chunk a dimension takes first; FIFO, or the one with the least bytes in it.
    """
    depth, designs = fabrics.npus.shape
    order = _orders(size / chunks, fabrics, chunks) if greedy else _in_order(depth, chunks, designs)
    way = np.concatenate([order, order[::-1]])
    fixed, share = fabrics.fixed_latency(), (fabrics.npus - 1) / fabrics.npus
    every = np.arange(designs)
    resident = np.full((chunks, designs), size / chunks)
    busy, delay, bytes_ = (np.empty(way.shape) for _ in range(3))
    for phase, dimension in enumerate(way):
        npus = fabrics.npus[dimension, every]
        bytes_[phase] = resident
        largest = resident if phase < depth else resident * npus
        busy[phase] = share[dimension, every] * largest / fabrics.bandwidth[dimension, every]
        delay[phase] = fixed[dimension, every]
        resident = resident / npus if phase < depth else largest
    # A phase keeps its dimension busy, then its chunk is under way for the latency, where it waits for nobody.
    stages = np.stack([busy, delay], axis=1).reshape(-1, chunks, designs)
    server = np.stack([way, np.full_like(way, depth)], axis=1).reshape(stages.shape)
    joining = Joining(policy, np.full(stages.shape[:2], SCATTERS), np.repeat(bytes_, 2, axis=0))
    slots = np.array([1] * depth + [chunks])
    return finish(server, np.rint(stages * _PICOSECONDS), slots, joining) / _PICOSECONDS


def ideal_time(size: float, fabrics: Fabrics) -> FloatArray:
    """Return (n,) ns that no order of the dimensions undercuts.

    All dimensions together send ``2 size (1 - 1/N)`` per NPU, whatever the order; a dimension sends least when it comes
    last: ``2 size (n_d - 1) / N``.
    """
    total = fabrics.npus.prod(axis=0)
    together = 2.0 * size * (1.0 - 1.0 / total) / fabrics.bandwidth.sum(axis=0)
    alone = 2.0 * size * (fabrics.npus - 1) / total / fabrics.bandwidth
    return np.asarray(np.maximum(together, alone.max(axis=0)))


def utilisation(size: float, fabrics: Fabrics, time: FloatArray) -> FloatArray:
    """Return (n,) the share of all bandwidth that an all-reduce of some ns uses."""
    total = fabrics.npus.prod(axis=0)
    return np.asarray(2.0 * size * (1.0 - 1.0 / total) / (time * fabrics.bandwidth.sum(axis=0)))


def _in_order(depth: int, chunks: int, designs: int) -> IntArray:
    return np.broadcast_to(np.arange(depth)[:, None, None], (depth, chunks, designs))


def _orders(chunk: float, fabrics: Fabrics, chunks: int) -> IntArray:
    """Return (d, k, n) the dimensions of each chunk, scattering; it gathers the other way round (algorithm 1)."""
    depth, designs = fabrics.npus.shape
    every = np.arange(designs)
    load = 2.0 * fabrics.fixed_latency()
    share = (fabrics.npus - 1) / fabrics.npus
    orders = np.empty((depth, chunks, designs), dtype=np.int64)
    for place in range(chunks):
        least = load.argmin(axis=0)
        threshold = share[least, every] * (chunk / _FRACTION) / fabrics.bandwidth[least, every]
        even = np.ptp(load, axis=0) < threshold
        order = np.where(even, np.arange(depth)[:, None], np.argsort(load, axis=0, kind="stable"))
        resident = np.full(designs, chunk)
        for dimension in order:
            load[dimension, every] += 2.0 * share[dimension, every] * resident / fabrics.bandwidth[dimension, every]
            resident = resident / fabrics.npus[dimension, every]
        orders[:, place] = order
    return orders
