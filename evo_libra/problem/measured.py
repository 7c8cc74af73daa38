"""Bands of figures by what is bought, from measured rows: the table that ships, and the class that is nearest.

`python -m evo_libra.validation.measured_bands` makes the table, and its module says how; a test holds the two equal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.problem.bands import Part
from evo_libra.workload.plans.step_class import MEMORY, StepClass

TABLE = Path(__file__).with_name("measured_bands.json")

ASPECTS = tuple(one.name for one in fields(StepClass))
"""Fields in which classes differ."""


@dataclass(frozen=True, kw_only=True)
class MeasuredClass:
    """The rows of a class, and what they say of a figure.

    Attributes
    ----------
    figure : kind of the figure, such as ``time``.
    low, high : factors on a computed figure between which four of five measured ones lie.
    rows, series : their numbers; rows of one model and software are a series.
    years : of the oldest and of the newest row.
    basis : whether constants were fitted to the rows.
    """

    figure: str
    of: StepClass
    low: float
    high: float
    rows: int
    series: int
    years: tuple[int, int]
    basis: str


@dataclass(frozen=True)
class Offsets:
    """Factors by which errors of classes differ that differ in one aspect, of a figure of training or of serving.

    Attributes
    ----------
    without_pairs : aspects in which no two classes show it; the largest factor that is known stands in.
    """

    figure: str
    served: bool
    factors: dict[str, float]
    without_pairs: tuple[str, ...]


@dataclass(frozen=True)
class Nearest:
    """The measured class that stands for a class, and in what they differ."""

    measured: MeasuredClass
    differing: tuple[str, ...]


@cache
def _table() -> tuple[tuple[MeasuredClass, ...], tuple[Offsets, ...]]:
    data = json.loads(TABLE.read_text())
    return (
        tuple(_class_of(row) for row in data["classes"]),
        tuple(
            Offsets(row["figure"], row["served"], row["factors"], tuple(row["without_pairs"]))
            for row in data["offsets"]
        ),
    )


def _class_of(row: dict[str, Any]) -> MeasuredClass:
    of = StepClass(*(row[aspect] for aspect in ASPECTS))
    kept = {key: row[key] for key in ("figure", "low", "high", "rows", "series", "basis")}
    return MeasuredClass(of=of, years=tuple(row["years"]), **kept)


def measured_classes() -> tuple[MeasuredClass, ...]:
    """Return all classes of the table."""
    return _table()[0]


def offsets() -> tuple[Offsets, ...]:
    """Return all factors of the table."""
    return _table()[1]


def offset(figure: str, aspect: str, *, served: bool) -> float:
    """Return the factor by which errors of a figure differ where classes differ in an aspect."""
    return next(one.factors[aspect] for one in offsets() if (one.figure, one.served) == (figure, served))


@cache
def nearest(of: StepClass, figure: str) -> Nearest | None:
    """Return the measured class that is nearest; None where nothing of that kind was measured.

    Memory was measured of training alone, whose rows stand for serving, too: bytes are counted alike there, and the
    schedules differ.

    First it has the same schedule, and an accelerator of the same generation: each of the two counts as much. Then it
    differs in the fewest aspects, and in those in which errors differ the least. Of equals it is the newest.
    """
    measured = [one for one in measured_classes() if one.figure == figure]
    alike = [one for one in measured if one.of.is_served == of.is_served]
    found = alike or (measured if figure == MEMORY else [])
    if not found:
        return None
    best = min(found, key=lambda one: _distance(of, one))
    return Nearest(best, _differing(of, best.of))


def _differing(of: StepClass, other: StepClass) -> tuple[str, ...]:
    return tuple(aspect for aspect in ASPECTS if getattr(of, aspect) != getattr(other, aspect))


def _distance(of: StepClass, one: MeasuredClass) -> tuple[float, ...]:
    differing = _differing(of, one.of)
    apart = sum(offset(one.figure, aspect, served=one.of.is_served) - 1.0 for aspect in differing)
    far = ("schedule" in differing) + (not _alike(of.npu, one.of.npu))
    return far, len(differing), apart, -one.years[1], -one.series


def _alike(npu: str, other: str) -> bool:
    """Return whether two accelerators are the same one, or of one generation."""
    known = [load_accelerators().get(name) for name in (npu, other)]
    first, second = (None if one is None else one.generation for one in known)
    return npu == other or (first is not None and first == second)


def parts_of(of: StepClass, figure: str) -> tuple[tuple[Part, ...], MeasuredClass] | None:
    """Return the reasons for which a figure of a class may be off, and the rows that say so; None without any.

    They are the errors of the nearest class, and one for each aspect in which that one differs.
    """
    found = nearest(of, figure)
    if found is None:
        return None
    rows, served = found.measured, found.measured.of.is_served
    own = Part(of=f"{figure} of {rows.of}", low_factor=rows.low, high_factor=rows.high)
    return (
        own,
        *(_apart(of, rows.of, aspect, offset(figure, aspect, served=served)) for aspect in found.differing),
    ), rows


def _apart(of: StepClass, other: StepClass, aspect: str, factor: float) -> Part:
    text = f"{getattr(of, aspect)} in place of {getattr(other, aspect)}"
    return Part(of=text, low_factor=1.0 / factor, high_factor=factor)
