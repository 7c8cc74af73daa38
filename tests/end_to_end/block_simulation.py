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


Step = tuple[list[int], int, int]
"""The members to which an NPU sends at a time, the bytes of each message, and those that it reduces behind the step."""


def steps_of(algorithm: str, collective: str, size: int, members: int, place: int) -> list[Step]:
    """Return what the member at a place does, as ASTRA-sim runs an algorithm among some members."""
    halves = members & (members - 1) == 0 and collective != "all-to-all"
    if algorithm == "halving-doubling" and not halves:
        algorithm = "direct" if collective == "all-to-all" else "ring"
    if algorithm == "ring":
        count = {"all-reduce": 2 * (members - 1), "all-to-all": members * (members - 1) // 2}.get(
            collective, members - 1
        )
        bytes_ = size if collective == "all-gather" else size // members
        reducing = members - 1 if collective in ("all-reduce", "reduce-scatter") else 0
        return [([(place + 1) % members], bytes_, bytes_ if step < reducing else 0) for step in range(count)]
    if algorithm == "direct":
        bytes_ = size if collective == "all-gather" else size // members
        others = [(place + offset) % members for offset in range(1, members)]
        first = (others, bytes_, bytes_ if collective in ("all-reduce", "reduce-scatter") else 0)
        return [first, (others, bytes_, 0)] if collective == "all-reduce" else [first]
    bits, found = members.bit_length() - 1, list[Step]()
    if collective != "all-gather":
        # What is received is reduced with the size of the message behind it.
        found = [([place ^ (1 << i)], size >> (i + 1), size >> (i + 2) if i + 1 < bits else 0) for i in range(bits)]
        size = 2 * (size // (2 * members))  # an all-reduce halves once too often
    if collective != "reduce-scatter":
        found += [([place ^ (members >> (i + 1))], size << i, 0) for i in range(bits)]
    return found


@dataclass
class TreeSimulation(Simulation):
    """A tree of switches of four NPUs and one switch above, whose collectives run one chunk after the other.

    An NPU sends `rate` bytes per ns; its part of the upper level is `upper` of it, in each direction. The ns of a link
    and of a switch are `latency`.
    """

    rate: float = 1.0
    upper: float = 1.0
    latency: tuple[float, float] = (0.0, 0.0)
    algorithm: str = "halving-doubling"
    reduces: bool = False

    def exchange(self, axis: int, collective: str, size: int, now: int, done: Event) -> None:
        npus = self.axes[axis].length
        if self.reduces:
            self.stream(npus, collective, size, now, done)
            return
        near = min(npus, 4)
        below, above = ("reduce-scatter", "all-gather"), npus // near
        levels: list[tuple[bool, str, int]] = {
            "reduce-scatter": [(True, collective, size), (False, collective, size // near)],
            "all-gather": [(False, collective, size), (True, collective, size * above)],
            "all-reduce": [
                (True, below[0], size), (False, collective, size // near), (True, below[1], size // near)
            ],
            "all-to-all": [(True, collective, size), (False, collective, size)],
        }[collective]  # fmt: skip
        left = [level for level in levels if (near if level[0] else above) > 1]

        def go_on(now: int) -> None:
            if left:
                self.level(npus, *left.pop(0), now, go_on)
                return
            for _ in range(npus):
                done(now)

        go_on(now)

    def level(self, npus: int, inner: bool, collective: str, size: int, now: int, then: Event) -> None:  # noqa: FBT001
        """Run an algorithm among the NPUs of each first-level switch, or among those at one place of all of them."""
        near = min(npus, 4)
        members, running = near if inner else npus // near, [npus]
        arrived: dict[tuple[int, int], int] = {}
        sent: dict[int, int] = {}

        def send(npu: int, step: int, now: int) -> None:
            place, base = (npu % near, npu - npu % near) if inner else (npu // near, npu % near)
            program = steps_of(self.algorithm, collective, size, members, place)
            targets, bytes_, _ = program[step]
            for target in targets:
                other = base + target if inner else base + target * near
                arrival = self.up_and_down(npu, other, bytes_, len(targets), now, inner=inner)
                self.at(arrival, lambda now, other=other: receive(other, step, now))  # type: ignore[misc]
            sent[npu] = step
            go_on(npu, step, now)

        def receive(npu: int, step: int, now: int) -> None:
            arrived[npu, step] = arrived.get((npu, step), 0) + 1
            go_on(npu, step, now)

        def go_on(npu: int, step: int, now: int) -> None:
            program = steps_of(self.algorithm, collective, size, members, npu % near if inner else npu // near)
            targets, _, reduced = program[step]
            if sent.get(npu, -1) < step or arrived.get((npu, step), 0) < len(targets):
                return
            ready = now + self.endpoint + self.reduction(reduced)
            self.at(ready, (lambda now: send(npu, step + 1, now)) if step + 1 < len(program) else finish)

        def finish(now: int) -> None:
            running[0] -= 1
            if not running[0]:
                then(now)

        for npu in range(npus):
            self.at(now + self.endpoint, lambda now, npu=npu: send(npu, 0, now))  # type: ignore[misc]

    def up_and_down(self, source: int, target: int, bytes_: int, together: int, now: int, *, inner: bool) -> int:
        """Send a message over the links of both NPUs and their parts of the upper level; return when it is there.

        Of messages that an NPU sends at a time, each has an equal part of every link.
        """
        rate = self.rate * (1.0 if inner else self.upper) / together
        links = [(source, 0), (source, 1), (target, 2), (target, 3)]
        hops = [links[0], links[3]] if inner else links
        if together == 1 and self.active == 1:
            begin = max(now, *(self.free.get((0, link), 0) for link in hops))
            self.waits += begin > now
            for link in hops:
                self.free[0, link] = begin + floor(bytes_ / rate)
        link, switch = self.latency
        return floor(now + 2 * (len(hops) // 2 * link + (len(hops) - 1) / 2 * switch) + bytes_ / rate)

    def stream(self, npus: int, collective: str, size: int, now: int, done: Event) -> None:
        """Run a collective that switches reduce and copy: an NPU gets one message behind the other in a stream."""
        near = min(npus, 4)
        link, switch = self.latency
        way = [link, switch, link] if npus == near else [link, switch, link, switch, link, switch, link]
        together = near if collective != "all-to-all" else (npus - 1) / max(npus - near, 1)
        rate = self.rate * (min(self.upper * together, 1.0) if npus > near else 1.0)
        one = size if collective in ("all-reduce", "all-gather") else size // npus
        messages = [one] * (1 if collective == "all-reduce" else npus - 1)
        kept = self.reduction(one) if collective == "reduce-scatter" else 0
        for _ in range(npus):
            received = sum(messages)
            arrival = floor(now + self.endpoint + sum(way) + received / rate)
            self.at(arrival + self.endpoint + kept, done)
