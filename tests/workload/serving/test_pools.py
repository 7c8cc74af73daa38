"""Pools whose replicas have degrees of their own: where they lie, what they must divide, and what they send."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.placement import ORDER, placed_groups
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.memory import cache_of_prompt, memory_of_pools, serving_memory
from evo_libra.workload.serving.observed import OFF, observed
from evo_libra.workload.serving.phases import pool_phases, transfer_parts
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_rules import ServingSpace, every_serving_plan, serving_mistakes, serving_text
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_step import served_times, times_in_order
from evo_libra.workload.training.races import EXPERT, OF_PREFILL, POOLS, Traffic

MODEL = decoder("llama-3-70b")
SETUP = ServingSetup(MODEL, accelerator("h100-80gb"), 1000, 500, "fp8", "int8")
OPEN = {"tp": (1, 2, 4, 8), "pp": (1, 2, 4)}
SPACE = ServingSpace(64, OPEN["tp"], OPEN["pp"], (1,), None, (1, 16), (0.0, 0.25, 0.5), OPEN)


def seconds_of(traffic: Traffic) -> np.ndarray:
    return np.asarray(traffic.bytes_of_pattern / 50e9)


def pools(prefill: int, ahead: dict[str, int], **plan: int) -> ServingPlans:
    return ServingPlans(one_plan(**plan), np.array([prefill]), one_plan(**ahead))


def test_every_plan_has_whole_replicas_and_takes_all_npus() -> None:
    found = every_serving_plan(MODEL, SPACE)
    assert found.ahead is not None
    own, ahead = (plans.tp * plans.pp for plans in (found.plans, found.of_prefill))
    assert (found.answering * own + found.prefill * ahead == 64).all()
    assert (found.answering > 0).all()
    np.testing.assert_array_equal(
        found.prefill * ahead / 64 * (found.prefill > 0), np.round(found.prefill * ahead / 64, 2)
    )
    texts = [serving_text(found, n) for n in range(len(found))]
    assert len(set(texts)) == len(texts)
    assert (ahead != own).sum() > 100


def test_the_groups_of_both_pools_have_disjoint_npus() -> None:
    """Each stage of the longer pipeline starts with the pool of the larger tensor parallel groups."""
    found = every_serving_plan(MODEL, SPACE)
    for n in range(len(found)):
        one = found.select(np.array([n]))
        if not one.prefill[0]:
            continue
        ahead, own = one.of_prefill, one.plans
        sizes = [(int(plan.tp[0]), int(plan.pp[0])) for plan in (own, ahead)]
        stages = max(pp for _, pp in sizes)
        npus = [int(one.answering[0]) * prod(sizes[0]), int(one.prefill[0]) * prod(sizes[1])]
        first = 0 if sizes[0] >= sizes[1] else 1
        begin = {first: 0, 1 - first: npus[first] // stages}
        for pool, (tp, _) in enumerate(sizes):
            assert npus[pool] % (stages * tp) == 0
            assert all((stage * 64 // stages + begin[pool]) % tp == 0 for stage in range(stages))


def test_pools_that_are_alike_take_the_times_of_pools_without_degrees_of_their_own() -> None:
    every = every_serving_plan(MODEL, SPACE)
    assert every.ahead is not None
    alike = np.flatnonzero((every.plans.tp == every.ahead.tp) & (every.plans.pp == every.ahead.pp))
    one = every.select(alike)
    other = ServingPlans(one.plans, one.prefill)
    for mine, theirs in zip(
        *(times_in_order(served_times(SETUP, plans, pools=True)) for plans in (one, other)), strict=True
    ):
        np.testing.assert_allclose(mine(seconds_of), theirs(seconds_of), rtol=1e-12)
    groups, _ = placed_groups(np.array([[8], [8]]), _degrees(one.select(np.array([8]))), np.arange(len(ORDER))[:, None])
    for group, name in OF_PREFILL.items():
        np.testing.assert_array_equal(groups[group][0], groups[name][0])


def _degrees(plans: ServingPlans) -> dict[str, np.ndarray]:
    own = {name: getattr(plans.plans, name) for name in (*ORDER, EXPERT)}
    return {**own, **plans.prefill_degrees}


def test_the_cache_crosses_the_links_between_the_pools() -> None:
    """On servers of eight, replicas of four and of two lie in the same server, or in two."""
    plans = pools(8, {"tp": 2, "dp": 16}, tp=4, dp=8)
    groups, fits = placed_groups(np.array([[8], [4]]), _degrees(plans), np.arange(len(ORDER))[:, None])
    assert fits.all()
    assert groups[POOLS][0].ravel().tolist() == [4, 4]
    assert groups[OF_PREFILL["tp"]][0].ravel().tolist() == [2, 1]
    assert groups["tp"][0].ravel().tolist() == [4, 1]


def test_the_pool_with_fewer_npus_of_a_replica_sends_and_receives_longer() -> None:
    """A cache of a prompt has the same bytes however many NPUs hold it: 1,000 tokens, 80 layers, 8 heads, int8."""
    cache = 1000 * 80 * 8 * 2 * (128 + 4)
    for ahead, tp in (({"tp": 2, "dp": 32}, 4), ({"tp": 8, "dp": 8}, 4), ({"tp": 2, "pp": 2, "dp": 16}, 4)):
        plans = pools(4, ahead, tp=tp, dp=16)
        (sent,) = pool_phases(SETUP, plans).transfer.races
        (traffic,) = sent.sent
        each = cache / prod(ahead.get(name, 1) for name in ("tp", "pp")), cache / tp
        assert traffic.group == POOLS
        assert float(traffic.size[0]) == pytest.approx(max(each), rel=1e-12)
        parts = [float(part[0]) for part in transfer_parts(SETUP, plans)]
        np.testing.assert_allclose(parts, np.array(each) / max(each), rtol=1e-12)


def test_memory_is_that_of_the_pool_that_needs_more() -> None:
    plans = pools(8, {"tp": 1, "dp": 64, "micro_batch": 64}, tp=8, dp=8, micro_batch=64)
    found = memory_of_pools(SETUP, plans)
    assert found["cache"] == pytest.approx(cache_of_prompt(SETUP, one_plan(tp=1)))
    assert found["weights"] == pytest.approx(serving_memory(SETUP, one_plan(tp=1))["weights"])
    other = pools(8, {"tp": 8, "dp": 8}, tp=1, dp=64, micro_batch=64)
    assert memory_of_pools(SETUP, other)["cache"] == pytest.approx(serving_memory(SETUP, other.plans)["cache"])


@pytest.mark.parametrize(("ahead", "share", "key", "part"), [
    ({"tp": (3,)}, 0.25, "prefill_parallelism.tp", "found 3; it must divide the 64 heads"),
    ({"tp": (16,), "pp": (8,)}, 0.25, "prefill_parallelism.pp", "tp 16 x pp 8 does not divide the 64 NPUs"),
    ({"pp": (3,)}, 0.25, "prefill_parallelism.pp", "tp 4 x pp 3 does not divide the 64 NPUs"),
    ({"tp": (16,)}, 0.125, "prefill", "found 0.125; a pool has 8 NPUs of a stage, no multiple of its tp 16"),
    ({"ep": (2,)}, 0.25, "prefill_parallelism.ep", "found 2; llama-3-70b has no experts, so only 1 is allowed"),
])  # fmt: skip
def test_what_pools_break_is_said(ahead: dict[str, tuple[int, ...]], share: float, key: str, part: str) -> None:
    space = ServingSpace(64, (4,), (1,), (1,), None, (1,), (share,), ahead)
    assert not len(every_serving_plan(MODEL, space).prefill)
    ((found, text),) = serving_mistakes(MODEL, 64, space)
    assert found == key
    assert part in text


@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]), st.sampled_from([1, 4, 16]))
@costly(8)
def test_the_simulation_agrees_where_prompts_do_not_wait(tp: int, pp: int, users: int) -> None:
    plans = pools(32 // (tp * pp), {"tp": tp, "pp": pp, "dp": 64 // (tp * pp)}, tp=4, dp=16, micro_batch=users)
    found, times = observed(SETUP, plans, seconds_of), served_times(SETUP, plans, pools=True)
    request, _, token, alone = (float(time(seconds_of)[0]) for time in times_in_order(times))
    assert found.token == pytest.approx(token, rel=0.02)
    assert found.rate == pytest.approx(float(plans.users[0]) * SETUP.answer / request, rel=OFF)
    assert found.first[0] >= alone * (1 - 1e-9)
