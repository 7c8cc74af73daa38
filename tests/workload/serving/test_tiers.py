"""Expansion memory of serving: what lies there, how long its reads take, and laws on random plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_serving import FREE, SEEDS, random_plans, setup_of
from sample_decoders import DENSE, ROUTED

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.serving.memory import SPILLED, in_expansion, memory_of_pools, on_npu, serving_memory
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_step import served_times, times_in_order
from evo_libra.workload.training.expansion import NO_EXPANSION, Expansion
from evo_libra.workload.training.races import EXPANSION, StepTime

EXACT = 1e-9


def drawn(seed: int) -> tuple[ServingSetup, ServingPlans, np.random.Generator]:
    random = np.random.default_rng(seed)
    expansion = Expansion(10 ** random.uniform(9, 12), 10 ** random.uniform(10, 12))
    setup = setup_of(random, expansion=expansion, usable=10 ** random.uniform(10, 11.5))
    return setup, random_plans(random, own=bool(random.integers(0, 2)), pools=True), random


def whole(classes: dict[str, FloatArray]) -> FloatArray:
    return np.asarray(sum(classes.values(), np.zeros(1)))


def all_times(setup: ServingSetup, plans: ServingPlans) -> list[FloatArray]:
    return [np.broadcast_to(time(FREE), len(plans)) for time in times_in_order(served_times(setup, plans, pools=True))]


@settings(max_examples=30)
@given(SEEDS)
def test_what_lies_where_adds_up_to_the_footprint_the_cache_first(seed: int) -> None:
    setup, plans, _ = drawn(seed)
    used = memory_of_pools(setup, plans)
    own, away = on_npu(setup, used), in_expansion(setup, used)
    assert tuple(away) == SPILLED == ("cache", "weights")
    for kind, bytes_ in used.items():
        np.testing.assert_allclose(own[kind] + away.get(kind, 0.0), bytes_, rtol=EXACT)
    np.testing.assert_allclose(own["software"], used["software"])
    most = np.minimum(setup.expansion.capacity, used["cache"] + used["weights"])
    np.testing.assert_allclose(whole(away), np.minimum(np.maximum(whole(used) - setup.usable, 0.0), most), rtol=1e-6)
    later = np.broadcast_to(away["weights"] > 1.0, len(plans))
    cache, left = (np.broadcast_to(each["cache"], len(plans)) for each in (used, away))
    np.testing.assert_allclose(left[later], cache[later], rtol=EXACT)


@pytest.mark.slow
@settings(max_examples=30)
@given(SEEDS, st.floats(1, 100))
def test_more_of_an_expansion_is_never_worse(seed: int, factor: float) -> None:
    setup, plans, _ = drawn(seed)
    times, alone = all_times(setup, plans), all_times(replace(setup, expansion=NO_EXPANSION), plans)
    one = setup.expansion
    quick = all_times(replace(setup, expansion=replace(one, bandwidth=one.bandwidth * factor)), plans)
    for time, faster, without in zip(times, quick, alone, strict=True):
        assert (faster <= time * (1 + EXACT)).all()
        assert (without <= time * (1 + EXACT)).all()
    used, larger = memory_of_pools(setup, plans), replace(setup, expansion=replace(one, capacity=one.capacity * factor))
    assert (whole(on_npu(larger, used)) <= whole(on_npu(setup, used)) * (1 + EXACT)).all()


@pytest.mark.slow
@settings(max_examples=30)
@given(SEEDS)
def test_plans_that_fit_take_as_long_as_without_an_expansion(seed: int) -> None:
    setup, plans, _ = drawn(seed)
    roomy = replace(setup, usable=1e18)
    for time, without in zip(
        all_times(roomy, plans), all_times(replace(setup, expansion=NO_EXPANSION), plans), strict=True
    ):
        np.testing.assert_array_equal(time, without)


def test_a_step_waits_for_the_cache_that_its_requests_have() -> None:
    slow = ServingSetup(DENSE, accelerator("h100-80gb"), 1000, 200, expansion=Expansion(1e12, 1e8), usable=11.5e9)
    plan = one_plan(tp=8, micro_batch=64)
    used = serving_memory(slow, plan)
    away = in_expansion(slow, used)
    assert 0 < away["cache"] < used["cache"]
    step, prompt = (each.split(lambda traffic: 0.0 * traffic.size) for each in _decode_and_prefill(slow, plan))
    read = away["cache"] * 1100 / 1200 / 1e8
    np.testing.assert_allclose(step[EXPANSION] + step["compute"] + step["cache"] + step["head"], read, rtol=EXACT)
    written = away["cache"] / 64 * 1000 / 1200 / 1e8
    np.testing.assert_allclose(prompt[EXPANSION] + prompt["compute"] + prompt["head"], written, rtol=EXACT)


def test_experts_that_no_token_reaches_are_not_read() -> None:
    setup = ServingSetup(ROUTED, accelerator("h100-80gb"), 100, 20, expansion=Expansion(1e13, 1e9), usable=4e9)
    assert ROUTED.experts is not None
    experts = ROUTED.experts.model_copy(update={"per_token": 64})
    dense = replace(setup, decoder=ROUTED.model_copy(update={"experts": experts}))
    few, every = (_decode_and_prefill(one, one_plan(tp=8))[0].plain[EXPANSION] for one in (setup, dense))
    assert float(few[0]) < 0.3 * float(every[0])


def _decode_and_prefill(setup: ServingSetup, plan: Plans) -> tuple[StepTime, StepTime]:
    found = phases_of(setup, plan)
    return found.decode, found.prefill


@pytest.mark.parametrize("pp", [1, 4])
def test_stages_share_out_what_a_replica_has_in_the_expansion(pp: int) -> None:
    setup = ServingSetup(DENSE, accelerator("h100-80gb"), 1000, 200, expansion=Expansion(1e13, 1e9), usable=3.5e9)
    plan = one_plan(tp=1, pp=pp, micro_batch=4 * pp)
    away, one = in_expansion(setup, serving_memory(setup, plan)), phases_of(setup, plan).slot
    written = away["cache"] / (4 * pp) * 1000 / 1200
    np.testing.assert_allclose(
        one.plain[EXPANSION] + one.plain["compute"] + one.plain["head"], (away["weights"] + written) / 1e9, rtol=0.001
    )
