"""Every structure of a space of parts: whole ports next to the relaxed optimum."""

from __future__ import annotations

import numpy as np
import pytest
from whole_networks import whole_networks

from evo_libra import certify, load_problem, search
from evo_libra.optimality.bounds import bound_variants
from evo_libra.optimality.ideal_bandwidth import ideal_of
from evo_libra.problem.problem import Problem
from evo_libra.searching.engines.exact import ExhaustiveEngine


@pytest.fixture(scope="module")
def problem() -> Problem:
    fabric = "{catalog: parts-2024, domains: any, max_dimensions: 3, technologies: [xgmi, nvlink4, optics-400g]}"
    found = load_problem("gpt3-4k", [f"fabric={fabric}", "bandwidth=ports", "npus=512"])
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
def test_whole_lanes_near_the_relaxed_optimum_are_feasible_and_near_the_bound(problem: Problem) -> None:
    front = search(problem, engine="exhaustive", population=60)
    assert len(front) > 10
    evaluation = problem.evaluate(front.frame["design"].to_list())
    assert (evaluation.violation == 0).all()
    np.testing.assert_allclose(evaluation.objectives[1], front.frame["cost_usd"], rtol=1e-12)
    proof = certify(problem, front)
    assert (proof.factor >= 1.0).all()
    # At least as good as what a search of as many evaluations finds, by what is left to gain.
    sampled = certify(problem, search(problem, evaluations=2000, population=60, seed=0))
    assert proof.missed_hypervolume <= sampled.missed_hypervolume * 1.02


def test_screened_bounds_are_below_what_is_solved(problem: Problem) -> None:
    relaxed = problem.relaxed()
    bounds = bound_variants(relaxed)
    cost = np.geomspace(bounds.min_cost.min() * 1.1, bounds.min_cost.min() * 100, 12)
    ideal = ideal_of(relaxed, cost, bounds)
    assert np.isfinite(ideal.time).all()
    assert (bounds.bound(cost).min(axis=0) <= ideal.time * (1 + 1e-9)).all()
    # The fastest one's saturated time is exact: the ideal reaches it with money enough.
    rich = ideal_of(relaxed, np.array([relaxed.pricing.max_cost()]), bounds)
    np.testing.assert_allclose(rich.time[0], bounds.min_time.min(), rtol=1e-6)
    genes = problem.genome.sample(np.random.default_rng(0), 2000)
    evaluation = problem.evaluate_genes(genes)
    feasible = evaluation.violation <= 0
    structure = genes[0].astype(np.int64)
    lower = np.maximum(bounds.base + bounds.kappa / bounds.min_cost, bounds.min_time)
    assert (bounds.structure == np.arange(len(bounds))).all()
    time, usd = evaluation.objectives[:, feasible]
    mine = structure[feasible]
    assert (np.maximum(bounds.base[mine] + bounds.kappa[mine] / usd, bounds.min_time[mine]) <= time * (1 + 1e-9)).all()
    assert (bounds.min_cost[mine] <= usd * (1 + 1e-9)).all()
    assert (lower >= bounds.min_time).all()


@pytest.fixture(scope="module")
def small() -> Problem:
    fabric = "fabric={catalog: parts-2024, domains: any, max_dimensions: 2, technologies: [xgmi, nvlink4]}"
    found = load_problem("gpt3-4k", [fabric, "bandwidth=ports", "npus=32"])
    assert isinstance(found, Problem)
    return found


def test_a_tile_that_adds_nothing_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    # Tiles of few structures: after those that promise most, most others add nothing.
    monkeypatch.setattr("evo_libra.optimality.ideal_bandwidth.TILE", 2)
    small = load_problem("gpt3-4k", ["bandwidth=optimal", "npus=64", "workloads[0].parallelism={tp: 8}"])
    assert isinstance(small, Problem)
    engine = ExhaustiveEngine(small)
    state = engine.start(small.genome, 2, 10, 0)
    passed = 0
    while True:
        before = int(state.arrays["tile"])
        genes, state = engine.ask(state)
        if not genes.shape[1]:
            break
        passed += int(state.arrays["tile"]) - before
        evaluation = small.evaluate_genes(genes)
        state = engine.tell(state, genes, evaluation.objectives, evaluation.violation)
    assert passed > 0


def test_exhaustive_is_the_front_of_every_network_of_whole_ports(small: Problem) -> None:
    front = search(small, engine="exhaustive", population=100, evaluations=100_000)
    proof, found = certify(small, front), front.frame.sort("cost_usd")
    time, cost = whole_networks(small)
    assert len(time) > 1000
    np.testing.assert_allclose(found["cost_usd"].min(), cost.min(), rtol=1e-9)
    np.testing.assert_allclose(found["time_ms"].min() * 1e-3, time.min(), rtol=1e-9)
    best = np.minimum.accumulate(found["time_ms"].to_numpy() * 1e-3)
    place = np.searchsorted(found["cost_usd"].to_numpy() * (1 - 1e-9), cost, side="right") - 1
    assert (best[place] <= time * (1 + 1e-9)).all()
    assert proof.largest_factor == pytest.approx(1.0, rel=1e-9)
    assert proof.networks == len(time)


def test_whole_ports_that_are_too_many_are_tried_around_the_relaxed_optimum(
    small: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = search(small, engine="exhaustive", population=100, evaluations=100_000)
    monkeypatch.setattr("evo_libra.optimality.whole_designs.MAX_NETWORKS", 10)
    front = search(small, engine="exhaustive", population=100, evaluations=100_000)
    proof = certify(small, front)
    assert proof.networks == 0
    best = np.minimum.accumulate(front.frame.sort("cost_usd")["time_ms"].to_numpy())
    place = np.searchsorted(np.sort(front.frame["cost_usd"]) * (1 - 1e-9), exact.frame["cost_usd"], side="right") - 1
    assert (best[place] <= exact.frame["time_ms"].to_numpy() * proof.largest_factor * (1 + 1e-9)).all()
