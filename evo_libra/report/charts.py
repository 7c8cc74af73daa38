"""Pictures of batches: what runs of a group attain together, and how their hypervolumes grew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.explain.labels import label_of
from evo_libra.front.indicators import staircase
from evo_libra.pictures.plots.axes import COLOURS, axes_of, in_unit, position, ticks, unit_of
from evo_libra.pictures.plots.series import Axis, Series, tick_label
from evo_libra.report.records import Chart

_WIDTH, _HEIGHT = 560.0, 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 14.0, 12.0, 44.0
_ROW = 16.0
_DASHES = ("", "7 4", "2 3", "9 3 2 3")
_CELLS, _LINES = 84, 18
_FEW = 5
"""Points of a single run that make no picture."""
BEST, MEDIAN, WORST = 0, 50, 100
"""Percentages of the runs of a group that attain a surface."""


@dataclass(frozen=True)
class Line:
    """A line of a chart: (k,) values across and up, the group that it is of, and its kind: line, points or area."""

    x: FloatArray
    y: FloatArray
    group: int
    kind: str = "line"


def attainment_chart(
    surfaces: Mapping[str, Mapping[int, FloatArray]], runs: Mapping[str, int], objectives: Sequence[str]
) -> Chart | None:
    """Return the chart of what groups of runs attain in two objectives; None where there are others.

    Parameters
    ----------
    surfaces : of each group, the (2, k) corners that 0, 50 and 100 % of its runs attain.
    runs : of each group, how many there are.
    """
    if len(objectives) != 2 or not surfaces:  # noqa: PLR2004 - surfaces of more are no lines
        return None
    corners = np.concatenate([part for each in surfaces.values() for part in each.values()], axis=1)
    worst, lines = corners.max(axis=1), list[Line]()
    for group, each in enumerate(surfaces.values()):
        best, median, last = (staircase(each[level], worst)[::-1] for level in (BEST, MEDIAN, WORST))
        around = np.concatenate([best, last[:, ::-1]], axis=1)
        lines += [Line(around[0], around[1], group, "area"), Line(median[0], median[1], group)]
    names = [f"{name} ({runs[name]} runs)" if runs[name] > 1 else name for name in surfaces]
    drawing = chart_svg(lines, names, (label_of(objectives[1]), label_of(objectives[0])), log_x=True, log_y=True)
    return Chart(
        "Attainment", drawing,
        "The line is what half of the runs of a group attain, the area lies between what all attain and what the best "
        "of each attain.",
    )  # fmt: skip


def convergence_chart(courses: Mapping[str, Sequence[FloatArray]]) -> Chart | None:
    """Return the chart of the hypervolume over evaluations; progress is (2, k), by group; None where none is known."""
    lines = [
        Line(course[0], course[1], group)
        for group, each in enumerate(courses.values()) for course in each if course.shape[1] > 1
    ]  # fmt: skip
    if not lines or (len(lines) == 1 and len(lines[0].x) < _FEW):
        return None
    drawing = chart_svg(lines, list(courses), ("evaluations", "hypervolume"), log_x=True, log_y=False)
    return Chart(
        "Convergence", drawing,
        "The hypervolume of the front by evaluations, a line for each run, on the scale of the problem.",
    )  # fmt: skip


def chart_svg(
    lines: Sequence[Line], names: Sequence[str], labels: tuple[str, str], *, log_x: bool, log_y: bool
) -> str:  # fmt: skip
    """Return lines and areas with their axes as SVG; groups differ in colour and dashes."""
    x, y = axes_of([Series(one.x, one.y, "") for one in lines], log_x=log_x, log_y=log_y)
    (x_label, across), (y_label, up) = unit_of(labels[0], x), unit_of(labels[1], y)
    axes = in_unit(x, across), in_unit(y, up)
    height = _HEIGHT + _ROW * len(names)
    body = [*_axes(*axes, (x_label, y_label)), *(_line(one, x, y) for one in lines)]
    dotted = {one.group for one in lines if one.kind == "points"}
    body += [_entry(group, name, dot=group in dotted) for group, name in enumerate(names)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height:g}" width="{_WIDTH:g}" '
        f'height="{height:g}" font-family="system-ui, \'DejaVu Sans\', Arial, sans-serif" font-size="12" role="img" '
        f'aria-label="{escape(labels[1])} over {escape(labels[0])}">{"".join(body)}</svg>'
    )


def _axes(x: Axis, y: Axis, labels: tuple[str, str]) -> Iterator[str]:
    for value in ticks(x, _CELLS, across=True):
        at = _across(x, np.array([value]))[0]
        yield _grid(at, _TOP, at, _HEIGHT - _BOTTOM)
        yield _text(at, _HEIGHT - _BOTTOM + 16, tick_label(value), "middle")
    for value in ticks(y, _LINES, across=False):
        at = _up(y, np.array([value]))[0]
        yield _grid(_LEFT, at, _WIDTH - _RIGHT, at)
        yield _text(_LEFT - 6, at + 4, tick_label(value), "end")
    yield _text(_WIDTH - _RIGHT, _HEIGHT - 8, labels[0], "end")
    turned = f'transform="translate(14 {_TOP:g}) rotate(-90)"'
    yield f'<text {turned} fill="currentColor" text-anchor="end">{escape(labels[1])}</text>'


def _across(x: Axis, values: FloatArray) -> FloatArray:
    return np.asarray(_LEFT + position(x, values) * (_WIDTH - _LEFT - _RIGHT))


def _up(y: Axis, values: FloatArray) -> FloatArray:
    return np.asarray(_HEIGHT - _BOTTOM - position(y, values) * (_HEIGHT - _TOP - _BOTTOM))


def _line(one: Line, x: Axis, y: Axis) -> str:
    pairs = [*zip(_across(x, one.x), _up(y, one.y), strict=True)]
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in pairs)
    if one.kind == "points":
        return "".join(_dot(a, b, one.group) for a, b in pairs)
    if one.kind == "area":
        return f'<path d="{path}z" fill="{_colour(one.group)}" fill-opacity="0.2"/>'
    return f'<path d="{path}" fill="none" {_stroke(one.group)}/>'


def _entry(group: int, name: str, *, dot: bool) -> str:
    y = _HEIGHT + group * _ROW
    line = f'<path d="M{_LEFT:g} {y:g}h28" fill="none" {_stroke(group)}/>'
    return f"{_dot(_LEFT + 14, y, group) if dot else line}{_text(_LEFT + 36, y + 4, name, 'start')}"


def _dot(x: float, y: float, group: int) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_colour(group)}"/>'


def _colour(group: int) -> str:
    return COLOURS[group % len(COLOURS)]


def _stroke(group: int) -> str:
    dashes = _DASHES[group % len(_DASHES)]
    return f'stroke="{_colour(group)}" stroke-width="1.6"' + (f' stroke-dasharray="{dashes}"' if dashes else "")


def _grid(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="#8a8f98" stroke-opacity="0.35"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="currentColor" text-anchor="{anchor}">{escape(text)}</text>'
