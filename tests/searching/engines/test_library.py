"""What engines of other libraries have in common, and the rules that are added to pymoo's, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engines import pymoo
from evo_libra.searching.engines.library import LARGEST, chosen, finite, merge
from evo_libra.searching.registry import load_engine


def test_infinity_is_a_large_number() -> None:
    assert finite([np.inf, -np.inf, np.nan, 1.5]).tolist() == [LARGEST, -LARGEST, 0.0, 1.5]


def test_new_designs_come_after_the_population() -> None:
    one = {"genes": np.array([[1.0, 2.0]]), "objectives": np.array([[3.0, 4.0], [5.0, 6.0]]), "violation": np.zeros(2)}
    two = {name: values[..., :1] + 10.0 for name, values in one.items()}
    both = merge({**one, "slot": np.zeros(2)}, two)
    assert {name: values.tolist() for name, values in both.items()} == {
        "genes": [[1.0, 2.0, 11.0]], "objectives": [[3.0, 4.0, 13.0], [5.0, 6.0, 15.0]], "violation": [0.0, 0.0, 10.0],
    }  # fmt: skip
    assert chosen(both, np.array([2, 0]))["objectives"].tolist() == [[13.0, 3.0], [15.0, 5.0]]


def test_a_generation_is_what_a_start_lacks_then_as_many_as_the_population() -> None:
    problem = SampleProblem(kinds=50)
    engine = load_engine("deap:nsga2", problem)
    state = engine.start(problem.genome, 2, 20, 0)
    known = problem.genome.sample(np.random.default_rng(1), 8)
    told = engine.tell(state, known, *_values(problem, known))
    genes, asked = engine.ask(told)
    assert (genes.shape[1], asked.arrays["learned"], asked.arrays["sampled"]) == (12, 8.0, 1.0)
    state = engine.tell(asked, genes, *_values(problem, genes))
    assert state.arrays["seen"].shape[1] == 20
    for seen in (40, 40):
        genes, asked = engine.ask(state)
        assert genes.shape[1] == 20
        state = engine.tell(asked, genes, *_values(problem, genes))
        # Two generations are remembered besides the population.
        assert state.arrays["seen"].shape[1] == seen
        assert (state.arrays["seen"][:, -20:] == genes).all()


def _values(problem: SampleProblem, genes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = problem.evaluate_genes(genes)
    return np.log10(found.objectives), found.violation


def test_designs_that_are_alike_are_one() -> None:
    population = {"genes": np.arange(5.0)[None], "objectives": np.array([[1.04, 2.0, 0.96, 1.0, 1.06]]),
                  "violation": np.array([0.0, 0.0, 0.0, 1.0, 0.0])}  # fmt: skip
    found = pymoo._distinct(population, 1)  # noqa: SLF001 - a rule of its own
    assert found["genes"].tolist() == [[0.0, 1.0, 3.0, 4.0]]
    assert found["objectives"].tolist() == [[1.0, 2.0, 1.0, 1.1]]


def test_what_breaks_limits_is_behind_every_other_design_by_its_violation() -> None:
    population = {"objectives": np.array([[1.0, 5.0, 0.0, 0.0, 0.0], [4.0, 2.0, 0.0, 0.0, 0.0]]),
                  "violation": np.array([0.0, 0.0, 0.5, 2.0, 1e100])}  # fmt: skip
    found = pymoo._penalised(population)  # noqa: SLF001 - a rule of its own
    # The worst feasible values are 5 and 4; 1 and the violation come on top.
    np.testing.assert_array_equal(found[:, :4], [[1.0, 5.0, 6.5, 8.0], [4.0, 2.0, 5.5, 7.0]])
    # One that could not be evaluated is behind those that break limits by however much.
    far = pymoo._penalised({**population, "violation": np.array([0.0, 0.0, 0.5, 1e99, 1e100])})  # noqa: SLF001 - the same
    assert (far[:, 4] > far[:, 3]).all()
    assert np.isfinite(far).all()


@pytest.mark.parametrize(("learned", "generation"), [(10, 0), (20, 0), (39, 0), (40, 1), (100, 4), (900, 5)])
def test_the_schedule_of_rvea_counts_generations_and_stays_at_its_end(learned: int, generation: int) -> None:
    algorithm: Any = pymoo._algorithm("rvea", 95).prepare(2, 20)  # noqa: SLF001 - a rule of its own
    assert algorithm.generations == 5
    arrays = {"learned": np.array(float(learned)), "size": np.array(20.0), "generations": np.array(5.0)}
    assert algorithm.options(arrays) == {"n_gen": generation, "n_max_gen": 5}
