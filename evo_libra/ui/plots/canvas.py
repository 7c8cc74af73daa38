"""A grid of characters, each with the role that a theme has a colour for, and what is drawn on it."""

from __future__ import annotations

import itertools
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from evo_libra.arrays import IntArray
from evo_libra.ui.plots.axes import (
    BRAILLE,
    DOT_BITS,
    DOTS_ACROSS,
    DOTS_UP,
    Axis,
    Series,
    axes_of,
    check_series,
    dots,
    in_units,
    label_start,
    tick_cells,
    tick_label,
    ticks,
)
from evo_libra.ui.terminal.queue_view import ASCII_MARKERS, MARKERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Role(IntEnum):
    """What a character is; the fronts have the numbers from FRONT on."""

    BLANK = 0
    AXIS = 1
    TICK = 2
    LABEL = 3
    CLOUD = 4
    SELECTED = 5
    BASELINE = 6
    HINT = 7
    FRONT = 8


@dataclass(frozen=True)
class Glyphs:
    """What axes, markers and bars are drawn with."""

    markers: str
    selected: str
    baseline: str
    cloud: str
    vertical: str
    horizontal: str
    corner: str
    y_tick: str
    x_tick: str
    cut: str
    bars: str


UNICODE = Glyphs(MARKERS, "◆", "◇", "", "│", "─", "└", "┤", "┬", "…", " ▁▂▃▄▅▆▇█")
ASCII = Glyphs(ASCII_MARKERS, "@", "B", ".", "|", "-", "+", "+", "+", "~", " __::==##")


@dataclass(frozen=True)
class Area:
    """Where points go: lines 1 to `rows`, and the columns from `left` on."""

    x: Axis
    y: Axis
    rows: int
    left: int
    columns: int


@dataclass(frozen=True)
class Canvas:
    """A (height, width) grid of characters and of their roles, and where its points go."""

    text: NDArray[np.str_]
    role: IntArray
    area: Area | None = None

    @staticmethod
    def blank(width: int, height: int) -> Canvas:
        """Return an empty canvas."""
        return Canvas(np.full((height, width), " ", dtype="<U1"), np.zeros((height, width), dtype=np.int64))

    def write(self, row: int, column: int, text: str, role: int) -> None:
        """Write a text; what does not fit is left out."""
        room = self.text.shape[1] - column
        text = text[: max(room, 0)]
        self.text[row, column : column + len(text)] = list(text)
        self.role[row, column : column + len(text)] = role

    def runs(self, row: int) -> list[tuple[str, int]]:
        """Return a line as texts of one role each."""
        line = "".join(self.text[row])
        ends = [0, *(np.flatnonzero(np.diff(self.role[row])) + 1), len(line)] if line else []
        return [(line[a:b], int(self.role[row, a])) for a, b in pairwise(ends)]

    def plain(self) -> str:
        """Return the text alone."""
        return "\n".join("".join(row).rstrip() for row in self.text)


_NARROWEST, _LOWEST = 30, 10
_BOLD, _GREY = "1", "38;5;244"
_COLOURS = tuple(f"38;5;{code}" for code in (32, 214, 36, 175, 202, 74, 227, 97, 247))  # Okabe and Ito's, nearly.
_NO_POINTS = "no points"


@dataclass(frozen=True)
class _Glyphs:
    """What axes and markers are drawn with."""

    markers: str
    vertical: str
    horizontal: str
    corner: str
    y_tick: str
    x_tick: str
    cut: str


@dataclass(frozen=True)
class _Canvas:
    """A (height, width) grid of characters and of the ANSI attributes of each."""

    text: NDArray[np.str_]
    attributes: NDArray[np.str_]

    def write(self, row: int, column: int, text: str, attributes: str = "") -> None:
        self.text[row, column : column + len(text)] = list(text)
        self.attributes[row, column : column + len(text)] = attributes


@dataclass(frozen=True)
class _Area:
    """Where points go: lines 1 to `rows` and the columns from `left` on."""

    x: Axis
    y: Axis
    rows: int
    left: int
    columns: int


