"""Comparison of the closed form with a simulation of a plan's replicas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.decoding import sequences
from evo_libra.workload.serving.lengths import Lengths, fixed_lengths
from evo_libra.workload.serving.phases import of_prefill, phases_of, pool_phases, stage_of, transfer_parts
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.simulation import PrefillPool, Replica, Request, Stages, simulate, staggered
from evo_libra.workload.training.races import SecondsOf, StepTime

_GRID = 64
_ROUNDS = 6
_REQUESTS = 1500
"""Requests of lengths that vary, so that their mean says something; of one length, a few of each user do."""
_SEED = 0
OFF = 0.10
"""Relative difference from which on a closed form is said to be off."""
LONGEST = 1_500_000
"""Passes through a stage up to which a plan is simulated; a second or so."""


@dataclass(frozen=True)
class Observed:
    """Latencies of users in simulations of the replicas that work together.

    Attributes
    ----------
    first : (2,) mean s to the first token, where requests come one by one, and where all ask at once; in pools the
        second one is that of the last of them.
    token, rate : mean s of a further token, and tokens a second of all replicas, where requests come one by one.
    """

    first: FloatArray
    token: float
    rate: float


def passes(setup: ServingSetup, plan: ServingPlans) -> float:
    """Return through how many stages the requests and groups of a simulation would pass, about."""
    answering, ahead = together(plan)
    requests, stages = _count(setup, plan) + answering * int(plan.plans.micro_batch[0]), int(plan.plans.pp[0])
    prompts = requests * int(plan.of_prefill.pp[0])
    # A replica without a pipeline makes many steps at once where no prompt comes between.
    steps = setup.answer if stages > 1 or ahead else 1.0
    return prompts + requests * steps / float(sequences(plan.plans)[0]) * stages


def together(plan: ServingPlans) -> tuple[int, int]:
    """Return as few replicas as have the same part of those that only process prompts, and how many of them do."""
    answering, ahead = int(plan.answering[0]), int(plan.prefill[0])
    parts = gcd(answering, ahead) if ahead else answering
    return answering // parts, ahead // parts


def observed(setup: ServingSetup, plan: ServingPlans, seconds_of: SecondsOf) -> Observed:
    """Return what users see under one plan."""
    replica, users, (answering, _) = replica_of(setup, plan, seconds_of), int(plan.plans.micro_batch[0]), together(plan)
    pool, lengths = pool_of(setup, plan, seconds_of), _lengths(setup)
    random = np.random.default_rng(_SEED)
    room, count = users * answering, _count(setup, plan)
    prompts, answers = (values.tolist() for values in lengths.drawn(random, count + room))
    begun = simulate(replica, staggered(prompts, answers, room, random), count, pool).later(room)
    # All prompts come before any further token, so that answers do not matter here.
    at_once = [
        simulate(replica, [Request(prompt, 1) for prompt in prompts[start : start + room]], None, pool).first
        for start in range(0, count, room)
    ]
    last = [first.max() if pool is not None else first.mean() for first in at_once]
    # By Little's law of all users, as requests come one by one.
    server = setup.stack.server_first
    rate = float(plan.users[0]) * float(begun.answer.mean() / (begun.last.mean() + server))
    # A first token comes with those of the step whose pass the prompt shares.
    beside = users > 1 and pool is None and len(replica.prefill(1.0)) == 1
    step = replica.decode(users, setup.context)[0] if beside else 0.0
    return Observed(np.array([begun.first.mean() + step, np.mean(last)]) + server, begun.token, rate)


def _lengths(setup: ServingSetup) -> Lengths:
    return setup.lengths or fixed_lengths(setup.prompt, round(setup.answer))


def _count(setup: ServingSetup, plan: ServingPlans) -> int:
    """Return how many requests are simulated."""
    several = _ROUNDS * int(plan.plans.micro_batch[0]) * together(plan)[0]
    return several if setup.lengths is None else max(several, _REQUESTS)


def replica_of(setup: ServingSetup, plan: ServingPlans, seconds_of: SecondsOf) -> Replica:
    """Return the replica of a plan; what it sends takes as long per token as in the phases of the closed form."""
    plans = plan.plans
    stages, rows = range(int(plans.pp[0])), int(sequences(plans)[0])
    many = Plans(**{**vars(plans), "micro_batch": np.arange(1, rows + 1) * len(stages)})
    low, high = (
        np.array([_compute(stage_of(_with_context(setup, tokens), many, stage)[1]) for stage in stages])
        for tokens in _CONTEXTS
    )
    slope = (high - low) / (_CONTEXTS[1] - _CONTEXTS[0])
    ends = [Plans(**{**vars(plans), "micro_batch": np.full(1, users * len(stages))}) for users in (1, rows)]
    sent = np.array([[_network(stage_of(setup, one, stage)[1], seconds_of) for stage in stages] for one in ends])
    each = (sent[1] - sent[0]) / max(rows - 1, 1)

    def decode(requests: int, context: float) -> Stages:
        before, more = low[:, requests - 1], slope[:, requests - 1]
        network = sent[0] + each * (requests - 1)
        seconds: list[float] = (before + more * (context - _CONTEXTS[0]) + network).tolist()
        return seconds

    room = int(plans.micro_batch[0])
    return Replica(_prefill(setup, plans, seconds_of), decode, room, _shared(setup, plans, seconds_of))


def _shared(setup: ServingSetup, plans: Plans, seconds_of: SecondsOf) -> float:
    """Return the time of a prompt that shares the passes of decoding over that of one alone, in a stage."""
    phases, alone = phases_of(setup, plans), stage_of(setup, plans, 0)[0]
    if int(plans.pp[0]) > 1:
        return 1.0
    head = float(np.ravel(alone(seconds_of))[0])
    return float(np.ravel(phases.beside(seconds_of))[0]) / head


def pool_of(setup: ServingSetup, plan: ServingPlans, seconds_of: SecondsOf) -> PrefillPool | None:
    """Return the replicas of a plan that only process prompts, as many as the simulation has; None without any."""
    answering, ahead = together(plan)
    if not ahead:
        return None
    transfer, parts = pool_phases(setup, plan).transfer, transfer_parts(setup, plan)
    fixed, sent = float(_compute(transfer)[0]), _network(transfer, seconds_of)
    sends, receives = (float(part[0]) for part in parts)

    def moved(tokens: float) -> tuple[float, float]:
        time = fixed + sent * tokens / setup.prompt
        return sends * time, receives * time

    rename = None if plan.ahead is None else of_prefill
    return PrefillPool(ahead, answering, _prefill(setup, plan.of_prefill, seconds_of, rename), moved)


def _prefill(
    setup: ServingSetup, plans: Plans, seconds_of: SecondsOf, rename: Callable[[StepTime], StepTime] | None = None
) -> Callable[[float], Stages]:
    """Return the time of a prompt of some tokens in each stage; `rename` puts its traffic into other groups."""
    stages, lengths = range(int(plans.pp[0])), _lengths(setup)
    # If all prompts are as long, no time between the ends of the grid counts.
    points = 2 if setup.lengths is None else _GRID
    grid = np.unique(np.rint(np.linspace(1, int(lengths.prompts.max()), points)))
    times = [
        [float(_compute(stage_of(_with_prompt(setup, int(tokens)), plans, stage)[0])[0]) for tokens in grid]
        for stage in stages
    ]
    sizes = (1, max(setup.prompt, 2))
    sent = [
        [
            _network(step if rename is None else rename(step), seconds_of)
            for step in (stage_of(_with_prompt(setup, tokens), plans, stage)[0] for tokens in sizes)
        ]
        for stage in stages
    ]

    def prefill(tokens: float) -> Stages:
        more = (tokens - sizes[0]) / (sizes[1] - sizes[0])
        return [
            float(np.interp(tokens, grid, mine)) + few + more * (many - few)
            for mine, (few, many) in zip(times, sent, strict=True)
        ]

    return prefill


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
