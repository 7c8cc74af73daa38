"""Continuous batching, event by event: against queueing theory, against itself, and the closed form against it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.serving.lengths import Lengths, exponential_lengths
from evo_libra.workload.serving.observed import OFF, observed, replica_of
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_step import served_times
from evo_libra.workload.serving.simulation import PrefillPool, Replica, Request, simulate
from evo_libra.workload.training.races import Traffic

SEEDS = st.integers(0, 2**32 - 1)
ALL = np.zeros(1, dtype=np.int64)


def free(_: Traffic) -> np.ndarray:
    return np.zeros(1)


def setup_of(prompt: int, answer: float, lengths: Lengths | None = None) -> ServingSetup:
    return ServingSetup(
        decoder("llama-3-70b"), accelerator("h100-80gb"), prompt, answer, "fp8", "int8", lengths=lengths
    )


def closed_form(setup: ServingSetup, plan: Plans) -> tuple[float, float, float, float]:
    """Return the lower and the upper end of the first token, time per token, and tokens a second."""
    found = served_times(setup, ServingPlans(plan, ALL), pools=False)
    request, upper, token, alone = (
        float(time(free)[0]) for time in (found.request, found.first, found.token, found.alone)
    )
    return alone, upper, token, float(plan.micro_batch[0]) * setup.answer / request


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_prompts_alone_are_a_queue_of_poisson_arrivals_and_fixed_service(load: float) -> None:
    """M/D/1 waits load x service / (2 (1 - load)) on average (Pollaczek and Khinchine)."""
    random, service, count = np.random.default_rng(1), 0.01, round(250_000 * load)

    def arrivals() -> Iterator[Request]:
        at = 0.0
        for gap in random.exponential(service / load, count).tolist():
            at += gap
            yield Request(1, 1, at)

    seen = simulate(Replica(lambda _: [service], lambda *_: [1.0], 1), arrivals())
    assert len(seen.first) == count
    assert seen.first.mean() == pytest.approx(service + load * service / (2.0 * (1.0 - load)), rel=0.02)


def test_a_single_user_waits_for_nobody() -> None:
    replica = Replica(lambda tokens: [0.001 * tokens], lambda *_: [0.02], 1)
    seen = simulate(replica, [Request(10, 5), Request(20, 3)])
    np.testing.assert_allclose(seen.first, [0.01, 0.02])
    np.testing.assert_allclose(seen.last, [0.01 + 4 * 0.02, 0.02 + 2 * 0.02])


def test_an_early_request_waits_for_its_time() -> None:
    seen = simulate(Replica(lambda _: [1.0], lambda *_: [1.0], 4), [Request(1, 2, 5.0), Request(1, 2, 100.0)])
    np.testing.assert_allclose(seen.end, [7.0, 102.0])
    np.testing.assert_allclose(seen.first, 1.0)


@given(SEEDS)
@settings(max_examples=25)
def test_no_replica_gives_more_than_its_steps_allow(seed: int) -> None:
    random = np.random.default_rng(seed)
    room, count = int(random.integers(1, 9)), 60
    requests = [Request(int(random.integers(1, 50)), int(random.integers(2, 30))) for _ in range(count)]
    seen = simulate(Replica(lambda tokens: [1e-3 * tokens], lambda n, _: [0.01 + 1e-4 * n], room), requests)
    assert len(seen.end) == count
    assert (np.diff(seen.end) >= 0).all()
    assert (seen.last >= seen.first).all()
    # A step gives each of at most `room` requests a token.
    steps = (seen.answer - 1).sum() / room
    assert seen.end[-1] >= steps * 0.01 + sum(1e-3 * request.prompt for request in requests) - 1e-9
    assert (seen.first >= 1e-3 - 1e-9).all()


@pytest.mark.parametrize("users", [1, 4, 32])
@pytest.mark.parametrize(("prompt", "answer"), [(200, 200), (1000, 500), (5000, 300)])
def test_the_closed_form_is_what_happens_where_all_requests_are_as_long(prompt: int, answer: int, users: int) -> None:
    setup, plan = setup_of(prompt, answer), one_plan(tp=4, micro_batch=users)
    alone, upper, token, rate = closed_form(setup, plan)
    found = observed(setup, ServingPlans(plan, ALL), free)
    assert found.token == pytest.approx(token, rel=0.01)
    assert found.rate == pytest.approx(rate, rel=0.01)
    # One by one, a user waits for the step at work, and seldom for another prompt.
    assert alone * (1 - 1e-9) <= found.first[0] <= max(upper, alone + token) * (1 + 1e-9)
    assert found.first[1] == pytest.approx(upper, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("users", [1, 4, 16, 64])
def test_lengths_that_vary_move_it_little_where_prompts_are_short(users: int) -> None:
    lengths = exponential_lengths(500, 500)
    setup, plan = setup_of(round(lengths.prompt), lengths.answer, lengths), one_plan(tp=4, micro_batch=users)
    _, _, token, rate = closed_form(setup, plan)
    found = observed(setup, ServingPlans(plan, ALL), free)
    assert found.token == pytest.approx(token, rel=OFF)
    assert found.rate == pytest.approx(rate, rel=OFF)


@pytest.mark.slow
def test_long_prompts_of_all_lengths_are_where_it_is_off() -> None:
    lengths = exponential_lengths(20_000, 100)
    setup, plan = setup_of(round(lengths.prompt), lengths.answer, lengths), one_plan(tp=4, micro_batch=16)
    found, (_, _, token, rate) = observed(setup, ServingPlans(plan, ALL), free), closed_form(setup, plan)
    assert max(abs(token / found.token - 1.0), abs(rate / found.rate - 1.0)) > OFF


def test_the_replica_has_the_times_of_the_closed_form() -> None:
    setup, plan = setup_of(1000, 500), one_plan(tp=4, micro_batch=16)
    alone, _, _, _ = closed_form(setup, plan)
    replica = replica_of(setup, ServingPlans(plan, ALL), free)
    assert replica.prefill(1000)[0] == pytest.approx(alone, rel=1e-3)
    single = served_times(setup, ServingPlans(one_plan(tp=4), ALL), pools=False)
    assert replica.decode(1, setup.context)[0] == pytest.approx(float(single.token(free)[0]), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("users", [1, 2, 7, 16, 64])
@pytest.mark.parametrize("stages", [2, 4, 8])
def test_the_closed_form_has_what_a_prompt_costs_a_pipeline(stages: int, users: int) -> None:
    """The groups of a step wait for a prompt in each stage, so that stages do not divide the time that it takes."""
    setup, plan = setup_of(1000, 500), one_plan(tp=2, pp=stages, micro_batch=users)
    _, upper, token, rate = closed_form(setup, plan)
    found = observed(setup, ServingPlans(plan, ALL), free)
    assert found.token == pytest.approx(token, rel=0.06)
    assert found.rate == pytest.approx(rate, rel=0.06)
    assert found.first[1] == pytest.approx(upper, rel=0.02)


def test_a_pipeline_of_equal_stages_is_as_fast_as_its_stage() -> None:
    """Four groups keep four stages busy: 12 requests get a token each in the time of four stages."""
    seen = simulate(Replica(lambda _: [0.0] * 4, lambda *_: [0.01] * 4, 12), [Request(1, 101)] * 12)
    np.testing.assert_allclose(seen.last, 100 * 0.04, rtol=0.01)


def test_prompts_of_a_pool_wait_for_one_replica_as_one_queue() -> None:
    """Two replicas of three users each send six prompts to one, whose cache takes longer than the prompt."""
    pool = PrefillPool(1, 2, lambda _: [0.1], lambda _: (0.3, 0.1))
    seen = simulate(Replica(lambda _: [9.0], lambda *_: [1.0], 3), [Request(1, 1)] * 6, None, pool)
    np.testing.assert_allclose(np.sort(seen.first), 0.1 + 0.3 * np.arange(1, 7))


def test_several_steps_at_once_are_those_steps() -> None:
    """A request that comes at its own time, never, lets the replica make each step by itself."""
    replica = Replica(lambda tokens: [1e-3 * tokens], lambda n, context: [0.01 * n + 1e-4 * context], 4)
    random = np.random.default_rng(3)
    requests = [Request(int(random.integers(1, 50)), int(random.integers(2, 60)), 0.0) for _ in range(4)]
    never = Request(1, 2, 1e9)
    some, each = simulate(replica, requests), simulate(replica, [*requests, never], 4)
    np.testing.assert_allclose(some.end, each.end, rtol=1e-12)
