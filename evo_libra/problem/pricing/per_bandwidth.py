"""Prices per bandwidth: LIBRA's cost model, in which an NPU pays for each B/s of a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population
from evo_libra.network.catalog.technologies import network_cost
from evo_libra.problem.constraints import Constraint, project
from evo_libra.problem.feasibility import solvable_structures
from evo_libra.problem.pricing.pricing import Pricing, Rows, Topologies
from evo_libra.problem.space import Structures


@dataclass(frozen=True)
class PricedTopologies(Topologies):
    """Networks with prices per bandwidth; their power is not known."""

    repairs_box: ClassVar[bool] = True

    @property
    def watts(self) -> FloatArray:
        """(d, n) zeros."""
        return np.zeros(self.price.shape)

    def totals(self, bandwidth: FloatArray, *, power: bool) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002 - parts need it
        """Return (n,) USD, and zeros."""
        return network_cost(1, self.price, bandwidth), np.zeros(bandwidth.shape[1])

    def repaired(self, bandwidth: FloatArray, rows: Rows) -> FloatArray:
        """Return the (d, n) bandwidths moved into the box and onto the constraints."""
        return project(bandwidth, self.low, self.high, rows)


@dataclass(frozen=True)
class PerBandwidth(Pricing):
    """Prices per bandwidth.

    Attributes
    ----------
    prices : (block, technology) USD per NPU and B/s.
    """

    prices: FloatArray

    def topologies_of(
        self, npus: IntArray, technology: IntArray, gene: IntArray, structure: IntArray | None = None
    ) -> Topologies:
        """Return the topologies of (d, n) sizes, technologies and block genes."""
        depth, kinds, choices_each = self.blocks.shape
        used = (npus > 1).astype(np.float64)
        row = np.arange(depth)[:, None] * kinds + technology
        low, high = np.take(self.low, row), np.take(self.high, row)
        if not used.all():
            low *= used
            high = np.where(used > 0, high, 0.0)
        block = np.take(self.blocks, row * choices_each + gene)
        price = np.take(self.prices, block * kinds + technology) * (used * self.npus)
        index = np.full(npus.shape[1], -1) if structure is None else structure
        return PricedTopologies(index, npus, technology, block, price, low, high, used)

    def built(self, designs: Population) -> Topologies:
        """Return the topologies of designs."""
        used = designs.npus > 1
        price = self.prices[designs.block, designs.technology] * used * self.npus
        low, high = (np.where(used, bound, 0.0) for bound in self.box(designs.technology))
        index, numbers = np.full(len(designs), -1), used.astype(np.float64)
        return PricedTopologies(index, designs.npus, designs.technology, designs.block, price, low, high, numbers)

    def cheapest(self, technology: IntArray) -> IntArray:
        """Return (d, n) the gene of the cheapest block of each dimension, from (d, n) technologies."""
        gene = self._block_prices.argmin(axis=2)
        return np.asarray(gene[np.arange(len(technology))[:, None], technology])

    @cached_property
    def min_price(self) -> FloatArray:
        """(d, t) USD per NPU and B/s of the cheapest block of each dimension in each technology."""
        return np.asarray(self._block_prices.min(axis=2))

    @cached_property
    def _block_prices(self) -> FloatArray:
        return np.asarray(self.prices[self.blocks, np.arange(self.blocks.shape[1])[:, None]])

    @property
    def lowest_price(self) -> float:
        """USD per NPU and B/s of the cheapest block that costs anything."""
        return float(self.prices[(self.prices > 0) & np.isfinite(self.prices)].min())

    def max_cost(self) -> float:
        """Return USD that no design exceeds: every dimension as expensive and as wide as it may be."""
        return float((self.prices.max(axis=0) * self.high).max(axis=1).sum()) * self.npus

    def max_prices(self, designs: Topologies) -> FloatArray:
        """Return (d, n) USD per B/s of the most expensive blocks of the dimensions of topologies."""
        return np.asarray(np.take(self.prices.max(axis=0), designs.technology) * designs.used * self.npus)

    def feasible(self, structures: Structures, constraints: Sequence[Constraint]) -> Structures:
        """Return the structures that some bandwidths within the box and the linear constraints serve."""
        return solvable_structures(structures, self.low, self.high, self.min_price * self.npus, constraints)
