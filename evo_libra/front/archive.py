"""Every non-dominated design that a search has seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import moocore
import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns
from evo_libra.front.staircase import Staircase, stable_order, staircase

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
        return ParetoFilter(nothing, nothing, nothing, factor=nothing, minimum=np.empty(0), cells=0)
    lowest, highest = objectives[:-1].min(axis=1, keepdims=True), objectives[:-1].max(axis=1, keepdims=True)
    # The bits of a positive number are, as a whole number, nearly its logarithm, and in order without rounding.
    bits = bool((lowest > 0).all())
    origin, end = (each.view(np.int64) if bits else each for each in (lowest, highest))
    span = np.asarray(end - origin, dtype=np.float64)
    factor = np.divide(cells - 0.5, span, out=np.zeros_like(span), where=(span > 0) & np.isfinite(span))
    empty = ParetoFilter(lowest, highest, origin, factor=factor, minimum=np.empty(0), cells=cells)
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


SEEN = 0.005
"""Difference from which on people read each row of a front: one then has none that another row is as good as."""


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
        """Return at most `most` of the designs, in even steps along the first objective's order, ends included."""
        return even_steps(len(self), most)

    def thinned(self, epsilon: float) -> Archive:
        """Return one design of each box whose objectives differ by a factor below 1 + epsilon; all of them for 0.

        That is the one with the least product of objectives, and below an epsilon that is seen the least design of each
        objective. So none that is left out is better than all that stay by more than epsilon in every objective; see
        epsilon-Pareto sets, Laumanns et al., Evolutionary Computation 10 (2002). Objectives are above 0.
        """
        if not epsilon or not len(self):
            return self
        if epsilon >= SEEN:
            return self._told_apart(epsilon)
        logarithms = np.log(self.objectives)
        boxes, product = np.floor(logarithms / np.log1p(epsilon)), logarithms.sum(axis=0)
        # Two objectives: designs of a box are neighbours.
        order = np.arange(len(self)) if len(boxes) == _PAIR else np.lexsort(boxes)
        first = np.flatnonzero(np.append(True, (np.diff(columns(boxes, order), axis=1) != 0).any(axis=0)))
        least = np.repeat(np.minimum.reduceat(product[order], first), np.diff(first, append=len(order)))
        best = np.flatnonzero(product[order] == least)
        box = np.searchsorted(first, best, side="right")
        stays = np.zeros(len(self), dtype=np.bool_)
        stays[order[best[np.append(True, box[1:] != box[:-1])]]] = True
        stays[self.objectives.argmin(axis=1)] = True
        kept = np.flatnonzero(stays)
        return Archive(columns(self.genes, kept), columns(self.objectives, kept))

    def _told_apart(self, epsilon: float) -> Archive:
        """Return designs without those that one that stays beats in all objectives, or comes within epsilon of.

        So a design that is a little cheaper for much more time does not stay, nor one that is a little faster for much
        more money, be it the least of its objective. Those with the least product come first.
        """
        logarithms = np.log(self.objectives)
        kept: list[int] = []
        for n in np.lexsort((*logarithms, logarithms.sum(axis=0))).tolist():
            as_good = logarithms[:, kept] - logarithms[:, [n]] < np.log1p(epsilon)
            kept += [] if as_good.all(axis=0).any() else [n]
        return Archive(columns(self.genes, np.sort(kept)), columns(self.objectives, np.sort(kept)))

    @cached_property
    def pareto_filter(self) -> ParetoFilter:
        """The filter that rejects most designs that do not belong here."""
        return pareto_filter(self.objectives)


ONE_ROW = "A row stands for the designs that it beats, or comes within {:g} % of, in every objective."
"""Note of the fronts of runs that leave out designs which differ by an epsilon in percent."""


