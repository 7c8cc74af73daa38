"""Every structure of a space of parts: whole lanes next to the relaxed optimum."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra import certify, load_problem, search
from evo_libra.front.ideal import ideal_of
from evo_libra.front.screen import screen
from evo_libra.problem.problem import Problem


@pytest.fixture(scope="module")
def problem() -> Problem:
    technologies = "technologies: [xgmi, nvlink4, optics-400g]"
    found = load_problem(
        "gpt3-4k", [f"fabric={{catalog: parts-2024, max_dimensions: 3, {technologies}}}", "bandwidth=lanes", "npus=512"]
    )
    assert isinstance(found, Problem)
    return found


def test_whole_lanes_near_the_relaxed_optimum_are_feasible_and_near_the_bound(problem: Problem) -> None:
    front = search(problem, engine="exhaustive", population=60)
    assert len(front) > 10
    worth = problem.evaluate(front.frame["design"].to_list())
    assert (worth.violation == 0).all()
    np.testing.assert_allclose(worth.objectives[1], front.frame["cost_usd"], rtol=1e-12)
    proof = certify(problem, front)
    assert (proof.factor >= 1.0).all()
    # At least as good as what a search of as many evaluations finds, by what is left to gain.
    sampled = certify(problem, search(problem, evaluations=2000, population=60, seed=0))
    assert proof.missed_hypervolume <= sampled.missed_hypervolume * 1.02


def test_screened_bounds_are_below_what_is_solved(problem: Problem) -> None:
    relaxed = problem.relaxed()
    bounds = screen(relaxed)
    cost = np.geomspace(bounds.least.min() * 1.1, bounds.least.min() * 100, 12)
    ideal = ideal_of(relaxed, cost, bounds)
    assert np.isfinite(ideal.time).all()
    assert (bounds.bound(cost).min(axis=0) <= ideal.time * (1 + 1e-9)).all()
    # The fastest one's saturated time is exact: the ideal reaches it with money enough.
    rich = ideal_of(relaxed, np.array([relaxed.tables.highest_cost()]), bounds)
    np.testing.assert_allclose(rich.time[0], bounds.saturated.min(), rtol=1e-6)
    genes = problem.genome.sample(np.random.default_rng(0), 2000)
    worth = problem.evaluate_genes(genes)
    feasible = worth.violation <= 0
    structure = genes[0].astype(np.int64)
    lower = np.maximum(bounds.base + bounds.kappa / bounds.least, bounds.saturated)
    assert (bounds.structure == np.arange(len(bounds))).all()
    time, usd = worth.objectives[:, feasible]
    mine = structure[feasible]
    assert (np.maximum(bounds.base[mine] + bounds.kappa[mine] / usd, bounds.saturated[mine]) <= time * (1 + 1e-9)).all()
    assert (bounds.least[mine] <= usd * (1 + 1e-9)).all()
    assert (lower >= bounds.saturated).all()
