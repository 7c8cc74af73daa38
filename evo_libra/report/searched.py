"""The columns that the filter of a report reads: those of `evo_libra.front.selection`, each value once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from evo_libra.front.front import Front
from evo_libra.front.selection import searched_frame, written_unit
from evo_libra.report.records import Searched

_RESULT = "result"


def searched_columns(every: Front, results: Sequence[str] = ()) -> list[Searched]:
    """Return the columns that queries read; `results` names the result of every row, where there are several."""
    frame = searched_frame(every)
    own = [pl.Series(_RESULT, results, dtype=pl.String)] if results else []
    return [_searched(series) for series in [*frame.get_columns(), *own]]


def _searched(series: pl.Series) -> Searched:
    kind = _kind(series)
    values = [_plain(value) for value in series.to_list()]
    names = list(dict.fromkeys(values))
    every_row_differs = len(names) == len(values)
    places = {name: place for place, name in enumerate(names)}
    coded = [] if len(names) == 1 or every_row_differs else [places[value] for value in values]
    return Searched(series.name, written_unit(series.name) if kind != "text" else "", kind, names, coded)


def _kind(series: pl.Series) -> Literal["text", "integer", "number"]:
    if series.dtype.is_float():
        return "number"
    return "integer" if series.dtype.is_numeric() else "text"


def _plain(value: Any) -> Any:  # noqa: ANN401 - a value of any column
    """Return a value as JSON has it: None for a number that is not finite."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if isinstance(value, float) and not math.isfinite(value) else value
