"""A grid of characters, each with the role that a theme has a colour for, and what is drawn on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import IntArray
from evo_libra.ui.plots.axes import Axis
from evo_libra.ui.terminal.queue_view import ASCII_MARKERS, MARKERS


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
