"""A step under one plan as coefficients of its streams, and what a planned step says of itself: small steps by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evo_libra.collective import Collective, Dispatch, NextStage, Pattern, SizedCollective
from evo_libra.workload.layers.iteration_time import Merging
from evo_libra.workload.parallelism import HoldsGroups
from evo_libra.workload.training.planned_step import PlannedStep, shard_or_whole, step_iteration, stream_units
from evo_libra.workload.training.races import StepOverlap, StepSequence, StepTime, Traffic

REDUCE, GATHER = Collective.ALL_REDUCE, Collective.ALL_GATHER
DEGREES = {"tp": 2, "dp": 4, "ep": 1, "pp": 3}


def array(value: float) -> np.ndarray:
    return np.array([value])


def sent(group: str, operation: Any, size: float, operations: float = 1.0) -> Traffic:
    return Traffic("part", group, operation, array(size), array(operations))


RACE = StepOverlap(
    (StepSequence(array(6.0)), StepSequence(array(1.0), (sent("dp", REDUCE, 10.0, 3.0),))), array(2.0), array(0.5)
)
ALONE = StepOverlap((StepSequence(array(0.0), (sent("tp", REDUCE, 5.0), sent("ep", REDUCE, 9.0))),), array(4.0))
STEP = StepTime({"head": array(1.0), "optimizer": array(2.0)}, (RACE, ALONE))
"""3 s, 2.5 times the longer of 6 s and 1 s with 3 x 2 x 10 bytes, 4 times 2 x 5 bytes, and a group of one."""


def test_coefficients_of_a_step() -> None:
    found = step_iteration(STEP, DEGREES, Merging.PATTERN)
    assert found.streams == (("dp", Pattern.SHRINKING), ("tp", Pattern.SHRINKING))
    assert (found.compute, found.size.tolist()) == (3.0, [0.0, 40.0])
    (race,) = found.races
    assert (race.count, race.compute, race.size.tolist()) == (2.5, (6.0, 1.0), [[0.0, 0.0], [60.0, 0.0]])
    assert found((array(0.1), array(0.5))).tolist() == [3 + 2.5 * 7 + 20]


@pytest.mark.parametrize(("traffic", "merging", "stream", "units"), [
    (sent("dp", REDUCE, 10.0, 3.0), Merging.PATTERN, ("dp", Pattern.SHRINKING), 60.0),
    (sent("dp", REDUCE, 10.0, 3.0), Merging.COLLECTIVE, ("dp", REDUCE), 60.0),
    (sent("dp", REDUCE, 10.4, 3.0), Merging.NONE, ("dp", SizedCollective(REDUCE, 10)), 3.0),
    # An all-gather of 10 bytes is known by its shard of 10 / 4, which is gathered to 10 bytes.
    (sent("dp", GATHER, 10.0, 3.0), Merging.PATTERN, ("dp", Pattern.SHRINKING), 30.0),
    (sent("dp", GATHER, 12.0, 3.0), Merging.NONE, ("dp", SizedCollective(GATHER, 3)), 3.0),
    (sent("pp", NextStage(), 10.0, 3.0), Merging.PATTERN, ("pp", NextStage()), 30.0),
    (sent("pp", NextStage(), 10.0, 3.0), Merging.NONE, ("pp", NextStage(10)), 3.0),
    (sent("ep", Dispatch(2), 10.0, 3.0), Merging.COLLECTIVE, ("ep", Dispatch(2)), 30.0),
    (sent("ep", Dispatch(2), 10.0, 3.0), Merging.NONE, ("ep", SizedCollective(Collective.ALL_TO_ALL, 10)), 3.0),
    (sent("dp", REDUCE, 0.0, 3.0), Merging.NONE, ("dp", SizedCollective(REDUCE, 0)), 0.0),
])  # fmt: skip
def test_units_of_a_stream(traffic: Traffic, merging: Merging, stream: Any, units: float) -> None:
    assert stream_units(traffic, DEGREES, merging) == (stream, units)


def test_of_an_all_gather_others_know_the_shard() -> None:
    assert [shard_or_whole(kind, 12.0, 4) for kind in (GATHER, REDUCE, NextStage())] == [3.0, 12.0, 12.0]


class _Step(PlannedStep):
    """A planned step with what the test gives it."""

    name, plan, degrees, time = "small", "tp2 dp4", DEGREES, STEP
    parallelism = {"tp": 2}  # noqa: RUF012 - nothing changes it
    memory = {"weights": 2e9, "states": 12e9, "logits": 0.04e9, "buffers": 0.05e9}  # noqa: RUF012 - the same
    size = SimpleNamespace(figures={"layers": 8})

    @staticmethod
    def advise(*, capacity: float, holds: HoldsGroups) -> str:  # noqa: ARG004 - training needs it
        return f"less than {capacity:g} would fit"


def step() -> Any:
    return _Step()  # type: ignore[abstract]


def test_what_a_network_that_costs_no_time_leaves() -> None:
    assert step().compute == 3 + 2.5 * 6


def test_memory_names_its_classes_the_largest_first() -> None:
    # 14.09 GB; a class of less than 0.05 GB is not named.
    assert step().total_memory == pytest.approx(14.09e9)
    assert step().memory_mistakes(14.09e9 + 1) == []
    assert step().memory_mistakes(step().total_memory) == []
    assert step().memory_mistakes(8e9) == [
        "small (tp2 dp4) needs 14.1 GB of an NPU: states 12.0, weights 2.0, buffers 0.1; less than 8e+09 would fit"
    ]
    assert step().figures({}) == {"parallelism": {"tp": 2}, "plan": "tp2 dp4", "layers": 8}


def test_what_an_npu_sends_in_an_iteration() -> None:
    # None of it in the bubble: 2 x 3 all-reduces of dp and 4 of tp.
    found = {(one.group, one.size): count for one, count in step().sent().items()}
    assert found == {("dp", 10.0): 6, ("tp", 5.0): 4}
    assert step().collectives(DEGREES) == [(REDUCE, "dp", 10), (REDUCE, "tp", 5)]
    assert step().compiled(Merging.PATTERN).compute == 3.0
    assert step().compiled_parts(Merging.PATTERN) is None


def test_counts_that_are_not_whole_stay_so() -> None:
    half = StepOverlap((StepSequence(array(0.0), (sent("dp", GATHER, 12.0, 2.5),)),), array(1.0))
    nothing = StepOverlap(
        (StepSequence(array(0.0), (sent("dp", REDUCE, 0.0), sent("dp", REDUCE, 3.0, 0.0))),), array(1.0)
    )
    some = step()
    some.time = StepTime({}, (half, half, nothing))
    assert [(one.size, count) for one, count in some.sent().items()] == [(3.0, 5)]
    some.time = StepTime({}, (half,))
    assert list(some.sent().values()) == [2.5]
