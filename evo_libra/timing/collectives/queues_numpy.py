"""Queues of a population in NumPy: in each step the next event of every design happens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.timing.names import Policy

SCATTERS, GATHERS, ANY = 0, 1, 2
"""Kind of a phase for policies: scatter, gather, or something that always joins at the end."""

_WORD = 63
_NEVER = np.iinfo(np.int64).max

Queues = IntArray | NDArray[np.int8]


@dataclass(frozen=True)
class Joining:
    """Properties of chunk phases for policies.

    Attributes
    ----------
    kind : (p, k) what each phase does.
    size : (p, k, n) the larger one of the bytes that enter and that leave it; only policies of sizes read it.
    """

    policy: Policy
    kind: IntArray
    size: FloatArray


def max_bits(slots: IntArray, phases: int, chunks: int) -> int:
    """Return how many bits the whole ns of all phases of a design together may have, at least.

    With the place of a slot and the number of an event they make a word of 63 bits.
    """
    return _WORD - int(slots.sum() - 1).bit_length() - (2 * (phases + 1) * chunks).bit_length()


class _Table:
    """Values of chunk phases by their number ``chunk * phases + phase``; axes of length 1 are not repeated.

    Behind the last number there is one more, which no loop reads.
    """

    def __init__(self, values: Queues | FloatArray, phases: int, chunks: int) -> None:
        rows = np.arange(values.shape[0] * values.shape[1]).reshape(values.shape[1], -1)
        self.row = np.append(np.broadcast_to(rows, (chunks, phases)), 0)
        self.designs, self.is_whole = values.shape[2], rows.size == chunks * phases
        self.values = np.append(values.swapaxes(0, 1), np.zeros(self.designs, dtype=values.dtype))

    def __getitem__(self, at: tuple[IntArray, IntArray]) -> IntArray:
        """Return the values of some chunk phases, each of its design."""
        item, design = at
        row = item if self.is_whole else self.row.take(item)
        return np.asarray(self.values.take(row if self.designs == 1 else row * self.designs + design))


class NumpyQueues:
    """The state of all queues of n designs; arrays of (queue, n) and (slot, n) are flat.

    A waiting chunk phase is the number ``chunk * phases + phase``. The least ``key`` is the next event: its end, the
    order in which it was scheduled, and its slot, in the bits of one word. A chunk behind its last phase joins one more
    queue that no dimension serves.
    """

    def __init__(
        self, server: Queues, time: IntArray, slots: IntArray, joining: Joining | None, count: IntArray
    ) -> None:
        shape = np.broadcast_shapes(server.shape, time.shape, (1, 1, len(count)))
        self.phases, self.chunks, self.designs = shape
        self.joining, self.count, self.slots, self.queues = joining, count, slots, len(slots)
        self.server, self.time = _Table(server.astype(np.int64), *shape[:2]), _Table(time, *shape[:2])
        self.size = _Table(joining.size, *shape[:2]) if joining is not None else None
        self.kind = np.append(joining.kind.T.ravel() if joining is not None else [], ANY)
        self.phase = np.append(np.tile(np.arange(self.phases), self.chunks), 0)
        self.every = np.arange(self.designs)
        self.first_slot = np.concatenate([[0], np.cumsum(slots)])
        self.owner = np.repeat(np.arange(self.queues), slots)
        self.slot_bits = int(slots.sum() - 1).bit_length()
        self.end_bits = _WORD - max_bits(slots, *shape[:2])
        self.key = np.full(int(slots.sum()) * self.designs, _NEVER)
        self.item = np.zeros(len(self.key), dtype=np.int64)
        self.length = self.phases * self.chunks + self.chunks + 2
        self.waiting = np.zeros((self.queues + 1) * self.designs * self.length, dtype=np.int32)
        self.head, self.tail = (np.zeros((self.queues + 1) * self.designs, dtype=np.int64) for _ in range(2))
        self.idle = np.repeat(np.append(slots, 0), self.designs)
        self.sequence = 0

    def run(self) -> IntArray:
        """Let everything happen; return the (n,) ns at which the last chunk has passed its last phase."""
        now = np.zeros(self.designs, dtype=np.int64)
        more = [int(np.searchsorted(-self.count, -chunk)) for chunk in range(self.chunks)]
        for chunk in range(self.chunks):
            every = self.every[: more[chunk]]
            item = np.full(len(every), chunk * self.phases)
            queue = self.server[item, every]
            self.join(queue, item, every)
            self.start_idle(queue, every, now)
        for event in range(self.chunks * self.phases):
            every = self.every[: more[event // self.phases]]
            now[: len(every)] = self.step(every)
        return now

    def step(self, every: IntArray) -> IntArray:
        """Let the next event of the first designs happen; return its time."""
        least = self.key.reshape(-1, self.designs)[:, : len(every)].min(axis=0)
        slot, now = least & ((1 << self.slot_bits) - 1), least >> self.end_bits
        at, old = slot * self.designs + every, self.owner.take(slot)
        place = old * self.designs + every
        self.idle[place] += 1
        item = self.item.take(at) + 1
        new = np.where(self.phase.take(item) == 0, self.queues, self.server[item, every])
        self.join(new, item, every)
        head = self.head.take(place)
        more = head < self.tail.take(place)
        item = self.waiting.take(place * self.length + head).astype(np.int64)
        key = self.started(slot, item, every, now)
        self.key[at] = np.where(more, key, _NEVER)
        self.item[at] = item
        self.head[place] = head + more
        self.idle[place] -= more
        self.start_idle(new, every, now)
        return np.asarray(now)

    def started(self, slot: IntArray, item: IntArray, designs: IntArray, now: IntArray) -> IntArray:
        """Return the keys of chunk phases that start in slots."""
        self.sequence += 1
        end = now + self.time[item, designs]
        return np.asarray((end << self.end_bits) | (self.sequence << self.slot_bits) | slot)

    def start_idle(self, queue: IntArray, designs: IntArray, now: IntArray) -> None:
        """Start the next chunk of a queue of each design where it has an idle slot."""
        place = queue * self.designs + designs
        ready = (self.idle.take(place) > 0) & (self.head.take(place) < self.tail.take(place))
        chosen = np.flatnonzero(ready)
        if not len(chosen):
            return
        place, queue, designs = place[chosen], queue[chosen], designs[chosen]
        head, slot = self.head.take(place), self.free_slot(queue, designs)
        item = self.waiting.take(place * self.length + head).astype(np.int64)
        at = slot * self.designs + designs
        self.key[at] = self.started(slot, item, designs, now[chosen])
        self.item[at] = item
        self.head[place] = head + 1
        self.idle[place] -= 1

    def free_slot(self, queue: IntArray, designs: IntArray) -> IntArray:
        """Return the first idle slot of a queue of each of some designs."""
        slot = self.first_slot.take(queue)
        for _ in range(int(self.slots.max()) - 1):
            busy = self.key.take(slot * self.designs + designs) != _NEVER
            if not busy.any():
                break
            slot = slot + busy
        return slot

    def join(self, queue: IntArray, item: IntArray, designs: IntArray) -> None:
        """Put chunk phases into their queues: at the end, or where the policy wants them."""
        place = queue * self.designs + designs
        tail = self.tail.take(place)
        self.waiting[place * self.length + tail] = item
        if self.joining is not None:
            ahead = tail - self.head.take(place)
            chosen = np.flatnonzero((ahead > 0) & (self.kind.take(item) != ANY) & (queue < self.queues))
            if len(chosen):
                busy = self.idle.take(place[chosen]) < self.slots.take(queue[chosen])
                self.insert(
                    self.joining.policy, place[chosen], item=item[chosen], designs=designs[chosen], ahead=ahead[chosen],
                    busy=busy,
                )  # fmt: skip
        self.tail[place] = tail + 1

    def insert(
        self, policy: Policy, place: IntArray, item: IntArray, designs: IntArray, ahead: IntArray, busy: BoolArray
    ) -> None:
        """Move chunk phases from the end of queues in which others wait to where the policy wants them.

        The queues are (n,) places in the flat arrays; in each of them (n,) chunk phases wait ahead of the one that
        joins, and the queue may be busy: it runs a chunk.
        """
        column = np.arange(ahead.max() + 1)
        cells = (place * self.length + self.head.take(place))[:, None] + column
        queue = self.waiting.take(cells)
        waits, item, designs = column < ahead[:, None], item[:, None], designs[:, None]
        stops = waits & self.stops(policy, np.where(waits, queue, 0), item, designs, busy)
        at = np.where(stops.any(axis=1), stops.argmax(axis=1), ahead)[:, None]
        moved = np.where(column == at, item, np.roll(queue, 1, axis=1))
        self.waiting[cells] = np.where((column < at) | (column > ahead[:, None]), queue, moved)

    def stops(self, policy: Policy, queue: IntArray, item: IntArray, designs: IntArray, busy: BoolArray) -> BoolArray:
        """Return (n, place) before which waiting chunks a new one joins; it joins before the first of them."""
        phase = self.phase.take(item)
        if policy is Policy.FEWEST_PHASES_FIRST:
            return np.asarray(self.phase.take(queue) <= phase)
        if policy is Policy.ALTERNATING:
            kinds = self.kind.take(queue)
            # Wherever two in a row do not take turns. The first one that waits is passed where a chunk runs; where
            # none does, as a chunk has just left this queue and joins it again, nothing is in front of it.
            turns = kinds + np.roll(kinds, 1, axis=1) == SCATTERS + GATHERS
            turns[:, 0] = busy
            return np.asarray(~turns)
        assert self.size is not None  # noqa: S101 - there is a policy
        sizes, own = self.size[queue, designs], self.size[item, designs]
        if policy is Policy.SMALLEST_CHUNK_FIRST:
            return np.asarray(sizes > own)
        return np.asarray((sizes >= own) & (phase != self.phases - 2))
