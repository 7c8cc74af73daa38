"""Fused evaluation, from genes to objectives in one go, for problems of LIBRA's time and prices per bandwidth.

It does for each design what the sections, the pricing and the time model do for a population, operation by operation in
the same order, so that both results are equal to the last bit. It looks up only what such problems need. After millions
of designs it is one compiled loop, where numba is installed. Exponentials stay with NumPy there, too, as those of
compilers round differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray, columns, compile_function, no_plans
from evo_libra.problem.pricing.per_bandwidth import PerBandwidth
from evo_libra.problem.protocol import COST, TIME, Evaluation, Objective
from evo_libra.problem.sections.network import BlockSection, SearchedBandwidths, StructureSection
from evo_libra.problem.sections.section import Sections
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.time_model import NO_BANDWIDTH

WORTH_COMPILING = 10_000_000
"""Designs that a problem evaluates in a process before its loop is loaded.

Loading costs half a second. That is what the loop saves of a million designs in populations of 100, of seven million in
populations of 650, and of 17 million in those of 5,000 that long searches have.
"""


@dataclass
class FusedEvaluation:
    """The fused evaluation of a problem with genes of a combination, blocks, a level and shares, and nothing to repair.

    The kind of a dimension is its place and its technology, or that it is not in use. Numbers that become rows are
    floats.

    Attributes
    ----------
    time : the time model of the problem.
    timed : of each of its objectives, whether it is time; else it is cost.
    npus, kind, traffic : (d, s) sizes and kinds of the dimensions of the combinations, and their (c, d, s) traffic.
    technology, block, price : of each kind (k,), and of each of its choices of a block (k, choice) the block and the
        USD per B/s of the whole network; 0 where the dimension is not in use.
    box : (3, k) the smallest and the largest B/s, and 1 where the dimension is in use.
    evaluated : designs so far; only the way to compute them depends on it.
    """

    time: LibraTime
    timed: tuple[bool, ...]
    npus: FloatArray
    kind: IntArray
    traffic: FloatArray
    technology: FloatArray
    block: FloatArray
    price: FloatArray
    box: FloatArray
    evaluated: int = 0

    @staticmethod
    def of(sections: Sections, objectives: Sequence[Objective]) -> FusedEvaluation | None:
        """Return the fused evaluation of a problem; None where the problem is of another kind."""
        *others, last = sections.sections
        rules = last.rules
        pricing, time, table = rules.pricing, rules.time, rules.pricing.space.table
        plain = [type(section) for section in others] == [StructureSection, BlockSection] and not rules.constraints
        if not plain or not isinstance(last, SearchedBandwidths) or not set(objectives) <= {TIME, COST}:
            return None
        if (
            not isinstance(pricing, PerBandwidth)
            or not isinstance(time, LibraTime)
            or table is None
            or time.of_software.any()
        ):
            return None
        traffic = rules.traffic.listed
        if traffic is None:
            return None
        timed = tuple(objective == TIME for objective in objectives)
        depth, kinds, choices = pricing.blocks.shape
        kind = np.arange(depth)[:, None] * kinds + table.technology + (table.npus <= 1) * (depth * kinds)
        used = np.repeat([1.0, 0.0], depth * kinds)
        technology, block = np.resize(np.arange(kinds), len(used)), np.resize(pricing.blocks, (len(used), choices))
        price = pricing.prices[block, technology[:, None]] * (used[:, None] * pricing.npus)
        box = np.array([np.where(used > 0, np.resize(bound, used.shape), 0.0) for bound in (pricing.low, pricing.high)])
        return FusedEvaluation(
            time=time, timed=timed, npus=table.npus.astype(np.float64), kind=kind,
            traffic=np.ascontiguousarray(traffic), technology=technology.astype(np.float64),
            block=block.astype(np.float64), price=price, box=np.concatenate([box, used[None]]),
        )  # fmt: skip

    def compiled(self, count: int) -> Callable[..., None] | None:
        """Return the compiled loop for a number of designs; None for too few designs so far, or without numba."""
        self.evaluated += count
        # NumPy adds the shares of eight and more dimensions of a tile of one design in another order.
        return compile_function(_run) if self.evaluated > WORTH_COMPILING and count % TILE != 1 else None

    def rows(self, genes: FloatArray) -> FloatArray:
        """Return what `Population.rows` does for the designs of (g, n) genes."""
        structure, kind, choice, bandwidth = self._decoded(genes)
        block = columns(self.block.ravel(), choice)
        return np.concatenate([columns(self.npus, structure), block, columns(self.technology, kind), bandwidth])

    def evaluate(self, genes: FloatArray) -> Evaluation:
        """Return the objectives of (g, n) genes; nothing is violated, as bandwidths are moved into their box."""
        count = genes.shape[1]
        figures = np.empty((len(self.traffic) + 1, count))
        run = self.compiled(count)
        if run is not None:
            # Other orders of memory would be compiled again.
            genes = np.ascontiguousarray(genes)
            shares = np.exp(genes[len(self.npus) + 1 :])
            run(genes, shares, self.kind, self.traffic, self.price, self.box, figures)
        else:
            for start in range(0, count, TILE):
                tile = slice(start, start + TILE)
                self._fill(genes[:, tile], figures[:, tile])
        times = self.time.times_of(list(figures[:-1]), no_plans(count))
        seconds = self.time.weighted(times.workloads)
        return Evaluation(np.array([seconds if timed else figures[-1] for timed in self.timed]), np.zeros(count))

    def _fill(self, genes: FloatArray, figures: FloatArray) -> None:
        """Fill in (c + 1, n) seconds per unit of each channel and USD."""
        structure, _, choice, bandwidth = self._decoded(genes)
        usd = columns(self.price.ravel(), choice)
        usd *= bandwidth
        usd.sum(axis=0, out=figures[-1])
        seconds = columns(self.traffic, structure)
        seconds /= np.maximum(bandwidth, NO_BANDWIDTH, out=bandwidth)
        seconds.max(axis=1, out=figures[:-1])

    def _decoded(self, genes: FloatArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """Return (n,) combinations, (d, n) kinds, the places of their blocks among all choices, and B/s."""
        # In the order of samples, genes of a design side by side, all that follows takes twice as long.
        genes, depth = np.ascontiguousarray(genes), len(self.npus)
        structure = genes[0].astype(np.int64)
        kind = columns(self.kind, structure)
        choice = kind * self.block.shape[1]
        choice += genes[1 : depth + 1].astype(np.int64)
        return structure, kind, choice, self._bandwidth(np.exp(genes[depth + 1 :]), kind)

    def _bandwidth(self, shares: FloatArray, kind: IntArray) -> FloatArray:
        """Return (d, n) B/s from the exponentials of the level and of the shares of the dimensions."""
        low, high, used = self.box
        bandwidth = shares[1:]
        bandwidth *= columns(used, kind)
        bandwidth *= shares[0] / bandwidth.sum(axis=0)
        np.maximum(bandwidth, columns(low, kind), out=bandwidth)
        np.minimum(bandwidth, columns(high, kind), out=bandwidth)
        return bandwidth


def _run(
    genes: FloatArray, shares: FloatArray, kind: IntArray, traffic: FloatArray, price: FloatArray, box: FloatArray,
    figures: FloatArray,
) -> None:  # fmt: skip
    """Do what `FusedEvaluation._fill` does, design by design.

    Shares are the exponentials of the level and of the shares of the dimensions; the other parameters are those of
    `FusedEvaluation`.
    """
    low, high, used = box[0], box[1], box[2]
    depth, channels = len(kind), len(traffic)
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
            k = kind[d, structure]
            bandwidth[d] = min(max(bandwidth[d] * level, low[k]), high[k])
            usd += price[k, int(genes[d + 1, n])] * bandwidth[d]
            bandwidth[d] = max(bandwidth[d], NO_BANDWIDTH)
        figures[channels, n] = usd
        for c in range(channels):
            slowest = 0.0
            for d in range(depth):
                slowest = max(slowest, traffic[c, d, structure] / bandwidth[d])
            figures[c, n] = slowest
