"""Figures of Pareto fronts and attainment surfaces for papers: the same bytes for the same points, fonts embedded."""

from __future__ import annotations

import io
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from evo_libra.pictures.plots.axes import (
    COLOURS,
    axes_of,
    check_series,
    in_unit,
    in_units,
    limits,
    position,
    ticks,
    unit_of,
)
from evo_libra.pictures.plots.series import BARS_HOLD, Axis, Series, tick_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.typing import RcKeyType

    from evo_libra.arrays import BoolArray, FloatArray

_SIZE = (7.16, 4.0)  # Inches; the text width of a two-column paper.
_AXES_SIZE = (6.3, 3.2)  # The rest of it next to labels, nearly.
DPI = 160
_X_CELLS, _Y_CELLS = 84, 24  # Characters and lines of tick labels that the axes have room for.
_MANY = 1000  # Points of a series from which on vector markers make a file large and slow to show.
_MARKERS = "osD^vPXph"
_STYLES = ("-", "--", "-.", ":")
METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}
_MAX_NAME = 56  # Longer ones would leave no room for the axes when the legend stands next to them.
_Corner = Literal["upper right", "upper left", "lower left", "lower right"]
SETTINGS: dict[RcKeyType, Any] = {
    "figure.constrained_layout.w_pad": 0.08,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "pdf.fonttype": 42,
    "svg.hashsalt": "evo_libra",
    "text.parse_math": False,  # Two dollar signs in a label are prices, not a formula.
}


def front_figure(
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    log_x: bool = True,
    log_y: bool = True,
    mark: Series | None = None,
    path: Path | BinaryIO,
) -> None:
    """Write a scatter plot of Pareto fronts, 7.16 x 4 inches, to a file; the same input gives the same bytes.

    Parameters
    ----------
    series : what to draw, later ones over earlier ones; "no points" is drawn when all are empty.
    x_label, y_label : what the axes show, with the unit; ``[ms]`` and ``[USD]`` become those that suit the values.
    mark : points of the series that get a ring, and an entry in the legend.
    path : where to write; the suffix .png, .pdf or .svg chooses the format, and an open file gets a PNG.

    Raises
    ------
    ValueError : another suffix, or series that `evo_libra.pictures.plots.axes.check_series` refuses, more than 9 among
        them.
    """
    check_series(series, log_x=log_x, log_y=log_y)
    marks = [] if mark is None else [mark]
    every, (x_label, y_label) = in_units([*series, *marks], (x_label, y_label), log_x=log_x, log_y=log_y)
    series, marks = every[: len(series)], every[len(series) :]
    x, y = axes_of(series, log_x=log_x, log_y=log_y)
    with drawing(path, x_label, y_label, title) as (figure, axes):
        if any(one.x.size for one in series):
            _prepare(axes, x, y)
        else:
            axes.set(xticks=[], yticks=[])
            axes.text(0.5, 0.5, "no points", ha="center", va="center", color="#767676", transform=axes.transAxes)
        _draw_bars(axes, series)
        _draw(axes, series)
        for ring in marks:
            axes.plot(ring.x, ring.y, label=ring.label, **_RING)
        _add_legend(figure, axes, every, x, y)


_RING: dict[str, Any] = {
    "linestyle": "none", "marker": "o", "markersize": 11.0, "markerfacecolor": "none", "markeredgecolor": "black",
    "markeredgewidth": 1.4, "zorder": 5,
}  # fmt: skip


def attainment_figure(
    lines: Mapping[str, Sequence[FloatArray]], *, x_label: str, y_label: str, title: str, path: Path | BinaryIO
) -> None:
    """Write a figure of attainment surfaces on logarithmic axes, as `front_figure` does.

    Parameters
    ----------
    lines : of each name, three (2, s) lines, across and up, from left to right or back: what a quarter, half and three
        quarters attain; a line may be empty. The median is drawn as a line, the quartiles as an area.
    """
    series = [Series(line[0], line[1], name) for name, three in lines.items() for line in three if line.shape[1]]
    x, y = axes_of(series, log_x=True, log_y=True)
    (x_label, across), (y_label, up) = unit_of(x_label, x), unit_of(y_label, y)
    with drawing(path, x_label, y_label, title) as (_, axes):
        _prepare(axes, in_unit(x, across), in_unit(y, up))
        for place, (name, three) in enumerate(lines.items()):
            best, middle, worst = (line / np.array([[across], [up]]) for line in three)
            if best.shape[1] and worst.shape[1]:
                around = np.concatenate([best, worst[:, ::-1]], axis=1)
                axes.fill(*around, color=COLOURS[place], alpha=0.25, linewidth=0)
            style = _STYLES[place % len(_STYLES)]
            axes.plot(*middle, color=COLOURS[place], linewidth=1.2, linestyle=style, label=name)
        axes.legend(loc="upper right")


