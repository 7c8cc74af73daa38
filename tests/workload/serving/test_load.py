"""Latencies under load: by hand, at the ends, and against a simulation of requests that come at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.workload.serving.load import LoadTimes, burst, closed_loop, open_queue

STEPS = 0.02 + 2e-4 * np.arange(1, 129)
ONE = LoadTimes(STEPS, np.array([0.15]), 300.0)
"""A step of 20 ms and 0.2 ms a request, passes of a single prompt of 150 ms, answers of 300 tokens."""


SHARED = replace(ONE, passes=0.10 + 0.05 * np.arange(1, 33))
"""Further prompts of a pass take 50 ms each."""


def simulated(times: LoadTimes, rate: float, count: int) -> tuple[np.ndarray, float]:
    """Return first tokens of random requests, and the time of a further token: prompts go first, then a step."""
    arrivals = np.cumsum(np.random.default_rng(3).exponential(1.0 / rate, count)).tolist()
    now, come, first, further = 0.0, 0, list[float](), 0.0
    left, since = list[int](), list[float]()
    while len(first) < count or left:
        if not left:
            now = max(now, arrivals[come])
        waiting = come
        while waiting < count and arrivals[waiting] <= now and waiting - come < len(times.passes):
            waiting += 1
        if waiting > come:
            now += times.prompts(waiting - come)
            first += [now - at for at in arrivals[come:waiting]]
            left += [int(times.answer) - 1] * (waiting - come)
            since += [now] * (waiting - come)
            come = waiting
        now += times.step(len(left))
        left = [one - 1 for one in left]
        further += sum(now - at for one, at in zip(left, since, strict=True) if not one)
        since = [at for one, at in zip(left, since, strict=True) if one]
        left = [one for one in left if one]
    return np.array(first), further / count / (times.answer - 1.0)


@pytest.mark.parametrize("rate", [1.0, 3.0])
def test_random_arrivals_have_the_latencies_of_a_simulation(rate: float) -> None:
    """Of 500 requests: mean first tokens within 6 %, a further one within 8 %, 19 of 20 first tokens within 20 %."""
    first, token = simulated(SHARED, rate, 500)
    found = open_queue(SHARED, rate)
    assert found.stable
    assert found.first == pytest.approx(first.mean(), rel=0.06)
    assert found.token == pytest.approx(token, rel=0.08)
    assert found.first_p95 == pytest.approx(np.quantile(first, 0.95), rel=0.20)


def test_by_hand_at_a_low_rate() -> None:
    # One request in 1,000 s: rho 0.00015, u 300 x 0.0202 / 1,000 others, and half a step before the pass.
    found = open_queue(ONE, 0.001)
    assert found.prompts == pytest.approx(0.00015, rel=1e-6)
    assert found.token == pytest.approx(0.0202, rel=1e-3)
    assert found.first == pytest.approx(0.15 + 0.0101, rel=1e-3)


def test_several_prompts_that_wait_share_a_pass() -> None:
    assert open_queue(SHARED, 5.0).prompts < open_queue(ONE, 5.0).prompts
    assert open_queue(SHARED, 5.0).token < open_queue(ONE, 5.0).token


def test_a_replica_that_cannot_keep_up_is_not_stable() -> None:
    assert not open_queue(ONE, 7.0).stable  # prompts alone take more than all of the time
    assert not open_queue(replace(ONE, steps=STEPS[:2]), 3.0).stable  # there are places for two


@pytest.mark.parametrize("users", [1, 8, 64])
def test_users_in_a_closed_loop_are_as_many_as_their_requests_last(users: int) -> None:
    found = closed_loop(ONE, users)
    assert found.rate * (found.first + 299 * found.token) == pytest.approx(users, rel=1e-6)


def test_all_at_once_by_hand() -> None:
    # Passes of two prompts take 2 s, of one 1 s: five users get their tokens after 2, 2, 4, 4 and 5 s.
    times = LoadTimes(np.ones(5), np.array([1.0, 2.0]), 10.0, server=0.5)
    assert burst(times, 5) == pytest.approx(0.5 + (2 + 2 + 4 + 4 + 5) / 5, rel=1e-12)
