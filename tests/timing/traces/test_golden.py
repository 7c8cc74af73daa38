"""ASTRA-sim's own times of whole traces, to the nanosecond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.chakra.trace import Node
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.durations import durations
from evo_libra.timing.traces.execute import Execution, execute_program
from evo_libra.timing.traces.replay import replay_population
from evo_libra.validation import astra
from evo_libra.validation.astra import groups_of, machine_of

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "astra_graphs.json").read_text())
CASES = GOLDEN["cases"]

# The simulator goes on counting its rounds from one collective to the next, which is a mistake of it: the specification
# allows 5 % here. (With two dimensions and 16 chunks, as in golden-0911, the count comes out even.)
KEEPS_COUNTING = "golden-0889"


def traces_of(case: dict[str, Any]) -> list[list[Node]]:
    return astra.traces_of(GOLDEN, case)


def run(case: dict[str, Any]) -> Execution:
    return astra.run_trace(GOLDEN, case)


def test_there_are_enough_cases() -> None:
    kinds = [case["kind"] for case in CASES]
    assert {kind: kinds.count(kind) for kind in kinds} == {"end_to_end": 73, "workload_misc": 36, "sample": 3}


EXACT = [case for case in CASES if case["id"] != KEEPS_COUNTING]


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case["id"])
def test_trace(case: dict[str, Any]) -> None:
    found, expected = run(case), case["result"]
    if "per_npu_finish_ns" in expected:
        assert found.finish.tolist() == expected["per_npu_finish_ns"]
    assert (found.finish.max(), found.finish.min()) == (expected["finish_ns"], expected["min_finish_ns"])
    if "exposed_comm_ns_max" in expected:
        assert found.exposed.max() == expected["exposed_comm_ns_max"]
    assert not found.late


def test_round_robin_begins_anew_with_each_collective() -> None:
    case = next(case for case in CASES if case["id"] == KEEPS_COUNTING)
    assert case["name"].endswith("roundRobin")
    assert run(case).finish.max() == pytest.approx(case["result"]["finish_ns"], rel=0.05)


# Where a member of a ring comes late, or its links differ, members end at different times.
APART = ("straggler", "comm_group_groups_across_dims")
UNEVEN_ENDS = {"comm_group_groups_across_dims_ALL_TO_ALL"}


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case["id"])
def test_population(case: dict[str, Any]) -> None:
    machine = machine_of(case)
    program = compile_program(traces_of(case), groups_of(case), machine)
    exact = execute_program(program, machine).finish
    times = durations(program, machine)
    for compiled in (False, True):
        found = replay_population(program, np.stack([times, 2 * times], axis=1), compiled=compiled)
        assert found.all.tolist() == [exact.max(), 2 * exact.max()]
        if not case["name"].startswith(APART) or case["name"] in UNEVEN_ENDS:
            assert found.classes[program.npus, 0].tolist() == exact.tolist()
        else:
            assert (found.classes[program.npus, 0] >= exact).all()


def test_timeline_and_breakdown() -> None:
    case = next(case for case in CASES if case["name"] == "gpipe_P4_M6_dp2")
    found = run(case)
    assert [len(members) for members in found.program.classes] == [2, 2, 2, 2]
    spans = found.timeline()
    assert len(spans) == len(found.program)
    assert max(span.end for span in spans) == found.finish.max()
    first = [span for span in spans if span.npu_class == 0]
    assert [span.start for span in first] == sorted(span.start for span in first)
    assert {span.node for span in first} == {node.id for node in traces_of(case)[0]}
    assert (found.compute + found.exposed == found.finish).all()
    assert (found.idle <= found.exposed).all()
    assert (found.compute + found.communication + found.idle >= found.finish).all()
    assert not found.cpu.any()
