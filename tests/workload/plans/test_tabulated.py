"""Times of a step under several plans as one table of coefficients: small steps worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective, Dispatch, NextStage, Pattern, SizedByPlan
from evo_libra.workload.layers.iteration_time import Merging
from evo_libra.workload.plans.tabulated import TabulatedRace, TabulatedTime, joined, tabulated_time, tabulated_times
from evo_libra.workload.training.races import StepOverlap, StepSequence, StepTime, Traffic

REDUCE, GATHER = Collective.ALL_REDUCE, Collective.ALL_GATHER
DEGREES = {"tp": np.array([2, 1]), "ep": np.array([4, 4]), "pp": np.array([2, 2]), "dp": np.array([4, 4])}


def array(*values: float) -> np.ndarray:
    return np.array(values)


def sent(
    group: str, operation: Collective | NextStage | Dispatch, size: np.ndarray, operations: float = 1.0
) -> Traffic:
    return Traffic("part", group, operation, size, array(operations))


def alone(*traffic: Traffic, count: np.ndarray, idle: float = 0.0) -> StepOverlap:
    return StepOverlap((StepSequence(array(1.0), traffic),), count, array(idle))


TABLE = TabulatedTime(
    streams=(("tp", Pattern.SHRINKING), ("dp", Pattern.SHRINKING)),
    compute=array(1.0, 10.0), size=np.array([[2.0, 20.0], [0.0, 5.0]]),
    races=(TabulatedRace(array(3.0, 2.0), np.array([[4.0, 1.0], [0.0, 2.0]]), np.array([
        [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]],
    ])),),
)  # fmt: skip
"""Two plans: 1 + 2 t + 3 max(4, t), and 10 + 20 t + 5 d + 2 max(1, 2 + d)."""


def test_a_time_is_looked_up_by_plan() -> None:
    t, d = array(1.0, 1.0, 5.0), array(7.0, 7.0, 7.0)
    # 1 + 2 + 3 x 4, 10 + 20 + 35 + 2 x 9, 1 + 10 + 3 x 5.
    assert TABLE((t, d), np.array([0, 1, 0])).tolist() == [15.0, 83.0, 26.0]


def test_coefficients_are_those_of_a_weighted_step() -> None:
    # Twice a step, where both streams are traffic of one kind.
    found = TABLE.linear(2.0, np.array([[1.0], [1.0]]), np.array([[0, 1]]))
    assert np.asarray(found.compute).tolist() == [2.0, 20.0]
    assert found.size.tolist() == [[4.0, 50.0]]
    ((compute, size),) = found.chained
    assert compute.tolist() == [[24.0, 4.0], [0.0, 8.0]]  # 2 x 3 x 4 and 2 x 2 x 1; 2 x 2 x 2
    assert size.tolist() == [[[0.0, 0.0]], [[6.0, 4.0]]]


def test_a_step_without_overlap_is_plain_time() -> None:
    # Head 1 and 2 s. Twice and once 1 s, 3 x 2 x 100 bytes of tp, and 3 and 6 bytes of dp; once more while the pipeline
    # is idle. A tp group of one NPU sends nothing.
    step = StepTime({"head": array(1.0, 2.0)}, (
        alone(
            sent("tp", REDUCE, array(100.0), 3.0), sent("dp", GATHER, array(3.0, 6.0)), count=array(2.0, 1.0), idle=1.0,
        ),
    ))  # fmt: skip
    found = tabulated_time(step, DEGREES, Merging.PATTERN, 2)
    assert found.streams == (("tp", Pattern.SHRINKING), ("dp", Pattern.SHRINKING))
    assert found.compute.tolist() == [1 + 3, 2 + 2]
    assert found.size.tolist() == [[1800.0, 0.0], [9.0, 12.0]]
    assert not found.races


def test_the_longest_chain_of_a_race_is_kept_as_such() -> None:
    race = StepOverlap(
        (
            StepSequence(array(5.0)), StepSequence(array(0.0), (sent("dp", REDUCE, array(1.0)),)),
            StepSequence(array(4.0)),
        ),
        array(2.0), array(1.0),
    )  # fmt: skip
    found = tabulated_time(StepTime({}, (race,)), DEGREES, Merging.PATTERN, 2)
    (one,) = found.races
    # 4 s are within 5 s.
    assert one.count.tolist() == [3.0, 3.0]
    assert one.compute.tolist() == [[5.0, 5.0], [0.0, 0.0]]
    assert one.size.tolist() == [[[0.0, 0.0]], [[2.0, 2.0]]]
    assert found.compute.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("chains", "left"), [
    # Of equal chains one is left; a chain that is longer under one of the plans stays.
    ([(1.0, 1.0), (1.0, 1.0)], [[1.0, 1.0]]),
    ([(1.0, 2.0), (2.0, 2.0)], [[2.0, 2.0]]),
    ([(2.0, 2.0), (1.0, 2.0)], [[2.0, 2.0]]),
])  # fmt: skip
def test_a_chain_within_another_under_every_plan_is_left_out(
    chains: list[tuple[float, float]], left: list[list[float]]
) -> None:
    race = StepOverlap(tuple(StepSequence(array(*seconds)) for seconds in chains), array(2.0))
    found = tabulated_time(StepTime({}, (race,)), DEGREES, Merging.PATTERN, 2)
    assert found.compute.tolist() == [2 * seconds for seconds in left[0]]
    assert not found.races
    both = StepOverlap((StepSequence(array(1.0, 3.0)), StepSequence(array(2.0, 2.0))), array(1.0))
    assert len(tabulated_time(StepTime({}, (both,)), DEGREES, Merging.PATTERN, 2).races[0].compute) == 2


def test_a_race_that_no_plan_has_is_left_out() -> None:
    race = StepOverlap((StepSequence(array(1.0, 3.0)), StepSequence(array(2.0, 2.0))), array(0.0))
    assert not tabulated_time(StepTime({}, (race,)), DEGREES, Merging.PATTERN, 2).races


def test_streams_by_kind_have_bytes_of_their_pattern() -> None:
    # Twice the bytes of an all-reduce; a message and tokens have streams of their own.
    step = StepTime({}, (alone(
        sent("dp", REDUCE, array(10.0)), sent("dp", GATHER, array(10.0)), sent("pp", NextStage(), array(7.0)),
        sent("ep", Dispatch(2), array(5.0)), count=array(1.0),
    ),))  # fmt: skip
    found = tabulated_time(step, DEGREES, Merging.COLLECTIVE, 2)
    assert found.streams == (("dp", REDUCE), ("dp", GATHER), ("pp", NextStage()), ("ep", Dispatch(2)))
    assert found.size[:, 0].tolist() == [20.0, 10.0, 7.0, 5.0]


def sizes_of(found: TabulatedTime) -> list[tuple[str, object, list[float], list[bool], list[float]]]:
    rows = []
    for (group, load), units in zip(found.streams, found.size, strict=True):
        assert isinstance(load, SizedByPlan)
        rows.append((group, load.operation, load.size.tolist(), load.sent.tolist(), units.tolist()))
    return rows


def test_operations_of_a_size_are_streams_where_messages_have_a_latency() -> None:
    # An all-gather is known by its shard, 1/4 of 100 and of 41 bytes, rounded to whole ones; tokens go all to all. Of
    # no bytes nothing is sent. Equal sizes of one kind are one stream.
    step = StepTime({}, (alone(
        sent("dp", GATHER, array(100.0, 41.0), 3.0), sent("ep", Dispatch(2), array(8.0, 0.0)),
        sent("dp", GATHER, array(100.0, 41.0), 2.0), sent("dp", GATHER, array(52.0, 41.0)), count=array(1.0),
    ),))  # fmt: skip
    assert sizes_of(tabulated_time(step, DEGREES, Merging.NONE, 2)) == [
        ("dp", GATHER, [25.0, 10.0], [True, True], [5.0, 5.0]),
        ("ep", Collective.ALL_TO_ALL, [8.0, -1.0], [True, False], [1.0, 0.0]),
        ("dp", GATHER, [13.0, 10.0], [True, True], [1.0, 1.0]),
    ]


def test_traffic_that_different_plans_send_is_one_stream() -> None:
    # The first plan alone sends 8 bytes, and the second one 6: a stream of 8 and 6.
    first, second = (Traffic("part", "dp", REDUCE, array(8.0, 6.0), array(*of)) for of in ((1.0, 0.0), (0.0, 1.0)))
    step = StepTime({}, (alone(first, second, count=array(1.0)),))
    assert sizes_of(tabulated_time(step, DEGREES, Merging.NONE, 2)) == [
        ("dp", REDUCE, [8.0, 6.0], [True, True], [1.0, 1.0])
    ]


def test_several_steps_have_the_same_streams() -> None:
    steps = [StepTime({}, (alone(sent(group, REDUCE, array(1.0)), count=array(1.0)),)) for group in ("tp", "dp")]
    one, two = tabulated_times(steps, DEGREES, Merging.PATTERN, 2)
    assert one.streams == two.streams == (("tp", Pattern.SHRINKING), ("dp", Pattern.SHRINKING))
    assert (one.size.tolist(), two.size.tolist()) == ([[2.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [2.0, 2.0]])


def test_steps_of_parts_of_the_plans_are_joined_in_their_order() -> None:
    steps = [
        StepTime({"head": array(head)}, (alone(sent("dp", REDUCE, array(size), times), count=array(count), idle=idle),))
        for head, size, times, count, idle in ((1.0, 10.0, 2.0, 3.0, 4.0), (5.0, 60.0, 7.0, 8.0, 9.0))
    ]
    found = joined(steps, [1, 2])
    assert found.plain["head"].tolist() == [1, 5, 5]
    (race,), (one,) = found.races, found.races[0].sent
    assert (race.count.tolist(), race.idle.tolist()) == ([3, 8, 8], [4, 9, 9])
    assert race.chains[0].compute.tolist() == [1, 1, 1]
    assert (one.size.tolist(), one.operations.tolist()) == ([10, 60, 60], [2, 7, 7])
    assert joined(steps[:1], [1]) is steps[0]
