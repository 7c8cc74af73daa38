"""Bands of figures: how far the truth may be from what is computed of a design, and what that is known from.

A source of bands knows one reason for which times are off, such as kernels that were not measured. `bands_of` is the
one place that puts the bands of a design together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evo_libra.arrays import Population
    from evo_libra.problem.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Band:
    """A band around a figure, as factors on it.

    Attributes
    ----------
    low_factor, high_factor : of the figure, at most and at least 1.
    of : the class whose rows the band is from.
    rows : how many rows it is from.
    years : of the oldest and of the newest of them.
    """

    low_factor: float
    high_factor: float
    of: str
    rows: int
    years: tuple[int, int]

    def around(self, value: float) -> tuple[float, float]:
        """Return the ends of the band of a figure.

        >>> Band(low_factor=0.9, high_factor=1.25, of="made up", rows=3, years=(2024, 2026)).around(20.0)
        (18.0, 25.0)
        """
        return value * self.low_factor, value * self.high_factor


LOW, HIGH = "low_", "high_"
"""Before the column of a figure, these are columns of the ends of its band."""
BAND = "band"
"""Column of the class that the bands of a design are from."""

Bands = Mapping[str, Band]
"""Bands of the figures of a design, by column; a figure without one has no known error."""


class BandSource(Protocol):
    """A reason for which figures may be off."""

    def bands(self, problem: Problem, designs: Population) -> Sequence[Bands]:
        """Return the bands of each design that this reason gives."""


def bands_of(problem: Problem, designs: Population) -> list[Bands]:
    """Return the bands of each design, by all reasons together."""
    each = [source.bands(problem, designs) for source in problem.band_sources]
    return [reduce(_joined, mine, {}) for mine in zip(*each, strict=True)] or [{}] * len(designs)


def _joined(one: Bands, other: Bands) -> Bands:
    return {**one, **other, **{column: combined(one[column], other[column]) for column in one.keys() & other.keys()}}


def combined(one: Band, other: Band) -> Band:
    """Return the band of two independent reasons: the squares of their logarithms add up.

    >>> wide = Band(low_factor=0.8, high_factor=1.2, of="class default", rows=9, years=(2021, 2026))
    >>> combined(wide, Band(low_factor=1.0, high_factor=1.0, of="rows", rows=4, years=(2024, 2025))).of
    'class default; rows'
    """
    low, high = (
        math.hypot(math.log(getattr(one, end)), math.log(getattr(other, end))) for end in ("low_factor", "high_factor")
    )
    return Band(
        low_factor=math.exp(-low), high_factor=math.exp(high), of=f"{one.of}; {other.of}", rows=one.rows + other.rows,
        years=(min(one.years[0], other.years[0]), max(one.years[1], other.years[1])),
    )  # fmt: skip
