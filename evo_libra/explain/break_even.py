"""The better one of two designs under a change: the price of a part, the bandwidth of a technology."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, Population
from evo_libra.problem.problem import Problem

MAX_FACTOR = 4.0
"""Bandwidths are varied from a quarter to this many times of their values."""

MAX_PRICE_FACTOR = 10.0
"""Prices further from today's than a tenth, or than this many times, are in no sentence."""

_GRID, _ROUNDS = 129, 5


@dataclass(frozen=True)
class BreakEven:
    """A change at which two designs are equal.

    Attributes
    ----------
    of : what changes: a part, or a technology.
    factor : times its price or bandwidth at which both designs cost or take as much.
    below, above : the place, 0 or 1, of the design that is better below the factor and above it.
    """

    of: str
    factor: float
    below: int
    above: int


def price_crossings(first: Mapping[str, float], second: Mapping[str, float]) -> list[BreakEven]:
    """Return the factors on the price of single parts at which two designs cost the same, the nearest to 1 first.

    Parameters
    ----------
    first, second : USD of each part of the two designs.

    >>> price_crossings({"switch": 60.0, "link": 40.0}, {"switch": 90.0, "link": 20.0})[0]
    BreakEven(of='switch', factor=0.6666666666666667, below=1, above=0)
    """
    gap = sum(second.values()) - sum(first.values())
    found = []
    for part in dict.fromkeys([*first, *second]):
        slope = second.get(part, 0.0) - first.get(part, 0.0)
        if slope and (factor := 1.0 - gap / slope) > 0:
            found.append(BreakEven(part, factor, *((1, 0) if slope > 0 else (0, 1))))
    return sorted(found, key=lambda one: abs(np.log(one.factor)))


def bandwidth_crossings(problem: Problem, designs: Population) -> list[BreakEven]:
    """Return the factors on the bandwidth of single technologies at which two designs take the same time.

    Both designs get the factor, within `MAX_FACTOR`; of several crossings the one nearest to 1 is returned.
    """
    found = []
    names = np.array(problem.catalog.names)[designs.technology]
    for technology in np.unique(names[designs.npus > 1]).tolist():
        crossing = nearest_root(_gap(problem, designs, (names == technology) & (designs.npus > 1)))
        if crossing is not None:
            factor, above = crossing
            found.append(BreakEven(technology, factor, 1 - above, above))
    return sorted(found, key=lambda one: abs(np.log(one.factor)))


def _gap(problem: Problem, designs: Population, scaled: BoolArray) -> Callable[[FloatArray], FloatArray]:
    """Return the function from (k,) factors to (k,) seconds by which the second design is slower."""

    def of(factors: FloatArray) -> FloatArray:
        many = designs.select(np.tile(np.arange(2), len(factors)))
        factor = np.where(np.tile(scaled, len(factors)), np.repeat(factors, 2), 1.0)
        time = problem.time(replace(many, bandwidth=many.bandwidth * factor)).reshape(-1, 2)
        return np.asarray(time[:, 1] - time[:, 0])

    return of


def nearest_root(gap: Callable[[FloatArray], FloatArray]) -> tuple[float, int] | None:
    """Return the factor nearest to 1 at which a gap changes its sign, and the place of the design that wins above it.

    A gap above 0 is a win of the first design. None where the sign is the same everywhere from 1 / `MAX_FACTOR` to
    `MAX_FACTOR`.
    """
    low, high = -np.log(MAX_FACTOR), np.log(MAX_FACTOR)
    for _ in range(_ROUNDS):
        logs = np.linspace(low, high, _GRID)
        sign = np.sign(gap(np.exp(logs)))
        logs, sign = logs[sign != 0], sign[sign != 0]
        turns = np.flatnonzero(sign[1:] != sign[:-1])
        if not len(turns):
            return None
        turn = int(turns[np.abs(logs[turns]).argmin()])
        low, high = float(logs[turn]), float(logs[turn + 1])
    return float(np.exp((low + high) / 2)), int(sign[turn + 1] < 0)
