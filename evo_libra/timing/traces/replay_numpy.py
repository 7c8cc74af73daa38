"""Executions of a population in NumPy: in every step one thing ends in each design, in its own order.

The rules are those of `evo_libra.timing.traces.execute`, but that members of a communicator end together.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.timing.traces.program import ProgramArrays, disagreement, waiting_for_ever

_BITS = 64
_ONE = np.uint64(1)


def replay_numpy(schedule: ProgramArrays, durations: FloatArray) -> FloatArray:
    """Return (c, n) when each class of NPUs ends in each design, from (o, n) times of the operations.

    An InputError says that members of a group come to different collectives, or traces wait for each other for ever.
    """
    return _NumpyReplay(schedule, durations).run()


class _NumpyReplay:
    """The state of n executions; operations that may begin are bits in the words of their slot."""

    def __init__(self, schedule: ProgramArrays, durations: FloatArray) -> None:
        self.schedule, self.program, self.durations = schedule, schedule.program, durations
        operations, designs = durations.shape
        slots, most = schedule.on_slot.shape
        self.every = np.arange(designs)
        self.waits = np.repeat(schedule.waits[:, None].astype(np.int32), designs, axis=1)
        self.left = np.full(designs, operations)
        self.words = np.zeros((slots, designs, -(-most // _BITS)), dtype=np.uint64)
        self.ready = np.zeros((slots, designs), dtype=np.int64)
        self.idle = np.ones((slots, designs), dtype=np.bool_)
        self.ends = np.full((slots, designs), np.inf)
        self.begun = np.zeros((slots, designs))
        self.running = np.full((slots, designs), -1)
        self.now = np.zeros(designs)
        self.finish = np.zeros((len(self.program.classes), designs))
        self.new_receives: list[tuple[IntArray, IntArray]] = []
        messages = (len(schedule.receives), designs)
        self.expected, self.arrived, self.there = (np.zeros(messages, dtype=np.bool_) for _ in range(3))
        self.joined = np.zeros((len(schedule.roles), designs), dtype=np.int64)
        self.memory_free = np.zeros((int(self.program.server.max(initial=-1)) + 1, designs))

    def run(self) -> FloatArray:
        start = np.full(len(self.every), len(self.durations))
        self.free_followers(start, self.every)
        self.begin_ready()
        while self.step():
            pass
        if self.left.any():
            raise self.deadlock(int((self.left > 0).argmax()))
        return self.finish

    def step(self) -> bool:
        """End one operation in every design that has any; return whether there was one."""
        first = self.ends.min(axis=0)
        receiving = self.there.any(axis=0) & (first > self.now)
        ending = ~receiving & (first < np.inf)
        some = ending.any()
        if some:
            self.end(self.every if ending.all() else np.flatnonzero(ending), first)
        if receiving.any():
            designs, some = np.flatnonzero(receiving), np.True_
            receive = self.there[:, designs].argmax(axis=0)
            self.there[receive, designs] = False
            self.complete(self.schedule.receives[receive], designs)
        self.begin_ready()
        return bool(some)

    def end(self, designs: IntArray, first: FloatArray) -> None:
        """End the next operation of some designs, and the receives that wait for its message."""
        self.now[designs] = first[designs]
        slot = self.next_slot(designs, first[designs])
        operation = self.running[slot, designs]
        self.ends[slot, designs] = np.inf
        self.idle[slot, designs] = True
        self.complete(operation, designs)
        receive = self.schedule.receive[operation]
        sent = receive >= 0
        if sent.any():
            receive, designs = receive[sent], designs[sent]
            waited = self.expected[receive, designs]
            self.expected[receive, designs] = False
            self.arrived[receive[~waited], designs[~waited]] = True
            self.complete(self.schedule.receives[receive[waited]], designs[waited])

    def next_slot(self, designs: IntArray, first: FloatArray) -> IntArray:
        """Return the slot whose operation ends next in some designs: of the first class, in the order of `execute`."""
        ends = self.ends[:, designs]
        slot = ends.argmin(axis=0)
        tied = np.flatnonzero((ends == first).sum(axis=0) > 1)
        if not len(tied):
            return np.asarray(slot)
        slots, places = self.program.slots, designs[tied]
        left = (ends[:, tied] == first[tied]) & (slots[:, None] == slots[slot[tied]])
        running, begun = self.running[:, places], self.begun[:, places]
        for key in (self.schedule.is_collective[running].astype(np.float64), begun, running.astype(np.float64)):
            least = np.where(left, key, np.inf)
            left &= least == least.min(axis=0)
        slot[tied] = left.argmax(axis=0)
        return np.asarray(slot)

    def complete(self, operation: IntArray, designs: IntArray) -> None:
        """Note the end of an operation in some designs."""
        self.finish[self.program.owner[operation], designs] = self.now[designs]
        self.left[designs] -= 1
        self.free_followers(operation, designs)

    def free_followers(self, operation: IntArray, designs: IntArray) -> None:
        """Let what waits for an operation in some designs wait no longer."""
        schedule = self.schedule
        start = schedule.first_successor[operation]
        count = schedule.first_successor[operation + 1] - start
        before = np.cumsum(count) - count
        which = np.repeat(start - before, count) + np.arange(count.sum())
        followers, designs = schedule.successors[which], np.repeat(designs, count)
        left = self.waits[followers, designs] - 1
        self.waits[followers, designs] = left
        free = left == 0
        self.release(followers[free], designs[free])

    def release(self, operation: IntArray, designs: IntArray) -> None:
        """Let operations of some designs begin when their slot is idle."""
        schedule = self.schedule
        slot = self.program.slot[operation]
        receives = slot < 0
        if receives.any():
            self.new_receives.append((schedule.receive[operation[receives]], designs[receives]))
            operation, designs, slot = operation[~receives], designs[~receives], slot[~receives]
        word, bit = np.divmod(schedule.place[operation], _BITS)
        # One event may free several operations of a slot: their bits are added one by one.
        row = slot * len(self.every) + designs
        np.add.at(self.words.reshape(-1), row * self.words.shape[2] + word, _ONE << bit.astype(np.uint64))
        np.add.at(self.ready.reshape(-1), row, 1)

    def begin_ready(self) -> None:
        """Begin the first operation of every idle slot, then expect the messages of new receives."""
        slot, designs = np.nonzero(self.idle & (self.ready > 0))
        if len(slot):
            self.begin(slot, designs)
        for receive, places in self.new_receives:
            there = self.arrived[receive, places]
            self.there[receive[there], places[there]] = True
            self.expected[receive[~there], places[~there]] = True
        self.new_receives.clear()

    def begin(self, slot: IntArray, designs: IntArray) -> None:
        schedule = self.schedule
        words = self.words[slot, designs]
        word = (words != 0).argmax(axis=1)
        found = words[np.arange(len(word)), word]
        lowest = found & (~found + _ONE)
        self.words[slot, designs, word] = found ^ lowest
        self.ready[slot, designs] -= 1
        operation = schedule.on_slot[slot, word * _BITS + np.bitwise_count(lowest - _ONE)]
        self.idle[slot, designs] = False
        self.running[slot, designs] = operation
        self.begun[slot, designs] = self.now[designs]
        self.ends[slot, designs] = self.now[designs] + self.durations[operation, designs]
        shared = self.program.server[operation] >= 0
        if shared.any():
            self.queue_up(slot[shared], operation[shared], designs[shared])
        joins = schedule.communicator[operation] >= 0
        if joins.any():
            self.ends[slot[joins], designs[joins]] = np.inf
            self.join(schedule.communicator[operation[joins]], designs[joins])

    def queue_up(self, slot: IntArray, operation: IntArray, designs: IntArray) -> None:
        """Let transfers wait for shared memories, of those that begin at once by class and id."""
        order = np.argsort(operation, kind="stable")
        slot, operation, designs = slot[order], operation[order], designs[order]
        server = self.program.server[operation]
        while len(slot):
            _, first = np.unique(server * len(self.every) + designs, return_index=True)
            mine, where = (server[first], designs[first]), (slot[first], designs[first])
            end = np.maximum(self.now[designs[first]], self.memory_free[mine])
            end += self.durations[operation[first], designs[first]]
            self.memory_free[mine] = self.ends[where] = end
            rest = np.ones(len(slot), dtype=np.bool_)
            rest[first] = False
            slot, operation, designs, server = slot[rest], operation[rest], designs[rest], server[rest]

    def join(self, communicator: IntArray, designs: IntArray) -> None:
        """Come to collectives, which begin when all roles of their communicator have come, and end together."""
        np.add.at(self.joined, (communicator, designs), 1)
        full = self.joined[communicator, designs] == self.schedule.roles[communicator]
        pairs = np.unique(communicator[full] * len(self.every) + designs[full])
        if not len(pairs):
            return
        communicator, designs = np.divmod(pairs, len(self.every))
        self.joined[communicator, designs] = 0
        slots = self.schedule.role_slot[communicator]
        there = slots >= 0
        operation = np.where(there, self.running[slots, designs[:, None]], -1)
        self.check_alike(operation, there)
        longest = np.where(there, self.durations[operation, designs[:, None]], 0.0).max(axis=1)
        places = np.broadcast_to(designs[:, None], slots.shape)[there]
        self.ends[slots[there], places] = np.repeat(self.now[designs] + longest, there.sum(axis=1))

    def check_alike(self, operation: IntArray, there: BoolArray) -> None:
        """Refuse members of a communicator that come to different collectives."""
        exchange = self.program.exchange[operation]
        differ = ((exchange != exchange[:, :1]) & there).any(axis=1)
        if differ.any():
            row = int(differ.argmax())
            raise disagreement(self.program, operation[row][there[row]].tolist())

    def deadlock(self, design: int) -> InputError:
        """Return the error that tells what a design waits for."""
        receives = self.schedule.receives[self.expected[:, design]].tolist()
        running = self.running[~self.idle[:, design], design].tolist()
        return waiting_for_ever(self.program, sorted([*running, *receives]))
