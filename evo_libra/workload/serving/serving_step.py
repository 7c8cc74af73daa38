"""Serving under one plan as a workload of a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.layers.iteration_time import IterationTime, Merging
from evo_libra.workload.layers.workload import IterationSize
from evo_libra.workload.parallelism import Layout
from evo_libra.workload.plans.plan_rules import plan_values
from evo_libra.workload.serving.cache import memory_of_pools
from evo_libra.workload.serving.phases import Phases, pool_phases
from evo_libra.workload.serving.served_times import ServedTimes, served_times
from evo_libra.workload.serving.serving_plans import DEGREES, ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.tiers import in_expansion, on_npu
from evo_libra.workload.training.iteration import step_iteration
from evo_libra.workload.training.planned_step import PlannedStep
from evo_libra.workload.training.races import OF_PREFILL, POOLS, TENSOR, StepTime
from evo_libra.workload.training.training_step import group_degrees, layouts_of


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

    @property
    def time(self) -> StepTime:
        """The time of a request."""
        return self.times.request

    @property
    def size(self) -> IterationSize:
        """How much an iteration is."""
        return IterationSize(self.setup.decoder.layers)

    @property
    def tokens(self) -> float:
        """Tokens of answers in an iteration."""
        return self.users * float(self.setup.answer)

    @property
    def accelerator(self) -> Accelerator:
        """What it runs on."""
        return self.setup.accelerator

    def compiled_parts(self, merging: Merging) -> tuple[IterationTime, IterationTime] | None:
        """Return the times to the first token and of each further one."""
        first, token = (step_iteration(time, self.degrees, merging) for time in (self.times.first, self.times.token))
        return first, token


def serving_step(
    name: str, setup: ServingSetup, plan: ServingPlans, order: Sequence[str], text: str, *, pools: bool
) -> ServingStep:
    """Return serving under a single plan that divides what it must; `pools` is as for `served_times`."""
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


def serving_advice(*, capacity: float) -> str:  # noqa: ARG001 - the signature is that of training steps
    """Return what needs less memory, as a sentence without an end."""
    return "a larger tp or pp, fewer requests at a time, or narrower weights or cache need less"
