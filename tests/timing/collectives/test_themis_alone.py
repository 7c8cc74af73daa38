"""Populations under ASTRA-sim's schedulers are what plain loops make of each design alone."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives import queues
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import IMPLEMENTATIONS, Implementation, Link, Overheads, phase_time
from evo_libra.timing.collectives.queues_numpy import ANY, GATHERS, SCATTERS
from evo_libra.timing.collectives.system import Choice, System
from evo_libra.timing.collectives.themis import Network, plan
from evo_libra.timing.names import ASTRA_POLICIES, ASTRA_SCHEDULERS, Policy, Scheduler

MEBI = 2**20
AR = Collective.ALL_REDUCE


@dataclass
class Alone:
    """ASTRA-sim's greedy scheduler of one design, dimension after dimension, in Python's own numbers."""

    npus: list[int]
    bandwidth: list[float]
    involved: list[bool]
    gathers: bool

    def plan(self, size: int, chunk: int, *, flexible: bool) -> list[tuple[int, list[int]]]:
        load, every = [0.0] * len(self.npus), list(range(len(self.npus)))
        listed, found = list(every), []
        while size > 0:
            listed.sort(key=load.__getitem__, reverse=False)
            if self.gathers:
                listed.reverse()
            ahead, part = self.ahead(load, listed), min(size, chunk)
            if ahead < (chunk if flexible else chunk // 16):
                order, listed = every, every[::-1] if self.gathers else list(every)
            else:
                order, part = list(listed), min(size, ahead) if flexible else part
            inside = part
            for target, d in zip(listed, order, strict=True):
                if self.involved[d]:
                    share = self.npus[d] - 1 if self.gathers else (self.npus[d] - 1) / self.npus[d]
                    load[target] += (inside / MEBI) * share / (self.bandwidth[d] / self.bandwidth[0])
                    inside = inside * self.npus[d] if self.gathers else inside // self.npus[d]
            found.append((part, [d for d in order if self.involved[d]]))
            size -= part
        return found

    def ahead(self, load: list[float], listed: list[int]) -> int:
        taking = [d for d in listed if self.involved[d]]
        first, last = taking[0], taking[-1]
        if not self.gathers:
            share = (self.npus[first] - 1) / self.npus[first]
            difference = abs(load[listed[-1]] - load[first])
            return math.floor(difference * (self.bandwidth[first] / self.bandwidth[0]) / share * MEBI)
        difference = abs(load[last] - load[first]) * (self.bandwidth[last] / self.bandwidth[0])
        found = math.floor(difference / (self.npus[last] - 1) * MEBI)
        for d in taking[:-1]:
            found //= self.npus[d]
        return found


def plan_alone(
    scheduler: Scheduler, collective: Collective, size: int, chunk: int, network: Alone
) -> list[tuple[int, list[int]]]:
    """Return bytes and dimensions of each chunk of one design."""
    count, depth = -(-size // chunk), len(network.npus)
    every = [d for d in range(depth) if network.involved[d]]
    if scheduler is Scheduler.BASELINE:
        return [(chunk, every)] * count
    if scheduler is Scheduler.ROUND_ROBIN:
        turned = [[(turn + d) % depth for d in range(depth)] for turn in range(count)]
        return [(chunk, [d for d in order if network.involved[d]]) for order in turned]
    if collective is Collective.ALL_TO_ALL:
        return [(min(chunk, size - start), every) for start in range(0, size, chunk)]
    return network.plan(size, chunk, flexible=scheduler is Scheduler.OFFLINE_GREEDY_FLEX)


def way_alone(
    collective: Collective, order: list[int], size: int, npus: list[int], *, greedy: bool, shrinking: bool
) -> list[tuple[int, Collective, int]]:
    """Return dimension, collective and bytes of each phase of one chunk."""
    scatter, gather, reduce = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE
    if collective is Collective.ALL_TO_ALL or (collective is reduce and not shrinking and not greedy):
        return [(d, collective, size) for d in order]
    way: list[tuple[int, Collective, int]] = []
    turning = [] if greedy or collective is not reduce else order[-1:]
    if collective is not gather:
        for d in order[: len(order) - len(turning)]:
            way.append((d, scatter, size))
            size //= npus[d]
        way += [(d, reduce, size) for d in turning]
    if collective is not scatter:
        back = order[: len(order) - len(turning)]
        for d in back if collective is gather and greedy else reversed(back):
            way.append((d, gather, size))
            size *= npus[d]
    return way


@dataclass(frozen=True)
class Phase:
    """A chunk's stay in one dimension: what it does there, its larger size, and its ns."""

    dimension: int
    kind: int
    size: int
    time: int


