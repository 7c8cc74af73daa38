"""What a search needs of a problem; a problem written in Python provides the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from evo_libra.arrays import FloatArray
from evo_libra.problem.genome import Genome


@dataclass(frozen=True)
class Objective:
    """Something to minimise.

    Attributes
    ----------
    name : such as ``time``.
    column : its name in tables, with the unit.
    scale : what a value in SI is divided by to be in that unit.
    label : as an axis calls it.
    """

    name: str
    column: str
    scale: float
    label: str


TIME = Objective("time", "time_ms", 1e-3, "iteration time [ms]")
COST = Objective("cost", "cost_usd", 1.0, "network cost [USD]")


@dataclass(frozen=True)
class Evaluation:
    """Worth of a population.

    Attributes
    ----------
    objectives : (m, n) values in SI, above 0; all are minimised.
    violation : (n,) total relative constraint violation; 0 where a design is feasible.
    """

    objectives: FloatArray
    violation: FloatArray


@dataclass(frozen=True)
class SearchSettings:
    """How a search runs unless it is told otherwise.

    Attributes
    ----------
    engine, evaluations, population, seed : as for `evo_libra.searching.generations.search`.
    memetic : share of the evaluations that are designs with better bandwidths; None for what pays with the engine.
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
        """What is minimised, in the order of the rows of `Evaluation.objectives`."""

    @property
    def settings(self) -> SearchSettings:
        """How a search runs unless it is told otherwise."""

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the worth of (g, n) legal genes."""

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return table columns, units in their names, that tell people what (g, n) genes mean."""

    def identity(self) -> Mapping[str, Any]:
        """Return JSON-able data that changes whenever results would."""
