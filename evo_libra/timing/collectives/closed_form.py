"""Times of chunks that need no queue model: closed forms, and all-reduces there and back over three dimensions.

In three dimensions that run one chunk at a time, only the middle one decides which chunk is next. All chunks wait in
the first one from the start, so it scatters one after the other and gathers only then. The last one takes them in that
order, too. In the middle one those that scatter and those that gather take turns, first come, first served. So a step
for each of its phases is enough, where the queue model has an event for every phase.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, compile_function
from evo_libra.timing.collectives.queues import tiles
from evo_libra.timing.names import MOST_CHUNKS

UNCLEAR = -1.0
"""Value in place of the ns of a design that only the queue model can time."""

_PHASES_OF_TWO, _PHASES_OF_THREE = 3, 5
"""Phases of a chunk there and back over two and over three dimensions."""

_TURNS = 2
"""Phases of a chunk in the middle dimension, on the way there and back."""

_MAX_NS = 2**40
"""Of all phases of a design together: far less than what the queue model refuses."""

_FEW_DESIGNS = 16
"""Up to how many designs one after the other is quicker in Python than all in NumPy."""


def closed_form(
    times: FloatArray, taken: BoolArray, count: IntArray, active: int, *, turns: bool, compiled: bool
) -> FloatArray:
    """Return (n,) ns of (n,) chunks in dimensions with one queue, first come, first served; `UNCLEAR` for some.

    The results do not depend on whether numba compiles them.

    Parameters
    ----------
    times : (p, n) ns of the phases of a chunk; 0 of those that a design does not have.
    taken : (p, n) whether a design has a phase.
    active : chunks that a dimension runs at a time.
    turns : whether chunks go there and back: the phases behind the middle one are in the dimensions of those before it.
    """
    if not len(count):
        return np.zeros(0)
    run = _together if len(count) > _FEW_DESIGNS else _each
    if compiled:
        run = compile_function(_each) or run
    plain = np.ascontiguousarray
    return run(plain(times), plain(taken), plain(count), active, turns)


def _each(times: FloatArray, taken: BoolArray, count: IntArray, active: int, turns: bool) -> FloatArray:  # noqa: C901, FBT001, PLR0912 - numba compiles one plain function
    """Return the (n,) ns of `closed_form`, design by design."""
    phases, designs = times.shape
    found, part = np.empty(designs), np.empty(phases)
    arrival = np.empty(min(count.max(), MOST_CHUNKS), np.int64)
    for n in range(designs):
        chunks, many, total, longest = count[n], 0, 0.0, 0.0
        before, behind = 0.0, 0.0
        for p in range(phases):
            if not taken[p, n]:
                continue
            part[many] = times[p, n]
            many += 1
            total += times[p, n]
            longest = max(longest, times[p, n])
            if p < phases // 2:
                before += times[p, n]
            elif p > phases // 2:
                behind += times[p, n]
        rounds, found[n] = np.ceil(chunks / active), UNCLEAR
        if not turns or many <= 1:
            found[n] = total + (rounds - 1.0) * longest
        elif many == _PHASES_OF_TWO and (chunks % active == 0 or chunks <= active):
            middle = times[phases // 2, n]
            longer = before + middle + (rounds - 1.0) * max(before, middle) + behind
            found[n] = max(longer, before + middle + rounds * behind, rounds * (before + behind))
        elif many == _PHASES_OF_THREE and active == 1 and chunks <= MOST_CHUNKS and total * chunks < _MAX_NS:
            # Whole numbers only now: a larger phase would be none of 64 bits.
            first, scatter, turn, gather, last = int(part[0]), int(part[1]), int(part[2]), int(part[3]), int(part[4])
            scattered, gathered = 0, 0
            # When the middle dimension is free, when the last one is, and when the first one has gathered.
            free, turned, done = 0, 0, chunks * first
            while gathered < chunks:
                comes, is_next = (scattered + 1) * first, scattered < chunks
                if gathered < scattered and is_next:
                    returns = arrival[gathered]
                    # Of two that come at the same time the one whose phase began first is first.
                    began, turns_since = comes - first, returns - turn
                    if comes == returns and began == turns_since:
                        break
                    is_next = comes < returns or (comes == returns and began < turns_since)
                if is_next:
                    free = max(free, comes) + scatter
                    turned = max(turned, free) + turn
                    arrival[scattered] = turned
                    scattered += 1
                else:
                    free = max(free, arrival[gathered]) + gather
                    done = max(done, free) + last
                    gathered += 1
            if gathered == chunks:
                found[n] = done
    return found


def _together(times: FloatArray, taken: BoolArray, count: IntArray, active: int, turns: bool) -> FloatArray:  # noqa: FBT001 - as of `_each`
    """Return the (n,) ns of `closed_form`, of all designs at a time."""
    rounds, many = np.ceil(count / active), taken.sum(axis=0)
    once = times.sum(axis=0) + (rounds - 1) * times.max(axis=0, initial=0.0)
    if not turns:
        return np.asarray(once)
    # Of two dimensions there is one phase on either way; those that a design does not have take no time.
    turn = len(times) // 2
    first, middle, last = times[:turn].sum(axis=0), times[turn], times[turn + 1 :].sum(axis=0)
    there_and_back = np.maximum.reduce([
        first + middle + (rounds - 1) * np.maximum(first, middle) + last,
        first + middle + rounds * last,
        rounds * (first + last),
    ])  # fmt: skip
    whole = (count % active == 0) | (count <= active)
    found = np.where(many <= 1, once, np.where(whole & (many == _PHASES_OF_TWO), there_and_back, UNCLEAR))
    if active == 1:
        known = (many == _PHASES_OF_THREE) & (count <= MOST_CHUNKS) & (times.sum(axis=0) * count < _MAX_NS)
        some = np.flatnonzero(known)
        for tile in tiles(count[some], _TURNS):
            designs = some[tile]
            phase = np.argsort(~taken[:, designs], axis=0, kind="stable")[:_PHASES_OF_THREE]
            found[designs] = _three_dimensions(times[phase, designs].astype(np.int64), count[designs])
    return found


def _three_dimensions(times: IntArray, count: IntArray) -> FloatArray:
    """Return the (n,) ns of `closed_form` from (5, n) phases, a step of all designs at a time."""
    first, scatter, turn, gather, last = times
    designs, never = len(count), np.iinfo(np.int64).max
    found = np.empty(designs)
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
