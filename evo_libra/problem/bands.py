"""Bands of figures: how far the truth may be from what is computed of a design, and what that is known from.

A source of bands knows one reason for which times are off, such as kernels that were not measured. `bands_of` is the
one place that puts the bands of a design together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evo_libra.arrays import Population
    from evo_libra.problem.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Part:
    """A single reason for which a figure may be off, which designs may share.

    Attributes
    ----------
    of : its name; parts of one name are one error.
    low_factor, high_factor : of the figure, at most and at least 1.
    """

    of: str
    low_factor: float
    high_factor: float


@dataclass(frozen=True, kw_only=True)
class Band:
    """A band around a figure, as factors on it.

    Attributes
    ----------
    low_factor, high_factor : of the figure, at most and at least 1.
    of : the class whose rows the band is from.
    rows : how many rows it is from.
    years : of the oldest and of the newest of them.
    parts : the independent reasons that it is made of; none if it is one itself.
    """

    low_factor: float
    high_factor: float
    of: str
    rows: int
    years: tuple[int, int]
    parts: tuple[Part, ...] = ()

    @property
    def reasons(self) -> tuple[Part, ...]:
        """Its parts, or itself as one."""
        return self.parts or (Part(of=self.of, low_factor=self.low_factor, high_factor=self.high_factor),)

    def around(self, value: float) -> tuple[float, float]:
        """Return the ends of the band of a figure.

        >>> Band(low_factor=0.9, high_factor=1.25, of="made up", rows=3, years=(2024, 2026)).around(20.0)
        (18.0, 25.0)
        """
        return value * self.low_factor, value * self.high_factor


LOW, HIGH = "low_", "high_"
"""Before the column of a figure, these are columns of the ends of its band."""
BAND, FACTORS = "band", "band_factors"
"""Columns of the reasons that the bands of a design are from, and of the factors that each puts on its time."""

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
    low, high = joined_ends((*one.reasons, *other.reasons))
    return Band(
        low_factor=low, high_factor=high, of=f"{one.of}{JOIN}{other.of}", rows=one.rows + other.rows,
        years=(min(one.years[0], other.years[0]), max(one.years[1], other.years[1])),
        parts=(*one.reasons, *other.reasons),
    )  # fmt: skip


JOIN = "; "
"""Text between the names of the reasons of a band."""


def joined_ends(parts: Iterable[Part]) -> tuple[float, float]:
    """Return the factors of independent reasons together.

    >>> low, high = joined_ends([Part(of="a", low_factor=1 / 1.3, high_factor=1.3)] * 2)
    >>> f"{low:.3f} {high:.3f}"
    '0.690 1.449'
    """
    every = list(parts)
    return (
        math.exp(-math.hypot(*(math.log(one.low_factor) for one in every))),
        math.exp(math.hypot(*(math.log(one.high_factor) for one in every))),
    )


def ends_of_ratio(mine: Iterable[Part], other: Iterable[Part]) -> tuple[float, float] | None:
    """Return the factors on the ratio of two figures that hold its truth; None where all reasons cancel.

    A reason that both figures share is one error, and cancels.

    >>> model = Part(of="h100, fp8", low_factor=0.9, high_factor=1.1)
    >>> npu = Part(of="h200 in place of h100", low_factor=0.8, high_factor=1.25)
    >>> ends = ends_of_ratio([model, npu], [model])
    >>> [round(end, 6) for end in ends or ()], ends_of_ratio([model], [model])
    ([0.8, 1.25], None)
    """
    first, second = ({one.of: one for one in parts} for parts in (mine, other))
    kept = [one for name, one in first.items() if name not in second]
    kept += [_inverse(one) for name, one in second.items() if name not in first]
    return joined_ends(kept) if kept else None


def _inverse(one: Part) -> Part:
    return Part(of=one.of, low_factor=1.0 / one.high_factor, high_factor=1.0 / one.low_factor)


def are_equal(ratio: float, mine: Iterable[Part], other: Iterable[Part]) -> bool:
    """Return whether reasons leave open which of two figures of a ratio is the larger one.

    >>> default = Part(of="class default", low_factor=0.9, high_factor=1.2)
    >>> are_equal(1.1, [], [default]), are_equal(1.5, [], [default]), are_equal(1.1, [default], [default])
    (True, False, False)
    """
    ends = ends_of_ratio(mine, other)
    return ends is not None and ratio * ends[0] <= 1.0 <= ratio * ends[1]


def written_factors(parts: Iterable[Part]) -> str:
    """Return the factors of reasons as a text, which `read_parts` reads.

    >>> written_factors([Part(of="a", low_factor=0.9, high_factor=1.25), Part(of="b", low_factor=1.0, high_factor=2.0)])
    '0.9 1.25; 1.0 2.0'
    """
    return JOIN.join(f"{one.low_factor!r} {one.high_factor!r}" for one in parts)


def read_parts(names: str, factors: str) -> tuple[Part, ...]:
    """Return the reasons of a band from the texts of their names and factors.

    >>> read_parts("a", "0.9 1.25")
    (Part(of='a', low_factor=0.9, high_factor=1.25),)
    """
    pairs = (one.split(" ") for one in factors.split(JOIN))
    return tuple(
        Part(of=name, low_factor=float(low), high_factor=float(high))
        for name, (low, high) in zip(names.split(JOIN), pairs, strict=True)
    )
