"""A part of a front: designs that a query chooses, in an order, with figures in the units that people write."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from evo_libra.errors import InputError, unknown
from evo_libra.files.query import MATCHES, TEXT, Word, fits, number_and_unit, parse_query
from evo_libra.front.families import families_of
from evo_libra.front.plan_numbers import plan_numbers
from evo_libra.problem.constraint_parser import UNITS, units_of

if TYPE_CHECKING:
    from evo_libra.front.front import Front

FAMILY = "family"

_ORDERS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}
_UNITS = {"usd": "USD", "GBps": "GB/s", "percent": "%"}
"""Units of columns that people write otherwise."""


def with_families(front: Front) -> Front:
    """Return a front whose table has the name of each design's family, too."""
    if FAMILY in front.frame.columns:
        return front
    return replace(front, frame=front.frame.with_columns(pl.Series(FAMILY, families_of(front).labels, dtype=pl.String)))


def chosen(front: Front, query: str) -> Front:
    """Return the designs that fit all words of a query, with their ids.

    ``time<5s`` compares numbers, in the column's unit or the one that is written; ``tp>=8`` those of plans.
    ``family:SW8*,CL*`` compares texts: ``*`` stands for any letters and a comma for "or". ``technology:ib*`` is about
    any dimension, ``#3,7`` about ids. A word without a sign is looked for in all texts, and a ``-`` before a word
    negates it. An `InputError` names the position of what is no word, or no column.

    >>> from evo_libra import load_problem, search
    >>> front = search(load_problem("gpt3-4k"), evaluations=500)
    >>> len(chosen(front, "time<1s cost < 2 MUSD")) < len(chosen(front, "time<1s")) < len(front)
    True
    """
    front = with_families(front)
    words, searched = parse_query(query, UNITS), searched_frame(front)
    kept = pl.Series([True] * len(front), dtype=pl.Boolean)
    for word in words:
        condition = _condition(searched, word).fill_null(value=False)
        kept &= ~condition if word.negated else condition
    return replace(front, frame=front.frame.filter(kept))


def searched_frame(front: Front) -> pl.DataFrame:
    """Return the table that queries read: that of the front with its families and the numbers of its plans."""
    frame = with_families(front).frame
    plans = [name for name in frame.columns if name == "plan" or name.startswith("plan[")]
    numbers = [
        pl.Series(key, values, dtype=pl.Int64)
        for name in plans
        for key, values in plan_numbers(name, frame[name].to_list()).items()
        if key not in frame.columns
    ]
    return frame.with_columns(numbers)


def ordered(front: Front, column: str) -> Front:
    """Return a front by a column, ``-`` before it from the largest on; an `InputError` says that there is none."""
    front = with_families(front)
    name = column_of(front.frame.columns, column.removeprefix("-"))
    frame = front.frame.sort(name, descending=column.startswith("-"), maintain_order=True)
    return replace(front, frame=frame)


def column_of(columns: Sequence[str], name: str) -> str:
    """Return the column of a name that may lack its unit; an `InputError` says that there is none.

    >>> column_of(["id", "time_ms", "bandwidth[0]_GBps"], "time"), column_of(["bandwidth[0]_GBps"], "bandwidth[0]")
    ('time_ms', 'bandwidth[0]_GBps')
    """
    if name in columns:
        return name
    bare = bare_names(columns)
    if name not in bare:
        named = bare.values()
        raise InputError(unknown("column", name, [*bare, *(column for column in columns if column not in named)]))
    return bare[name]


def bare_names(columns: Sequence[str]) -> dict[str, str]:
    """Return columns by their names without a unit."""
    return {column.rpartition("_")[0]: column for column in columns if "_" in column}


def written_unit(column: str) -> str:
    """Return the unit of a column as people write it; empty where it has none that can be converted.

    >>> written_unit("cost_usd"), written_unit("bandwidth[0]_GBps"), written_unit("error_rate"), written_unit("id")
    ('USD', 'GB/s', '', '')
    """
    own = column.rpartition("_")[2]
    own = _UNITS.get(own, own)
    return own if own in UNITS else ""


def in_unit_of(column: str, text: str) -> float:
    """Return a quantity in the unit of a column, which it has where none is written.

    An `InputError` says that it is no number, or of another kind.

    >>> in_unit_of("time_ms", "5s"), in_unit_of("cost_usd", "2.5 MUSD"), in_unit_of("power_kW", "70")
    (5000.0, 2500000.0, 70.0)
    """
    found, own = number_and_unit(text), written_unit(column)
    if found is None:
        raise InputError(f"'{text}' is no number{f', such as 5{own}' if own else ''}")
    number, unit = found
    if not unit:
        return number
    if not own:
        raise InputError(f"'{text}' has a unit, and {column} has none that can be converted")
    kind, size = UNITS[own]
    if unit not in UNITS or UNITS[unit][0] != kind:
        raise InputError(f"'{text}' is no {kind}; its units are {units_of(kind)}")
    return number * UNITS[unit][1] / size


def _condition(frame: pl.DataFrame, word: Word) -> pl.Series:
    """Return (n,) whether rows fit a word, apart from its ``-``."""
    if word.sign == TEXT:
        return _containing(frame, word)
    columns = _columns(frame, word)
    numeric = frame[columns[0]].dtype.is_numeric()
    if word.sign == MATCHES:
        if frame[columns[0]].dtype.is_float():
            raise word.error(f"{word.name} has numbers; write {word.name}<{word.value}")
        tested = fits(word.patterns)
        return _any([_mapped(frame[column].cast(pl.String), tested) for column in columns])
    if not numeric:
        raise word.error(f"{word.name} has texts; write {word.name}:{word.value}")
    try:
        limit = in_unit_of(columns[0], word.value)
    except InputError as error:
        raise word.error(str(error), of_value=True) from None
    return _any([_ORDERS[word.sign](frame[column], limit) for column in columns])


def _columns(frame: pl.DataFrame, word: Word) -> list[str]:
    """Return the column of a word, or that of every dimension."""
    columns = [column for column in frame.columns if column.startswith(f"{word.name}[")]
    if word.name not in frame.columns and columns:
        return columns
    try:
        return [column_of(frame.columns, word.name)]
    except InputError as error:
        raise word.error(str(error)) from None


def _containing(frame: pl.DataFrame, word: Word) -> pl.Series:
    texts = [frame[column] for column in frame.columns if not frame[column].dtype.is_numeric()]
    tested = fits([word.value.lower()], anywhere=True)
    found = [_mapped(text.cast(pl.String), tested) for text in texts]
    return _any(found) if found else pl.Series([False] * frame.height, dtype=pl.Boolean)


def _mapped(texts: pl.Series, test: object) -> pl.Series:
    return texts.map_elements(test, return_dtype=pl.Boolean)  # type: ignore[arg-type] # it is called with each text


def _any(conditions: Sequence[pl.Series]) -> pl.Series:
    """Return (n,) whether one of some conditions holds; a design without a value fits none."""
    found = conditions[0].fill_null(value=False)
    for condition in conditions[1:]:
        found |= condition.fill_null(value=False)
    return found
