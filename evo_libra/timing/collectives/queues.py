"""Chunks in the queues of the dimensions, for a population at once: as many steps as there are chunk phases.

Every dimension has one or more queues; a queue runs a number of chunks at a time, in the order in which they came
unless a policy puts them elsewhere, and a phase holds its slot for its whole time. All NPUs do the same, so that one
such model stands for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray, IntArray, compile_function
from evo_libra.timing.collectives.queues_numpy import ANY, Joining, NumpyQueues, Queues, max_bits
from evo_libra.timing.names import MOST_CHUNKS, Policy

_TILE = 2**20
"""Chunk phases at a time."""

_FEW_DESIGNS, _FEW_SLOTS = 8, 64
"""Up to how many designs, and chunks at a time, one event after the other is quicker in Python than all in NumPy."""


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
    compiled : whether to use the compiled model where numba is installed; it has the same results. If it is not, few
        designs run the same model uncompiled.

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
    bits, there = max_bits(slots, *shape[:2]), np.arange(shape[1])[:, None] < count
    # In floats: as whole numbers the longest phases would have more than 64 bits.
    if not (time.sum(axis=0) * there).sum(axis=0).max() < 2.0**bits:
        raise TooLongError(f"a collective of more than 2^{bits} ns is beyond the queue model")
    times = time.astype(np.int64)
    run = compiled_queues() if compiled else None
    if run is None and (len(count) > _FEW_DESIGNS or slots.sum() > _FEW_SLOTS or joining is not None):
        return _tiled(server, times, slots, joining, count).astype(np.float64)
    run = run or _run
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


Queue = NDArray[np.int16]
Run = Callable[[Queue, IntArray, IntArray, IntArray, int, IntArray, FloatArray], IntArray]

# Policies are numbered as in `evo_libra.timing.names.Policy`.
_BLOCK = 8


def compiled_queues() -> Run | None:
    """Return the compiled model, or None where numba is not installed."""
    return compile_function(_run)


def _run(  # noqa: C901, PLR0912, PLR0915 - numba compiles one plain function, and calls of others cost time
    server: Queue, time: IntArray, count: IntArray, slots: IntArray, policy: int, kind: IntArray, size: FloatArray
) -> IntArray:
    """Return the (n,) ns of `evo_libra.timing.collectives.queues.finish`; axes of length 1 broadcast here, too."""
    designs = len(count)
    phases, chunks = max(server.shape[0], time.shape[0]), max(server.shape[1], time.shape[1])
    queues, places, items = len(slots), slots.sum(), phases * chunks
    bits = 0
    while 2 * (items + chunks) >> bits > 0:
        bits += 1
    # A chunk phase is the number chunk * phases + phase. Values that are read again and again lie side by side, and is
    # gathered for a few designs at a time, which are neighbours in memory.
    phase_of, kind_of = np.empty(items, np.int64), np.empty(items, np.int64)
    for k in range(chunks):
        for p in range(phases):
            phase_of[k * phases + p] = p
            kind_of[k * phases + p] = kind[p, k] if policy != 0 else ANY
    sized = size.size > 1
    server_of, time_of = np.empty((_BLOCK, items), np.int64), np.empty((_BLOCK, items), np.int64)
    size_of = np.empty((_BLOCK, items if sized else 1), np.float64)
    # Steps of 0 along axes of length 1.
    server_p, server_k, server_n = min(server.shape[0], 2) - 1, min(server.shape[1], 2) - 1, min(server.shape[2], 2) - 1
    time_p, time_k, time_n = min(time.shape[0], 2) - 1, min(time.shape[1], 2) - 1, min(time.shape[2], 2) - 1
    waiting = np.empty((queues, items + chunks), np.int64)
    # Running phases, in no order: the end of each and the number of its start in one word; the least word is the next
    # event.
    keys = np.empty(places, np.int64)
    running = np.empty(places, np.int64)
    queue_of = np.empty(places, np.int64)
    idle = np.empty(queues, np.int64)
    head = np.empty(queues, np.int64)
    tail = np.empty(queues, np.int64)
    found = np.empty(designs, np.int64)
    for start in range(0, designs, _BLOCK):
        block = min(_BLOCK, designs - start)
        for k in range(count[start : start + block].max()):
            for p in range(phases):
                item = k * phases + p
                for b in range(block):
                    n = start + b
                    server_of[b, item] = server[p * server_p, k * server_k, n * server_n]
                    time_of[b, item] = time[p * time_p, k * time_k, n * time_n]
                    if sized:
                        size_of[b, item] = size[p, k, n]
        for b in range(block):
            head[:], tail[:], idle[:] = 0, 0, slots
            busy = 0
            sequence = 0
            now = 0
            # The chunks join their first queue one by one; then there is an event for each chunk and phase.
            joins = count[start + b]
            for event in range(joins * (1 + phases)):
                old, item = -1, event * phases
                if event >= joins:
                    least = 0
                    for s in range(1, busy):
                        if keys[s] < keys[least]:
                            least = s
                    now, item, old = keys[least] >> bits, running[least] + 1, queue_of[least]
                    busy -= 1
                    keys[least], running[least], queue_of[least] = keys[busy], running[busy], queue_of[busy]
                    idle[old] += 1
                new = -1
                if item < items and (event < joins or phase_of[item] > 0):
                    phase, new = phase_of[item], server_of[b, item]
                    at = tail[new]
                    if kind_of[item] != ANY:
                        for place in range(head[new], tail[new]):
                            other = waiting[new, place]
                            if policy == 3:  # noqa: PLR2004 - constants of the module are not compiled in by name
                                stops = phase_of[other] <= phase
                            elif policy == 4:  # noqa: PLR2004 - the same
                                stops = size_of[b, other] > size_of[b, item]
                            elif policy == 2:  # noqa: PLR2004 - the same
                                stops = size_of[b, other] >= size_of[b, item] and phase != phases - 2
                            elif place == head[new]:
                                stops = idle[new] == slots[new]
                            else:
                                stops = kind_of[other] + kind_of[waiting[new, place - 1]] != 1
                            if stops:
                                at = place
                                break
                        for place in range(tail[new], at, -1):
                            waiting[new, place] = waiting[new, place - 1]
                    waiting[new, at] = item
                    tail[new] += 1
                for turn in range(2):
                    q = old if turn == 0 else new
                    if q < 0 or head[q] == tail[q] or idle[q] == 0:
                        continue
                    taken = waiting[q, head[q]]
                    head[q] += 1
                    idle[q] -= 1
                    keys[busy] = (now + time_of[b, taken]) << bits | sequence
                    running[busy], queue_of[busy] = taken, q
                    busy += 1
                    sequence += 1
            found[start + b] = now
    return found
