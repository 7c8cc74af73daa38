"""Contents of a plot and the characters that draw them; without NumPy, as an empty plot has no arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray


_SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Series:
    """Points that share a colour, a marker and an entry of the legend.

    Attributes
    ----------
    x, y : (n,) finite coordinates.
    label : the name in the legend; an empty one is left out of it.
    bars : (2, n) lower and upper ends of a bar of each point, NaN where it has none; None without bars.
    upright : whether bars are along y.
    """

    x: FloatArray
    y: FloatArray
    label: str
    bars: FloatArray | None = None
    upright: bool = True

    def over(self, across: float, up: float) -> Series:
        """Return the series with its coordinates in other units."""
        bars = None if self.bars is None else self.bars / (up if self.upright else across)
        return replace(self, x=self.x / across, y=self.y / up, bars=bars)

    @property
    def barred(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The places of the bars on the other axis, and their ends; of points with one."""
        along = self.x if self.upright else self.y
        if self.bars is None:
            return along[:0], along[:0], along[:0]
        has = self.bars[0] == self.bars[0]  # NaN is not equal to itself
        return along[has], self.bars[0][has], self.bars[1][has]


BARS_HOLD = "bar: four of five measured figures"
"""Entry of bars in a legend."""


@dataclass(frozen=True)
class Axis:
    """The range that an axis shows; `low` and `high` are decimal exponents on a logarithmic one."""

    low: float
    high: float
    log: bool


def tick_label(value: float) -> str:
    """Return a number as short as it can be read.

    >>> [tick_label(value) for value in (0.25, 50, 2e3, 1.5e7, 1e-6)]
    ['0.25', '50', '2k', '15M', '1e-6']
    """
    size = abs(value) * (1 + 1e-9)
    factor, suffix = next(((factor, suffix) for factor, suffix in _SUFFIXES if factor <= size < 1000 * factor), (1, ""))
    return f"{value / factor:.9g}{suffix}".replace("e-0", "e-").replace("e+", "e")


class Role(IntEnum):
    """Role of a character; the fronts have the numbers from FRONT on."""

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
    """Characters of axes, markers and bars."""

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
    upright: str
    level: str


MARKERS, ASCII_MARKERS = "●○▲△■□▼▽", "ox+*#%&="
UNICODE = Glyphs(
    markers=MARKERS, selected="◆", baseline="◇", cloud="", vertical="│", horizontal="─", corner="└", y_tick="┤",
    x_tick="┬", cut="…", bars=" ▁▂▃▄▅▆▇█", upright="┊", level="┈",
)  # fmt: skip
ASCII = Glyphs(
    markers=ASCII_MARKERS,
    selected="@",
    baseline="B",
    cloud=".",
    vertical="|",
    horizontal="-",
    corner="+",
    y_tick="+",
    x_tick="+",
    cut="~",
    bars=" __::==##",
    upright=":",
    level=".",
)

Line = list[tuple[str, int]]
"""A line of a plot: texts of one role each."""


def line_of(width: int, column: int = 0, text: str = "") -> Line:
    """Return a line that is blank but for a hint from a column on; what does not fit is left out.

    >>> line_of(8, 2, "nothing"), line_of(3)
    ([('  ', 0), ('nothin', 7)], [('   ', 0)])
    """
    text = text[: max(width - column, 0)]
    column = column if text else 0
    runs = [(" " * column, Role.BLANK), (text, Role.HINT), (" " * (width - column - len(text)), Role.BLANK)]
    return [(run, int(role)) for run, role in runs if run]
