"""The workloads of a problem, compiled for a time model: their process groups and their streams of traffic."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, columns
from evo_libra.collective import Collective, NextStage, SizedByPlan, SizedCollective
from evo_libra.workload.layers.iteration_time import IterationTime, Load, Merging, Stream, iteration_time
from evo_libra.workload.layers.workload import Workload, WorkloadKind
from evo_libra.workload.parallelism import ALL, MEMBER, Layout, parts_of

if TYPE_CHECKING:
    from evo_libra.timing.trace_time import TracedWorkload, TraceTime
    from evo_libra.workload.plans.plan_table import PlanTable
    from evo_libra.workload.plans.tabulated import TabulatedTime
    from evo_libra.workload.training.planned_step import PlannedStep

    Time = IterationTime | TraceTime | TabulatedTime
    """A time as a function of those of its streams, and of the plan where some are open."""


@dataclass(frozen=True)
class Served:
    """Latencies of a workload besides the time of a request: the time to the first token, and of each further one."""

    first: IterationTime | TabulatedTime
    token: IterationTime | TabulatedTime


@dataclass(frozen=True)
class WeightedLoop:
    """A workload, compiled.

    Attributes
    ----------
    workload : of any kind.
    degrees : NPUs in each process group, innermost first, and of all NPUs under ``all``.
    layouts : of each process group, those that lie around it with their degrees, the innermost first.
    weight : factor on its time in the objective.
    time : its iteration time.
    merging : which of its traffic is one stream.
    served : what users see, where it is served under plans.
    overlap : of the collectives of a table of layers, as for `iteration_time`.
    """

    workload: WorkloadKind
    degrees: Mapping[str, int]
    layouts: Mapping[str, Layout]
    weight: float
    time: Time
    merging: Merging = Merging.PATTERN
    served: Served | None = None
    overlap: str = "none"

    @property
    def tokens(self) -> FloatArray | None:
        """(p,) or (1,) tokens of an iteration; None where there are none."""
        found = self.workload.tokens
        return None if found is None else np.atleast_1d(np.asarray(found, dtype=np.float64))

    @property
    def timed(self) -> tuple[tuple[str, Time], ...]:
        """The times of the workload, each with the name of the list of `Times` that it belongs to."""
        served = () if self.served is None else (("first", self.served.first), ("token", self.served.token))
        return ("workloads", self.time), *served

    @property
    def open_place(self) -> int | None:
        """The place of the workload among those that leave plans open; None where it is none of them."""
        return None

    @property
    def rows(self) -> slice:
        """Rows of the workload in the (w, n) plans of designs."""
        return slice(0, 0)

    def pinned(self, plan: Sequence[int]) -> WeightedLoop:  # noqa: ARG002 - loops with open plans need it
        """Return the loop under one plan of each workload that leaves some open."""
        return self

    def of_links(self, kinds: Collection[str]) -> WeightedLoop:  # noqa: ARG002 - the same
        """Return the loop without what software takes on links of other kinds than those of a problem."""
        return self


@dataclass(frozen=True)
class OpenLoop(WeightedLoop):
    """A workload that leaves plans open, with the times of all of them; its `place` is that among such workloads."""

    workload: PlanTable
    time: TabulatedTime
    place: int = 0

    @property
    def open_place(self) -> int | None:
        """The place."""
        return self.place

    @property
    def rows(self) -> slice:
        """Its row of the plans of designs."""
        return slice(self.place, self.place + 1)

    def of_links(self, kinds: Collection[str]) -> OpenLoop:
        """Return the loop without what software takes on links of other kinds, in all of its times."""
        if self.served is None:
            return self
        from evo_libra.workload.plans.tabulated import of_links  # noqa: PLC0415 - few problems serve

        first, token = (of_links(cast("TabulatedTime", one), kinds) for one in (self.served.first, self.served.token))
        return replace(self, time=of_links(self.time, kinds), served=Served(first, token))

    def alone(self) -> OpenLoop:
        """Return the loop of a problem whose other workloads leave no plans open."""
        layouts = {
            group: ((OPEN, 0),) if layout == ((OPEN, self.place),) else layout for group, layout in self.layouts.items()
        }
        return replace(self, place=0, layouts=layouts)

    def pinned(self, plan: Sequence[int]) -> WeightedLoop:
        """Return the loop under one of its plans."""
        mine, share = plan[self.place], self.workload.share_of_batch
        weight = self.weight * float(share[mine if len(share) > 1 else 0])
        return weighted_step(self.workload.step(mine), weight, merging=self.merging)


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
    """Return times of 0 for a number of designs, where nothing asks for any."""
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


def weighted_step(step: PlannedStep, weight: float, *, merging: Merging) -> WeightedLoop:
    """Compile a training step or serving under one plan; `merging` is that of `iteration_time`."""
    parts = step.compiled_parts(merging)
    served = None if parts is None else Served(*parts)
    time = step.compiled(merging)
    return WeightedLoop(step, step.degrees, step.layouts, weight=weight, time=time, merging=merging, served=served)


def weighted_plans(table: PlanTable, weight: float, place: int, *, merging: Merging) -> OpenLoop:
    """Compile the training steps of all plans of a table; it is the n-th one of its problem, by `place`."""
    layouts: dict[str, Layout] = {**dict.fromkeys(table.degrees, ((OPEN, place),)), ALL: ()}
    parts = table.time_parts(merging)
    served = None if parts is None else Served(*parts)
    time = table.time(merging)
    return OpenLoop(table, {}, layouts, weight=weight, time=time, merging=merging, served=served, place=place)


OPEN = "plan"
"""Name in the layouts of groups that lie as a plan says, with the place of its table."""


def weighted_traces(workload: TracedWorkload, weight: float, *, npus: int, merging: Merging) -> WeightedLoop:
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
