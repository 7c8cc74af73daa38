"""The interface of a time model, the workloads that it times, and their process groups on networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Self

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, columns
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.collective import (
    BeyondBytes,
    BytesAlone,
    Dispatch,
    NextStage,
    Pattern,
    PushPull,
    Streamed,
    WithoutLatency,
    time_per_byte,
    unit_traffic,
)
from evo_libra.errors import InputError
from evo_libra.problem.time_models.loops import (
    Channel,
    Times,
    WeightedLoop,
    channel_of,
    operation_of,
    sent_by,
)
from evo_libra.problem.time_models.placement import (
    Operation,
    Placement,
    placed_channels,
)
from evo_libra.problem.time_models.reached_links import ReachedLinks
from evo_libra.timing.quirks import Warned
from evo_libra.timing.schedule_choices import NoSchedules, Schedules
from evo_libra.workload.layers.iteration_time import Message
from evo_libra.workload.parallelism import Layout, offsets

if TYPE_CHECKING:
    from evo_libra.timing.fidelity import Fidelity


NO_BANDWIDTH = 1e-30
"""B/s of a dimension without any: an unused one has no traffic and so no time, any other one takes forever."""


@dataclass(frozen=True)
class TimeModel(ReachedLinks, ABC):
    """Iteration time of all workloads together."""

    @property
    def exact(self) -> bool:
        """Whether the best bandwidths can be solved for, and proven to be the best."""
        return False

    @property
    def predicts_astra_sim(self) -> bool:
        """Whether its times are those of ASTRA-sim, so that designs can be exported and quirks of it concern them."""
        return False

    @property
    @abstractmethod
    def title(self) -> str:
        """Its name in a sentence."""

    @property
    @abstractmethod
    def leaves_out(self) -> tuple[str, ...]:
        """Properties of a network that it does not know, as parts of a sentence."""

    @abstractmethod
    def seconds(self, what: Operation, size: FloatArray | float, placed: Placement, designs: Population) -> FloatArray:
        """Return (n,) seconds of a collective of some bytes among process groups, or of a step's other traffic.

        The bytes are a number or (n,).
        """

    @property
    def lower_bound(self) -> TimeModel | None:
        """An exact time model that is nowhere slower; None where there is none."""
        return None

    @property
    def schedules(self) -> Schedules:
        """Open settings of collectives."""
        return NoSchedules(self.title)

    def fidelity_of(self, name: str) -> Fidelity:
        """Return how ASTRA-sim is to run and time collectives; an `InputError` says that a problem has no such time."""
        raise InputError(f"the time of '{name}' is {self.title}, which ASTRA-sim does not have")

    def warnings(self, designs: Population) -> list[Warned]:  # noqa: ARG002 - some models need it
        """Return the quirks of ASTRA-sim that concern some of the designs, in the order of their table."""
        return []

    def traffic(
        self,
        npus: IntArray,
        technology: IntArray,  # noqa: ARG002 - some models need it
        plan: IntArray | None = None,  # noqa: ARG002 - the same
    ) -> FloatArray:
        """Return the figures for `channel_times` that bandwidths do not change; the design axis is the last one.

        Those of an exact time are (c, d, n) bytes per NPU and dimension, per unit of each channel.
        """
        return np.empty((0, *npus.shape))

    def alone(self, place: int) -> Self:
        """Return the time model of one of the workloads that leave plans open; designs have its plans alone."""
        return replace(self, loops=(self.open_loops[place].alone(),))

    def apart(self) -> Iterator[tuple[slice, list[Channel], Self]]:
        """Yield the rows of plans, the channels and the time of each workload with open plans, then of all others.

        The channels are those of this model, in the order of those of the other one.
        """
        closed = tuple(loop for loop in self.loops if loop.open_place is None)
        models: list[tuple[slice, tuple[WeightedLoop, ...], Self]] = [
            (loop.rows, (loop,), self.alone(loop.place)) for loop in self.open_loops
        ]
        models += [(slice(0, 0), closed, replace(self, loops=closed))] if closed else []
        for rows, loops, model in models:
            yield rows, list(dict.fromkeys(channel_of(loop, s) for loop in loops for s in loop.time.streams)), model

    def pinned(self, plan: Sequence[int]) -> Self:
        """Return the time model of the workloads under one plan of each table."""
        return replace(self, loops=tuple(loop.pinned(plan) for loop in self.loops))

    def with_switch_latency(self, technology: int, latency: float) -> Self:  # noqa: ARG002 - some models need it
        """Return the time model in which passing a switch of a technology takes some seconds, if latency counts."""
        return self

    def channel_times(
        self,
        designs: Population,
        traffic: FloatArray | None = None,  # noqa: ARG002 - some models need it
    ) -> dict[Channel, FloatArray]:
        """Return (n,) seconds per unit of each channel; `traffic` is that of the designs, where it is known.

        Here the channels are single operations and messages, as `Merging.NONE` compiles them, one after the other.
        """
        placed = self.placed(designs.npus, designs.plan, designs.technology)
        return {channel: self._operation_times(channel, placed, designs) for channel in self.channels}

    def channel_seconds(self, channel: Channel, designs: Population) -> FloatArray:
        """Return (n,) seconds of a single operation, or per unit, of a channel that need be none of the workloads'."""
        outside = self.outside(designs.technology)
        placed = placed_channels((channel,), designs.npus, self.tables, designs.plan, outside)
        return self._operation_times(channel, placed, designs)

    def _operation_times(
        self, channel: Channel, placed: Mapping[tuple[Layout, str], Placement], designs: Population
    ) -> FloatArray:
        """Return (n,) seconds of one operation of a channel; 0 where the plan of a design sends none."""
        layout, group, load = channel
        if isinstance(load, Message):
            return self.message_seconds(load, designs)
        if isinstance(load, BeyondBytes):
            return self.link_factor(load, placed[layout, group], designs.technology)
        if isinstance(load, BytesAlone | WithoutLatency):
            return self.measured_seconds(channel, placed[layout, group], designs)
        (size, sending), where = sent_by(channel, designs), placed[layout, group]
        found, some = np.zeros(len(designs)), designs.select(sending)
        mine = where.select(sending)
        what = operation_of(load)
        found[sending] = self.seconds(what, size * mine.share_of(what), mine, some)
        return found

    def measured_seconds(self, channel: Channel, placed: Placement, designs: Population) -> FloatArray:
        """Return (n,) seconds of bytes or of an operation whose latency a measured time contains.

        Here that is the time of the operation, or that of LIBRA for the bytes.
        """
        layout, group, load = channel
        if isinstance(load, WithoutLatency):
            return self._operation_times((layout, group, load.load), {(layout, group): placed}, designs)
        assert isinstance(load, BytesAlone), "others have latencies"  # noqa: S101 - internal error
        return self.pattern_seconds(load.pattern, placed, designs)

    def pattern_seconds(
        self, pattern: Pattern | NextStage | Dispatch | PushPull | Streamed, placed: Placement, designs: Population
    ) -> FloatArray:
        """Return (n,) seconds of a byte of a pattern at the bandwidth alone."""
        sent = unit_traffic(pattern, placed.extent)
        sent = sent * self.relative_bytes(pattern, placed, designs.npus, designs.technology)
        return time_per_byte(sent, np.maximum(designs.bandwidth, NO_BANDWIDTH))

    def message_seconds(self, message: Message, designs: Population) -> FloatArray:
        """Return (n,) seconds of a message of a trace; here those between neighbours that lie as far apart."""
        apart = offsets(message.source, message.target, designs.npus)
        pair = Placement(np.where(apart > 0, 2, 1), np.maximum(apart, 1))
        return self.seconds(NextStage(), float(message.size), pair, designs)

    def program(
        self,
        traffic: FloatArray,  # noqa: ARG002 - exact ones need it
        low: FloatArray,  # noqa: ARG002 - the same
        high: FloatArray,  # noqa: ARG002 - the same
        plan: IntArray | None = None,  # noqa: ARG002 - the same
    ) -> BandwidthProgram:
        """Return the convex program of the best bandwidths in a box, without linear constraints.

        An `InputError` says that the time is not exact, or that a workload is a trace.
        """
        raise InputError("exact bandwidths and proofs are of LIBRA's time; that of the problem is another")

    def workload_times(self, designs: Population, traffic: FloatArray | None = None) -> list[FloatArray]:
        """Return (n,) seconds of each workload; the parameters are those of `channel_times`."""
        return self.times(designs, traffic).workloads

    def times(self, designs: Population, traffic: FloatArray | None = None) -> Times:
        """Return the times of designs; the parameters are those of `channel_times`."""
        per_unit = self.channel_times(designs, traffic)
        return self.times_of([per_unit[channel] for channel in self.channels], designs.plans)

    def times_of(self, per_unit: Sequence[FloatArray], plan: IntArray) -> Times:
        """Return the times of designs from (n,) seconds per unit of each of `channels`, under (w, n) plans."""
        shape, found = (plan.shape[1],), Times([], [], [])
        for kind, time, places, mine in self._calls:
            seconds = time([per_unit[place] for place in places], *plan[mine])
            vars(found)[kind].append(seconds if seconds.shape == shape else np.broadcast_to(seconds, shape))
        return found

    @cached_property
    def _calls(self) -> list[tuple[str, Callable[..., FloatArray], list[int], slice]]:
        """Every time: the list of `Times` that it belongs to, the places of its streams, and that of its plan."""
        place = {channel: c for c, channel in enumerate(self.channels)}
        return [
            (kind, time, [place[channel_of(loop, stream)] for stream in time.streams], loop.rows)
            for loop in self.loops
            for kind, time in loop.timed
        ]

    def tokens(self, designs: Population) -> list[FloatArray]:
        """Return (n,) or (1,) tokens of an iteration of each workload, under the plans of designs."""
        found = [np.zeros(1) if loop.tokens is None else loop.tokens for loop in self.loops]
        plans = [designs.plans[loop.rows] for loop in self.loops]
        return [
            columns(tokens, plan[0]) if len(tokens) > 1 else tokens for tokens, plan in zip(found, plans, strict=True)
        ]

    def groups_that_answer(self, designs: Population) -> list[IntArray]:
        """Return (2, k, n) or (2, k, 1) groups of each workload that is served, and NPUs of each, under plans."""
        known = [(loop.workload.groups_that_answer, designs.plans[loop.rows]) for loop in self.loops]
        return [columns(each, plan[0]) if each.shape[-1] > 1 else each for each, plan in known if each is not None]

    def __call__(self, designs: Population, traffic: FloatArray | None = None) -> FloatArray:
        """Return (n,) weighted seconds of all workloads; the parameters are those of `channel_times`."""
        return self.weighted(self.workload_times(designs, traffic))

    def weighted(self, times: Sequence[FloatArray]) -> FloatArray:
        """Return (n,) weighted seconds of all workloads, from those of each."""
        pairs = zip(self.loops, times, strict=True)
        return reduce(np.add, [time if loop.weight == 1 else loop.weight * time for loop, time in pairs])
