"""Published plans against the best plan of the model on the same cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.training import cluster_of, plan_of, seconds_of, setup_of, training_rows
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.placement import per_byte
from evo_libra.workload.plans.plan_space import PlanSpace, every_plan
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.training.memory import memory_on_npu
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup


@pytest.mark.parametrize("name", ["sc21.t1.310.1B", "sc21.t1.529.6B", "sc21.t1.1008B"])
def test_a_published_plan_is_within_five_percent_of_the_best_that_fits(name: str) -> None:
    (row,) = training_rows(name)
    setup, own = setup_of(row), plan_of(row)
    found = every_plan(setup, PlanSpace(row["npus"], tp=(1, 2, 4, 8, 16), recompute=(FULL,), options=own))
    plans = found.select(
        np.flatnonzero(sum(memory_on_npu(setup, found).values()) <= 0.95 * setup.accelerator.memory_capacity)
    )
    npus, bandwidth = (np.repeat(values, len(plans), axis=1) for values in cluster_of(setup.accelerator, row["npus"]))
    best = step_time(setup, plans)(per_byte(npus, bandwidth, plans)).min()
    assert best <= seconds_of(row, setup) <= 1.05 * best


@pytest.mark.slow
@given(st.sampled_from(["llama-3.1-70b", "mixtral-8x7b", "gpt-3-175b", "deepseek-v3"]), st.integers(3, 10))
@settings(max_examples=20)
def test_every_plan_divides_what_it_must_divide(name: str, exponent: int) -> None:
    model, npus, batch = decoder(name), 2**exponent, 512
    setup = Setup(model, accelerator("h100-80gb"), 4096, batch)
    plans = every_plan(setup, PlanSpace(npus, cp=(1, 2), ep=None, zero=(0, 1), recompute=(0, 2)))
    assert (plans.tp * plans.cp * plans.pp * plans.dp == npus).all()
    assert not (model.heads % plans.tp).any()
    assert not (model.layers % (plans.pp * plans.vp)).any()
    assert not (batch % (plans.dp * plans.micro_batch)).any()
    assert not (plans.tp * plans.cp * plans.dp % plans.ep).any()
    whole = plans.microbatches(batch)
    assert not (whole[plans.vp > 1] % plans.pp[plans.vp > 1]).any()
    assert (model.experts.count % plans.ep == 0 if model.experts else plans.ep == 1).all()  # type: ignore[union-attr]
