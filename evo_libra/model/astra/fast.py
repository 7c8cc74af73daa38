"""The queue model of `evo_libra.model.astra.queues`, compiled: the same rules, one design after the other.

The only place that imports numba; without it (extra ``fast``) the NumPy model runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray

Run = Callable[[IntArray, IntArray, IntArray, IntArray, int, IntArray, FloatArray], IntArray]

# Policies are numbered as in `evo_libra.model.astra.queues.Policy`.
_ANY = 2


@cache
def compiled() -> Run | None:
    """Return the compiled model, or None where numba is not installed."""
    try:
        import numba  # noqa: PLC0415 - the one optional import
    except ImportError:
        return None
    run: Run = numba.njit(cache=True)(_run)
    return run


def _run(  # noqa: C901, PLR0912, PLR0915 - numba compiles one plain function, and calls of others cost time
    server: IntArray, time: IntArray, count: IntArray, slots: IntArray, policy: int, kind: IntArray, size: FloatArray
) -> IntArray:
    """Return the (n,) ns of `evo_libra.model.astra.queues.finish`, for arrays that are not broadcast any more."""
    phases, chunks, designs = time.shape
    queues, places = len(slots), slots.sum()
    never = np.iinfo(np.int64).max
    owner = np.empty(places, np.int64)
    first = np.zeros(queues + 1, np.int64)
    for q in range(queues):
        first[q + 1] = first[q] + slots[q]
        owner[first[q] : first[q + 1]] = q
    waiting = np.empty((queues, chunks * phases + 1), np.int64)
    ends = np.empty(places, np.int64)
    items = np.empty(places, np.int64)
    order = np.empty(places, np.int64)
    head = np.empty(queues, np.int64)
    tail = np.empty(queues, np.int64)
    found = np.empty(designs, np.int64)
    for n in range(designs):
        head[:], tail[:], ends[:] = 0, 0, never
        sequence = 0
        now = 0
        # The chunks join their first queue one by one; then there is an event for each chunk and phase.
        for event in range(count[n] * (1 + phases)):
            old, item = -1, event * phases
            if event >= count[n]:
                slot = 0
                for s in range(1, places):
                    if ends[s] < ends[slot] or (ends[s] == ends[slot] and order[s] < order[slot]):
                        slot = s
                now, item, old = ends[slot], items[slot] + 1, owner[slot]
                ends[slot] = never
            new = -1
            if event < count[n] or item % phases > 0:
                phase, chunk = item % phases, item // phases
                new = server[phase, chunk, n]
                at = tail[new]
                if policy != 0 and kind[phase, chunk] != _ANY:
                    for place in range(head[new], tail[new]):
                        other = waiting[new, place]
                        p, c = other % phases, other // phases
                        if policy == 3:  # noqa: PLR2004 - constants of the module are not compiled in by name
                            stops = p <= phase
                        elif policy == 4:  # noqa: PLR2004 - the same
                            stops = size[p, c, n] > size[phase, chunk, n]
                        elif policy == 2:  # noqa: PLR2004 - the same
                            stops = size[p, c, n] >= size[phase, chunk, n] and phase != phases - 2
                        else:
                            before = waiting[new, place - 1] if place > head[new] else other
                            turn = kind[p, c] + kind[before % phases, before // phases] == 1
                            stops = place > head[new] and not turn
                        if stops:
                            at = place
                            break
                for place in range(tail[new], at, -1):
                    waiting[new, place] = waiting[new, place - 1]
                waiting[new, at] = item
                tail[new] += 1
            for turn_of in range(2):
                q = old if turn_of == 0 else new
                if q < 0 or head[q] == tail[q]:
                    continue
                for s in range(first[q], first[q + 1]):
                    if ends[s] == never:
                        taken = waiting[q, head[q]]
                        head[q] += 1
                        ends[s] = now + time[taken % phases, taken // phases, n]
                        items[s], order[s] = taken, sequence
                        sequence += 1
                        break
        found[n] = now
    return found
