"""Chunks in the queues of the dimensions, for a population at once: as many steps as there are chunk phases.

Every dimension has one or more queues; a queue runs a number of chunks at a time, in the order in which they came
unless a policy puts them elsewhere, and a phase holds its slot for its whole time. All NPUs do the same, so that one
such model stands for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from evo_libra.model.arrays import BoolArray, FloatArray, IntArray
from evo_libra.model.astra.fast import compiled

_SEQUENCE_BITS, _MOST_BITS = 20, 43
_NEVER = np.iinfo(np.int64).max

_TILE = 2**19
"""Chunk phases at a time."""

SCATTERS, GATHERS, ANY = 0, 1, 2
"""What a phase does, as far as policies ask: scatter, gather, or something that always joins at the end."""


class Policy(Enum):
    """Where a chunk joins a queue, by ASTRA-sim's name; the last one is that of Themis' paper.

    That has the first to come first among equals, ASTRA-sim's the last.
    """

    FIFO = "FIFO"
    ALTERNATING = "RG"
    SMALLEST_FIRST = "smallestFirst"
    FEWEST_PHASES_FIRST = "lessRemainingPhaseFirst"
    SMALLEST_CHUNK_FIRST = "smallestChunkFirst"


@dataclass(frozen=True)
class Joining:
    """What a policy needs to know of chunk phases.

    Attributes
    ----------
    policy : where chunks join.
    kind : (p, k) what each phase does.
    size : (p, k, n) the larger one of the bytes that enter and that leave it.
    """

    policy: Policy
    kind: IntArray
    size: FloatArray


def finish(
    server: IntArray,
    time: FloatArray,
    slots: IntArray,
    joining: Joining | None = None,
    *,
    count: IntArray | None = None,
    fast: bool = True,
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
    fast : whether to use the compiled model where numba is installed; it has the same results.

    Raises
    ------
    ValueError : all phases one after the other would take more than 2^43 ns, about two hours and a half.
    """
    shape = np.broadcast_shapes(server.shape, time.shape)
    if 0 in shape:
        return np.zeros(shape[2])
    if joining is not None and joining.policy is Policy.FIFO:
        joining = None
    count = np.full(shape[2], shape[1]) if count is None else count
    server, times = np.broadcast_to(server, shape), np.broadcast_to(time.astype(np.int64), shape)
    if (times.sum(axis=0) * (np.arange(shape[1])[:, None] < count)).sum(axis=0).max() >= 2**_MOST_BITS:
        raise ValueError("a collective of more than two hours and a half is beyond the queue model")
    run = compiled() if fast else None
    if run is None:
        return _sorted(server, times, slots, joining, count).astype(np.float64)
    kind = np.full(shape[:2], ANY) if joining is None else joining.kind
    size = np.empty((0, 0, 0)) if joining is None else joining.size
    policy = 0 if joining is None else list(Policy).index(joining.policy)
    plain = np.ascontiguousarray
    found = run(plain(server), plain(times), plain(count), plain(slots), policy, plain(kind), plain(size))
    return found.astype(np.float64)


