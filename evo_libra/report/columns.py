"""The columns of a report: objectives, genes and plans of the designs of fronts, in units that suit them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evo_libra.arrays import FloatArray
from evo_libra.explain.labels import label_of
from evo_libra.front.families import short_plans
from evo_libra.front.front import Front
from evo_libra.front.plan_numbers import WORD, plan_numbers
from evo_libra.pictures.plots.axes import axes_of, unit_of
from evo_libra.pictures.plots.series import Series
from evo_libra.problem.bands import BAND, FACTORS, HIGH, LOW
from evo_libra.report.records import Column, Kind

PLAN = re.compile(r"plan(\[.*\])?$")
_GENE = re.compile(r"(npus|block|technology|bandwidth)\[(\d+)\](_GBps)?")
_GENE_LABELS = {"npus": "NPUs", "block": "block", "technology": "technology", "bandwidth": "bandwidth"}
_MAX_NAMES = 40
"""Choices that an axis has room for; a column of more different texts has no axis."""
_NOT_AXES = ("id", "design", BAND, FACTORS)
_DIGITS = 7
_FEW = 10
_MUCH = 8.0
"""Factor between values from which on an axis is logarithmic."""


def columns_of(frame: pl.DataFrame, objectives: Sequence[str]) -> list[Column]:
    """Return the columns of designs: objectives first, then plans, bandwidths and other genes.

    Columns with one value for all designs are left out, and so are texts that differ for nearly all.
    """
    found = [_objective(name, frame[name].to_numpy()) for name in objectives]
    rest: list[Column] = []
    ends = {prefix + name for name in objectives for prefix in (LOW, HIGH)}
    for name in frame.columns:
        if name in {*objectives, *_NOT_AXES, *ends}:
            continue
        rest += _plan_columns(name, frame[name].to_list()) if PLAN.match(name) else _plain(name, frame[name])
    varying = [column for column in rest if len(set(column.values)) > 1]
    ordered = [*found, *sorted(varying, key=lambda column: (column.kind != "plan", not column.shown))]
    return [_with_ends(column) for column in ordered]


def named_column(key: str, values: Sequence[int], names: Sequence[str]) -> Column:
    """Return a column of choices that are called the same as their key; one that all rows share has no axis."""
    column = Column(key, key, "gene", list(values), list(names), shown=1 < len(names) <= _MAX_NAMES)
    return _with_ends(column)


def _with_ends(column: Column) -> Column:
    """Return a column with its ends; axes of objectives are logarithmic, and of others that vary much."""
    values = [value for value in column.values if value is not None]
    least, most = min(values, default=0.0), max(values, default=0.0)
    log = not column.names and least > 0 and (column.kind == "objective" or most > _MUCH * least)
    different = [] if column.names else sorted(set(values))
    money = column.kind == "objective" or column.key.endswith("_usd")
    few = different if len(different) <= _FEW and not money else []
    return replace(column, log=log, least=least, most=most, few=few)


def _objective(name: str, values: FloatArray) -> Column:
    axis, _ = axes_of([Series(values, values, "")], log_x=bool((values > 0).all()), log_y=False)
    label, factor = unit_of(label_of(name), axis)
    return Column(name, label, "objective", rounded(values / factor), factor=factor)


def banded(column: Column, fronts: Sequence[Front]) -> Column:
    """Return a column of an objective with the ends of its bands, if some design of the fronts has one."""
    if column.kind != "objective" or not any(column.key in front.banded for front in fronts):
        return column
    ends: list[list[float | None]] = [[], []]
    for front in fronts:
        for place, prefix in enumerate((LOW, HIGH)):
            values = front.frame.get_column(prefix + column.key, default=None)
            known = [None] * len(front) if values is None else values.to_list()
            ends[place] += rounded(None if value is None else value / column.factor for value in known)
    return replace(column, low=ends[0], high=ends[1], faint=True)


def rounded(values: Iterable[float | None]) -> list[float | int | None]:
    """Return numbers to seven digits, None where they are not finite or not known."""
    return [None if value is None or not np.isfinite(value) else float(f"{value:.{_DIGITS}g}") for value in values]


def _plain(name: str, values: pl.Series) -> list[Column]:
    match = _GENE.fullmatch(name)
    if match is not None:
        return [_gene(name, match[1], int(match[2]), values)]
    if name.endswith("_usd"):
        return [replace(_objective(name, values.cast(float).to_numpy()), kind="other")]
    if values.dtype.is_numeric():
        return [Column(name, label_of(name), "other", rounded(values.to_list()))]
    return _choices(name, name, "other", ["" if one is None else str(one) for one in values], shown=True)


def _gene(name: str, what: str, dimension: int, values: pl.Series) -> Column:
    label = f"{_GENE_LABELS[what]} {dimension}"
    if what == "bandwidth":
        used = [value or None for value in values.to_list()]
        return Column(name, f"{label} [GB/s]", "gene", [None if v is None else rounded([v])[0] for v in used])
    if what == "npus":
        return Column(name, label, "gene", [None if v == 1 else v for v in values.to_list()], shown=False)
    found = _choices(name, label, "gene", values.to_list(), shown=False)
    return found[0] if found else Column(name, label, "gene", [], shown=False)


def _choices(name: str, label: str, kind: Kind, texts: Sequence[str], *, shown: bool) -> list[Column]:
    """Return a column of texts as places among them; none where there are too many."""
    names = sorted({text for text in texts if text})
    if len(names) > _MAX_NAMES:
        return []
    place = {text: n for n, text in enumerate(names)}
    return [
        Column(key=name, label=label, kind=kind, values=[place.get(text) for text in texts], names=names, shown=shown)
    ]


def _plan_columns(name: str, plans: Sequence[str | None]) -> list[Column]:
    """Return a column for each number of parallelisation plans, 1 where a plan does not say it, and one for the rest.

    >>> [(one.label, one.values) for one in _plan_columns("plan", ["tp8 pp2x4 zero1", "tp16 zero1"])][:2]
    [('tp', [8, 16]), ('pp', [2, 1])]
    """
    numbers, suffix = plan_numbers(name, plans), name.removeprefix("plan")
    columns = [
        Column(f"{name}.{label.removesuffix(suffix)}", label, "plan", list(values)) for label, values in numbers.items()
    ]
    words = [[word for word in (plan or "").split() if not WORD.fullmatch(word)] for plan in plans]
    rest, _ = short_plans([" ".join(each) for each in words])
    return [*columns, *_choices(f"{name}.options", f"options{suffix}", "plan", rest, shown=True)]
