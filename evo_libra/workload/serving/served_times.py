"""What users see: time to the first token, time of each further one, and of a whole request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.serving.phases import pool_phases, transfer_parts
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.races import StepOverlap, StepSequence, StepTime, Traffic

_NONE, _ONE = np.zeros(1), np.ones(1)


@dataclass(frozen=True)
class ServedTimes:
    """Times under plans.

    Attributes
    ----------
    request : of a request, from its prompt to its last token; so many users get their answers in it.
    first : to the first token. Of one user it is exact. Of several it is the upper end of a range, the lower end being
        `alone`: the mean where all ask at once and prompts are processed one after the other. In pools it is the time
        of the last one of them.
    token : of each further token.
    alone : to the first token, where no one else asks.
    """

    request: StepTime
    first: StepTime
    token: StepTime
    alone: StepTime


def served_times(setup: ServingSetup, plans: ServingPlans, *, pools: bool) -> ServedTimes:
    """Return the times under each plan; `pools` is whether some plan of the table has replicas for prefill alone.

    Where a replica does both, each of the other requests stops a request once, for as long as its prompt keeps a stage.
    In a pipeline, the groups of a step of decoding follow a prompt from stage to stage and wait for it in each: a step
    takes as long as the whole prompt then, one step in so many as there are requests for a token.
    """
    found, users, answer = pool_phases(setup, plans), np.asarray(plans.plans.micro_batch, float), setup.answer
    others = (users - 1.0) * (1.0 - plans.apart)
    stages = np.asarray(plans.plans.pp, dtype=np.float64)
    behind = np.minimum(others / (answer - 1.0) * (1.0 - 1.0 / stages), 1.0)
    once = ((found.prefill, _ONE), *([(found.transfer, plans.apart)] if pools else []))
    free = (answer - 1.0) * (1.0 - behind)
    whole = _chain(*once, (found.slot, others), (found.decode, free))
    token = _chain((found.decode, 1.0 - behind), (found.slot, others / (answer - 1.0)))
    first, alone = _chain(*once, (found.slot, others / 2.0)), _chain(*once)
    # The prompt is one that is counted above: this race sends a step of decoding alone.
    follows = (_chain((found.decode, _ONE)), replace(_chain((found.slot, stages)), partial=True))
    of_request, of_token = StepOverlap(follows, (answer - 1.0) * behind), StepOverlap(follows, behind)
    if not pools:
        return ServedTimes(_time(whole, of_request), _time(first), _time(token, of_token), _time(alone))
    # Users of a prefill replica; where they wait for it or for the network, no more answers come than prompts.
    share = plans.apart * plans.users / np.maximum(plans.prefill, 1)
    sends, receives = transfer_parts(setup, plans)
    limits = [
        _chain((found.slot, share)),
        _chain((found.transfer, np.maximum(share * sends, plans.apart * users * receives))),
    ]
    waits = StepOverlap((_chain((found.slot, _ONE)), _chain((found.transfer, _ONE))), np.maximum(share - 1.0, 0.0))
    request = StepOverlap((whole, *(replace(one, partial=True) for one in limits)), _ONE)
    return ServedTimes(StepTime({}, (request, of_request)), _time(first, waits), _time(token, of_token), _time(alone))


def _time(chain: StepSequence, *races: StepOverlap) -> StepTime:
    return StepTime({}, (StepOverlap((chain,), _ONE), *races))


def _chain(*terms: tuple[StepTime, FloatArray]) -> StepSequence:
    """Return phases one after the other, each so many times."""
    compute, traffic = _NONE, list[Traffic]()
    for step, times in terms:
        compute = compute + times * sum(step.plain.values(), _NONE)
        for race in step.races:
            (chain,) = race.chains
            traffic += [replace(sent, operations=sent.operations * race.count * times) for sent in chain.traffic]
    return StepSequence(compute, tuple(traffic))


def times_in_order(found: ServedTimes) -> Sequence[StepTime]:
    """Return the times in the order of the fields."""
    return found.request, found.first, found.token, found.alone
