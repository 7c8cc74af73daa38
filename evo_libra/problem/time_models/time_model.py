"""The interface of a time model, the workloads that it times, and their process groups on networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Self

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, columns
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.collective import NextStage, Pattern, PushPull
from evo_libra.errors import InputError
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.network.blocks.registry import BLOCKS
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
from evo_libra.workload.parallelism import TENSOR_GROUP, Layout, lay_layout, offsets

if TYPE_CHECKING:
    from evo_libra.timing.fidelity import Fidelity
    from evo_libra.workload.plans.plan_table import PlanTable


@dataclass(frozen=True)
class TimeModel(ABC):
    """Iteration time of all workloads together.

    The kits name the block of each technology. Without any, every group has all the bandwidth of its NPUs, as in
    LIBRA. The efficiency is (t,) the part of the bandwidth of each technology that traffic reaches, at most 1; None
    where it reaches all. The owner is (t,) the
    accelerator of each technology, where a problem has several to choose from. Beyond is (t,) whether a technology is
    one of NICs, outside of scale-up domains; None where none is.
    """

    loops: tuple[WeightedLoop, ...]
    kits: tuple[Kit | PricedBlock, ...] = ()
    efficiency: FloatArray | None = None
    owner: IntArray | None = None
    beyond: BoolArray | None = None

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The distinct traffic of the workloads."""
        return tuple(dict.fromkeys(channel_of(loop, stream) for loop in self.loops for stream in loop.time.streams))

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
        return replace(self, kits=kits, efficiency=efficiency, owner=owner, beyond=beyond)

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

    def _operation_times(
        self, channel: Channel, placed: Mapping[tuple[Layout, str], Placement], designs: Population
    ) -> FloatArray:
        """Return (n,) seconds of one operation of a channel; 0 where the plan of a design sends none."""
        layout, group, load = channel
        if isinstance(load, Message):
            return self.message_seconds(load, designs)
        (size, sending), where = sent_by(channel, designs), placed[layout, group]
        found, some = np.zeros(len(designs)), designs.select(sending)
        mine = where.select(sending)
        what = operation_of(load)
        found[sending] = self.seconds(what, size * mine.share_of(what), mine, some)
        return found

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
        tensor parallel groups stay inside scale-up domains, too. A technology of -1 is still open.
        """
        fits = np.ones(npus.shape[1], dtype=np.bool_)
        for layout in {layout for loop in self.loops for layout in loop.layouts.values()}:
            if not layout or layout[0][0] != OPEN:
                keeping = (loop for loop in self.loops if loop.workload.keeps_inside.any())
                inside = any(loop.layouts[TENSOR_GROUP] == layout for loop in keeping)
                fits &= self.lays(layout, npus, technology, inside=inside)
        for place, mine in enumerate(plan if plan is not None else ()):
            fits &= self.holds(npus, mine, place, technology)
        if self.owner is not None and technology is not None and plan is not None:
            for table, mine in zip(self.tables, plan, strict=True):
                fits &= (technology[0] < 0) | (self.owner[technology[0]] == columns(table.npu, mine))
        return fits

    def lays(self, layout: Layout, npus: IntArray, technology: IntArray | None, *, inside: bool) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold groups, with technologies as in `fits`.

        Parameters
        ----------
        inside : whether the tensor parallel group, if it is among them, must stay inside a scale-up domain.
        """
        laid, held = lay_layout(npus, layout)
        groups = [group for group, _ in layout]
        if not inside or TENSOR_GROUP not in groups:
            return held
        return np.asarray(held & self._inside(laid[groups.index(TENSOR_GROUP)], technology))

    def holds(self, npus: IntArray, plan: IntArray, place: int, technology: IntArray | None = None) -> BoolArray:
        """Return (n,) whether (d, n) dimensions can hold the groups of one table under (n,) plans of it.

        With (d, n) technologies, tensor parallel groups also stay inside scale-up domains under plans that need that.
        """
        table = self.tables[place]
        groups, fits = placed_plans(table, npus, plan)
        if not table.keeps_inside.any():
            return fits
        return np.asarray(
            fits & (self._inside(groups[TENSOR_GROUP][0], technology) | ~columns(table.keeps_inside, plan))
        )

    def _inside(self, extent: IntArray, technology: IntArray | None) -> BoolArray:
        """Return (n,) whether groups of (d, n) NPUs of a dimension stay inside scale-up domains, as far as is known."""
        outside = None if technology is None else self.outside(technology)
        if outside is None:
            return np.ones(extent.shape[1], dtype=np.bool_)
        return np.asarray(~(outside & (extent > 1)).any(axis=0))

    @cached_property
    def keeps_inside(self) -> bool:
        """Whether some plan must keep a tensor parallel group inside a scale-up domain, and domains may have ends."""
        ends = self.beyond is not None and bool(self.beyond.any())
        return ends and any(loop.workload.keeps_inside.any() for loop in self.loops)

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