@dataclass
class Chunk:
    """A chunk on its way, and whether a dimension runs it."""

    phases: list[Phase]
    at: int = 0
    runs: bool = False

    @property
    def now(self) -> Phase:
        return self.phases[self.at]

    @property
    def remaining(self) -> int:
        return len(self.phases) - self.at - 1


def place_in(queue: list[Chunk], chunk: Chunk, policy: Policy) -> int:
    """Return the place at which a chunk joins a queue, in which those that run come first."""
    at = sum(other.runs for other in queue)
    if policy is Policy.FIFO or chunk.now.kind == ANY or (policy is Policy.SMALLEST_FIRST and chunk.remaining == 1):
        return len(queue)
    if policy is Policy.ALTERNATING:
        # The first that waits is passed together with the last that runs; then all that take turns are.
        at = min(at + 1, len(queue)) if at else 0
        while 0 < at < len(queue) and {queue[at - 1].now.kind, queue[at].now.kind} == {SCATTERS, GATHERS}:
            at += 1
        return at
    for other in queue[at:]:
        smaller, fewer = other.now.size < chunk.now.size, other.remaining < chunk.remaining
        if not (smaller if policy is Policy.SMALLEST_FIRST else fewer):
            break
        at += 1
    return at


def simulated(ways: list[list[Phase]], active: int, policy: Policy) -> int:
    """Return the ns at which the last chunk is through, one event after the other."""
    waiting: dict[int, list[Chunk]] = {phase.dimension: [] for way in ways for phase in way}
    events: list[tuple[int, int, Chunk]] = []
    number = now = 0

    def join(chunk: Chunk) -> None:
        queue = waiting[chunk.now.dimension]
        queue.insert(place_in(queue, chunk, policy), chunk)

    def start(queue: list[Chunk]) -> None:
        nonlocal number
        for chunk in queue[:active]:
            if not chunk.runs:
                chunk.runs = True
                heapq.heappush(events, (now + chunk.now.time, number, chunk))
                number += 1

    for way in ways:
        chunk = Chunk(way)
        join(chunk)
        start(waiting[way[0].dimension])
    while events:
        now, _, chunk = heapq.heappop(events)
        left = waiting[chunk.now.dimension]
        left.remove(chunk)
        chunk.runs = False
        if chunk.remaining:
            chunk.at += 1
            join(chunk)
        start(left)
        start(waiting[chunk.now.dimension])
    return now


def time_alone(collective: Collective, size: int, links: list[Link], system: System, involved: list[bool]) -> int:
    """Return the ns of one design, whose links all have more than one NPU, planned and run chunk by chunk."""
    npus, n = [int(link.npus[0]) for link in links], math.prod(int(link.npus[0]) for link in links)
    chunk = size // int(system.splits)
    if collective is not Collective.ALL_GATHER and n > chunk:
        chunk, size = n, n * int(system.splits)
    network = Alone(npus, [float(link.bandwidth[0]) for link in links], involved, collective is Collective.ALL_GATHER)
    greedy = system.scheduler.greedy
    ways = [
        way_alone(collective, order, part, npus, greedy=greedy, shrinking=system.shrinking)
        for part, order in plan_alone(system.scheduler, collective, size, chunk, network)
    ]
    codes, times = {Collective.REDUCE_SCATTER: SCATTERS, Collective.ALL_GATHER: GATHERS}, dict[object, int]()
    for key in {step for way in ways for step in way}:
        d, kind, bytes_ = key
        implementation = system.implementations[collective][d]
        assert isinstance(implementation, Implementation)
        time = phase_time(implementation, kind, np.array([float(bytes_)]), links[d], system.overheads)
        times[key] = int(time[0])
    phases = [
        [
            Phase(
                d, codes.get(kind, ANY), bytes_ * (npus[d] if codes.get(kind) == GATHERS else 1), times[d, kind, bytes_]
            )
            for d, kind, bytes_ in way
        ]
        for way in ways
    ]
    return simulated(phases, system.active, system.policy)


