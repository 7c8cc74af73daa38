from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models import kinds
from evo_libra.workload.plans import plan_table
from evo_libra.workload.training import training_step

NAMES = """
import sys
from evo_libra.problem.time_models.kinds import PlanTable, TrainingStep
print(isinstance(1, PlanTable), isinstance("", PlanTable | TrainingStep), "evo_libra.workload" in sys.modules)
"""


def test_a_kind_is_known_by_name_alone() -> None:
    done = subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]


@pytest.mark.parametrize("name", kinds.__all__)
def test_a_kind_is_a_class_of_its_name(name: str) -> None:
    ((module, there),) = getattr(kinds, name).places
    assert there == name
    assert isinstance(getattr(import_module(module), name), type)


def test_kinds_are_those_of_the_classes() -> None:
    problem = load_problem("llama3-405b-16k")
    assert isinstance(problem, Problem)
    (table,) = (loop.workload for loop in problem.time.loops)
    step = problem.time.pinned([0]).loops[0].workload
    for one in (table, step):
        assert isinstance(one, kinds.PlanTable) == isinstance(one, plan_table.PlanTable)
        assert isinstance(one, kinds.TrainingStep) == isinstance(one, training_step.TrainingStep)
        assert isinstance(one, kinds.PlanTable | kinds.TrainingStep)
        assert not isinstance(one, kinds.TracedWorkload | kinds.ServingStep | kinds.ServingTable)
    assert isinstance(table, kinds.TrainingTable)
    assert isinstance(problem.time.loops[0].time, kinds.TabulatedTime)