def parity_figure(
    series: Sequence[Series], line: Series, *, x_label: str, y_label: str, title: str, path: Path | BinaryIO
) -> None:
    """Write points and a line under them on logarithmic axes, as `front_figure` does."""
    check_series(series, log_x=True, log_y=True)
    x, y = axes_of([line, *series], log_x=True, log_y=True)
    with drawing(path, x_label, y_label, title) as (_, axes):
        _prepare(axes, x, y)
        _draw(axes, series)
        axes.plot(line.x, line.y, color="#767676", linewidth=0.8, label=line.label, zorder=1)
        axes.legend(loc="upper left")


@contextmanager
def drawing(path: Path | BinaryIO, x_label: str, y_label: str, title: str) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure and its axes to draw on, and write the figure; the user's own settings do not change its bytes."""
    suffix = path.suffix.lower() if isinstance(path, Path) else ".png"
    if suffix not in METADATA:
        raise ValueError(f"cannot write a figure as '{path.name}'; allowed suffixes: {', '.join(METADATA)}")
    content = io.BytesIO()
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        figure = Figure(figsize=_SIZE, dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, figure.add_subplot(xlabel=x_label, ylabel=y_label, title=title)
        figure.savefig(content, format=suffix[1:], metadata=METADATA[suffix])
    if isinstance(path, Path):
        path.write_bytes(content.getvalue())
    else:
        path.write(content.getvalue())


def _prepare(axes: Axes, x: Axis, y: Axis) -> None:
    axes.set(xscale="log" if x.log else "linear", yscale="log" if y.log else "linear", xlim=limits(x), ylim=limits(y))
    for drawn, axis, cells, across in ((axes.xaxis, x, _X_CELLS, True), (axes.yaxis, y, _Y_CELLS, False)):
        shown = ticks(axis, cells, across=across)
        drawn.set_ticks(shown, labels=[tick_label(value) for value in shown])
        drawn.set_minor_formatter(NullFormatter())


def _draw(axes: Axes, series: Sequence[Series]) -> None:
    for one, colour, marker in zip(series, COLOURS, _MARKERS, strict=False):
        many = one.x.size >= _MANY
        axes.plot(
            one.x, one.y, linestyle="none", marker=marker, markersize=3.0 if many else 5.0, markerfacecolor=colour,
            markeredgecolor="black", markeredgewidth=0.25 if many else 0.5, rasterized=many, label=one.label,
        )  # fmt: skip


def _draw_bars(axes: Axes, series: Sequence[Series]) -> None:
    """Draw the bars of points, faint and behind them; the first one has the entry of all in the legend."""
    label = BARS_HOLD
    for one in series:
        place, low, high = one.barred
        if place.size:
            draw = axes.vlines if one.upright else axes.hlines
            draw(place, low, high, label=label, **_BAR)
            label = ""


_BAR: dict[str, Any] = {"color": "#767676", "alpha": 0.3, "linewidth": 1.0, "zorder": 1}


def _add_legend(figure: Figure, axes: Axes, series: Sequence[Series], x: Axis, y: Axis) -> None:
    named: list[tuple[Artist, str]] = [
        (line, one.label) for line, one in zip(axes.lines, series, strict=True) if one.label
    ]
    if not named:
        return
    named += [(bars, str(bars.get_label())) for bars in axes.collections[:1]]
    handles = [handle for handle, _ in named]
    labels = [name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…" for _, name in named]
    corner = _empty_corner(series, x, y, *_legend_size(labels))
    if corner:
        axes.legend(handles, labels, loc=corner)
    else:
        figure.legend(handles, labels, loc="outside right upper")


def _legend_size(labels: Sequence[str]) -> tuple[float, float]:
    """Return nearly which part of the width and of the height of the axes a legend takes."""
    em = SETTINGS["legend.fontsize"] / 72
    return (0.62 * max(map(len, labels)) + 4) * em / _AXES_SIZE[0], (1.6 * len(labels) + 1) * em / _AXES_SIZE[1]


def _empty_corner(series: Sequence[Series], x: Axis, y: Axis, width: float, height: float) -> _Corner | None:
    """Return the first corner of the axes in which a legend hides no point; matplotlib's search takes seconds."""
    across = np.concatenate([position(x, one.x) for one in series])
    up = np.concatenate([position(y, one.y) for one in series])
    left, right, bottom, top = across < width, across > 1 - width, up < height, up > 1 - height
    corners: dict[_Corner, BoolArray] = {
        "upper right": right & top,
        "upper left": left & top,
        "lower left": left & bottom,
        "lower right": right & bottom,
    }
    return next((corner for corner, inside in corners.items() if not inside.any()), None)