@dataclass(frozen=True)
class Collection:
    """An archive and designs that wait to be merged with it, since merging a generation at a time would cost the most.

    Attributes
    ----------
    settled : the archive of all merged designs.
    fresh : genes, objectives and violations of generations as they came.
    waiting : genes and objectives of designs that came after those of the archive and before the fresh ones, without
        those that others of them dominate.
    stairs : of two objectives, the front of the archive and of the first designs that wait; None until it is asked for.
    """

    settled: Archive
    fresh: tuple[tuple[FloatArray, FloatArray, FloatArray], ...] = ()
    waiting: tuple[tuple[FloatArray, FloatArray], ...] = ()
    stairs: Staircase | None = None

    def add(self, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> Collection:
        """Return the collection with (g, n) more designs."""
        more = Collection(self.settled, (*self.fresh, (genes, objectives, violation)), self.waiting, self.stairs)
        if sum(len(violation) for *_, violation in more.fresh) < _BATCH:
            return more
        waits = more._without_fresh()
        few = sum(objectives.shape[1] for _, objectives in waits.waiting) < max(_MERGED, len(self.settled))
        return waits if few else Collection(waits.archive)

    @cached_property
    def current(self) -> Collection:
        """The same designs, once it is known which are on the front: a search that goes on from here keeps the work."""
        now = self._without_fresh()
        if len(now.settled.objectives) != _PAIR:
            return now
        stairs = now.stairs or Staircase.of_sorted(now.settled.objectives)
        ends = len(now.settled) + np.cumsum([objectives.shape[1] for _, objectives in now.waiting])
        new = [objectives for (_, objectives), end in zip(now.waiting, ends, strict=True) if end > stairs.count]
        return replace(now, stairs=stairs.add(np.concatenate(new, axis=1)) if new else stairs)

    @cached_property
    def archive(self) -> Archive:
        """All non-dominated designs, whatever the order of merging."""
        if not self.fresh and not self.waiting:
            return self.settled
        genes, objectives, kept = _front(self.current)
        return Archive(columns(np.concatenate(genes, axis=1), kept), objectives)

    def sample(self, most: int) -> FloatArray:
        """Return the (g, k) genes of those designs of the archive that its `spread` names.

        The archive is not made for that: moving the genes of all its designs takes most of the time of a merge.
        """
        genes, _, kept = _front(self.current)
        chosen = kept[even_steps(len(kept), most)]
        ends = np.cumsum([part.shape[1] for part in genes])
        found, part = np.empty((len(genes[0]), len(chosen))), np.searchsorted(ends, chosen, side="right")
        for place in np.flatnonzero(np.bincount(part)).tolist():
            mine = part == place
            found[:, mine] = columns(genes[place], chosen[mine] - ends[place] + genes[place].shape[1])
        return found

    def _without_fresh(self) -> Collection:
        """Return the collection in which those of the fresh designs wait that may belong to the archive."""
        return replace(self, fresh=(), waiting=(*self.waiting, self._candidates())) if self.fresh else self

    def _candidates(self) -> tuple[FloatArray, FloatArray]:
        """Return genes and objectives of the fresh designs that may belong to the archive."""
        violation = np.concatenate([violation for *_, violation in self.fresh])
        objectives = np.concatenate([objectives for _, objectives, _ in self.fresh], axis=1)
        new = np.flatnonzero((violation <= 0) & self.settled.pareto_filter.passes(objectives))
        new = new[non_dominated(columns(objectives, new))]
        if len(objectives) == _PAIR:
            known = self.stairs or Staircase.of_sorted(self.settled.objectives)
            new = new[known.may_lack(columns(objectives, new))]
        bounds = np.cumsum([0, *(len(violation) for *_, violation in self.fresh)])
        parts = np.split(new, np.searchsorted(new, bounds[1:-1]))
        genes = [
            columns(genes, part - start) for (genes, *_), part, start in zip(self.fresh, parts, bounds, strict=False)
        ]
        return np.concatenate(genes, axis=1), columns(objectives, new)


def _front(found: Collection) -> tuple[tuple[FloatArray, ...], FloatArray, IntArray]:
    """Return the genes of an archive and of what waits, and of those on the front (m, k) objectives and (k,) places."""
    genes, objectives = zip((found.settled.genes, found.settled.objectives), *found.waiting, strict=True)
    if found.stairs is not None:
        return genes, found.stairs.objectives, found.stairs.place
    every = np.concatenate(objectives, axis=1)
    kept = front(every)
    return genes, columns(every, kept), kept


def even_steps(count: int, most: int) -> IntArray:
    """Return the indices of at most `most` items of a sequence, in even steps, its ends included."""
    # Steps are at least 1, so that no place comes twice.
    return np.linspace(0, count - 1, min(most, count)).round().astype(np.int64)


def front(objectives: FloatArray) -> IntArray:
    """Return which of (m, n) designs nothing dominates, sorted by their objectives; of equal ones the first."""
    if len(objectives) == _PAIR:
        return staircase(*objectives)
    kept = np.flatnonzero(non_dominated(objectives))
    return kept[np.lexsort(columns(objectives, kept)[::-1])]


def non_dominated(objectives: FloatArray) -> BoolArray:
    """Return (n,) whether none of (m, n) designs is better in one objective and no worse in the others.

    Of equal designs the first one counts.
    """
    found = np.zeros(objectives.shape[1], dtype=np.bool_)
    if len(objectives) == _PAIR:
        found[staircase(*objectives)] = True
    elif len(found):
        # moocore sorts by the last objective, and takes a quarter of the time for many designs that are in its order.
        order = stable_order(objectives[0])
        found[order] = moocore.is_nondominated(np.ascontiguousarray(columns(objectives[::-1], order).T))
    return found
