"""Iteration times with races of several chains."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.workload.layers.iteration_time import IterationTime, Race, without_dominated

SEEDS = st.integers(0, 2**32 - 1)


def iteration(races: tuple[Race, ...], streams: int = 2) -> IterationTime:
    return IterationTime(tuple((str(s), "") for s in range(streams)), 1.0, np.ones(streams), races)  # type: ignore[misc]


def test_the_longest_chain_of_each_race_counts() -> None:
    three = Race(2.0, (5.0, 0.0, 1.0), np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]]))
    two = Race(1.0, (1.0, 0.0), np.array([[1.0, 0.0], [0.0, 1.0]]))
    first, second = np.array([1.0, 4.0, 1.0]), np.array([1.0, 1.0, 3.0])
    expected = 1.0 + first + second + 2.0 * np.array([5.0, 8.0, 10.0]) + np.array([2.0, 5.0, 3.0])
    np.testing.assert_array_equal(iteration((three, two))((first, second)), expected)


def test_a_chain_without_units_of_a_stream_does_not_wait_for_it() -> None:
    race = Race(1.0, (2.0, 1.0, 0.0), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    time = IterationTime((("a", ""), ("b", "")), 0.0, np.zeros(2), (race,))  # type: ignore[arg-type]
    assert time((np.array([3.0]), np.array([np.inf]))).tolist() == [4.0]


@given(SEEDS)
def test_dominated_chains_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chains, streams = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    size = rng.integers(0, 3, (chains, streams)).astype(np.float64)
    race = Race(2.0, tuple(rng.integers(0, 3, chains).astype(np.float64).tolist()), size)
    found = without_dominated(race)
    times = list(rng.uniform(0, 2, (streams, 50)))
    whole, part = iteration((race,), streams), iteration((found,), streams)
    np.testing.assert_array_equal(part(times), whole(times))
    assert without_dominated(found).compute == found.compute
    # None of those that stay is at least as long as another in everything.
    table = np.column_stack([found.compute, found.size])
    covers = (table[:, None] >= table).all(axis=2)
    np.testing.assert_array_equal(covers, np.eye(len(table), dtype=np.bool_))


def test_of_equal_chains_the_first_one_stays() -> None:
    race = Race(3.0, (1.0, 2.0, 2.0, 0.0), np.array([[1.0], [1.0], [1.0], [2.0]]))
    found = without_dominated(race)
    assert found.count == 3.0
    assert found.compute == (2.0, 0.0)
    assert found.size.tolist() == [[1.0], [2.0]]
