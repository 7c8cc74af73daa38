"""Pipelines: the formula of a step against an execution of its schedule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.chakra.trace import Node
from evo_libra.chakra.write import compute_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory
from evo_libra.timing.traces.execute import execute
from evo_libra.workload.step_traces.pipeline import Ends, PipelineStep, ends_of, schedule

FORWARD, BACKWARD = 100, 230


def machine(npus: int, bandwidth: float) -> Machine:
    """Return NPUs that are connected with all others, without latency."""
    link = Link(np.array([FULLY_CONNECTED]), np.array([npus]), np.array([bandwidth]), np.zeros(1))
    rows = {collective: [Implementation.read("direct")] for collective in Collective}
    system = System(rows, 1, 1, shrinking=True, overheads=Overheads(0.0, 0.0))
    return Machine([link], system, ComputeModel(), RemoteMemory(MemoryKind.PER_NPU, 250.0, 80.0, 2))


def pipeline_traces(
    stages: int, chunks: int, microbatches: int, *, forward: int, backward: int, message: int
) -> list[list[Node]]:
    """Return the execution trace of each stage: µs of a pass through a chunk, bytes of messages between chunks."""
    durations = {True: forward, False: backward}
    return [
        list(_nodes(stage, stages, chunks, schedule(stage, stages, chunks, microbatches), durations, message))
        for stage in range(stages)
    ]


def _nodes(
    stage: int, stages: int, chunks: int, steps: list[PipelineStep], durations: dict[bool, int], message: int
) -> Iterator[Node]:
    number, last = 0, None
    for step in steps:
        ends = ends_of(stage, stages, chunks, step)
        before: list[int] = [] if last is None else [last]
        if ends.source is not None:
            yield receive_node(
                number, "receive", source=ends.source, destination=stage, size=message, tag=ends.source_tag
            )
            before, number = [*before, number], number + 1
        yield compute_node(
            number, "forward" if step.forward else "backward", duration=durations[step.forward], data=before
        )
        last, number = number, number + 1
        if ends.target is not None:
            yield send_node(
                number, "send", source=stage, destination=ends.target, size=message, tag=ends.target_tag, data=[last]
            )
            number += 1


def simulated(stages: int, chunks: int, microbatches: int, message: int, bandwidth: float) -> float:
    traces = pipeline_traces(stages, chunks, microbatches, forward=FORWARD, backward=BACKWARD, message=message)
    return float(execute(traces, {}, machine(stages, bandwidth)).finish.max()) * 1e-3


@pytest.mark.slow
@given(st.integers(2, 8), st.integers(1, 3), st.integers(1, 4))
@costly(40)
def test_the_formula_is_the_time_of_the_schedule_where_messages_cost_nothing(stages: int, chunks: int, m: int) -> None:
    microbatches = m * stages
    of_stage = chunks * (FORWARD + BACKWARD)
    formula = microbatches * of_stage + (stages - 1) * of_stage / chunks
    assert simulated(stages, chunks, microbatches, 1, 1e18) == pytest.approx(formula, rel=1e-9)


@given(st.integers(2, 6), st.integers(1, 3), st.integers(1, 4), st.floats(1.0, 60.0))
@costly(40)
def test_with_messages_that_are_waited_for_the_formula_is_a_bound(
    stages: int, chunks: int, m: int, seconds: float
) -> None:
    microbatches, size = m * stages, 2**20
    found = simulated(stages, chunks, microbatches, size, size / seconds * 1e6)
    of_stage, messages = chunks * (FORWARD + BACKWARD), chunks * 2 * seconds
    formula = microbatches * (of_stage + messages) + (stages - 1) * (of_stage + messages) / chunks
    compute = microbatches * of_stage + (stages - 1) * of_stage / chunks
    assert compute <= found * (1 + 1e-9)
    assert found <= formula * (1 + 1e-9)


@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 4))
def test_every_pass_of_every_microbatch_runs_once(stages: int, chunks: int, m: int) -> None:
    for stage in range(stages):
        steps = schedule(stage, stages, chunks, m * stages)
        assert len(set(steps)) == len(steps) == 2 * chunks * m * stages
        before = {(step.chunk, step.microbatch): place for place, step in enumerate(steps) if step.forward}
        assert all(before[s.chunk, s.microbatch] < place for place, s in enumerate(steps) if not s.forward)


def test_an_interleaved_schedule_needs_whole_groups_of_microbatches() -> None:
    with pytest.raises(ValueError, match="a multiple of 4 microbatches"):
        schedule(0, 4, 2, 6)


def text(*steps: PipelineStep) -> str:
    return " ".join(f"{'FB'[not one.forward]}{one.chunk}.{one.microbatch}" for one in steps)


def test_a_schedule_by_hand() -> None:
    # Of 2 stages the first one is a pass ahead. Interleaved, it is 2 x 1 + 2 = 4 passes ahead of 8.
    assert text(*schedule(0, 2, 1, 3)) == "F0.0 F0.1 B0.0 F0.2 B0.1 B0.2"
    assert text(*schedule(1, 2, 1, 3)) == "F0.0 B0.0 F0.1 B0.1 F0.2 B0.2"
    assert text(*schedule(0, 2, 2, 4)) == (
        "F0.0 F0.1 F1.0 F1.1 F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 B1.2 B1.3 B0.2 B0.3"
    )


def test_ends_of_passes_by_hand() -> None:
    # 2 stages with 2 chunks are 4 places. A tag is 2 (2 x microbatch + chunk that sends), and 1 more forwards.
    assert ends_of(0, 2, 2, PipelineStep(forward=True, chunk=0, microbatch=3)) == Ends(None, 11, 1, 13)
    assert ends_of(0, 2, 2, PipelineStep(forward=True, chunk=1, microbatch=3)) == Ends(1, 13, 1, 15)
    assert ends_of(1, 2, 2, PipelineStep(forward=True, chunk=1, microbatch=3)) == Ends(0, 15, None, 15)
    assert ends_of(1, 2, 2, PipelineStep(forward=False, chunk=0, microbatch=3)) == Ends(0, 14, 0, 12)
    assert ends_of(0, 2, 1, PipelineStep(forward=False, chunk=0, microbatch=0)) == Ends(1, 0, None, 0)
