"""Proofs of fronts of any objectives: exact fronts are, parts of them say what they lack."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from designs import design_file
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.front import Front
from evo_libra.optimality import comparisons
from evo_libra.optimality.front_proof import prove_front
from evo_libra.problem.problem import Problem


@cache
def served() -> tuple[Problem, Front]:
    """Return a small problem of serving, and its exact front."""
    changes = ["objectives=[tpot, usd-per-Mtoken, ttft]", "npu=h100-80gb", "fabric.technologies=[nvlink4, optics-400g]"]
    problem = load_problem(design_file("llama3-70b-serving"), changes)
    assert isinstance(problem, Problem)
    return problem, search(problem, engine="exhaustive", evaluations=10**6)


def values_of(problem: Problem, front: Front) -> FloatArray:
    return np.array([front.frame[one.column].to_numpy() * one.scale for one in problem.objectives])


@pytest.mark.slow
def test_an_exact_front_lacks_nothing() -> None:
    problem, front = served()
    found = prove_front(problem, front)
    assert len(front) > 20
    assert (found.missing, found.waiting, found.exact) == (0, 0, len(front))
    np.testing.assert_allclose(found.factor, 1.0, rtol=1e-9)
    assert found.missed_hypervolume < 1e-9


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=5)
def test_a_part_of_it_lacks_the_rest(seed: int) -> None:
    problem, front = served()
    some = np.flatnonzero(np.random.default_rng(seed).random(len(front)) < 0.4)
    part = replace(front, frame=front.frame[[0, *some.tolist()]].unique("id", maintain_order=True))
    found = prove_front(problem, part)
    assert found.missing == len(front) - len(part)
    np.testing.assert_allclose(found.factor, 1.0, rtol=1e-9)
    assert found.missed_hypervolume > 0.0


def test_factors_are_those_of_a_look_at_each_pair() -> None:
    problem, front = served()
    other = search(problem, engine="random", evaluations=300, population=100, seed=1)
    mine, best = values_of(problem, other), values_of(problem, front)
    found = prove_front(problem, other)
    expected = np.ones(len(other))
    for n, design in enumerate(mine.T):
        for k in range(3):
            rest = [place for place in range(3) if place != k]
            as_good = (best[rest] <= design[rest, None] * (1 + 1e-9)).all(axis=0)
            expected[n] = max(expected[n], design[k] / best[k, as_good].min(initial=np.inf))
    np.testing.assert_allclose(found.factor, expected, rtol=1e-9)
    assert found.largest_factor > 1.01
    assert found.missing > 0
    assert found.missed_hypervolume > 0.0


def test_what_cannot_be_proven_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, front = served()
    with pytest.raises(InputError, match="the front is empty"):
        prove_front(problem, replace(front, frame=front.frame[:0]))
    with pytest.raises(InputError, match="the front is of tpot_ms, and the problem of tpot_ms, cost_per_Mtoken_usd"):
        prove_front(problem, Front(front.frame, ("tpot_ms",)))
    monkeypatch.setattr("evo_libra.optimality.front_proof.whole_front", lambda *_: None)
    with pytest.raises(InputError, match="evaluates every design of whole ports; there are too many"):
        prove_front(problem, front)


def test_factors_by_hand() -> None:
    # (1, 4) is as good as (2, 4) in the second objective and twice as good in the first; (3, 1) is by 4/3 better than
    # (4, 1), and nothing that takes 2 at most is better than (2, 4) in the second one.
    best, mine = np.array([[1.0, 3.0], [4.0, 1.0]]), np.array([[2.0, 4.0, 1.0, 9.0], [4.0, 1.0, 4.0, 9.0]])
    factors = comparisons.factors(mine, best)
    np.testing.assert_allclose(factors, [2.0, 4.0 / 3.0, 1.0, 9.0])
    # Figures that differ by rounding are the same.
    np.testing.assert_allclose(comparisons.factors(mine * (1.0 - 1e-12), best)[:2], [2.0, 4.0 / 3.0])
    assert comparisons.factors(mine * 0.5, best)[1] == 1.0


def test_what_is_reached_by_hand() -> None:
    values = np.array([[1.0, 3.0, 1.0], [4.0, 1.0, 4.0 * (1.0 - 1e-12)]])
    by = np.array([[1.0, 2.0], [4.0, 2.0]])
    # (1, 4) is there, but for rounding; (3, 1) is not reached by (2, 2).
    assert comparisons.reached(values, by).tolist() == [True, False, True]
    assert comparisons.reached(values[:, :0], by).tolist() == []
