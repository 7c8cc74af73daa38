"""Kinds of workloads, and the first of them: one training iteration as layers of compute and collectives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Dispatch, NextStage, PushPull, SizedCollective, Streamed
from evo_libra.workload.parallelism import ALL, CONTEXT_GROUP, TENSOR_GROUP, HoldsGroups, holds_groups

if TYPE_CHECKING:
    from evo_libra.workload.layers.iteration_time import Message, Stream
    from evo_libra.workload.plans.plan_table import PlanTable
    from evo_libra.workload.plans.plans import Plans
    from evo_libra.workload.plans.step_class import StepClass
    from evo_libra.workload.training.training_setup import Setup

PHASES = ("forward", "input_gradient", "weight_gradient")


@dataclass(frozen=True)
class Phase:
    """Seconds of compute, then at most one collective of a group; its bytes are a shard's in an all-gather."""

    compute: float
    collective: Collective | None = None
    size: float = 0.0
    group: str = "all"


@dataclass(frozen=True)
class Layer:
    """One layer: its three phases of training."""

    name: str
    forward: Phase
    input_gradient: Phase
    weight_gradient: Phase

    @property
    def phases(self) -> tuple[Phase, Phase, Phase]:
        """The phases in the order of `PHASES`."""
        return self.forward, self.input_gradient, self.weight_gradient


@dataclass(frozen=True)
class IterationSize:
    """Size of one training iteration, as far as it is known: None where a model has no layers or sequences.

    The batch is sequences, or samples, of each replica of the model, and a microbatch is a part of it; None where the
    whole batch is one. The global batch is given where replicas are still to be chosen.
    """

    layers: int | None = None
    sequence: int | None = None
    batch: int | None = None
    replicas: int | None = None
    micro_batch: int | None = None
    global_batch: int | None = None

    @property
    def figures(self) -> dict[str, int | None]:
        """The size as programs read it."""
        total = self.global_batch
        if self.batch is not None and self.replicas is not None:
            total = self.batch * self.replicas
        sizes = {"layers": self.layers, "sequence": self.sequence, "batch_per_replica": self.batch}
        return sizes | {"micro_batch": self.micro_batch or self.batch, "global_batch": total}


@dataclass(frozen=True)
class Sent:
    """A collective or message of a process group: the phase that runs it, and its bytes."""

    phase: str
    what: Collective | Dispatch | NextStage | PushPull | Streamed
    group: str
    size: float

    @property
    def name(self) -> str:
        """The size as reports write it."""
        if isinstance(self.what, Collective):
            return self.what.value
        if isinstance(self.what, PushPull):
            return "push and pull"
        if isinstance(self.what, Streamed):
            return "stream"
        return Collective.ALL_TO_ALL.value if isinstance(self.what, Dispatch) else "send"


Key = TypeVar("Key")


def most_of_one(owned: Iterable[tuple[int, Key]]) -> Counter[Key]:
    """Count what is alike, of the NPU that has the most of it; each item comes with its NPU."""
    each: dict[int, Counter[Key]] = {}
    for npu, key in owned:
        each.setdefault(npu, Counter())[key] += 1
    return reduce(or_, each.values(), Counter())


