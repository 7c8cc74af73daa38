"""Serving under one plan: the times that users see, and the workload of a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.layers.iteration_time import IterationTime, Merging
from evo_libra.workload.layers.workload import IterationSize
from evo_libra.workload.parallelism import HoldsGroups, Layout, holds_groups
from evo_libra.workload.plans.plan_rules import plan_values
from evo_libra.workload.plans.step_class import StepClass, class_of_requests
from evo_libra.workload.serving.experts import SENDING
from evo_libra.workload.serving.memory import in_expansion, memory_of_pools, on_npu
from evo_libra.workload.serving.phases import Phases, pool_phases, transfer_parts
from evo_libra.workload.serving.serving_plans import DEGREES, ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.planned_step import PlannedStep, step_iteration
from evo_libra.workload.training.races import OF_PREFILL, POOLS, TENSOR, StepOverlap, StepSequence, StepTime, Traffic
from evo_libra.workload.training.training_step import group_degrees, layouts_of

_NONE, _ONE = np.zeros(1), np.ones(1)


@dataclass(frozen=True)
class ServedTimes:
    """Times under plans.

    Attributes
    ----------
    request : of a request, from its prompt to its last token; `users` get their answers in it.
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

    If a replica does both, each of the other requests makes steps of a request longer once, by its prompt.
    In a pipeline, the groups of a step of decoding follow a prompt from stage to stage and wait for it in each: a step
    takes as long as the whole prompt then. Of the steps of an answer, that is one for each other request.
    """
    found, users, answer = pool_phases(setup, plans), np.asarray(plans.plans.micro_batch, float), setup.answer
    others = (users - 1.0) * (1.0 - plans.apart)
    stages = np.asarray(plans.plans.pp, dtype=np.float64)
    behind = np.minimum(others / (answer - 1.0) * (1.0 - 1.0 / stages), 1.0)
    once = ((found.prefill, _ONE), *([(found.transfer, plans.apart)] if pools else []))
    free = (answer - 1.0) * (1.0 - behind)
    whole = _chain(*once, (found.beside, others), (found.decode, free))
    token = _chain((found.decode, 1.0 - behind), (found.beside, others / (answer - 1.0)))
    first, alone = _chain(*once, (found.slot, others / 2.0)), _chain(*once)
    # The prompt is one that is counted above: this overlap sends a step of decoding alone.
    follows = (_chain((found.decode, _ONE)), replace(_chain((found.slot, stages)), partial=True))
    of_request, of_token = StepOverlap(follows, (answer - 1.0) * behind), StepOverlap(follows, behind)
    if not pools:
        return ServedTimes(_time(whole, of_request), _time(first), _time(token, of_token), _time(alone))
    # Users of a prefill replica; where they wait for it or for the network, no more answers come than prompts.
    share = plans.apart * plans.users / np.maximum(plans.prefill, 1)
    sends, receives = transfer_parts(setup, plans)
    slots = slots_of(setup, found.slot)
    limits = [
        *(_chain((slot, share)) for slot in slots),
        _chain((found.transfer, np.maximum(share * sends, plans.apart * users * receives))),
    ]
    each = (*(_chain((slot, _ONE)) for slot in slots), _chain((found.transfer, _ONE)))
    waits = StepOverlap(each, np.maximum(share - 1.0, 0.0))
    request = StepOverlap((whole, *(replace(one, partial=True) for one in limits)), _ONE)
    return ServedTimes(StepTime({}, (request, of_request)), _time(first, waits), _time(token, of_token), _time(alone))


def slots_of(setup: ServingSetup, slot: StepTime) -> tuple[StepTime, ...]:
    """Return what one prompt keeps a stage for: the longest counts, of two batches that overlap one computes.

    The other one sends to its experts then, for which some of the processors are taken.
    """
    if not setup.experts.two_batches:
        return (slot,)
    sending = [any(one.part == "expert" for chain in race.chains for one in chain.traffic) for race in slot.races]
    rest, experts = (
        tuple(race for race, sends in zip(slot.races, sending, strict=True) if sends is wanted)
        for wanted in (False, True)
    )
    plain = {name: seconds / (1.0 - SENDING) for name, seconds in slot.plain.items()}
    return StepTime(plain, rest), StepTime({}, experts)


def _time(chain: StepSequence, *races: StepOverlap) -> StepTime:
    return StepTime({}, (StepOverlap((chain,), _ONE), *races))


def _chain(*terms: tuple[StepTime, FloatArray]) -> StepSequence:
    """Return phases one after the other, each repeated by its count."""
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


@dataclass(frozen=True)
class ServingStep(PlannedStep):
    """Serving, compiled; an iteration is the time of a request, in which every user gets an answer.

    `PlannedStep` describes the fields that are not here.

    Attributes
    ----------
    setup : what is served on what.
    times, phases : what users see and what it is made of, under `serving_plan`; arrays are (1,).
    replicas, prefill : copies of the model, and those of them that only process prompts.
    concurrency : requests that a replica answers at a time; `users` : in the whole cluster.
    """

    name: str
    setup: ServingSetup
    times: ServedTimes
    phases: Phases
    serving_plan: ServingPlans
    memory: Mapping[str, float]
    expanded: Mapping[str, float]
    degrees: Mapping[str, int]
    layouts: Mapping[str, Layout]
    parallelism: Mapping[str, int]
    plan: str
    replicas: int
    prefill: int
    concurrency: int
    users: int
    advise: Callable[..., str]
    reported = "serving"
    planned = None

    @property
    def unexported(self) -> str:
        """Why serving is no traces of ASTRA-sim."""
        return f"the workload '{self.name}' is served; what is exported are training loops and the steps of training"

    def step_class(self, plan: int) -> StepClass:  # noqa: ARG002 - it has one
        """Return the class of the requests."""
        return class_of_requests(self.setup)

    @property
    def time(self) -> StepTime:
        """The time of a request."""
        return self.times.request

    @property
    def size(self) -> IterationSize:
        """The size of an iteration."""
        return IterationSize(self.setup.decoder.layers)

    @property
    def tokens(self) -> float:
        """Tokens of answers in an iteration."""
        return self.users * float(self.setup.answer)

    @property
    def groups_that_answer(self) -> IntArray:
        """(2, 2, 1) as for `WorkloadKind`."""
        return self.serving_plan.groups_that_answer

    @property
    def accelerator(self) -> Accelerator:
        """The accelerator."""
        return self.setup.accelerator

    def compiled_parts(self, merging: Merging) -> tuple[IterationTime, IterationTime] | None:
        """Return the times to the first token and of each further one."""
        first, token = (step_iteration(time, self.degrees, merging) for time in (self.times.first, self.times.token))
        return first, token


def serving_step(
    name: str, setup: ServingSetup, plan: ServingPlans, order: Sequence[str], text: str, *, pools: bool
) -> ServingStep:
    """Return serving under a single plan that keeps all rules of division; `pools` is as for `served_times`."""
    value = plan_values(plan.plans)
    used = memory_of_pools(setup, plan)
    of_prefill = {group: int(degree[0]) for group, degree in plan.prefill_degrees.items()}
    layouts = layouts_of(value, order)
    return ServingStep(
        name=name, setup=setup, times=served_times(setup, plan, pools=pools), phases=pool_phases(setup, plan),
        serving_plan=plan, memory=_first(on_npu(setup, used)), expanded=_first(in_expansion(setup, used)),
        degrees={**group_degrees(value), **of_prefill}, layouts={**layouts, **_layouts(plan, order)},
        parallelism={group: value[group] for group in DEGREES} | {"dp": int(plan.replicas[0])}, plan=text,
        replicas=int(plan.replicas[0]), prefill=int(plan.prefill[0]), concurrency=value["micro_batch"],
        users=int(plan.users[0]), advise=serving_advice,
    )  # fmt: skip


def _first(classes: Mapping[str, FloatArray]) -> dict[str, float]:
    return {kind: float(np.ravel(bytes_)[0]) for kind, bytes_ in classes.items()}


def _layouts(plan: ServingPlans, order: Sequence[str]) -> dict[str, Layout]:
    """Return how the groups of replicas lie that only process prompts, and the group of both pools."""
    if plan.ahead is None:
        return {}
    found = {
        OF_PREFILL[group]: tuple((OF_PREFILL.get(name, name), degree) for name, degree in layout)
        for group, layout in layouts_of(plan_values(plan.ahead), order).items() if group in OF_PREFILL
    }  # fmt: skip
    inside, both = min(int(plan.plans.tp[0]), int(plan.ahead.tp[0])), int(plan.prefill_degrees[POOLS][0])
    return {**found, POOLS: ((TENSOR, inside), (POOLS, both))}


def serving_advice(*, capacity: float, holds: HoldsGroups = holds_groups) -> str:  # noqa: ARG001 - as training has it
    """Return what needs less memory, as a sentence without an end."""
    return "a larger tp or pp, fewer requests at a time, or narrower weights or cache need less"
