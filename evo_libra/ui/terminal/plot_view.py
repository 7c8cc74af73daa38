"""View of the scatter plot: objectives, axes and window."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evo_libra.explain.labels import label_of
from evo_libra.pictures.plots.series import Axis, Series

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray

MAX_FRONTS = 8
"""Fronts that colours and markers can tell apart."""
_MIN_WIDTH, _MIN_HEIGHT = 24, 8
_DEEPEST, _WIDEST = 1e-6, 4.0  # Window over all points: ticks need digits, and points must stay findable.

Window = tuple[Axis, Axis]


@dataclass(frozen=True)
class PlotView:
    """The view of the points.

    Attributes
    ----------
    x, y : columns of objectives; empty ones are chosen by what the run has.
    log_x, log_y : whether an axis is to be logarithmic.
    all_designs : fit every design that is shown, and not just the fronts.
    window : what the axes show; None fits the points, also when they change.
    """

    x: str = ""
    y: str = ""
    log_x: bool = True
    log_y: bool = True
    all_designs: bool = False
    window: Window | None = None


@dataclass(frozen=True)
class Points:
    """Designs of one run: objective column -> (k,) values of its front, and of a sample of all designs if kept."""

    label: str
    style: int
    front: Mapping[str, FloatArray]
    designs: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Picture:
    """The points to draw.

    Attributes
    ----------
    fronts : a series for each run, the selected one first; of a single run of orders, one for each system.
    pickable : the front of the selected run where its points are in several series.
    styles : the colour and marker of each.
    cloud : all designs of the selected run.
    selected, baseline : coordinates of designs that are pointed out.
    message : shown when there are no points.
    """

    x: Axis
    y: Axis
    x_label: str
    y_label: str
    fronts: tuple[Series, ...] = ()
    styles: tuple[int, ...] = ()
    cloud: Series | None = None
    selected: tuple[float, float] | None = None
    baseline: tuple[float, float] | None = None
    message: str = ""
    pickable: Series | None = None


def objectives_of(view: PlotView, columns: Sequence[str]) -> tuple[str, str]:
    """Return the objectives on the x and the y axis: the view's own where the run has them, else second and first."""
    if not columns:
        return "", ""
    x = view.x if view.x in columns else columns[min(1, len(columns) - 1)]
    y = view.y if view.y in columns else columns[0]
    return x, y


def next_objectives(view: PlotView, columns: Sequence[str]) -> PlotView:
    """Return the view with the next pair of objectives: each pair both ways round."""
    pairs = [pair for both in itertools.combinations(columns, 2) for pair in (both[::-1], both)]
    if not pairs:
        return view
    now = objectives_of(view, columns)
    x, y = pairs[(pairs.index(now) + 1) % len(pairs)] if now in pairs else pairs[0]
    return replace(view, x=x, y=y, window=None)


def next_fit(view: PlotView) -> PlotView:
    """Return the view that fits the points; where it did already, the fronts instead of all designs or the reverse."""
    return replace(view, window=None, all_designs=view.all_designs != (view.window is None))


def toggled_log(view: PlotView, *, x: bool) -> PlotView:
    """Return the view with one axis logarithmic or not."""
    return replace(view, log_x=not view.log_x, window=None) if x else replace(view, log_y=not view.log_y, window=None)


def zoomed(view: PlotView, picture: Picture, factor: float, at: tuple[float, float] = (0.5, 0.5)) -> PlotView:
    """Return the view of a window that is `factor` times as wide and high.

    The place `at` stays: how far along the x and the y axis it is, 0 at the start, 1 at the end.
    """
    full = fitted(replace(view, window=None), picture)
    x, y = (_zoomed(*axes) for axes in zip((picture.x, picture.y), full, (factor, factor), at, strict=True))
    return replace(view, window=(x, y))


def panned(view: PlotView, picture: Picture, right: float, up: float) -> PlotView:
    """Return the view of a window that was moved by parts of its width and height."""
    return replace(view, window=(_moved(picture.x, right), _moved(picture.y, up)))


