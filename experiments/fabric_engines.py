"""Engines on a fabric problem at equal evaluations: hypervolume over that of the union of all their fronts.

``python experiments/fabric_engines.py [PROBLEM] [--seeds N] [--evaluations N] [--engines NAME ...]``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from command_line import parser_of
from common import markdown
from fabric_seeds import Settings, fronts, volumes

from evo_libra.arrays import FloatArray
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.protocol import Evaluation, Genome, Objective, SearchProblem, SearchSettings
from evo_libra.problem.switch_fabrics.genes import genome
from evo_libra.problem.switch_fabrics.problem import FabricProblem

ENGINES = ("smsemoa", "nsga2", "pymoo:nsga2", "random")


@dataclass(frozen=True)
class Generic:
    """The problem without named fabrics to start from, and without steps of its own."""

    inner: FabricProblem

    @property
    def name(self) -> str:
        """The name of the problem."""
        return self.inner.name

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives of the problem."""
        return self.inner.objectives

    @property
    def settings(self) -> SearchSettings:
        """The settings of the problem."""
        return self.inner.settings

    @property
    def genome(self) -> Genome:
        """The genes alone."""
        return genome(self.inner.space.npus, len(self.inner.times))

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the evaluation of the problem."""
        return self.inner.evaluate_genes(genes)

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return the description of the problem."""
        return self.inner.describe(genes)

    def design_rows(self, genes: FloatArray) -> FloatArray:
        """Return the numbers of the problem."""
        return self.inner.design_rows(genes)

    def identity(self) -> Mapping[str, Any]:
        """Return the identity of the problem."""
        return self.inner.identity()


def main() -> None:
    """Print a row for each engine, with and without what the problem knows of its structure."""
    parser = parser_of(__doc__)
    parser.add_argument("problem", nargs="?", default="fabric-4k")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=200_000)
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    given = parser.parse_args()
    problem = load_problem(given.problem)
    assert isinstance(problem, FabricProblem), "it is one of fabrics"  # noqa: S101 - internal error
    kinds: dict[str, SearchProblem] = {"seeds and steps": problem, "generic": Generic(problem)}
    settings = Settings(given.seeds, given.evaluations, None, None)
    found: dict[tuple[str, str], list[FloatArray]] = {
        (engine, kind): fronts(one, replace(settings, engine=engine))
        for engine in given.engines
        for kind, one in kinds.items()
    }
    shares = np.array(volumes([front for of in found.values() for front in of])).reshape(len(found), -1)
    rows = [
        [engine, kind, f"{of.min():.4f}", f"{np.median(of):.4f}"]
        for (engine, kind), of in zip(found, shares, strict=True)
    ]
    print(markdown(("engine", "problem", "hypervolume, least", "median"), rows))


if __name__ == "__main__":
    main()
