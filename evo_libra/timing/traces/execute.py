"""Execution of traces, event by event: exact to the ns where ASTRA-sim's backend is a model of one NPU at a time.

An NPU runs one operation at a time on its CPU, one on its compute units and one on its links; receives take none of
them. Whenever something ends there, of the operations that wait for nothing any more those whose resource is idle
begin, the least id first. A collective begins when its last member has come to it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.chakra.groups import Groups
from evo_libra.errors import InputError
from evo_libra.timing.machine import Machine
from evo_libra.timing.traces.compile import Traces, compile_program
from evo_libra.timing.traces.durations import CollectiveTimes, durations
from evo_libra.timing.traces.operations import Action, Resource
from evo_libra.timing.traces.own_collective import OwnCollectives
from evo_libra.timing.traces.program import TraceProgram, disagreement, waiting_for_ever


@dataclass(frozen=True)
class Span:
    """When a class of NPUs did a node of the trace of the NPU that stands for it, in ns.

    A collective starts when the NPU comes to it, not when the last one does.
    """

    npu_class: int
    node: int
    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Execution:
    """When everything happened, in (o,) ns of each operation.

    Late are operations, collectives, whose members began apart and are taken to end together: of those the end is right
    for the last member and too late for the others. There are none where all times are exact. Apart are all collectives
    whose members began apart: late ones, and those whose members each have an exact end of their own. Tied are
    transfers of a shared memory that come to it at the same ns as others, and are served by NPU. The times are
    those of collectives, and (o,) ns that operations take.
    """

    program: TraceProgram
    starts: FloatArray
    ends: FloatArray
    times: CollectiveTimes
    taking: FloatArray
    late: tuple[int, ...] = ()
    apart: tuple[int, ...] = ()
    tied: tuple[int, ...] = ()

    @property
    def finish(self) -> FloatArray:
        """(N,) ns at which each NPU has done everything."""
        return self._of_npus(self._finish)

    @property
    def compute(self) -> FloatArray:
        """(N,) ns that each NPU computes."""
        return self._of_npus(self._busy(self._takes(Resource.COMPUTE)))

    @property
    def exposed(self) -> FloatArray:
        """(N,) ns at which an NPU does not compute: its exposed communication, in ASTRA-sim's words."""
        return self.finish - self.compute

    @property
    def communication(self) -> FloatArray:
        """(N,) ns that each NPU communicates or waits for others to do so; remote memory counts, receives do not."""
        return self._of_npus(self._busy(self._takes(Resource.COMMUNICATION)))

    @property
    def cpu(self) -> FloatArray:
        """(N,) ns that each NPU's CPU works."""
        return self._of_npus(self._busy(self._takes(Resource.CPU)))

    @property
    def idle(self) -> FloatArray:
        """(N,) ns at which each NPU neither computes nor communicates."""
        either = self._takes(Resource.COMPUTE) | self._takes(Resource.COMMUNICATION)
        return self._of_npus(self._finish - self._covered(either))

    def timeline(self) -> list[Span]:
        """Return what each class of NPUs did, class after class, by start."""
        program = self.program
        order = np.lexsort((np.arange(len(program)), self.starts, program.owner))
        return [
            Span(int(program.owner[o]), program.nodes[o], program.names[o], float(self.starts[o]), float(self.ends[o]))
            for o in order.tolist()
        ]

    @cached_property
    def _finish(self) -> FloatArray:
        finish = np.zeros(len(self.program.classes))
        np.maximum.at(finish, self.program.owner, self.ends)
        return finish

    def _of_npus(self, of_classes: FloatArray) -> FloatArray:
        return np.asarray(of_classes[self.program.npus])

    def _takes(self, resource: Resource) -> BoolArray:
        return np.array([o.resource is resource for o in self.program.operations], dtype=np.bool_)

    def _busy(self, which: BoolArray) -> FloatArray:
        weights = (self.ends - self.starts)[which]
        busy = np.zeros(len(self.program.classes))
        np.add.at(busy, self.program.owner[which], weights)
        return busy

    def _covered(self, which: BoolArray) -> FloatArray:
        """Return the ns of each class in which at least one of some operations runs."""
        found = np.zeros(len(self.program.classes))
        order = np.flatnonzero(which)[np.lexsort((self.starts[which], self.program.owner[which]))]
        owner, starts, ends = self.program.owner[order], self.starts[order], self.ends[order]
        reached = dict[int, float]()
        for npu_class, start, end in zip(owner.tolist(), starts.tolist(), ends.tolist(), strict=True):
            before = max(reached.get(npu_class, 0.0), start)
            found[npu_class] += max(end - before, 0.0)
            reached[npu_class] = max(end, before)
        return found


