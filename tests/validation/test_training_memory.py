"""Plans that ran fit the memory that they ran in, and measured peaks are as far off as the page says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.problem.file.accelerators import FRAGMENTS
from evo_libra.validation.source import errors_of
from evo_libra.validation.training import plan_of, setup_of, training_rows
from evo_libra.validation.training_2026 import measured_steps
from evo_libra.validation.training_memory import TRAINING_MEMORY, allocated, rows_of
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.plans.recomputation import NONE
from evo_libra.workload.training.memory import memory, memory_on_npu
from evo_libra.workload.training.training_setup import Setup

RAN = {
    **{row["id"]: (setup_of(row), plan_of(row)) for row in training_rows()},
    **{row["id"]: (setup_of(row), plan_of(row)) for row in training_rows("mpt", "llm_foundry")},
    **{step.id: (step.setup, step.plan) for step in measured_steps()},
}
"""Plans of all rows, with their kind of loss and the modules that ran again."""


def needed(setup: Setup, plan: Plans) -> float:
    return float(np.ravel(sum(memory_on_npu(setup, plan).values(), np.zeros(1)))[0])


@pytest.mark.slow
def test_all_plans_that_ran_fit() -> None:
    assert len(RAN) == 33 + 138 + 46
    over = {
        name: needed(setup, plan) / setup.accelerator.memory_capacity
        for name, (setup, plan) in RAN.items()
        if needed(setup, plan) > (1.0 - FRAGMENTS) * setup.accelerator.memory_capacity
    }
    assert over == {}


def test_llama_3_needs_its_modules_to_run_again() -> None:
    setup, plan = RAN["llama3.8192.s8192"]
    assert needed(setup, plan) == pytest.approx(65.2e9, rel=1e-3)
    assert needed(setup, replace(plan, recompute=np.array([NONE]))) > 80e9


def test_measured_peaks() -> None:
    errors = {source.name: errors_of(source.rows()) for source in TRAINING_MEMORY}
    assert {name: one.count for name, one in errors.items()} == {
        "training-memory-megatron": 1, "training-memory-torch": 8
    }  # fmt: skip
    assert errors["training-memory-megatron"].maximum < 0.06
    assert (errors["training-memory-torch"].mean, errors["training-memory-torch"].maximum) < (0.023, 0.042)


def test_of_the_fullest_stage_of_405b_more_is_allocated_than_of_the_first_one() -> None:
    """The first one: 15 layers and the embedding are 6.24e9 weights of 5.5 bytes, 34.3 GB, and 127 layers wait.

    A layer keeps 56.5 kB of each of 4,096 tokens: 29.4 GB.
    """
    (step,) = rows_of("mlperf")
    assert allocated(step) == pytest.approx(66.9e9, rel=1e-3)
    assert sum(float(np.ravel(one)[0]) for one in memory(step.setup, step.plan).values()) == allocated(step) + 1e9
