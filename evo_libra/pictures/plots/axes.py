"""Axes of plots, in characters and in figures alike: what they show, and where their ticks are."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.pictures.plots.series import Axis, Series, tick_label
from evo_libra.quantities import money_unit, time_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evo_libra.arrays import FloatArray, IntArray

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#7F3C8D", "#999999")
"""Okabe and Ito's, readable in every kind of colour vision; grey is for what a caller has merged."""
MAX_SERIES = 9
"""Series that colours and markers can tell apart."""
BRAILLE = 0x2800
"""The character of braille without dots."""
DOT_BITS = np.array([[0x40, 0x80], [0x04, 0x20], [0x02, 0x10], [0x01, 0x08]])
"""(4, 2) what each dot adds to it, from the bottom upwards."""
DOTS_UP, DOTS_ACROSS = DOT_BITS.shape

_SMALLEST, _LARGEST = 1e-280, 1e280  # Values are clipped to these: differences and steps neither overflow nor vanish.
_RESOLUTION = 1e-6  # Smaller relative differences are drawn as equal: their tick labels would need too many digits.
_MAX_TICKS = 8
_Y_TICK_DISTANCES = (2, 3)
_TALL = 18  # Lines from which on labels stand further apart.
_X_LABEL_GAP = 2
_FEWEST_DECADE_TICKS = 3


def check_series(series: Sequence[Series], *, log_x: bool, log_y: bool) -> None:
    """Raise a ValueError for too many series, shapes that differ, and values that an axis cannot show."""
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
    """Return the x and y axis that show every point and bar, with a little room around; 0 to 1 without any point."""
    none = np.empty(0)
    level, upright = (
        [end for one in series if one.upright == is_upright for end in one.barred[1:]] for is_upright in (False, True)
    )
    return (
        _axis_of(np.concatenate([none, *(one.x for one in series), *level]), log=log_x),
        _axis_of(np.concatenate([none, *(one.y for one in series), *upright]), log=log_y),
    )


def unit_of(label: str, axis: Axis) -> tuple[str, float]:
    """Return the label of an axis of times or amounts in the unit that suits them, and its size; any other label and 1.

    Parameters
    ----------
    label : the label; it ends with ``[ms]`` or ``[USD]`` where these are shown.
    axis : the values that are shown.

    >>> unit_of("iteration time [ms]", Axis(7.0, 7.1, log=True)), unit_of("power [MW]", Axis(7.0, 7.1, log=True))
    (('iteration time [min]', 60000.0), ('power [MW]', 1.0))
    """
    head, bracket, unit = label.rpartition("[")
    choose = _UNITS.get(f"{bracket}{unit}")
    if choose is None:
        return label, 1.0
    middle = (axis.low + axis.high) / 2
    amount = 10.0**middle if axis.log else abs(middle)
    name, size = choose(max(amount, _LARGE) if amount >= _THOUSAND else amount)
    return f"{head}[{name}]", size


_THOUSAND, _LARGE = 1e3, 1e4
"""From thousands on labels take the next unit, where tables still have digits for the smaller one."""
_UNITS = {"[ms]": time_unit, "[USD]": money_unit}


def in_unit(axis: Axis, size: float) -> Axis:
    """Return an axis whose values are divided by the size of a unit."""
    if axis.log:
        return Axis(axis.low - math.log10(size), axis.high - math.log10(size), log=True)
    return Axis(axis.low / size, axis.high / size, log=False)


def in_units(
    series: Sequence[Series], labels: tuple[str, str], *, log_x: bool, log_y: bool
) -> tuple[list[Series], tuple[str, str]]:
    """Return series and the labels of the x and the y axis with times and amounts in the units that suit them."""
    if not any(one.x.size for one in series):
        return list(series), labels
    axes = axes_of(series, log_x=log_x, log_y=log_y)
    (x_label, across), (y_label, up) = (unit_of(*pair) for pair in zip(labels, axes, strict=True))
    return [one.over(across, up) for one in series], (x_label, y_label)


def limits(axis: Axis) -> tuple[float, float]:
    """Return the first and the last value that an axis shows."""
    return (10.0**axis.low, 10.0**axis.high) if axis.log else (axis.low, axis.high)


def position(axis: Axis, values: FloatArray) -> FloatArray:
    """Return (n,) how far along the axis each of n values lies: 0 at its start, 1 at its end."""
    return np.asarray((_scaled(values, log=axis.log) - axis.low) / (axis.high - axis.low))


def ticks(axis: Axis, cells: int, *, across: bool) -> tuple[float, ...]:
    """Return round values to label on an axis, as many as can be read well, at least two wherever two labels fit.

    `cells` is the length of the axis in characters or, where labels stand one above the other, in lines.
    """
    candidates = list(_tick_candidates(axis))
    even = [values for values in _even_ticks(*limits(axis)) if values]
    # If no even steps leave room for two labels, two values near the ends do.
    ends = [(values[0], values[-1]) for values in (*candidates, *even) if len(values) > 1]
    middle = next(values[len(values) // 2] for values in (*candidates, *even) if values)
    for some in (candidates, even, reversed(ends)):
        found = max((values for values in some if _fits(axis, values, cells, across=across)), key=len, default=())
        if len(found) > 1:
            return found
    return (middle,)


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
        # A positive start far below the end divides to 0, which is not on the axis.
        first = math.ceil(low / step) or int(low > 0)
        yield tuple(count * step for count in range(first, math.floor(high / step) + 1))


def _decade_ticks(axis: Axis, mantissas: tuple[int, ...], stride: int) -> tuple[float, ...]:
    powers = (power for power in range(math.floor(axis.low), math.floor(axis.high) + 1) if power % stride == 0)
    values = (mantissa * 10.0**power for power in powers for mantissa in mantissas)
    return tuple(value for value in values if axis.low <= math.log10(value) <= axis.high)


def _fits(axis: Axis, values: tuple[float, ...], cells: int, *, across: bool) -> bool:
    if not 0 < len(values) <= _MAX_TICKS:
        return False
    at = tick_cells(axis, values, cells, DOTS_ACROSS if across else DOTS_UP)
    if not across:
        closest = _Y_TICK_DISTANCES[cells >= _TALL]
        return all(cell - before >= closest for before, cell in itertools.pairwise(at))
    labels = [tick_label(value) for value in values]
    starts = [label_start(cell, label, cells) for cell, label in zip(at, labels, strict=True)]
    gaps = (
        start - before - len(label) for (before, start), label in zip(itertools.pairwise(starts), labels, strict=False)
    )
    return all(gap >= _X_LABEL_GAP for gap in gaps)


def tick_cells(axis: Axis, values: Sequence[float], cells: int, per_cell: int) -> list[int]:
    """Return the characters that ticks are in, where an axis has `cells` characters of `per_cell` dots.

    It goes by way of a braille dot, as points do: a point at a tick's value is then in line with it.
    """
    return [int(dot) // per_cell for dot in dots(axis, np.array(values), per_cell * cells)]


def label_start(cell: int, label: str, cells: int) -> int:
    """Return the column of a label under a tick; it may reach two columns to the left of the axis, as room is there."""
    return min(max(cell - len(label) // 2, -2), cells - len(label))


def dots(axis: Axis, values: FloatArray, count: int) -> IntArray:
    """Return (n,) which of the `count` dots along an axis is nearest to each of n values."""
    return np.rint(position(axis, values) * (count - 1)).astype(np.int64)
