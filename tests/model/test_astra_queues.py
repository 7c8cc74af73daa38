"""The queue model: compiled, in NumPy, and in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.model.astra.queues import Joining, Policy, finish


@given(st.integers(0, 2**32 - 1), st.sampled_from(Policy), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
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
    np.testing.assert_array_equal(compiled, finish(server, time, slots, joining, count=count, fast=False))
    server, time = np.broadcast_to(server, shape), np.broadcast_to(time, shape)
    for n in range(designs):
        k = count[n]
        own = Joining(policy, joining.kind[:, :k], joining.size[:, :k, n : n + 1])
        alone = finish(server[:, :k, n : n + 1], time[:, :k, n : n + 1], slots, own)
        assert alone[0] == compiled[n]


def test_there_may_be_many_queues() -> None:
    server = np.arange(300)[None, :, None]
    time = np.arange(1.0, 301.0)[None, :, None]
    for fast in (False, True):
        assert finish(server, time, np.ones(300, dtype=np.int64), fast=fast)[0] == 300


def test_a_collective_beyond_the_queue_model_is_refused() -> None:
    with pytest.raises(ValueError, match=r"more than 2\^58 ns is beyond"):
        finish(np.array([[[0]], [[1]], [[0]]]), np.full((3, 1, 1), 2.0**57), np.array([1, 1]))
    with pytest.raises(ValueError, match="2 chunks, but only 1 are given"):
        finish(np.zeros((1, 1, 1), dtype=np.int64), np.ones((1, 1, 1)), np.array([1]), count=np.array([2]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4), st.integers(1, 24))
@settings(max_examples=60, deadline=None)
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
