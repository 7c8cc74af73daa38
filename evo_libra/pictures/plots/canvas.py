"""A grid of characters, each with the role that a theme has a colour for, and what is drawn on it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.pictures.plots.axes import (
    BRAILLE,
    DOT_BITS,
    DOTS_ACROSS,
    DOTS_UP,
    dots,
    label_start,
    position,
    tick_cells,
    ticks,
)
from evo_libra.pictures.plots.series import Axis, Glyphs, Line, Role, Series, tick_label


@dataclass(frozen=True)
class Area:
    """Area of the points: lines 1 to `rows`, and the columns from `left` on."""

    x: Axis
    y: Axis
    rows: int
    left: int
    columns: int

    def inside(self, points: Series) -> tuple[FloatArray, FloatArray]:
        """Return x and y of the points that the axes show."""
        across, up = position(self.x, points.x), position(self.y, points.y)
        shown = (across >= 0) & (across <= 1) & (up >= 0) & (up <= 1)
        return points.x[shown], points.y[shown]

    def dots(self, points: Series) -> tuple[IntArray, IntArray]:
        """Return which dot across and up each point inside is nearest to, 2 x 4 dots in a character."""
        x, y = self.inside(points)
        return dots(self.x, x, DOTS_ACROSS * self.columns), dots(self.y, y, DOTS_UP * self.rows)

    def cells(self, points: Series) -> tuple[IntArray, IntArray]:
        """Return line and column of the points inside."""
        across, up = self.dots(points)
        return self.rows - up // DOTS_UP, self.left + across // DOTS_ACROSS


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

    def runs(self, row: int) -> Line:
        """Return a line as texts of one role each."""
        line = "".join(self.text[row])
        ends = [0, *(np.flatnonzero(np.diff(self.role[row])) + 1), len(line)] if line else []
        return [(line[a:b], int(self.role[row, a])) for a, b in pairwise(ends)]

    def lines(self) -> list[Line]:
        """Return all lines; see `runs`."""
        return [self.runs(row) for row in range(len(self.text))]

    def plain(self) -> str:
        """Return the text alone."""
        return "\n".join("".join(row).rstrip() for row in self.text)

    def styled(self, codes: Mapping[int, str]) -> str:
        """Return whole lines with ANSI escapes: one code for each role, and none for a role that has none."""
        return "\n".join(self._styled(row, codes) for row in range(len(self.text)))

    def _styled(self, row: int, codes: Mapping[int, str]) -> str:
        parts = []
        for code, runs in itertools.groupby(self.runs(row), key=lambda run: codes.get(run[1], "")):
            text = "".join(text for text, _ in runs)
            parts.append(f"\x1b[{code}m{text}\x1b[0m" if code else text)
        return "".join(parts)

    def draw_frame(self, rows: int, left: int, glyphs: Glyphs) -> None:
        """Draw the lines of both axes: `rows` lines high, right of `left` columns."""
        for row in range(1, rows + 1):
            self.write(row, left - 1, glyphs.vertical, Role.AXIS)
        self.write(rows + 1, left - 1, glyphs.corner + glyphs.horizontal * (self.text.shape[1] - left), Role.AXIS)

    def draw_axes(self, x: Axis, y: Axis, rows: int, glyphs: Glyphs) -> Area:
        """Draw axes with their ticks, and return where points go: `rows` lines from the second one on."""
        y_ticks = ticks(y, rows, across=False)
        left = max(len(tick_label(value)) for value in y_ticks) + 1
        area = Area(x, y, rows, left, self.text.shape[1] - left)
        self.draw_frame(rows, left, glyphs)
        for value, cell in zip(y_ticks, tick_cells(y, y_ticks, rows, DOTS_UP), strict=True):
            self.write(rows - cell, 0, tick_label(value).rjust(left - 1), Role.TICK)
            self.write(rows - cell, left - 1, glyphs.y_tick, Role.AXIS)
        x_ticks = ticks(x, area.columns, across=True)
        for value, cell in zip(x_ticks, tick_cells(x, x_ticks, area.columns, DOTS_ACROSS), strict=True):
            label = tick_label(value)
            self.write(rows + 1, left + cell, glyphs.x_tick, Role.AXIS)
            self.write(rows + 2, left + label_start(cell, label, area.columns), label, Role.TICK)
        return area

    def draw_markers(self, area: Area, points: Series, marker: str, role: int) -> None:
        """Draw points as one marker each."""
        cells = area.cells(points)
        self.text[cells] = marker
        self.role[cells] = role

    def draw_bars(self, area: Area, points: Series, glyphs: Glyphs, role: int) -> None:
        """Draw the bars of points in characters that are still blank."""
        place, low, high = points.barred
        glyph = glyphs.upright if points.upright else glyphs.level
        for at, *ends in zip(place.tolist(), low.tolist(), high.tolist(), strict=True):
            line = (
                Series(np.array([at, at]), np.array(ends), "")
                if points.upright
                else Series(np.array(ends), np.array([at, at]), "")
            )
            rows, columns = area.cells(line)
            cells = slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1)
            blank = self.text[cells] == " "
            self.text[cells][blank], self.role[cells][blank] = glyph, role

    def draw_dots(self, area: Area, points: Series, role: int, *, keep: bool = False) -> None:
        """Draw points as braille dots, in addition to the dots that are there or instead of them."""
        cells = area.cells(points)
        across, up = area.dots(points)
        bits = self.text.view(np.uint32).astype(np.int64) - BRAILLE
        bits[(bits < 0) | (bits > _ALL_DOTS) | (not keep)] = 0
        np.bitwise_or.at(bits, cells, DOT_BITS[up % DOTS_UP, across % DOTS_ACROSS])
        self.text[cells] = (BRAILLE + bits[cells]).astype(np.uint32).view("<U1")
        self.role[cells] = role


_ALL_DOTS = 0xFF
