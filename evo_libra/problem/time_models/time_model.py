"""The interface of a time model, the workloads that it times, and their process groups on networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, Schedule
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.collective import Collective, Pattern, SizedCollective, pattern_of
from evo_libra.errors import InputError
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.fabric import Fabric
from evo_libra.timing.fidelity import Fidelity
from evo_libra.timing.trace_time import MEMBER, Layout, TracedWorkload, TraceTime, trace_time
from evo_libra.workload.parallelism import ALL, lay_groups, parts_of
from evo_libra.workload.training import IterationTime, Merging, Message, Stream, iteration_time
from evo_libra.workload.workload import IterationSize, Workload


@dataclass(frozen=True)
class Placement:
    """Where the process groups of a kind lie: (d, n) NPUs of a dimension in a group, and how far apart they are."""

    extent: IntArray
    stride: IntArray


Figure = Callable[[Block, IntArray, IntArray, IntArray], FloatArray]
"""A figure of groups in a block: from their (k,) sizes and strides, and those of the dimensions."""


def by_block(kits: Sequence[Kit], kit_index: IntArray, placed: Placement, npus: IntArray, of: Figure) -> FloatArray:
    """Return (d, n) a figure of groups in the blocks of dimensions; 1 where they have no part in a dimension."""
    block = np.array([kit.block for kit in kits])[kit_index].ravel()
    found = np.ones(kit_index.size)
    counted = ((placed.extent > 1) & (kit_index >= 0)).ravel()
    for index in np.unique(block[counted]).tolist():
        mine = np.flatnonzero(counted & (block == index))
        extent, stride, size = (array.ravel()[mine] for array in (placed.extent, placed.stride, npus))
        found[mine] = of(BLOCKS[index], extent, stride, size)
    return found.reshape(kit_index.shape)


@dataclass(frozen=True)
class WeightedLoop:
    """A workload, compiled.

    Attributes
    ----------
    workload : its layers, or its traces.
    degrees : NPUs in each process group, innermost first, and of all NPUs under ``all``.
    layouts : of each process group, those that lie around it with their degrees, the innermost first.
    weight : factor on its time in the objective.
    time : its iteration time.
    """

    workload: Workload | TracedWorkload
    degrees: Mapping[str, int]
    layouts: Mapping[str, Layout]
    weight: float
    time: IterationTime | TraceTime

    @property
    def size(self) -> IterationSize:
        """Layers, samples and NPUs of one iteration; empty for traces."""
        return self.workload.size if isinstance(self.workload, Workload) else IterationSize()


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
        workload, complete, layouts, weight, iteration_time(workload, complete, overlap, merging=merging)
    )


def weighted_traces(workload: TracedWorkload, weight: float, npus: int, *, merging: Merging) -> WeightedLoop:
    """Compile traces; `merging` is that of `trace_time`."""
    layouts = {**workload.layouts, ALL: ()}
    degrees = {name: prod(degree for part, degree in layout if part == MEMBER) for name, layout in layouts.items()}
    return WeightedLoop(workload, {**degrees, ALL: npus}, layouts, weight, trace_time(workload, merging=merging))


Load = Pattern | Collective | SizedCollective | Message
Channel = tuple[Layout, str, Load]
"""Traffic that costs the same time per unit whichever workload it belongs to."""


def channel_of(loop: WeightedLoop, stream: Stream) -> Channel:
    """Return the channel of a stream of a workload."""
    group, load = stream
    return loop.layouts[group], group, load


@dataclass(frozen=True)
class TimeModel(ABC):
    """Iteration time of all workloads together.

    Without any kits, every group has all the bandwidth of its NPUs, as in LIBRA.
    """

    loops: tuple[WeightedLoop, ...]
    kits: tuple[Kit, ...] = ()

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The distinct traffic of the workloads."""
        return tuple(dict.fromkeys(channel_of(loop, stream) for loop in self.loops for stream in loop.time.streams))

    @property
    def exact(self) -> bool:
        """Whether the best bandwidths can be solved for, and proven to be the best."""
        return False

    @property
    def fidelity(self) -> Fidelity | None:
        """How collectives run and are timed; None where they take their bytes over the bandwidth."""
        return None

    @property
    @abstractmethod
    def lower_bound(self) -> TimeModel | None:
        """An exact time model that is nowhere slower; None where there is none."""

    @abstractmethod
    def traffic(self, npus: IntArray, technology: IntArray) -> FloatArray:
        """Return (c, d, n) bytes per NPU and dimension, per unit of each channel; empty for times that need more."""

    @abstractmethod
    def channel_times(self, designs: Population, traffic: FloatArray | None = None) -> dict[Channel, FloatArray]:
        """Return (n,) seconds per unit of each channel; `traffic` is that of the designs, where it is known."""

    @abstractmethod
    def seconds(self, collective: Collective, size: float, placed: Placement, designs: Population) -> FloatArray:
        """Return (n,) seconds of a collective of some bytes among process groups."""

    @abstractmethod
    def schedule(self, fabrics: Sequence[Fabric], block: IntArray) -> Schedule | None:
        """Return how collectives run on networks that people write, from their options and (d, n) blocks.

        An `InputError` says that an option is none of the choices.
        """

    def named(self, fabrics: list[Fabric], designs: Population) -> list[Fabric]:  # noqa: ARG002 - some models need it
        """Return the records of networks with the options that say how collectives run on them."""
        return fabrics

    def columns(self, designs: Population) -> dict[str, list[Any]]:  # noqa: ARG002 - some models need it
        """Return the columns of a front that say how collectives run."""
        return {}

    def program(self, traffic: FloatArray, low: FloatArray, high: FloatArray) -> BandwidthProgram:  # noqa: ARG002 - exact ones need it
        """Return the convex program of the best bandwidths in a box, without linear constraints.

        An `InputError` says that the time is not exact, or that a workload is a trace.
        """
        raise InputError("exact bandwidths and proofs are of LIBRA's time; that of the problem is another")

    def relative_bytes(
        self,
        collective: Collective,
        placed: Placement,
        npus: IntArray,
        kit_index: IntArray,
        pattern: Pattern | None = None,
    ) -> FloatArray:
        """Return (d, n) the time of a group's bytes, over that with all the bandwidth of its NPUs for itself.

        More where a group gets only a share of the bandwidth, less where the network itself reduces. The pattern is
        that of the collective unless it is given. A dimension with a kit of -1 is still open, and costs no more.
        """
        if not self.kits:
            return np.ones(npus.shape)
        pattern = pattern_of(collective) if pattern is None else pattern

        def relative(block: Block, extent: IntArray, stride: IntArray, size: IntArray) -> FloatArray:
            factor = block.traffic_factor(pattern, extent, collective)
            return np.asarray(factor / block.share(pattern, extent, stride, size))

        return by_block(self.kits, kit_index, placed, npus, relative)

    def fits(self, npus: IntArray) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold every process group."""
        fits = np.ones(npus.shape[1], dtype=np.bool_)
        for layout in {layout for loop in self.loops for layout in loop.layouts.values()}:
            fits &= lay_groups(npus, np.array([degree for _, degree in layout], dtype=np.int64))[1]
        return fits

    def placed(self, npus: IntArray) -> dict[tuple[Layout, str], Placement]:
        """Return where each process group lies on (d, n) dimensions, and all NPUs together."""
        found: dict[tuple[Layout, str], Placement] = {((), ALL): Placement(npus, np.ones_like(npus))}
        laid = dict[Layout, IntArray]()
        for layout, group, _ in self.channels:
            if group == ALL or (layout, group) in found:
                continue
            if layout not in laid:
                laid[layout] = lay_groups(npus, np.array([degree for _, degree in layout]))[0]
            # The members of a trace's group may lie in several parts, and so do those of groups joined by +.
            mine = [g for g, (name, _) in enumerate(layout) if name in (*parts_of(group), MEMBER)]
            extent = laid[layout][mine[0]] if len(mine) == 1 else laid[layout][mine].prod(axis=0)
            # Groups of several parts lie as far apart as the innermost one.
            found[layout, group] = Placement(extent, laid[layout][: mine[0]].prod(axis=0))
        return found

    def workload_times(self, designs: Population, traffic: FloatArray | None = None) -> list[FloatArray]:
        """Return (n,) seconds of each workload; the parameters are those of `channel_times`."""
        per_unit = self.channel_times(designs, traffic)
        times = (loop.time([per_unit[channel_of(loop, s)] for s in loop.time.streams]) for loop in self.loops)
        return [np.broadcast_to(time, (len(designs),)) for time in times]

    def __call__(self, designs: Population, traffic: FloatArray | None = None) -> FloatArray:
        """Return (n,) weighted seconds of all workloads; the parameters are those of `channel_times`."""
        times = self.workload_times(designs, traffic)
        return np.asarray(sum(loop.weight * time for loop, time in zip(self.loops, times, strict=True)))
