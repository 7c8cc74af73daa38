"""The memetic step: exact bandwidths for designs that a search has found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.designs import best_bandwidths
from evo_libra.problem.file.registry import load_problem as load_search_problem
from evo_libra.problem.problem import Problem
from evo_libra.searching.generations import memetic_share, memetic_step
from evo_libra.searching.loop import MemeticStep, SearchOptions

LIMITS = "constraints=['sum(bw) <= 300 GB/s', 'bw[0] >= bw[1]']"


@pytest.fixture(scope="module", params=[[], [LIMITS], ["objectives=[time]", "constraints=['cost <= 10 MUSD']"]])
def problem(request: pytest.FixtureRequest) -> Problem:
    return load_problem("gpt3-4k", request.param)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_no_design_gets_slower_or_dearer(problem: Problem, seed: int) -> None:
    better = best_bandwidths(problem)
    assert better is not None
    genes = problem.genome.sample(np.random.default_rng(seed), 40)
    before, new = problem.evaluate_genes(genes), better(genes)
    after = problem.evaluate_genes(new)
    np.testing.assert_array_equal(new, problem.genome.repair(new))
    feasible = before.violation <= 0
    assert (after.objectives <= before.objectives * (1 + 1e-7))[:, feasible].all()
    assert (after.violation <= 0)[feasible].all()
    assert (after.objectives[0] < before.objectives[0] * 0.99).any()
    again = problem.evaluate_genes(better(new))
    np.testing.assert_allclose(again.objectives[0, feasible], after.objectives[0, feasible], rtol=1e-6)


def test_there_is_none_where_there_is_nothing_exact_to_gain() -> None:
    for assignments in (["bandwidth=optimal"], ["time={model: astra, latency_ns: 500}"]):
        assert best_bandwidths(load_problem("gpt3-4k", assignments)) is None
    assert best_bandwidths(load_search_problem("problems.two_tier:problem")) is None
    problem = load_problem("gpt3-4k")
    assert [memetic_share(problem, engine) for engine in ("random", "exhaustive", "nsga3")] == [0.0, 0.0, 0.05]
    assert memetic_share(problem, "random", 0.1) == 0.1
    assert memetic_share(load_problem("gpt3-4k", ["search.memetic=0.2"]), "random") == 0.2
    assert memetic_share(load_problem("gpt3-4k", ["search.memetic=0.2", "bandwidth=optimal"]), "nsga2") == 0.0


def test_designs_that_are_improved_are_spread_over_the_archive() -> None:
    found = Collection(Archive(np.arange(100.0)[None], np.stack([np.arange(100.0), -np.arange(100.0)])))
    rule = MemeticStep(lambda genes: -genes)
    np.testing.assert_array_equal(rule.improve(found, 5), -np.array([[0.0, 25, 50, 74, 99]]))
    assert rule.improve(found, 2).tolist() == [[-0.0, -99.0]]
    assert rule.improve(found, 0).shape == rule.improve(Collection(Archive.empty(1, 2)), 9).shape == (1, 0)


@pytest.mark.slow
def test_steps_take_their_share_of_a_search_and_grow_with_it() -> None:
    rule = MemeticStep(lambda genes: genes, every=100, count=5)
    counts = [(at, count) for at in range(1, 100_001) if (count := rule.due(at - 1, at))]
    assert counts[:11] == [(100 * (step + 1), 5) for step in range(10)] + [(1_100, 5)]
    assert sum(count for _, count in counts) == pytest.approx(0.05 * 100_000, rel=0.1)
    ends = np.array([at for at, _ in counts])
    np.testing.assert_array_equal(np.diff(ends), np.maximum(100, ends[:-1] // 10))
    # Of several steps that a large generation passes one is done.
    assert rule.due(0, 450) == rule.due(250, 350) == 5
    assert rule.due(0, 99) == rule.due(100, 199) == 0


@pytest.mark.slow
def test_a_search_gets_nearer_to_the_best_front_with_it() -> None:
    problem = load_problem("gpt3-4k")
    best = search(problem, engine="exhaustive", population=8000, evaluations=10**6).frame
    ends = best.select("time_ms", "cost_usd").to_numpy()

    def missing(memetic: float | None) -> float:
        done = []
        options = SearchOptions(observe=lambda genes, _: done.append(genes.shape[1]))
        found = search(problem, evaluations=20_000, population=200, seed=1, memetic=memetic, options=options)
        assert sum(done) == 20_000
        values = found.frame.select("time_ms", "cost_usd").to_numpy().T
        return hypervolume(ends.T, ends.min(axis=0), ends.max(axis=0)) - hypervolume(
            values, ends.min(axis=0), ends.max(axis=0)
        )

    assert 0.0 < missing(None) < 0.5 * missing(0.0)


def test_a_step_has_half_a_population_and_comes_when_its_share_is_due(problem: Problem) -> None:
    # 5 % of the evaluations: 50 designs after 1,000 evaluations, 2 after 40; never more than 250 at first.
    steps = [memetic_step(problem, share, population) for share, population in ((0.05, 100), (0.05, 5), (0.05, 2000))]
    assert [(step.count, step.every) for step in steps if step is not None] == [(50, 1000), (2, 40), (250, 5000)]
    half = memetic_step(problem, 0.5, 3)
    assert half is not None
    assert (half.count, half.every) == (1, 2)
    assert memetic_step(problem, 0.0, 100) is None
    for share in (0.51, -0.1):
        with pytest.raises(InputError, match=r"a number from 0 to 0\.5"):
            memetic_step(problem, share, 100)
