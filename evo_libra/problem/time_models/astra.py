"""ASTRA-sim's time: collectives are cut into chunks, whose phases have latencies and wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, Schedule
from evo_libra.collective import Collective, Dispatch, NextStage, Pattern, SizedCollective
from evo_libra.network.blocks.block import Block
from evo_libra.network.fabric import Fabric
from evo_libra.problem.time_models.loops import Channel
from evo_libra.problem.time_models.time_model import Placement, TimeModel, by_block
from evo_libra.timing.fidelity import Fidelity
from evo_libra.workload.training import Message


@dataclass(frozen=True, kw_only=True)
class AstraTime(TimeModel):
    """Iteration time with chunks, latencies and a scheduler; `libra` is LIBRA's time of the same workloads."""

    collectives: Fidelity
    libra: TimeModel

    @property
    def fidelity(self) -> Fidelity | None:
        return self.collectives

    @property
    def lower_bound(self) -> TimeModel | None:
        """LIBRA's time, where chunks take the dimensions in order and cannot be faster.

        Each dimension must run one at a time, and a message have at least 2 ns of latency or delay, which outweighs
        that ASTRA-sim rounds it down.
        """
        return self.libra if self.collectives.bounded else None

    def channel_times(self, designs: Population, known: FloatArray | None = None) -> dict[Channel, FloatArray]:  # noqa: ARG002 - LIBRA's needs it
        placed = self.placed(designs.npus)
        found: dict[Channel, FloatArray] = {}
        for layout, group, load in self.channels:
            if isinstance(load, Message):
                found[layout, group, load] = self.collectives.message_seconds(load, self.reaching(designs))
                continue
            if isinstance(load, NextStage):
                found[layout, group, load] = self.seconds(load, load.size, placed[layout, group], designs)
                continue
            assert isinstance(load, SizedCollective), "only LIBRA's time merges collectives"  # noqa: S101 - our mistake
            found[layout, group, load] = self.seconds(load.collective, load.size, placed[layout, group], designs)
        return found

    def pinned(self, plan: Sequence[int]) -> TimeModel:
        return replace(self, loops=super().pinned(plan).loops, libra=self.libra.pinned(plan))

    def workload_times(self, designs: Population, traffic: FloatArray | None = None) -> list[FloatArray]:
        """Return (n,) seconds of each workload; messages have sizes of their own under each plan."""
        if not self.tables:
            return super().workload_times(designs, traffic)
        chosen, kind = np.unique(designs.plans, axis=1, return_inverse=True)
        times = [np.empty(len(designs)) for _ in self.loops]
        for k, plan in enumerate(chosen.T.tolist()):
            mine = np.flatnonzero(kind.ravel() == k)
            for time, found in zip(times, self.pinned(plan).workload_times(designs.select(mine)), strict=True):
                time[mine] = found
        return times

    def seconds(
        self, what: Collective | Dispatch | NextStage, size: float, placed: Placement, designs: Population
    ) -> FloatArray:
        share, designs = self._shares(placed, designs), self.reaching(designs)
        if isinstance(what, NextStage):
            return self.collectives.next_stage_seconds(round(size), placed.extent, placed.stride, designs, share)
        collective = Collective.ALL_TO_ALL if isinstance(what, Dispatch) else what
        return self.collectives.seconds(collective, round(size), placed.extent, designs, share)

    def _shares(self, placed: Placement, designs: Population) -> FloatArray | None:
        return by_block(self.kits, designs.technology, placed, designs.npus, _share) if self.kits else None

    def schedule(self, fabrics: Sequence[Fabric], block: IntArray) -> Schedule | None:
        return self.collectives.read(fabrics, block)

    def named(self, fabrics: list[Fabric], designs: Population) -> list[Fabric]:
        return self.collectives.named(fabrics, designs)

    def columns(self, designs: Population) -> dict[str, list[Any]]:
        return self.collectives.columns(designs)

    def traffic(self, npus: IntArray, technology: IntArray, plan: IntArray | None = None) -> FloatArray:  # noqa: ARG002 - LIBRA's needs it
        return np.empty((0, *npus.shape))


def _share(block: Block, extent: IntArray, stride: IntArray, size: IntArray) -> FloatArray:
    """Return which part of the bandwidth of its NPUs a group gets whose messages shrink."""
    return block.share(Pattern.SHRINKING, extent, stride, size)
