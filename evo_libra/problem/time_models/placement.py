"""Placement of process groups on networks, and figures of groups in the blocks of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns
from evo_libra.collective import Collective, Dispatch, NextStage, Pattern, PushPull, Streamed, pattern_of
from evo_libra.network.bill import inner_npus
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.time_models.loops import OPEN, Channel
from evo_libra.workload.parallelism import ALL, BEYOND, MEMBER, Layout, lay_layout, parts_of

if TYPE_CHECKING:
    from evo_libra.workload.plans.placement import Placed
    from evo_libra.workload.plans.plan_table import PlanTable


Operation = Collective | Dispatch | NextStage | PushPull | Streamed
"""Traffic of process groups: a collective, or a step's other traffic."""


@dataclass(frozen=True)
class Placement:
    """Placement of the process groups of a kind.

    Attributes
    ----------
    extent, stride : (d, n) NPUs of a dimension in a group, and their distance.
    share : (n,) or 1 the part of a group's bytes that goes there; see `share_of`.
    """

    extent: IntArray
    stride: IntArray
    share: FloatArray | float = 1.0

    def select(self, which: IntArray) -> Placement:
        """Return the placement in some designs."""
        share = self.share if isinstance(self.share, float) else columns(self.share, which)
        return Placement(columns(self.extent, which), columns(self.stride, which), share)

    def share_of(self, load: Operation) -> FloatArray | float:
        """Return the (n,) or 1 part of an operation's known bytes; the shard of an all-gather goes whole."""
        return 1.0 if load is Collective.ALL_GATHER else self.share

    def beyond(self, outside: BoolArray) -> Placement:
        """Return what lies in the (d, n) dimensions outside of domains: parts that the NPUs of a domain share out."""
        inside = np.where(outside, 1, self.extent).prod(axis=0)
        return Placement(np.where(outside, self.extent, 1), self.stride, 1.0 / inside)


Figure = Callable[[Block, IntArray, IntArray, IntArray], FloatArray]
"""A figure of groups in a block: from their (k,) sizes and strides, and those of the dimensions."""


def kin_of(kits: Sequence[Kit | PricedBlock]) -> IntArray:
    """Return (t,) the first kit that gives groups the same: that has the block, and what of a kit this depends on."""
    first: dict[tuple[int, object], int] = {}
    keys = ((kit.block, BLOCKS[kit.block].kin(kit) if isinstance(kit, Kit) else None) for kit in kits)
    return np.array([first.setdefault(key, place) for place, key in enumerate(keys)], dtype=np.int64)


def by_block(
    kits: Sequence[Kit | PricedBlock],
    kin: IntArray,
    kit_index: IntArray,
    placed: Placement,
    npus: IntArray,
    of: Figure,
) -> FloatArray:
    """Return (d, n) a figure of groups in the blocks of dimensions; 1 where they have no part in a dimension.

    `kin` is that of the kits, by `kin_of`.
    """
    alike, inside = kin[kit_index].ravel(), None
    found = np.ones(kit_index.size)
    counted = ((placed.extent > 1) & (kit_index >= 0)).ravel()
    for k in np.unique(alike[counted]).tolist():
        kit = kits[k]
        mine, block = np.flatnonzero(counted & (alike == k)), BLOCKS[kit.block]
        extent, stride, size = (array.ravel()[mine] for array in (placed.extent, placed.stride, npus))
        if block.sited and isinstance(kit, Kit):
            inside = inner_npus(npus).ravel() if inside is None else inside
            block = block.at(kit, inside[mine])
        found[mine] = of(block, extent, stride, size)
    return found.reshape(kit_index.shape)


def relative_figure(load: Pattern | Operation) -> Figure:
    """Return the figure of groups that is the time of their bytes, over that with all the bandwidth of their NPUs."""

    def relative(block: Block, extent: IntArray, stride: IntArray, size: IntArray) -> FloatArray:
        pattern = _pattern(load)
        factor = _factor(block, load, pattern, extent)
        if isinstance(load, NextStage):
            return np.asarray(factor / block.next_share(extent, stride, size))
        if isinstance(load, Streamed):
            return np.asarray(factor / block.stream_share(size))
        return np.asarray(factor / block.share(pattern, extent, stride, size))

    return relative


def _pattern(load: Pattern | Operation) -> Pattern:
    if isinstance(load, Pattern):
        return load
    if isinstance(load, Collective):
        return pattern_of(load)
    return Pattern.ALL_TO_ALL if isinstance(load, Dispatch) else Pattern.SHRINKING


def _factor(block: Block, load: Pattern | Operation, pattern: Pattern, extent: IntArray) -> FloatArray:
    """Return the bytes of a group over those where only NPUs reduce; other traffic than collectives reduces nothing."""
    if isinstance(load, NextStage | Dispatch | PushPull | Streamed):
        return np.ones(np.shape(extent))
    return block.traffic_factor(pattern, extent, load if isinstance(load, Collective) else Collective.ALL_REDUCE)


def placed_plans(table: PlanTable, npus: IntArray, plan: IntArray) -> tuple[dict[str, Placed], BoolArray]:
    """Return where the groups of a table lie on (d, n) dimensions under (n,) plans of it, and (n,) whether they fit."""
    from evo_libra.workload.plans.placement import placed_groups  # noqa: PLC0415 - few problems have open plans

    degrees, order, kind = table.placements
    way = columns(kind, plan)
    return placed_groups(
        npus, {group: columns(degree, way) for group, degree in degrees.items()}, columns(order, way),
        routed=table.setups[0].decoder.expert_count > 1,
    )  # fmt: skip


def placed_channels(
    channels: Iterable[Channel],
    npus: IntArray,
    tables: Sequence[PlanTable],
    plan: IntArray | None,
    outside: BoolArray | None = None,
) -> dict[tuple[Layout, str], Placement]:
    """Return where the group of each channel lies on (d, n) dimensions, and all NPUs together.

    Parameters
    ----------
    outside : (d, n) which dimensions are beyond scale-up domains; None where that is not known, and groups are whole.
    """
    found: dict[tuple[Layout, str], Placement] = {((), ALL): Placement(npus, np.ones_like(npus))}
    laid = dict[Layout, IntArray]()
    of_plans: dict[Layout, dict[str, Placed]] = {}
    for layout, name, _ in channels:
        if name == ALL or (layout, name) in found:
            continue
        group = name.removesuffix(BEYOND)
        if layout[0][0] == OPEN:
            if layout not in of_plans:
                assert plan is not None, "designs have plans where some are open"  # noqa: S101 - internal error
                place = layout[0][1]
                of_plans[layout] = placed_plans(tables[place], npus, plan[place])[0]
            placed = Placement(*of_plans[layout][group])
        else:
            if layout not in laid:
                laid[layout] = lay_layout(npus, layout)[0]
            placed = _joined(layout, group, laid[layout])
        found[layout, name] = placed if name == group or outside is None else placed.beyond(outside)
    return found


def _joined(layout: Layout, group: str, laid: IntArray) -> Placement:
    """Return where a group lies whose layout lies on (part, d, n) dimensions.

    The members of a trace's group may lie in several parts, and so do those of groups joined by +. Groups of several
    parts lie as far apart as the innermost one that has more than one NPU.
    """
    mine = [g for g, (name, _) in enumerate(layout) if name in (*parts_of(group), MEMBER)]
    extent = laid[mine[0]] if len(mine) == 1 else laid[mine].prod(axis=0)
    first = next((g for g in mine if layout[g][1] > 1), mine[0])
    return Placement(extent, laid[:first].prod(axis=0))
