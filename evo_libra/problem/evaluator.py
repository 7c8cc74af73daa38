"""Iteration time of a population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.collective import Collective, Pattern, SizedCollective, pattern_of, time_per_byte, unit_traffic
from evo_libra.errors import InputError
from evo_libra.network.blocks import Kit
from evo_libra.problem.group_bandwidth import Placed, bandwidth_share, relative_bytes
from evo_libra.timing.fidelity import Fidelity
from evo_libra.timing.trace_time import MEMBER, Layout, TracedWorkload, TraceTime, trace_time
from evo_libra.workload.parallelism import ALL, lay_groups, offsets, parts_of
from evo_libra.workload.training import IterationTime, Merging, Message, Race, Stream, iteration_time
from evo_libra.workload.workload import IterationSize, Workload


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
        """How much one iteration is; traces do not say."""
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


def _channel(loop: WeightedLoop, stream: Stream) -> Channel:
    group, load = stream
    return loop.layouts[group], group, load


@dataclass(frozen=True)
class TimeModel:
    """Iteration time of all workloads together.

    Attributes
    ----------
    loops : the workloads.
    channels : the distinct traffic among them.
    fidelity : how collectives are timed; None is LIBRA's time, where they take their bytes over the bandwidth.
    kits : what dimensions are built of; without any, every group has all the bandwidth of its NPUs, as in LIBRA.
    """

    loops: tuple[WeightedLoop, ...]
    channels: tuple[Channel, ...]
    fidelity: Fidelity | None = None
    kits: tuple[Kit, ...] = ()

    @staticmethod
    def of(loops: Sequence[WeightedLoop], fidelity: Fidelity | None = None, kits: tuple[Kit, ...] = ()) -> TimeModel:
        """Collect the channels of the loops."""
        channels = (_channel(loop, stream) for loop in loops for stream in loop.time.streams)
        return TimeModel(tuple(loops), tuple(dict.fromkeys(channels)), fidelity, kits)

    def fits(self, npus: IntArray) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold every process group."""
        fits = np.ones(npus.shape[1], dtype=np.bool_)
        for layout in {layout for loop in self.loops for layout in loop.layouts.values()}:
            fits &= lay_groups(npus, np.array([degree for _, degree in layout], dtype=np.int64))[1]
        return fits

    def placed(self, npus: IntArray) -> dict[tuple[Layout, str], Placed]:
        """Return where each process group lies on (d, n) dimensions."""
        found: dict[tuple[Layout, str], Placed] = {((), ALL): Placed(npus, np.ones_like(npus))}
        laid = dict[Layout, IntArray]()
        for layout, group in {(layout, group) for layout, group, _ in self.channels if group != ALL}:
            if layout not in laid:
                laid[layout] = lay_groups(npus, np.array([degree for _, degree in layout]))[0]
            # The members of a trace's group may lie in several parts, and so do those of groups joined by +.
            mine = [g for g, (name, _) in enumerate(layout) if name in (*parts_of(group), MEMBER)]
            extent = laid[layout][mine[0]] if len(mine) == 1 else laid[layout][mine].prod(axis=0)
            # Groups of several parts lie as far apart as the innermost one.
            found[layout, group] = Placed(extent, laid[layout][: mine[0]].prod(axis=0))
        return found

    def traffic(self, npus: IntArray, technology: IntArray) -> FloatArray:
        """Return (c, d, n) bytes per NPU and dimension, per unit of each channel; empty but for LIBRA's time.

        A group that gets a share of the bandwidth counts as if it sent as many times more.
        """
        if self.fidelity is not None:
            return np.empty((0, *npus.shape))
        placed = self.placed(npus)
        rows = [self._traffic(load, placed[layout, group], npus, technology) for layout, group, load in self.channels]
        return np.array(rows).reshape(len(rows), *npus.shape)

    def _traffic(self, load: Load, placed: Placed, npus: IntArray, technology: IntArray) -> FloatArray:
        if isinstance(load, Message):
            return np.asarray(load.size * (offsets(load.source, load.target, npus) > 0), dtype=np.float64)
        assert not isinstance(load, SizedCollective), "LIBRA's time merges collectives"  # noqa: S101 - our mistake
        pattern = pattern_of(load) if isinstance(load, Collective) else load
        unit = unit_traffic(pattern, placed.extent)
        if not self.kits:
            return unit
        collective = load if isinstance(load, Collective) else Collective.ALL_REDUCE
        return unit * relative_bytes(self.kits, pattern, collective, placed, npus, technology)

    def channel_times(self, designs: Population, traffic: FloatArray | None = None) -> dict[Channel, FloatArray]:
        """Return (n,) seconds per unit of each channel.

        Parameters
        ----------
        designs : the networks.
        traffic : (c, d, n) from `traffic`, where it is known.
        """
        if self.fidelity is None:
            # An unused dimension has no traffic, so any bandwidth above 0 gives it no time.
            bandwidth = np.where(designs.bandwidth > 0, designs.bandwidth, 1.0)
            traffic = self.traffic(designs.npus, designs.technology) if traffic is None else traffic
            return {channel: time_per_byte(traffic[c], bandwidth) for c, channel in enumerate(self.channels)}
        placed = self.placed(designs.npus)
        found: dict[Channel, FloatArray] = {}
        for layout, group, load in self.channels:
            if isinstance(load, Message):
                found[layout, group, load] = self.fidelity.message_seconds(load, designs)
                continue
            assert isinstance(load, SizedCollective), "only LIBRA's time merges collectives"  # noqa: S101 - our mistake
            found[layout, group, load] = self.seconds(load.collective, load.size, placed[layout, group], designs)
        return found

    def seconds(self, collective: Collective, size: int, placed: Placed, designs: Population) -> FloatArray:
        """Return (n,) seconds of a collective of so many bytes among groups that lie so, but for LIBRA's time."""
        assert self.fidelity is not None, "LIBRA's time is bytes over bandwidth"  # noqa: S101 - our mistake
        share = bandwidth_share(self.kits, placed, designs.npus, designs.technology) if self.kits else None
        return self.fidelity.seconds(collective, size, placed.extent, designs, share)

    def workload_times(self, designs: Population, traffic: FloatArray | None = None) -> list[FloatArray]:
        """Return (n,) seconds of each workload; the parameters are those of `channel_times`."""
        per_unit = self.channel_times(designs, traffic)
        return [
            np.broadcast_to(
                loop.time([per_unit[_channel(loop, stream)] for stream in loop.time.streams]), (len(designs),)
            )
            for loop in self.loops
        ]

    def __call__(self, designs: Population, traffic: FloatArray | None = None) -> FloatArray:
        """Return (n,) weighted seconds of all workloads; the parameters are those of `channel_times`."""
        times = self.workload_times(designs, traffic)
        return np.asarray(sum(loop.weight * time for loop, time in zip(self.loops, times, strict=True)))

    def program(self, traffic: FloatArray, low: FloatArray, high: FloatArray) -> BandwidthProgram:
        """Return the convex program of the best bandwidths in a box, without linear constraints, of LIBRA's time.

        The parameters are those of `BandwidthProgram`; `traffic` is that of `TimeModel.traffic`.

        Raises
        ------
        InputError : the time is another one, or a workload is a trace.
        """
        if self.fidelity is not None:
            raise InputError("exact bandwidths and proofs are of LIBRA's time; that of the problem is another")
        size, base, races = np.zeros(len(self.channels)), 0.0, []
        for loop in self.loops:
            if not isinstance(loop.time, IterationTime):
                name = loop.workload.name
                raise InputError(f"exact bandwidths and proofs are of training loops; the workload '{name}' is a trace")
            place = np.zeros((len(loop.time.streams), len(self.channels)))
            for s, stream in enumerate(loop.time.streams):
                place[s, self.channels.index(_channel(loop, stream))] = 1.0
            base += loop.weight * loop.time.compute
            size += loop.weight * (loop.time.size @ place)
            races += [Race(loop.weight * race.count, race.compute, race.size @ place) for race in loop.time.races]
        rows, limit = np.empty((0, *low.shape)), np.empty((0, low.shape[1]))
        equality = np.empty(0, dtype=np.bool_)
        return BandwidthProgram(
            base, size, traffic, np.zeros(low.shape), low, high, rows, limit, equality, tuple(races)
        )
