"""Iteration times with races of several chains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.collective import (
    Collective,
    Dispatch,
    NextStage,
    Pattern,
    PushPull,
    SizedCollective,
    bytes_of_pattern,
    time_per_byte,
    traffic,
    unit_traffic,
)
from evo_libra.workload.layers.iteration_time import (
    IterationTime,
    Merging,
    Overlap,
    iteration_time,
    stream_of,
    units_of,
    without_certain_races,
    without_dominated,
)
from evo_libra.workload.layers.workload import Layer, Phase, Workload

SEEDS = st.integers(0, 2**32 - 1)


def iteration(races: tuple[Overlap, ...], streams: int = 2) -> IterationTime:
    return IterationTime(tuple((str(s), "") for s in range(streams)), 1.0, np.ones(streams), races)  # type: ignore[misc]


def test_the_longest_chain_of_each_race_counts() -> None:
    three = Overlap(2.0, (5.0, 0.0, 1.0), np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]]))
    two = Overlap(1.0, (1.0, 0.0), np.array([[1.0, 0.0], [0.0, 1.0]]))
    first, second = np.array([1.0, 4.0, 1.0]), np.array([1.0, 1.0, 3.0])
    expected = 1.0 + first + second + 2.0 * np.array([5.0, 8.0, 10.0]) + np.array([2.0, 5.0, 3.0])
    np.testing.assert_array_equal(iteration((three, two))((first, second)), expected)


def test_a_chain_without_units_of_a_stream_does_not_wait_for_it() -> None:
    race = Overlap(1.0, (2.0, 1.0, 0.0), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    time = IterationTime((("a", ""), ("b", "")), 0.0, np.zeros(2), (race,))  # type: ignore[arg-type]
    assert time((np.array([3.0]), np.array([np.inf]))).tolist() == [4.0]


@given(SEEDS)
def test_dominated_chains_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chains, streams = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    size = rng.integers(0, 3, (chains, streams)).astype(np.float64)
    race = Overlap(2.0, tuple(rng.integers(0, 3, chains).astype(np.float64).tolist()), size)
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
    race = Overlap(3.0, (1.0, 2.0, 2.0, 0.0), np.array([[1.0], [1.0], [1.0], [2.0]]))
    found = without_dominated(race)
    assert found.count == 3.0
    assert found.compute == (2.0, 0.0)
    assert found.size.tolist() == [[1.0], [2.0]]


AR, AG, RS, A2A = (
    Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL,
)  # fmt: skip


@pytest.mark.parametrize(("collective", "expected"), [
    # LIBRA (ISPASS 2024), 1000 bytes on groups of 4 and 2: all-reduce 2 s (g - 1) / g, then s / g; reduce-scatter half
    # of it; all-gather of a shard from the outermost dimension, s (g - 1), then s g; all-to-all S (g - 1) / g.
    (AR, [1500.0, 250.0]), (RS, [750.0, 125.0]), (AG, [6000.0, 1000.0]), (A2A, [750.0, 500.0]),
])  # fmt: skip
def test_traffic_is_that_of_libras_table(collective: Collective, expected: list[float]) -> None:
    assert traffic(collective, 1000.0, np.array([[4], [2]]))[:, 0].tolist() == expected
    assert traffic(collective, 1000.0, np.array([[1], [1]]))[:, 0].tolist() == [0.0, 0.0]


def test_other_traffic() -> None:
    extent = np.array([[4], [1], [2]])
    assert unit_traffic(NextStage(5), extent)[:, 0].tolist() == [5.0, 0.0, 5.0]
    # A message to a server is one of each NPU, of 4 inside the first dimension and of 8 in the last one.
    assert unit_traffic(PushPull(), extent)[:, 0].tolist() == [1.0, 0.0, 0.25]
    # Two experts at random among 8 and 2 places: 8 (1 - (7/8)^2) = 1.875 and 2 (1 - 1/4) = 1.5 of them are reached, and
    # 3/4 and 1/2 of these are elsewhere; over two copies of a token.
    assert unit_traffic(Dispatch(2), extent)[:, 0].tolist() == pytest.approx([1.875 * 0.75 / 2, 0.0, 1.5 * 0.5 / 2])
    assert time_per_byte(np.array([[0.75], [0.125]]), np.array([[3.0], [0.25]])).tolist() == [0.5]


def test_bytes_of_a_pattern() -> None:
    assert [float(bytes_of_pattern(kind, 10.0, 4)) for kind in (AR, AG, RS, A2A)] == [20.0, 40.0, 10.0, 10.0]


def test_streams_and_their_units() -> None:
    assert stream_of("tp", AG, 10.4, Merging.PATTERN) == ("tp", Pattern.SHRINKING)
    assert stream_of("tp", AG, 10.4, Merging.COLLECTIVE) == ("tp", AG)
    assert stream_of("tp", AG, 10.6, Merging.NONE) == ("tp", SizedCollective(AG, 11))
    assert units_of(AG, 10.0, 4, Merging.PATTERN) == 40.0
    assert units_of(AG, 10.0, 4, Merging.NONE) == 1.0


def two_layers() -> Workload:
    plain = Layer("a", Phase(1.0, AR, 3.0, "tp"), Phase(2.0, AG, 5.0, "tp"), Phase(4.0, AR, 7.0, "dp"))
    return Workload("w", (plain, plain))


def test_without_overlap_everything_is_added_up() -> None:
    # LIBRA's loop: 14 s of compute; tp 2 (2 x 3 + 4 x 5) = 52 bytes of its pattern, dp 2 x 2 x 7 = 28.
    found = iteration_time(two_layers(), {"tp": 4, "dp": 2}, "none")
    assert found.streams == (("tp", Pattern.SHRINKING), ("dp", Pattern.SHRINKING))
    assert (found.compute, found.size.tolist(), found.races) == (14.0, [52.0, 28.0], ())
    assert found((np.array([0.5]), np.array([2.0]))).tolist() == [14 + 26 + 56]


def test_gradients_of_inputs_run_beside_those_of_weights() -> None:
    # Forward 1 s and 6 bytes each; then the longer of 2 s and 20 bytes of tp, and 2 + 4 s and 14 bytes of dp.
    found = iteration_time(two_layers(), {"tp": 4, "dp": 2}, "tp-dp")
    assert (found.compute, found.size.tolist()) == (2.0, [12.0, 0.0])
    (race,) = found.races
    assert (race.count, race.compute, race.size.tolist()) == (2, (2.0, 6.0), [[20.0, 0.0], [0.0, 14.0]])
    assert found((np.array([1.0]), np.array([1.0]))).tolist() == [2 + 12 + 2 * 22]
    assert found((np.array([0.5]), np.array([1.0]))).tolist() == [2 + 6 + 2 * 20]


def test_a_race_with_one_chain_left_is_plain_time() -> None:
    race = Overlap(3.0, (1.0, 2.0), np.array([[1.0], [4.0]]))
    found = without_certain_races(iteration((race,), streams=1))
    assert (found.compute, found.size.tolist(), found.races) == (1 + 3 * 2.0, [1 + 3 * 4.0], ())
