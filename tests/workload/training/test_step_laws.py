"""Laws of training steps, on random plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_steps import FREE, GROUPS, Seconds, random_plans, seconds_of, setup_of
from sample_decoders import DENSE

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder, load_decoders
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.plans.recomputation import FULL, NONE
from evo_libra.workload.training.memory import memory, parameters
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup

SEEDS = st.integers(0, 2**32 - 1)


def scaled(seconds: Seconds, random: np.random.Generator) -> Seconds:
    return Seconds({
        key: values * (1.0 if random.random() < 0.5 else random.uniform(0.1, 1.0)) for key, values in seconds.items()
    })  # fmt: skip


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_more_bandwidth_is_never_slower(seed: int) -> None:
    random = np.random.default_rng(seed)
    time, seconds = step_time(setup_of(random), random_plans(random)), seconds_of(random)
    assert (time(scaled(seconds, random)) <= time(seconds) * (1 + 1e-12)).all()


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_a_faster_accelerator_is_never_slower(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans, seconds = setup_of(random), random_plans(random), seconds_of(random)
    found = setup.accelerator
    faster = replace(found, memory_bandwidth=found.memory_bandwidth * random.uniform(1.0, 3.0))
    if random.random() < 0.5:
        faster = replace(found, peak={name: rate * random.uniform(1.0, 3.0) for name, rate in found.peak.items()})
    before, after = (step_time(replace(setup, accelerator=npu), plans)(seconds) for npu in (found, faster))
    assert (after <= before * (1 + 1e-12)).all()


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_parts_add_up_and_none_is_negative(seed: int) -> None:
    random = np.random.default_rng(seed)
    time, seconds = step_time(setup_of(random), random_plans(random)), seconds_of(random)
    parts = time.split(seconds)
    np.testing.assert_allclose(sum(parts.values()), time(seconds), rtol=1e-12)
    assert all((part >= 0).all() for part in parts.values())


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_plans_are_computed_each_for_itself(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans, seconds = setup_of(random), random_plans(random), seconds_of(random)
    order = random.permutation(16)
    expected = step_time(setup, plans)(seconds)
    moved = Seconds({key: values[order] for key, values in seconds.items()})
    np.testing.assert_allclose(step_time(setup, plans.select(order))(moved), expected[order], rtol=1e-12)
    used = sum(memory(setup, plans).values(), np.zeros(1))
    np.testing.assert_allclose(sum(memory(setup, plans.select(order)).values()), used[order], rtol=1e-12)
    alone = Seconds({key: values[:1] for key, values in seconds.items()})
    np.testing.assert_allclose(step_time(setup, plans.select(slice(0, 1)))(alone), expected[:1], rtol=1e-12)


def used(setup: Setup, plans: Plans) -> FloatArray:
    return np.asarray(sum(memory(setup, plans).values(), np.zeros(1)))


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_memory_falls_with_tensor_parallelism_zero_and_recomputation(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans = setup_of(random), random_plans(random)
    now = used(setup, plans) * (1 + 1e-12)
    # Layers that are whole while they compute or run backwards are on top of what is left.
    for changed in (
        replace(plans, zero=np.minimum(plans.zero + 1, 3)),
        replace(plans, recompute=np.minimum(plans.recompute + 1, FULL)),
    ):
        classes = memory(setup, changed)
        assert (used(setup, changed) <= now + classes["gathered"] + classes["backward"]).all()
    assert (used(setup, replace(plans, sequence_parallel=np.ones(16, dtype=np.bool_))) <= now).all()
    # As many NPUs more: those of data parallelism stay, and so do their microbatches.
    assert (used(setup, replace(plans, tp=2 * plans.tp)) <= now).all()


@given(SEEDS)
@settings(max_examples=40)
def test_a_network_that_costs_nothing_leaves_compute(seed: int) -> None:
    random = np.random.default_rng(seed)
    time, free = step_time(setup_of(random), random_plans(random)), Seconds.fromkeys(GROUPS, np.zeros(16))
    parts = time.split(free)
    waits = ("tensor", "context", "expert", "pipeline", "data")
    assert all(not parts[part].any() for part in waits)
    assert (parts["compute"] > 0).all()


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=40)
def test_overlap_never_hides_more_than_its_compute(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans, seconds = setup_of(random), random_plans(random), seconds_of(random)
    off = np.zeros(16, dtype=np.bool_)
    alone = step_time(setup, replace(plans, overlap_tp=off, overlap_pp=off, overlap_dp=off))
    time = step_time(setup, plans)
    exposed, hidden = alone(seconds), time(seconds)
    assert (hidden <= exposed * (1 + 1e-12)).all()
    compute = alone.split(seconds)["compute"] + alone.split(Seconds.fromkeys(GROUPS, np.zeros(16)))["bubble"]
    assert (hidden >= exposed - compute - 1e-9 * exposed).all()
    slow = Seconds({key: 1e6 * values for key, values in seconds.items()})
    # Where the network is slow, what compute hides is nothing beside what it does not.
    np.testing.assert_allclose(time(slow), alone(slow), rtol=0.05)


def test_without_any_other_parallelism_a_step_is_plain_data_parallelism() -> None:
    setup = Setup(DENSE, accelerator("h100-80gb"), 4096, 64, gradient_bytes=2)
    time = step_time(setup, one_plan(dp=64))
    seconds = Seconds.fromkeys(GROUPS, np.full(1, 1e-11))
    alone = Seconds({**FREE, "cp+dp": seconds["cp+dp"]})
    weights = parameters(setup, one_plan(dp=64)).all
    np.testing.assert_allclose(time(alone) - time(FREE), 4 * weights * 1e-11, rtol=1e-9)
    assert float(time.split(seconds)["bubble"][0]) == 0.0


@pytest.mark.parametrize("name", sorted(load_decoders()))
def test_the_weights_of_one_accelerator_are_those_of_the_model(name: str) -> None:
    model = decoder(name)
    setup = Setup(model, accelerator("h100-80gb"), 2048, 64)
    held = float(parameters(setup, one_plan()).all[0])
    # Norms, biases and learned positions are left out.
    positions = 0 if model.gated else (model.sequence or 0) * model.hidden
    assert held <= model.parameters
    assert held == pytest.approx(model.parameters - positions, rel=1e-3)


@pytest.mark.parametrize("recompute", range(NONE, FULL + 1))
def test_recomputation_costs_what_it_runs_again(recompute: int) -> None:
    setup = Setup(DENSE, accelerator("h100-80gb"), 4096, 64, fused_attention=False)
    time = {
        r: float(step_time(setup, one_plan(dp=64, recompute=r)).split(FREE)["compute"][0]) for r in (NONE, recompute)
    }
    assert 1.0 <= time[recompute] / time[NONE] <= 4 / 3 + 0.05


def scheduled(random: np.random.Generator) -> Plans:
    """Return random plans of all schedules, with and without all-to-alls alongside passes and copies of shards."""
    plans = random_plans(random)
    kind = random.integers(0, 4, len(plans)) * (plans.pp > 1)
    other = kind > 0
    return replace(
        plans, schedule=kind, overlap_ep=random.random(len(plans)) < 0.5, vp=np.where(other, 1, plans.vp),
        recompute=np.where(other & (plans.recompute == FULL), NONE, plans.recompute),
    )  # fmt: skip


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_schedules_keep_the_laws(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans, seconds = setup_of(random), scheduled(random), seconds_of(random)
    time = step_time(setup, plans)
    parts = time.split(seconds)
    np.testing.assert_allclose(sum(parts.values()), time(seconds), rtol=1e-12)
    assert all((part >= -1e-12 * time(seconds)).all() for part in parts.values())
    assert (time(scaled(seconds, random)) <= time(seconds) * (1 + 1e-12)).all()
    order = random.permutation(16)
    moved = Seconds({key: values[order] for key, values in seconds.items()})
    np.testing.assert_allclose(step_time(setup, plans.select(order))(moved), time(seconds)[order], rtol=1e-12)
