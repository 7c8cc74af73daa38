"""A time model of another package: a latency in each dimension of a group, and the bytes over the bandwidth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.collective import Collective, traffic, unit_traffic
from evo_libra.problem.time_models.placement import Operation, Placement
from evo_libra.problem.time_models.registry import Loops, Network, TimeKind
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.workload.layers.iteration_time import Merging

ALPHA = 1e-6


@dataclass(frozen=True)
class AlphaBeta(TimeModel):
    @property
    def title(self) -> str:
        return "the alpha-beta time"

    @property
    def leaves_out(self) -> tuple[str, ...]:
        return ("chunks of collectives",)

    def seconds(self, what: Operation, size: FloatArray | float, placed: Placement, designs: Population) -> FloatArray:
        each = traffic(what, size, placed.extent) if isinstance(what, Collective) else unit_traffic(what, placed.extent)
        sent = each if isinstance(what, Collective) else each * size
        sent = sent * self.relative_bytes(what, placed, designs.npus, designs.technology)
        rate = np.where(designs.bandwidth > 0, designs.bandwidth, 1.0)
        return np.asarray(((placed.extent > 1) * ALPHA + sent / rate).sum(axis=0))


def _make(loops: Loops, network: Network) -> AlphaBeta:
    return AlphaBeta(tuple(loops(Merging.NONE)), *network)


KIND = TimeKind(lambda *_: _make)
