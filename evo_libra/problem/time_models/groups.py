"""Where the process groups of workloads lie on networks, whose plans may be open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import BoolArray, IntArray, columns
from evo_libra.problem.time_models.loops import OPEN, Channel
from evo_libra.problem.time_models.placement import Placement
from evo_libra.workload.parallelism import ALL, MEMBER, Layout, lay_groups, parts_of

if TYPE_CHECKING:
    from evo_libra.workload.plans.placement import Placed
    from evo_libra.workload.plans.plan_table import PlanTable


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
    channels: Iterable[Channel], npus: IntArray, tables: Sequence[PlanTable], plan: IntArray | None
) -> dict[tuple[Layout, str], Placement]:
    """Return where the group of each channel lies on (d, n) dimensions, and all NPUs together."""
    found: dict[tuple[Layout, str], Placement] = {((), ALL): Placement(npus, np.ones_like(npus))}
    laid = dict[Layout, IntArray]()
    of_plans: dict[Layout, dict[str, Placed]] = {}
    for layout, group, _ in channels:
        if group == ALL or (layout, group) in found:
            continue
        if layout[0][0] == OPEN:
            if layout not in of_plans:
                assert plan is not None, "designs have plans where some are open"  # noqa: S101 - internal error
                place = layout[0][1]
                of_plans[layout] = placed_plans(tables[place], npus, plan[place])[0]
            found[layout, group] = Placement(*of_plans[layout][group])
            continue
        if layout not in laid:
            laid[layout] = lay_groups(npus, np.array([degree for _, degree in layout]))[0]
        found[layout, group] = _joined(layout, group, laid[layout])
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
