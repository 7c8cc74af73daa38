"""Expansion memory: what lies there, and laws on random plans."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_steps import random_plans, seconds_of, setup_of

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plan_space import PlanSpace, every_plan
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.training.expansion import SPILLED, Expansion
from evo_libra.workload.training.memory import CLASSES, expanded, memory, memory_on_npu
from evo_libra.workload.training.races import EXPANSION
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int) -> tuple[Setup, Plans, np.random.Generator]:
    """Return a setup with three choices, of which the first is none, and plans that have one of them each."""
    random = np.random.default_rng(seed)
    usable = 10 ** random.uniform(9, 11.5)
    more = [Expansion(10 ** random.uniform(9, 12), 10 ** random.uniform(10, 12)) for _ in range(2)]
    setup = setup_of(random, expansions=(Expansion(0.0, 1.0), *more), usable=usable)
    plans = random_plans(random)
    return setup, replace(plans, expansion=random.integers(0, 3, len(plans))), random


def whole(classes: dict[str, FloatArray]) -> FloatArray:
    return np.asarray(sum(classes.values(), np.zeros(1)))


@pytest.mark.slow
@settings(max_examples=40)
@given(SEEDS)
def test_what_lies_where_adds_up_to_the_footprint_in_order(seed: int) -> None:
    setup, plans, _ = drawn(seed)
    used, own, away = memory(setup, plans), memory_on_npu(setup, plans), expanded(setup, plans, memory(setup, plans))
    capacity = np.array([one.capacity for one in setup.expansions])[plans.expansion]
    assert set(own) == set(CLASSES)
    assert tuple(away) == SPILLED
    for kind in CLASSES:
        np.testing.assert_allclose(own[kind] + away.get(kind, 0.0), used[kind], rtol=1e-12)
    np.testing.assert_allclose(whole(away), np.minimum(np.maximum(whole(used) - setup.usable, 0.0), np.minimum(
        capacity, sum(used[kind] for kind in SPILLED))), rtol=1e-9, atol=1.0)  # fmt: skip
    for first, second in pairwise(SPILLED):
        later = away[second] > 1.0
        np.testing.assert_allclose(away[first][later], np.broadcast_to(used[first], len(plans))[later], rtol=1e-9)


@pytest.mark.slow
@settings(max_examples=40)
@given(SEEDS, st.floats(1, 100))
def test_a_faster_expansion_never_slows_and_a_larger_one_never_fills_the_npu(seed: int, factor: float) -> None:
    setup, plans, random = drawn(seed)
    seconds = seconds_of(random)
    time = step_time(setup, plans)(seconds)
    faster = tuple(replace(one, bandwidth=one.bandwidth * factor) for one in setup.expansions)
    assert (step_time(replace(setup, expansions=faster), plans)(seconds) <= time * (1 + 1e-12)).all()
    larger = tuple(replace(one, capacity=one.capacity * factor) for one in setup.expansions)
    assert (whole(memory_on_npu(replace(setup, expansions=larger), plans)) <= whole(memory_on_npu(setup, plans))).all()


@pytest.mark.slow
@settings(max_examples=40)
@given(SEEDS)
def test_plans_that_fit_take_as_long_as_without_an_expansion(seed: int) -> None:
    setup, plans, random = drawn(seed)
    seconds = seconds_of(random)
    plain = replace(setup, expansions=(), usable=np.inf)
    time, alone = (
        step_time(setup, plans)(seconds),
        step_time(plain, replace(plans, expansion=np.zeros(1, int)))(seconds),
    )
    assert (time >= alone * (1 - 1e-12)).all()
    nothing = np.broadcast_to(whole(expanded(setup, plans, memory(setup, plans))) == 0, len(plans))
    np.testing.assert_allclose(time[nothing], np.broadcast_to(alone, len(plans))[nothing], rtol=1e-12)


def test_a_pass_waits_for_the_slower_one_of_compute_and_expansion() -> None:
    model, npu = decoder("gpt-3-175b"), accelerator("a100-80gb")
    plan = one_plan(tp=8, dp=128, zero=1, recompute=FULL, sequence_parallel=True)
    slow = Setup(model, npu, 2048, 256, expansions=(Expansion(1e12, 1e9),), usable=20e9)
    used = memory(slow, plan)
    away = expanded(slow, plan, used)
    assert away["states"] == used["states"]
    assert away["gradients"] == used["gradients"]
    assert 0 < away["weights"] < used["weights"]
    split = step_time(slow, plan).split(lambda traffic: 0.0 * traffic.size)
    waited = split[EXPANSION] + split["compute"]
    passes = 2 * (away["weights"] * 3 + away["gradients"] * 2) / 1e9
    update = (away["states"] * 2 + away["gradients"] + away["weights"]) / 1e9
    np.testing.assert_allclose(waited, passes + update, rtol=1e-9)


def test_every_choice_is_a_plan_where_it_is_used() -> None:
    choices = (Expansion(0.0, 1.0), Expansion(64e9, 1e11), Expansion(512e9, 1e12))
    setup = Setup(decoder("gpt-3-175b"), accelerator("a100-80gb"), 2048, 256, expansions=choices, usable=76e9)
    plans = every_plan(setup, PlanSpace(1024, tp=(1, 8), pp=(1, 8), vp=(1,), micro_batch=(1,), zero=(0, 3)))
    fits = whole(memory(setup, plans)) <= setup.usable
    assert fits.any()
    assert (plans.expansion[fits] == 0).all()
    each = [np.sum(plans.expansion[~fits] == choice) for choice in range(3)]
    assert each[0] == each[1] == each[2] > 0
