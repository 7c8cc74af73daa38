"""What a plot shows: points, ranges of axes, and numbers on them; without NumPy, as an empty plot has no arrays."""

from __future__ import annotations

from dataclasses import dataclass
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


def tick_label(value: float) -> str:
    """Return a number as short as it can be read.

    >>> [tick_label(value) for value in (0.25, 50, 2e3, 1.5e7, 1e-6)]
    ['0.25', '50', '2k', '15M', '1e-6']
    """
    size = abs(value) * (1 + 1e-9)
    factor, suffix = next(((factor, suffix) for factor, suffix in _SUFFIXES if factor <= size < 1000 * factor), (1, ""))
    return f"{value / factor:.9g}{suffix}".replace("e-0", "e-").replace("e+", "e")