class WorkloadKind:
    """Interface of workloads of any kind.

    Attributes
    ----------
    reported : the part of an explanation that the kind has; "" for none.
    whole : whether it is a model as a whole, trained or served, which knows its memory.
    """

    reported: ClassVar[str] = ""
    whole: ClassVar[bool] = False

    @property
    def answer_tokens(self) -> float | None:
        """Tokens of an answer to a request; None of a workload that answers none."""
        return None

    @property
    def groups_that_answer(self) -> IntArray | None:
        """(2, k, p) or (2, k, 1) groups of neighbours that answer nothing alone, and NPUs of each group; or None.

        There are k pools, and nothing is answered without each. Groups are those of a stage, as stages lie outermost:
        what stops a part of one stops as much of all others.
        """
        return None

    if TYPE_CHECKING:  # a dataclass would take a property for the default of its field

        @property
        def name(self) -> str:
            """Its name."""

        @property
        def size(self) -> IterationSize:
            """The size of an iteration."""

        @property
        def compute(self) -> float:
            """Seconds of an iteration on a network that costs no time."""

        @property
        def tokens(self) -> float | FloatArray | None:
            """Tokens of an iteration, a number or (p,) under each plan; None where there are none."""

        @property
        def layers(self) -> tuple[Layer, ...]:
            """The layers of a table of layers."""

        @property
        def planned(self) -> tuple[Setup, Plans] | None:
            """The model of a training step and its plan."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Process groups that something is sent in, in order of appearance, where one plan is known."""
        return ()

    @property
    def table(self) -> PlanTable | None:
        """All plans of the workload, where some are open."""
        return None

    @property
    def every_plan(self) -> Plans | None:
        """The plans of a model as a whole, be it one."""
        return None

    def step_class(self, plan: int) -> StepClass | None:  # noqa: ARG002 - models need it
        """Return what a plan trains or serves, and on what; None where it is no model as a whole."""
        return None

    @property
    def keeps_inside(self) -> BoolArray:
        """(p,) or (1,) whether the tensor parallel group must stay inside a scale-up domain under each plan."""
        return np.zeros(1, dtype=np.bool_)

    @property
    def context_inside(self) -> BoolArray:
        """(p,) or (1,) whether the context parallel group must, too."""
        return np.zeros(1, dtype=np.bool_)

    @property
    def kept_inside(self) -> dict[str, BoolArray]:
        """The groups that some plan must keep inside a scale-up domain, with what `keeps_inside` says of each."""
        found = {TENSOR_GROUP: self.keeps_inside, CONTEXT_GROUP: self.context_inside}
        return {group: kept for group, kept in found.items() if kept.any()}

    @property
    def total_memory(self) -> float:
        """Bytes of an NPU; 0 where they are not known, or depend on the plan."""
        return 0.0

    def memory_mistakes(self, limit: float, holds: HoldsGroups = holds_groups) -> list[str]:  # noqa: ARG002
        """Return a sentence that names the need above a number of bytes of an NPU, if there is one."""
        return []

    @property
    def unexported(self) -> str:
        """Why the workload cannot be exported as traces, a sentence; "" where it can."""
        return ""

    def figures(self, degrees: Mapping[str, int]) -> dict[str, Any]:
        """Return the process groups, of some degrees, and how much an iteration is, for programs."""
        groups = {name: degree for name, degree in degrees.items() if name != ALL}
        return {"parallelism": groups, **self.size.figures}

    def sent(self) -> Mapping[Sent, float]:
        """Return how often an NPU sends what is alike in phase, kind, group and bytes, of the NPU that does so most."""
        raise NotImplementedError

    def collectives(self, degrees: Mapping[str, int]) -> list[tuple[Collective, str, int]]:
        """Return kind, group and bytes of the collectives of an iteration, of the NPU that has most of them."""
        raise NotImplementedError

    def all_gathers(self, streams: Iterable[Stream]) -> Iterator[tuple[str, float]]:
        """Give where each all-gather is, and the bytes of its shard; here from the streams of single operations."""
        for group, load in streams:
            if isinstance(load, SizedCollective) and load.collective is Collective.ALL_GATHER:
                yield f"the group {group}", load.size

    def messages(self) -> Iterator[tuple[int, Message]]:
        """Give NPU and message of each send of a trace."""
        return iter(())

    @property
    def instant(self) -> tuple[str, ...]:
        """The computations of traces that take less than 1 ns under the roofline, as in a sentence."""
        return ()


@dataclass(frozen=True)
class Workload(WorkloadKind):
    """One training iteration of a model: its layers in forward order, several of which may be one of the model's.

    Attributes
    ----------
    tensor_inside : whether a scale-up domain must hold the tensor parallel group.
    """

    name: str
    layers: tuple[Layer, ...]
    size: IterationSize = IterationSize()
    tensor_inside: bool = False
    tokens = None
    planned = None

    @property
    def keeps_inside(self) -> BoolArray:
        """(1,) whether the tensor parallel group must stay inside a scale-up domain, which LIBRA does not ask."""
        return np.array([self.tensor_inside])

    @property
    def compute(self) -> float:
        """Seconds of compute in one iteration: the time on a network that costs no time."""
        return float(sum(phase.compute for layer in self.layers for phase in layer.phases))

    @property
    def groups(self) -> tuple[str, ...]:
        """Process groups that some collective runs on, in order of appearance."""
        phases = (phase for layer in self.layers for phase in layer.phases)
        return tuple(dict.fromkeys(phase.group for phase in phases if phase.collective))

    def sent(self) -> Mapping[Sent, float]:
        """Count what is alike over all layers."""
        return Counter(
            Sent(name, phase.collective, phase.group, phase.size)
            for layer in self.layers
            for name, phase in zip(PHASES, layer.phases, strict=True)
            if phase.collective
        )

    def collectives(self, degrees: Mapping[str, int]) -> list[tuple[Collective, str, int]]:
        """Return the collectives of all layers, of groups of more than one NPU."""
        return [
            (phase.collective, phase.group, round(phase.size))
            for layer in self.layers
            for phase in layer.phases
            if phase.collective and degrees[phase.group] > 1
        ]

    def all_gathers(self, streams: Iterable[Stream]) -> Iterator[tuple[str, float]]:  # noqa: ARG002 - layers are known
        """Give the layer of each all-gather, and the bytes of its shard."""
        for layer in self.layers:
            for phase in layer.phases:
                if phase.collective is Collective.ALL_GATHER:
                    yield f"layer {layer.name}", round(phase.size)


def scale_compute(workload: Workload, factor: float) -> Workload:
    """Return the workload with all its compute times multiplied by a factor."""

    def scaled(phase: Phase) -> Phase:
        return replace(phase, compute=phase.compute * factor)

    layers = tuple(Layer(layer.name, *map(scaled, layer.phases)) for layer in workload.layers)
    return replace(workload, layers=layers)
