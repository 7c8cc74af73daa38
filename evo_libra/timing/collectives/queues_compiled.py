"""The queue model of `evo_libra.timing.collectives.queues`, compiled: the same rules, one design after the other.

Without numba (extra ``fast``) the NumPy model runs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray, IntArray, compile_function

Queue = NDArray[np.int16]
Run = Callable[[Queue, IntArray, IntArray, IntArray, int, IntArray, FloatArray], IntArray]

# Policies are numbered as in `evo_libra.timing.names.Policy`.
_ANY = 2
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
    # A chunk phase is the number chunk * phases + phase. What is looked at again and again lies side by side, and is
    # gathered for a few designs at a time, which are neighbours in memory.
    phase_of, kind_of = np.empty(items, np.int64), np.empty(items, np.int64)
    for k in range(chunks):
        for p in range(phases):
            phase_of[k * phases + p] = p
            kind_of[k * phases + p] = kind[p, k] if policy != 0 else _ANY
    sized = size.size > 1
    server_of, time_of = np.empty((_BLOCK, items), np.int64), np.empty((_BLOCK, items), np.int64)
    size_of = np.empty((_BLOCK, items if sized else 1), np.float64)
    # Steps of 0 along axes of length 1.
    server_p, server_k, server_n = min(server.shape[0], 2) - 1, min(server.shape[1], 2) - 1, min(server.shape[2], 2) - 1
    time_p, time_k, time_n = min(time.shape[0], 2) - 1, min(time.shape[1], 2) - 1, min(time.shape[2], 2) - 1
    waiting = np.empty((queues, items + chunks), np.int64)
    # What runs, in no order: its end and the number of its start in one word, of which the least is the next event.
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
                    if kind_of[item] != _ANY:
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
