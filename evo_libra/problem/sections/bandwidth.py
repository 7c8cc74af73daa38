"""Genes of the bandwidths: a level and its split over the dimensions, or the budget that bandwidths are solved for.

The bandwidth of a dimension is level times share over the sum of all shares. Splitting level from shares lets crossover
pass on a good split at any cost: under LIBRA's time the best split does not depend on the budget.
"""

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

_OVERSHOOT = 100.0
"""How far the level reaches beyond what any design can use: with an uneven split, only a level far above the sum of the
caps reaches the corner where every dimension is at its cap."""


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
        low = min(float(choice.low[choice.high > 0].min()) for choice in choices)
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
