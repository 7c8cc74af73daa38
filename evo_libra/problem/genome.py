"""Genes and designs: a fixed-length array that always decodes to a design with the right number of NPUs.

Genes of a design, in order: the index of its structure (sizes and technologies of the dimensions), the choice of block
of each dimension, how collectives run where the problem leaves that open (chunks, scheduler, the algorithm of each
dimension: each the place in its list of choices), and, where bandwidths are genes, the logarithm of the bandwidth level
and that of each dimension's share of it. The bandwidth of a dimension is level times share over the shares' sum.
Splitting level from shares lets crossover pass on a good split whatever it costs: under LIBRA's time the best split
does not depend on the budget.
Where bandwidths are solved for, the level is the logarithm of the budget in USD and there are no shares; with no cost
to trade against, there is no level either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray

_STRUCTURE, _SCHEDULE, _BANDWIDTH = range(3)


@dataclass(frozen=True)
class Genome:
    """Bounds and kinds of the genes.

    Attributes
    ----------
    names : of the genes.
    lower, upper : (g,) bounds, inclusive.
    categorical : (g,) genes that are whole numbers, without a distance between them unless they are `ordered`.
    ordered : (g,) those of the categorical genes whose near numbers stand for like things, so that steps between them
        mean something; empty for none.
    segments : (g,) number of the part that each gene belongs to, which crossover may pass on as a whole; empty for one.
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    categorical: BoolArray
    segments: tuple[int, ...] = ()
    ordered: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def free(self) -> tuple[IntArray, IntArray, IntArray]:
        """Categories, ordered whole numbers and real genes, of those that have more than one value."""
        ranging = self.upper > self.lower
        ordered = np.array(self.ordered or [False] * len(self))
        kinds = (self.categorical & ~ordered, self.categorical & ordered, ~self.categorical)
        first, second, third = (np.flatnonzero(ranging & kind) for kind in kinds)
        return first, second, third

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


def genome_of(
    structures: int,
    most_block: Sequence[int],
    level: tuple[float, float] | None,
    spread: float | None,
    schedule: Sequence[tuple[str, int]] = (),
) -> Genome:
    """Return the genome of a space.

    Parameters
    ----------
    structures : number of structures.
    most_block : (d,) highest block gene of each dimension.
    level : least and largest level, in its unit; None for no such gene.
    spread : largest ratio of two shares; None for no such genes.
    schedule : name and highest value of the genes that say how collectives run.
    """
    names = ["structure", *(f"block{d}" for d in range(len(most_block))), *(name for name, _ in schedule)]
    lower = [0.0] * len(names)
    upper = [structures - 1.0, *map(float, most_block), *(float(most) for _, most in schedule)]
    whole = len(names)
    segments = [_STRUCTURE] * (1 + len(most_block)) + [_SCHEDULE] * len(schedule)
    if level is not None:
        names, lower, upper = [*names, "level"], [*lower, np.log(level[0])], [*upper, np.log(level[1])]
    if spread is not None:
        names += [f"share{d}" for d in range(len(most_block))]
        lower, upper = lower + [-np.log(spread)] * len(most_block), upper + [0.0] * len(most_block)
    segments += [_BANDWIDTH] * (len(names) - whole)
    # Structures with neighbouring numbers differ in their last dimensions only.
    ordered = tuple(name in ("structure", "chunks") for name in names)
    categorical = np.arange(len(names)) < whole
    return Genome(tuple(names), np.array(lower), np.array(upper), categorical, tuple(segments), ordered)
