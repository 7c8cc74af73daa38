"""Collectives as ASTRA-sim runs them, step by step: every NPU, every chunk and every message, one at a time.

Nothing here comes from the package. The rules are those of the simulator's congestion-unaware network model. An NPU
waits in front of each message, sends it, waits for the one that it expects in exchange, reduces that where the
algorithm says so, and goes on. Each NPU has queues of its own, and no NPU knows what the others do.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil, prod

Event = Callable[[int], None]


@dataclass(frozen=True)
class Dimension:
    """A dimension as in a network file: GB/s of 2^30 bytes, and ns, of a link."""

    topology: str
    npus: int
    bandwidth: float
    latency: float

    def hops(self, offset: int) -> int:
        """Return the links between two NPUs that are so many places apart."""
        around = min(offset % self.npus, -offset % self.npus)
        return {"Ring": around, "FullyConnected": 1, "Switch": 2}[self.topology]

    def transfer(self, offset: int, size: int) -> int:
        """Return the ns of a message."""
        return int(self.hops(offset) * self.latency + size / (self.bandwidth * 2**30 / 1e9))


@dataclass(frozen=True)
class Rules:
    """What a system file says, with the algorithm of each dimension; and the queues of a dimension."""

    endpoint: int
    memory: float
    splits: int
    active: int
    shrinking: bool
    algorithms: tuple[str, ...]
    queues: int = 1

    def reduction(self, size: int) -> int:
        """Return the ns to read two messages and to write one."""
        return 3 * int(size / (self.memory * 1e9) * 1e9)


@dataclass(frozen=True)
class Phase:
    """What a chunk does in one dimension: a collective of some bytes, in one of the queues."""

    dimension: int
    collective: str
    size: int
    queue: int = 0


def chunks_of(collective: str, size: int, npus: int, splits: int) -> tuple[int, int]:
    """Return how many chunks of how many bytes a collective has; a remainder is one more."""
    chunk = size // splits
    if collective != "all-gather" and npus > chunk:
        chunk, size = npus, splits * npus
    return ceil(size / chunk), chunk


def phases_of(collective: str, chunk: int, sizes: dict[int, int], *, shrinking: bool) -> list[Phase]:
    """Return what a chunk does in dimensions of some sizes, in order."""
    inwards, found = list(sizes), list[Phase]()
    if collective == "all-to-all" or (collective == "all-reduce" and not shrinking):
        return [Phase(d, collective, chunk) for d in inwards]
    scattered = {"reduce-scatter": inwards, "all-reduce": inwards[:-1], "all-gather": []}[collective]
    for d in scattered:
        found.append(Phase(d, "reduce-scatter", chunk))
        chunk //= sizes[d]
    if collective == "all-reduce":
        found.append(Phase(inwards[-1], "all-reduce", chunk))
    gathered = {"reduce-scatter": [], "all-reduce": inwards[:-1], "all-gather": inwards}[collective]
    for d in reversed(gathered):
        found.append(Phase(d, "all-gather", chunk))
        chunk *= sizes[d]
    return found


def queued(phases: list[Phase], number: int, queues: int, *, there_and_back: bool) -> list[Phase]:
    """Give the phases of the n-th chunk their queues: in turn, but half of them on either way of an all-reduce."""
    found = []
    for phase in phases:
        first, these = 0, queues
        if there_and_back and queues > 1:
            gathers = phase.collective == "all-gather"
            first, these = (queues // 2, queues - queues // 2) if gathers else (0, queues // 2)
        found.append(Phase(phase.dimension, phase.collective, phase.size, first + number % these))
    return found


@dataclass
class Exchange:
    """An algorithm at one NPU: the messages that are to be sent, and which of those that come are reduced.

    A message to be sent is made at the beginning, and with each one that comes. The first ones of a turn, as many as
    may be under way, are made without a reduction.
    """

    algorithm: str
    collective: str
    place: int
    members: int
    size: int
    listed: bool

    def __post_init__(self) -> None:
        peers, steps = self.members - 1, self.members.bit_length() - 1
        whole = self.collective == "all-gather"
        self.message = self.size if whole else self.size // self.members
        self.window, self.left, reduced = 1, peers, peers
        if self.algorithm.startswith("direct"):
            self.window = min(int(self.algorithm.removeprefix("direct") or peers), peers)
            reduced = peers * self.window if self.listed else self.window
        elif self.algorithm == "halvingDoubling":
            self.message, self.left, reduced = (self.size if whole else self.size // 2), steps, steps - 1
        elif self.collective == "all-to-all":
            self.left = self.members * peers // 2
        if self.collective == "all-reduce":
            self.left *= 2
        self.turn, self.made, self.offset = self.window + reduced, 0, 0
        self.distance = self.members // 2 if whole else 1
        self.outwards = not whole

    def reduces(self) -> bool:
        """Tell whether the next message is made with a reduction."""
        turn, place = divmod(self.made, self.turn)
        kind = self.collective == "reduce-scatter" or (self.collective == "all-reduce" and turn % 2 == 0)
        return place >= self.window and kind

    def make(self) -> tuple[int, int, int]:
        """Return where the next message goes, from where another one comes in exchange, and its bytes."""
        self.made += 1
        if self.algorithm == "halvingDoubling":
            return self.halve_or_double()
        self.offset = self.offset % (self.members - 1) + 1 if self.algorithm != "ring" else 1
        to, source = self.place + self.offset, self.place - self.offset
        return to % self.members, source % self.members, self.message

    def halve_or_double(self) -> tuple[int, int, int]:
        ahead = self.place // max(self.distance, 1) % 2 == 0
        other = (self.place + (self.distance if ahead else -self.distance)) % self.members
        made = other, other, self.message
        self.step()
        if self.distance == self.members and self.collective == "all-reduce":
            self.outwards = False
            self.step()
        return made

    def step(self) -> None:
        self.distance = self.distance * 2 if self.outwards else self.distance // 2
        self.message = self.message // 2 if self.outwards else self.message * 2


@dataclass
class Npu:
    """An NPU with its chunks: the phases that each still has, the queues, and how many run in each of them."""

    number: int
    ways: list[deque[Phase]] = field(default_factory=list)
    waiting: defaultdict[tuple[int, int], deque[int]] = field(default_factory=lambda: defaultdict(deque))
    running: defaultdict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    finish: int = -1


class Simulation:
    """NPUs of a network that run one collective: of all, of some dimensions, or of a list of members."""

    def __init__(self, network: Sequence[Dimension], rules: Rules, members: Sequence[int] | None = None) -> None:
        self.network, self.rules, self.members = network, rules, members
        self.total = prod(dimension.npus for dimension in network)
        self.npus = {number: Npu(number) for number in members or range(self.total)}
        self.slots = ceil(rules.active / rules.queues)
        self.endpoint = 10 if members else rules.endpoint
        self.events: list[tuple[int, int, Event]] = []
        self.number: Iterator[int] = count()
        self.arrived: defaultdict[tuple[int, ...], deque[int]] = defaultdict(deque)
        self.expected: defaultdict[tuple[int, ...], deque[Event]] = defaultdict(deque)

    def run(
        self, collective: str, size: int, involved: Sequence[int] = (), starts: Sequence[int] = ()
    ) -> dict[int, int]:
        """Return the ns at which each NPU is done; those of a list may begin at different times."""
        chunks, chunk = chunks_of(collective, size, self.total, self.rules.splits)
        sizes = {0: len(self.members)} if self.members else {d: self.network[d].npus for d in involved}
        phases = phases_of(collective, chunk, sizes, shrinking=self.rules.shrinking)
        back = collective == "all-reduce" and self.rules.shrinking
        for npu, start in zip(self.npus.values(), starts or [0] * len(self.npus), strict=True):
            npu.ways = [deque(queued(phases, n, self.rules.queues, there_and_back=back)) for n in range(chunks)]
            self.at(start, lambda now, npu=npu: self.issue(npu, now))
        while self.events:
            now, _, event = heapq.heappop(self.events)
            event(now)
        return {number: npu.finish for number, npu in self.npus.items()}

    def at(self, time: int, event: Event) -> None:
        heapq.heappush(self.events, (time, next(self.number), event))

    def issue(self, npu: Npu, now: int) -> None:
        for chunk in range(len(npu.ways)):
            self.start(npu, self.join(npu, chunk), now)

    def join(self, npu: Npu, chunk: int) -> tuple[int, int]:
        phase = npu.ways[chunk][0]
        npu.waiting[phase.dimension, phase.queue].append(chunk)
        return phase.dimension, phase.queue

    def start(self, npu: Npu, queue: tuple[int, int], now: int) -> None:
        while npu.waiting[queue] and npu.running[queue] < self.slots:
            npu.running[queue] += 1
            Running(self, npu, npu.waiting[queue].popleft()).begin(now)

    def end(self, npu: Npu, chunk: int, now: int) -> None:
        """A chunk is through its phase: it joins its next queue, then the old queue goes on, then the new one."""
        phase = npu.ways[chunk].popleft()
        npu.running[phase.dimension, phase.queue] -= 1
        following = self.join(npu, chunk) if npu.ways[chunk] else None
        self.start(npu, (phase.dimension, phase.queue), now)
        if following:
            self.start(npu, following, now)
        if not any(npu.ways):
            npu.finish = now

    def line(self, npu: int, dimension: int) -> list[int]:
        """Return the NPUs that a phase is with, in the order of their ring."""
        if self.members:
            return list(self.members)
        stride = prod(self.network[d].npus for d in range(dimension))
        first = npu - npu // stride % self.network[dimension].npus * stride
        return [first + place * stride for place in range(self.network[dimension].npus)]

    def transfer(self, source: int, to: int, size: int) -> int:
        """Return the ns of a message: it is charged the first dimension in which its ends differ."""
        for dimension in self.network:
            if (to - source) % dimension.npus:
                return dimension.transfer(to - source, size)
            source, to = source // dimension.npus, to // dimension.npus
        raise AssertionError("an NPU sends nothing to itself")


class Running:
    """A chunk that runs its phase at one NPU."""

    def __init__(self, simulation: Simulation, npu: Npu, chunk: int) -> None:
        self.simulation, self.npu, self.chunk = simulation, npu, chunk
        self.phase, self.place = npu.ways[chunk][0], len(npu.ways[chunk])
        self.ring = simulation.line(npu.number, self.phase.dimension)
        algorithm, listed = simulation.rules.algorithms[self.phase.dimension], simulation.members is not None
        if listed and len(simulation.rules.algorithms) > 1:
            algorithm = "ring"
        here = self.ring.index(npu.number)
        self.exchange = Exchange(algorithm, self.phase.collective, here, len(self.ring), self.phase.size, listed=listed)
        self.ready: deque[tuple[int, int, int]] = deque()
        self.free = self.received = 0

    def begin(self, now: int) -> None:
        for _ in range(self.exchange.window):
            self.make(now)

    def make(self, now: int) -> None:
        """Make the next message; a reduction takes the time of what is to be sent then."""
        reduces = self.exchange.reduces()
        message = self.exchange.make()
        self.ready.append(message)
        reduction = self.simulation.rules.reduction(message[2]) if reduces else 0
        self.simulation.at(now + self.simulation.endpoint + reduction, self.go)

    def go(self, now: int) -> None:
        """One more message may be sent. The second half of a direct all-reduce waits for all of the first one."""
        self.free += 1
        peers, tries = len(self.ring) - 1, 1
        direct, second = self.exchange.algorithm.startswith("direct"), self.exchange.left <= len(self.ring) - 1
        if direct and second and self.phase.collective == "all-reduce":
            if self.received < peers:
                return
            tries = self.exchange.window
        for _ in range(tries):
            if self.ready and self.free and self.exchange.left:
                self.send(now)
        if not self.exchange.left and self.free == self.exchange.window:
            self.simulation.end(self.npu, self.chunk, now)

    def send(self, now: int) -> None:
        to, source, size = self.ready.popleft()
        self.free, self.exchange.left = self.free - 1, self.exchange.left - 1
        simulation, me = self.simulation, self.npu.number
        there = (self.chunk, self.place, me, self.ring[to], size)  # ASTRA-sim knows a message by its size, too
        arrival = now + simulation.transfer(me, self.ring[to], size)
        simulation.at(arrival, lambda when: self.deliver(there, when))
        here = (self.chunk, self.place, self.ring[source], me, size)
        if simulation.arrived[here]:
            simulation.arrived[here].popleft()
            self.receive(now)
        else:
            simulation.expected[here].append(self.receive)

    def deliver(self, there: tuple[int, ...], now: int) -> None:
        if self.simulation.expected[there]:
            self.simulation.expected[there].popleft()(now)
        else:
            self.simulation.arrived[there].append(now)

    def receive(self, now: int) -> None:
        self.received += 1
        self.make(now)
