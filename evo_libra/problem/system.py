"""The system around a network: what is bought beside network and accelerators, as rows of one bill.

Costs, power and scenarios of prices all read these rows; see `evo_libra.front.system_bill` for the bill as it is shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.network.blocks import Range


@dataclass(frozen=True)
class SystemRow(ABC):
    """Something that is bought for a whole system.

    Attributes
    ----------
    name, unit : what it is, and what a piece of it is.
    price : USD of a piece; None where no source gives it.
    watts : W of a piece under load; None where no source gives it.
    key : the key of the problem file that has its figures.
    source : where they come from.
    """

    name: str
    unit: str
    price: Range | None
    watts: float | None
    key: str
    source: str

    @abstractmethod
    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) how many pieces designs take, those for spare NPUs included."""


@dataclass(frozen=True)
class Hosts(SystemRow):
    """The nodes around the NPUs: as many as hold all of them, `npus` each."""

    npus: int

    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) the hosts of all NPUs; the last one may be filled in part."""
        return np.ceil(bought_npus(designs) / self.npus)


@dataclass(frozen=True)
class Fixed(SystemRow):
    """As many pieces whatever the design."""

    count: float

    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) the count."""
        return np.full(len(designs), self.count)


def bought_npus(designs: Population) -> FloatArray:
    """Return (n,) NPUs with the spare ones."""
    npus = designs.npus.prod(axis=0)
    return np.asarray(npus if designs.spares is None else npus + designs.spares, dtype=np.float64)


@dataclass(frozen=True)
class SystemBill:
    """The rows of what is bought beside network and accelerators."""

    rows: tuple[SystemRow, ...]

    def lacking(self, figure: str) -> list[SystemRow]:
        """Return the rows without a figure, which is ``price`` or ``watts``."""
        return [row for row in self.rows if getattr(row, figure) is None]

    def pieces(self, designs: Population) -> FloatArray:
        """Return (row, n) how many pieces designs take."""
        return np.array([row.pieces(designs) for row in self.rows]).reshape(len(self.rows), len(designs))

    def totals(self, pieces: FloatArray) -> tuple[FloatArray | None, FloatArray | None]:
        """Return (n,) USD at the middle of price ranges and (n,) W of (row, n) pieces; None where a figure lacks."""
        prices = [None if row.price is None else row.price.value for row in self.rows]
        return _total(prices, pieces), _total([row.watts for row in self.rows], pieces)


def _total(figures: Sequence[float | None], pieces: FloatArray) -> FloatArray | None:
    known = [figure for figure in figures if figure is not None]
    if len(known) < len(figures):
        return None
    # A matrix product of BLAS rounds a design by its place among the others; this sum is the same for each design.
    return np.asarray(np.einsum("r,rn->n", np.array(known, dtype=np.float64), pieces))