def execute(
    traces: Traces,
    groups: Groups,
    machine: Machine,
    *,
    tell: Callable[[str], None] | None = None,
    waiting: bool = False,
    timed: Callable[[TraceProgram, FloatArray], FloatArray] | None = None,
    speeds: Sequence[float] | None = None,
) -> Execution:
    """Return when every NPU does everything, from the nodes of each NPU, or of all of them.

    NPUs that have other places among the members of a collective are in classes of their own if these begin apart.

    Parameters
    ----------
    tell : is told each collective before its time is searched for.
    waiting : whether collectives begin when the last member comes, and end for all together.
    timed : gives the (o,) ns of operations from those on the machine, where computations take others.
    speeds : of each NPU: its computations take their time over its speed, rounded down to a ns.

    Raises
    ------
    InputError : one of `compile_program` or `durations`; or members of a group come to different collectives, traces
        wait for each other for ever, or members that begin apart order chunks differently.
    """
    done = None
    for apart in (False, True):
        program = compile_program(traces, groups, machine, apart=apart, marks=speeds)
        times = CollectiveTimes(machine, program.communicators, tell, apart=apart, waiting=waiting)
        taking = durations(program, machine, times)
        taking = taking if timed is None else timed(program, taking)
        done = execute_program(program, machine, times, taking if speeds is None else _slowed(program, taking, speeds))
        if not done.late:
            break
    assert done is not None  # noqa: S101 - of two
    return done


def _slowed(program: TraceProgram, taking: FloatArray, speeds: Sequence[float]) -> FloatArray:
    computes = np.array([o.resource is Resource.COMPUTE for o in program.operations], dtype=np.bool_)
    speed = np.array([speeds[members[0]] for members in program.classes])[program.owner]
    return np.where(computes, np.floor(taking / speed), taking)


def execute_program(
    program: TraceProgram, machine: Machine, times: CollectiveTimes | None = None, taking: FloatArray | None = None
) -> Execution:
    """Return when every NPU does everything in a program that was compiled for the machine; errors as for `execute`.

    Times of its collectives that are known already may be given, and (o,) ns of its operations where computations take
    others than those of the machine.
    """
    known = times or CollectiveTimes(machine, program.communicators)
    return _State(program, known, durations(program, machine, known) if taking is None else taking).execution()


_Key = tuple[float, bool, int, bool, float, int]
"""An end: when; whether of a receive whose message was there; class; whether of a collective; start; operation.

Of ends at the same time on an NPU, the operation that began first ends first, but collectives, whose last message was
sent later than most operations began, and then receives come last.
"""


