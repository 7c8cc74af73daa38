"""The sections of a genome, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, Population
from evo_libra.problem.protocol import Genome, genome_of
from evo_libra.problem.sections.bandwidth import BandwidthSection
from evo_libra.problem.sections.collectives import CollectiveSection
from evo_libra.problem.sections.section import Draft, Rules, Section
from evo_libra.problem.sections.topology import BlockSection, StructureSection

SECTIONS: tuple[Callable[[Rules], Section | None], ...] = (
    StructureSection.of, BlockSection.of, CollectiveSection.of, BandwidthSection.of,
)  # fmt: skip
"""Each returns its section of a problem, or None where the problem has no such section."""


@dataclass(frozen=True)
class Sections:
    """The sections of a problem's genome.

    Attributes
    ----------
    sections : in the order of their genes.
    genome : the genes of all of them.
    """

    sections: tuple[Section, ...]
    genome: Genome

    @staticmethod
    def of(rules: Rules) -> Sections:
        """Return the sections of a problem."""
        sections = tuple(section for make in SECTIONS if (section := make(rules)) is not None)
        return Sections(sections, genome_of([(section.segment, section.genes()) for section in sections]))

    def decode(self, genes: FloatArray) -> Draft:
        """Return the designs of (g, n) legal genes."""
        draft, start = Draft(), 0
        for section, count in zip(self.sections, self._counts, strict=True):
            draft = section.decode(genes[start : start + count], draft)
            start += count
        return draft

    def encode(self, draft: Draft) -> FloatArray:
        """Return the (g, n) legal genes of decisions."""
        return self.genome.repair(np.vstack([section.encode(draft) for section in self.sections]).astype(np.float64))

    def recognise(self, designs: Population) -> tuple[FloatArray, BoolArray]:
        """Return the (g, n) legal genes of designs, and (n,) whether the designs are in the space."""
        draft, covered = Draft(), np.ones(len(designs), dtype=np.bool_)
        for section in self.sections:
            draft = section.recognise(designs, draft)
            covered &= section.covers(section.encode(draft), designs)
        return self.encode(draft), covered

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return tuple(len(section.genes()) for section in self.sections)
