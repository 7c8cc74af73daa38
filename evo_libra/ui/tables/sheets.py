"""Functions that print sections of tables and sentences with Rich."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from evo_libra.ui.tables.output import print, print_folded, print_table

if TYPE_CHECKING:
    from evo_libra.explain.sheet import Section, Table


def print_sections(sections: Iterable[Section]) -> None:
    """Print sections, with an empty line before each title that follows something."""
    for place, one in enumerate(sections):
        if one.title:
            print(*([""] if place else []), one.title, sep="\n")
        for part in one.parts:
            if isinstance(part, str):
                print_folded(part)
            else:
                print_sheet_table(part)


def print_sheet_table(table: Table) -> None:
    """Print a table; cells that stand out are bold."""
    from rich.text import Text

    rows = [
        None
        if row is None
        else [Text(cell, style="bold" if (place, at) in table.strong else "") for at, cell in enumerate(row)]
        for place, row in enumerate(table.rows)
    ]
    print_table(table.title, table.columns, rows, left=table.words, fold=table.folds)
