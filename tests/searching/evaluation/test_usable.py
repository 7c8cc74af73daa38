"""Designs that are infinite, NaN or raise: infeasible, counted, the first ten with their reasons, in every search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evo_libra import search
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.problem.protocol import Evaluation
from evo_libra.searching.asynchronous import completions
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.evaluation.usable import FAILED_OBJECTIVE, FAILED_VIOLATION, MAX_VIOLATION, evaluate
from evo_libra.searching.generations import generations
from evo_libra.searching.islands import Archipelago, island_generations
from evo_libra.searching.loop import NO_OPTIONS, Snapshot
from evo_libra.searching.registry import load_engine
from evo_libra.searching.sample_problem import SampleProblem

REASONS = {
    "infinite": "its f0 is inf and its f1 is inf; a finite number is needed",
    "nan": "its f0 is nan and its f1 is nan; a finite number is needed",
    "raised": "ArithmeticError: no convergence",
}
NUMBERS: dict[str, Any] = {"population": 20, "seed": 3, "evaluations": 100}


class Given(SampleProblem):
    """Returns what it is given."""

    def __init__(self, objectives: FloatArray, violation: FloatArray) -> None:
        super().__init__(len(objectives))
        object.__setattr__(self, "given", Evaluation(objectives, violation))

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        found: Evaluation = vars(self)["given"]
        places = genes[0].astype(int)
        return Evaluation(found.objectives[:, places], found.violation[places])


def last_of(snapshots: Iterator[Snapshot]) -> Snapshot:
    *_, last = snapshots
    return last


def told(last: Snapshot) -> tuple[int, list[tuple[bytes, str]]]:
    return last.failures.count, [(one.genes.tobytes(), one.reason) for one in last.failures.first]


FLOATS = st.floats(width=64)


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(arrays(float, (2, n), elements=FLOATS), arrays(float, n, elements=FLOATS))
    )
)
def test_no_infinity_and_no_nan_leaves_the_evaluation(values: tuple[FloatArray, FloatArray]) -> None:
    objectives, violation = np.abs(values[0]) + 1e-300, values[1]
    genes = np.arange(len(violation), dtype=float)[None]
    found = evaluate(Given(objectives, violation), genes)
    failing = ~(np.isfinite(objectives).all(axis=0) & np.isfinite(violation))
    assert np.isfinite(found.objectives).all()
    assert ((found.violation >= 0) & (found.violation <= FAILED_VIOLATION)).all()
    assert (found.violation[failing] == FAILED_VIOLATION).all()
    assert (found.violation[~failing] <= MAX_VIOLATION).all()  # behind all others
    np.testing.assert_array_equal(found.objectives[:, ~failing], objectives[:, ~failing])
    np.testing.assert_array_equal(found.violation[~failing] > 0, violation[~failing] > 0)
    assert found.failures.count == failing.sum()
    assert [one.genes[0] for one in found.failures.first] == np.flatnonzero(failing)[:10].tolist()


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_an_objective_of_0_or_below_is_no_such_design(low: float) -> None:
    problem = Given(np.array([[1.0, np.nan, 1.0], [2.0, 2.0, low]]), np.zeros(3))
    with pytest.raises(InputError, match=f"the f1 of a design of 'sample' is {low:g}; objectives must be above 0"):
        evaluate(problem, np.arange(3.0)[None])
    assert evaluate(problem, np.arange(2.0)[None]).failures.count == 1


def test_halves_are_evaluated_until_it_is_known_which_designs_raise() -> None:
    calls: list[int] = []

    class Counted(SampleProblem):
        def evaluate_genes(self, genes: FloatArray) -> Evaluation:
            calls.append(genes.shape[1])
            return super().evaluate_genes(genes)

    problem = Counted(kinds=1000, broken="raised")
    genes = problem.genome.sample(np.random.default_rng(0), 256)
    genes[0] = 1 + np.arange(256)
    genes[0, 77] = 0
    found = evaluate(problem, genes)
    assert len(calls) == 1 + 2 * 8  # 256 is 2 to the power of 8
    assert np.flatnonzero(found.violation).tolist() == [77]
    assert found.objectives[:, 77].tolist() == [FAILED_OBJECTIVE] * 2
    np.testing.assert_array_equal(
        np.delete(found.objectives, 77, axis=1),
        SampleProblem(kinds=1000).evaluate_genes(np.delete(genes, 77, axis=1)).objectives,
    )


def test_objectives_of_a_wrong_shape_are_no_such_designs() -> None:
    class Wrong(SampleProblem):
        def evaluate_genes(self, genes: FloatArray) -> Evaluation:
            return Evaluation(super().evaluate_genes(genes).objectives.T, np.zeros(genes.shape[1]))

    message = r"'sample' evaluates 3 designs to objectives of shape \(3, 2\) .*; \(2, 3\) and \(3,\) are needed"
    with pytest.raises(InputError, match=message):
        evaluate(Wrong(), SampleProblem().genome.sample(np.random.default_rng(0), 3))


@pytest.mark.parametrize(
    "error", [InputError("no licence"), MemoryError("9 EiB"), OSError(28, "No space left on device")]
)
def test_a_mistake_of_the_user_or_a_fault_of_the_machine_ends_the_search(error: Exception) -> None:
    class Faulty(SampleProblem):
        def evaluate_genes(self, genes: FloatArray) -> Evaluation:
            del genes
            raise error

    with pytest.raises(type(error)) as found:
        search(Faulty(), engine="nsga2", **NUMBERS)
    assert found.value is error


@pytest.mark.slow
@pytest.mark.parametrize("broken", list(REASONS))
def test_one_rule_with_and_without_processes(broken: str) -> None:
    problem = SampleProblem(broken=broken)
    alone = last_of(generations(problem, load_engine("nsga2", problem), **NUMBERS))
    with ExpensiveProblem(problem, workers=2) as expensive:
        shared = last_of(generations(expensive, load_engine("nsga2", problem), **NUMBERS))
        single = last_of(completions(expensive, load_engine("nsga2", problem), **{**NUMBERS, "evaluations": 40}))
    assert told(alone) == told(shared)
    assert alone.archive.genes.tobytes() == shared.archive.genes.tobytes()
    assert alone.failures.count > 10 == len(alone.failures.first)
    assert 0 < single.failures.count < 40
    assert {one.reason for last in (alone, single) for one in last.failures.first} == {REASONS[broken]}
    assert all(problem.is_broken(one.genes[:, None])[0] for one in alone.failures.first)


@pytest.mark.slow
def test_islands_count_what_each_of_them_met() -> None:
    problem = SampleProblem(broken="raised")
    seen: list[FloatArray] = []
    options = replace(NO_OPTIONS, observe=lambda genes, _: seen.append(genes))
    here, there = (
        last_of(island_generations(problem, "nsga2", Archipelago(2, workers), **NUMBERS, options=options))
        for workers in (0, 2)
    )
    assert told(here) == told(there)
    count = sum(int(problem.is_broken(genes).sum()) for genes in seen)
    assert 2 * here.failures.count == count > 0