def check_plans(
    scheduler: Scheduler, collective: Collective, size: IntArray, chunk: IntArray, network: Network
) -> None:
    together, designs = plan(scheduler, collective, size, chunk, network), len(size)
    order = np.broadcast_to(together.order, (*together.order.shape[:2], designs))
    for n in range(designs):
        alone = Alone(
            network.npus[:, n].tolist(), network.bandwidth[:, n].tolist(), list(network.involved),
            collective is Collective.ALL_GATHER,
        )  # fmt: skip
        expected = plan_alone(scheduler, collective, int(size[n]), int(chunk[n]), alone)
        assert together.count[n] == len(expected)
        for k, (part, dims) in enumerate(expected):
            assert together.size[k, n] == part
            assert order[:, k, n].tolist() == dims
        assert not together.size[len(expected) :, n].any()


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    scheduler=st.sampled_from(ASTRA_SCHEDULERS),
    collective=st.sampled_from(Collective),
    depth=st.integers(1, 4),
)
@settings(max_examples=100)
def test_plans_of_a_population_are_those_of_its_designs(
    seed: int, scheduler: Scheduler, collective: Collective, depth: int
) -> None:
    random, designs = np.random.default_rng(seed), 5
    npus = random.integers(2, 9, (depth, designs))
    bandwidth = random.choice([25.0, 50.0, 100.0, 100.0 / 3, random.uniform(1, 500)], (depth, designs))
    # Loads of powers of two are often equal.
    npus[:, ::2], bandwidth[:, ::2] = (2 ** random.integers(a, b, (depth, 3)) for a, b in ((1, 3), (0, 4)))
    involved = random.random(depth) < 0.8
    involved[random.integers(depth)] = True
    size, splits = random.integers(2**16, 2**30, designs), random.integers(1, 40, designs)
    size[::2] = 2**20 * splits[::2]
    chunk = size // splits
    check_plans(scheduler, collective, size, chunk, Network(npus, bandwidth, involved.tolist()))


@pytest.mark.parametrize("scheduler", [Scheduler.OFFLINE_GREEDY, Scheduler.OFFLINE_GREEDY_FLEX])
@pytest.mark.parametrize("collective", [AR, Collective.ALL_GATHER])
def test_plans_of_networks_where_loads_become_equal(scheduler: Scheduler, collective: Collective) -> None:
    npus = np.array([[4, 4, 8, 4, 2], [4, 4, 2, 2, 8], [8, 2, 2, 8, 2]])
    bandwidth = np.array([[6.0, 16, 6, 6, 1], [3, 32, 6, 6, 32], [32, 4, 2, 3, 16]])
    chunk = np.full(5, 2**22)
    check_plans(scheduler, collective, 24 * chunk, chunk, Network(npus, bandwidth, [True] * 3))


POPULATIONS, DESIGNS = 50, 20
ALL_CASES = [
    (scheduler, collective, policy)
    for scheduler in ASTRA_SCHEDULERS
    for collective in Collective
    for policy in ASTRA_POLICIES
]
TURNING = [(scheduler, AR, Policy.ALTERNATING) for scheduler in Scheduler if scheduler.greedy]
"""At their turning dimension, chunks join the queue again that they have just left."""


