"""Scatter plots of a few series as lines of text, in braille or plain ASCII, and the axes that figures share."""

from __future__ import annotations

import itertools
import math
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evo_libra.model.arrays import FloatArray, IntArray

MAX_SERIES = 9
"""Series that colours and markers can tell apart."""

_SMALLEST, _LARGEST = 1e-280, 1e280  # Values are clipped to these: differences and steps neither overflow nor vanish.
_RESOLUTION = 1e-6  # Smaller relative differences are drawn as equal: their tick labels would need too many digits.
_MOST_TICKS = 8
_Y_TICK_DISTANCES = (2, 3)
_TALL = 18  # Lines from which on labels stand further apart.
_X_LABEL_GAP = 2
_FEWEST_DECADE_TICKS = 3
_SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_NARROWEST, _LOWEST = 30, 10
_BOLD, _GREY = "1", "38;5;244"
_COLOURS = tuple(f"38;5;{code}" for code in (32, 214, 36, 175, 202, 74, 227, 97, 247))  # Okabe and Ito's, nearly.
_NO_POINTS = "no points"
_BRAILLE = 0x2800
_DOT_BITS = np.array([[0x40, 0x80], [0x04, 0x20], [0x02, 0x10], [0x01, 0x08]])  # From the bottom of a cell upwards.
_DOTS_UP, _DOTS_ACROSS = _DOT_BITS.shape


@dataclass(frozen=True)
class Series:
    """Points that share a colour, a marker and an entry of the legend.

    Attributes
    ----------
    x, y : (n,) finite coordinates.
    label : the name in the legend; an empty one is left out of it.
    """

    x: FloatArray
    y: FloatArray
    label: str


@dataclass(frozen=True)
class Axis:
    """The range that an axis shows; `low` and `high` are decimal exponents on a logarithmic one."""

    low: float
    high: float
    log: bool


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


def check_series(series: Sequence[Series], *, log_x: bool, log_y: bool) -> None:
    """Refuse series that cannot be drawn.

    Raises
    ------
    ValueError
        Too many series, x and y of different shapes, a value that is not finite, or one that is not positive on a
        logarithmic axis.
    """
    if len(series) > MAX_SERIES:
        raise ValueError(f"{len(series)} series; at most {MAX_SERIES} can be told apart")
    for one in series:
        if one.x.ndim != 1 or one.x.shape != one.y.shape:
            raise ValueError(f"series '{one.label}': x has shape {one.x.shape} and y {one.y.shape}")
        for name, values, log in (("x", one.x, log_x), ("y", one.y, log_y)):
            if not np.isfinite(values).all():
                raise ValueError(f"series '{one.label}': a value of {name} is not finite")
            if log and (values <= 0).any():
                raise ValueError(f"series '{one.label}': a value of {name} is not positive on a logarithmic axis")


def axes_of(series: Sequence[Series], *, log_x: bool, log_y: bool) -> tuple[Axis, Axis]:
    """Return the x and the y axis that show every point, with a little room around; 0 to 1 when there is no point."""
    none = np.empty(0)
    return (
        _axis_of(np.concatenate([none, *(one.x for one in series)]), log=log_x),
        _axis_of(np.concatenate([none, *(one.y for one in series)]), log=log_y),
    )


def limits(axis: Axis) -> tuple[float, float]:
    """Return the first and the last value that an axis shows."""
    return (10.0**axis.low, 10.0**axis.high) if axis.log else (axis.low, axis.high)


def position(axis: Axis, values: FloatArray) -> FloatArray:
    """Return (n,) how far along the axis each of n values lies: 0 at its start, 1 at its end."""
    return np.asarray((_scaled(values, log=axis.log) - axis.low) / (axis.high - axis.low))


