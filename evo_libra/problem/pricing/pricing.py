"""The interface of a pricing: which dimensions can be built, with which bandwidths, at which prices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.errors import ConflictError
from evo_libra.network.blocks import Kit
from evo_libra.problem.constraints import TOLERANCE, Constraint
from evo_libra.problem.objectives import cuts
from evo_libra.problem.space import Space, Structures

SLACK = 1e-9
"""Of a limit, by which rounding may miss it."""

Rows = Sequence[tuple[Constraint, FloatArray]]
"""Constraints that are linear in the bandwidths, each with its (d, n) coefficients."""


@dataclass(frozen=True)
class DimensionChoice:
    """The open choices of one dimension.

    Attributes
    ----------
    blocks : for each technology, the indices of the blocks that can be built.
    low, high : (t,) bandwidth per NPU in B/s for each technology.
    """

    blocks: tuple[tuple[int, ...], ...]
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Topologies(ABC):
    """Networks without their bandwidths, design axis last.

    Attributes
    ----------
    structure : (n,) index into the combinations of the space; -1 where it does not matter.
    npus, technology, block : (d, n).
    price : (d, n) USD per B/s of the whole network, of parts in any fraction; 0 in unused dimensions.
    low, high : (d, n) the box of the bandwidths in B/s; both 0 in unused dimensions.
    used : (d, n) 1 where a dimension is in use.
    plan : (w, n) place of the parallelisation plan of each workload that leaves some open.
    """

    structure: IntArray
    npus: IntArray
    technology: IntArray
    block: IntArray
    price: FloatArray
    low: FloatArray
    high: FloatArray
    used: FloatArray
    plan: IntArray
    repairs_box: ClassVar[bool] = False
    """Whether repaired bandwidths are always within the box."""

    def select(self, designs: IntArray | slice) -> Self:
        """Return some of the designs."""
        return type(self)(**{name: array[..., designs] for name, array in vars(self).items()})

    def times(self, factor: FloatArray) -> Self:
        """Return the same networks at (n,) times their prices and watts."""
        return replace(self, price=self.price * factor)

    @property
    def cuts(self) -> FloatArray:
        """(d, n) the capacity between two halves of the network along each dimension, in bandwidths of an NPU."""
        return cuts(self.npus, self.block)

    @property
    @abstractmethod
    def watts(self) -> FloatArray:
        """(d, n) W per B/s of the whole network, of parts in any fraction; 0 in unused dimensions."""

    @property
    def shared_rows(self) -> Rows | None:
        """Rows that stand for all constraints on ports together; None where these are rows of their own."""
        return None

    @abstractmethod
    def totals(self, bandwidth: FloatArray, *, power: bool) -> tuple[FloatArray, FloatArray]:
        """Return (n,) USD and (n,) W with (d, n) B/s; 0 W unless power is asked for."""

    def excess(self, bandwidth: FloatArray) -> FloatArray:  # noqa: ARG002 - parts need it
        """Return (n,) or (1,) the relative violation of the limits that dimensions share, by (d, n) B/s."""
        return np.zeros(1)

    @abstractmethod
    def repaired(self, bandwidth: FloatArray, rows: Rows) -> FloatArray:
        """Return the (d, n) nearest B/s that can be built and, where possible, meet the constraints."""

    def nearest(self, bandwidth: FloatArray) -> FloatArray:
        """Return the (d, n) nearest B/s that can be built."""
        return bandwidth

    def equal_bandwidths(self, low: float, high: float, *, largest: bool) -> FloatArray:
        """Return (k,) B/s in a range that all dimensions of the first design can have; an end where any will do."""
        return np.array([high if largest else low])


@dataclass(frozen=True)
class Pricing(ABC):
    """Blocks, bandwidths and prices of the dimensions of a space.

    Attributes
    ----------
    space : its combinations.
    npus : of the network.
    low, high : (d, t) B/s of a dimension in each technology.
    blocks : (d, t, choice) the block that each gene stands for.
    """

    space: Space
    npus: int
    low: FloatArray
    high: FloatArray
    blocks: IntArray

    @property
    def kits(self) -> tuple[Kit, ...]:
        """The parts of each technology; empty where there are none."""
        return ()

    @abstractmethod
    def breakdown(self, designs: Population) -> list[dict[str, Any]]:
        """Return what each used dimension of the first design costs, innermost first, with units in the keys."""

    def bill(self, designs: Population) -> list[dict[str, Any]]:  # noqa: ARG002 - parts need it
        """Return the bill of materials of the first design: parts by dimension, with pieces, USD and W.

        The sums over all rows are the design's cost and power. There is no bill without whole parts.
        """
        return []

    def pieces(self, topologies: Topologies, bandwidth: FloatArray, parts: Sequence[str]) -> FloatArray:  # noqa: ARG002 - parts need it
        """Return (part, n) how many pieces of some parts, by their names, networks with (d, n) B/s take."""
        return np.zeros((len(parts), bandwidth.shape[1]))

    @property
    def whole(self) -> bool:
        """Whether bandwidths come in whole ports."""
        return False

    def topologies(self, structure: IntArray, gene: IntArray) -> Topologies:
        """Return the topologies of (n,) combinations and (d, n) block genes."""
        return self.topologies_of(*self.space.look_up(structure), gene, structure)

    @abstractmethod
    def topologies_of(
        self, npus: IntArray, technology: IntArray, gene: IntArray, structure: IntArray | None = None
    ) -> Topologies:
        """Return the topologies of (d, n) sizes, technologies and block genes."""

    @abstractmethod
    def built(self, designs: Population, structure: IntArray | None = None) -> Topologies:
        """Return the topologies of designs, which need not be in the space.

        Their (n,) combinations are -1 where the space has none; figures of all of them are then looked up.
        """

    @abstractmethod
    def cheapest(self, technology: IntArray) -> IntArray:
        """Return (d, n) the gene of the cheapest block of each dimension, from (d, n) technologies."""

    @cached_property
    @abstractmethod
    def min_price(self) -> FloatArray:
        """(d, t) USD per NPU and B/s of the cheapest block of each dimension in each technology, at any size."""

    @property
    @abstractmethod
    def lowest_price(self) -> float:
        """USD per NPU and B/s of the cheapest dimension that costs anything."""

    @abstractmethod
    def max_cost(self) -> float:
        """Return USD that no design exceeds: every dimension as expensive and as wide as it may be.

        Of dimensions that are built of parts, the cost of parts in any fraction.
        """

    @abstractmethod
    def max_prices(self, designs: Topologies) -> FloatArray:
        """Return (d, n) USD per B/s of the most expensive blocks of the dimensions of topologies."""

    @abstractmethod
    def feasible(self, structures: Structures, constraints: Sequence[Constraint]) -> Structures:
        """Return the combinations that can be built and that some bandwidths within the linear constraints serve.

        A `ConflictError` names constraints that conflict, where no combination is left.
        """

    def box(self, technology: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the (d, n) smallest and largest B/s of dimensions in (d, n) technologies."""
        row = np.arange(len(technology))[:, None] * self.low.shape[1] + technology
        return np.take(self.low, row), np.take(self.high, row)

    def outside(self, designs: Population) -> FloatArray:
        """Return (n,) how far bandwidths are outside the box, relative to it; a dimension without any is 1 off."""
        bandwidth = designs.bandwidth
        low, high = self.box(designs.technology)
        inside = (bandwidth >= low * (1.0 - TOLERANCE)) & (bandwidth <= high * (1.0 + TOLERANCE)) & (bandwidth > 0)
        wrong = ~inside & (designs.npus > 1)
        if not wrong.any():
            return np.zeros(len(designs))
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.where(bandwidth > 0, np.maximum(1.0 - bandwidth / low, bandwidth / high - 1.0), 1.0)
        return np.asarray(np.where(wrong, off, 0.0).sum(axis=0))

    def misfits(self, designs: Population) -> tuple[FloatArray, BoolArray]:
        """Return (d, n) the nearest B/s that dimensions can be built with, and whether that is not their bandwidth."""
        return misfits(self.built(designs), designs.bandwidth)


def misfits(built: Topologies, bandwidth: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return what `Pricing.misfits` does, of topologies and their (d, n) B/s."""
    nearest = built.nearest(bandwidth)
    # A dimension that cannot be built has no ports.
    return nearest, (np.abs(nearest - bandwidth) > TOLERANCE * nearest) & (nearest > 0)


def choice_tables(choices: Sequence[DimensionChoice]) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return `low`, `high` and `blocks` of a `Pricing` from the choices of each dimension."""
    choices_each = max(len(blocks) for choice in choices for blocks in choice.blocks)
    blocks = [[np.resize(np.array(blocks or (0,)), choices_each) for blocks in choice.blocks] for choice in choices]
    low, high = np.array([choice.low for choice in choices]), np.array([choice.high for choice in choices])
    return low, high, np.array(blocks, dtype=np.int64)


def conflicting(constraints: Sequence[Constraint]) -> ConflictError:
    """Return the error for constraints that no bandwidths within the allowed range can meet."""
    texts = tuple(dict.fromkeys(constraint.text for constraint in constraints))
    listed = ", ".join(f"'{text}'" for text in texts)
    return ConflictError(f"no bandwidths within the allowed range can meet {listed}", texts)
