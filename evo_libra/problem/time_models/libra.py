"""LIBRA's time: every collective takes its bytes over the bandwidth, perfectly pipelined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, no_plans
from evo_libra.bandwidth.chains import Chains, chains_of, joined_chains
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.collective import (
    BeyondBytes,
    BytesAlone,
    Collective,
    Pattern,
    SizedByPlan,
    SizedCollective,
    WithoutLatency,
    pattern_of,
    time_per_byte,
    traffic,
    unit_traffic,
)
from evo_libra.errors import InputError
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.time_models.loops import Channel, WeightedLoop, channel_of
from evo_libra.problem.time_models.placement import Operation, Placement
from evo_libra.problem.time_models.registry import Loops, Network, TimeKind
from evo_libra.problem.time_models.time_model import NO_BANDWIDTH, TimeModel
from evo_libra.workload.layers.iteration_time import Load, Merging, Message, Overlap
from evo_libra.workload.parallelism import BEYOND, offsets

if TYPE_CHECKING:
    from evo_libra.timing.fidelity import Fidelity

ROUTING = "routes that meet on a link"
"""Limit of every time model here: every flow has the share of its links that its process group has."""


@dataclass(frozen=True)
class LibraTime(TimeModel):
    """Iteration time from bytes and bandwidths alone, for which the best bandwidths can be solved for."""

    @property
    def exact(self) -> bool:
        return True

    @property
    def title(self) -> str:
        return "LIBRA's time"

    @property
    def leaves_out(self) -> tuple[str, ...]:
        shared = () if self.kits else ("links that process groups share",)
        latency = "latency beyond the latency of serving software" if self.of_software.any() else "latency"
        return (latency, "chunks of collectives", *shared, ROUTING)

    @property
    def lower_bound(self) -> TimeModel | None:
        return self

    def fidelity_of(self, name: str) -> Fidelity:
        raise InputError(f"the time of '{name}' is LIBRA's, which has neither latency nor chunks; ASTRA-sim needs both")

    def traffic(self, npus: IntArray, technology: IntArray, plan: IntArray | None = None) -> FloatArray:
        """Return the bytes; a group that gets a share of the bandwidth counts as if it sent as many more.

        The factor of the time that software takes beyond bytes has the place of the first dimension.
        """
        placed, outside = self.placed(npus, plan), self.outside(technology)
        rows: dict[Channel, FloatArray] = {}
        for channel in self.channels:
            layout, name, load = channel
            if isinstance(load, BeyondBytes):
                rows[channel] = np.zeros(npus.shape)
                rows[channel][0] = self.link_factor(load, placed[layout, name], technology)
                continue
            whole = layout, name.removesuffix(BEYOND), load
            if whole not in rows:
                rows[whole] = self._traffic(load, placed[layout, name], npus, technology)
            if channel not in rows:
                # Of the group as a whole each dimension carries as many bytes.
                rows[channel] = np.zeros(npus.shape) if outside is None else np.where(outside, rows[whole], 0.0)
        return np.array([rows[channel] for channel in self.channels]).reshape(len(self.channels), *npus.shape)

    def _traffic(self, load: Load, placed: Placement, npus: IntArray, technology: IntArray) -> FloatArray:
        if isinstance(load, Message):
            return load.size * (offsets(load.source, load.target, npus) > 0) / self.reached(technology)
        single = SizedCollective | SizedByPlan | BeyondBytes | BytesAlone | WithoutLatency
        assert not isinstance(load, single), "LIBRA's time merges collectives"  # noqa: S101 - internal error
        pattern = pattern_of(load) if isinstance(load, Collective) else load
        return unit_traffic(pattern, placed.extent) * self.relative_bytes(load, placed, npus, technology)

    def channel_times(self, designs: Population, known: FloatArray | None = None) -> dict[Channel, FloatArray]:
        bandwidth = np.maximum(designs.bandwidth, NO_BANDWIDTH)
        rows = self.traffic(designs.npus, designs.technology, designs.plan) if known is None else known
        times = (rows / bandwidth).max(axis=1)
        times[self.of_software] = rows[self.of_software, 0]
        return dict(zip(self.channels, times, strict=True))

    def seconds(self, what: Operation, size: FloatArray | float, placed: Placement, designs: Population) -> FloatArray:
        if isinstance(what, Collective):
            sent = traffic(what, size, placed.extent)
        else:
            sent = unit_traffic(what, placed.extent) * size
        sent = sent * self.relative_bytes(what, placed, designs.npus, designs.technology)
        return time_per_byte(sent, np.maximum(designs.bandwidth, NO_BANDWIDTH))

    def program(
        self, traffic: FloatArray, low: FloatArray, high: FloatArray, plan: IntArray | None = None
    ) -> BandwidthProgram:
        base: FloatArray | float = np.zeros(1)
        size, plans = np.zeros((len(self.channels), 1)), no_plans(0) if plan is None else plan
        software = traffic[self.of_software, 0]
        traffic = np.where(self.of_software[:, None, None], 0.0, traffic)
        races, chains = list[Overlap](), list[Chains]()
        for loop in self.loops:
            found = loop.time.linear(loop.weight, self._place(loop), plans[loop.rows])
            base, size = base + found.compute, size + found.size
            base = base + (found.size[self.of_software] * software).sum(axis=0) if len(software) else base
            pairs = [*found.chained, *(_chained(race) for race in found.races if len(software))]
            races += [] if len(software) else found.races
            if pairs:
                pairs = [(compute + self._software(size, software), size) for compute, size in pairs]
                chains.append(joined_chains([_chains(*race) for race in pairs]))
        chains.append(chains_of([races], len(size)))
        rows, limit = np.empty((0, *low.shape)), np.empty((0, low.shape[1]))
        equality = np.empty(0, dtype=np.bool_)
        return BandwidthProgram(
            base=np.asarray(base), size=size, traffic=traffic, price=np.zeros(low.shape), low=low, high=high, rows=rows,
            limit=limit, equality=equality, chains=joined_chains(chains),
        )  # fmt: skip

    def _software(self, size: FloatArray, software: FloatArray) -> FloatArray | float:
        """Return (k, n) s of software of k chains with (k, c, n) units."""
        return (size[:, self.of_software] * software).sum(axis=1) if len(software) else 0.0

    def _place(self, loop: WeightedLoop) -> FloatArray:
        """Return (s, c) 1 where a stream of a workload is of a channel."""
        place = np.zeros((len(loop.time.streams), len(self.channels)))
        for s, stream in enumerate(loop.time.streams):
            place[s, self.channels.index(channel_of(loop, stream))] = 1.0
        return place


def _chained(race: Overlap) -> tuple[FloatArray, FloatArray]:
    """Return the (k, 1) seconds and (k, c, 1) units of the chains of an overlap, all its repetitions together."""
    return race.count * np.array(race.compute)[:, None], race.count * race.size[:, :, None]


def _chains(compute: FloatArray, size: FloatArray) -> Chains:
    """Return the chains of an overlap under the plans of designs."""
    return Chains(compute[None], size[None], np.ones((1, len(compute), 1), dtype=np.bool_))


def libra_time(loops: Loops, network: Network) -> LibraTime:
    """Return LIBRA's time of workloads."""
    return LibraTime(tuple(loop.of_links(network.links) for loop in loops(_merging(network.kits))), *network)


def _merging(kits: Sequence[Kit | PricedBlock]) -> Merging:
    """Return which collectives are one stream."""
    both = np.array([2])
    reduces = any(BLOCKS[kit.block].traffic_factor(Pattern.SHRINKING, 2 * both)[0] < 1 for kit in kits)
    return Merging.COLLECTIVE if reduces else Merging.PATTERN


KIND = TimeKind(lambda *_: libra_time, lacks="LIBRA's time has bandwidth only", solves=True, servers=True)
"""LIBRA's time in problem files."""
