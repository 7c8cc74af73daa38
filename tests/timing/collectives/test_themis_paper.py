"""Themis as its paper has it: laws, and a plain simulation of single designs."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective, traffic
from evo_libra.timing.collectives.themis_paper import Fabrics, paper_time
from evo_libra.timing.names import Policy

AR = Collective.ALL_REDUCE
Ideal = Callable[[Collective, float, Fabrics], FloatArray]
PAPER_POLICIES = [Policy.FIFO, Policy.SMALLEST_CHUNK_FIRST]


def fabrics_of(random: np.random.Generator, depth: int, designs: int) -> Fabrics:
    """Draw networks, some of whose dimensions are not used."""
    shape = (depth, designs)
    npus = 2 ** random.integers(0, 5, shape)
    bandwidth = np.where(npus > 1, random.uniform(1, 300, shape), 0.0)
    return Fabrics(random.integers(0, 3, shape), npus, bandwidth, random.uniform(0, 2000, shape))


@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 4),
    collective=st.sampled_from(Collective),
    policy=st.sampled_from(PAPER_POLICIES),
    greedy=st.booleans(),
)
@settings(max_examples=40)
def test_paper_is_never_faster_than_the_ideal(
    ideal_time: Ideal, seed: int, depth: int, collective: Collective, policy: Policy, *, greedy: bool
) -> None:
    random = np.random.default_rng(seed)
    fabrics, size = fabrics_of(random, depth, 8), float(10 ** random.uniform(5, 10))
    chunks = random.integers(1, 24, 8)
    time = paper_time(collective, size, fabrics, chunks=chunks, greedy=greedy, policy=policy)
    ideal = ideal_time(collective, size, fabrics)
    # Phases are rounded to whole units, of which all busy times and latencies together have more than 2^34. Together
    # they take at most 4 times (dimensions) and 24 times (chunks) as long as the collective, and at most 2 x 24 phases
    # run in a dimension, so that it loses 24 units at most.
    assert (time * (1 + 24 * 28 * 2.0**-34) >= ideal).all()
    np.testing.assert_array_equal(ideal > 0, (fabrics.npus > 1).any(axis=0))


@given(st.integers(0, 2**32 - 1), st.sampled_from(Collective), st.integers(1, 64))
@settings(max_examples=30)
def test_paper_without_latency_on_one_dimension_is_libras_time(
    ideal_time: Ideal, seed: int, collective: Collective, chunks: int
) -> None:
    random = np.random.default_rng(seed)
    npus, bandwidth = 2 ** random.integers(1, 6, (1, 5)), random.uniform(1, 300, (1, 5))
    fabrics = Fabrics(np.zeros((1, 5), dtype=np.int64), npus, bandwidth, np.zeros((1, 5)))
    expected = (traffic(collective, 1e9, npus) / bandwidth)[0]
    np.testing.assert_allclose(paper_time(collective, 1e9, fabrics, chunks=chunks), expected, rtol=1e-6)
    np.testing.assert_allclose(ideal_time(collective, 1e9, fabrics), expected, rtol=1e-12)


def test_papers_all_to_all_is_a_pipeline_of_the_whole_message(ideal_time: Ideal) -> None:
    # Dimensions of 2 and 4 NPUs: 1/2 and 3/4 of a chunk of 100 bytes, at 1 and 3 bytes a ns; 5 and 2 * 7 ns of steps.
    fabrics = Fabrics(
        np.array([[1], [2]]), np.array([[2], [4]]), np.array([[1.0], [3.0]]), np.array([[5.0], [7.0]])
    )  # fmt: skip
    time = paper_time(Collective.ALL_TO_ALL, 400.0, fabrics, chunks=4)
    assert time[0] == pytest.approx(4 * 50 + 5 + 25 + 14)
    assert ideal_time(Collective.ALL_TO_ALL, 400.0, fabrics)[0] == pytest.approx(200)


def test_paper_has_two_policies() -> None:
    fabrics = fabrics_of(np.random.default_rng(0), 2, 3)
    with pytest.raises(ValueError, match="no policy smallestFirst"):
        paper_time(Collective.ALL_REDUCE, 1e6, fabrics, policy=Policy.SMALLEST_FIRST)


@given(
    seed=st.integers(0, 2**32 - 1),
    collective=st.sampled_from(Collective),
    policy=st.sampled_from(PAPER_POLICIES),
    greedy=st.booleans(),
)
@settings(max_examples=30)
def test_paper_of_a_population_is_that_of_its_designs(
    seed: int, collective: Collective, policy: Policy, *, greedy: bool
) -> None:
    random = np.random.default_rng(seed)
    fabrics, chunks, size = fabrics_of(random, 4, 6), random.integers(1, 20, 6), 1e8
    taking = random.random(4) < 0.8
    time = paper_time(collective, size, fabrics, taking.tolist(), chunks=chunks, greedy=greedy, policy=policy)
    for n in range(6):
        used = np.flatnonzero(taking & (fabrics.npus[:, n] > 1))
        fields = (fabrics.block, fabrics.npus, fabrics.bandwidth, fabrics.latency)
        alone = Fabrics(*(values[used, n : n + 1] for values in fields))
        found = paper_time(collective, size, alone, chunks=int(chunks[n]), greedy=greedy, policy=policy)
        assert time[n] == found[0]


def paper_alone(
    collective: Collective, size: float, fabric: Fabrics, chunks: int, policy: Policy, *, greedy: bool
) -> float:
    """Return the ns of one design, one event after the other, all in numbers that floats hold exactly."""
    fields = (fabric.npus, fabric.bandwidth, fabric.fixed_latency())
    npus, bandwidth, fixed = (values[:, 0].tolist() for values in fields)
    every, gather = list(range(len(npus))), Collective.ALL_GATHER
    times = 2 if collective is AR else 1
    load, whole = [times * a for a in fixed], size / chunks * (math.prod(npus) if collective is gather else 1)
    ways: list[list[tuple[int, float, float]]] = []
    for _ in range(chunks):
        least = load.index(min(load))
        share = (npus[least] - 1) / npus[least] * (whole / 16) / bandwidth[least]
        order = every if max(load) - min(load) < share or not greedy else sorted(every, key=load.__getitem__)
        order, inside, way = every if collective is Collective.ALL_TO_ALL else order, whole, []
        for d in order:
            busy = (npus[d] - 1) / npus[d] * inside / bandwidth[d]
            load[d] += times * busy
            left = inside if collective is Collective.ALL_TO_ALL else inside / npus[d]
            way.append((d, busy, left if collective is gather else inside))
            inside = left
        back = [(d, busy, entering / npus[d]) for d, busy, entering in reversed(way)]
        ways.append(way + back if collective is AR else way[::-1] if collective is gather else way)
    return simulated(ways, fixed, policy)


def simulated(ways: list[list[tuple[int, float, float]]], fixed: list[float], policy: Policy) -> float:
    """Return when the last chunk has passed its way of dimensions, busy times and bytes, each followed by a latency."""
    waiting: list[list[tuple[int, int]]] = [[] for _ in fixed]
    busy, events, number, now = [False] * len(fixed), list[tuple[float, int, int, int, bool]](), count(), 0.0

    def join(chunk: int, phase: int) -> None:
        dimension, _, size = ways[chunk][phase]
        queue = waiting[dimension]
        larger = (place for place, (c, p) in enumerate(queue) if ways[c][p][2] > size)
        queue.insert(len(queue) if policy is Policy.FIFO else next(larger, len(queue)), (chunk, phase))

    def start(dimension: int) -> None:
        if waiting[dimension] and not busy[dimension]:
            busy[dimension] = True
            chunk, phase = waiting[dimension].pop(0)
            heappush(events, (now + ways[chunk][phase][1], next(number), chunk, phase, True))

    for chunk in range(len(ways)):
        join(chunk, 0)
        start(ways[chunk][0][0])
    while events:
        now, _, chunk, phase, was_busy = heappop(events)
        dimension = ways[chunk][phase][0]
        if was_busy:
            busy[dimension] = False
            start(dimension)
            heappush(events, (now + fixed[dimension], next(number), chunk, phase, False))
        elif phase + 1 < len(ways[chunk]):
            join(chunk, phase + 1)
            start(ways[chunk][phase + 1][0])
    return now


@given(
    seed=st.integers(0, 2**32 - 1),
    collective=st.sampled_from(Collective),
    policy=st.sampled_from(PAPER_POLICIES),
    greedy=st.booleans(),
)
@settings(max_examples=60)
def test_paper_is_what_its_algorithm_says(seed: int, collective: Collective, policy: Policy, *, greedy: bool) -> None:
    random = np.random.default_rng(seed)
    shape, chunks = (int(random.integers(1, 4)), 1), int(2 ** random.integers(0, 5))
    npus, bandwidth, latency = (2 ** random.integers(a, b, shape) for a, b in ((1, 4), (0, 6), (0, 6)))
    fabric = Fabrics(random.integers(0, 3, shape), npus, bandwidth.astype(np.float64), latency.astype(np.float64))
    size = 2.0 ** random.integers(10, 18)
    time = paper_time(collective, size, fabric, chunks=chunks, greedy=greedy, policy=policy)
    assert time[0] == paper_alone(collective, size, fabric, chunks, policy, greedy=greedy)
