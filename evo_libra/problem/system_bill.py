"""The bill of everything besides network and accelerators, which is empty in most problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray, Population

if TYPE_CHECKING:
    from evo_libra.problem.system import SystemRow


@dataclass(frozen=True)
class SystemBill:
    """The rows of everything besides network and accelerators."""

    rows: tuple[SystemRow, ...]

    def pinned(self, plan: Sequence[int]) -> SystemBill:
        """Return the bill where each workload that leaves plans open has one of them."""
        return SystemBill(tuple(row.pinned(plan) for row in self.rows))

    def lacking(self, figure: str) -> list[SystemRow]:
        """Return the rows without a figure, which is ``price`` or ``watts``."""
        return [row for row in self.rows if getattr(row, figure) is None]

    def pieces(self, designs: Population) -> FloatArray:
        """Return (row, n) how many pieces designs take."""
        return np.array([row.pieces(designs) for row in self.rows]).reshape(len(self.rows), len(designs))

    def totals(self, pieces: FloatArray) -> tuple[FloatArray | None, FloatArray | None]:
        """Return (n,) USD at the middle of price ranges and (n,) W of (row, n) pieces.

        A figure is None where nothing is bought, or that of a row is not known.
        """
        if not self.rows:
            return None, None
        prices = [None if row.price is None else row.price.value for row in self.rows]
        return _total(prices, pieces), _total([row.watts for row in self.rows], pieces)


NOTHING_AROUND = SystemBill(())
"""The bill of a problem without anything besides network and accelerators."""


def _total(figures: Sequence[float | None], pieces: FloatArray) -> FloatArray | None:
    known = [figure for figure in figures if figure is not None]
    if len(known) < len(figures):
        return None
    # A matrix product of BLAS rounds a design by its place among the others; this sum is the same for each design.
    return np.asarray(np.einsum("r,rn->n", np.array(known, dtype=np.float64), pieces))
