"""A problem that takes a moment to evaluate, on which engines are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.problem.protocol import Evaluation, Genome, Objective, SearchSettings

POPULATION = 20
"""Designs per generation that suit the problem."""

_BROKEN = {"infinite": np.inf, "nan": np.nan}
_SETTINGS = SearchSettings(evaluations=1000, population=POPULATION)


@dataclass(frozen=True)
class SampleProblem:
    """A problem with a whole gene and real ones, a moment to evaluate, with 1 to 3 objectives.

    The whole gene has `kinds` values; 0 is the best. `width` real genes are best at 2.7, besides one that trades
    the objectives; -1 for no real genes at all. `feasible` is the share of the range of the last gene that is feasible;
    the objectives lure away from it. Designs of a flat problem all have the same objectives.

    With `tied`, all kinds but 0 violate the constraints equally. Designs of kind 0, which are the best ones, cannot be
    evaluated where `broken` is ``infinite``, ``nan`` or ``raised``.
    """

    count: int = 2
    kinds: int = 5
    width: int = 1
    feasible: float = 1.0
    flat: bool = False
    tied: bool = False
    broken: str = ""
    name: str = "sample"
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
        """Return the evaluation of (g, n) genes."""
        if self.broken == "raised" and self.is_broken(genes).any():
            raise ArithmeticError("no convergence")
        kind, last = genes[0], genes[-1]
        x = genes[1] if len(genes) > 1 else kind / self.kinds
        beside = 1 + kind / 10 + np.abs(genes[2:] - 2.7).sum(axis=0)
        objectives = np.stack([beside + x**2, beside + (x - 1) ** 2, beside + (x + 1) ** 2][: self.count])
        objectives = np.ones_like(objectives) if self.flat else objectives
        excess = last - 2 - self.feasible if self.feasible < 1 else np.zeros(len(kind))
        violation = np.where(kind > 0, 1.0, 0.0) if self.tied else np.maximum(excess, 0.0)
        return Evaluation(np.where(self.is_broken(genes), _BROKEN.get(self.broken, 1.0), objectives), violation)

    def is_broken(self, genes: FloatArray) -> BoolArray:
        """Return (n,) which of (g, n) genes are of designs that cannot be evaluated."""
        return np.asarray((genes[0] == 0) & bool(self.broken))

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return nothing: the genes say it all."""
        return {"gene": genes[0].tolist()}

    def identity(self) -> Mapping[str, Any]:
        """Return what results depend on."""
        odd = {"tied": self.tied, "broken": self.broken} if self.tied or self.broken else {}
        return {"problem": self.name, "objectives": self.count, "kinds": self.kinds, "feasible": self.feasible, **odd}
