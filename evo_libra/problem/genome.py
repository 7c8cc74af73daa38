"""Genes and designs: a fixed-length array that always decodes to a design with the right number of NPUs.

Genes of a design, in order: the index of its structure (sizes and technologies of the dimensions), the choice of block
of each dimension, the logarithm of the bandwidth level, and the logarithm of each dimension's share of it. The
bandwidth of a dimension is level times share over the shares' sum. Splitting level from shares lets crossover pass on
a good split whatever it costs: under LIBRA's time the best split does not depend on the budget.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.model.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Genome:
    """Bounds and kinds of the genes.

    Attributes
    ----------
    names : of the genes.
    lower, upper : (g,) bounds, inclusive.
    categorical : (g,) genes that are whole numbers without a distance between them.
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    categorical: BoolArray

    def __len__(self) -> int:
        return len(self.names)

    def sample(self, random: np.random.Generator, count: int) -> FloatArray:
        """Return (g, count) random legal genes, uniform within the bounds."""
        values = random.random((count, len(self))).T
        lower, upper = self.lower[:, None], self.upper[:, None]
        whole = np.floor(values * (upper - lower + 1)) + lower
        return self.repair(np.where(self.categorical[:, None], whole, lower + values * (upper - lower)))

    def repair(self, genes: FloatArray) -> FloatArray:
        """Return (g, n) legal genes: whole numbers where they must be, all within the bounds."""
        whole = np.where(self.categorical[:, None], np.rint(genes), genes)
        return np.clip(whole, self.lower[:, None], self.upper[:, None])
