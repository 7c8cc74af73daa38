"""The interface of a problem to a search, which a problem written in Python implements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from evo_libra.arrays import FloatArray
from evo_libra.problem.genome import Genome
from evo_libra.problem.objectives import COST, TIME, Objective

__all__ = ["COST", "TIME", "Evaluation", "Objective", "SearchProblem", "SearchSettings"]


@dataclass(frozen=True)
class Evaluation:
    """Objectives and constraint violation of a population.

    Attributes
    ----------
    objectives : (m, n) values in SI, above 0; all are minimised.
    violation : (n,) total relative constraint violation; 0 where a design is feasible.
    """

    objectives: FloatArray
    violation: FloatArray


@dataclass(frozen=True)
class SearchSettings:
    """Default settings of a search.

    Attributes
    ----------
    engine, evaluations, population, seed : as for `evo_libra.searching.generations.search`.
    memetic : share of the evaluations that are designs with better bandwidths; None for the engine's default.
    """

    engine: str = "nsga2"
    evaluations: int = 50_000
    population: int = 650
    seed: int = 0
    memetic: float | None = None


@runtime_checkable
class SearchProblem(Protocol):
    """A problem that engines can search."""

    @property
    def name(self) -> str:
        """Name, also of the folder of its results."""

    @property
    def genome(self) -> Genome:
        """The genes."""

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives, in the order of the rows of `Evaluation.objectives`."""

    @property
    def settings(self) -> SearchSettings:
        """Default settings of a search."""

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the objectives and the violation of (g, n) legal genes."""

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return table columns, units in their names, that describe the designs of (g, n) genes."""

    def identity(self) -> Mapping[str, Any]:
        """Return JSON-able data that changes whenever results would."""
