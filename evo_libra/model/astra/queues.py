"""Chunks in the queues of the dimensions, for a population at once: as many steps as there are chunk phases.

Every dimension has one or more queues; a queue runs a number of chunks at a time, in the order in which they came, and
a phase holds its slot for its whole time. All NPUs do the same, so that one such model stands for all of them.
"""

from __future__ import annotations

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray

_SEQUENCE_BITS = 20
_NEVER = np.iinfo(np.int64).max


def finish(server: IntArray, time: FloatArray, slots: IntArray) -> FloatArray:
    """Return the (n,) ns at which the last chunk has passed its last phase.

    Of events at the same time the one that was scheduled first comes first. At the end of a phase the chunk joins its
    next queue, then its old queue starts the next chunk, then the new queue does.

    Parameters
    ----------
    server : (p, k, n) the queue in which phase p of chunk k waits; axes of length 1 broadcast.
    time : (p, k, n) whole ns of each phase, below 2^43; broadcasts, too.
    slots : (q,) chunks that each queue runs at a time.
    """
    shape = np.broadcast_shapes(server.shape, time.shape)
    if 0 in shape:
        return np.zeros(shape[2])
    queues = _Queues(np.broadcast_to(server, shape), np.broadcast_to(time.astype(np.int64), shape), slots)
    return queues.run().astype(np.float64)


class _Queues:
    """The state of all queues of n designs.

    A waiting chunk phase is the number ``chunk * phases + phase``; a running one is in a slot with the key
    ``end * 2^20 + sequence``, so that the least key is the next event.
    """

    def __init__(self, server: IntArray, time: IntArray, slots: IntArray) -> None:
        self.server, self.time, self.slots = server, time, slots
        self.phases, self.chunks, self.designs = time.shape
        self.every = np.arange(self.designs)
        self.first_slot = np.concatenate([[0], np.cumsum(slots)])
        self.key = np.full((int(self.first_slot[-1]), self.designs), _NEVER)
        self.item = np.zeros(self.key.shape, dtype=np.int64)
        self.owner = np.repeat(np.arange(len(slots)), slots)
        self.waiting = np.zeros((len(slots), self.chunks * self.phases, self.designs), dtype=np.int32)
        self.head, self.tail = (np.zeros((len(slots), self.designs), dtype=np.int64) for _ in range(2))
        self.idle = np.repeat(slots[:, None], self.designs, axis=1)
        self.sequence = 0

    def run(self) -> IntArray:
        for chunk in range(self.chunks):
            self.join(self.server[0, chunk], np.full(self.designs, chunk * self.phases), self.every)
        now = np.zeros(self.designs, dtype=np.int64)
        for slot, server in enumerate(self.owner.tolist()):
            some = self.every[self.head[server] < self.tail[server]]
            self.start(np.full(len(some), server), np.full(len(some), slot), some, now)
        for _ in range(self.chunks * self.phases):
            now = self.step()
        return np.asarray(now)

    def step(self) -> IntArray:
        """Let the next event of every design happen; return its time."""
        slot = self.key.argmin(axis=0)
        now = self.key[slot, self.every] >> _SEQUENCE_BITS
        item, old = self.item[slot, self.every], self.owner[slot]
        self.key[slot, self.every] = _NEVER
        self.idle[old, self.every] += 1
        going = self.every[(item + 1) % self.phases > 0]
        following = item[going] + 1
        new = self.server[following % self.phases, following // self.phases, going]
        self.join(new, following, going)
        more = self.every[self.head[old, self.every] < self.tail[old, self.every]]
        self.start(old[more], slot[more], more, now)
        ready = (self.idle[new, going] > 0) & (self.head[new, going] < self.tail[new, going])
        new, going = new[ready], going[ready]
        self.start(new, self.free_slot(new, going), going, now)
        return np.asarray(now)

    def join(self, server: IntArray, item: IntArray, designs: IntArray) -> None:
        """Put chunk phases at the end of their queues."""
        self.waiting[server, self.tail[server, designs], designs] = item
        self.tail[server, designs] += 1

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
        item = self.waiting[server, self.head[server, designs], designs].astype(np.int64)
        self.head[server, designs] += 1
        self.idle[server, designs] -= 1
        end = now[designs] + self.time[item % self.phases, item // self.phases, designs]
        self.key[slot, designs] = (end << _SEQUENCE_BITS) + self.sequence
        self.item[slot, designs] = item
        self.sequence += 1