def ticks(axis: Axis, cells: int, *, across: bool) -> tuple[float, ...]:
    """Return round values to label on an axis, as many as can be read well, at least one.

    Parameters
    ----------
    axis : the axis.
    cells : its length in characters, or in lines when it is upright.
    across : whether labels stand side by side, and not one above the other.
    """
    candidates = list(_tick_candidates(axis))
    middle = next(values[len(values) // 2] for values in candidates if values)
    return max([*(values for values in candidates if _fits(axis, values, cells, across=across)), (middle,)], key=len)


def tick_label(value: float) -> str:
    """Return a number as short as it can be told.

    >>> [tick_label(value) for value in (0.25, 50, 2e3, 1.5e7, 1e-6)]
    ['0.25', '50', '2k', '15M', '1e-6']
    """
    size = abs(value) * (1 + 1e-9)
    factor, suffix = next(((factor, suffix) for factor, suffix in _SUFFIXES if factor <= size < 1000 * factor), (1, ""))
    return f"{value / factor:.9g}{suffix}".replace("e-0", "e-").replace("e+", "e")


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
    x_label, y_label : what the axes show, with the unit.
    log_x, log_y : whether an axis is logarithmic.
    style : whether to colour by ANSI escape codes, which take no columns.
    ascii_only : whether to use ASCII characters only.

    Raises
    ------
    ValueError
        A plot that is too small, or series that `check_series` refuses.
    """
    if width < _NARROWEST or height < _LOWEST:
        raise ValueError(f"a plot of {width} x {height} characters; at least {_NARROWEST} x {_LOWEST} are needed")
    check_series(series, log_x=log_x, log_y=log_y)
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


def _scaled(values: FloatArray, *, log: bool) -> FloatArray:
    return np.asarray(np.log10(np.clip(values, _SMALLEST, _LARGEST)) if log else np.clip(values, -_LARGEST, _LARGEST))


def _axis_of(values: FloatArray, *, log: bool) -> Axis:
    if not values.size:
        return Axis(0.0, 1.0, log)
    scaled = _scaled(values, log=log)
    low, high = float(scaled.min()), float(scaled.max())
    size = 1.0 if log else max(abs(low), abs(high))
    room = 0.02 * (high - low)
    if high - low <= max(_RESOLUTION * size, _SMALLEST):
        room = 0.1 * size if size > _SMALLEST else 1.0
    return Axis(low - room, high + room, log)


def _tick_candidates(axis: Axis) -> Iterator[tuple[float, ...]]:
    if not axis.log:
        yield from _even_ticks(axis.low, axis.high)
    elif len(_decade_ticks(axis, (1, 2, 5), 1)) < _FEWEST_DECADE_TICKS:
        yield from _even_ticks(*limits(axis))
    else:
        yield from (_decade_ticks(axis, mantissas, 1) for mantissas in ((1, 2, 5), (1,), (2,), (5,)))
        yield from (_decade_ticks(axis, (1,), stride) for stride in (2, 5, 10, 20, 50, 100, 200))


def _even_ticks(low: float, high: float) -> Iterator[tuple[float, ...]]:
    exponent = math.floor(math.log10(high - low))
    for power, mantissa in itertools.product(range(exponent - 2, exponent + 2), (1, 2, 5)):
        step = mantissa * 10.0**power
        yield tuple(count * step for count in range(math.ceil(low / step), math.floor(high / step) + 1))


def _decade_ticks(axis: Axis, mantissas: tuple[int, ...], stride: int) -> tuple[float, ...]:
    powers = (power for power in range(math.floor(axis.low), math.floor(axis.high) + 1) if power % stride == 0)
    values = (mantissa * 10.0**power for power in powers for mantissa in mantissas)
    return tuple(value for value in values if axis.low <= math.log10(value) <= axis.high)


def _fits(axis: Axis, values: tuple[float, ...], cells: int, *, across: bool) -> bool:
    if not 0 < len(values) <= _MOST_TICKS:
        return False
    at = _tick_cells(axis, values, cells, _DOTS_ACROSS if across else _DOTS_UP)
    if not across:
        closest = _Y_TICK_DISTANCES[cells >= _TALL]
        return all(cell - before >= closest for before, cell in itertools.pairwise(at))
    labels = [tick_label(value) for value in values]
    starts = [_label_start(cell, label, cells) for cell, label in zip(at, labels, strict=True)]
    gaps = (
        start - before - len(label) for (before, start), label in zip(itertools.pairwise(starts), labels, strict=False)
    )
    return all(gap >= _X_LABEL_GAP for gap in gaps)


def _tick_cells(axis: Axis, values: Sequence[float], cells: int, dots: int) -> list[int]:
    # By way of a braille dot, as points go: a point at a tick's value is then in line with it.
    return [int(dot) // dots for dot in _dots(axis, np.array(values), dots * cells)]


def _label_start(cell: int, label: str, cells: int) -> int:
    """Return the column of a label under a tick; it may reach two columns to the left of the axis, as room is there."""
    return min(max(cell - len(label) // 2, -2), cells - len(label))


def _dots(axis: Axis, values: FloatArray, count: int) -> IntArray:
    return np.rint(position(axis, values) * (count - 1)).astype(np.int64)


def _one_column(text: str, glyphs: _Glyphs) -> str:
    text = unicodedata.normalize("NFC", text)
    if glyphs is _ASCII:
        text = text.encode("ascii", "replace").decode()
    odd = (
        not c.isprintable() or unicodedata.category(c)[0] == "M" or unicodedata.east_asian_width(c) in "WF"
        for c in text
    )
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
    for value, cell in zip(y_ticks, _tick_cells(y, y_ticks, rows, _DOTS_UP), strict=True):
        canvas.write(rows - cell, 0, tick_label(value).rjust(left - 1), _GREY)
        canvas.write(rows - cell, left - 1, glyphs.y_tick, _GREY)
    x_ticks = ticks(x, area.columns, across=True)
    for value, cell in zip(x_ticks, _tick_cells(x, x_ticks, area.columns, _DOTS_ACROSS), strict=True):
        canvas.write(rows + 1, left + cell, glyphs.x_tick, _GREY)
        label = tick_label(value)
        canvas.write(rows + 2, left + _label_start(cell, label, area.columns), label, _GREY)
    return area


def _draw_lines(canvas: _Canvas, rows: int, left: int, glyphs: _Glyphs) -> None:
    for row in range(1, rows + 1):
        canvas.write(row, left - 1, glyphs.vertical, _GREY)
    canvas.write(rows + 1, left - 1, glyphs.corner + glyphs.horizontal * (canvas.text.shape[1] - left), _GREY)


def _draw_points(canvas: _Canvas, area: _Area, series: Sequence[Series], markers: str | None) -> None:
    """Draw points as the markers of their series, or as braille dots when there are none."""
    bits = np.zeros((area.rows, area.columns), dtype=np.int64)
    for which, one in enumerate(series):
        across, up = _dots(area.x, one.x, _DOTS_ACROSS * area.columns), _dots(area.y, one.y, _DOTS_UP * area.rows)
        cells = (area.rows - 1 - up // _DOTS_UP, across // _DOTS_ACROSS)
        np.bitwise_or.at(bits, cells, _DOT_BITS[up % _DOTS_UP, across % _DOTS_ACROSS])
        rows, columns = cells[0] + 1, cells[1] + area.left
        canvas.text[rows, columns] = markers[which] if markers else [chr(_BRAILLE + bit) for bit in bits[cells]]
        canvas.attributes[rows, columns] = _COLOURS[which]


def _line(text: NDArray[np.str_], attributes: NDArray[np.str_], *, style: bool) -> str:
    if not style:
        return "".join(text)
    runs = itertools.groupby(zip(attributes, text, strict=True), key=lambda cell: cell[0])
    joined = ((code, "".join(character for _, character in run)) for code, run in runs)
    return "".join(f"\x1b[{code}m{run}\x1b[0m" if code else run for code, run in joined)
