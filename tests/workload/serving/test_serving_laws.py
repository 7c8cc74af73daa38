"""Laws of serving, on random plans: what more of something never makes worse, and what has to be exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st
from random_serving import FREE, SEEDS, Seconds, random_plans, setup_of
from sample_decoders import DENSE, LATENT, ROUTED

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.models.decoder_spec import Experts
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.serving.memory import cache_bytes, serving_memory
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_rules import ServingSpace, every_serving_plan
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_step import served_times, times_in_order
from evo_libra.workload.training.races import OF_PREFILL, POOLS

SAME = 1e-9


def seconds(setup: ServingSetup, plans: ServingPlans, seconds_of: Any = FREE) -> FloatArray:
    """Return the (4, n) times to the end of a request, to the first token, of a further one, and of one user."""
    found = served_times(setup, plans, pools=bool(plans.prefill.any()))
    return np.array([time(seconds_of) + np.zeros(len(plans.prefill)) for time in times_in_order(found)])


def no_slower(one: FloatArray, other: FloatArray) -> bool:
    return bool((one <= other * (1.0 + SAME)).all())


GROUPS = ("tp", "pp", "ep", "dp", *OF_PREFILL.values(), POOLS)


@pytest.mark.slow
@given(SEEDS, st.booleans(), st.booleans())
@costly(100)
def test_a_faster_accelerator_or_network_is_never_slower(
    seed: int,
    pools: bool,  # noqa: FBT001 - drawn
    own: bool,  # noqa: FBT001 - drawn
) -> None:
    random = np.random.default_rng(seed)
    setup, plans = setup_of(random), random_plans(random, pools=pools, own=own)
    slow = Seconds({group: np.full(1, 10.0 ** random.uniform(-12, -9)) for group in GROUPS})
    fast = Seconds({group: value * random.uniform(0.1, 1.0) for group, value in slow.items()})
    npu = setup.accelerator
    memory = replace(npu, memory_bandwidth=npu.memory_bandwidth * random.uniform(1.0, 4.0))
    peak = replace(npu, peak={key: rate * 2.0 for key, rate in npu.peak.items()})
    before = seconds(setup, plans, slow)
    assert no_slower(seconds(setup, plans, fast), before)
    for better in (memory, peak):
        assert no_slower(seconds(replace(setup, accelerator=better), plans, slow), before)


@pytest.mark.slow
@given(SEEDS, st.booleans(), st.booleans())
@costly(100)
def test_fewer_tokens_users_or_bytes_are_never_slower(
    seed: int,
    pools: bool,  # noqa: FBT001 - drawn
    own: bool,  # noqa: FBT001 - drawn
) -> None:
    random = np.random.default_rng(seed)
    setup = setup_of(random, weights="bf16", cache="bf16")
    plans = random_plans(random, pools=pools, own=own)
    before = seconds(setup, plans)
    shorter = replace(setup, prompt=max(setup.prompt // 2, 1))
    assert no_slower(seconds(shorter, plans), before)
    assert no_slower(seconds(replace(setup, answer=max(setup.answer // 2, 2)), plans)[0], before[0])
    fewer = replace(plans.plans, micro_batch=np.maximum(plans.plans.micro_batch // 2, 1))
    assert no_slower(seconds(setup, replace(plans, plans=fewer)), before)
    for narrow in (replace(setup, weights="int4"), replace(setup, cache="fp8")):
        assert no_slower(seconds(narrow, plans), before)


@pytest.mark.slow
@given(SEEDS)
def test_more_users_give_no_fewer_tokens_a_second(seed: int) -> None:
    """Each step of decoding is shared by more of them; a step that is busier hides less of each prompt."""
    random = np.random.default_rng(seed)
    setup, plans = setup_of(random), random_plans(random)
    single = replace(plans.plans, pp=np.ones(1, dtype=np.int64))
    rates = []
    for times in (1, 2):
        more = ServingPlans(replace(single, micro_batch=times * single.micro_batch), plans.prefill)
        rates.append(more.users / seconds(setup, more)[0])
    assert (rates[0] <= 1.02 * rates[1]).all()


@pytest.mark.slow
@given(SEEDS)
def test_one_user_has_exact_times(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans = setup_of(random), random_plans(random)
    alone = ServingPlans(replace(plans.plans, micro_batch=np.ones(16, dtype=np.int64)), plans.prefill)
    request, first, token, one = seconds(setup, alone)
    np.testing.assert_array_equal(first, one)
    np.testing.assert_allclose(request, first + (setup.answer - 1) * token, rtol=1e-12)
    phases = phases_of(setup, alone.plans)
    np.testing.assert_allclose(one, phases.prefill(FREE) + np.zeros(16), rtol=1e-12)
    np.testing.assert_allclose(token, phases.decode(FREE) + np.zeros(16), rtol=1e-12)


@pytest.mark.slow
@given(SEEDS)
def test_users_that_ask_at_once_get_all_answers_in_a_request(seed: int) -> None:
    """A prompt, what those of others add, then all steps of decoding: what the time of a request is."""
    random = np.random.default_rng(seed)
    setup, plans = setup_of(random), random_plans(random)
    single = ServingPlans(replace(plans.plans, pp=np.ones(1, dtype=np.int64)), plans.prefill)
    phases = phases_of(setup, single.plans)
    others = (single.plans.micro_batch - 1) * phases.beside(FREE)
    every = phases.prefill(FREE) + others + (setup.answer - 1) * phases.decode(FREE)
    np.testing.assert_allclose(seconds(setup, single)[0], every, rtol=1e-12)


@pytest.mark.slow
@given(SEEDS)
@costly(100)
def test_pools_never_make_a_token_wait_for_a_prompt(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans = setup_of(random), random_plans(random, pools=True)
    both = ServingPlans(plans.plans, np.zeros_like(plans.prefill))
    assert no_slower(seconds(setup, plans)[2], seconds(setup, both)[2])


@given(SEEDS)
def test_memory_falls_with_degrees_and_grows_with_users(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans = setup_of(random), random_plans(random).plans

    def total(some: Plans) -> FloatArray:
        return np.asarray(sum(serving_memory(setup, some).values(), np.zeros(1)))

    before = total(plans)
    wider = replace(plans, tp=2 * plans.tp)
    assert no_slower(total(wider), before)
    assert no_slower(total(replace(plans, pp=2 * plans.pp)), before)
    assert no_slower(before, total(replace(plans, micro_batch=2 * plans.micro_batch)))


def test_int8_saves_as_much_of_the_cache_as_its_scales_leave() -> None:
    """264 of 512 bytes for a token and head of keys and values of width 128: 48.4 %."""
    plan = one_plan(tp=1)
    for name in ("llama-2-7b", "llama-3-70b"):
        wide, narrow = (
            float(cache_bytes(ServingSetup(decoder(name), accelerator("h100-80gb"), 1, 2, cache=cache), plan, 1)[0])
            for cache in ("bf16", "int8")
        )
        assert 1.0 - narrow / wide == 1.0 - 264 / 512
        assert round(100 * (1.0 - narrow / wide), 1) == 48.4


def test_the_cache_of_known_models() -> None:
    """Llama 3 70B has 320 KiB a token in 16 bits (80 layers, 8 heads of 128); DeepSeek-V3 70,272 B (61 x 576 x 2)."""
    npu = accelerator("h100-80gb")
    known = {"llama-3-70b": 327_680, "deepseek-v3": 70_272}
    for name, bytes_ in known.items():
        setup = ServingSetup(decoder(name), npu, 1, 2)
        assert float(cache_bytes(setup, one_plan(tp=1), 1)[0]) == bytes_
    assert float(serving_memory(setup, one_plan(tp=1))["weights"][0]) == pytest.approx(2 * 671e9, rel=0.001)


@pytest.mark.slow
@given(SEEDS)
def test_every_plan_divides(seed: int) -> None:
    random = np.random.default_rng(seed)
    model, npus = (DENSE, ROUTED, LATENT)[random.integers(0, 3)], int(random.choice([8, 48, 64, 96]))
    found = every_serving_plan(model, ServingSpace(npus, None, None, None, None, (1, 8), (0.0, 0.25, 0.5)))
    plans, prefill = found.plans, found.prefill
    assert len(prefill)
    assert (plans.tp * plans.pp * plans.dp == npus).all()
    assert (model.heads % plans.tp == 0).all()
    assert (prefill < plans.dp).all()
    for pool in (prefill, plans.dp - prefill):
        assert ((plans.tp * pool) % plans.ep == 0).all()
    rows = np.stack([plans.tp, plans.pp, plans.ep, plans.dp, plans.micro_batch, prefill])
    assert np.unique(rows, axis=1).shape == rows.shape


@pytest.mark.slow
@given(SEEDS, st.sampled_from([1, 2, 4, 8]))
def test_experts_without_a_group_of_their_own_are_split_as_other_layers_are(seed: int, tp: int) -> None:
    """Each NPU reads a part of each expert instead of a part of them; an all-reduce replaces both all-to-alls."""
    random = np.random.default_rng(seed)
    model = ROUTED.model_copy(
        update={"experts": Experts(count=64, per_token=4, feed_forward=4096, shared_feed_forward=0, dense_layers=2)}
    )
    setup = replace(setup_of(random), decoder=model)
    split, spread = (one_plan(tp=tp, ep=ep, micro_batch=int(random.integers(1, 65))) for ep in (1, tp))
    spread = replace(spread, micro_batch=split.micro_batch)
    for one, other in zip(serving_memory(setup, split).values(), serving_memory(setup, spread).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    whole, apart = phases_of(setup, split), phases_of(setup, spread)
    for part in ("compute", "cache", "head"):
        np.testing.assert_allclose(whole.decode.plain[part], apart.decode.plain[part], rtol=1e-12)
    sent = {one.part: one for race in whole.decode.races for one in race.sent}
    assert float(sent["tensor"].operations[0]) == 2 * model.layers


def test_mixtral_fits_two_accelerators() -> None:
    """46.7 B weights: 46.7 GB of each of two in 16 bits, as users of one server of two know."""
    setup = ServingSetup(decoder("mixtral-8x7b"), accelerator("h100-80gb"), 200, 200)
    assert float(serving_memory(setup, one_plan(tp=2))["weights"][0]) == pytest.approx(46.7e9, rel=0.01)
