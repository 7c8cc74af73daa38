"""The parts of a report that are of orders: products in place of dimensions, pictures, and networks of each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from evo_libra.arrays import FloatArray
from evo_libra.explain.drawn_order import drawn_order
from evo_libra.explain.labels import label_of
from evo_libra.explain.order_bill import bill_of_design
from evo_libra.front.front import SYSTEM
from evo_libra.pictures.networks.order_svg import order_svg
from evo_libra.report.charts import Line, chart_svg
from evo_libra.report.records import Chart

if TYPE_CHECKING:
    from evo_libra.explain.system_views import SystemRow
    from evo_libra.front.front import Front
    from evo_libra.problem.problem import Problem

NETWORK_COST = "network_cost_usd"

COMMANDS: Mapping[str, str] = {
    "its bottlenecks, and what each step away costs": "evo-libra explain '{address}#{id}'",
    "the picture as a file": "evo-libra draw '{address}#{id}' -o order.svg",
    "the bill as a workbook": "evo-libra export '{address}#{id}' --to bill-excel -o bill.xlsx",
}
"""Commands for an order of a result, by their purpose."""

_DIMENSIONS = ("npus[", "block[", "technology[", "bandwidth[")


def order_frame(front: Front, problem: Problem | None) -> pl.DataFrame:
    """Return the rows of a front with the ports, planes, switch and network of each order in place of dimensions.

    They have the cost of the network, too, where the problem is known.
    """
    frame = front.frame
    kept = [name for name in frame.columns if not name.startswith(_DIMENSIONS) and name != SYSTEM]
    parts = [_parts(design) for design in frame["design"]] if "design" in frame.columns else []
    found = frame.select(kept).with_columns(
        pl.Series(name, [part[name] for part in parts]) for name in (parts[0] if parts else ())
    )
    if problem is None or NETWORK_COST in kept or not parts:
        return found
    return found.with_columns(pl.Series(NETWORK_COST, _network_usd(frame["design"].to_list(), problem)))


def _parts(design: str) -> dict[str, str | int]:
    """Return the products of an order.

    >>> _parts("8 hgx-b300 / 2 x 400G / 2 planes / sn5600 fat tree 2:1 | tp8")
    {'ports': '2 x 400G', 'planes': 2, 'switch': 'sn5600', 'network': 'fat tree 2:1'}
    >>> _parts("1 hgx-b300 | tp8")
    {'ports': '', 'planes': 1, 'switch': '', 'network': ''}
    """
    parts = design.partition(" | ")[0].split(" / ")
    _, ports, *planes, last = parts if len(parts) > 1 else ["", "", ""]
    switch, _, network = last.partition(" ")
    count = int(planes[0].split()[0]) if planes else 1
    return {"ports": ports, "planes": count, "switch": switch, "network": network}


def _network_usd(designs: Sequence[str], problem: Problem) -> list[float | None]:
    bills = [bill_of_design(problem, problem.read(design)) for design in designs]
    return [None if bill is None else bill.network_usd().value for bill in bills]


def order_drawing(design: str, problem: Problem) -> str:
    """Return the picture of an order."""
    assert problem.book is not None, "the problem is of orders"  # noqa: S101 - internal error
    return order_svg(drawn_order(design, problem.book.products), standalone=False)


def systems_chart(rows: Sequence[SystemRow], objective: str, result: str = "") -> Chart | None:
    """Return the chart of an objective over the cost of the network, with points for each system of a result."""
    systems = list(dict.fromkeys(row.system for row in rows))
    lines = [
        Line(_values(rows, system, NETWORK_COST), _values(rows, system, objective), group, "points")
        for group, system in enumerate(systems)
    ]
    if not lines:
        return None
    return Chart(
        f"Networks of each system{f': {result}' if result else ''}",
        chart_svg(lines, systems, (label_of(NETWORK_COST), label_of(objective)), log_x=True, log_y=True),
        "Each point is an order that no other order of its system beats, with the cost of its network alone. "
        "evo-libra front RESULT --systems has them as a table, and what each adds.",
    )


def _values(rows: Sequence[SystemRow], system: str, column: str) -> FloatArray:
    found = [row for row in rows if row.system == system]
    if column == NETWORK_COST:
        return np.array([row.network_cost_usd for row in found])
    return np.array([row.objectives[column] for row in found])
