"""Genes of the topology: sizes and technologies of the dimensions, and their blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.problem.protocol import Gene
from evo_libra.problem.sections.section import Draft, Section, Segment
from evo_libra.problem.space import padded


class StructureSection(Section):
    """One gene: the index of the structure, the sizes and technologies of the dimensions."""

    segment: ClassVar = Segment.TOPOLOGY

    def genes(self) -> Sequence[Gene]:
        # Structures with neighbouring numbers differ in their last dimensions only.
        return [Gene("structure", 0.0, len(self.rules.pricing.space) - 1.0, ordered=True)]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        return draft.decided(structure=genes[0].astype(np.int64))

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        found = self.rules.pricing.space.find(designs.npus, padded(designs.npus, designs.technology))
        return replace(draft, structure=found)

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        return draft.structure[None]

    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:  # noqa: ARG002 - others need them
        return np.asarray(genes[0] >= 0)


class BlockSection(Section):
    """One gene per dimension: the place of its block among those that can be built in its technology."""

    segment: ClassVar = Segment.TOPOLOGY

    def genes(self) -> Sequence[Gene]:
        counts = (max(len(blocks) for blocks in choice.blocks) - 1 for choice in self.rules.choices)
        return [Gene(f"block{d}", 0.0, float(highest)) for d, highest in enumerate(counts)]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        block = genes.astype(np.int64)
        return draft.decided(block=block, topologies=self.rules.pricing.topologies(draft.structure, block))

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        technology = padded(designs.npus, designs.technology)
        choices = self.rules.pricing.blocks[np.arange(len(technology))[:, None], technology]
        same = choices == designs.block[..., None]
        block = np.where(same.any(axis=2), same.argmax(axis=2), -1)
        return replace(draft, block=block, topologies=self.rules.pricing.built(designs))

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        return draft.block

    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:
        return np.asarray(((genes >= 0) | (designs.npus <= 1)).all(axis=0))
