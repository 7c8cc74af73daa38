"""Iteration time and cost of a population, in tiles that fit the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.model.allocation.program import Program
from evo_libra.model.arrays import BoolArray, FloatArray, IntArray
from evo_libra.model.collective import Pattern, time_per_byte, unit_traffic
from evo_libra.model.parallelism import ALL, lay_groups
from evo_libra.model.training import IterationTime, Race, Stream, iteration_time
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
    workload: Workload, degrees: Mapping[str, int], weight: float, overlap: str, npus: int
) -> WeightedLoop:
    """Compile a workload with its process groups."""
    complete = {**degrees, ALL: npus}
    return WeightedLoop(workload, complete, weight, iteration_time(workload, complete, overlap))


Layout = tuple[tuple[str, int], ...]
Channel = tuple[Layout, str, Pattern]
"""Traffic that costs the same time per byte whichever workload it belongs to."""


def _layout(loop: WeightedLoop) -> Layout:
    return tuple((name, degree) for name, degree in loop.degrees.items() if name != ALL)


def _channel(loop: WeightedLoop, stream: Stream) -> Channel:
    group, pattern = stream
    return (() if group == ALL else _layout(loop)), group, pattern


@dataclass(frozen=True)
class TimeModel:
    """Iteration time of all workloads together.

    Attributes
    ----------
    loops : the workloads.
    channels : the distinct traffic among them.
    """

    loops: tuple[WeightedLoop, ...]
    channels: tuple[Channel, ...]

    @staticmethod
    def of(loops: Sequence[WeightedLoop]) -> TimeModel:
        """Collect the channels of the loops."""
        channels = (_channel(loop, stream) for loop in loops for stream in loop.time.streams)
        return TimeModel(tuple(loops), tuple(dict.fromkeys(channels)))

    def fits(self, npus: IntArray) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold every process group."""
        fits = np.ones(npus.shape[1], dtype=np.bool_)
        for layout in {_layout(loop) for loop in self.loops}:
            fits &= lay_groups(npus, np.array([degree for _, degree in layout]))[1]
        return fits

    def extents(self, npus: IntArray) -> dict[tuple[Layout, str], IntArray]:
        """Return the (d, n) extent of each process group on (d, n) dimensions."""
        found: dict[tuple[Layout, str], IntArray] = {((), ALL): npus}
        for layout in {layout for layout, group, _ in self.channels if group != ALL}:
            laid, _ = lay_groups(npus, np.array([degree for _, degree in layout]))
            found |= {(layout, name): laid[g] for g, (name, _) in enumerate(layout)}
        return found

    def traffic(self, npus: IntArray) -> FloatArray:
        """Return (c, d, n) bytes per NPU and dimension, per byte of each channel."""
        extents = self.extents(npus)
        return np.array(
            [unit_traffic(pattern, extents[layout, group]) for layout, group, pattern in self.channels]
        ).reshape(len(self.channels), *npus.shape)

    def workload_times(self, traffic: FloatArray, bandwidth: FloatArray) -> list[FloatArray]:
        """Return (n,) seconds of each workload.

        Parameters
        ----------
        traffic : (c, d, n) from `traffic`.
        bandwidth : (d, n) B/s, above 0 also in unused dimensions.
        """
        per_byte = {channel: time_per_byte(traffic[c], bandwidth) for c, channel in enumerate(self.channels)}
        size = bandwidth.shape[1:]
        return [
            np.broadcast_to(loop.time([per_byte[_channel(loop, stream)] for stream in loop.time.streams]), size)
            for loop in self.loops
        ]

    def __call__(self, traffic: FloatArray, bandwidth: FloatArray) -> FloatArray:
        """Return (n,) weighted seconds of all workloads."""
        times = self.workload_times(traffic, bandwidth)
        return np.asarray(sum(loop.weight * time for loop, time in zip(self.loops, times, strict=True)))

    def program(self, traffic: FloatArray, low: FloatArray, high: FloatArray) -> Program:
        """Return the convex program of the best bandwidths in a box, without linear constraints.

        The parameters are those of `Program`; `traffic` is that of `TimeModel.traffic`.
        """
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
