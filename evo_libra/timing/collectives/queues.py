"""Chunks in the queues of the dimensions, for a population at once: as many steps as there are chunk phases.

Every dimension has one or more queues; a queue runs a number of chunks at a time, in the order in which they came
unless a policy puts them elsewhere, and a phase holds its slot for its whole time. All NPUs do the same, so that one
such model stands for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.timing.collectives.queues_compiled import compiled_queues
from evo_libra.timing.collectives.queues_numpy import Joining, NumpyQueues, Queues, max_bits
from evo_libra.timing.names import MOST_CHUNKS, Policy

_TILE = 2**20
"""Chunk phases at a time."""


class TooLongError(ValueError):
    """A collective takes longer than the queue model can count."""


def finish(
    server: Queues,
    time: FloatArray,
    slots: IntArray,
    joining: Joining | None = None,
    *,
    count: IntArray | None = None,
    compiled: bool = True,
) -> FloatArray:
    """Return the (n,) ns at which the last chunk has passed its last phase.

    Of events at the same time the one that was scheduled first comes first. At the end of a phase the chunk joins its
    next queue, then its old queue starts the next chunk, then the new queue does.

    Parameters
    ----------
    server : (p, k, n) the queue in which phase p of chunk k waits; axes of length 1 broadcast.
    time : (p, k, n) whole ns of each phase; broadcasts, too.
    slots : (q,) chunks that each queue runs at a time.
    joining : a policy; chunks join at the end when left out.
    count : (n,) chunks of each design, the first of those given; all when left out. Chunks without phases cannot take
        the place of the others: even in no time they would change which of two events at the same time comes first.
    compiled : whether to use the compiled model where numba is installed; it has the same results.

    Raises
    ------
    TooLongError : all phases one after the other would take more than `max_bits`.
    """
    shape = np.broadcast_shapes(server.shape, time.shape, (1, 1, 1 if count is None else len(count)))
    if 0 in shape:
        return np.zeros(shape[2])
    slots = np.minimum(slots, shape[1])  # no queue ever runs more chunks than there are
    if joining is not None and joining.policy is Policy.FIFO:
        joining = None
    count = np.full(shape[2], shape[1]) if count is None else count
    if count.max() > shape[1]:
        raise ValueError(f"a design has {count.max()} chunks, but only {shape[1]} are given")
    times, bits = time.astype(np.int64), max_bits(slots, *shape[:2])
    there = np.arange(shape[1])[:, None] < count
    if (times.sum(axis=0) * there).sum(axis=0).max() >= 2**bits:
        raise TooLongError(f"a collective of more than 2^{bits} ns is beyond the queue model")
    run = compiled_queues() if compiled else None
    if run is None:
        return _tiled(server, times, slots, joining, count).astype(np.float64)
    kind = np.zeros((1, 1), dtype=np.int64) if joining is None else joining.kind
    size = np.zeros((1, 1, 1)) if joining is None else joining.size
    policy = 0 if joining is None else list(Policy).index(joining.policy)
    plain = np.ascontiguousarray
    found = run(
        plain(server, dtype=np.int16), plain(times), plain(count), plain(slots), policy, plain(kind), plain(size)
    )
    return found.astype(np.float64)


def check_chunks(splits: int | IntArray) -> None:
    """Raise a ValueError for more chunks than the queue model runs, `MOST_CHUNKS`."""
    most = int(np.max(splits))
    if most > MOST_CHUNKS:
        raise ValueError(f"{most} chunks (preferred-dataset-splits); the queue model runs at most {MOST_CHUNKS}")


def tiles(count: IntArray, phases: int) -> Iterator[IntArray]:
    """Give designs of about as many chunks of some phases each, so that the arrays of their phases stay small."""
    order = np.argsort(-count, kind="stable")
    while len(order):
        most = max(_TILE // (int(count[order[0]]) * phases), 1)
        yield order[:most]
        order = order[most:]


def _tiled(server: Queues, time: IntArray, slots: IntArray, joining: Joining | None, count: IntArray) -> IntArray:
    """Run designs with many chunks before others, so that those that still have events are always the first ones."""
    found = np.empty(len(count), dtype=np.int64)
    for designs in tiles(count, max(len(server), len(time))):
        own = joining
        if joining is not None and joining.size.shape[2] > 1:
            own = replace(joining, size=joining.size[:, :, designs])
        queue = server if server.shape[2] == 1 else server[:, :, designs]
        found[designs] = NumpyQueues(
            queue, time if time.shape[2] == 1 else time[:, :, designs], slots, own, count[designs]
        ).run()
    return found
