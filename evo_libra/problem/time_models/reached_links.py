"""Links of a time model: which part of the bandwidth groups get and reach, and what software takes on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.collective import BeyondBytes, Pattern, PushPull
from evo_libra.network.blocks import PricedBlock
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.collective_latency import KINDS, link_factor
from evo_libra.problem.time_models.held_groups import HeldGroups
from evo_libra.problem.time_models.placement import Operation, Placement, by_block, kin_of, relative_figure


@dataclass(frozen=True)
class ReachedLinks(HeldGroups):
    """Workloads, whose groups get and reach a part of the bandwidth of links."""

    @cached_property
    def of_software(self) -> BoolArray:
        """(c,) which channels are what software takes beyond bytes, whose traffic has a factor and no bytes."""
        return np.array([isinstance(load, BeyondBytes) for _, _, load in self.channels], dtype=np.bool_)

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
        unjoined = None if self.unjoined is None else self.unjoined[technology]
        return replace(
            self, kits=kits, efficiency=efficiency, owner=owner, beyond=beyond, links=links, unjoined=unjoined
        )

    def with_efficiency(self, technologies: IntArray | int, factor: float) -> Self:
        """Return the time model in which traffic reaches a multiple of what it does in some technologies."""
        assert self.efficiency is not None, "who asks knows it"  # noqa: S101 - internal error
        efficiency = self.efficiency.copy()
        efficiency[technologies] *= factor
        return replace(self, efficiency=efficiency)

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
