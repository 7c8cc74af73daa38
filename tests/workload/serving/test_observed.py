"""What a simulation has of a plan: replicas that work together, passes, and seconds of steps and prompts, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.lengths import Lengths
from evo_libra.workload.serving.observed import passes, pool_of, replica_of, together
from evo_libra.workload.serving.phases import phases_of, pool_phases
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.races import Traffic

SETUP = ServingSetup(decoder("llama-2-7b"), accelerator("h100-80gb"), 1000, 100)


def plan(prefill: int = 0, **degrees: int) -> ServingPlans:
    return ServingPlans(one_plan(**degrees), np.array([prefill]))


def seconds_of(traffic: Traffic) -> np.ndarray:
    return np.asarray(traffic.bytes_of_pattern * 1e-11)


@pytest.mark.parametrize(("dp", "prefill", "expected"), [
    # All alike: one of them. 6 beside 2 are 3 beside 1; 5 beside 3 have no smaller part.
    (8, 0, (1, 0)), (8, 2, (3, 1)), (8, 4, (1, 1)), (8, 3, (5, 3)),
])  # fmt: skip
def test_replicas_that_work_together(dp: int, prefill: int, expected: tuple[int, int]) -> None:
    assert together(plan(prefill, dp=dp)) == expected


@pytest.mark.parametrize(("prefill", "degrees", "expected"), [
    # 6 rounds of 4 users and 4 more are 28 requests: each has a prompt, and a replica without a pipeline makes all
    # steps of its 4 at once.
    (0, {"dp": 8, "micro_batch": 4}, 28 + 28 / 4),
    # 2 stages: prompts pass both, and each of 100 steps of groups of 2 does.
    (0, {"pp": 2, "dp": 4, "micro_batch": 4}, 28 * 2 + 28 * 100 / 2 * 2),
    # 3 replicas beside one for prompts: 3 times as many requests, and steps one by one.
    (2, {"dp": 8, "micro_batch": 4}, 84 + 84 * 100 / 4),
])  # fmt: skip
def test_passes_through_stages(prefill: int, degrees: dict[str, int], expected: float) -> None:
    assert passes(SETUP, plan(prefill, **degrees)) == pytest.approx(expected)


def test_lengths_that_vary_need_more_requests() -> None:
    lengths = Lengths(np.array([500, 1500]), np.array([50, 150]))
    setup = ServingSetup(SETUP.decoder, SETUP.accelerator, 1000, 100, lengths=lengths)
    # 1,500 and 4, or 6 rounds where these are more.
    assert passes(setup, plan(dp=8, micro_batch=4)) == pytest.approx(1504 * (1 + 1 / 4))
    assert passes(setup, plan(dp=8, micro_batch=400)) == pytest.approx(2800 * (1 + 1 / 400))


@pytest.mark.parametrize("users", [1, 3, 8])
def test_a_step_is_that_of_the_closed_form(users: int) -> None:
    replica = replica_of(SETUP, plan(dp=8, micro_batch=users), seconds_of)
    assert replica.room == users
    expected = float(phases_of(SETUP, one_plan(dp=8, micro_batch=users)).decode(seconds_of)[0])
    assert sum(replica.decode(users, SETUP.context)) == pytest.approx(expected, rel=1e-9)


def test_stages_send_what_they_send_of_each_request() -> None:
    plans = plan(pp=2, tp=2, dp=2, micro_batch=8)
    replica, free = replica_of(SETUP, plans, seconds_of), replica_of(SETUP, plans, lambda _: np.zeros(1))
    more = np.array(replica.decode(4, 1050.0)) - np.array(free.decode(4, 1050.0))
    # A stage of 16 layers has two all-reduces of 8,192 bytes for each of 4 requests in each layer, twice as many bytes
    # of their pattern, and sends half of 8,192.
    size = 4 * 8192
    assert more.tolist() == pytest.approx([(16 * 2 * 2 * size + size / 2) * 1e-11] * 2, rel=1e-9)
    half = np.array(replica.decode(2, 1050.0)) - np.array(free.decode(2, 1050.0))
    assert (2 * half).tolist() == pytest.approx(more.tolist(), rel=1e-9)


def test_a_longer_context_takes_longer_in_proportion() -> None:
    decode = replica_of(SETUP, plan(dp=8, micro_batch=8), seconds_of).decode
    one, two, three = (decode(8, context)[0] for context in (1000.0, 3000.0, 5000.0))
    assert three - two == pytest.approx(two - one, rel=1e-9)
    assert two > one


def test_a_prompt_is_that_of_the_closed_form() -> None:
    prefill = replica_of(SETUP, plan(tp=2, dp=4), seconds_of).prefill
    expected = float(phases_of(SETUP, one_plan(tp=2, dp=4)).prefill(seconds_of)[0])
    assert sum(prefill(1000)) == pytest.approx(expected, rel=1e-9)
    free = replica_of(SETUP, plan(tp=2, dp=4), lambda _: np.zeros(1)).prefill
    # Of half a prompt half of the bytes are sent.
    assert prefill(500)[0] - free(500)[0] == pytest.approx((prefill(1000)[0] - free(1000)[0]) / 2, rel=1e-9)


def test_a_pool_moves_the_cache_of_a_prompt() -> None:
    assert pool_of(SETUP, plan(dp=8), seconds_of) is None
    plans = plan(2, dp=8, micro_batch=4)
    pool = pool_of(SETUP, plans, seconds_of)
    assert pool is not None
    assert (pool.replicas, pool.served) == (1, 3)
    transfer = pool_phases(SETUP, plans).transfer
    whole, fixed = float(transfer(seconds_of)[0]), float(transfer(lambda _: np.zeros(1))[0])
    assert pool.transfer(1000) == pytest.approx((whole, whole), rel=1e-9)
    assert pool.transfer(500) == pytest.approx((fixed + (whole - fixed) / 2,) * 2, rel=1e-9)
    # A cache that 2 NPUs send and 4 receive: an NPU that receives is busy for half of the time.
    own = ServingPlans(one_plan(tp=4, dp=4, micro_batch=4), np.array([4]), one_plan(tp=2, dp=8, micro_batch=4))
    other = pool_of(SETUP, own, seconds_of)
    assert other is not None
    sent, received = other.transfer(1000)
    assert received == pytest.approx(sent / 2, rel=1e-9)
