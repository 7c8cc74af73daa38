"""Sections of tables and sentences: what a record of a design says, for a terminal, its UI and a page to render."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evo_libra.errors import counted
from evo_libra.explain.labels import cell, interval_text, noun
from evo_libra.problem.bands import JOIN
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
    figures = record.banded_figures
    ends = {column: band.around(figures[column]) for column, band in record.bands.items() if column in figures}
    return [(noun(column), interval_text(column, value, ends.get(column))) for column, value in figures.items()]


def band_sentences(record: DesignRecord) -> list[str]:
    """Return what the bands of a design are from, each reason once."""
    reasons = [*dict.fromkeys((one.of, one.rows, one.years) for one in record.bands.values())]
    return [BANDS_HOLD, *(_reason_text(*one) for one in reasons)] if reasons else []


def band_note(names: Iterable[str | None]) -> list[str]:
    """Return a sentence on the bands of several designs, from the names of their reasons; nothing without any.

    >>> band_note(["time of gb200, fp8, dense, FSDP; routed in place of dense", None])
    ['Bands hold four of five measured figures, by rows of gb200, fp8, dense, FSDP. `evaluate` says what widens each.']
    """
    firsts = dict.fromkeys(name.split(JOIN)[0] for name in names if name)
    if not firsts:
        return []
    rows = "; ".join(name.partition(" of ")[2] or name for name in firsts)
    return [f"Bands hold four of five measured figures, by rows of {rows}. `evaluate` says what widens each."]


BANDS_HOLD = "Bands in brackets hold four of five measured figures."


def _reason_text(of: str, rows: int, years: tuple[int, int]) -> str:
    """Return the rows that a band is from, and what widens it.

    >>> _reason_text("time of h100-80gb, fp8, dense, pipeline; routed in place of dense", 15, (2024, 2025))
    'Time of h100-80gb, fp8, dense, pipeline: 15 rows of 2024 to 2025; wider for routed in place of dense.'
    """
    first, *others = of.split(JOIN)
    span = f"{years[0]}" if years[0] == years[1] else f"{years[0]} to {years[1]}"
    wider = f"; wider for {', '.join(others)}" if others else ""
    return f"{first[:1].upper()}{first[1:]}: {counted(rows, 'row')} of {span}{wider}."


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
