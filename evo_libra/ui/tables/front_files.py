"""Designs of a front as files for other programs: CSV, Markdown and Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.ui.tables.output import print_file

if TYPE_CHECKING:
    import polars as pl

    from evo_libra.front.front import Front

_STANDARD_OUTPUT = Path("-")


def columns_of(found: Front, names: str | None) -> pl.DataFrame:
    """Return the table with some columns alone, the family among them where it is asked for."""
    from evo_libra.front.selection import column_of, with_families

    frame = with_families(found).frame
    if names is None:
        return frame
    asked = [column_of(frame.columns, name.strip()) for name in names.split(",") if name.strip()]
    if not asked:
        raise InputError(f"--columns: found '{names}'; names are needed, such as id,time,cost")
    return frame.select(list(dict.fromkeys(asked)))


def cells(frame: pl.DataFrame) -> list[list[str]]:
    """Return the rows of a table as texts, figures with all their digits."""
    return [["" if one is None else one if isinstance(one, str) else repr(one) for one in row] for row in frame.rows()]


def write_files(frame: pl.DataFrame, files: dict[str, Path | None]) -> None:
    """Write a table to files in their formats; `-` prints it."""
    for kind, path in files.items():
        if path is None:
            continue
        if kind == "parquet" and path == _STANDARD_OUTPUT:
            raise InputError("--parquet: a Parquet file is no text for standard output; name a file")
        text = frame.write_csv() if kind == "csv" else _markdown(frame)
        if path == _STANDARD_OUTPUT:
            print_file(text)
        elif kind == "parquet":
            with path.open("wb") as file:
                frame.write_parquet(file)
        else:
            path.write_text(text, encoding="utf-8")


def _markdown(frame: pl.DataFrame) -> str:
    """Return a table in Markdown, figures flush right and without a bar that would end a cell."""
    rules = ["--:" if frame[name].dtype.is_numeric() else "---" for name in frame.columns]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in cells(frame)]
    return "".join(f"| {' | '.join(row)} |\n" for row in ([*frame.columns], rules, *rows))
