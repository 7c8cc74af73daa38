"""The gene of the spares: one of the numbers of spare NPUs that a problem offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.problem.protocol import Gene
from evo_libra.problem.sections.section import Draft, Rules, Section, Segment


class SparesSection(Section):
    """One ordered gene: the place of the number of spare NPUs among the choices.

    From here on networks cost and draw as much as those of all NPUs, the spare ones included.
    """

    segment: ClassVar = Segment.SPARES

    @staticmethod
    def of(rules: Rules) -> SparesSection | None:
        """Return the section of a problem; None where no design has spares."""
        return SparesSection(rules) if any(rules.spares) else None

    def genes(self) -> Sequence[Gene]:
        return [Gene("spares", 0.0, len(self.rules.spares) - 1.0, ordered=True)]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        return self._with(self._choices[genes[0].astype(np.int64)], draft)

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        none = np.zeros(len(designs), dtype=np.int64)
        return self._with(none if designs.spares is None else designs.spares, draft)

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        # What says nothing of spares, such as a bound, has the fewest.
        spares = np.full(len(draft.structure), self._choices[0]) if draft.spares is None else draft.spares
        same = self._choices[:, None] == spares
        return np.where(same.any(axis=0), same.argmax(axis=0), -1)[None]

    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:  # noqa: ARG002 - others need them
        return np.asarray(genes[0] >= 0)

    def _with(self, spares: IntArray, draft: Draft) -> Draft:
        networks = draft.networks.times(1.0 + spares / self.rules.pricing.npus)
        return replace(draft, spares=spares, topologies=networks)

    @property
    def _choices(self) -> IntArray:
        return np.array(self.rules.spares, dtype=np.int64)
