"""What commands print of the bill of a whole system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evo_libra.ui.output import print_table


def show_system(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print what a system is bought of, with the sums; a dash is a figure that no source gives."""
    cells: list[list[str] | None] = [
        [row["item"], f"{row['pieces']:,.6g}", *(_cell(row[key]) for key in ("unit_usd", "cost_usd", "power_kW"))]
        for row in rows
    ]
    sums = [_sum([row[key] for row in rows]) for key in ("cost_usd", "power_kW")]
    table = [*cells, None, ["all", "", "", *map(_cell, sums)]]
    columns = ("item", "pieces", "each [USD]", "cost [USD]", "power [kW]")
    print_table("the whole system", columns, table, left=("item",))


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
