"""Genes of what is built: the topology, its bandwidths, and the spare NPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.problem.allocate import allocate
from evo_libra.problem.constraints import linear_rows
from evo_libra.problem.protocol import Gene
from evo_libra.problem.sections.section import Draft, Rules, Section, Segment
from evo_libra.problem.space import padded


class StructureSection(Section):
    """One gene: the index of the combination, the sizes and technologies of the dimensions."""

    segment: ClassVar = Segment.TOPOLOGY

    def genes(self) -> Sequence[Gene]:
        # Combinations with neighbouring numbers differ in their last dimensions only.
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


_OVERSHOOT = 100.0
"""Factor of the level beyond the bandwidth that any design can use: in an uneven split only a level far above
the sum of the caps reaches the corner where every dimension is at its cap."""


def bandwidth_section(rules: Rules) -> Section:
    """Return the section of a problem."""
    return SolvedBandwidths(rules) if rules.optimal else SearchedBandwidths(rules)


class BandwidthSection(Section):
    """A way to choose bandwidths, from which all designs are in the space: bandwidths are moved into it."""

    segment: ClassVar = Segment.BANDWIDTH

    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:  # noqa: ARG002 - others need them
        return np.ones(len(designs), dtype=np.bool_)


class SearchedBandwidths(BandwidthSection):
    """The logarithm of the bandwidth level, and that of each dimension's share of it."""

    def genes(self) -> Sequence[Gene]:
        choices = self.rules.choices
        low = min(float(choice.low[choice.high > 0].min()) for choice in choices if choice.high.any())
        high = max(float(choice.high.max()) for choice in choices)
        spread = -float(np.log(max(high / low, 1.0)))
        level = Gene("level", float(np.log(low)), float(np.log(high * len(choices) * _OVERSHOOT)), whole=False)
        return [level, *(Gene(f"share{d}", spread, 0.0, whole=False) for d in range(len(choices)))]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        networks = draft.networks
        amounts = np.exp(genes)
        level, share = amounts[0], amounts[1:]
        share *= networks.used
        bandwidth = np.multiply(share, level / share.sum(axis=0), out=share)
        rows = linear_rows([constraint for constraint in self.rules.constraints if not constraint.ports], networks)
        return draft.decided(bandwidth=networks.repaired(bandwidth, rows), in_box=networks.repairs_box)

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        return replace(draft, bandwidth=designs.bandwidth)

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        share = draft.bandwidth / draft.bandwidth.max(axis=0)
        with np.errstate(divide="ignore"):
            return np.vstack([np.log(draft.bandwidth.sum(axis=0)), np.log(share)])


class SolvedBandwidths(BandwidthSection):
    """The logarithm of the budget in USD; no gene without budgets, where no cost is traded against time."""

    def genes(self) -> Sequence[Gene]:
        if self.rules.budgets is None:
            return []
        lower, upper = map(float, np.log(self.rules.budgets))
        return [Gene("level", lower, upper, whole=False)]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        budget = np.exp(genes[0]) if len(genes) else None
        return replace(draft, bandwidth=allocate(self.rules.traffic, self.rules.constraints, draft.networks, budget))

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        # The cost of the designs is the budget for bandwidths that are no worse.
        budget = (draft.networks.price * designs.bandwidth).sum(axis=0)
        return replace(draft, bandwidth=designs.bandwidth, budget=budget)

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        return np.empty((0, len(draft.budget))) if self.rules.budgets is None else np.log(draft.budget)[None]


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
        # Designs without a number of spares, such as bounds, have the fewest.
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
