"""The workloads of a problem, compiled for a time model: their process groups and their streams of traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from evo_libra.timing.trace_time import MEMBER, Layout, TracedWorkload, TraceTime, trace_time
from evo_libra.workload.parallelism import ALL, parts_of
from evo_libra.workload.step.iteration import step_iteration
from evo_libra.workload.step.plan_table import PlanTable
from evo_libra.workload.step.tabulated import TabulatedTime
from evo_libra.workload.step.training_step import TrainingStep
from evo_libra.workload.training import IterationTime, Load, Merging, Stream, iteration_time
from evo_libra.workload.workload import IterationSize, Workload


@dataclass(frozen=True)
class WeightedLoop:
    """A workload, compiled.

    Attributes
    ----------
    workload : its layers, its training step under one plan, or its traces.
    degrees : NPUs in each process group, innermost first, and of all NPUs under ``all``.
    layouts : of each process group, those that lie around it with their degrees, the innermost first.
    weight : factor on its time in the objective.
    time : its iteration time.
    merging : which of its traffic is one stream.
    """

    workload: Workload | TrainingStep | TracedWorkload | PlanTable
    degrees: Mapping[str, int]
    layouts: Mapping[str, Layout]
    weight: float
    time: IterationTime | TraceTime | TabulatedTime
    merging: Merging = Merging.PATTERN

    @property
    def size(self) -> IterationSize:
        """Layers, samples and NPUs of one iteration; empty for traces."""
        return IterationSize() if isinstance(self.workload, TracedWorkload) else self.workload.size

    def pinned(self, plan: int) -> WeightedLoop:
        """Return the loop under one of its plans."""
        assert isinstance(self.workload, PlanTable), "only plans are chosen"  # noqa: S101 - our mistake
        return weighted_step(self.workload.step(plan), self.weight, merging=self.merging)


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
        workload, complete, layouts, weight, iteration_time(workload, complete, overlap, merging=merging), merging
    )


def weighted_step(step: TrainingStep, weight: float, *, merging: Merging) -> WeightedLoop:
    """Compile a training step under one plan; `merging` is that of `iteration_time`."""
    return WeightedLoop(
        step, step.degrees, step.layouts, weight, step_iteration(step.time, step.degrees, merging), merging
    )


def weighted_plans(table: PlanTable, weight: float, place: int, *, merging: Merging) -> WeightedLoop:
    """Compile the training steps of all plans of a table; it is the n-th one of its problem, by `place`."""
    layouts: dict[str, Layout] = dict.fromkeys((*table.degrees, ALL), ((OPEN, place),))
    return WeightedLoop(table, {}, layouts, weight, table.time(merging), merging)


OPEN = "plan"
"""Name in the layouts of groups that lie as a plan says, with the place of its table."""


def weighted_traces(workload: TracedWorkload, weight: float, npus: int, *, merging: Merging) -> WeightedLoop:
    """Compile traces; `merging` is that of `trace_time`."""
    layouts = {**workload.layouts, ALL: ()}
    degrees = {name: prod(degree for part, degree in layout if part == MEMBER) for name, layout in layouts.items()}
    return WeightedLoop(
        workload, {**degrees, ALL: npus}, layouts, weight, trace_time(workload, merging=merging), merging
    )


Channel = tuple[Layout, str, Load]
"""Traffic that costs the same time per unit whichever workload it belongs to."""


def channel_of(loop: WeightedLoop, stream: Stream) -> Channel:
    """Return the channel of a stream of a workload."""
    group, load = stream
    return loop.layouts[group], group, load
