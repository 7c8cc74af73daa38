"""Small spaces: all of their designs, and searches that end once they have had each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.protocol import Evaluation, Genome, Objective, SearchSettings, design_rows_of
from evo_libra.searching.engines.listing import listed_designs
from evo_libra.searching.engines.nsga import Nsga, nsga2, nsga3, smsemoa
from evo_libra.searching.engines.variation import row_hash
from evo_libra.searching.sample_problem import SampleProblem


@dataclass(frozen=True)
class WholeProblem:
    """Designs of whole numbers, whose last one is a compromise of the others."""

    sizes: tuple[int, ...]
    name: str = "whole"
    objectives = (Objective("f", "f", 1.0, "f"), Objective("g", "g", 1.0, "g"))
    settings = SearchSettings(evaluations=1000, population=20)

    @property
    def genome(self) -> Genome:
        upper = np.array(self.sizes, dtype=np.float64) - 1.0
        names = tuple(f"x{place}" for place in range(len(upper)))
        return Genome(names, np.zeros(len(upper)), upper, np.ones(len(upper), dtype=np.bool_))

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        rest = genes[1:].sum(axis=0)
        return Evaluation(np.stack([1.0 + genes[0] + rest, 20.0 - genes[0] + rest]), np.zeros(genes.shape[1]))

    def describe(self, genes: FloatArray) -> dict[str, list[float]]:
        return {"x": genes[0].tolist()}

    def identity(self) -> dict[str, str]:
        return {"name": self.name}


@pytest.mark.parametrize("make", [nsga2, nsga3, smsemoa])
def test_a_small_space_is_searched_until_it_is_known(make: Callable[..., Nsga]) -> None:
    # 12 x 9 x 8 designs of whole numbers: each is asked for once, however often children repeat.
    problem = WholeProblem((12, 9, 8))
    engine, asked = make(problem), list[FloatArray]()
    state = engine.start(problem.genome, 2, 20, 0)
    while True:
        genes, state = engine.ask(state)
        if not genes.shape[1]:
            break
        asked.append(genes)
        found = problem.evaluate_genes(genes)
        state = engine.tell(state, genes, np.log10(found.objectives), found.violation)
        assert len(asked) < 200
    every = np.concatenate(asked, axis=1)
    assert every.shape[1] == len(np.unique(every, axis=1).T) == 12 * 9 * 8


def test_designs_of_whole_ports_are_listed_once() -> None:
    problem = load_problem("moe-4k")
    genes = listed_designs(problem, 20_000)
    assert genes is not None
    rows = design_rows_of(problem)(genes)
    assert len(np.unique(rows, axis=1).T) == genes.shape[1] == 10_980
    sampled = design_rows_of(problem)(problem.genome.sample(np.random.default_rng(0), 2_000))
    assert set(row_hash(sampled).tolist()) <= set(row_hash(rows).tolist())
    assert listed_designs(problem, 10_000) is None
    assert listed_designs(SampleProblem(), 10_000) is None
