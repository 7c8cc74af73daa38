"""Genes of the open choices of how collectives run: chunks, scheduler, and algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.problem.protocol import Gene
from evo_libra.problem.sections.section import Draft, Rules, Section, Segment

if TYPE_CHECKING:
    from evo_libra.timing.fidelity import Fidelity


@dataclass(frozen=True)
class CollectiveSection(Section):
    """One gene for each open choice: chunks, scheduler, the algorithm of each dimension."""

    fidelity: Fidelity
    segment: ClassVar = Segment.COLLECTIVES

    @staticmethod
    def of(rules: Rules) -> CollectiveSection | None:
        """Return the section of a problem; None under LIBRA's time."""
        return None if rules.time.fidelity is None else CollectiveSection(rules, rules.time.fidelity)

    def genes(self) -> Sequence[Gene]:
        names = self.fidelity.genes(len(self.rules.choices))
        return [Gene(name, 0.0, float(highest), ordered=name == "chunks") for name, highest in names]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        return replace(draft, schedule=self.fidelity.schedule(genes.astype(np.int64), draft.networks.block))

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        return replace(draft, schedule=designs.schedule)

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        assert draft.schedule is not None, "this time makes one"  # noqa: S101 - our mistake
        return self.fidelity.genes_of(draft.schedule, draft.networks.block)

    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:
        # The choices of unused dimensions do not matter.
        needed = np.ones(genes.shape, dtype=np.bool_)
        if self.fidelity.algorithms.shape[1] > 1:
            needed[-len(designs.npus) :] = designs.npus > 1
        return np.asarray(((genes >= 0) | ~needed).all(axis=0))
