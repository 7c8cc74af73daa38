"""Sections of tables and sentences: what a record of a design says, for a terminal, its UI and a page to render."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evo_libra.explain.labels import cell, interval_text, noun
from evo_libra.quantities import time_unit

if TYPE_CHECKING:
    from evo_libra.explain.record import DesignRecord

Row = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts.

    Attributes
    ----------
    rows : a text for each column; None draws a line.
    words : columns of words, by their heads; `folds` : those of them that fold where there is little room.
    strong : rows and columns of the cells that stand out.
    """

    title: str
    columns: Row
    rows: tuple[Row | None, ...]
    words: Row = ()
    folds: Row = ()
    strong: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Section:
    """Sentences and tables that belong together, with a title that may be empty."""

    title: str
    parts: tuple[Table | str, ...]


def figure_rows(record: DesignRecord) -> list[tuple[str, str]]:
    """Return the name and the text of each figure of a design, with its band where it has one."""
    ends = {column: band.around(record.figures[column]) for column, band in record.bands.items()}
    return [(noun(column), interval_text(column, value, ends.get(column))) for column, value in record.figures.items()]


def band_sentences(record: DesignRecord) -> list[str]:
    """Return what the bands of a design are from, each reason once."""
    reasons = {(one.of, one.rows, one.years): None for one in record.bands.values()}
    return [f"bands in brackets: {of}, {rows} rows of {first} to {last}" for of, rows, (first, last) in reasons]


def section(title: str, *parts: Table | str | Iterable[Table | str]) -> Section:
    """Return a section of tables, sentences and groups of them; empty sentences are left out."""
    groups = ([one] if isinstance(one, Table | str) else one for one in parts)
    return Section(title, tuple(one for group in groups for one in group if one))


def shares_table(title: str, parts: Sequence[tuple[str, float]], *, total: bool = False) -> Table:
    """Return a table of the ms of parts and their percent, in the unit that suits their sum."""
    whole = sum(ms for _, ms in parts)
    unit, size = time_unit(whole)
    shown = [*parts, *([("all", whole)] if total else [])]
    rows = tuple((part, cell(ms / size), f"{100 * ms / whole:.1f}") for part, ms in shown)
    return Table(title=f"{title} [{unit}]", columns=("part", "time", "%"), rows=rows, words=("part",))
