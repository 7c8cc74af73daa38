"""Serving under one plan as a workload of a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.layers.workload import IterationSize
from evo_libra.workload.parallelism import Layout
from evo_libra.workload.plans.plan_rules import plan_values
from evo_libra.workload.serving.cache import memory_of_pools
from evo_libra.workload.serving.phases import Phases, pool_phases
from evo_libra.workload.serving.served_times import ServedTimes, served_times
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.tiers import in_expansion, on_npu
from evo_libra.workload.training.races import OF_PREFILL, POOLS, TENSOR, StepTime, Traffic
from evo_libra.workload.training.training_step import group_degrees, layouts_of


@dataclass(frozen=True)
class ServingStep:
    """Serving, compiled; an iteration is the time of a request, in which every user gets an answer.

    Attributes
    ----------
    setup : what is served on what.
    times, phases : what users see and what it is made of, under `serving_plan`; arrays are (1,).
    memory : bytes of an accelerator's own memory by class; `expanded` : those in its expansion memory.
    degrees : NPUs of each process group; `layouts` : how the groups lie, the innermost first.
    parallelism : the degrees that the plan says, and `plan` the whole plan in the notation.
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

    @property
    def time(self) -> StepTime:
        """The time of a request."""
        return self.times.request

    @cached_property
    def compute(self) -> float:
        """Seconds of a request on a network that costs no time."""
        return float(self.time(lambda _: np.zeros(1))[0])

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

    def traffic(self) -> Iterator[tuple[Traffic, float]]:
        """Return what is sent, with how many operations of it an NPU runs while a request lasts."""
        return self.time.sent_by(self.degrees)

    @property
    def total_memory(self) -> float:
        """Bytes of an accelerator's own memory."""
        return sum(self.memory.values())


def serving_step(
    name: str, setup: ServingSetup, plan: ServingPlans, order: Sequence[str], text: str, *, pools: bool
) -> ServingStep:
    """Return serving under a single plan that divides what it must; `pools` is as for `served_times`."""
    value = plan_values(plan.plans)
    used = memory_of_pools(setup, plan)
    of_prefill = {group: int(degree[0]) for group, degree in plan.prefill_degrees.items()}
    layouts = layouts_of(value, order)
    return ServingStep(
        name, setup, served_times(setup, plan, pools=pools), pool_phases(setup, plan), plan,
        _first(on_npu(setup, used)), _first(in_expansion(setup, used)),
        {**group_degrees(value), **of_prefill}, {**layouts, **_layouts(plan, order)},
        {group: value[group] for group in ("tp", "pp", "ep")} | {"dp": int(plan.replicas[0])}, text,
        int(plan.replicas[0]), int(plan.prefill[0]), value["micro_batch"], int(plan.users[0]),
        serving_advice,
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
