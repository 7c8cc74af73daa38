"""The queue model: compiled, in NumPy, and in closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.collective import Collective
from evo_libra.timing.collectives import queues, queues_numpy
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import Implementation, Link, Overheads
from evo_libra.timing.collectives.queues import finish
from evo_libra.timing.collectives.queues_numpy import Joining
from evo_libra.timing.collectives.system import System
from evo_libra.timing.names import MOST_CHUNKS, CollectiveAlgorithm, Policy, Scheduler


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(Policy), st.integers(1, 4))
@settings(max_examples=60)
def test_compiled_and_numpy_queues_are_the_same(seed: int, policy: Policy, active: int) -> None:
    random = np.random.default_rng(seed)
    phases, chunks, designs, queues = random.integers(1, 6), random.integers(1, 12), 13, random.integers(1, 4)
    shape = np.array([phases, chunks, designs])
    server = random.integers(0, queues, np.where(random.permuted([0, 0, random.integers(2)]), 1, shape))
    along = server.shape[1] == 1  # one of the two tells how many chunks there are
    time = random.integers(0, 50, np.where([0, not along, random.integers(2)], 1, shape)).astype(np.float64)
    joining = Joining(policy, random.integers(0, 3, shape[:2]), random.integers(1, 4, shape).astype(np.float64))
    slots, count = np.full(queues, active), random.integers(1, chunks + 1, designs)
    count[0] = chunks
    compiled = finish(server, time, slots, joining, count=count)
    np.testing.assert_array_equal(compiled, finish(server, time, slots, joining, count=count, compiled=False))
    server, time = np.broadcast_to(server, shape), np.broadcast_to(time, shape)
    for n in range(designs):
        k = count[n]
        own = Joining(policy, joining.kind[:, :k], joining.size[:, :k, n : n + 1])
        alone = finish(server[:, :k, n : n + 1], time[:, :k, n : n + 1], slots, own)
        assert alone[0] == compiled[n]


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=30)
def test_few_designs_run_the_same_model_uncompiled(seed: int, designs: int, active: int) -> None:
    random = np.random.default_rng(seed)
    phases, chunks, queues = random.integers(1, 6), random.integers(1, 12), random.integers(1, 4)
    server = random.integers(0, queues, (phases, chunks, designs))
    time = random.integers(0, 50, (phases, 1, designs)).astype(np.float64)
    slots, count = np.full(queues, active), random.integers(1, chunks + 1, designs)
    found = finish(server, time, slots, count=count, compiled=False)
    order = np.argsort(-count, kind="stable")  # designs of many chunks come first there
    whole = time[:, :, order].astype(np.int64)
    together = queues_numpy.NumpyQueues(server[:, :, order], whole, slots, None, count[order])
    np.testing.assert_array_equal(found[order], together.run())


def test_no_population_is_made_of_one_design(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("a step of NumPy takes as long for one design as for many")

    monkeypatch.setattr(queues, "NumpyQueues", fails)
    there_and_back = np.repeat(np.array([0, 1, 0])[:, None, None], 500, axis=1)
    times = np.array([5.0, 7.0, 3.0])[:, None, None]
    # The first queue is busy all the time, with both ways of each chunk.
    assert finish(there_and_back, times, np.array([1, 1]), compiled=False)[0] == 500 * (5 + 3)


def test_slots_beyond_the_chunks_cost_nothing() -> None:
    server, time = np.array([0, 1, 0])[:, None, None], np.tile([[3.0], [5.0], [2.0]], (1, 4))[:, :, None]
    count = np.array([4, 3])
    for compiled in (False, True):
        many = finish(server, time, np.full(2, 2**31), count=count, compiled=compiled)
        np.testing.assert_array_equal(many, finish(server, time, np.full(2, 4), count=count, compiled=compiled))


@pytest.mark.parametrize("scheduler", [Scheduler.BASELINE, Scheduler.OFFLINE_GREEDY])
def test_more_chunks_than_the_queue_model_runs_are_refused(scheduler: Scheduler) -> None:
    links = [Link(np.zeros(2, dtype=np.int64), np.array([4, 4]), np.full(2, 50e9), np.full(2, 100.0))] * 3
    rows = {Collective.ALL_REDUCE: [Implementation(CollectiveAlgorithm.RING)] * 3}
    splits = np.array([1, MOST_CHUNKS + 1])
    system = System(rows, splits, 1, shrinking=True, overheads=Overheads(10.0, 50.0), scheduler=scheduler)
    with pytest.raises(
        ValueError, match=r"65537 chunks .preferred-dataset-splits.; the queue model runs at most 65536"
    ):
        collective_time(Collective.ALL_REDUCE, 2**30, links, system)
    alone = [link.select(np.array([1])) for link in links]
    with pytest.raises(ValueError, match="2147483647 chunks"):
        collective_time(Collective.ALL_REDUCE, 2**30, alone, replace(system, splits=2**31 - 1))


def test_closed_forms_run_any_number_of_chunks() -> None:
    link = Link(np.array([0]), np.array([4]), np.array([50e9]), np.array([100.0]))
    rows = {Collective.ALL_REDUCE: [Implementation(CollectiveAlgorithm.RING)]}
    system = System(rows, 1, 1, shrinking=True, overheads=Overheads(10.0, 50.0))
    one = collective_time(Collective.ALL_REDUCE, 2**10, [link], system)
    many = collective_time(Collective.ALL_REDUCE, 2**40, [link], replace(system, splits=2**30))
    assert many == 2**30 * one


def test_there_may_be_many_queues() -> None:
    server = np.arange(300)[None, :, None]
    time = np.arange(1.0, 301.0)[None, :, None]
    for compiled in (False, True):
        assert finish(server, time, np.ones(300, dtype=np.int64), compiled=compiled)[0] == 300


def test_a_collective_beyond_the_queue_model_is_refused() -> None:
    with pytest.raises(ValueError, match=r"more than 2\^58 ns is beyond"):
        finish(np.array([[[0]], [[1]], [[0]]]), np.full((3, 1, 1), 2.0**57), np.array([1, 1]))
    with pytest.raises(ValueError, match="2 chunks, but only 1 are given"):
        finish(np.zeros((1, 1, 1), dtype=np.int64), np.ones((1, 1, 1)), np.array([1]), count=np.array([2]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4), st.integers(1, 24))
@settings(max_examples=60)
def test_closed_forms_equal_the_queue_model(seed: int, dims: int, active: int, chunks: int) -> None:
    random = np.random.default_rng(seed)
    times = random.integers(1, 1000, (dims, 1, 5)).astype(np.float64)
    rounds = -(-chunks // active)
    server = np.arange(dims)[:, None, None]
    found = finish(np.repeat(server, chunks, axis=1), times, np.full(dims, active))
    np.testing.assert_array_equal(found, (times.sum(axis=0) + (rounds - 1) * times.max(axis=0))[0])
    chunks = active * rounds
    first, middle, last = random.integers(1, 1000, (3, 5)).astype(np.float64)
    there_and_back = np.repeat(np.array([0, 1, 0])[:, None, None], chunks, axis=1)
    found = finish(there_and_back, np.stack([first, middle, last])[:, None], np.full(2, active))
    closed = np.maximum.reduce([
        first + middle + (rounds - 1) * np.maximum(first, middle) + last, first + middle + rounds * last,
        rounds * (first + last),
    ])  # fmt: skip
    np.testing.assert_array_equal(found, closed)
