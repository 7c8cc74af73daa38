"""Genes to objectives the short way, for problems of LIBRA's time and prices per bandwidth.

The way does for each design what the sections, the pricing and the time model do for a population, operation by
operation in the same order, so that both results are equal to the last bit. Of so few array calls hardly any is for what
such problems do not need. After millions of designs it is one compiled loop, where numba is installed. Exponentials stay
with NumPy there, too, as those of compilers round differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray, columns, compile_function, no_plans
from evo_libra.problem.pricing.per_bandwidth import PerBandwidth
from evo_libra.problem.protocol import COST, TIME, Evaluation, Objective
from evo_libra.problem.sections.bandwidth import SearchedBandwidths
from evo_libra.problem.sections.section import Sections
from evo_libra.problem.sections.topology import BlockSection, StructureSection
from evo_libra.problem.time_models.libra import NO_BANDWIDTH, LibraTime

WORTH_COMPILING = 5_000_000
"""Designs that a problem decodes in a process before its loop is loaded, as loading costs what it saves of so many.

A search decodes each design twice: to tell it from others, and to evaluate it.
"""


@dataclass
class FusedLoop:
    """The short way of a problem whose genes are a structure, blocks, a level and shares, with nothing to repair.

    The kind of a dimension is its place and its technology, or that it is not in use. Numbers that become rows are
    floats.

    Attributes
    ----------
    objectives : of the problem, time and cost at most.
    time : its time model.
    npus, kind, traffic : (d, s) sizes and kinds of the dimensions of the structures, and their (c, d, s) traffic.
    technology, block, price : of each kind (k,), and of each of its choices of a block (k, choice) the block and the
        USD per B/s of the whole network; 0 where the dimension is not in use.
    box : (3, k) the smallest and the largest B/s, and 1 where the dimension is in use.
    decoded : designs that were asked for so far; only the way to compute them depends on it.
    """

    objectives: Sequence[Objective]
    time: LibraTime
    npus: FloatArray
    kind: IntArray
    traffic: FloatArray
    technology: FloatArray
    block: FloatArray
    price: FloatArray
    box: FloatArray
    decoded: int = 0

    @staticmethod
    def of(sections: Sections, objectives: Sequence[Objective]) -> FusedLoop | None:
        """Return the short way of a problem; None where the problem is of another kind."""
        *others, last = sections.sections
        rules = last.rules
        pricing, time, table = rules.pricing, rules.time, rules.pricing.space.table
        plain = [type(section) for section in others] == [StructureSection, BlockSection] and not rules.constraints
        if not plain or not isinstance(last, SearchedBandwidths) or not set(objectives) <= {TIME, COST}:
            return None
        if not isinstance(pricing, PerBandwidth) or not isinstance(time, LibraTime) or table is None:
            return None
        traffic = rules.traffic.listed
        if traffic is None:
            return None
        depth, kinds, choices = pricing.blocks.shape
        kind = np.arange(depth)[:, None] * kinds + table.technology + (table.npus <= 1) * (depth * kinds)
        used = np.repeat([1.0, 0.0], depth * kinds)
        technology, block = np.resize(np.arange(kinds), len(used)), np.resize(pricing.blocks, (len(used), choices))
        price = pricing.prices[block, technology[:, None]] * (used[:, None] * pricing.npus)
        box = np.array([np.where(used > 0, np.resize(bound, used.shape), 0.0) for bound in (pricing.low, pricing.high)])
        return FusedLoop(
            objectives, time, table.npus.astype(np.float64), kind, np.ascontiguousarray(traffic),
            technology.astype(np.float64), block.astype(np.float64), price, np.concatenate([box, used[None]]),
        )  # fmt: skip

    def compiled(self, count: int) -> Callable[..., None] | None:
        """Return the compiled loop for so many designs; None where too few were asked for, or numba is missing."""
        self.decoded += count
        # NumPy adds the shares of eight and more dimensions of a single design in another order.
        return compile_function(_run) if self.decoded > WORTH_COMPILING and count > 1 else None

    def rows(self, genes: FloatArray) -> FloatArray:
        """Return what `Population.rows` does for the designs of (g, n) genes."""
        rows = np.empty((4 * len(self.npus), genes.shape[1]))
        self._fill(genes, rows, rows[:0])
        return rows

    def evaluate(self, genes: FloatArray) -> Evaluation:
        """Return the objectives of (g, n) genes; nothing is violated, as bandwidths are moved into their box."""
        count = genes.shape[1]
        figures = np.empty((len(self.traffic) + 1, count))
        self._fill(genes, figures[:0], figures)
        times = self.time.times_of(figures[:-1], no_plans(count))
        known = {TIME: self.time.weighted(times.workloads), COST: figures[-1]}
        return Evaluation(np.array([known[objective] for objective in self.objectives]), np.zeros(count))

    def _fill(self, genes: FloatArray, rows: FloatArray, figures: FloatArray) -> None:
        """Fill in the rows of designs, or (c + 1, n) seconds per unit of each channel and USD; one has no length."""
        run = self.compiled(genes.shape[1])
        # Other orders of memory take twice as long, and would be compiled again.
        genes = np.ascontiguousarray(genes)
        if run is not None:
            shares = np.exp(genes[len(self.npus) + 1 :])
            run(genes, shares, self.npus, self.kind, self.traffic, self.technology, self.block, self.price, self.box,
                rows, figures)  # fmt: skip
            return
        for start in range(0, genes.shape[1], TILE):
            tile = slice(start, start + TILE)
            self._fill_tile(genes[:, tile], rows[:, tile], figures[:, tile])

    def _fill_tile(self, genes: FloatArray, rows: FloatArray, figures: FloatArray) -> None:
        """Do the same in few array calls."""
        depth = len(self.npus)
        structure = genes[0].astype(np.int64)
        kind = columns(self.kind, structure)
        choice = kind * self.block.shape[1]
        choice += genes[1 : depth + 1].astype(np.int64)
        bandwidth = self._bandwidth(np.exp(genes[depth + 1 :]), kind)
        if len(rows):
            parts = columns(self.npus, structure), _of(self.block, choice), _of(self.technology, kind), bandwidth
            np.concatenate(parts, out=rows)
            return
        usd = _of(self.price, choice)
        usd *= bandwidth
        usd.sum(axis=0, out=figures[-1])
        seconds = columns(self.traffic, structure)
        seconds /= np.maximum(bandwidth, NO_BANDWIDTH, out=bandwidth)
        seconds.max(axis=1, out=figures[:-1])

    def _bandwidth(self, shares: FloatArray, kind: IntArray) -> FloatArray:
        """Return (d, n) B/s from the exponentials of the level and of the shares of the dimensions."""
        low, high, used = self.box
        bandwidth = shares[1:]
        bandwidth *= _of(used, kind)
        bandwidth *= shares[0] / bandwidth.sum(axis=0)
        np.maximum(bandwidth, _of(low, kind), out=bandwidth)
        return np.minimum(bandwidth, _of(high, kind), out=bandwidth)


def _of(table: FloatArray, place: IntArray) -> FloatArray:
    """Return the numbers at places of a table; the places must exist."""
    # Without a check of every place numpy takes half as long.
    return table.take(place, mode="clip")


def _run(
    genes: FloatArray, shares: FloatArray, npus: FloatArray, kind: IntArray, traffic: FloatArray,
    technology: FloatArray, block: FloatArray, price: FloatArray, box: FloatArray, rows: FloatArray,
    figures: FloatArray,
) -> None:  # fmt: skip
    """Do the same design by design.

    Shares are the exponentials of the level and of the shares of the dimensions; the other parameters are those of
    `FusedLoop`.
    """
    low, high, used = box[0], box[1], box[2]
    depth, channels = len(npus), len(traffic)
    bandwidth = np.empty(depth)
    for n in range(genes.shape[1]):
        structure = int(genes[0, n])
        total = 0.0
        for d in range(depth):
            bandwidth[d] = shares[d + 1, n] * used[kind[d, structure]]
            total += bandwidth[d]
        level = shares[0, n] / total
        usd = 0.0
        for d in range(depth):
            k, choice = kind[d, structure], int(genes[d + 1, n])
            bandwidth[d] = min(max(bandwidth[d] * level, low[k]), high[k])
            usd += price[k, choice] * bandwidth[d]
            if len(rows):
                rows[d, n], rows[depth + d, n], rows[2 * depth + d, n] = npus[d, structure], block[k, choice], technology[k]
                rows[3 * depth + d, n] = bandwidth[d]
        if len(figures):
            figures[channels, n] = usd
            for c in range(channels):
                slowest = 0.0
                for d in range(depth):
                    slowest = max(slowest, traffic[c, d, structure] / max(bandwidth[d], NO_BANDWIDTH))
                figures[c, n] = slowest
