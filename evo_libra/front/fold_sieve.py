"""A sieve for designs that are surely dominated: a table is asked instead of a sort being made."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray

_CELLS = {2: 1024, 3: 64, 4: 16}
_FEW = {2: 256, 3: 32, 4: 8}
_MANY = 2048


@dataclass(frozen=True)
class Sieve:
    """The least last objective of the known designs that are in lower cells of all other objectives.

    A cell is a range of an objective. Whoever is in lower cells of all of them is better in all of them, as the number
    of a cell never falls with the objective.

    Attributes
    ----------
    lowest, highest : (m - 1, 1) range of the objectives that has cells; what is outside belongs to the outer cells.
    origin, factor : (m - 1, 1) the number of a cell is what an objective has above the origin, times the factor.
    least : ((k + 1) ** (m - 1),) of k cells an objective, for each of them what all lower cells have; infinite if that
        is nothing.
    cells : how many an objective has.
    """

    lowest: FloatArray
    highest: FloatArray
    origin: FloatArray | IntArray
    factor: FloatArray
    least: FloatArray
    cells: int

    def passes(self, objectives: FloatArray) -> BoolArray:
        """Return (n,) which of (m, n) designs may be ones that no known one dominates; most others are left out."""
        if not len(self.least):
            return np.ones(objectives.shape[1], dtype=np.bool_)
        return np.asarray(objectives[-1] < self.least.take(self.place(objectives), mode="clip"))

    def place(self, objectives: FloatArray) -> IntArray:
        """Return the (n,) places of (m, n) designs in the table."""
        within = objectives[:-1].clip(self.lowest, self.highest)
        cells = ((_scaled(within, self.origin) - self.origin) * self.factor).astype(np.int64)
        place = cells[0]
        for more in cells[1:]:
            place = place * (self.cells + 1) + more
        return np.asarray(place)


def sieve(objectives: FloatArray) -> Sieve:
    """Return the sieve of (m, n) known designs; one that lets all pass where there are none or m is 1 or above 4."""
    count, known = objectives.shape
    cells = (_FEW if known < _MANY else _CELLS).get(count, 0)
    if not cells or not known:
        nothing = np.empty((0, 1))
        return Sieve(nothing, nothing, nothing, nothing, np.empty(0), 0)
    lowest, highest = objectives[:-1].min(axis=1, keepdims=True), objectives[:-1].max(axis=1, keepdims=True)
    # The bits of a positive number are, as a whole number, nearly its logarithm, and in order without rounding.
    bits = bool((lowest > 0).all())
    origin, end = (each.view(np.int64) if bits else each for each in (lowest, highest))
    span = np.asarray(end - origin, dtype=np.float64)
    factor = np.divide(cells - 0.5, span, out=np.zeros_like(span), where=(span > 0) & np.isfinite(span))
    empty = Sieve(lowest, highest, origin, factor, np.empty(0), cells)
    table = np.full((cells + 1,) * (count - 1), np.inf)
    above = sum((cells + 1) ** axis for axis in range(count - 1))
    np.minimum.at(table.reshape(-1), empty.place(objectives) + above, objectives[-1])
    for axis in range(count - 1):
        np.minimum.accumulate(table, axis=axis, out=table)
    return replace(empty, least=table.reshape(-1))


def _scaled(values: FloatArray, origin: FloatArray | IntArray) -> FloatArray | IntArray:
    return values.view(np.int64) if origin.dtype == np.int64 else values
