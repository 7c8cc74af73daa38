"""The workloads of a problem, compiled for a time model: their process groups and their streams of traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, columns
from evo_libra.collective import Collective, NextStage, SizedByPlan, SizedCollective
from evo_libra.problem.time_models.kinds import PlanTable, ServingStep, ServingTable, TracedWorkload, TrainingStep
from evo_libra.workload.layers.iteration_time import IterationTime, Load, Merging, Stream, iteration_time
from evo_libra.workload.layers.workload import IterationSize, Workload
from evo_libra.workload.parallelism import ALL, MEMBER, Layout, parts_of

if TYPE_CHECKING:
    from evo_libra.timing.trace_time import TraceTime
    from evo_libra.workload.plans.tabulated import TabulatedTime


@dataclass(frozen=True)
class Served:
    """What users see of a workload beside the time of a request: that to the first token, and of each further one."""

    first: IterationTime | TabulatedTime
    token: IterationTime | TabulatedTime


@dataclass(frozen=True)
class WeightedLoop:
    """A workload, compiled.

    Attributes
    ----------
    workload : its layers, its training step or serving under one plan, or its traces.
    degrees : NPUs in each process group, innermost first, and of all NPUs under ``all``.
    layouts : of each process group, those that lie around it with their degrees, the innermost first.
    weight : factor on its time in the objective.
    time : its iteration time.
    merging : which of its traffic is one stream.
    served : what users see, where it is served under plans.
    overlap : of the collectives of a table of layers, as for `iteration_time`.
    """

    workload: Workload | TrainingStep | ServingStep | TracedWorkload | PlanTable
    degrees: Mapping[str, int]
    layouts: Mapping[str, Layout]
    weight: float
    time: IterationTime | TraceTime | TabulatedTime
    merging: Merging = Merging.PATTERN
    served: Served | None = None
    overlap: str = "none"

    @property
    def tokens(self) -> FloatArray | None:
        """(p,) or (1,) tokens of an iteration; None where there are none."""
        found = getattr(self.workload, "tokens", None)
        return None if found is None else np.atleast_1d(np.asarray(found, dtype=np.float64))

    @property
    def size(self) -> IterationSize:
        """Layers, samples and NPUs of one iteration; empty for traces."""
        return IterationSize() if isinstance(self.workload, TracedWorkload) else self.workload.size

    @property
    def timed(self) -> tuple[tuple[str, IterationTime | TraceTime | TabulatedTime], ...]:
        """The times of the workload, each with the name of the list of `Times` that it belongs to."""
        served = () if self.served is None else (("first", self.served.first), ("token", self.served.token))
        return ("workloads", self.time), *served

    def pinned(self, plan: int) -> WeightedLoop:
        """Return the loop under one of its plans."""
        assert isinstance(self.workload, PlanTable), "only plans are chosen"  # noqa: S101 - our mistake
        step = self.workload.step(plan)
        return weighted_step(step, self.weight, merging=self.merging)


@dataclass(frozen=True)
class Times:
    """Times of n designs: (n,) s of an iteration of each workload, and what users see of each one that is served.

    Attributes
    ----------
    first, token : (n,) s to the first token, and of each further one.
    """

    workloads: list[FloatArray]
    first: list[FloatArray]
    token: list[FloatArray]


def no_times(loops: Sequence[WeightedLoop], count: int) -> Times:
    """Return times of 0 for so many designs, where nothing asks for any."""
    found = Times([], [], [])
    for loop in loops:
        for kind, _ in loop.timed:
            vars(found)[kind].append(np.zeros(count))
    return found


def weighted_loop(
    workload: Workload,
    degrees: Mapping[str, int],
    weight: float,
    overlap: str,
    npus: int,
    *,
    merging: Merging = Merging.PATTERN,
) -> WeightedLoop:
    """Compile a training loop with its process groups; `merging` is that of `iteration_time`."""
    layout = tuple(degrees.items())
    joined = {group: prod(degrees[part] for part in parts_of(group)) for group in workload.groups if group != ALL}
    complete = {**degrees, **joined, ALL: npus}
    layouts = {**dict.fromkeys((*degrees, *joined), layout), ALL: ()}
    return WeightedLoop(
        workload, complete, layouts, weight=weight, time=iteration_time(workload, complete, overlap, merging=merging),
        merging=merging, overlap=overlap,
    )  # fmt: skip


def weighted_step(step: TrainingStep | ServingStep, weight: float, *, merging: Merging) -> WeightedLoop:
    """Compile a training step or serving under one plan; `merging` is that of `iteration_time`."""
    from evo_libra.workload.training.iteration import step_iteration  # noqa: PLC0415 - tables of layers do not need it

    served = None
    if isinstance(step, ServingStep):
        served = Served(*(step_iteration(time, step.degrees, merging) for time in (step.times.first, step.times.token)))
    time = step_iteration(step.time, step.degrees, merging)
    return WeightedLoop(step, step.degrees, step.layouts, weight=weight, time=time, merging=merging, served=served)


def weighted_plans(table: PlanTable, weight: float, place: int, *, merging: Merging) -> WeightedLoop:
    """Compile the training steps of all plans of a table; it is the n-th one of its problem, by `place`."""
    layouts: dict[str, Layout] = dict.fromkeys((*table.degrees, ALL), ((OPEN, place),))
    served = None
    if isinstance(table, ServingTable):
        served = Served(table.served(merging).first, table.served(merging).token)
    return WeightedLoop(table, {}, layouts, weight=weight, time=table.time(merging), merging=merging, served=served)


OPEN = "plan"
"""Name in the layouts of groups that lie as a plan says, with the place of its table."""


def weighted_traces(workload: TracedWorkload, weight: float, npus: int, *, merging: Merging) -> WeightedLoop:
    """Compile traces; `merging` is that of `trace_time`."""
    from evo_libra.timing.trace_time import trace_time  # noqa: PLC0415 - few problems have traces

    layouts = {**workload.layouts, ALL: ()}
    degrees = {name: prod(degree for part, degree in layout if part == MEMBER) for name, layout in layouts.items()}
    return WeightedLoop(
        workload, {**degrees, ALL: npus}, layouts, weight=weight, time=trace_time(workload, merging=merging),
        merging=merging,
    )  # fmt: skip


Channel = tuple[Layout, str, Load]
"""Traffic that costs the same time per unit whichever workload it belongs to."""


def channel_of(loop: WeightedLoop, stream: Stream) -> Channel:
    """Return the channel of a stream of a workload."""
    group, load = stream
    return loop.layouts[group], group, load


def operation_of(load: Load) -> Collective | NextStage:
    """Return what runs of traffic that is single operations, whatever their bytes."""
    if isinstance(load, NextStage):
        return NextStage()
    assert isinstance(load, SizedByPlan | SizedCollective), "only exact times merge collectives"  # noqa: S101 - internal error
    return load.operation if isinstance(load, SizedByPlan) else load.collective


def bytes_of(load: Load) -> float:
    """Return the bytes of an operation that all designs send."""
    assert isinstance(load, NextStage | SizedCollective), "plans say no bytes of it"  # noqa: S101 - internal error
    return float(load.size)


def sent_by(channel: Channel, designs: Population) -> tuple[FloatArray, IntArray]:
    """Return the (m,) bytes of an operation of a channel, and the designs that send it: plans may send none."""
    layout, _, load = channel
    if not isinstance(load, SizedByPlan):
        return np.full(len(designs), bytes_of(load)), np.arange(len(designs))
    plan = designs.plans[layout[0][1]]
    sending = np.flatnonzero(columns(load.sent, plan))
    return columns(load.size, plan[sending]), sending


def all_gathers(loop: WeightedLoop) -> Iterator[tuple[str, float]]:
    """Give where each all-gather is, and the bytes of its shard; of open plans, the smallest shards."""
    workload = loop.workload
    if isinstance(workload, TracedWorkload):
        program = workload.program
        for operation, node in zip(program.operations, program.nodes, strict=True):
            if operation.collective is Collective.ALL_GATHER:
                yield f"node {node}", operation.size
        return
    if isinstance(workload, TrainingStep | ServingStep | PlanTable):
        yield from _all_gathers_of_step(workload, loop)
        return
    for layer in workload.layers:
        for phase in layer.phases:
            if phase.collective is Collective.ALL_GATHER:
                yield f"layer {layer.name}", round(phase.size)


def _all_gathers_of_step(
    step: TrainingStep | ServingStep | PlanTable, loop: WeightedLoop
) -> Iterator[tuple[str, float]]:
    for group, load in loop.time.streams:
        if isinstance(load, SizedCollective) and load.collective is Collective.ALL_GATHER:
            yield f"the group {group}", load.size
        if isinstance(step, PlanTable) and isinstance(load, SizedByPlan) and load.operation is Collective.ALL_GATHER:
            size = np.where(load.sent, load.size, np.inf)
            yield f"the group {group} under the plan {step.text(int(size.argmin()))}", float(size.min())


def collectives_of(loop: WeightedLoop) -> list[tuple[Collective, str, int]]:
    """Return kind, group and bytes of the collectives of an iteration; of traces, of the NPU that has most of them."""
    if isinstance(loop.workload, TracedWorkload):
        each: dict[int, list[tuple[Collective, str, int]]] = {}
        for owner, collective, group, size in loop.workload.collectives():
            each.setdefault(owner, []).append((collective, group, size))
        return max(each.values(), key=len, default=[])
    if isinstance(loop.workload, TrainingStep | ServingStep):
        from evo_libra.workload.training.iteration import step_iteration  # noqa: PLC0415 - tables of layers do not need it

        streams = step_iteration(loop.workload.time, loop.degrees, Merging.NONE).streams
        return [(load.collective, group, load.size) for group, load in streams if isinstance(load, SizedCollective)]
    assert isinstance(loop.workload, Workload), "plans are pinned"  # noqa: S101 - our mistake
    phases = (phase for layer in loop.workload.layers for phase in layer.phases)
    return [
        (phase.collective, phase.group, round(phase.size))
        for phase in phases
        if phase.collective and loop.degrees[phase.group] > 1
    ]