_UNICODE = _Glyphs(markers="●○▲△■□◆◇✕", vertical="│", horizontal="─", corner="└", y_tick="┤", x_tick="┬", cut="…")
_ASCII = _Glyphs(markers="ox+*#@%&=", vertical="|", horizontal="-", corner="+", y_tick="+", x_tick="+", cut="~")


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
    """Return a scatter plot as `height` lines of `width` columns, joined by newlines.

    Points are braille dots, 2 x 4 in a character. Without colour, several series are told apart by markers instead;
    so are all in ASCII. Later series lie over earlier ones; in braille, dots of both stay and take the later colour.
    A character of a label that does not take one column is shown as a question mark.

    Parameters
    ----------
    series : what to draw; "no points" is drawn when all are empty.
    width, height : columns and lines of the whole plot, at least 30 x 10.
    x_label, y_label : what the axes show, with the unit; ``[ms]`` becomes the one that suits the times.
    log_x, log_y : whether an axis is logarithmic.
    style : whether to colour by ANSI escape codes, which take no columns.
    ascii_only : whether to use ASCII characters only.

    Raises
    ------
    ValueError : a plot that is too small, or series that `check_series` refuses.
    """
    if width < _NARROWEST or height < _LOWEST:
        raise ValueError(f"a plot of {width} x {height} characters; at least {_NARROWEST} x {_LOWEST} are needed")
    check_series(series, log_x=log_x, log_y=log_y)
    series, (x_label, y_label) = in_units(series, (x_label, y_label), log_x=log_x, log_y=log_y)
    glyphs = _ASCII if ascii_only else _UNICODE
    braille = not ascii_only and (style or len(series) == 1)
    x_label, y_label, *names = (
        _one_column(text, glyphs) for text in (x_label, y_label, *(one.label for one in series))
    )
    x_label, y_label = _shortened(x_label, width, glyphs), _shortened(y_label, width, glyphs)

    canvas = _Canvas(np.full((height, width), " "), np.full((height, width), "", dtype="<U8"))
    canvas.write(0, 0, y_label, _BOLD)
    top = height - _draw_legend(canvas, names, len(x_label), glyphs, same_marker=braille)
    canvas.write(top, width - len(x_label), x_label, _BOLD)
    shown = axes_of(series, log_x=log_x, log_y=log_y) if any(one.x.size for one in series) else None
    if shown is None:
        _draw_lines(canvas, top - 3, 1, glyphs)
        canvas.write(top // 2 - 1, (width - len(_NO_POINTS)) // 2, _NO_POINTS, _GREY)
    else:
        area = _draw_axes(canvas, *shown, top - 3, glyphs)
        _draw_points(canvas, area, series, None if braille else glyphs.markers)
    return "\n".join(_line(*row, style=style) for row in zip(canvas.text, canvas.attributes, strict=True))


def _one_column(text: str, glyphs: _Glyphs) -> str:
    text = unicodedata.normalize("NFC", text)
    if glyphs is _ASCII:
        text = text.encode("ascii", "replace").decode()
    odd = (not c.isprintable() or unicodedata.category(c)[0] == "M" or cell_len(c) != 1 for c in text)
    return "".join("?" if is_odd else c for c, is_odd in zip(text, odd, strict=True))


def _shortened(text: str, room: int, glyphs: _Glyphs) -> str:
    return text if len(text) <= room else text[: room - 1] + glyphs.cut


def _draw_legend(canvas: _Canvas, names: Sequence[str], reserved: int, glyphs: _Glyphs, *, same_marker: bool) -> int:
    """Draw the legend at the bottom and return its lines, at least one: `reserved` columns of the first stay free."""
    height, width = canvas.text.shape
    layouts = (
        _legend_layout([_shortened(name, room, glyphs) for name in names], reserved, width)
        for room in range(width - 2, 0, -1)
    )
    layout = next(layout for layout in layouts if len(layout) <= 1 + height // 5)
    for row, entries in enumerate(layout, start=height - len(layout)):
        for column, which, name in entries:
            canvas.write(row, column, glyphs.markers[0 if same_marker else which], _COLOURS[which])
            canvas.write(row, column + 2, name)
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


def _draw_axes(canvas: _Canvas, x: Axis, y: Axis, rows: int, glyphs: _Glyphs) -> _Area:
    width = canvas.text.shape[1]
    y_ticks = ticks(y, rows, across=False)
    left = max(len(tick_label(value)) for value in y_ticks) + 1
    area = _Area(x, y, rows, left, width - left)
    _draw_lines(canvas, rows, left, glyphs)
    for value, cell in zip(y_ticks, tick_cells(y, y_ticks, rows, DOTS_UP), strict=True):
        canvas.write(rows - cell, 0, tick_label(value).rjust(left - 1), _GREY)
        canvas.write(rows - cell, left - 1, glyphs.y_tick, _GREY)
    x_ticks = ticks(x, area.columns, across=True)
    for value, cell in zip(x_ticks, tick_cells(x, x_ticks, area.columns, DOTS_ACROSS), strict=True):
        canvas.write(rows + 1, left + cell, glyphs.x_tick, _GREY)
        label = tick_label(value)
        canvas.write(rows + 2, left + label_start(cell, label, area.columns), label, _GREY)
    return area


def _draw_lines(canvas: _Canvas, rows: int, left: int, glyphs: _Glyphs) -> None:
    for row in range(1, rows + 1):
        canvas.write(row, left - 1, glyphs.vertical, _GREY)
    canvas.write(rows + 1, left - 1, glyphs.corner + glyphs.horizontal * (canvas.text.shape[1] - left), _GREY)


def _draw_points(canvas: _Canvas, area: _Area, series: Sequence[Series], markers: str | None) -> None:
    """Draw points as the markers of their series, or as braille dots when there are none."""
    bits = np.zeros((area.rows, area.columns), dtype=np.int64)
    for which, one in enumerate(series):
        across, up = dots(area.x, one.x, DOTS_ACROSS * area.columns), dots(area.y, one.y, DOTS_UP * area.rows)
        cells = (area.rows - 1 - up // DOTS_UP, across // DOTS_ACROSS)
        np.bitwise_or.at(bits, cells, DOT_BITS[up % DOTS_UP, across % DOTS_ACROSS])
        rows, columns = cells[0] + 1, cells[1] + area.left
        canvas.text[rows, columns] = markers[which] if markers else [chr(BRAILLE + bit) for bit in bits[cells]]
        canvas.attributes[rows, columns] = _COLOURS[which]


def _line(text: NDArray[np.str_], attributes: NDArray[np.str_], *, style: bool) -> str:
    if not style:
        return "".join(text)
    runs = itertools.groupby(zip(attributes, text, strict=True), key=lambda cell: cell[0])
    joined = ((code, "".join(character for _, character in run)) for code, run in runs)
    return "".join(f"\x1b[{code}m{run}\x1b[0m" if code else run for code, run in joined)
