"""Fronts for reading in Python: a table of ten rounded rows, and a picture that notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from evo_libra.errors import counted
from evo_libra.front.families import families_of, short_network, short_plans
from evo_libra.quantities import number, reading_unit

if TYPE_CHECKING:
    from evo_libra.front.front import Front

ROWS = 10
_MAX_OTHERS = 6
"""Columns of a front without designs in the notation, whose table would become too wide."""


class Picture(bytes):
    """A picture as a PNG; notebooks show it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Picture: PNG of {len(self):,} bytes"

    def _repr_png_(self) -> bytes:
        return bytes(self)


def table_text(front: Front) -> str:
    """Return a front as a table of ten rows in even steps along it; figures are rounded, in units that suit them.

    >>> from evo_libra import search
    >>> print(table_text(search("gpt3-4k", evaluations=500).where("#0,3")))
    Front of 2 designs
    id  time [ms]  cost [MUSD]  network
     0     210.62       37.436  RI4_FC8_RI4_SW32
     3     215.05       18.842  RI4_FC2_FC16_SW32
    """
    shown = front.spread(ROWS)
    title = f"Front of {counted(len(front), front.noun)}"
    if not len(front):
        return title
    ids = [str(one) for one in shown["id"].to_list()]
    columns = [("id", ids, True), *_objectives(front, shown), *_designs(front, shown)]
    wide = [max(map(len, (head, *cells))) for head, cells, _ in columns]
    rows = zip(*[[head, *cells] for head, cells, _ in columns], strict=True)
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, (_, _, right) in zip(row, wide, columns, strict=True)
        ).rstrip()
        for row in rows
    ]
    more = f"{shown.height} of {len(front):,} rows in even steps along the front"
    return "\n".join([title, *lines, *([more] if shown.height < len(front) else [])])


def _objectives(front: Front, shown: pl.DataFrame) -> list[tuple[str, list[str], bool]]:
    found = []
    for column in front.objectives:
        values = shown[column].to_list()
        unit, size = reading_unit(column, values)
        head = f"{column.rpartition('_')[0]} [{unit}]" if unit else column
        found.append((head, [number(value / size) for value in values], True))
    return found


def _designs(front: Front, shown: pl.DataFrame) -> list[tuple[str, list[str], bool]]:
    """Return what tells designs apart: networks and plans, or the columns of a problem that is written in Python."""
    if "design" not in shown.columns:
        others = [name for name in shown.columns if name not in ("id", *front.objectives)][:_MAX_OTHERS]
        return [(name, [_cell(one) for one in shown[name].to_list()], False) for name in others]
    designs = shown["design"].to_list()
    if front.noun == "order":
        networks = [short_network(design) for design in designs]
    else:
        labels = dict(zip(front.frame["id"].to_list(), families_of(front).labels, strict=True))
        networks = [labels[one] for one in shown["id"].to_list()]
    plans, _ = short_plans([design.partition(" | ")[2] for design in designs])
    return [("network", networks, False), *([("plan", plans, False)] if any(plans) else [])]


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else "" if value is None else str(value)
