"""Pictures drawn as characters on a canvas: fronts, axes, legends, and the progress of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo_libra.pictures.plots.axes import in_unit, position, unit_of
from evo_libra.pictures.plots.canvas import Area, Canvas
from evo_libra.pictures.plots.series import Glyphs, Role, Series
from evo_libra.ui.terminal.plot_view import Picture, hint_of
from evo_libra.ui.terminal.queue_view import clipped, distinct

_FRAME = 4  # Lines that the label, the axis, its ticks and the legend take.
_CROWDED = 2.0  # Designs in a character from which on dots show more than markers.
_REACH = 6.0  # Characters from a click to the design that is meant.
_STEPS = 8
_LINES_PER_LEGEND = 10


def draw(picture: Picture, width: int, height: int, glyphs: Glyphs, *, colour: bool = True) -> Canvas:
    """Return a picture as characters; without colours, every front keeps its own marker."""
    canvas = Canvas.blank(width, height)
    hint = hint_of(picture, width, height)
    if hint is not None:
        canvas.write(height // 2, *hint, Role.HINT) if height else None
        return canvas
    (x_label, across), (y_label, upright) = unit_of(picture.x_label, picture.x), unit_of(picture.y_label, picture.y)
    picture = replace(picture, x_label=x_label, y_label=y_label)
    canvas.write(0, 0, clipped(y_label, width, glyphs.cut), Role.LABEL)
    legend = _legend(picture, width, height, glyphs)
    shown = in_unit(picture.x, across), in_unit(picture.y, upright)
    area = canvas.draw_axes(*shown, height - _FRAME + 1 - len(legend), glyphs)
    area = replace(area, x=picture.x, y=picture.y)
    if picture.cloud is not None:
        _draw_cloud(canvas, area, picture.cloud, glyphs)
    for which, front in reversed(list(zip(picture.styles, picture.fronts, strict=True))):
        _draw_front(canvas, area, front, which, glyphs, colour=colour)
    for place, glyph, role in (
        (picture.baseline, glyphs.baseline, Role.BASELINE),
        (picture.selected, glyphs.selected, Role.SELECTED),
    ):
        if place is not None:
            canvas.draw_markers(area, Series(np.array(place[:1]), np.array(place[1:]), ""), glyph, role)
    _draw_legend(canvas, picture, legend)
    return replace(canvas, area=area)


def nearest(area: Area, front: Series, column: int, row: int) -> int | None:
    """Return the index of the design whose character is the nearest to a place, or None when none is near."""
    across = area.left + position(area.x, front.x) * (area.columns - 1) - column
    up = area.rows - position(area.y, front.y) * (area.rows - 1) - row
    distance = np.hypot(across, 2.0 * up)  # A character is twice as high as it is wide.
    if not distance.size or distance.min() > _REACH:
        return None
    return int(np.argmin(distance))


def place_of(area: Area, column: int, row: int) -> tuple[float, float]:
    """Return how far along the x and the y axis a character lies, within 0 to 1."""
    across = (column - area.left) / max(area.columns - 1, 1)
    up = (area.rows - row) / max(area.rows - 1, 1)
    return min(max(across, 0.0), 1.0), min(max(up, 0.0), 1.0)


def position_in(picture: Picture) -> tuple[float, float]:
    """Return how far along both axes the selected design lies; the middle when it is outside or there is none."""
    if picture.selected is None:
        return 0.5, 0.5
    x, y = (
        float(position(axis, np.array([value]))[0])
        for axis, value in zip((picture.x, picture.y), picture.selected, strict=True)
    )
    return (x, y) if 0 <= x <= 1 and 0 <= y <= 1 else (0.5, 0.5)


def draw_progress(
    x: Sequence[float], y: Sequence[float], end: float, width: int, height: int, glyphs: Glyphs
) -> Canvas:
    """Return the progress of a figure as bars, from 0 to `end`; what is still to come stays empty.

    A value of `y` holds from its place in `x`, which ascends, to the next place.
    """
    canvas = Canvas.blank(width, height)
    if not x or width < 1 or height < 1:
        return canvas
    places = (np.arange(width) + 1) * end / width
    which = np.searchsorted(np.asarray(x), places * (1 + 1e-12), side="right") - 1
    reached = np.searchsorted(places, x[-1] * (1 - 1e-12)) + 1
    low, high = min(y), max(y)
    values = np.asarray(y)[np.maximum(which, 0)]
    share = (values - low) / (high - low) if high > low else np.ones(width)
    eighths = np.where((which >= 0) & (np.arange(width) < reached), 1 + np.rint(share * (_STEPS * height - 1)), 0)
    for line in range(height):
        level = np.clip(eighths - _STEPS * (height - 1 - line), 0, _STEPS).astype(np.int64)
        canvas.text[line] = np.array(list(glyphs.bars))[level]
        canvas.role[line] = np.where(level > 0, Role.FRONT + np.arange(width) * _STEPS // width, Role.BLANK)
    return canvas


def _draw_front(canvas: Canvas, area: Area, front: Series, which: int, glyphs: Glyphs, *, colour: bool) -> None:
    rows, columns = area.cells(front)
    characters = len({*(rows * canvas.text.shape[1] + columns).tolist()})
    if colour and not glyphs.cloud and len(rows) > _CROWDED * characters:
        canvas.draw_dots(area, front, Role.FRONT + which)
    else:
        canvas.draw_markers(area, front, glyphs.markers[which], Role.FRONT + which)


def _draw_cloud(canvas: Canvas, area: Area, points: Series, glyphs: Glyphs) -> None:
    """Draw all designs as braille dots, or as full stops where there is no braille."""
    if glyphs.cloud:
        canvas.draw_markers(area, points, glyphs.cloud, Role.CLOUD)
    else:
        canvas.draw_dots(area, points, Role.CLOUD)


def _legend(picture: Picture, width: int, height: int, glyphs: Glyphs) -> list[list[tuple[int, str, int, str]]]:
    """Return column, marker, role and name of the entries of each line; the last line leaves room for the x axis."""
    entries = [
        (glyphs.markers[which], Role.FRONT + which, one.label)
        for which, one in zip(picture.styles, picture.fronts, strict=True)
        if one.label and len(picture.fronts) > 1
    ]
    if picture.baseline is not None:
        entries.append((glyphs.baseline, Role.BASELINE, "baseline"))
    if picture.cloud is not None:
        entries.append((glyphs.cloud or "⠶", Role.CLOUD, picture.cloud.label))
    max_lines = 1 + height // _LINES_PER_LEGEND
    for room in range(max((len(name) for _, _, name in entries), default=0), 2, -1):
        lines: list[list[tuple[int, str, int, str]]] = [[]]
        column, names = 0, distinct([name for _, _, name in entries], room, glyphs.cut)
        for marker, role, name in reversed(entries):  # from the last line up, as that is the short one
            short = names[name]
            reserved = len(picture.x_label) + 2 if len(lines) == 1 else 0
            if column + 2 + len(short) > width - reserved:
                lines.append([])
                column = 0
            lines[-1].append((column, marker, role, short))
            column += len(short) + 4
        if len(lines) <= max_lines:
            return lines[::-1]
    return [[]]


def _draw_legend(canvas: Canvas, picture: Picture, lines: Sequence[Sequence[tuple[int, str, int, str]]]) -> None:
    """Draw what markers mean, and the label of the x axis at the right of the last line."""
    height, width = canvas.text.shape
    label = picture.x_label
    canvas.write(height - 1, max(width - len(label), 0), label, Role.LABEL)
    for row, entries in enumerate(lines, start=height - len(lines)):
        for column, marker, role, name in entries:
            canvas.write(row, column, marker, role)
            canvas.write(row, column + 2, name, Role.TICK)
