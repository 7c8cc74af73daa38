"""An all-reduce over three dimensions that run one chunk at a time: only the middle one decides which chunk is next.

All chunks wait in the first dimension from the start, so it scatters one after the other and gathers only then. The
last one takes them in that order, too. In the middle one those that scatter and those that gather take turns, first
come, first served. So a step for each of its phases is enough, where the queue model has an event for every phase.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, compile_function

UNCLEAR = -1
"""What stands for the ns of a design that only the queue model can time."""

PHASES = 5
"""Of a chunk: scatters in the first two dimensions, all-reduces in the last one, and gathers back."""

_MOST_BITS = 40
"""Of the whole ns of all phases of a design together: far fewer than the queue model can count."""

_FEW_DESIGNS = 16
"""Up to how many designs one after the other is quicker in Python than all in NumPy."""


def three_dimensions(times: FloatArray, count: IntArray) -> IntArray:
    """Return the (n,) ns of (n,) chunks with (5, n) whole ns of phases, first come, first served; `UNCLEAR` for some.

    Of two chunks that reach the middle dimension at the same time, the one whose phase began first is first. Where
    these began at the same time, too, it takes the queue model to tell; and it refuses what takes too long.
    """
    whole = np.ascontiguousarray(times.astype(np.int64))
    run = compile_function(_run) or (_run if len(count) <= _FEW_DESIGNS else _together)
    found = run(whole, np.ascontiguousarray(count))
    return np.where(whole.sum(axis=0) * count < 1 << _MOST_BITS, found, UNCLEAR)


def _run(times: IntArray, count: IntArray) -> IntArray:
    """Return the (n,) ns of `three_dimensions`, design by design."""
    found = np.empty(len(count), np.int64)
    arrival = np.empty(count.max(), np.int64)
    for n in range(len(count)):
        first, scatter, turn, gather, last = times[0, n], times[1, n], times[2, n], times[3, n], times[4, n]
        chunks, scattered, gathered = count[n], 0, 0
        # When the middle dimension is free, when the last one is, and when the first one has gathered.
        free, turned, done = 0, 0, chunks * first
        while gathered < chunks:
            comes = (scattered + 1) * first
            is_next = scattered < chunks
            if gathered < scattered and is_next:
                returns = arrival[gathered]
                began, turns = comes - first, returns - turn
                if comes == returns and began == turns:
                    break
                is_next = comes < returns or (comes == returns and began < turns)
            if is_next:
                free = max(free, comes) + scatter
                turned = max(turned, free) + turn
                arrival[scattered] = turned
                scattered += 1
            else:
                free = max(free, arrival[gathered]) + gather
                done = max(done, free) + last
                gathered += 1
        found[n] = done if gathered == chunks else -1
    return found


def _together(times: IntArray, count: IntArray) -> IntArray:
    """Return the (n,) ns of `three_dimensions`, a step of all designs at a time."""
    first, scatter, turn, gather, last = times
    designs, never = len(count), np.iinfo(np.int64).max
    found = np.empty_like(count)
    # When each chunk is back; those behind the last one never come. Places in it are chunk by chunk.
    arrival = np.full((int(count.max()) + 1) * designs, never)
    scattered, gathered = np.arange(designs), np.arange(designs)
    free, turned, done, comes = np.zeros_like(first), np.zeros_like(first), count * first, first.copy()
    unclear, ends = np.zeros(designs, dtype=np.bool_), set((2 * count).tolist())
    for step in range(1, max(ends) + 1):
        returns = arrival.take(gathered, mode="clip")
        is_next = comes < returns
        same = np.flatnonzero(comes == returns)
        if len(same):
            began, turns = (comes - first)[same], (returns - turn)[same]
            is_next[same] = (began < turns) & (comes[same] < never)
            unclear[same] |= began == turns
        is_back = ~is_next
        np.maximum(free, np.minimum(comes, returns), out=free)
        free += np.where(is_next, scatter, gather)
        np.maximum(turned, free, out=turned, where=is_next)
        np.add(turned, turn, out=turned, where=is_next)
        arrival[scattered[is_next]] = turned[is_next]
        np.add(scattered, designs, out=scattered, where=is_next)
        np.add(comes, first, out=comes, where=is_next)
        comes[scattered >= count * designs] = never
        np.maximum(done, free, out=done, where=is_back)
        np.add(done, last, out=done, where=is_back)
        np.add(gathered, designs, out=gathered, where=is_back)
        if step in ends:
            # Designs of fewer chunks go on with what means nothing.
            mine = 2 * count == step
            found[mine] = np.where(unclear, UNCLEAR, done)[mine]
    return found
