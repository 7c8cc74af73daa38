"""Workloads, loops and time models answer for themselves: hardly any code asks of which kind one is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from designs import design_file

from evo_libra import load_problem
from evo_libra.arrays import GIGA
from evo_libra.collective import Collective
from evo_libra.problem.problem import Problem
from evo_libra.workload.layers.workload import Layer, Phase, Sent, Workload, most_of_one

PACKAGE = Path(__file__).parents[2] / "evo_libra"
KINDS = {
    "WorkloadKind", "Workload", "TracedWorkload", "PlannedStep", "TrainingStep", "ServingStep", "PlanTable",
    "TrainingTable", "ServingTable", "WeightedLoop", "OpenLoop", "IterationTime", "TabulatedTime", "TraceTime",
    "TimeModel", "LibraTime", "AstraTime",
}  # fmt: skip
MOST = 5


def asked(path: Path) -> list[str]:
    """Return the kinds that calls of `isinstance` in a file name."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    asks = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "isinstance"]
    names = [{node.id for node in ast.walk(ask.args[1]) if isinstance(node, ast.Name)} for ask in asks]
    return [f"{path.relative_to(PACKAGE)}: {', '.join(sorted(some & KINDS))}" for some in names if some & KINDS]


@pytest.mark.slow
def test_few_ask_of_which_kind_something_is() -> None:
    found = [line for path in sorted(PACKAGE.rglob("*.py")) for line in asked(path)]
    assert len(found) <= MOST, found


def test_most_of_one_is_the_npu_that_sends_most_of_each() -> None:
    owned = [(0, "a"), (0, "a"), (1, "a"), (1, "b"), (1, "b"), (1, "b")]
    assert most_of_one(owned) == {"a": 2, "b": 3}


def test_layers_say_what_they_send() -> None:
    gather = Phase(0.0, Collective.ALL_GATHER, 10.4, "tp")
    reduce = Phase(0.0, Collective.ALL_REDUCE, 80.0, "dp")
    loop = Workload("w", (Layer("x", gather, Phase(1.0), reduce), Layer("y", gather, Phase(2.0), Phase(0.5))))
    assert loop.sent() == {
        Sent("forward", Collective.ALL_GATHER, "tp", 10.4): 2,
        Sent("weight_gradient", Collective.ALL_REDUCE, "dp", 80.0): 1,
    }  # fmt: skip
    # Of a group of one NPU there is none.
    assert loop.collectives({"tp": 4, "dp": 1}) == [(Collective.ALL_GATHER, "tp", 10)] * 2
    assert list(loop.all_gathers(())) == [("layer x", 10), ("layer y", 10)]
    assert (loop.compute, loop.groups, loop.unexported, loop.instant) == (3.5, ("tp", "dp"), "", ())
    assert loop.figures({"tp": 4, "all": 16})["parallelism"] == {"tp": 4}


@pytest.mark.slow
def test_steps_say_what_needs_memory() -> None:
    problem = load_problem(design_file("mixtral-8x7b-256"))
    assert isinstance(problem, Problem)
    (table,) = problem.time.tables
    step = problem.time.pinned([0]).loops[0].workload
    assert (table.table, step.table, table.whole, step.whole) == (table, None, True, True)
    assert table.figures({})["plans_that_fit"] == int((table.memory <= table.capacity).sum())
    assert step.memory_mistakes(step.total_memory) == []
    (text,) = step.memory_mistakes(step.total_memory - 1.0)
    assert text.startswith(f"mixtral-8x7b ({table.texts[0]}) needs {step.total_memory / GIGA:.1f} GB of an NPU: ")
