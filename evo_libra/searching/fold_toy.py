"""A problem that takes a moment to evaluate, to try engines on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.problem.genome import Genome
from evo_libra.problem.protocol import Evaluation, Objective, SearchSettings

POPULATION = 20
"""Designs per generation that suit the problem."""

_SETTINGS = SearchSettings(evaluations=1000, population=POPULATION)


@dataclass(frozen=True)
class Toy:
    """A problem with a whole gene and real ones, a moment to evaluate.

    Attributes
    ----------
    count : objectives, 1 to 3.
    kinds : values of the whole gene; 0 is the best.
    width : real genes that are best at 2.7, besides one that trades the objectives; -1 for no real genes at all.
    feasible : share of the range of the last gene that is feasible; the objectives lure away from it.
    flat : whether all designs are worth the same.
    """

    count: int = 2
    kinds: int = 5
    width: int = 1
    feasible: float = 1.0
    flat: bool = False
    name: str = "toy"
    settings: SearchSettings = _SETTINGS

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives."""
        return tuple(Objective(f"f{i}", f"f{i}", 1.0, f"f{i}") for i in range(self.count))

    @property
    def genome(self) -> Genome:
        """The genes."""
        names = ("kind", "x", *(f"y{i}" for i in range(self.width)))[: 2 + self.width]
        lower = np.array([0.0, -1.0, *[2.0] * self.width])[: len(names)]
        upper = np.array([self.kinds - 1.0, 1.0, *[3.0] * self.width])[: len(names)]
        return Genome(names, lower, upper, np.arange(len(names)) == 0)

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the worth of (g, n) genes."""
        kind, last = genes[0], genes[-1]
        x = genes[1] if len(genes) > 1 else kind / self.kinds
        beside = 1 + kind / 10 + np.abs(genes[2:] - 2.7).sum(axis=0)
        objectives = np.stack([beside + x**2, beside + (x - 1) ** 2, beside + (x + 1) ** 2][: self.count])
        broken = last - 2 - self.feasible if self.feasible < 1 else np.zeros(len(kind))
        return Evaluation(np.ones_like(objectives) if self.flat else objectives, np.maximum(broken, 0.0))

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return nothing: the genes say it all."""
        return {"gene": genes[0].tolist()}

    def identity(self) -> Mapping[str, Any]:
        """Return what results depend on."""
        return {"problem": self.name, "objectives": self.count, "kinds": self.kinds, "feasible": self.feasible}
