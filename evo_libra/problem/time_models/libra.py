"""LIBRA's time: every collective takes its bytes over the bandwidth, perfectly pipelined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, Schedule
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.collective import Collective, SizedCollective, pattern_of, time_per_byte, traffic, unit_traffic
from evo_libra.errors import InputError
from evo_libra.network.fabric import Fabric
from evo_libra.problem.time_models.time_model import Channel, Load, Placement, TimeModel, channel_of
from evo_libra.workload.parallelism import offsets
from evo_libra.workload.training import IterationTime, Message, Race


@dataclass(frozen=True)
class LibraTime(TimeModel):
    """Iteration time from bytes and bandwidths alone, for which the best bandwidths can be solved for."""

    @property
    def exact(self) -> bool:
        return True

    @property
    def lower_bound(self) -> TimeModel | None:
        return self

    def traffic(self, npus: IntArray, technology: IntArray) -> FloatArray:
        """Return the bytes; a group that gets a share of the bandwidth counts as if it sent as many more."""
        placed = self.placed(npus)
        rows = [self._traffic(load, placed[layout, group], npus, technology) for layout, group, load in self.channels]
        return np.array(rows).reshape(len(rows), *npus.shape)

    def _traffic(self, load: Load, placed: Placement, npus: IntArray, technology: IntArray) -> FloatArray:
        if isinstance(load, Message):
            return np.asarray(load.size * (offsets(load.source, load.target, npus) > 0), dtype=np.float64)
        assert not isinstance(load, SizedCollective), "LIBRA's time merges collectives"  # noqa: S101 - our mistake
        collective = load if isinstance(load, Collective) else Collective.ALL_REDUCE
        pattern = pattern_of(load) if isinstance(load, Collective) else load
        unit = unit_traffic(pattern, placed.extent)
        return unit * self.relative_bytes(collective, placed, npus, technology, pattern)

    def channel_times(self, designs: Population, known: FloatArray | None = None) -> dict[Channel, FloatArray]:
        # An unused dimension has no traffic, so any bandwidth above 0 gives it no time.
        bandwidth = np.where(designs.bandwidth > 0, designs.bandwidth, 1.0)
        rows = self.traffic(designs.npus, designs.technology) if known is None else known
        return {channel: time_per_byte(rows[c], bandwidth) for c, channel in enumerate(self.channels)}

    def seconds(self, collective: Collective, size: float, placed: Placement, designs: Population) -> FloatArray:
        sent = traffic(collective, size, placed.extent)
        sent = sent * self.relative_bytes(collective, placed, designs.npus, designs.technology)
        return time_per_byte(sent, np.where(designs.bandwidth > 0, designs.bandwidth, 1.0))

    def schedule(self, fabrics: Sequence[Fabric], block: IntArray) -> Schedule | None:  # noqa: ARG002 - others need it
        for fabric in fabrics:
            if fabric.options:
                raise InputError(f"the design '{fabric}' has options; under LIBRA's time there are none")
        return None

    def program(self, traffic: FloatArray, low: FloatArray, high: FloatArray) -> BandwidthProgram:
        size, base, races = np.zeros(len(self.channels)), 0.0, []
        for loop in self.loops:
            if not isinstance(loop.time, IterationTime):
                name = loop.workload.name
                raise InputError(f"exact bandwidths and proofs are of training loops; the workload '{name}' is a trace")
            place = np.zeros((len(loop.time.streams), len(self.channels)))
            for s, stream in enumerate(loop.time.streams):
                place[s, self.channels.index(channel_of(loop, stream))] = 1.0
            base += loop.weight * loop.time.compute
            size += loop.weight * (loop.time.size @ place)
            races += [Race(loop.weight * race.count, race.compute, race.size @ place) for race in loop.time.races]
        rows, limit = np.empty((0, *low.shape)), np.empty((0, low.shape[1]))
        equality = np.empty(0, dtype=np.bool_)
        return BandwidthProgram(
            base, size, traffic, np.zeros(low.shape), low, high, rows, limit, equality, tuple(races)
        )
