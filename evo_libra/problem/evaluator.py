"""Iteration time of a population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.errors import InputError
from evo_libra.model.allocation.program import Program
from evo_libra.model.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.model.collective import Pattern, time_per_byte, unit_traffic
from evo_libra.model.fidelity import Fidelity
from evo_libra.model.parallelism import ALL, lay_groups
from evo_libra.model.training import IterationTime, Operation, Race, Stream, iteration_time
from evo_libra.model.workload import Workload


@dataclass(frozen=True)
class WeightedLoop:
    """A workload's training loop, compiled.

    Attributes
    ----------
    workload : the layers.
    degrees : NPUs in each process group, innermost first, and of all NPUs under ``all``.
    weight : factor on its time in the objective.
    time : its iteration time.
    """

    workload: Workload
    degrees: Mapping[str, int]
    weight: float
    time: IterationTime


def weighted_loop(
    workload: Workload, degrees: Mapping[str, int], weight: float, overlap: str, npus: int, *, merged: bool = True
) -> WeightedLoop:
    """Compile a workload with its process groups; `merged` is that of `iteration_time`."""
    complete = {**degrees, ALL: npus}
    return WeightedLoop(workload, complete, weight, iteration_time(workload, complete, overlap, merged=merged))


Layout = tuple[tuple[str, int], ...]
Channel = tuple[Layout, str, Pattern | Operation]
"""Traffic that costs the same time per unit whichever workload it belongs to."""


def layout_of(loop: WeightedLoop, group: str) -> Layout:
    """Return how the process groups of a workload lie around one of them: names and degrees, the innermost first."""
    return () if group == ALL else tuple((name, degree) for name, degree in loop.degrees.items() if name != ALL)


def _channel(loop: WeightedLoop, stream: Stream) -> Channel:
    group, load = stream
    return layout_of(loop, group), group, load


@dataclass(frozen=True)
class TimeModel:
    """Iteration time of all workloads together.

    Attributes
    ----------
    loops : the workloads.
    channels : the distinct traffic among them.
    fidelity : how collectives are timed; None is LIBRA's time, where they take their bytes over the bandwidth.
    """

    loops: tuple[WeightedLoop, ...]
    channels: tuple[Channel, ...]
    fidelity: Fidelity | None = None

    @staticmethod
    def of(loops: Sequence[WeightedLoop], fidelity: Fidelity | None = None) -> TimeModel:
        """Collect the channels of the loops."""
        channels = (_channel(loop, stream) for loop in loops for stream in loop.time.streams)
        return TimeModel(tuple(loops), tuple(dict.fromkeys(channels)), fidelity)

    def fits(self, npus: IntArray) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold every process group."""
        fits = np.ones(npus.shape[1], dtype=np.bool_)
        for layout in {layout_of(loop, name) for loop in self.loops for name in loop.degrees}:
            fits &= lay_groups(npus, np.array([degree for _, degree in layout], dtype=np.int64))[1]
        return fits

    def extents(self, npus: IntArray) -> dict[tuple[Layout, str], IntArray]:
        """Return the (d, n) extent of each process group on (d, n) dimensions."""
        found: dict[tuple[Layout, str], IntArray] = {((), ALL): npus}
        for layout in {layout for layout, group, _ in self.channels if group != ALL}:
            laid, _ = lay_groups(npus, np.array([degree for _, degree in layout]))
            found |= {(layout, name): laid[g] for g, (name, _) in enumerate(layout)}
        return found

    def traffic(self, npus: IntArray) -> FloatArray:
        """Return (c, d, n) bytes per NPU and dimension, per byte of each channel; empty without channels of bytes."""
        patterns = [(layout, group, load) for layout, group, load in self.channels if isinstance(load, Pattern)]
        extents = self.extents(npus) if patterns else {}
        return np.array([unit_traffic(pattern, extents[layout, group]) for layout, group, pattern in patterns]).reshape(
            len(patterns), *npus.shape
        )

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
            traffic = self.traffic(designs.npus) if traffic is None else traffic
            return {channel: time_per_byte(traffic[c], bandwidth) for c, channel in enumerate(self.channels)}
        extents = self.extents(designs.npus)
        found: dict[Channel, FloatArray] = {}
        for layout, group, load in self.channels:
            assert isinstance(load, Operation), "only LIBRA's time merges collectives"  # noqa: S101 - our mistake
            extent = extents[layout, group]
            found[layout, group, load] = self.fidelity.seconds(load.collective, load.size, extent, designs)
        return found

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

    def program(self, traffic: FloatArray, low: FloatArray, high: FloatArray) -> Program:
        """Return the convex program of the best bandwidths in a box, without linear constraints, of LIBRA's time.

        The parameters are those of `Program`; `traffic` is that of `TimeModel.traffic`.

        Raises
        ------
        InputError : the time is another one.
        """
        if self.fidelity is not None:
            raise InputError("exact bandwidths and proofs are of LIBRA's time; that of the problem is another")
        size, base, races = np.zeros(len(self.channels)), 0.0, []
        for loop in self.loops:
            place = np.zeros((len(loop.time.streams), len(self.channels)))
            for s, stream in enumerate(loop.time.streams):
                place[s, self.channels.index(_channel(loop, stream))] = 1.0
            base += loop.weight * loop.time.compute
            size += loop.weight * (loop.time.size @ place)
            races += [Race(loop.weight * race.count, race.compute, race.size @ place) for race in loop.time.races]
        rows, limit = np.empty((0, *low.shape)), np.empty((0, low.shape[1]))
        equality = np.empty(0, dtype=np.bool_)
        return Program(base, size, traffic, np.zeros(low.shape), low, high, rows, limit, equality, tuple(races))
