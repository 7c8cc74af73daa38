"""Every non-dominated design that a search has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import moocore
import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns

_CELLS = {2: 1024, 3: 64, 4: 16}
_FEW = {2: 256, 3: 32, 4: 8}
_MANY = 2048


@dataclass(frozen=True)
class ParetoFilter:
    """A table that rejects most dominated designs without comparing them with every known design.

    A cell is a range of an objective, and the number of a cell never falls with the objective. So a known design in
    lower cells of all objectives but the last is better in all of these; the table has the lowest last objective of
    such designs for every combination of cells.

    Attributes
    ----------
    lowest, highest : (m - 1, 1) range of the objectives that has cells; values outside belong to the outer cells.
    origin, factor : (m - 1, 1) the number of a cell is the distance of an objective from the origin, times the factor.
    minimum : ((k + 1) ** (m - 1),) lowest last objective in all lower cells; infinite if these are empty.
    cells : number of cells of each objective, k.
    """

    lowest: FloatArray
    highest: FloatArray
    origin: FloatArray | IntArray
    factor: FloatArray
    minimum: FloatArray
    cells: int

    def passes(self, objectives: FloatArray) -> BoolArray:
        """Return (n,) which of (m, n) designs may be non-dominated by the known ones; most others are rejected."""
        if not len(self.minimum):
            return np.ones(objectives.shape[1], dtype=np.bool_)
        return np.asarray(objectives[-1] < self.minimum.take(self.place(objectives), mode="clip"))

    def place(self, objectives: FloatArray) -> IntArray:
        """Return the (n,) places of (m, n) designs in the table."""
        within = objectives[:-1].clip(self.lowest, self.highest)
        cells = ((_scaled(within, self.origin) - self.origin) * self.factor).astype(np.int64)
        place = cells[0]
        for more in cells[1:]:
            place = place * (self.cells + 1) + more
        return np.asarray(place)


def pareto_filter(objectives: FloatArray) -> ParetoFilter:
    """Return the filter of (m, n) known designs; it passes all designs where none are known, or m is 1 or above 4."""
    count, known = objectives.shape
    cells = (_FEW if known < _MANY else _CELLS).get(count, 0)
    if not cells or not known:
        nothing = np.empty((0, 1))
        return ParetoFilter(nothing, nothing, nothing, nothing, np.empty(0), 0)
    lowest, highest = objectives[:-1].min(axis=1, keepdims=True), objectives[:-1].max(axis=1, keepdims=True)
    # The bits of a positive number are, as a whole number, nearly its logarithm, and in order without rounding.
    bits = bool((lowest > 0).all())
    origin, end = (each.view(np.int64) if bits else each for each in (lowest, highest))
    span = np.asarray(end - origin, dtype=np.float64)
    factor = np.divide(cells - 0.5, span, out=np.zeros_like(span), where=(span > 0) & np.isfinite(span))
    empty = ParetoFilter(lowest, highest, origin, factor, np.empty(0), cells)
    table = np.full((cells + 1,) * (count - 1), np.inf)
    above = sum((cells + 1) ** axis for axis in range(count - 1))
    np.minimum.at(table.reshape(-1), empty.place(objectives) + above, objectives[-1])
    for axis in range(count - 1):
        np.minimum.accumulate(table, axis=axis, out=table)
    return replace(empty, minimum=table.reshape(-1))


def _scaled(values: FloatArray, origin: FloatArray | IntArray) -> FloatArray | IntArray:
    return values.view(np.int64) if origin.dtype == np.int64 else values


_PAIR = 2
_BATCH = 4096
_MERGED = 1024


@dataclass(frozen=True)
class Archive:
    """Mutually non-dominated feasible designs, sorted by their objectives; of equal ones the first seen is kept.

    `genes` are (g, k), `objectives` (m, k).
    """

    genes: FloatArray
    objectives: FloatArray

    @staticmethod
    def empty(genes: int, objectives: int) -> Archive:
        """Return an archive without designs."""
        return Archive(np.empty((genes, 0)), np.empty((objectives, 0)))

    def __len__(self) -> int:
        return int(self.genes.shape[1])

    def add(self, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> Archive:
        """Return the archive with the feasible ones of (g, n) designs that nothing dominates."""
        return Collection(self).add(genes, objectives, violation).archive

    def spread(self, most: int) -> IntArray:
        """Return at most so many of the designs, in even steps along the first objective's order, ends included."""
        return _even_steps(len(self), most)

    def thinned(self, epsilon: float) -> Archive:
        """Return one design of each box whose objectives differ by a factor below 1 + epsilon; all of them for 0.

        That is the one with the least product of objectives. The least design of each objective always stays. So none
        that is left out is better than all that stay by more than epsilon in every objective; see epsilon-Pareto sets,
        Laumanns et al., Evolutionary Computation 10 (2002). Objectives are above 0.
        """
        if not epsilon or not len(self):
            return self
        logarithms = np.log(self.objectives)
        boxes, product = np.floor(logarithms / np.log1p(epsilon)), logarithms.sum(axis=0)
        # Two objectives: designs of a box are neighbours.
        order = np.arange(len(self)) if len(boxes) == _PAIR else np.lexsort(boxes)
        first = np.flatnonzero(np.append(True, (np.diff(columns(boxes, order), axis=1) != 0).any(axis=0)))
        least = np.repeat(np.minimum.reduceat(product[order], first), np.diff(first, append=len(order)))
        best = np.flatnonzero(product[order] == least)
        _, each = np.unique(np.searchsorted(first, best, side="right"), return_index=True)
        kept = np.union1d(order[best[each]], self.objectives.argmin(axis=1))
        return Archive(columns(self.genes, kept), columns(self.objectives, kept))

    @cached_property
    def pareto_filter(self) -> ParetoFilter:
        """The filter that rejects most designs that do not belong here."""
        return pareto_filter(self.objectives)

    def may_lack(self, objectives: FloatArray) -> IntArray:
        """Return which of (m, n) designs may belong here; of two objectives, which are not dominated."""
        if len(self.objectives) != _PAIR:
            return np.arange(objectives.shape[1])
        # Two sorted objectives are a staircase.
        left = np.searchsorted(self.objectives[0], objectives[0], side="right")
        height = np.concatenate([[np.inf], self.objectives[1]])
        return np.flatnonzero(objectives[1] < height[left])


