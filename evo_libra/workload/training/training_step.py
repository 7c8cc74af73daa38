"""A step of training under one plan as a workload of a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import gcd, prod

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.layers.workload import IterationSize
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.layers.sublayer import WHOLE
from evo_libra.workload.parallelism import ALL, BEYOND, IDLE, HoldsGroups, Layout
from evo_libra.workload.plans.placement import ORDER
from evo_libra.workload.plans.plan_rules import plan_text, plan_values
from evo_libra.workload.plans.plans import DEGREES, PLACEMENTS, Plans, context_inside, keeps_inside
from evo_libra.workload.plans.schedules import overlaps_experts
from evo_libra.workload.plans.step_class import StepClass, class_of_step
from evo_libra.workload.training.advice import fitting_npus, fitting_option
from evo_libra.workload.training.memory import expanded, memory, memory_on_npu
from evo_libra.workload.training.planned_step import PlannedStep
from evo_libra.workload.training.races import (
    CONTEXT,
    COPIES,
    DATA,
    DATA_BEYOND,
    EXPERT,
    EXPERT_DATA,
    EXPERT_DATA_BEYOND,
    PIPELINE,
    SHARDS,
    TENSOR,
    StepTime,
)
from evo_libra.workload.training.recommender_step import RecommenderSetup, recommender_memory, recommender_step
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup


@dataclass(frozen=True)
class TrainingStep(PlannedStep):
    """A training step, compiled; `PlannedStep` describes the fields that are not here.

    Attributes
    ----------
    size : how much a step is.
    tokens : of a step, None for a recommendation model; `samples` : sequences or samples of a step.
    training_tokens : of the whole training, where that is known.
    flop : floating-point operations that a language model asks for in a step.
    accelerator : what it runs on.
    planned : what is trained how under which plan; None for a recommendation model.
    """

    name: str
    time: StepTime
    memory: Mapping[str, float]
    degrees: Mapping[str, int]
    layouts: Mapping[str, Layout]
    parallelism: Mapping[str, int]
    plan: str
    size: IterationSize
    samples: int
    tokens: float | None
    training_tokens: float | None
    flop: float | None
    accelerator: Accelerator
    planned: tuple[Setup, Plans] | None
    advise: Callable[..., str]
    expanded: Mapping[str, float] = field(default_factory=dict)

    reported = "training"

    @property
    def groups(self) -> tuple[str, ...]:
        """Process groups of more than one NPU that something is sent in, in order of appearance."""
        return tuple(dict.fromkeys(sent.group for sent, _ in self.traffic()))

    @property
    def every_plan(self) -> Plans | None:
        """The plan; None for a recommendation model."""
        return None if self.planned is None else self.planned[1]

    def step_class(self, plan: int) -> StepClass | None:
        """Return the class of the step; None of a recommendation model."""
        return None if self.planned is None else class_of_step(*self.planned, plan)

    @property
    def keeps_inside(self) -> BoolArray:
        """(1,) as for any workload."""
        if self.planned is None:
            return super().keeps_inside
        setup, plan = self.planned
        return keeps_inside(plan, np.array([setup.tensor_anywhere]))

    @property
    def context_inside(self) -> BoolArray:
        """(1,) as for any workload."""
        return super().context_inside if self.planned is None else context_inside(self.planned[1])

    @property
    def unexported(self) -> str:
        """Why the step is no traces of ASTRA-sim."""
        if self.planned is None:
            return (
                f"the workload '{self.name}' is a training step of a recommendation model; what is exported are "
                "training loops and the steps of language models"
            )
        setup, plan = self.planned
        if any(name == IDLE for layout in self.layouts.values() for name, _ in layout):
            return f"'{self.name}' leaves NPUs idle; what is exported uses all of them"
        if plan.schedule[0] or overlaps_experts(plan)[0]:
            return (
                f"the plan '{self.plan}' of '{self.name}' runs passes of two microbatches at a time, or parts of them; "
                "what is exported are 1F1B and interleaved 1F1B without `overlap: {ep: true}`"
            )
        if plan.replicate[0] > 1:
            return f"the shards of '{self.name}' have {int(plan.replicate[0])} copies; `replicate: 1` is exported"
        if setup.offload is None:
            return ""
        return (
            f"the optimizer of '{self.name}' may be in {PLACEMENTS[int(plan.optimizer[0])]}; what is exported are "
            "steps with the optimizer, and all that waits for the backward pass, on the NPUs: "
            "`optimizer: {placement: npu}`"
        )


def training_step(
    name: str,
    setup: Setup,
    plan: Plans,
    order: Sequence[str] = ORDER,
    *,
    training_tokens: float | None = None,
    auto: bool = False,
    idle: int = 0,
) -> TrainingStep:
    """Return the step of a language model under a single plan that keeps all rules of division.

    Parameters
    ----------
    order : of the groups on the network, the innermost first.
    idle : NPUs of the network in no group.
    training_tokens : of the whole training.
    auto : whether sequence parallelism follows the tensor parallel group; advice about memory then does.
    """
    value = plan_values(plan)
    used = memory_on_npu(setup, plan)
    away = expanded(setup, plan, memory(setup, plan))
    micro = value["micro_batch"]
    each = setup.global_batch // value["dp"]
    return TrainingStep(
        name=name, time=step_time(setup, plan), memory=_first(used), degrees=group_degrees(value),
        layouts=with_idle(layouts_of(value, order), idle),
        parallelism={group: value[group] for group in DEGREES}, plan=plan_text(plan),
        size=IterationSize(setup.decoder.layers, setup.sequence, each, value["dp"], micro), samples=setup.global_batch,
        tokens=float(setup.global_batch) * setup.sequence, training_tokens=training_tokens,
        flop=model_flop(setup.decoder, setup.sequence) * setup.global_batch * setup.sequence,
        accelerator=setup.accelerator, planned=(setup, plan), expanded=_first(away),
        advise=partial(_advise, setup, plan, order, auto=auto, idle=idle),
    )  # fmt: skip


def _advise(
    setup: Setup, plan: Plans, order: Sequence[str], *, auto: bool, idle: int, capacity: float, holds: HoldsGroups
) -> str:
    """Return the nearest plan that fits a number of bytes, of those whose groups a network holds in an order."""

    def held(other: Plans) -> bool:
        inside = {TENSOR: keeps_inside(other, np.array([setup.tensor_anywhere])), CONTEXT: context_inside(other)}
        groups = tuple(group for group, kept in inside.items() if kept[0])
        return holds(with_idle(layouts_of(plan_values(other), order), idle), groups)

    return fitting_option(setup, plan, auto=auto, capacity=capacity, holds=held)


def _advise_npus(setup: RecommenderSetup, npus: int, *, capacity: float, holds: HoldsGroups) -> str:  # noqa: ARG001
    """Return how many NPUs fit; the networks of other numbers of NPUs are others."""
    return fitting_npus(setup, npus, capacity=capacity)


def _first(classes: Mapping[str, FloatArray]) -> dict[str, float]:
    return {kind: float(np.ravel(bytes_)[0]) for kind, bytes_ in classes.items()}


def group_degrees(degrees: Mapping[str, int]) -> dict[str, int]:
    """Return the NPUs of every process group that traffic may name, from the degrees of a plan."""
    inside = degrees["tp"] * degrees["cp"] * degrees["dp"]
    copies, expert_copies = degrees["cp"] * degrees["dp"], inside // degrees["ep"]
    whole = degrees.get("replicate", 1)
    return {
        **{group: degrees[group] for group in (TENSOR, CONTEXT, PIPELINE, EXPERT, "dp")},
        **dict.fromkeys((DATA, DATA_BEYOND), copies),
        **dict.fromkeys((EXPERT_DATA, EXPERT_DATA_BEYOND), expert_copies),
        **dict.fromkeys((SHARDS, SHARDS + BEYOND), copies // whole),
        **dict.fromkeys((COPIES, COPIES + BEYOND), whole),
        ALL: inside * degrees["pp"],
    }


def recommender_training_step(name: str, setup: RecommenderSetup, npus: int) -> TrainingStep:
    """Return the step of a recommendation model, whose tables and batch all NPUs share."""
    used = {kind: float(np.ravel(bytes_)[0]) for kind, bytes_ in recommender_memory(setup, npus).items()}
    return TrainingStep(
        name=name, time=recommender_step(setup, npus), memory=used, degrees={ALL: npus}, layouts={ALL: ()},
        parallelism={"dp": npus}, plan=f"dp{npus}", size=IterationSize(None, None, setup.global_batch // npus, npus),
        samples=setup.global_batch, tokens=None, training_tokens=None, flop=None, accelerator=setup.accelerator,
        planned=None, advise=partial(_advise_npus, setup, npus),
    )  # fmt: skip


def layouts_of(degrees: Mapping[str, int], order: Sequence[str]) -> dict[str, Layout]:
    """Return how the groups of a plan lie, the innermost first, in an order of tensor, context, data and pipeline.

    An expert parallel group takes the innermost NPUs of a stage, and its copies take the rest. The pipeline parts the
    NPUs of a stage only where it has several stages.
    """
    dense = tuple((group, degrees[group]) for group in order)
    place = order.index(PIPELINE) if degrees[PIPELINE] > 1 else len(order)
    inside, outside = (prod(degree for _, degree in part) for part in (dense[:place], dense[place + 1 :]))
    inner = gcd(degrees[EXPERT], inside)
    outer = degrees[EXPERT] // inner
    routed = (
        (EXPERT, inner), (EXPERT_DATA, inside // inner), (PIPELINE, degrees[PIPELINE]),
        (EXPERT, outer), (EXPERT_DATA, outside // outer),
    )  # fmt: skip
    whole = degrees.get("replicate", 1)
    split = {"dp": (("shards", degrees["dp"] // whole), (COPIES, whole))}
    shared = tuple(part for group in order for part in split.get(group, ((group, degrees[group]),)))
    found = dict.fromkeys((*ORDER, DATA, DATA_BEYOND), dense)
    found |= dict.fromkeys((SHARDS, SHARDS + BEYOND, COPIES, COPIES + BEYOND), shared)
    return {**found, **dict.fromkeys((EXPERT, EXPERT_DATA, EXPERT_DATA_BEYOND), routed), ALL: ()}


def with_idle(layouts: Mapping[str, Layout], idle: int) -> dict[str, Layout]:
    """Return layouts with some NPUs at their end that are in no group."""
    return {group: (*layout, (IDLE, idle)) if layout and idle else layout for group, layout in layouts.items()}


def model_flop(model: Decoder, sequence: int) -> float:
    """Return the floating-point operations that training asks for, per token.

    Six for each weight of a product that a token passes, and three times the causal work among tokens, as Llama 3
    counts (arXiv 2407.21783, table 4). Work that is computed again does not count.
    """
    embedding = 0 if model.tied else model.vocabulary * model.hidden
    kinds = [
        sum(float(core.work) for part in kind for core in part.cores(WHOLE, sequence)) for kind in model.stack.kinds
    ]
    weights, work = model.active_parameters - embedding, sum(kinds[kind] for kind in model.stack.order)
    predicted = model.layer_parameters(model.predictor, active=True) + model.vocabulary * model.hidden
    return 6.0 * (weights + model.predictors * predicted) + 3.0 * (
        work + model.predictors * kinds[model.stack.order[-1]]
    )
