"""Collectives inside blocks, step by step: every message of every NPU on every link that it passes, one at a time.

Nothing here comes from the package. A chunk goes through the axes of a block one after the other; a phase begins when
all NPUs of the block can, and is over when all of them are done. In a phase each NPU sends a message to the next one of
its ring, waits for the one from before it, reduces it, and goes on. A message holds each link that it passes for its
bytes, and waits where another message holds it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise
from math import floor, prod

Link = tuple[int, int]
Event = Callable[[int], None]
Phase = tuple[int, str, int]
"""Axis, collective and bytes of a phase."""


def nearest_sides(npus: int, axes: int) -> tuple[int, ...]:
    """Return the sides of the grid nearest to a square or a cube, shortest first, found by trying all of them."""

    def grids(left: int, depth: int, least: int) -> Iterator[tuple[int, ...]]:
        if depth == 1:
            yield from [(left,)] if left >= least else []
            return
        for side in range(least, left + 1):
            if left % side == 0:
                yield from ((side, *rest) for rest in grids(left // side, depth - 1, side))

    # The shortest side is as long as can be, then the next one.
    return max(grids(npus, axes, 1))


@dataclass
class Axis:
    """Lines of NPUs of one length: which NPUs are next to each other, and in which order messages go around.

    `rate` is bytes per ns of a message, `latency` ns of a link.
    """

    length: int
    rate: float
    latency: float
    line: bool = False

    def route(self, place: int) -> list[int]:
        """Return the places that a message passes on its way from one place to the next one of the ring."""
        if not self.line:
            return [place, (place + 1) % self.length]
        around = [*range(0, self.length, 2), *reversed(range(1, self.length, 2))]
        there = around[(around.index(place) + 1) % self.length]
        step = 1 if there > place else -1
        return list(range(place, there + step, step))


def phases_of(collective: str, chunk: int, sides: list[int]) -> list[Phase]:
    """Return the phases of a chunk over all axes, which scatters inwards and gathers outwards."""
    dims, found, size = range(len(sides)), list[Phase](), chunk
    if collective == "all-to-all":
        return [(d, collective, chunk) for d in dims]
    if collective != "all-gather":
        last = len(sides) - 1
        for d in dims:
            found.append((d, "all-reduce" if collective == "all-reduce" and d == last else "reduce-scatter", size))
            if found[-1][1] == "reduce-scatter":
                size //= sides[d]
        if collective == "reduce-scatter":
            return found
    for d in reversed(dims[:-1] if collective == "all-reduce" else dims):
        found.append((d, "all-gather", size))
        size *= sides[d]
    return found


@dataclass
class Simulation:
    """A block of axes in which chunks run, some at a time on each axis.

    `endpoint` is ns before each message, `memory` GB/s of the memory in which NPUs reduce.
    """

    axes: list[Axis]
    endpoint: int
    memory: float
    active: int = 1
    waits: int = 0
    events: list[tuple[int, int, int, Event]] = field(default_factory=list)
    number: Iterator[int] = field(default_factory=count)
    free: dict[tuple[int, Link], float] = field(default_factory=dict)

    def run(self, collective: str, chunk: int, chunks: int) -> int:
        """Return the ns at which all chunks are done."""
        ways = [deque(phases_of(collective, chunk, [axis.length for axis in self.axes])) for _ in range(chunks)]
        self.waiting = [deque[int]() for _ in self.axes]
        self.running = [0] * len(self.axes)
        self.ways, now = ways, 0
        for n, way in enumerate(ways):
            self.waiting[way[0][0]].append(n)
        self.start(ways[0][0][0], 0)
        while self.events:
            now, _, _, event = heapq.heappop(self.events)
            event(now)
        assert not any(ways)
        return now

    def at(self, time: int, event: Event, order: int = 0, number: int | None = None) -> None:
        heapq.heappush(self.events, (time, order, next(self.number) if number is None else number, event))

    def start(self, axis: int, now: int) -> None:
        while self.waiting[axis] and self.running[axis] < self.active:
            self.running[axis] += 1
            self.begin(self.waiting[axis].popleft(), now)

    def begin(self, chunk: int, now: int) -> None:
        """Begin the next phase of a chunk; when it is over, the chunk joins the queue of the one behind it."""
        axis, collective, size = self.ways[chunk].popleft()
        number, left = next(self.number), [prod(one.length for one in self.axes)]

        def done(now: int) -> None:
            left[0] -= 1
            if not left[0]:
                self.at(now, over, 1, number)

        def over(now: int) -> None:
            self.running[axis] -= 1
            way = self.ways[chunk]
            if way:
                self.waiting[way[0][0]].append(chunk)
            self.start(axis, now)
            if way:
                self.start(way[0][0], now)

        self.exchange(axis, collective, size, now, done)

    def exchange(self, axis: int, collective: str, size: int, now: int, done: Event) -> None:
        """Run the ring algorithm on all lines of an axis."""
        own = self.axes[axis]
        steps, reducing = {
            "reduce-scatter": (own.length - 1, own.length - 1),
            "all-gather": (own.length - 1, 0),
            "all-reduce": (2 * (own.length - 1), own.length - 1),
            "all-to-all": (own.length * (own.length - 1) // 2, 0),
        }[collective]
        bytes_ = size if collective == "all-gather" else size // own.length
        stride = prod(one.length for one in self.axes[:axis])
        arrived: dict[int, list[int]] = {}
        sent: dict[int, list[int]] = {}

        def send(npu: int, now: int) -> None:
            sent.setdefault(npu, []).append(now)
            place = npu // stride % own.length
            path = [npu + (other - place) * stride for other in own.route(place)]
            arrival = self.pass_links(axis, path, bytes_, now)
            self.at(arrival, lambda now: receive(path[-1], now))
            go_on(npu)

        def receive(npu: int, now: int) -> None:
            arrived.setdefault(npu, []).append(now)
            go_on(npu)

        def go_on(npu: int) -> None:
            """Send the next message, or finish, once the message of this step has been sent and the other received."""
            step = len(sent.get(npu, []))
            if not step or len(arrived.get(npu, [])) < step or (npu, step) in gone:
                return
            gone.add((npu, step))
            reduction = self.reduction(bytes_) if step <= reducing else 0
            ready = max(sent[npu][step - 1], arrived[npu][step - 1]) + self.endpoint + reduction
            self.at(ready, (lambda now: send(npu, now)) if step < steps else done)

        gone: set[tuple[int, int]] = set()
        for npu in range(prod(one.length for one in self.axes)):
            self.at(now + self.endpoint, lambda now, npu=npu: send(npu, now))  # type: ignore[misc]

    def reduction(self, bytes_: int) -> int:
        """Return the ns to read what was received and what is there, and to write their sum, each in whole ns."""
        return 3 * floor(bytes_ / (self.memory * 1e9) * 1e9)

    def pass_links(self, axis: int, path: list[int], bytes_: int, now: int) -> int:
        """Send a message along a path when all its links are free; return when it has arrived."""
        own, links = self.axes[axis], list(pairwise(path))
        busy = floor(bytes_ / own.rate)
        begin = float(now)
        if self.active == 1:
            begin = max(now, *(self.free.get((axis, link), 0) - hop * own.latency for hop, link in enumerate(links)))
            self.waits += begin > now
            for hop, link in enumerate(links):
                self.free[axis, link] = begin + hop * own.latency + busy
        return floor(begin + len(links) * own.latency + bytes_ / own.rate)