def tiles(count: IntArray, phases: int) -> Iterator[IntArray]:
    """Give designs of about as many chunks each, so that the arrays of their phases stay small.

    Parameters
    ----------
    count : (n,) chunks of each design.
    phases : of a chunk.
    """
    order = np.argsort(-count, kind="stable")
    while len(order):
        most = max(_TILE // (int(count[order[0]]) * phases), 1)
        yield order[:most]
        order = order[most:]


def _sorted(server: IntArray, time: IntArray, slots: IntArray, joining: Joining | None, count: IntArray) -> IntArray:
    """Run the designs with the most chunks first, so that those that still have events are always the first ones."""
    order = np.argsort(-count, kind="stable")
    if (np.diff(count) > 0).any():
        server, time = server[:, :, order], time[:, :, order]
        joining = None if joining is None else replace(joining, size=joining.size[:, :, order])
    found = np.empty(len(order), dtype=np.int64)
    found[order] = _Queues(server, time, slots, joining, count[order]).run()
    return found


class _Queues:
    """The state of all queues of n designs.

    A waiting chunk phase is the number ``chunk * phases + phase``; a running one is in a slot with the key
    ``end * 2^20 + sequence``, so that the least key is the next event.
    """

    def __init__(
        self, server: IntArray, time: IntArray, slots: IntArray, joining: Joining | None, count: IntArray
    ) -> None:
        self.server, self.time, self.slots, self.joining, self.count = server, time, slots, joining, count
        self.phases, self.chunks, self.designs = time.shape
        self.every = np.arange(self.designs)
        self.first_slot = np.concatenate([[0], np.cumsum(slots)])
        self.key = np.full((int(self.first_slot[-1]), self.designs), _NEVER)
        self.item = np.zeros(self.key.shape, dtype=np.int64)
        self.owner = np.repeat(np.arange(len(slots)), slots)
        self.waiting = np.zeros((len(slots), self.designs, self.chunks * self.phases + 1), dtype=np.int32)
        self.head, self.tail = (np.zeros((len(slots), self.designs), dtype=np.int64) for _ in range(2))
        self.idle = np.repeat(slots[:, None], self.designs, axis=1)
        self.sequence = 0

    def run(self) -> IntArray:
        now = np.zeros(self.designs, dtype=np.int64)
        for chunk in range(self.chunks):
            designs = self.every[: self.more_than(chunk)]
            server = self.server[0, chunk, designs]
            self.join(server, np.full(len(designs), chunk * self.phases), designs)
            self.start_idle(server, designs, now)
        for event in range(self.chunks * self.phases):
            designs = self.every[: self.more_than(event // self.phases)]
            now[: len(designs)] = self.step(designs)
        return np.asarray(now)

    def more_than(self, chunks: int) -> int:
        """Return how many designs have more chunks."""
        return int(np.searchsorted(-self.count, -chunks))

    def step(self, every: IntArray) -> IntArray:
        """Let the next event of the first designs happen; return its time."""
        slot = self.key[:, : len(every)].argmin(axis=0)
        now = self.key[slot, every] >> _SEQUENCE_BITS
        item, old = self.item[slot, every], self.owner[slot]
        self.key[slot, every] = _NEVER
        self.idle[old, every] += 1
        going = every[(item + 1) % self.phases > 0]
        following = item[going] + 1
        new = self.server[following % self.phases, following // self.phases, going]
        self.join(new, following, going)
        more = every[self.head[old, every] < self.tail[old, every]]
        self.start(old[more], slot[more], more, now)
        self.start_idle(new, going, now)
        return np.asarray(now)

    def start_idle(self, server: IntArray, designs: IntArray, now: IntArray) -> None:
        """Start the next chunk of a queue of some designs where it has an idle slot."""
        ready = (self.idle[server, designs] > 0) & (self.head[server, designs] < self.tail[server, designs])
        server, designs = server[ready], designs[ready]
        self.start(server, self.free_slot(server, designs), designs, now)

    def join(self, server: IntArray, item: IntArray, designs: IntArray) -> None:
        """Put chunk phases into their queues."""
        if self.joining is None:
            self.waiting[server, designs, self.tail[server, designs]] = item
        else:
            self.insert(self.joining, server, item, designs)
        self.tail[server, designs] += 1

    def insert(self, joining: Joining, server: IntArray, item: IntArray, designs: IntArray) -> None:
        """Put chunk phases where the policy wants them, and move the others on by a place."""
        head, end = self.head[server, designs], self.tail[server, designs]
        first, last = int(head.min(initial=0)), int(end.max(initial=0)) + 1
        queue = self.waiting[server, designs, first:last]
        place = np.arange(first, last)
        head, end, item = head[:, None], end[:, None], item[:, None]
        stops = self.stops(joining, queue, item, designs[:, None], place == head) & (place >= head) & (place < end)
        at = np.where(stops.any(axis=1, keepdims=True), stops.argmax(axis=1)[:, None] + first, end)
        moved = np.roll(queue, 1, axis=1)
        np.copyto(moved, queue, where=place < at)
        np.copyto(moved, item.astype(np.int32), where=place == at)
        self.waiting[server, designs, first:last] = moved

    def stops(
        self, joining: Joining, queue: IntArray, item: IntArray, designs: IntArray, is_first: BoolArray
    ) -> BoolArray:
        """Return (n, place) before which waiting chunks a new one joins; it joins before the first of them."""
        phase, chunk = item % self.phases, item // self.phases
        others = queue % self.phases
        if joining.policy is Policy.FEWEST_PHASES_FIRST:
            found = others <= phase
        elif joining.policy is Policy.SMALLEST_CHUNK_FIRST:
            found = joining.size[others, queue // self.phases, designs] > joining.size[phase, chunk, designs]
        elif joining.policy is Policy.SMALLEST_FIRST:
            sizes = joining.size[others, queue // self.phases, designs]
            found = (sizes >= joining.size[phase, chunk, designs]) & (phase != self.phases - 2)
        else:
            kinds = joining.kind[others, queue // self.phases]
            # Behind the first one that waits, wherever two in a row do not take turns.
            found = (kinds + np.roll(kinds, 1, axis=1) != SCATTERS + GATHERS) & ~is_first
        return np.asarray(found & (joining.kind[phase, chunk] != ANY))

    def free_slot(self, server: IntArray, designs: IntArray) -> IntArray:
        """Return the first idle slot of a queue of each of some designs."""
        slot = self.first_slot[server]
        for _ in range(int(self.slots.max()) - 1):
            busy = self.key[slot, designs] != _NEVER
            if not busy.any():
                break
            slot = slot + busy
        return slot

    def start(self, server: IntArray, slot: IntArray, designs: IntArray, now: IntArray) -> None:
        """Run the first waiting chunk of a queue of some designs in a slot."""
        item = self.waiting[server, designs, self.head[server, designs]].astype(np.int64)
        self.head[server, designs] += 1
        self.idle[server, designs] -= 1
        end = now[designs] + self.time[item % self.phases, item // self.phases, designs]
        self.key[slot, designs] = (end << _SEQUENCE_BITS) + self.sequence
        self.item[slot, designs] = item
        self.sequence += 1
