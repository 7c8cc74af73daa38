"""A part of a front: designs that a filter chooses, in an order, with figures in the units that people write."""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from evo_libra.errors import InputError, unknown
from evo_libra.front.families import families_of
from evo_libra.front.front import Front
from evo_libra.problem.constraint_parser import UNITS, units_of

FAMILY = "family"

_WORD = re.compile(r"(-?)([A-Za-z_][\w.-]*?(?:\[\d+\])?(?:_GBps)?)(:|<=|>=|<|>)(\S+)")
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z/]*)")
_ORDERS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_UNITS = {"usd": "USD", "GBps": "GB/s"}
"""Units of columns that people write otherwise."""


def with_families(front: Front) -> Front:
    """Return a front whose table has the name of each design's family, too."""
    if FAMILY in front.frame.columns:
        return front
    return replace(front, frame=front.frame.with_columns(pl.Series(FAMILY, families_of(front).labels, dtype=pl.String)))


def chosen(front: Front, query: str) -> Front:
    """Return the designs that fit all words of a query, with their ids.

    ``time<5s`` compares numbers, in the column's unit or the one that is written. ``family:SW8*,CL*`` compares texts:
    ``*`` stands for any letters and a comma for "or". ``technology:ib*`` is about any dimension, and a ``-`` before a
    word negates it. An `InputError` names what is no word, or no column.

    >>> from evo_libra import load_problem, search
    >>> front = search(load_problem("gpt3-4k"), evaluations=500)
    >>> len(chosen(front, "time<1s cost<2MUSD")) < len(chosen(front, "time<1s")) < len(front)
    True
    """
    front = with_families(front)
    frame = front.frame
    for word in query.split():
        frame = frame.filter(_condition(frame, word))
    return replace(front, frame=frame)


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
    bare = {column.rpartition("_")[0]: column for column in columns if "_" in column}
    if name not in bare:
        named = bare.values()
        raise InputError(unknown("column", name, [*bare, *(column for column in columns if column not in named)]))
    return bare[name]


def in_unit_of(column: str, text: str) -> float:
    """Return a quantity in the unit of a column, which it has where none is written.

    An `InputError` says that it is no number, or of another kind.

    >>> in_unit_of("time_ms", "5s"), in_unit_of("cost_usd", "2.5 MUSD"), in_unit_of("power_kW", "70")
    (5000.0, 2500000.0, 70.0)
    """
    match = _NUMBER.fullmatch(text.strip())
    own = column.rpartition("_")[2]
    own = _UNITS.get(own, own)
    if match is None:
        raise InputError(f"'{text}' is no number{f', such as 5{own}' if own in UNITS else ''}")
    number, unit = float(match[1]), match[2]
    if not unit:
        return number
    if own not in UNITS:
        raise InputError(f"'{text}' has a unit, and {column} has none that can be converted")
    kind, size = UNITS[own]
    if unit not in UNITS or UNITS[unit][0] != kind:
        raise InputError(f"'{text}' is no {kind}; its units are {units_of(kind)}")
    return number * UNITS[unit][1] / size


def _condition(frame: pl.DataFrame, word: str) -> pl.Series:
    match = _WORD.fullmatch(word)
    if match is None:
        raise InputError(f"'{word}' is no filter; write it like time<5s, family:SW8* or id>=10")
    turned, name, sign, value = match[1] == "-", match[2], match[3], match[4]
    if sign == ":":
        found = _matching(frame, name, value.lower().split(","))
    else:
        column = column_of(frame.columns, name)
        if not frame[column].dtype.is_numeric():
            raise InputError(f"'{word}': {column} has texts; write {name}:{value}")
        found = _ORDERS[sign](frame[column], in_unit_of(column, value))
    return ~found if turned else found


def _matching(frame: pl.DataFrame, name: str, patterns: Sequence[str]) -> pl.Series:
    """Return (n,) whether a column, or that of any dimension, fits one of some patterns."""
    columns = [column for column in frame.columns if column.startswith(f"{name}[")]
    columns = columns or [column_of(frame.columns, name)]
    fits = pl.Series([False] * frame.height, dtype=pl.Boolean)
    for column in columns:
        texts = frame[column].cast(pl.String).str.to_lowercase()
        fits |= texts.map_elements(
            lambda text: any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns), return_dtype=pl.Boolean
        )
    return fits