@dataclass(frozen=True)
class Cases:
    """Designs that run a collective alike, of (d, n) NPUs and implementations."""

    collective: Collective
    sizes: IntArray
    links: list[Link]
    involved: list[bool]
    options: tuple[Implementation, ...]
    index: IntArray
    system: System

    def together(self) -> FloatArray:
        return collective_time(self.collective, self.sizes, self.links, self.system, self.involved)

    def alone(self, n: int) -> int:
        present = [d for d, link in enumerate(self.links) if link.npus[n] > 1]
        taking, links = [self.involved[d] for d in present], [self.links[d].select(np.array([n])) for d in present]
        rows = {self.collective: [self.options[self.index[d, n]] for d in present]}
        splits = np.broadcast_to(self.system.splits, len(self.sizes))
        system = replace(self.system, implementations=rows, splits=int(splits[n]))
        return time_alone(self.collective, int(self.sizes[n]), links, system, taking) if any(taking) else 0


def cases(seed: int, scheduler: Scheduler, collective: Collective, policy: Policy) -> Cases:
    random, depth = np.random.default_rng(seed), 3
    npus = 2 ** random.integers(0, 4, (depth, DESIGNS))
    options = IMPLEMENTATIONS
    index = random.integers(0, 2 if collective is Collective.ALL_TO_ALL else 3, (depth, DESIGNS))
    involved = [bool(random.integers(4)), True, True]
    sizes, splits = random.integers(2**12, 2**28, DESIGNS), random.integers(1, 17, DESIGNS)
    links = [
        Link(
            random.integers(0, 3, DESIGNS), row, random.choice([25e9, 50e9, 123.4e9], DESIGNS), np.full(DESIGNS, 500.0)
        )
        for row in npus
    ]
    system = System(
        {collective: [Choice(options, row) for row in index]}, splits, int(random.integers(1, 4)),
        bool(random.integers(2)), Overheads(10.0, 1600.0), scheduler=scheduler, policy=policy,
    )  # fmt: skip
    return Cases(collective, sizes, links, involved, options, index, system)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(5))
def test_times_of_a_population_are_those_of_a_plain_simulation(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(share, POPULATIONS, 5):
        kind = TURNING[seed // 2 % len(TURNING)] if seed % 2 else ALL_CASES[seed * 13 // 2 % len(ALL_CASES)]
        some = cases(seed, *kind)
        expected = [some.alone(n) for n in range(DESIGNS)]
        assert some.together().tolist() == expected
        with monkeypatch.context() as without:
            without.setattr(queues, "compiled_queues", lambda: None)
            assert some.together().tolist() == expected


def test_loads_are_relative_to_bandwidths_as_files_have_them() -> None:
    """Bytes per ns have another ratio in their last digit, and equal loads then are no longer equal."""
    random, designs, depth = np.random.default_rng(4), 2000, 3
    npus, gigabytes = random.integers(2, 9, (depth, designs)), random.integers(1, 2001, (depth, designs)) * 1.0
    size, chunk = np.full(designs, 2**26), np.full(designs, 2**22)
    exact, rounded = gigabytes * 2.0**30, gigabytes * 2.0**30 / 1e9
    loads = [bandwidth / bandwidth[0] for bandwidth in (gigabytes, exact, rounded)]
    np.testing.assert_array_equal(loads[0], loads[1])
    assert (loads[0] != loads[2]).any()
    flexible = Scheduler.OFFLINE_GREEDY_FLEX
    of_file, timed = (
        plan(flexible, AR, size, chunk, Network(npus, some, [True] * depth)) for some in (gigabytes, exact)
    )
    np.testing.assert_array_equal(of_file.size, timed.size)
    np.testing.assert_array_equal(of_file.order, timed.order)
    links = [Link(np.zeros(designs, dtype=np.int64), n, b, np.zeros(designs)) for n, b in zip(npus, exact, strict=True)]
    assert all((link.bandwidth / links[0].bandwidth == row).all() for link, row in zip(links, loads[0], strict=True))