class _State:
    """The state of an execution."""

    def __init__(self, program: TraceProgram, times: CollectiveTimes, taking: FloatArray) -> None:
        self.program, self.times = program, times
        self.taking, self.durations = taking, taking.tolist()
        self.actions = [o.action for o in program.operations]
        self.slot, self.owner = program.slot.tolist(), program.owner.tolist()
        self.successors = np.split(program.successors, program.first_successor[1:-1])
        self.waits = program.waits.tolist()
        self.starts, self.ends = np.full(len(program), np.nan), np.full(len(program), np.nan)
        self.events: list[_Key] = []
        self.ready: list[list[int]] = [[] for _ in program.slots]
        self.busy = [False] * len(program.slots)
        self.slots_of = [np.flatnonzero(program.slots == c).tolist() for c in range(len(program.classes))]
        self.receives: list[list[int]] = [[] for _ in program.classes]
        self.arrived: dict[int, int] = {}
        self.expecting: dict[int, deque[int]] = {}
        self.memory_free: dict[int, float] = {}
        self.asked: dict[int, float] = {}
        self.tied: list[int] = []
        self.waiting: list[dict[int, int]] = [{} for _ in program.communicators]
        self.own = OwnCollectives(program, times.machine, self.schedule)
        self.late: list[int] = []
        self.apart: list[int] = []

    def execution(self) -> Execution:
        for operation, waits in enumerate(self.waits):
            if not waits:
                self.release(operation)
        for npu_class in range(len(self.program.classes)):
            self.begin_ready(npu_class, 0.0)
        while self.events or self.own.events:
            if self.own.events and (not self.events or self.own.events[0][0] <= self.events[0][0]):
                self.own.happen()
                continue
            now, *_, operation = heapq.heappop(self.events)
            self.end(operation, now)
        if np.isnan(self.ends).any():
            begun = ~np.isnan(self.starts) & np.isnan(self.ends)
            raise waiting_for_ever(self.program, np.flatnonzero(begun).tolist())
        late, apart, tied = tuple(self.late), tuple(self.apart), tuple(self.tied)
        return Execution(
            program=self.program, starts=self.starts, ends=self.ends, times=self.times, taking=self.taking, late=late,
            apart=apart, tied=tied,
        )  # fmt: skip

    def end(self, operation: int, now: float) -> None:
        """End an operation, and the receive that waits for its message."""
        touched = {self.finish(operation, now)}
        if self.actions[operation] is Action.SEND:
            channel = int(self.program.channel[operation])
            if self.expecting.get(channel):
                touched.add(self.finish(self.expecting[channel].popleft(), now))
            else:
                self.arrived[channel] = self.arrived.get(channel, 0) + 1
        for npu_class in sorted(touched):
            self.begin_ready(npu_class, now)

    def finish(self, operation: int, now: float) -> int:
        """Note the end of an operation and return its class."""
        self.ends[operation] = now
        if self.slot[operation] >= 0:
            self.busy[self.slot[operation]] = False
        for other in self.successors[operation].tolist():
            self.waits[other] -= 1
            if not self.waits[other]:
                self.release(other)
        return int(self.owner[operation])

    def release(self, operation: int) -> None:
        """Let an operation begin when its resource is idle."""
        slot = self.slot[operation]
        if slot < 0:
            self.receives[self.owner[operation]].append(operation)
        else:
            heapq.heappush(self.ready[slot], operation)

    def begin_ready(self, npu_class: int, now: float) -> None:
        idle = [slot for slot in self.slots_of[npu_class] if not self.busy[slot] and self.ready[slot]]
        for operation in sorted(heapq.heappop(self.ready[slot]) for slot in idle):
            self.begin(operation, now)
        for operation in sorted(self.receives[npu_class]):
            self.expect(operation, now)
        self.receives[npu_class].clear()

    def begin(self, operation: int, now: float) -> None:
        self.busy[self.slot[operation]] = True
        self.starts[operation] = now
        if self.actions[operation] is Action.COLLECTIVE:
            self.join(operation)
            return
        server = int(self.program.server[operation])
        if server >= 0:
            if self.asked.get(server) == now:
                self.tied.append(operation)
            self.asked[server] = now
            now = max(now, self.memory_free.get(server, 0.0))
            self.memory_free[server] = now + self.durations[operation]
        self.schedule(operation, now + self.durations[operation])

    def schedule(self, operation: int, end: float) -> None:
        together = self.actions[operation] is Action.COLLECTIVE
        key = (end, False, self.owner[operation], together, float(self.starts[operation]), operation)
        heapq.heappush(self.events, key)

    def expect(self, operation: int, now: float) -> None:
        """Begin a receive: it ends when its message arrives, or at once."""
        self.starts[operation] = now
        channel = int(self.program.channel[operation])
        if self.arrived.get(channel):
            self.arrived[channel] -= 1
            heapq.heappush(self.events, (now, True, self.owner[operation], False, now, operation))
        else:
            self.expecting.setdefault(channel, deque()).append(operation)

    def join(self, operation: int) -> None:
        """Come to a collective, which runs when all its roles have."""
        if self.program.operations[operation].algorithm:
            self.own.join(operation, float(self.starts[operation]))
            return
        number = int(self.program.communicator[operation])
        communicator, waiting = self.program.communicators[number], self.waiting[number]
        waiting[int(self.program.role[operation])] = operation
        if len(waiting) < len(communicator.roles) or communicator.absent:
            return
        members = [waiting[role] for role in range(len(communicator.roles))]
        if (self.program.exchange[members] != self.program.exchange[members[0]]).any():
            raise disagreement(self.program, members)
        waiting.clear()
        exchange = self.program.exchanges[self.program.exchange[operation]]
        try:
            ends, exact = self.times.ends(number, exchange, self.starts[members])
        except ValueError as error:
            raise InputError(self.program.mistake(operation, str(error))) from None
        if not exact:
            self.late.append(operation)
        if np.ptp(self.starts[members]) > 0:
            self.apart.append(operation)
        for member, end in zip(members, ends.tolist(), strict=True):
            self.schedule(member, end)
