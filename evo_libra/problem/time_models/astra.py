"""ASTRA-sim's time: collectives are cut into chunks, whose phases have latencies and wait for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Self

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, columns
from evo_libra.collective import (
    BeyondBytes,
    BytesAlone,
    Collective,
    Dispatch,
    NextStage,
    Pattern,
    PushPull,
    SizedByPlan,
    Streamed,
    WithoutLatency,
)
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.time_models.libra import ROUTING
from evo_libra.problem.time_models.loops import Channel, bytes_of, operation_of, sent_by
from evo_libra.problem.time_models.placement import Figure, Operation, Placement, by_block
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.timing.fidelity import Fidelity
from evo_libra.timing.phase_dimensions import OPTICAL
from evo_libra.timing.quirks import Warned
from evo_libra.timing.schedule_choices import Schedules
from evo_libra.workload.layers.iteration_time import Message
from evo_libra.workload.parallelism import Layout, offsets

_MEASURED = (BeyondBytes, BytesAlone, WithoutLatency)
"""Channels of serving, whose software has measured times."""


@dataclass(frozen=True, kw_only=True)
class AstraTime(TimeModel):
    """Iteration time with chunks, latencies and a scheduler; `libra` is LIBRA's time of the same workloads."""

    collectives: Fidelity
    libra: TimeModel

    @property
    def predicts_astra_sim(self) -> bool:
        return True

    @property
    def schedules(self) -> Schedules:
        return self.collectives

    def fidelity_of(self, name: str) -> Fidelity:  # noqa: ARG002 - other models need it
        return self.collectives

    def warnings(self, designs: Population) -> list[Warned]:
        from evo_libra.problem.time_models.astra_quirks import quirks_of  # noqa: PLC0415 - most evaluations show none

        return quirks_of(self, designs)

    @property
    def title(self) -> str:
        return "ASTRA-sim's time"

    @property
    def leaves_out(self) -> tuple[str, ...]:
        shared = () if self.kits else ("links that process groups share",)
        return (*shared, ROUTING)

    @property
    def lower_bound(self) -> TimeModel | None:
        """LIBRA's time, where chunks take the dimensions in order and cannot be faster.

        Each dimension must run one at a time, and a message have at least 2 ns of latency or delay, which outweighs
        that ASTRA-sim rounds it down.
        """
        return self.libra if self.collectives.bounded else None

    def message_seconds(self, message: Message, designs: Population) -> FloatArray:
        apart = 1 + offsets(message.source, message.target, designs.npus)
        setting = self._setting(Placement(apart, np.ones_like(apart)), designs)
        return setting + self.collectives.message_seconds(message, self.reaching(designs))

    def channel_times(self, designs: Population, traffic: FloatArray | None = None) -> dict[Channel, FloatArray]:
        sent = [(channel, channel[2]) for channel in self.channels]
        found = {channel: self.message_seconds(load, designs) for channel, load in sent if isinstance(load, Message)}
        measured = [channel for channel, load in sent if isinstance(load, _MEASURED)]
        if measured:
            where = self.placed(designs.npus, designs.plan, designs.technology)
            found |= {channel: self._operation_times(channel, where, designs) for channel in measured}
        if self.tables:
            placed = self.placed(designs.npus, designs.plan, designs.technology)
            for runs in self._alike:
                found.update(self._together(runs, placed, designs))
            return found
        figures = self.traffic(designs.npus, designs.technology) if traffic is None else traffic
        for runs, places in zip(self._alike, self._places, strict=True):
            found.update(self._sent_by_all(runs, figures[:, :, places], designs))
        return found

    def measured_seconds(self, channel: Channel, placed: Placement, designs: Population) -> FloatArray:
        """Return the time of an operation without that of one whose chunks have a byte, or that of bytes in LIBRA.

        It is never less than that of its bytes: latencies of chunks may run alongside the bytes of others.
        """
        layout, group, load = channel
        if not isinstance(load, WithoutLatency):
            return super().measured_seconds(channel, placed, designs)
        (size, sending), what = sent_by((layout, group, load.load), designs), operation_of(load.load)
        found, some, mine = np.zeros(len(designs)), designs.select(sending), placed.select(sending)
        bytes_ = size * mine.share_of(what)
        least = np.full(len(sending), float(max(self.collectives.chunks)))
        whole, latency = (self.seconds(what, each, mine, some) for each in (bytes_, least))
        found[sending] = np.maximum(whole - latency, self.libra.seconds(what, bytes_, mine, some))
        return found

    def _sent_by_all(
        self, runs: Mapping[Collective | NextStage, Sequence[Channel]], figures: FloatArray, designs: Population
    ) -> dict[Channel, FloatArray]:
        """Return (n,) seconds of one operation of each of c channels that all designs send, from (6, d, c, n) figures.

        All are timed together, as in `_together`.
        """
        channels, count = _in_turn(runs), len(designs)
        figures = _joined(figures)
        extent, stride = figures[:2].astype(np.int64)
        size = np.repeat([bytes_of(load) for _, _, load in channels], count) * figures[5, 0]
        parts = dict(zip(runs, _slices([len(mine) * count for mine in runs.values()]), strict=True))
        every = designs.select(np.tile(np.arange(count), len(channels)))
        share, latencies = (figures[2], (figures[3], figures[4])) if self.kits else (None, None)
        times = self._timed(
            parts, size, placed=Placement(extent, stride), designs=every, share=share, latencies=latencies
        )
        return dict(zip(channels, times.reshape(-1, count), strict=True))

    @cached_property
    def _alike(self) -> list[dict[Collective | NextStage, list[Channel]]]:
        """The channels of collectives, and those of messages to the next stage, by what runs."""
        found: tuple[dict[Collective | NextStage, list[Channel]], ...] = ({}, {})
        for channel in self.channels:
            if not isinstance(channel[2], (Message, *_MEASURED)):
                what = operation_of(channel[2])
                found[isinstance(what, NextStage)].setdefault(what, []).append(channel)
        return [runs for runs in found if runs]

    @cached_property
    def _places(self) -> list[slice]:
        """Index of the channels of each of `_alike` among all of them."""
        return _slices([len(_in_turn(runs)) for runs in self._alike])

    def _together(
        self,
        runs: Mapping[Collective | NextStage, Sequence[Channel]],
        placed: Mapping[tuple[Layout, str], Placement],
        designs: Population,
    ) -> dict[Channel, FloatArray]:
        """Return (n,) seconds of one operation of each channel; 0 where a plan sends none.

        All are timed together, whatever their groups and sizes, as designs of one population: fewer calls take less.
        """
        channels = _in_turn(runs)
        sent = [sent_by(channel, designs) for channel in channels]
        size, design = (np.concatenate(arrays) for arrays in zip(*sent, strict=True))
        found = {channel: np.zeros(len(designs)) for channel in channels}
        if not len(size):
            return found
        lie = [placed[channel[:2]].select(mine) for channel, (_, mine) in zip(channels, sent, strict=True)]
        extent, stride = (np.concatenate([getattr(one, name) for one in lie], axis=1) for name in ("extent", "stride"))
        parts = [one.share_of(operation_of(load)) for one, (_, _, load) in zip(lie, channels, strict=True)]
        size = size * np.concatenate(
            [np.broadcast_to(part, len(mine)) for part, (_, mine) in zip(parts, sent, strict=True)]
        )
        borders = _slices([len(mine) for _, mine in sent])
        each = [borders[places] for places in _slices([len(mine) for mine in runs.values()])]
        together = {what: slice(mine[0].start, mine[-1].stop) for what, mine in zip(runs, each, strict=True)}
        times = self._seconds(together, size, Placement(extent, stride), designs.select(design))
        for channel, (_, mine), border in zip(channels, sent, borders, strict=True):
            found[channel][mine] = times[border]
        return found

    def pinned(self, plan: Sequence[int]) -> Self:
        return replace(self, loops=super().pinned(plan).loops, libra=self.libra.pinned(plan))

    def physical(self, technologies: int) -> Self:
        fidelity = self.collectives
        latency = np.repeat(fidelity.latency, len(BLOCKS))
        return replace(
            super().physical(technologies), collectives=replace(fidelity, latency=latency),
            libra=self.libra.physical(technologies),
        )  # fmt: skip

    def with_switch_latency(self, technology: int, latency: float) -> Self:
        kits = list(self.collectives.kits)
        kit = kits[technology]
        if kit.switch is not None:
            kits[technology] = replace(kit, switch=replace(kit.switch, latency=latency))
        return replace(self, collectives=replace(self.collectives, kits=tuple(kits)))

    def seconds(self, what: Operation, size: FloatArray | float, placed: Placement, designs: Population) -> FloatArray:
        assert not isinstance(what, PushPull | Streamed), "the loader refuses servers under this time"  # noqa: S101 - internal error
        run = Collective.ALL_TO_ALL if isinstance(what, Dispatch) else what
        return self._seconds({run: slice(0, len(designs))}, size, placed, designs)

    def _seconds(
        self,
        runs: Mapping[Collective | NextStage, slice],
        size: FloatArray | float,
        placed: Placement,
        designs: Population,
    ) -> FloatArray:
        """Return (n,) seconds of collectives that run in some designs each, or of messages to the next stage."""
        shares = self._shares(placed, designs.npus, designs.technology, _share_of(runs))
        return self._timed(runs, size, placed, designs, shares)

    def _timed(
        self,
        runs: Mapping[Collective | NextStage, slice],
        size: FloatArray | float,
        placed: Placement,
        designs: Population,
        share: FloatArray | None,
        latencies: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return the (n,) seconds of `_seconds`, where the (d, n) shares are known, and the latencies may be."""
        designs = self.reaching(designs)
        whole = np.rint(size).astype(np.int64)
        setting, time = self._setting(placed, designs), self.collectives
        collectives = {what: part for what, part in runs.items() if isinstance(what, Collective)}
        if collectives:
            return setting + time.several_seconds(
                collectives, whole, extent=placed.extent, designs=designs, share=share, stride=placed.stride,
                latencies=latencies,
            )  # fmt: skip
        return setting + time.next_stage_seconds(
            whole, placed.extent, stride=placed.stride, designs=designs, share=share, latencies=latencies
        )

    def _setting(self, placed: Placement, designs: Population) -> FloatArray:
        """Return (n,) s until the circuits of groups are there: those of other groups are, wherever there are any."""
        if not self.collectives.ocs_setting:
            return np.zeros(len(designs))
        optical = OPTICAL[designs.block] & (placed.extent > 1)
        if not optical.any():
            return np.zeros(len(designs))
        return np.where((optical & self._shared(designs)).any(axis=0), self.collectives.ocs_setting, 0.0)

    def _shared(self, designs: Population) -> BoolArray:
        """Return (d, n) in which dimensions traffic needs circuits of several kinds, over the workloads together.

        A group needs the ring of its NPUs, whatever it runs. Messages need links to the NPU at a fixed distance, one
        from each NPU, which all those over the same distance have at a time.
        """
        lie, shape = self.placed(designs.npus, designs.plan), designs.npus.shape
        limits = np.iinfo(np.int64)
        least, most = np.full(shape, limits.max), np.full(shape, limits.min)
        for layout, group, load in self.channels:
            if isinstance(load, Message):
                kind = -offsets(load.source, load.target, designs.npus)  # below those of groups
                used = kind < 0
            elif isinstance(load, BeyondBytes):
                continue
            else:
                one = lie[layout, group]
                kind, used = one.stride * designs.npus + one.extent, one.extent > 1
            load = load.load if isinstance(load, WithoutLatency) else load  # noqa: PLW2901 - what runs
            if isinstance(load, SizedByPlan):
                used &= columns(load.sent, designs.plans[layout[0][1]])
            least, most = np.where(used, np.minimum(least, kind), least), np.where(used, np.maximum(most, kind), most)
        return most > least

    def _shares(self, placed: Placement, npus: IntArray, technology: IntArray, of: Figure) -> FloatArray | None:
        return by_block(self.kits, self.kin, technology, placed=placed, npus=npus, of=of) if self.kits else None

    def traffic(self, npus: IntArray, technology: IntArray, plan: IntArray | None = None) -> FloatArray:
        """Return (6, d, c, n) figures of the groups of channels, and of links, that bandwidths do not change.

        These are how many NPUs of a dimension belong to a group and how far apart they are, the share of the bandwidth
        that it gets, the latencies of a link and below the leaf switches in ns, and the share of its bytes. Channels
        are in the order in which `_alike` has them. If plans are open there are none, as few designs send what a
        channel does.
        """
        channels = [channel for runs in self._alike for channel in _in_turn(runs)]
        if self.tables or not channels:
            return np.empty((0, *npus.shape))
        placed = self.placed(npus, plan, technology)
        lie = [placed[layout, group] for layout, group, _ in channels]
        found = np.empty((6, len(npus), len(channels), npus.shape[1]))
        found[0], found[1] = (np.stack([getattr(one, name) for one in lie], axis=1) for name in ("extent", "stride"))
        for runs, places in zip(self._alike, self._places, strict=True):
            mine, count = Placement(*_joined(found[:2, :, places]).astype(np.int64)), places.stop - places.start
            sizes, kinds = (np.tile(array, count) for array in (npus, technology))
            share = self._shares(mine, sizes, kinds, _share_of(runs))
            found[2, :, places] = 1.0 if share is None else share.reshape(len(npus), count, -1)
        link, leaf = self.collectives.latencies(npus, technology)
        found[3], found[4] = link[:, None], leaf[:, None]
        parts = [one.share_of(operation_of(load)) for one, (_, _, load) in zip(lie, channels, strict=True)]
        found[5] = np.stack([np.broadcast_to(part, npus.shape) for part in parts], axis=1)
        return found


def _in_turn(runs: Mapping[Collective | NextStage, Sequence[Channel]]) -> list[Channel]:
    """Return the channels of all that runs."""
    return [channel for mine in runs.values() for channel in mine]


def _slices(lengths: Sequence[int]) -> list[slice]:
    """Return where parts of some lengths are that follow each other."""
    ends = list(accumulate(lengths))
    return [slice(end - length, end) for length, end in zip(lengths, ends, strict=True)]


def _joined(figures: FloatArray) -> FloatArray:
    """Return (..., c n) figures of all channels in turn, from (..., c, n)."""
    return figures.reshape(*figures.shape[:-2], -1)


def _share_of(runs: Mapping[Collective | NextStage, object]) -> Figure:
    """Return the share of the bandwidth that what runs gets."""
    return _share if any(isinstance(what, Collective) for what in runs) else _next_share


def _share(block: Block, extent: IntArray, stride: IntArray, size: IntArray) -> FloatArray:
    """Return which part of the bandwidth of its NPUs a group gets whose messages shrink."""
    return block.share(Pattern.SHRINKING, extent, stride, size)


def _next_share(block: Block, extent: IntArray, stride: IntArray, size: IntArray) -> FloatArray:
    """Return the share of messages to the next NPU of a group."""
    return block.next_share(extent, stride, size)
