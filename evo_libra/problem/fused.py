"""Genes to objectives in one compiled loop, for problems of LIBRA's time and prices per bandwidth.

The loop does for each design what the sections, the pricing and the time model do for a population, operation by
operation in the same order, so that both results are equal to the last bit. Exponentials stay with NumPy, as those of
compilers round differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, compile_function, no_plans
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
    """The compiled loop of a problem whose genes are a structure, blocks, a level and shares, with nothing to repair.

    Attributes
    ----------
    objectives : of the problem, time and cost at most.
    time : its time model.
    whole, traffic : (2, d, s) sizes and technologies of the structures, and their (c, d, s) traffic.
    blocks : (d, t, choice) the block that each gene stands for.
    prices : (block, t) USD per B/s of the whole network.
    box : (2, d, t) the smallest and the largest B/s.
    decoded : designs that were asked for so far; only the way to compute them depends on it.
    """

    objectives: Sequence[Objective]
    time: LibraTime
    whole: IntArray
    traffic: FloatArray
    blocks: IntArray
    prices: FloatArray
    box: FloatArray
    decoded: int = 0

    @staticmethod
    def of(sections: Sections, objectives: Sequence[Objective]) -> FusedLoop | None:
        """Return the loop of a problem; None where the problem is of another kind."""
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
        whole, box = np.array([table.npus, table.technology]), np.array([pricing.low, pricing.high])
        prices = pricing.prices * float(pricing.npus)
        return FusedLoop(objectives, time, whole, np.ascontiguousarray(traffic), pricing.blocks, prices, box)

    def ready(self, count: int) -> bool:
        """Return whether the loop is to run for so many designs: enough were asked for, and numba is installed."""
        self.decoded += count
        # NumPy adds the shares of eight and more dimensions of a single design in another order.
        return self.decoded > WORTH_COMPILING and count > 1 and compile_function(_run) is not None

    def rows(self, genes: FloatArray) -> FloatArray:
        """Return what `Population.rows` does for the designs of (g, n) genes."""
        rows = np.empty((4 * self.whole.shape[1], genes.shape[1]))
        self._fill(genes, rows, np.empty((0, genes.shape[1])))
        return rows

    def evaluate(self, genes: FloatArray) -> Evaluation:
        """Return the objectives of (g, n) genes; nothing is violated, as bandwidths are moved into their box."""
        count = genes.shape[1]
        figures = np.empty((len(self.traffic) + 1, count))
        self._fill(genes, np.empty((0, count)), figures)
        times = self.time.times_of(dict(zip(self.time.channels, figures, strict=False)), no_plans(count))
        known = {TIME: self.time.weighted(times.workloads), COST: figures[-1]}
        return Evaluation(np.array([known[objective] for objective in self.objectives]), np.zeros(count))

    def _fill(self, genes: FloatArray, rows: FloatArray, figures: FloatArray) -> None:
        run = compile_function(_run)
        assert run is not None, "the loop is ready"  # noqa: S101 - our mistake
        # Other orders of memory would be compiled again.
        genes = np.ascontiguousarray(genes)
        shares = np.exp(genes[self.whole.shape[1] + 1 :])
        run(genes, shares, self.whole, self.traffic, self.blocks, self.prices, self.box, rows, figures)


def _run(
    genes: FloatArray, shares: FloatArray, whole: IntArray, traffic: FloatArray, blocks: IntArray, prices: FloatArray,
    box: FloatArray, rows: FloatArray, figures: FloatArray,
) -> None:  # fmt: skip
    """Fill in the rows of designs, or (c + 1, n) seconds per unit of each channel and USD; what has no length is left.

    Shares are the exponentials of the level and of the shares of the dimensions; the other parameters are those of
    `FusedLoop`.
    """
    npus, technology, low, high = whole[0], whole[1], box[0], box[1]
    depth, channels = len(npus), len(traffic)
    bandwidth = np.empty(depth)
    for n in range(genes.shape[1]):
        structure = int(genes[0, n])
        total = 0.0
        for d in range(depth):
            bandwidth[d] = shares[d + 1, n] if npus[d, structure] > 1 else 0.0
            total += bandwidth[d]
        level = shares[0, n] / total
        usd = 0.0
        for d in range(depth):
            kind = technology[d, structure]
            block = blocks[d, kind, int(genes[d + 1, n])]
            if npus[d, structure] > 1:
                bandwidth[d] = min(max(bandwidth[d] * level, low[d, kind]), high[d, kind])
                usd += prices[block, kind] * bandwidth[d]
            if len(rows):
                rows[d, n], rows[depth + d, n], rows[2 * depth + d, n] = npus[d, structure], block, kind
                rows[3 * depth + d, n] = bandwidth[d]
        if len(figures):
            figures[channels, n] = usd
            for c in range(channels):
                slowest = 0.0
                for d in range(depth):
                    slowest = max(slowest, traffic[c, d, structure] / max(bandwidth[d], NO_BANDWIDTH))
                figures[c, n] = slowest
