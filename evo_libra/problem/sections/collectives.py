"""Genes of the open choices of how collectives run: chunks, scheduler, and algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.problem.protocol import Gene
from evo_libra.problem.sections.section import Draft, Rules, Section, Segment


class CollectiveSection(Section):
    """One gene for each open choice: chunks, scheduler, the algorithm of each dimension."""

    segment: ClassVar = Segment.COLLECTIVES

    @staticmethod
    def of(rules: Rules) -> CollectiveSection | None:
        """Return the section of a problem; None where designs have no schedules."""
        return CollectiveSection(rules) if rules.time.schedules.scheduled else None

    def genes(self) -> Sequence[Gene]:
        names = self.rules.time.schedules.genes(len(self.rules.choices))
        return [Gene(name, 0.0, float(highest), ordered=name == "chunks") for name, highest in names]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        schedule = self.rules.time.schedules.schedule(genes.astype(np.int64), draft.networks.block)
        return draft.decided(schedule=schedule)

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        return replace(draft, schedule=designs.schedule)

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        return self.rules.time.schedules.genes_of(draft.schedule, draft.networks.block)

    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:
        return self.rules.time.schedules.covers(genes, designs.npus)