def fitted(view: PlotView, picture: Picture) -> Window:
    """Return the axes that fit what a picture shows."""
    shown = [*picture.fronts]
    if picture.cloud is not None and (view.all_designs or not any(one.x.size for one in shown)):
        shown.append(picture.cloud)
    if not shown:
        return Axis(0.0, 1.0, picture.x.log), Axis(0.0, 1.0, picture.y.log)
    from evo_libra.pictures.plots.axes import axes_of  # noqa: PLC0415 - the first screen does not wait for NumPy

    return axes_of(shown, log_x=picture.x.log, log_y=picture.y.log)


def hint_of(picture: Picture, width: int, height: int) -> tuple[int, str] | None:
    """Return what stands in the middle of a plot instead of points, and from which column on; None for points."""
    if width < _MIN_WIDTH or height < _MIN_HEIGHT:
        return 0, "too small"
    if any(one.x.size for one in (*picture.fronts, *([picture.cloud] if picture.cloud is not None else []))):
        return None
    return max((width - len(picture.message)) // 2, 0), picture.message


def picture_of(
    view: PlotView,
    runs: Sequence[Points],
    *,
    whole: Mapping[str, FloatArray] | None = None,
    selected: Mapping[str, float] | None = None,
    baseline: Mapping[str, float] | None = None,
    message: str = "",
) -> Picture:
    """Return what is to be drawn of some runs: the selected one is the first, and those without its objectives are out.

    `whole` is the front of the selected run where its points are in several series.
    `selected` and `baseline` are objective column -> value of designs that are pointed out.
    """
    columns = list(runs[0].front) if runs else []
    x, y = objectives_of(view, columns)
    known = [run for run in runs[:MAX_FRONTS] if x in run.front and y in run.front] if x else []
    fronts = tuple(Series(run.front[x], run.front[y], run.label) for run in known)
    cloud = None
    if known and x in runs[0].designs and y in runs[0].designs:
        cloud = Series(runs[0].designs[x], runs[0].designs[y], "all designs")
    shown = [*fronts, *([cloud] if cloud is not None else [])]
    log_x = view.log_x and all(_positive(one.x) for one in shown)
    log_y = view.log_y and all(_positive(one.y) for one in shown)
    nothing = Axis(0.0, 1.0, log=False)
    axes = replace(nothing, log=log_x), replace(nothing, log=log_y)
    styles = tuple(run.style for run in known)
    picture = Picture(
        *axes, label_of(x), label_of(y), fronts, styles=styles, cloud=cloud, selected=_place(selected, x, y),
        baseline=_place(baseline, x, y), message=message,
        pickable=Series(whole[x], whole[y], "") if whole is not None and known else None,
    )  # fmt: skip
    fits = view.window is not None and (view.window[0].log, view.window[1].log) == (log_x, log_y)
    window = view.window if fits and view.window is not None else fitted(view, picture)
    return replace(picture, x=window[0], y=window[1])


def _place(values: Mapping[str, float] | None, x: str, y: str) -> tuple[float, float] | None:
    return (values[x], values[y]) if values is not None and x in values and y in values else None


def _positive(values: FloatArray) -> bool:
    return bool((values > 0).all())


def _zoomed(axis: Axis, whole: Axis, factor: float, at: float) -> Axis:
    span, full = axis.high - axis.low, whole.high - whole.low
    new = min(max(span * factor, full * _DEEPEST), full * _WIDEST)
    # Deeper, neighbouring values could not be told apart.
    new = max(new, _DEEPEST * max(abs(axis.low), abs(axis.high))) if not axis.log else max(new, _DEEPEST)
    low = axis.low + at * (span - new)
    return replace(axis, low=low, high=low + new)


def _moved(axis: Axis, part: float) -> Axis:
    by = part * (axis.high - axis.low)
    return replace(axis, low=axis.low + by, high=axis.high + by)
