"""Fidelity of the times of collectives: one model, whose parameters range from ASTRA-sim's chunks to LIBRA's limit.

LIBRA's time is what is left of ASTRA-sim's as chunks become many and latency, endpoint delay and reductions vanish; it
has a closed form for all collectives of a pattern together (`evo_libra.collective`). Everything else is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import GIGA, NANO, FloatArray, IntArray, Population, columns_or_shared
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.fred import LEAF
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import IMPLEMENTATIONS, UPPER, Overheads
from evo_libra.timing.collectives.queues import TooLongError
from evo_libra.timing.collectives.system import Choices, System
from evo_libra.timing.collectives.themis import MAX_ORDERED
from evo_libra.timing.collectives.themis_paper import Fabrics, ideal_time, paper_time
from evo_libra.timing.names import ALGORITHMS, Policy, Scheduler
from evo_libra.timing.phase_dimensions import (
    PHASE_BLOCK,
    RING_ALGORITHM,
    SITED,
    PhaseDimensions,
    leaves,
    levels_of,
    message_latency,
    runnable,
)
from evo_libra.timing.schedule_choices import ScheduleChoices, schedule_of
from evo_libra.units import bytes_per_ns
from evo_libra.workload.layers.iteration_time import Message

NATURAL = {index: ALGORITHMS.index(block.algorithm) for index, block in enumerate(BLOCKS)}
"""The algorithm of each block unless a problem says otherwise."""

_OUTWEIGHS_ROUNDING = 2.0


@dataclass(frozen=True)
class Fidelity(ScheduleChoices):
    """Schedule and time model of collectives.

    Attributes
    ----------
    latency : (t,) ns of a link of each technology.
    kits : what technologies are built of; with them, switches that a message passes add to its latency.
    ocs_setting : s in which an optical circuit switch is set to other circuits.
    active : chunks that a dimension runs at a time.
    shrinking : whether an all-reduce scatters inwards and gathers outwards, or runs whole in each dimension.
    policy : which chunk a dimension takes first; None is first come, and smallest first under a Themis scheduler.
    message_on_link : whether a message through a switch has the bandwidth of a link, and not that of an NPU.
    occupies : whether a phase keeps its dimension busy for its latency, too, under schedulers that are not Themis'
        paper's.
    """

    latency: FloatArray
    overheads: Overheads
    active: int
    shrinking: bool
    policy: Policy | None
    kits: tuple[Kit, ...] = ()
    ocs_setting: float = 0.0
    message_on_link: bool = False
    occupies: bool = True

    @property
    def bounded(self) -> bool:
        """Whether LIBRA's time is a lower bound of every time."""
        in_order = {tuple(Scheduler)[index] for index in self.schedulers} == {Scheduler.BASELINE}
        in_astra_sim = self.occupies and self.active == 1 and self.overheads.endpoint >= _OUTWEIGHS_ROUNDING
        return in_order and in_astra_sim

    def policy_of(self, scheduler: Scheduler) -> Policy:
        """Return the policy that goes with a scheduler."""
        return self.policy or scheduler.default_policy

    def seconds(
        self,
        collective: Collective,
        size: int | IntArray,
        extent: IntArray,
        designs: Population,
        share: FloatArray | None = None,
        stride: IntArray | None = None,
    ) -> FloatArray:
        """Return (n,) s of one collective of a process group that all its NPUs begin at once.

        A group has (d, n) NPUs of each dimension. One that holds a part of a dimension runs as on a dimension of its
        own size, with the (d, n) share of its NPUs' bandwidth; without any with all of it, as in LIBRA. Its NPUs are a
        (d, n) stride apart, 1 where left out. The bytes, a number or (n,), are those of the whole message, for an
        all-gather of the shard; a ValueError refuses one that cannot be cut into the chunks.
        """
        return self.several_seconds(
            {collective: slice(0, len(designs))}, size, extent=extent, designs=designs, share=share, stride=stride
        )

    def several_seconds(
        self,
        runs: Mapping[Collective, slice],
        size: int | IntArray,
        extent: IntArray,
        designs: Population,
        share: FloatArray | None = None,
        stride: IntArray | None = None,
        latencies: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return the (n,) s of `seconds` of several collectives, each of which runs in some of the designs.

        `latencies` is what the method of that name returns, where the caller has it.
        """
        size, schedule = np.atleast_1d(size), schedule_of(designs)
        if share is not None:  # collectives on trees see to that level by level
            share = np.where((UPPER[designs.block] > 0) | SITED[designs.block], 1.0, share)
        found = self._dimensions(
            designs, extent, stride=stride, share=share, algorithm=schedule.algorithm, latencies=latencies
        )
        time = np.empty(len(designs))
        for collective, run in runs.items():
            if run.start == run.stop:
                continue
            kind_of = columns_or_shared(schedule.scheduler, run)
            kinds = np.unique(kind_of).tolist()
            for kind in kinds:
                mine = run if len(kinds) == 1 else run.start + np.flatnonzero(kind_of == kind)
                some, own = designs.select(mine), columns_or_shared(size, mine)
                time[mine] = self._seconds(tuple(Scheduler)[kind], collective, own, found.select(mine), some)
        return time

    def message_seconds(self, message: Message, designs: Population) -> FloatArray:
        """Return (n,) s of one message, which is charged the first dimension in which its ends differ."""
        found = self._message_dimensions(designs, designs.npus)
        links, apart = (of(message.source, message.target) for of in (found.links_between, found.apart))
        size, time = np.full(len(designs), float(message.size)), np.zeros(len(designs))
        for link, offset in zip(links, apart, strict=True):
            time += np.where(offset > 0, link.transfer(size, link.hops(offset)), 0.0)
        return time * NANO

    def next_stage_seconds(
        self,
        size: int | IntArray,
        extent: IntArray,
        stride: IntArray,
        designs: Population,
        share: FloatArray | None = None,
        latencies: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return (n,) s of a message of each NPU of a group to the next one, over the slowest dimension of the group.

        A group has (d, n) NPUs of each dimension, which are (d, n) NPUs apart; the share is that of `seconds`, and what
        `latencies` gives may be known.
        """
        found = self._message_dimensions(designs, extent, stride, share, latencies)
        time, bytes_ = np.zeros(len(designs)), np.broadcast_to(np.asarray(size, dtype=np.float64), len(designs))
        links = found.message_links(found.leaf == found.extent)
        for link, members, apart in zip(links, found.extent, found.stride, strict=True):
            there = link.transfer(bytes_, link.hops(apart.astype(np.float64)))
            time = np.maximum(time, np.where(members > 1, there, 0.0))
        return time * NANO

    def _message_dimensions(
        self,
        designs: Population,
        extent: IntArray,
        stride: IntArray | None = None,
        share: FloatArray | None = None,
        latencies: tuple[FloatArray, FloatArray] | None = None,
    ) -> PhaseDimensions:
        """Return where messages run: on links as those of rings, or of the all-reduce in a network of links."""
        algorithm = schedule_of(designs).algorithm if self.message_on_link else RING_ALGORITHM
        return self._dimensions(designs, extent, stride=stride, share=share, algorithm=algorithm, latencies=latencies)

    def _dimensions(
        self,
        designs: Population,
        extent: IntArray,
        stride: IntArray | None,
        share: FloatArray | None,
        algorithm: IntArray | int,
        latencies: tuple[FloatArray, FloatArray] | None,
    ) -> PhaseDimensions:
        """Return where the phases of groups run."""
        # An unused dimension has no NPUs to send to, so any bandwidth above 0 will do.
        per_npu = np.where(designs.bandwidth > 0, designs.bandwidth, GIGA)
        stride = np.ones_like(extent) if stride is None else stride
        latency, leaf_latency = latencies or self.latencies(designs.npus, designs.technology)
        found = PhaseDimensions(
            block=PHASE_BLOCK[designs.block], npus=designs.npus, extent=extent, stride=stride,
            bandwidth=per_npu if share is None else per_npu * share, latency=latency,
            algorithm=np.broadcast_to(algorithm, extent.shape),
            leaf=leaves(designs.block, extent, stride, designs.npus), leaf_latency=leaf_latency,
        )  # fmt: skip
        found = replace(found, **levels_of(designs, self.kits, extent, stride, found.leaf))
        return found.divided(designs.block, per_npu)

    def link_latency(self, designs: Population) -> FloatArray:
        """Return (d, n) ns of a link; of kits, of a message between neighbours over the hops that it is charged."""
        return self.latencies(designs.npus, designs.technology)[0]

    def latencies(self, npus: IntArray, technology: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the (d, n) ns of `link_latency`, and those of a message in the first-level switches of trees."""
        link = self.latency[technology]
        if not self.kits:
            return link, link
        whole = message_latency(link, self.kits, technology, npus, npus)
        trees = UPPER[np.array([kit.block for kit in self.kits])] > 0
        if not trees[technology].any():
            return whole, whole
        return whole, message_latency(link, self.kits, technology, npus, np.minimum(npus, LEAF))

    def _seconds(
        self, scheduler: Scheduler, collective: Collective, size: IntArray, found: PhaseDimensions, designs: Population
    ) -> FloatArray:
        schedule, policy = schedule_of(designs), self.policy_of(scheduler)
        if scheduler.of_paper or not self.occupies:
            return self._paper_seconds(scheduler, collective, size, found, schedule.chunks)
        if scheduler.greedy and (depth := len(found.npus)) > MAX_ORDERED:
            where = "with the axes and bits that its blocks divide into, some design has"
            raise InputError(f"{scheduler.key} orders at most {MAX_ORDERED} dimensions; {where} {depth}")
        algorithm = runnable(found.algorithm, collective, found.block, found.extent)
        links = replace(found, algorithm=algorithm).link()
        system = System(
            {collective: Choices(IMPLEMENTATIONS, algorithm)},
            schedule.chunks, self.active, self.shrinking, self.overheads,
            scheduler=scheduler, policy=policy,
        )  # fmt: skip
        try:
            return collective_time(collective, size, links, system) * NANO
        except TooLongError as error:
            least, most = designs.bandwidth[designs.npus > 1].min() / GIGA, size.max()
            raise InputError(
                f"{error}: {collective.value} of {most} bytes over {least:g} GB/s; bandwidth.min_GBps has to be higher"
            ) from None

    def _paper_seconds(
        self,
        scheduler: Scheduler,
        collective: Collective,
        size: IntArray,
        found: PhaseDimensions,
        chunks: IntArray,
    ) -> FloatArray:
        """Return (n,) s of a collective in the time model of Themis' paper, where latency only delays a chunk."""
        bandwidth, levels = found.bandwidth, found.levels
        if levels is not None:
            exchanged = collective is Collective.ALL_TO_ALL
            bandwidth = bandwidth * (levels.exchange_share if exchanged else levels.shrinking_share)(found.extent)
        fabrics = Fabrics(found.block, found.extent, bytes_per_ns(bandwidth), found.latency)
        if scheduler is Scheduler.IDEAL:
            return ideal_time(collective, size, fabrics) * NANO
        policy = self.policy_of(scheduler)
        policy = Policy.SMALLEST_CHUNK_FIRST if policy is Policy.SMALLEST_FIRST else policy
        greedy = scheduler is Scheduler.THEMIS_PAPER
        return paper_time(collective, size, fabrics, chunks=chunks, greedy=greedy, policy=policy) * NANO
