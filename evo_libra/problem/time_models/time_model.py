"""The interface of a time model, the workloads that it times, and their process groups on networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Self

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, columns
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
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.collective_latency import KINDS, link_factor
from evo_libra.problem.time_models.loops import (
    OPEN,
    Channel,
    OpenLoop,
    Times,
    WeightedLoop,
    channel_of,
    operation_of,
    sent_by,
)
from evo_libra.problem.time_models.placement import (
    Operation,
    Placement,
    by_block,
    kin_of,
    placed_channels,
    placed_plans,
    relative_figure,
)
from evo_libra.timing.quirks import Warned
from evo_libra.timing.schedule_choices import NoSchedules, Schedules
from evo_libra.workload.layers.iteration_time import Message
from evo_libra.workload.parallelism import HOLDS, Layout, lay_layout, offsets

if TYPE_CHECKING:
    from evo_libra.timing.fidelity import Fidelity
    from evo_libra.workload.plans.plan_table import PlanTable


NO_BANDWIDTH = 1e-30
"""B/s of a dimension without any: an unused one has no traffic and so no time, any other one takes forever."""


@dataclass(frozen=True)
class TimeModel(ABC):
    """Iteration time of all workloads together.

    The kits name the block of each technology. Without any, every group has all the bandwidth of its NPUs, as in
    LIBRA. The efficiency is (t,) the part of the bandwidth of each technology that traffic reaches, at most 1; None
    where it reaches all. The owner is (t,) the
    accelerator of each technology, where a problem has several to choose from. Beyond is (t,) whether a technology is
    one of NICs, outside of scale-up domains; None where none is. Links are (t,) the kind of links of each
    technology, by which software of serving takes time; without any it takes none.
    """

    loops: tuple[WeightedLoop, ...]
    kits: tuple[Kit | PricedBlock, ...] = ()
    efficiency: FloatArray | None = None
    owner: IntArray | None = None
    beyond: BoolArray | None = None
    links: tuple[str, ...] = ()

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The distinct traffic of the workloads."""
        return tuple(dict.fromkeys(channel_of(loop, stream) for loop in self.loops for stream in loop.time.streams))

    @cached_property
    def of_software(self) -> BoolArray:
        """(c,) which channels are what software takes beyond bytes, whose traffic has a factor and no bytes."""
        return np.array([isinstance(load, BeyondBytes) for _, _, load in self.channels], dtype=np.bool_)

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

    @property
    def serves(self) -> bool:
        """Whether some workload is served, so that a faster plan may answer fewer users."""
        return any(loop.served is not None for loop in self.loops)

    @cached_property
    def open_loops(self) -> tuple[OpenLoop, ...]:
        """The workloads that leave plans open."""
        return tuple(loop for loop in self.loops if isinstance(loop, OpenLoop))

    @cached_property
    def tables(self) -> tuple[PlanTable, ...]:
        """The plans of each workload that leaves some open."""
        return tuple(loop.workload for loop in self.open_loops)

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

    def physical(self, technologies: int) -> Self:
        """Return the time model in which groups get what links carry, where all of them have the whole bandwidth here.

        Its kits are each technology with each of B blocks: technology t with block b is in place t B + b.
        """
        kits = tuple(PricedBlock(block) for _ in range(technologies) for block in range(len(BLOCKS)))
        technology = np.arange(len(kits)) // len(BLOCKS)
        efficiency = None if self.efficiency is None else self.efficiency[technology]
        owner = None if self.owner is None else self.owner[technology]
        beyond = None if self.beyond is None else self.beyond[technology]
        links = tuple(self.links[place] for place in technology) if self.links else ()
        return replace(self, kits=kits, efficiency=efficiency, owner=owner, beyond=beyond, links=links)

    def with_efficiency(self, technologies: IntArray | int, factor: float) -> Self:
        """Return the time model in which traffic reaches a multiple of what it does in some technologies."""
        assert self.efficiency is not None, "who asks knows it"  # noqa: S101 - internal error
        efficiency = self.efficiency.copy()
        efficiency[technologies] *= factor
        return replace(self, efficiency=efficiency)

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

    def link_factor(self, load: BeyondBytes, placed: Placement, technology: IntArray) -> FloatArray:
        """Return (n,) the factor of the seconds that software takes on links of a kind."""
        outside = self.outside(technology)
        inside = np.zeros(technology.shape, dtype=np.bool_) if outside is None else outside
        return link_factor(load, placed.extent, self._kind(technology), inside)

    def _kind(self, technology: IntArray) -> IntArray:
        """Return (d, n) the places of kinds of links; -1 where they are open, or not known."""
        if not self.links:
            return np.full(technology.shape, -1)
        known = np.array([KINDS.index(kind) for kind in self.links])
        return np.where(technology >= 0, known[technology], -1)

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

    def relative_bytes(
        self, load: Pattern | Operation, placed: Placement, npus: IntArray, kit_index: IntArray
    ) -> FloatArray:
        """Return (d, n) the time of a group's bytes, over that with all the bandwidth of its NPUs for itself.

        More where a group gets or reaches only a part of the bandwidth, less where the network itself reduces. A
        dimension with a kit of -1 is still open, and costs no more. Messages to the next stage share links as those of
        a ring do. If switches do not aggregate, what goes to a server and back passes one port, NPU by NPU. NICs
        send that without the NPUs, so that it reaches all of the bandwidth.
        """
        served = isinstance(load, PushPull)
        reached = 1.0 / self._one_by_one(placed, kit_index) if served else self.reached(kit_index)
        if not self.kits:
            return 1.0 / reached
        return by_block(self.kits, self.kin, kit_index, placed=placed, npus=npus, of=relative_figure(load)) / reached

    @cached_property
    def kin(self) -> IntArray:
        """(t,) the first kit that gives groups the same as each kit."""
        return kin_of(self.kits)

    def _one_by_one(self, placed: Placement, kit_index: IntArray) -> FloatArray:
        """Return (d, n) how many messages to a server pass one port: those of the whole group, but for an aggregate."""
        known = [k for k, kit in enumerate(self.kits) if kit.aggregates]
        return np.where(np.isin(kit_index, known) | (kit_index < 0), 1.0, placed.extent)

    def reached(self, technology: IntArray) -> FloatArray:
        """Return (d, n) the part of its bandwidth that traffic reaches in each dimension; 1 where it is still open."""
        if self.efficiency is None:
            return np.ones(technology.shape)
        return np.where(technology >= 0, self.efficiency[technology], 1.0)

    def reaching(self, designs: Population) -> Population:
        """Return designs with the bandwidth that their traffic reaches."""
        if self.efficiency is None:
            return designs
        return replace(designs, bandwidth=designs.bandwidth * self.reached(designs.technology))

    def fits(self, npus: IntArray, plan: IntArray | None = None, technology: IntArray | None = None) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold every process group, under (w, n) plans if there are some.

        Plans are those of an accelerator: with (d, n) technologies, of the one that the networks are wired for. Then
        tensor parallel groups stay inside scale-up domains, too, and context parallel ones that exchange heads. A
        technology of -1 is still open.
        """
        fits = np.ones(npus.shape[1], dtype=np.bool_)
        for layout in {layout for loop in self.loops for layout in loop.layouts.values()}:
            if not layout or layout[0][0] != OPEN:
                fits &= self.lays(layout, npus, technology, inside=self._kept_inside(layout))
        for place, mine in enumerate(plan if plan is not None else ()):
            fits &= self.holds(npus, mine, place, technology)
        if self.owner is not None and technology is not None and plan is not None:
            for table, mine in zip(self.tables, plan, strict=True):
                fits &= (technology[0] < 0) | (self.owner[technology[0]] == columns(table.npu, mine))
        return fits

    def _kept_inside(self, layout: Layout) -> tuple[str, ...]:
        """Return the groups of a layout that must stay inside scale-up domains."""
        kept = ((loop, group) for loop in self.loops for group in loop.workload.kept_inside)
        return tuple(dict.fromkeys(group for loop, group in kept if loop.layouts[group] == layout))

    def lays(
        self, layout: Layout, npus: IntArray, technology: IntArray | None, *, inside: Sequence[str] = ()
    ) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold groups, with technologies as in `fits`.

        Parameters
        ----------
        inside : groups that must stay inside a scale-up domain, if they are among them.
        """
        laid, held = lay_layout(npus, layout)
        groups = [group for group, _ in layout]
        for group in set(inside).intersection(groups):
            held = held & self._inside(laid[groups.index(group)], technology)
        return np.asarray(held)

    def holds(self, npus: IntArray, plan: IntArray, place: int, technology: IntArray | None = None) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold the groups of one table under (n,) plans of it.

        With (d, n) technologies, groups also stay inside scale-up domains under plans that need that.
        """
        table = self.tables[place]
        groups, fits = placed_plans(table, npus, plan)
        for group, kept in table.kept_inside.items():
            fits = fits & (self._inside(groups[group][0], technology) | ~columns(kept, plan))
        return np.asarray(fits)

    def _inside(self, extent: IntArray, technology: IntArray | None) -> BoolArray:
        """Return (n,) whether groups of (d, n) NPUs of a dimension stay inside scale-up domains, as far as is known."""
        outside = None if technology is None else self.outside(technology)
        if outside is None:
            return np.ones(extent.shape[1], dtype=np.bool_)
        return np.asarray(~(outside & (extent > 1)).any(axis=0))

    @cached_property
    def keeps_inside(self) -> bool:
        """Whether some plan must keep a group inside a scale-up domain, and domains may have ends."""
        ends = self.beyond is not None and bool(self.beyond.any())
        return ends and any(loop.workload.kept_inside for loop in self.loops)

    @property
    def must_hold(self) -> str:
        """The need that some plan has of scale-up domains, as the end of a sentence that says that none meets it."""
        kept = dict.fromkeys(group for loop in self.loops for group in loop.workload.kept_inside)
        return ", or none ".join(HOLDS[group] for group in kept)

    def outside(self, technology: IntArray) -> BoolArray | None:
        """Return (d, n) which dimensions are beyond scale-up domains; one of technology -1, which is open, is not."""
        return None if self.beyond is None else (technology >= 0) & self.beyond[technology]

    def placed(
        self, npus: IntArray, plan: IntArray | None = None, technology: IntArray | None = None
    ) -> dict[tuple[Layout, str], Placement]:
        """Return where each process group lies on (d, n) dimensions, and all NPUs together.

        Without technologies, parts of groups that lie beyond domains are the whole groups.
        """
        outside = None if technology is None else self.outside(technology)
        return placed_channels(self.channels, npus, self.tables, plan, outside)

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

    def __call__(self, designs: Population, traffic: FloatArray | None = None) -> FloatArray:
        """Return (n,) weighted seconds of all workloads; the parameters are those of `channel_times`."""
        return self.weighted(self.workload_times(designs, traffic))

    def weighted(self, times: Sequence[FloatArray]) -> FloatArray:
        """Return (n,) weighted seconds of all workloads, from those of each."""
        pairs = zip(self.loops, times, strict=True)
        return reduce(np.add, [time if loop.weight == 1 else loop.weight * time for loop, time in pairs])