@dataclass(frozen=True)
class Collection:
    """An archive and designs that wait to be merged with it, since merging a generation at a time would cost the most.

    Attributes
    ----------
    settled : the archive of all merged designs.
    fresh : genes, objectives and violations of generations as they came.
    waiting : genes and objectives of designs that came after those of the archive and before the fresh ones, without
        those that others of them dominate.
    """

    settled: Archive
    fresh: tuple[tuple[FloatArray, FloatArray, FloatArray], ...] = ()
    waiting: tuple[tuple[FloatArray, FloatArray], ...] = ()

    def add(self, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> Collection:
        """Return the collection with (g, n) more designs."""
        fresh = (*self.fresh, (genes, objectives, violation))
        more = Collection(self.settled, fresh, self.waiting)
        if sum(len(violation) for *_, violation in fresh) < _BATCH:
            return more
        waiting = (*self.waiting, more._candidates())
        if sum(objectives.shape[1] for _, objectives in waiting) < max(_MERGED, len(self.settled)):
            return Collection(self.settled, (), waiting)
        return Collection(_merged(self.settled, waiting))

    def _candidates(self) -> tuple[FloatArray, FloatArray]:
        """Return genes and objectives of the fresh designs that may belong to the archive."""
        violation = np.concatenate([violation for *_, violation in self.fresh])
        objectives = np.concatenate([objectives for _, objectives, _ in self.fresh], axis=1)
        new = np.flatnonzero((violation <= 0) & self.settled.pareto_filter.passes(objectives))
        new = new[non_dominated(columns(objectives, new))]
        new = new[self.settled.may_lack(columns(objectives, new))]
        bounds = np.cumsum([0, *(len(violation) for *_, violation in self.fresh)])
        parts = np.split(new, np.searchsorted(new, bounds[1:-1]))
        genes = [
            columns(genes, part - start) for (genes, *_), part, start in zip(self.fresh, parts, bounds, strict=False)
        ]
        return np.concatenate(genes, axis=1), columns(objectives, new)

    @cached_property
    def archive(self) -> Archive:
        """All non-dominated designs, whatever the order of merging."""
        waiting = (*self.waiting, self._candidates()) if self.fresh else self.waiting
        return _merged(self.settled, waiting) if waiting else self.settled

    def sample(self, most: int) -> FloatArray:
        """Return the (g, k) genes of those designs of the archive that its `spread` names.

        The archive is not made for that: moving the genes of all its designs takes most of the time of a merge.
        """
        waiting = (*self.waiting, self._candidates()) if self.fresh else self.waiting
        genes, objectives = zip((self.settled.genes, self.settled.objectives), *waiting, strict=True)
        kept = front(np.concatenate(objectives, axis=1))
        chosen = kept[_even_steps(len(kept), most)]
        ends = np.cumsum([part.shape[1] for part in genes])
        found, part = np.empty((len(genes[0]), len(chosen))), np.searchsorted(ends, chosen, side="right")
        for place in np.unique(part).tolist():
            mine = part == place
            found[:, mine] = columns(genes[place], chosen[mine] - ends[place] + genes[place].shape[1])
        return found


def _even_steps(count: int, most: int) -> IntArray:
    """Return at most so many places of a sequence, in even steps, its ends included."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(np.int64))


def _merged(settled: Archive, waiting: Sequence[tuple[FloatArray, FloatArray]]) -> Archive:
    genes, objectives = zip((settled.genes, settled.objectives), *waiting, strict=True)
    every = np.concatenate(objectives, axis=1)
    kept = front(every)
    return Archive(columns(np.concatenate(genes, axis=1), kept), columns(every, kept))


def front(objectives: FloatArray) -> IntArray:
    """Return which of (m, n) designs nothing dominates, sorted by their objectives; of equal ones the first."""
    if len(objectives) == _PAIR:
        return _staircase(*objectives)
    kept = np.flatnonzero(non_dominated(objectives))
    return kept[np.lexsort(columns(objectives, kept)[::-1])]


def non_dominated(objectives: FloatArray) -> BoolArray:
    """Return (n,) whether none of (m, n) designs is better in one objective and no worse in the others.

    Of equal designs the first one counts.
    """
    found = np.zeros(objectives.shape[1], dtype=np.bool_)
    if len(objectives) == _PAIR:
        found[_staircase(*objectives)] = True
    elif len(found):
        # moocore sorts by the last objective, and takes a quarter of the time for many designs that are in its order.
        order = stable_order(objectives[0])
        found[order] = moocore.is_nondominated(np.ascontiguousarray(columns(objectives[::-1], order).T))
    return found


def stable_order(values: FloatArray) -> IntArray:
    """Return the order of (n,) values, then by place, in half the time of sorting the places by the values."""
    mask = np.int64((1 << len(values).bit_length()) - 1)
    # As whole numbers the bits of positive numbers are in order; those of negative ones are once turned around.
    keys = (values + 0.0).view(np.int64)
    keys ^= ((keys >> 63).view(np.uint64) >> np.uint64(1)).view(np.int64)
    # The place goes into the low bits, so that one sort of whole numbers does.
    keys &= ~mask
    keys |= np.arange(len(values))
    keys.sort()
    keys &= mask
    ordered = columns(values, keys)
    if (ordered[1:] < ordered[:-1]).any():
        # Values that differ in the low bits alone are neighbours by now, which a merge sort has little work with.
        return keys[np.argsort(ordered, kind="stable")]
    return keys


def _staircase(first: FloatArray, second: FloatArray) -> IntArray:
    """Return the result of `front` for two objectives, in a third of moocore's time."""
    if not len(first):
        return np.empty(0, dtype=np.int64)
    order = stable_order(first)
    x, y = columns(first, order), columns(second, order)
    lowest = np.minimum.accumulate(y)
    lower = np.ones(len(order), dtype=np.bool_)
    np.less(y[1:], lowest[:-1], out=lower[1:])
    step = np.flatnonzero(lower)
    # Of designs that are the same in the first objective the last step is the lowest one.
    along = columns(x, step)
    lowest_one = along[1:] != along[:-1]
    if not lowest_one.all():
        step = step[np.concatenate([lowest_one, [True]])]
    # Of equal designs the first one, as they are in order of place, is the step.
    return columns(order, step)
