"""Latencies under load: requests that come at random, or users who ask again as soon as they are answered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.serving.observed import replica_of
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.races import SecondsOf

_ROUNDS, _HALVINGS, _DAMPED = 40, 32, 0.5
_TAIL = 3.6
"""Time of one request in twenty in the queue over that of the mean one, at most, as simulated."""
_FULL = 0.999
"""Part of the time that prompts may take, beyond which no steady state is."""


@dataclass(frozen=True)
class LoadTimes:
    """Seconds of a replica without a pipeline, which processes prompts before it goes on with answers.

    Attributes
    ----------
    steps : (u,) of a step of decoding, with 1 to u requests.
    passes : (m,) of a pass over 1 to m prompts.
    answer : tokens of an answer.
    server : s of a first token beyond its pass.
    """

    steps: FloatArray
    passes: FloatArray
    answer: float
    server: float = 0.0

    def step(self, requests: float) -> float:
        """Return the seconds of a step with some requests, at least one."""
        return float(np.interp(requests, np.arange(1, len(self.steps) + 1), self.steps))

    def prompts(self, number: float) -> float:
        """Return the seconds of a pass over some prompts, at least one."""
        return float(np.interp(number, np.arange(1, len(self.passes) + 1), self.passes))


@dataclass(frozen=True)
class UnderLoad:
    """Latencies of a replica in a steady state.

    Attributes
    ----------
    rate : requests a second.
    first, first_p95 : s to the first token, on average and of all but one in twenty.
    token : s of a further token.
    users : requests that are being answered at a time.
    prompts : part of the time that passes over prompts take.
    stable : whether the replica keeps up with the requests and has a place for each.
    """

    rate: float
    first: float
    first_p95: float
    token: float
    users: float
    prompts: float
    stable: bool


def open_queue(times: LoadTimes, rate: float) -> UnderLoad:
    """Return the latencies of a replica to which requests come at random at some rate.

    All prompts that wait go into one pass: m = 1 + r (F(m) + D) / 2. They take rho = r F(m) / m of the time, so that a
    further token takes D(u + 1) / (1 - rho) for a user who meets u others. A first token comes F(m) after its pass
    begins, for which a request waits half a step, or half a pass with chance rho.
    """
    several, users = 1.0, 0.0
    for _ in range(_ROUNDS):
        step, prompts = times.step(users + 1.0), times.prompts(several)
        busy = min(rate * prompts / several, _FULL)
        more = min(1.0 + rate * (prompts + step) / 2.0, float(len(times.passes)))
        meets = rate * times.answer * step / (1.0 - busy)
        several += _DAMPED * (more - several)
        users += _DAMPED * (min(meets, float(len(times.steps))) - users)
    step, prompts = times.step(users + 1.0), times.prompts(several)
    busy = min(rate * prompts / several, _FULL)
    token = step / (1.0 - busy)
    wait = step * (1.0 - busy) / 2.0 + busy * prompts / 2.0
    alone = times.server + prompts
    stable = busy < _FULL and rate * times.answer * token <= len(times.steps)
    return UnderLoad(
        rate=rate, first=alone + wait, first_p95=alone + _TAIL * wait, token=token, users=users, prompts=busy,
        stable=stable,
    )  # fmt: skip


def closed_loop(times: LoadTimes, users: int) -> UnderLoad:
    """Return the latencies of some users of a replica who ask again as soon as they are answered.

    They are those of requests at the rate at which users get answers.
    """
    low, high = 0.0, users / (times.passes[0] + times.answer * times.steps[0])
    for _ in range(_HALVINGS):
        rate = (low + high) / 2.0
        found = open_queue(times, rate)
        inside = rate * (found.first + (times.answer - 1.0) * found.token)
        low, high = (rate, high) if inside < users else (low, rate)
    return open_queue(times, low)


def burst(times: LoadTimes, users: int) -> float:
    """Return the mean s to the first token where all users ask at once: passes of as many prompts as go into one."""
    most = len(times.passes)
    whole, rest = divmod(users, most)
    ends = [(place + 1.0) * times.prompts(most) for place in range(whole)]
    waited = most * sum(ends) + rest * (whole * times.prompts(most) + (times.prompts(rest) if rest else 0.0))
    return times.server + waited / users


def load_times(setup: ServingSetup, plan: ServingPlans, seconds_of: SecondsOf) -> LoadTimes:
    """Return the times of a replica of one plan without a pipeline; further prompts share the pass of the first."""
    stack, users = setup.stack, int(plan.plans.micro_batch[0])
    replica = replica_of(replace(setup, stack=replace(stack, prompt_floor=0.0)), plan, seconds_of)
    first = replica.prefill(setup.prompt)[0]
    further = np.arange(max(min(setup.budget // setup.prompt, users), 1)) * replica.shared * first
    steps = np.array([replica.decode(one, setup.context)[0] for one in range(1, users + 1)])
    return LoadTimes(steps, np.maximum(first + further, stack.prompt_floor), setup.answer, stack.server_first)
