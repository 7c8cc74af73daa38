"""What users see, by hand: seconds of the phases, times how often a request waits for each of them."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.phases import pool_phases
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_step import served_times, times_in_order
from evo_libra.workload.training.races import POOLS, Traffic

SETUP = ServingSetup(decoder("llama-2-7b"), accelerator("h100-80gb"), 1000, 100)
"""An answer has 100 tokens, 99 of which come after the first one."""


def figures(
    plans: ServingPlans, per_byte: float, *, pools: bool, group: str = ""
) -> tuple[list[float], dict[str, float]]:
    """Return the four times, and the seconds of each phase; a byte of one group, or of all, takes some."""

    def seconds_of(traffic: Traffic) -> np.ndarray:
        return np.asarray(traffic.bytes_of_pattern * (per_byte if traffic.group == group or not group else 0.0))

    phases = pool_phases(SETUP, plans)
    times = times_in_order(served_times(SETUP, plans, pools=pools))
    seconds = {name: float(step(seconds_of)[0]) for name, step in vars(phases).items()}
    return [float(time(seconds_of)[0]) for time in times], seconds


@pytest.mark.parametrize("per_byte", [0.0, 1e-10])
def test_a_replica_without_a_pipeline_stops_for_each_prompt_of_the_others(per_byte: float) -> None:
    # 8 users: a request waits for 7 other prompts, half of them before its first token where all ask at once.
    found, of = figures(ServingPlans(one_plan(dp=4, micro_batch=8), np.array([0])), per_byte, pools=False)
    prompt, step = of["prefill"], of["decode"]
    assert of["slot"] == pytest.approx(prompt, rel=1e-12)
    # The prompts of others share the passes of its steps, which pay the launches and read the weights.
    shared = of["beside"]
    assert shared < prompt
    assert found == pytest.approx(
        [prompt + 7 * shared + 99 * step, prompt + 3.5 * prompt, step + 7 / 99 * shared, prompt], rel=1e-12
    )


@pytest.mark.parametrize("per_byte", [0.0, 1e-10])
def test_in_a_pipeline_steps_follow_a_prompt_from_stage_to_stage(per_byte: float) -> None:
    # 2 stages: 7 prompts in 99 steps, each beside a step with chance 1 - 1/2, which then takes as long as the prompt in
    # both stages.
    plans = ServingPlans(one_plan(pp=2, dp=2, micro_batch=8), np.array([0]))
    found, of = figures(plans, per_byte, pools=False)
    behind = 7 / 99 / 2
    slow = max(of["decode"], 2 * of["slot"])
    steps = (1 - behind) * of["decode"] + behind * slow
    assert found == pytest.approx(
        [
            of["prefill"] + 7 * of["slot"] + 99 * steps, of["prefill"] + 3.5 * of["slot"], steps + 7 / 99 * of["slot"],
            of["prefill"],
        ], rel=1e-12,
    )  # fmt: skip


def test_with_many_users_every_step_follows_a_prompt() -> None:
    # 300 users of 2 stages: 299 prompts in 99 steps, more than one beside each.
    plans = ServingPlans(one_plan(pp=2, dp=2, micro_batch=300), np.array([0]))
    found, of = figures(plans, 0.0, pools=False)
    slow = max(of["decode"], 2 * of["slot"])
    assert found[0] == pytest.approx(of["prefill"] + 299 * of["slot"] + 99 * slow, rel=1e-12)
    assert found[2] == pytest.approx(slow + 299 / 99 * of["slot"], rel=1e-12)


@pytest.mark.parametrize(("per_byte", "users"), [(1e-12, 8), (1e-9, 8), (1e-12, 64), (1e-7, 1)])
def test_pools_wait_for_prompts_or_for_the_network(per_byte: float, users: int) -> None:
    # 2 of 8 replicas process the prompts of 6 x `users`; of those of each a request may wait for all others.
    plans = ServingPlans(one_plan(dp=8, micro_batch=users), np.array([2]))
    found, of = figures(plans, per_byte, pools=True)
    share = 6 * users / 2
    alone = of["prefill"] + of["transfer"]
    assert found == pytest.approx(
        [
            max(alone + 99 * of["decode"], share * of["slot"], share * of["transfer"]),
            alone + (share - 1) * max(of["slot"], of["transfer"]), of["decode"], alone,
        ], rel=1e-12,
    )  # fmt: skip


def test_a_table_with_pools_has_plans_without() -> None:
    plans = ServingPlans(one_plan(dp=4, micro_batch=8), np.array([0]))
    found, plain = figures(plans, 1e-10, pools=True)[0], figures(plans, 1e-10, pools=False)[0]
    assert found == pytest.approx(plain, rel=1e-12)


def test_replicas_that_answer_receive_one_cache_after_the_other() -> None:
    # 7 of 8 replicas process prompts and one answers: it receives the caches of all its 8 users, while each of the
    # others sends 8 / 7.
    found, of = figures(ServingPlans(one_plan(dp=8, micro_batch=8), np.array([7])), 1e-6, pools=True)
    assert found[0] == pytest.approx(8 * of["transfer"], rel=1e-12)


def test_a_replica_of_more_npus_receives_in_a_part_of_the_time() -> None:
    # 14 replicas of 2 NPUs process prompts for one of 4, each of which receives half of what one of the 2 sends.
    own = ServingPlans(one_plan(tp=4, dp=8, micro_batch=8), np.array([14]), one_plan(tp=2, dp=16))
    found, of = figures(own, 1e-6, pools=True, group=POOLS)
    assert found[0] == pytest.approx(8 / 2 * of["transfer"], rel=1e-12)
