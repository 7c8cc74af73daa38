"""What commands print of the bill of a whole system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evo_libra.ui.tables.output import print_table


def show_system(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print what a system is bought of, with the sums; a dash is a figure that no source gives."""
    from evo_libra.explain.system_bill import sum_of

    cells: list[list[str] | None] = [
        [row["item"], f"{row['pieces']:,.6g}", *(_cell(row[key]) for key in ("unit_usd", "cost_usd", "power_kW"))]
        for row in rows
    ]
    sums = [sum_of(rows, key) for key in ("cost_usd", "power_kW")]
    table = [*cells, None, ["all", "", "", *map(_cell, sums)]]
    columns = ("item", "pieces", "each [USD]", "cost [USD]", "power [kW]")
    print_table("the whole system", columns, table, left=("item",))


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
