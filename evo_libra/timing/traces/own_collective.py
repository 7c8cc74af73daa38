"""Ends of the members of a collective that runs an algorithm of the user's own: a graph of messages and reductions.

A member begins every step that waits for nothing, as many at a time as there are. A send ends when its message arrives,
and a receive when it has begun and its message is there.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import chain, count

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.chakra.trace import Kind
from evo_libra.errors import counted
from evo_libra.timing.machine import Machine
from evo_libra.timing.own_algorithms import OwnAlgorithm
from evo_libra.timing.traces.program import TraceProgram, disagreement


def own_ends(algorithm: OwnAlgorithm, members: Sequence[int], machine: Machine, starts: FloatArray) -> FloatArray:
    """Return the (m,) ns at which members end that begin at (m,) ns.

    A member runs the trace of its place among the members in ascending order, whose messages go to places in the order
    of the list: so ASTRA-sim does it. A ValueError says that traces are missing, that a message goes to a place that is
    not there, or that messages wait for each other for ever.
    """
    events: list[tuple[float, int, int, int]] = []
    found, number = np.full(len(members), np.nan), count()

    def schedule(time: float, member: int, at: int) -> None:
        heapq.heappush(events, (time, next(number), member, at))

    run = OwnRun(algorithm, members, machine, schedule, found.__setitem__)
    for member, start in enumerate(starts.tolist()):
        schedule(start, member, COMES)
    while events:
        now, _, member, at = heapq.heappop(events)
        run.happen(member, at, now)
    if np.isnan(found).any():
        waiting = members[int(np.isnan(found).argmax())]
        raise ValueError(f"never ends by the algorithm {algorithm.name}: NPU {waiting} waits for a message")
    return found


COMES = -1
"""In place of a step: the member begins."""

_Key = tuple[int, int, int, int]


class OwnRun:
    """A collective that runs: what each step of each member waits for, and messages that arrived or are expected.

    Members may begin and end at any time. `schedule` takes a time, and the member and its step that end then; `done`
    takes a member and the time at which it has ended. A ValueError is that of `own_ends`.
    """

    def __init__(
        self, algorithm: OwnAlgorithm, members: Sequence[int], machine: Machine,
        schedule: Callable[[float, int, int], None], done: Callable[[int, float], None],
    ) -> None:  # fmt: skip
        self.members, self.machine, self.schedule, self.done = members, machine, schedule, done
        place = {npu: at for at, npu in enumerate(sorted(members))}
        if len(algorithm.places) < len(members):
            traces, npus = counted(len(algorithm.places), "trace"), counted(len(members), "NPU")
            raise ValueError(f"has {npus}, and the algorithm {algorithm.name} {traces}")
        self.steps = [algorithm.places[place[npu]] for npu in members]
        for step in chain(*self.steps):
            if step.kind is not Kind.COMP and not 0 <= step.peer < len(members):
                reason = f"the algorithm {algorithm.name} sends to or receives from place {step.peer}"
                raise ValueError(f"has {len(members)} members, and {reason}")
        self.waits = [[step.waits for step in steps] for steps in self.steps]
        self.left = [len(steps) for steps in self.steps]
        self.arrived = dict[_Key, int]()
        self.expected = dict[_Key, deque[tuple[int, int]]]()

    def happen(self, member: int, at: int, now: float) -> None:
        """Let a member begin, or one of its steps end."""
        if at != COMES:
            self._end(member, at, now)
            return
        for first, waits in enumerate(self.waits[member].copy()):
            if not waits:
                self._begin(member, first, now)

    def _begin(self, member: int, at: int, now: float) -> None:
        step, npu = self.steps[member][at], self.members[member]
        if step.kind is Kind.COMP:
            self.schedule(now + step.nanoseconds, member, at)
            return
        other = self.members[step.peer]
        if step.kind is Kind.COMM_SEND:
            self.schedule(now + self.machine.transfer(step.size, self.machine.route(npu, other)), member, at)
            return
        key = step.key(other, npu)
        if self.arrived.get(key):
            self.arrived[key] -= 1
            self.schedule(now, member, at)
        else:
            self.expected.setdefault(key, deque()).append((member, at))

    def _end(self, member: int, at: int, now: float) -> None:
        step = self.steps[member][at]
        self._finish(member, at, now)
        if step.kind is Kind.COMM_SEND:
            key = step.key(self.members[member], self.members[step.peer])
            if self.expected.get(key):
                self._finish(*self.expected[key].popleft(), now)
            else:
                self.arrived[key] = self.arrived.get(key, 0) + 1

    def _finish(self, member: int, at: int, now: float) -> None:
        for other in self.steps[member][at].successors:
            self.waits[member][other] -= 1
            if not self.waits[member][other]:
                self._begin(member, other, now)
        self.left[member] -= 1
        if not self.left[member]:
            self.done(member, now)


class OwnCollectives:
    """The collectives of a program by algorithms of the user's own: members come and end one by one.

    `end` takes an operation and when it ends.
    """

    def __init__(self, program: TraceProgram, machine: Machine, end: Callable[[int, float], None]) -> None:
        self.program, self.machine, self.end = program, machine, end
        self.events: list[tuple[float, int, OwnRun, int, int]] = []
        self.number = count()
        self.runs = dict[int, list[tuple[OwnRun, dict[int, int]]]]()
        self.joined = Counter[tuple[int, int]]()

    def join(self, operation: int, now: float) -> None:
        """Let the NPU of an operation come to it: members come to the n-th collective of a group together."""
        number, role = int(self.program.communicator[operation]), int(self.program.role[operation])
        runs, place = self.runs.setdefault(number, []), self.joined[number, role]
        self.joined[number, role] += 1
        if place == len(runs):
            runs.append(self._run(number, operation))
        run, members = runs[place]
        others = [
            other for other in members.values() if self.program.exchange[other] != self.program.exchange[operation]
        ]
        if others:
            raise disagreement(self.program, [others[0], operation])
        member = self.program.communicators[number].seats.index(role)
        members[member] = operation
        run.happen(member, COMES, now)

    def happen(self) -> None:
        """Let the next step end."""
        now, _, run, member, at = heapq.heappop(self.events)
        run.happen(member, at, now)

    def _run(self, number: int, operation: int) -> tuple[OwnRun, dict[int, int]]:
        members, known = dict[int, int](), self.machine.algorithms.known
        algorithm = known[self.program.operations[operation].algorithm]

        def schedule(time: float, member: int, at: int) -> None:
            heapq.heappush(self.events, (time, next(self.number), run, member, at))

        run = OwnRun(
            algorithm, self.program.communicators[number].members, self.machine, schedule,
            lambda member, now: self.end(members[member], now),
        )  # fmt: skip
        return run, members
