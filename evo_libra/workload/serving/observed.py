"""What a simulation of a plan's replica says of the closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.serving.lengths import fixed_lengths
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.simulation import Replica, Request, Seen, simulate, staggered
from evo_libra.workload.step.plans import Plans
from evo_libra.workload.step.races import SecondsOf, StepTime

_GRID = 64
_ROUNDS = 6
_REQUESTS = 1500
"""Requests of lengths that vary, so that their mean says something; of one length, a few of each user do."""
_SEED = 0
OFF = 0.10
"""Relative difference from which on a closed form is said to be off."""


@dataclass(frozen=True)
class Observed:
    """What users of a replica see in simulations.

    Attributes
    ----------
    first : (2,) mean s to the first token, where requests come one by one and where all ask at once.
    token, rate : mean s of a further token, and tokens a second of a replica, where requests come one by one.
    """

    first: FloatArray
    token: float
    rate: float


def observed(setup: ServingSetup, plan: Plans, seconds_of: SecondsOf) -> Observed:
    """Return what users of a replica see under one plan without a pipeline, whose replicas all do both."""
    replica, users = replica_of(setup, plan, seconds_of), int(plan.micro_batch[0])
    lengths = setup.lengths or fixed_lengths(setup.prompt, round(setup.answer))
    random = np.random.default_rng(_SEED)
    count = _ROUNDS * users if setup.lengths is None else max(_ROUNDS * users, _REQUESTS)
    prompts, answers = (values.tolist() for values in lengths.drawn(random, count + users))
    begun = simulate(replica, staggered(prompts, answers, users, random), count).later(users)
    # All prompts come before any further token, so that answers do not matter here.
    together = [
        simulate(replica, [Request(prompt, 1) for prompt in prompts[start : start + users]]).first.mean()
        for start in range(0, count, users)
    ]
    return Observed(np.array([begun.first.mean(), np.mean(together)]), begun.token, _rate(begun, users))


def _rate(seen: Seen, users: int) -> float:
    """Return tokens a second: by Little's law of all users, as requests come one by one."""
    return users * float(seen.answer.mean() / seen.last.mean())


def replica_of(setup: ServingSetup, plan: Plans, seconds_of: SecondsOf) -> Replica:
    """Return the replica of a plan; what it sends takes as long per token as in the phases of the closed form."""
    users, fixed = int(plan.micro_batch[0]), phases_of(setup, plan)
    sent = _network(fixed.decode, seconds_of) / users, _network(fixed.prefill, seconds_of) / setup.prompt
    many = Plans(**{**vars(plan), "micro_batch": np.arange(1, users + 1)})
    low, high = (_compute(phases_of(_with_context(setup, tokens), many).decode) for tokens in _CONTEXTS)
    slope = (high - low) / (_CONTEXTS[1] - _CONTEXTS[0])
    lengths = setup.lengths or fixed_lengths(setup.prompt, round(setup.answer))
    grid = np.unique(np.rint(np.linspace(1, int(lengths.prompts.max()), _GRID)))
    prompt = np.array([float(_compute(phases_of(_with_prompt(setup, int(n)), plan).prefill)[0]) for n in grid])

    def prefill(tokens: float) -> float:
        return float(np.interp(tokens, grid, prompt)) + sent[1] * tokens

    def decode(requests: int, context: float) -> float:
        return float(low[requests - 1] + slope[requests - 1] * (context - _CONTEXTS[0])) + sent[0] * requests

    return Replica(prefill, decode, users)


_CONTEXTS = (1_000, 9_000)


def _with_context(setup: ServingSetup, tokens: int) -> ServingSetup:
    return ServingSetup(**{**vars(setup), "prompt": tokens - 1, "answer": 2.0, "lengths": None})


def _with_prompt(setup: ServingSetup, tokens: int) -> ServingSetup:
    return ServingSetup(**{**vars(setup), "prompt": tokens, "lengths": None})


def _compute(step: StepTime) -> FloatArray:
    return np.asarray(sum(step.plain.values(), np.zeros(1)))


def _network(step: StepTime, seconds_of: SecondsOf) -> float:
    whole, compute = float(np.ravel(step(seconds_of))[0]), float(_compute(step)[0])
    return whole - compute
