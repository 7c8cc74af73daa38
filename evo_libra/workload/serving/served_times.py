"""What users see: time to the first token, time of each further one, and of a whole request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.step.plans import Plans
from evo_libra.workload.step.races import StepChain, StepRace, StepTime, Traffic

_NONE, _ONE = np.zeros(1), np.ones(1)


@dataclass(frozen=True)
class ServingPlans:
    """Plans of serving.

    Attributes
    ----------
    plans : ``dp`` are the replicas of the model, of which an expert parallel group may take several; ``micro_batch``
        are the requests that a replica answers at a time.
    prefill : (n,) or (1,) replicas that only process prompts, for the others to go on with; 0 where all do both.
    """

    plans: Plans
    prefill: IntArray

    def select(self, which: IntArray) -> ServingPlans:
        """Return some of the plans."""
        prefill = self.prefill if len(self.prefill) == 1 else self.prefill[which]
        return ServingPlans(self.plans.select(which), prefill)

    @property
    def users(self) -> FloatArray:
        """(n,) requests in the whole cluster at a time: as one ends, the next begins."""
        return np.asarray(self.plans.micro_batch * (self.plans.dp - self.prefill), dtype=np.float64)


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
    """
    found, users, answer = phases_of(setup, plans.plans), np.asarray(plans.plans.micro_batch, float), setup.answer
    apart = np.asarray(plans.prefill > 0, dtype=np.float64)
    others = (users - 1.0) * (1.0 - apart)
    once = ((found.prefill, _ONE), *([(found.transfer, apart)] if pools else []))
    whole = _chain(*once, (found.slot, others), (found.decode, np.full(1, answer - 1.0)))
    token = _chain((found.decode, _ONE), (found.slot, others / (answer - 1.0)))
    first, alone = _chain(*once, (found.slot, others / 2.0)), _chain(*once)
    if not pools:
        return ServedTimes(*(StepTime({}, (StepRace((one,), _ONE),)) for one in (whole, first, token, alone)))
    # Users of a prefill replica; where they wait for it or for the network, no more answers come than prompts.
    share = apart * plans.users / np.maximum(plans.prefill, 1)
    busiest = np.maximum(share, apart * users)
    limits = [_chain((found.slot, share)), _chain((found.transfer, busiest))]
    waits = StepRace((_chain((found.slot, _ONE)), _chain((found.transfer, _ONE))), np.maximum(share - 1.0, 0.0))
    request = StepRace((whole, *(replace(one, partial=True) for one in limits)), _ONE)
    return ServedTimes(
        StepTime({}, (request,)),
        StepTime({}, (StepRace((first,), _ONE), waits)),
        *(StepTime({}, (StepRace((one,), _ONE),)) for one in (token, alone)),
    )


def _chain(*terms: tuple[StepTime, FloatArray]) -> StepChain:
    """Return phases one after the other, each so many times."""
    compute, traffic = _NONE, list[Traffic]()
    for step, times in terms:
        compute = compute + times * sum(step.plain.values(), _NONE)
        for race in step.races:
            (chain,) = race.chains
            traffic += [replace(sent, operations=sent.operations * race.count * times) for sent in chain.traffic]
    return StepChain(compute, tuple(traffic))


def times_in_order(found: ServedTimes) -> Sequence[StepTime]:
    """Return the times in the order of the fields."""
    return found.request, found.first, found.token, found.alone
