"""Ends of the members of a collective that begin apart: each member, chunk and message, as ASTRA-sim runs them.

Chunks of a collective pass from dimension to dimension at each member by itself, so that those of members that came
early run ahead of the last member. Members of one role do the same at the same times; one of them is run for all.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.timing.collectives.steps import Steps


@dataclass(frozen=True)
class MemberPhase:
    """A phase of a chunk: its messages in one dimension, the dimension, and the queue of each chunk there.

    If links differ between members, it also has the ns of each message of each role.
    """

    steps: Steps
    dimension: int
    queues: tuple[int, ...]
    transfers: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class MemberCollective:
    """A collective of several members.

    Attributes
    ----------
    sizes : members of each dimension that takes part; the places of members count the first dimension fastest.
    phases : of each chunk, the same for all of them.
    chunks : number of chunks; slots : chunks that a queue runs at a time.
    seats : of each member, the role that it has.
    """

    sizes: tuple[int, ...]
    phases: tuple[MemberPhase, ...]
    chunks: int
    slots: int
    seats: tuple[int, ...]

    @property
    def messages(self) -> int:
        """Messages of all roles."""
        return sum(len(phase.steps.moves) for phase in self.phases) * self.chunks * (max(self.seats) + 1)


def ends_apart(collective: MemberCollective, starts: FloatArray) -> FloatArray:
    """Return the (r,) ns at which roles end that begin at (r,) ns.

    A ValueError says that members order chunks differently, so that ASTRA-sim never ends.
    """
    found = _Run(collective, starts).run()
    if np.isnan(found).any():
        raise ValueError("never ends in ASTRA-sim: its members begin apart, and order chunks differently")
    return found


class _Run:
    """The state of a collective; a chunk that runs a phase at a role is a `_Running`."""

    def __init__(self, collective: MemberCollective, starts: FloatArray) -> None:
        self.collective, self.starts = collective, starts
        roles = len(starts)
        self.events: list[tuple[float, int, int, _Running, int]] = []
        self.sequence = 0
        self.phase = [[0] * collective.chunks for _ in range(roles)]
        self.left = [collective.chunks] * roles
        self.waiting: dict[tuple[int, int, int], deque[int]] = {}
        self.busy: dict[tuple[int, int, int], int] = {}
        self.ends = np.full(roles, np.nan)
        self.running: dict[tuple[int, int, int], _Running] = {}
        self.arrived: dict[tuple[int, int, int], dict[int, float]] = {}
        self.receivers = _receivers(collective, roles)

    def run(self) -> FloatArray:
        order = sorted(range(len(self.starts)), key=lambda role: (self.starts[role], role))
        begun = 0
        while begun < len(order) or self.events:
            at = self.starts[order[begun]] if begun < len(order) else np.inf
            # A member that begins at the time of an event began long before it was scheduled.
            if not self.events or at <= self.events[0][0]:
                self.issue(order[begun], float(at))
                begun += 1
                continue
            now, _, kind, running, place = heapq.heappop(self.events)
            (running.go, running.arrive)[kind](now, place)
        return self.ends

    def issue(self, role: int, now: float) -> None:
        for chunk in range(self.collective.chunks):
            self.start(self.join(role, chunk), now)

    def join(self, role: int, chunk: int) -> tuple[int, int, int]:
        phase = self.collective.phases[self.phase[role][chunk]]
        queue = role, phase.dimension, phase.queues[chunk % len(phase.queues)]
        self.waiting.setdefault(queue, deque()).append(chunk)
        return queue

    def start(self, queue: tuple[int, int, int], now: float) -> None:
        waiting = self.waiting[queue]
        while waiting and self.busy.get(queue, 0) < self.collective.slots:
            self.busy[queue] = self.busy.get(queue, 0) + 1
            role, chunk = queue[0], waiting.popleft()
            key = role, chunk, self.phase[role][chunk]
            self.running[key] = _Running(self, *key, queue)
            self.running[key].begin(now)

    def end(self, running: _Running, now: float) -> None:
        """End a phase: the chunk joins its next queue, then the old queue goes on, then the new one."""
        role, chunk = running.role, running.chunk
        del self.running[role, chunk, running.number]
        self.busy[running.queue] -= 1
        self.phase[role][chunk] += 1
        following = self.join(role, chunk) if self.phase[role][chunk] < len(self.collective.phases) else None
        self.start(running.queue, now)
        if following is not None:
            self.start(following, now)
            return
        self.left[role] -= 1
        if not self.left[role]:
            self.ends[role] = now

    def schedule(self, time: float, kind: int, running: _Running, place: int) -> None:
        heapq.heappush(self.events, (time, self.sequence, kind, running, place))
        self.sequence += 1


_GO, _ARRIVE = 0, 1


class _Running:
    """A chunk that runs a phase at a role."""

    def __init__(self, state: _Run, role: int, chunk: int, number: int, queue: tuple[int, int, int]) -> None:
        self.state, self.role, self.chunk, self.number, self.queue = state, role, chunk, number, queue
        phase = state.collective.phases[number]
        self.steps, self.transfers = phase.steps, phase.transfers[role] if phase.transfers else phase.steps.transfers
        self.made = self.sent = self.free = self.received = 0

    def begin(self, now: float) -> None:
        for _ in range(self.steps.window):
            self.make(now)

    def make(self, now: float) -> None:
        self.state.schedule(now + self.steps.delays[self.made], _GO, self, 0)
        self.made += 1

    def go(self, now: float, _: int) -> None:
        """Let one more message leave; the second half of a direct all-reduce waits for all of the first one."""
        steps, tries = self.steps, 1
        count = len(steps.moves)
        self.free += 1
        if steps.half and count - self.sent <= steps.half:
            if self.received < steps.half:
                return
            tries = steps.window
        for _ in range(tries):
            if self.made > self.sent and self.free and self.sent < count:
                self.send(now)
        if self.sent == count and self.free == steps.window:
            self.state.end(self, now)

    def send(self, now: float) -> None:
        """Send the next message, and expect the one that comes in exchange for it."""
        place, state = self.sent, self.state
        self.sent, self.free = place + 1, self.free - 1
        key = self.role, self.chunk, self.number
        arrival = now + self.transfers[place]
        state.schedule(arrival, _ARRIVE, self, place)
        if place in state.arrived.get(key, ()):
            del state.arrived[key][place]
            self.receive(now)

    def arrive(self, now: float, place: int) -> None:
        """Bring a message that this role has sent to the roles that receive it."""
        state, dimension = self.state, self.queue[1]
        for role in state.receivers[dimension, self.steps.paired, self.steps.moves[place], self.role]:
            key = role, self.chunk, self.number
            other = state.running.get(key)
            if other is not None and other.sent > place:
                other.receive(now)
            else:
                state.arrived.setdefault(key, {})[place] = now

    def receive(self, now: float) -> None:
        self.received += 1
        self.make(now)


def _receivers(collective: MemberCollective, roles: int) -> dict[tuple[int, bool, int, int], list[int]]:
    """Return the roles that get a message, by dimension, kind of move, move and role of the sender."""
    first = [collective.seats.index(role) for role in range(roles)]
    found: dict[tuple[int, bool, int, int], list[int]] = {}
    for phase in {(phase.dimension, phase.steps.paired): phase for phase in collective.phases}.values():
        stride = int(np.prod(collective.sizes[: phase.dimension]))
        moves = set().union(*(p.steps.moves for p in collective.phases if p.dimension == phase.dimension))
        for move in sorted(moves):
            for role in range(roles):
                found[phase.dimension, phase.steps.paired, move, role] = []
            for role, seat in enumerate(first):
                place = seat // stride % collective.sizes[phase.dimension]
                source = seat + (phase.steps.source(place, move) - place) * stride
                found[phase.dimension, phase.steps.paired, move, collective.seats[source]].append(role)
    return found


def equal_views(
    rows: Sequence[Hashable], sizes: Sequence[int], paired: Sequence[bool], numbers: dict[Hashable, int]
) -> list[int]:
    """Return of each member a number for what it sees of the rows of all members, from its own on.

    Members lie on a grid, the first dimension fastest. Along a dimension a member sees the others by how many places
    further they are, or where pairs exchange, by the bits in which places differ. Numbers that are known already stay,
    so that members of different grids can be compared.

    >>> equal_views("abab", [4], [False], {})
    [4, 5, 4, 5]
    """

    def number(key: Hashable) -> int:
        return numbers.setdefault(key, len(numbers))

    views, stride = [number(row) for row in rows], 1
    for d, (size, pairs) in enumerate(zip(sizes, paired, strict=True)):
        for bit in range(max(size - 1, 0).bit_length()):
            others = [views[_shifted(at, stride, size, 2**bit, pairs=pairs)] for at in range(len(views))]
            views = [number((d, bit, view, other)) for view, other in zip(views, others, strict=True)]
        stride *= size
    return views


def _shifted(at: int, stride: int, size: int, shift: int, *, pairs: bool) -> int:
    place = at // stride % size
    return at + ((place ^ shift if pairs else (place + shift) % size) - place) * stride
