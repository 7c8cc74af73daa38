"""Tables of the networks of each system of a problem of orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evo_libra.explain.labels import value_text
from evo_libra.quantities import money_text
from evo_libra.ui.tables.output import print_folded, print_table

if TYPE_CHECKING:
    from evo_libra.explain.system_views import SystemRow

MOST = 12
"""Rows that a search shows; `evo-libra front last --systems` shows all."""


def show_systems(rows: Sequence[SystemRow], column: str, most: int | None = None) -> None:
    """Print the networks of each system: the first objective against the cost of the network, and what each adds."""
    shown = rows if most is None else _some(rows, most)
    print_table(
        f"networks of each system: {len(shown)} of {len(rows)} orders that no other of their system beats",
        ("order", column.rpartition("_")[0] or column, "network", "whole order", "against the row above"),
        [
            [
                row.design.partition(" | ")[0], value_text(column, row.objectives[column]),
                money_text(row.network_cost_usd, 4), money_text(row.order_cost_usd, 4), row.adds,
            ]
            for row in shown
        ],
        left=("order", "against the row above"), fold=("order", "against the row above"),
    )  # fmt: skip
    if len(shown) < len(rows):
        print_folded("`evo-libra front last --systems` shows all of them")


def _some(rows: Sequence[SystemRow], most: int) -> Sequence[SystemRow]:
    """Return the first rows of each system, as many of each as there is room for."""
    systems = dict.fromkeys(row.system for row in rows)
    each = max(most // max(len(systems), 1), 1)
    return [row for name in systems for row in [one for one in rows if one.system == name][:each]]
