"""Tables of the networks of each system of a problem of orders."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from evo_libra.errors import counted
from evo_libra.quantities import number, reading_unit
from evo_libra.ui.tables.output import print_folded, print_table

if TYPE_CHECKING:
    from evo_libra.explain.system_views import SystemRow

MOST = 12
"""Rows that a search shows; `evo-libra front last --systems` shows all."""


_AGAINST = "against the\nrow above"


def show_systems(rows: Sequence[SystemRow], column: str, most: int | None = None, named: Collection[str] = ()) -> None:
    """Print the networks of each system: the first objective against the cost of the network, and what each adds.

    If there is room for some alone, the designs that sentences name are among them.
    """
    from evo_libra.explain.labels import noun
    from evo_libra.explain.sheet import band_note

    shown = rows if most is None else _some(rows, most, named)
    columns = [
        (column.rpartition("_")[0] or column, column, [row.objectives[column] for row in shown]),
        ("network", "network_cost_usd", [row.network_cost_usd for row in shown]),
        ("order", "order_cost_usd", [row.order_cost_usd for row in shown]),
    ]
    units = [reading_unit(name, values) for _, name, values in columns]
    beaten = f"that no other of the system beats in {noun(column)} and its own cost"
    print_table(
        f"{len(shown)} of {counted(len(rows), 'network')} {beaten}",
        (
            "systems and network", *(_head(head, unit) for (head, _, _), (unit, _) in zip(columns, units, strict=True)),
            _AGAINST,
        ),
        [
            [
                row.design.partition(" | ")[0],
                *_figures(row, [values[n] / size for (_, _, values), (_, size) in zip(columns, units, strict=True)]),
                row.adds,
            ]
            for n, row in enumerate(shown)
        ],
        left=("systems and network", _AGAINST), fold=("systems and network", _AGAINST),
    )  # fmt: skip
    if most is None:  # a search has said it of its front
        print_folded(*band_note(None if row.band is None else row.band.of for row in shown))
    if len(shown) < len(rows):
        print_folded("`evo-libra front last --systems` shows all of them")


def _figures(row: SystemRow, values: Sequence[float]) -> list[str]:
    """Return the figures of a row in their units, the first one with its band in a line of its own."""
    texts = list(map(number, values))
    if row.band is not None:
        texts[0] += "\n" + " - ".join(f"{end:.4g}" for end in row.band.around(values[0]))
    return texts


def _head(name: str, unit: str) -> str:
    return f"{name}\n[{unit}]" if unit else name


def _some(rows: Sequence[SystemRow], most: int, named: Collection[str]) -> Sequence[SystemRow]:
    """Return the first rows of each system, as many of each as there is room for, and those that are named."""
    systems = dict.fromkeys(row.system for row in rows)
    each = max(most // max(len(systems), 1), 1)
    first = {name: [row.design for row in rows if row.system == name][:each] for name in systems}
    return [row for row in rows if row.design in first[row.system] or row.design in named]
