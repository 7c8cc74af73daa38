"""Workloads of a time model on their network: traffic, plans, and whether networks can hold the process groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.problem.time_models.loops import OPEN, Channel, OpenLoop, WeightedLoop, channel_of
from evo_libra.problem.time_models.placement import Placement, placed_channels, placed_plans
from evo_libra.workload.parallelism import BEYOND, HOLDS, Layout, lay_layout

if TYPE_CHECKING:
    from evo_libra.workload.plans.plan_table import PlanTable


@dataclass(frozen=True)
class HeldGroups:
    """Workloads, and the links of each technology that their process groups lie on.

    Attributes
    ----------
    loops : the workloads.
    kits : the block of each technology; without any, every group has all the bandwidth of its NPUs, as in LIBRA.
    efficiency : (t,) the part of the bandwidth of each technology that traffic reaches, at most 1; None for all of it.
    owner : (t,) the accelerator of each technology, where a problem has several to choose from.
    beyond : (t,) whether a technology is one of NICs, outside of scale-up domains; None where none is.
    links : (t,) the kind of links of each technology, by which software of serving takes time; without any it takes
        none.
    unjoined : (t,) whether nothing joins what a technology is around, so that no group lies on it; None where all are.
    """

    loops: tuple[WeightedLoop, ...]
    kits: tuple[Kit | PricedBlock, ...] = ()
    efficiency: FloatArray | None = None
    owner: IntArray | None = None
    beyond: BoolArray | None = None
    links: tuple[str, ...] = ()
    unjoined: BoolArray | None = None

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The distinct traffic of the workloads."""
        return tuple(dict.fromkeys(channel_of(loop, stream) for loop in self.loops for stream in loop.time.streams))

    @cached_property
    def open_loops(self) -> tuple[OpenLoop, ...]:
        """The workloads that leave plans open."""
        return tuple(loop for loop in self.loops if isinstance(loop, OpenLoop))

    @cached_property
    def tables(self) -> tuple[PlanTable, ...]:
        """The plans of each workload that leaves some open."""
        return tuple(loop.workload for loop in self.open_loops)

    @property
    def serves(self) -> bool:
        """Whether some workload is served, so that a faster plan may answer fewer users."""
        return any(loop.served is not None for loop in self.loops)

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
        if self.unjoined is not None and technology is not None:
            nothing = (technology >= 0) & self.unjoined[technology]
            for group in self._sending(place).intersection(groups):
                fits = fits & ~(nothing & (groups[group][0] > 1)).any(axis=0)
        return np.asarray(fits)

    def _sending(self, place: int) -> set[str]:
        """Return the groups of a table that send something."""
        mine = ((layout, name) for layout, name, _ in self.channels if layout and layout[0] == (OPEN, place))
        return {name.removesuffix(BEYOND) for _, name in mine}

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
        return self.unjoined is not None or (ends and any(loop.workload.kept_inside for loop in self.loops))

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
