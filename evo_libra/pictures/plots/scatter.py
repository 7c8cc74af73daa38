"""Scatter plots of fronts, as text, which commands print, and as a figure; and points next to the line of parity."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

import numpy as np
from rich.cells import cell_len
from rich.console import Console

from evo_libra.arrays import FloatArray
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.recommend import knee_row
from evo_libra.explain.references import ReferencePoint
from evo_libra.front.families import drawn_families
from evo_libra.front.front import Front
from evo_libra.pictures.plots.axes import MAX_SERIES, axes_of, check_series, in_units
from evo_libra.pictures.plots.canvas import Area, Canvas
from evo_libra.pictures.plots.series import ASCII, BARS_HOLD, UNICODE, Glyphs, Role, Series
from evo_libra.problem.bands import HIGH, LOW
from evo_libra.problem.protocol import COST, TIME, Objective

_MAX_SERIES = 6
_MAX_POINTS = 250
_MAX_BARS = 60
_LINES = 22
_MIN_COLUMNS, _MIN_LINES = 30, 10
_BOLD, _GREY = "1", "38;5;244"
_COLOURS = tuple(f"38;5;{code}" for code in (32, 214, 36, 175, 202, 74, 227, 97, 247))  # Okabe and Ito's, nearly.
_STYLES = {
    Role.AXIS: _GREY, Role.TICK: _GREY, Role.HINT: _GREY, Role.CLOUD: _GREY, Role.LABEL: _BOLD,
    **{Role.FRONT + which: colour for which, colour in enumerate(_COLOURS)},
}  # fmt: skip
_NO_POINTS = "no points"
_UNICODE = replace(UNICODE, markers="●○▲△■□◆◇✕")
_ASCII = replace(ASCII, markers="ox+*#@%&=")


def scatter(
    series: Sequence[Series],
    *,
    width: int,
    height: int,
    x_label: str,
    y_label: str,
    log_x: bool,
    log_y: bool,
    style: bool,
    ascii_only: bool = False,
) -> str:
    """Return a scatter plot as `height` lines of `width` columns, at least 30 x 10, joined by newlines.

    Points are braille dots, 2 x 4 in a character. Without colour, several series are told apart by markers instead;
    so are all in ASCII. Later series lie over earlier ones; in braille, dots of both stay and take the later colour.
    A character of a label that does not take one column is shown as a question mark. The ``[ms]`` of a label becomes
    the unit that suits the times. Colours are ANSI escape codes, which take no columns.

    Raises
    ------
    ValueError : a plot that is too small, or series that `check_series` refuses.
    """
    if width < _MIN_COLUMNS or height < _MIN_LINES:
        raise ValueError(f"a plot of {width} x {height} characters; at least {_MIN_COLUMNS} x {_MIN_LINES} are needed")
    check_series(series, log_x=log_x, log_y=log_y)
    series, (x_label, y_label) = in_units(series, (x_label, y_label), log_x=log_x, log_y=log_y)
    glyphs = _ASCII if ascii_only else _UNICODE
    braille = not ascii_only and (style or len(series) == 1)
    x_label, y_label, *names = (
        _one_column(text, glyphs) for text in (x_label, y_label, *(one.label for one in series))
    )
    x_label, y_label = _shortened(x_label, width, glyphs), _shortened(y_label, width, glyphs)

    canvas = Canvas.blank(width, height)
    canvas.write(0, 0, y_label, Role.LABEL)
    top = height - _draw_legend(canvas, names, len(x_label), glyphs, same_marker=braille)
    canvas.write(top, width - len(x_label), x_label, Role.LABEL)
    if any(one.x.size for one in series):
        area = canvas.draw_axes(*axes_of(series, log_x=log_x, log_y=log_y), top - 3, glyphs)
        for which, one in enumerate(series):
            if braille:
                canvas.draw_dots(area, one, Role.FRONT + which, keep=True)
            else:
                canvas.draw_markers(area, one, glyphs.markers[which], Role.FRONT + which)
        _draw_bars(canvas, area, series, glyphs, len(y_label))
    else:
        canvas.draw_frame(top - 3, 1, glyphs)
        canvas.write(top // 2 - 1, (width - len(_NO_POINTS)) // 2, _NO_POINTS, Role.HINT)
    return canvas.styled(_STYLES if style else {})


def _draw_bars(canvas: Canvas, area: Area, series: Sequence[Series], glyphs: Glyphs, reserved: int) -> None:
    """Draw the bars behind the points, and what they are right of the `reserved` columns of a label."""
    for one in series:
        canvas.draw_bars(area, one, glyphs, Role.CLOUD)
    if any(one.barred[0].size for one in series):
        canvas.write(0, reserved + 3, f"{glyphs.upright} {BARS_HOLD}", Role.HINT)


def _one_column(text: str, glyphs: Glyphs) -> str:
    text = unicodedata.normalize("NFC", text)
    if glyphs is _ASCII:
        text = text.encode("ascii", "replace").decode()
    odd = (not c.isprintable() or unicodedata.category(c)[0] == "M" or cell_len(c) != 1 for c in text)
    return "".join("?" if is_odd else c for c, is_odd in zip(text, odd, strict=True))


def _shortened(text: str, room: int, glyphs: Glyphs) -> str:
    return text if len(text) <= room else text[: room - 1] + glyphs.cut


def _draw_legend(canvas: Canvas, names: Sequence[str], reserved: int, glyphs: Glyphs, *, same_marker: bool) -> int:
    """Draw the legend at the bottom and return its lines, at least one: `reserved` columns of the first stay free."""
    height, width = canvas.text.shape
    layouts = (
        _legend_layout([_shortened(name, room, glyphs) for name in names], reserved, width)
        for room in range(width - 2, 0, -1)
    )
    layout = next(layout for layout in layouts if len(layout) <= 1 + height // 5)
    for row, entries in enumerate(layout, start=height - len(layout)):
        for column, which, name in entries:
            canvas.write(row, column, glyphs.markers[0 if same_marker else which], Role.FRONT + which)
            canvas.write(row, column + 2, name, Role.BLANK)
    return len(layout)


def _legend_layout(names: Sequence[str], reserved: int, width: int) -> list[list[tuple[int, int, str]]]:
    """Return, for each line, the column, the series and the name of its entries."""
    layout: list[list[tuple[int, int, str]]] = [[]]
    column, room = 0, width - reserved - 2
    for which, name in enumerate(names):
        if not name:
            continue
        if column + 2 + len(name) > room:
            layout.append([])
            column, room = 0, width
        layout[-1].append((column, which, name))
        column += len(name) + 5
    return layout


def with_references(
    series: Sequence[Series], points: Sequence[ReferencePoint], objectives: Sequence[Objective]
) -> list[Series]:
    """Return the series of a front with reference designs by name; they share a series where there are too many."""
    y, x = objectives[0].column, objectives[min(1, len(objectives) - 1)].column
    groups = [[point] for point in points] if len(series) + len(points) <= MAX_SERIES else [list(points)]
    return [*series, *(
        Series(
            np.array([point.figures[x] for point in group]), np.array([point.figures[y] for point in group]),
            ", ".join(point.name for point in group),
        )
        for group in groups
    )]  # fmt: skip


def series_of(front: Front, objectives: Sequence[Objective]) -> list[Series]:
    """Return the front as series by family: topologies where they are few, else combinations; the rare ones are merged.

    The second objective is the
    horizontal axis, the first the vertical one; with one objective it is drawn over itself.
    """
    y = front.frame[front.objectives[0]].to_numpy()
    x = front.frame[front.objectives[min(1, len(objectives) - 1)]].to_numpy()
    if "design" not in front.frame.columns:
        return [Series(x, y, "front")]
    bars, upright = _bars_of(front, objectives)
    families = drawn_families(front, _MAX_SERIES)
    common = np.argsort(-families.sizes, kind="stable")[:_MAX_SERIES]
    mine = [(families.of == which, families.names[which]) for which in common.tolist()]
    rest = ~np.isin(families.of, common)
    mine += [(rest, f"{len(families) - len(common)} more")] if rest.any() else []
    return [
        Series(x[these], y[these], name, None if bars is None else bars[:, these], upright) for these, name in mine
    ]  # fmt: skip


def _bars_of(front: Front, objectives: Sequence[Objective]) -> tuple[FloatArray | None, bool]:
    """Return the (2, n) ends of the bands of the vertical axis, or of the horizontal one; None where neither has any.

    Bars of many designs would hide their points.
    """
    drawn = front.objectives[: min(2, len(objectives))]
    column = next((one for one in drawn if one in front.banded), None)
    if column is None or len(front) > _MAX_BARS:
        return None, True
    ends = [front.frame[prefix + column].to_numpy() for prefix in (LOW, HIGH)]
    return np.array(ends, dtype=np.float64), column == front.objectives[0]


def _axis_labels(objectives: Sequence[Objective]) -> tuple[str, str]:
    return objectives[min(1, len(objectives) - 1)].label, objectives[0].label


def terminal_plot_of(
    front: Front, objectives: Sequence[Objective], console: Console, references: Sequence[ReferencePoint] = ()
) -> str:
    """Return the front and reference designs as text as wide as the terminal."""
    series = with_references(series_of(front, objectives), references, objectives)
    return terminal_scatter(series, *_axis_labels(objectives), console)


def terminal_scatter(series: Sequence[Series], x_label: str, y_label: str, console: Console) -> str:
    """Return points on logarithmic axes as text as wide as the terminal."""
    encoding = (console.encoding or "ascii").lower()
    return scatter(
        series, width=max(40, min(console.width, 110)), height=_LINES, x_label=x_label, y_label=y_label,
        log_x=True, log_y=True,
        style=console.color_system is not None and not console.no_color, ascii_only=not encoding.startswith("utf"),
    )  # fmt: skip


def figure_of(
    front: Front, objectives: Sequence[Objective], title: str, file: BinaryIO, references: Sequence[ReferencePoint] = ()
) -> None:
    """Draw the front and reference designs to an open file as a PNG; its title says what its points are."""
    from evo_libra.pictures.plots.figure import front_figure  # noqa: PLC0415 - Matplotlib takes a third of a second

    x_label, y_label = _axis_labels(objectives)
    # Thousands of points on a line would hide each other's colours.
    thinned = Front(front.spread(_MAX_POINTS), front.objectives)
    series = with_references(series_of(thinned, objectives), references, objectives)
    front_figure(series, x_label=x_label, y_label=y_label, title=_titled(title, front), mark=knee_of(front), path=file)


def _titled(title: str, front: Front) -> str:
    """Return a title with the question that a front answers.

    >>> import polars as pl
    >>> _titled("gpt3-4k", Front(pl.DataFrame({"time_ms": [1.0]}), ("time_ms",)))
    'gpt3-4k: designs'
    """
    return ": ".join(filter(None, (title, f"{front.noun}s")))


def front_picture(front: Front) -> bytes:
    """Return the picture of a front as a PNG."""
    known = {objective.column: objective for objective in (TIME, COST)}
    objectives = [known.get(column, Objective(column, column, 1.0, column)) for column in front.objectives]
    figure_of(front, objectives, "", picture := io.BytesIO())
    return picture.getvalue()


def knee_of(front: Front) -> Series | None:
    """Return the knee of a front as a series, on the axes of its first two objectives; None where it has none."""
    if not candidates_of(front).bends:
        return None
    columns = [front.objectives[min(1, len(front.objectives) - 1)], front.objectives[0]]
    row = knee_row(front)
    x, y = (np.array([float(row[column])]) for column in columns)
    return Series(x, y, f"knee, #{row['id']}")


_STEPS = 200  # Points of the line: more than a terminal has dots across.


def line_of(series: Sequence[Series]) -> Series:
    """Return the line of equal values, as far as the points of series reach; empty without points."""
    values = np.concatenate([np.concatenate([one.x, one.y]) for one in series])
    low, high = (values.min(), values.max()) if values.size else (1.0, 1.0)
    line = np.geomspace(low, high, _STEPS if values.size else 0)
    return Series(line, line, "equal")


def terminal_parity(series: Sequence[Series], x_label: str, y_label: str, console: Console) -> str:
    """Return points over the line of equal values, on logarithmic axes, as text as wide as the terminal."""
    return terminal_scatter([line_of(series), *series], x_label, y_label, console)
