"""The ideal and the certificates: published fronts, laws, and that nothing can be better than what is proven."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import certify, load_problem, search
from evo_libra.errors import InputError
from evo_libra.front.front import Front
from evo_libra.optimality.bounds import bound_variants
from evo_libra.optimality.branch_and_bound import branch_and_bound
from evo_libra.optimality.certificate import Certificate, certificates
from evo_libra.optimality.ideal_bandwidth import bound_at, ideal_of, levels
from evo_libra.problem.file import combinations
from evo_libra.problem.problem import Problem

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "libra_cosearch.json").read_text())
NAMES = {"GPT_3": "gpt3-4k", "MSFT_1T": "msft-1t-4k", "Turing_NLG": "turing-nlg-4k"}
TIERS = {"InterChiplet": "chiplet", "InterPackage": "package", "InterNode": "node", "InterPod": "pod"}
LIBRA_RATE = "workloads[0].compute_TFLOPS=65.97069766656"
NO_FLOOR = "bandwidth={mode: optimal, min_GBps: 0, max_GBps: 700}"
SHIPPED = ("gpt3-4k", "msft-1t-4k", "turing-nlg-4k", "dlrm-4k", "resnet50-4k", "language-models-4k")
OPTIMAL = "bandwidth={mode: optimal, min_GBps: 1, max_GBps: 700}"
OVERLAP = "time={model: libra, overlap: tp-dp}"
SEEDS = st.integers(0, 2**32 - 1)


def load(name: str, *assignments: str) -> Problem:
    problem = load_problem(name, assignments)
    assert isinstance(problem, Problem)
    return problem


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=lambda row: row["workload"])
def test_the_published_fronts_of_60_shapes(row: dict[str, Any]) -> None:
    problem = load(NAMES[row["workload"]], LIBRA_RATE, NO_FLOOR)
    bounds = bound_variants(problem)
    assert len(bounds) == GOLDEN["space"]["shapes"]
    cost = np.array([point["cost_cap"] for point in row["front_with_caps"]])
    ideal = ideal_of(problem, cost, bounds)
    expected = np.array([point["e2e_ns"] for point in row["front_with_caps"]]) * 1e-9
    np.testing.assert_allclose(ideal.time, expected, rtol=1e-6)
    assert (ideal.bound <= ideal.time * (1 + 1e-14)).all()
    np.testing.assert_allclose(ideal.bound, ideal.time, rtol=2e-9)
    # With a budget alone each shape has one hyperbola, and the cheap bound is it.
    kappas = {(*shape, *(TIERS[tier] for tier in tiers)): kappa * 1e-9 for shape, tiers, kappa in row["kappa"]}
    names = problem.catalog.names
    for v, bound in enumerate(bounds.kappa):
        used = bounds.npus[:, v] > 1
        key = (*bounds.npus[used, v].tolist(), *(names[t] for t in bounds.technology[used, v]))
        assert bound <= kappas[key] * (1 + 1e-6)
        assert bound >= kappas[key] * 0.98


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES.values())
def test_exhaustive_finds_the_ideal_in_both_modes(name: str) -> None:
    for mode in (OPTIMAL, "bandwidth={mode: search, min_GBps: 1, max_GBps: 700}"):
        problem = load(name, mode)
        front = search(problem, engine="exhaustive", population=40)
        assert len(front) > 30
        proof = certify(problem, front)
        assert proof.factor.max() < 1 + 1e-8
        found = problem.evaluate(front.frame["design"].to_list())
        np.testing.assert_allclose(found.objectives[0] * 1e3, front.frame["time_ms"], rtol=1e-9)
        assert (found.violation == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if name in ("gpt3-4k", "resnet50-4k") else [pytest.mark.slow]) for name in SHIPPED
])  # fmt: skip
def test_optimal_bandwidth_reaches_999_per_mille_of_the_exact_hypervolume(name: str) -> None:
    problem = load(name, OPTIMAL)
    proof = certify(problem, search(problem, evaluations=20_000))
    assert proof.hypervolume >= 0.999 * proof.max_hypervolume


SPACES = [
    ("gpt3-4k", ["npus=256", "fabric.max_dimensions=4", "fabric.one_dimension_per_technology=false"]),
    ("dlrm-4k", ["npus=512"]),
    ("gpt3-4k", ["npus=256", OVERLAP]),
    ("gpt3-4k", ["npus=256", "constraints=['sum(bw) <= 300 GB/s', 'bw[0] >= bw[1]']"]),
    ("gpt3-4k", ["npus=64", "constraints=['cost >= 150 kUSD']", "fabric.catalog=libra", "fabric.max_dimensions=3"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sets"), SPACES, ids=str)
def test_nothing_is_better_than_what_is_proven(name: str, sets: list[str]) -> None:
    problem = load(name, *sets)
    random = np.random.default_rng(0)
    genes = problem.genome.sample(random, 4000)
    found = problem.evaluate_genes(genes)
    feasible = found.violation == 0
    time, cost = found.objectives[:, feasible]
    assert feasible.sum() > 100
    bounds = bound_variants(problem)
    ideal = ideal_of(problem, levels(problem, bounds, 30), bounds)
    proven = bound_at(bounds, ideal, cost)
    assert (time >= proven * (1 - 1e-9)).all()
    # A budget next to the least cost leaves rows that hold to 1e-9, and times that hang on the last digit of it.
    reached = np.isfinite(ideal.time) & (ideal.cost > bounds.min_cost.min() * (1 + 1e-6))
    assert (ideal.bound[reached] <= ideal.time[reached] * (1 + 1e-8)).all()
    np.testing.assert_allclose(ideal.bound[reached], ideal.time[reached], rtol=1e-6)
    assert (np.diff(ideal.time[reached]) <= ideal.time[reached][1:] * 1e-8).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sets"), SPACES, ids=str)
def test_branch_and_bound_ends_at_the_ideal(name: str, sets: list[str]) -> None:
    problem = load(name, *sets)
    bounds = bound_variants(problem)
    ideal = ideal_of(problem, levels(problem, bounds, 20), bounds)
    before = np.zeros(20)
    for found in branch_and_bound(problem, ideal.cost, np.full(20, np.inf)):
        assert (found.bound <= ideal.time * (1 + 1e-9)).all()
        assert (found.bound >= before * (1 - 1e-12)).all()
        before = found.bound
    assert not found.waiting
    np.testing.assert_allclose(found.ideal.time, ideal.time, rtol=1e-8)
    np.testing.assert_allclose(found.bound, ideal.time, rtol=1e-6)


@pytest.fixture(scope="module")
def turing() -> tuple[Problem, Front, Certificate]:
    """Return a problem, its exact front and the proof of that."""
    problem = load("turing-nlg-4k", OPTIMAL)
    exact = search(problem, engine="exhaustive", population=60)
    return problem, exact, certify(problem, exact)


@pytest.mark.slow
@given(seed=SEEDS)
@costly(5)
def test_factors_and_hypervolume_of_a_spoilt_front(turing: tuple[Problem, Front, Certificate], seed: int) -> None:
    problem, exact, best = turing
    factor = np.random.default_rng(seed).uniform(1.0, 1.5)
    spoilt = Front(exact.frame.with_columns(pl.col("time_ms") * factor), exact.objectives)
    proof = certify(problem, spoilt)
    np.testing.assert_allclose(proof.factor, factor, rtol=1e-7)
    assert proof.largest_factor >= factor * (1 - 1e-7)
    assert proof.hypervolume <= best.hypervolume
    assert best.missed_hypervolume <= proof.missed_hypervolume
    assert proof.fastest <= exact.frame["time_ms"].min() * 1e-3


def test_certificate_needs_time_against_cost() -> None:
    problem = load("gpt3-4k")
    empty = pl.DataFrame({"id": [], "time_ms": [], "cost_usd": []})
    with pytest.raises(InputError, match="empty"):
        certify(problem, Front(empty, ("time_ms", "cost_usd")))
    with pytest.raises(InputError, match="time against cost"):
        certify(problem, Front(empty, ("time_ms",)))


@pytest.mark.slow
def test_a_front_that_lacks_its_cheap_end_misses_it(
    turing: tuple[Problem, Front, Certificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, whole, best = turing
    expensive = Front(whole.frame.head(20), whole.objectives)
    scale = best.max_hypervolume
    for limit in (1_000, 0):
        monkeypatch.setattr("evo_libra.optimality.certificate.ENUMERATED", limit)
        proof = certify(problem, expensive)
        assert proof.missed_hypervolume > 0.2 * proof.hypervolume
        volumes = {(found.hypervolume, found.waiting == 0) for found in certificates(problem, expensive)}
        assert len({volume for volume, _ in volumes}) == 1
        if limit:
            assert proof.max_hypervolume == pytest.approx(scale, rel=1e-6)


LARGE = ["npus=65536", "fabric.max_dimensions=6", "fabric.one_dimension_per_technology=false", "fabric.catalog=libra"]


@pytest.mark.slow
def test_a_large_space_is_searched_and_its_proof_gets_tighter(monkeypatch: pytest.MonkeyPatch) -> None:
    table = load("gpt3-4k", *LARGE)
    monkeypatch.setattr(combinations, "MAX_STRUCTURES", 1000)
    problem = load("gpt3-4k", *LARGE, OPTIMAL)
    counted = problem.structures
    assert len(counted) >= len(table.structures) > 5_000
    npus, technology = counted.look_up(np.arange(len(counted)))
    assert len(np.unique(np.vstack([npus, technology]), axis=1).T) == len(counted)
    fits = problem.time.fits(npus)
    assert fits.sum() == len(table.structures)
    front = search(problem, evaluations=10_000, seed=1)
    assert (np.prod([front.frame[f"npus[{d}]"] for d in range(6)], axis=0) == 65536).all()
    missed = []
    for proof in certificates(problem, front):
        missed.append(proof.missed_hypervolume)
        if len(missed) == 4:
            break
    assert missed == sorted(missed, reverse=True)
    assert proof.looked < len(counted)
    assert proof.largest_factor < 3


@pytest.mark.slow
def test_a_limit_of_time_ends_what_a_front_can_miss() -> None:
    problem = load("gpt3-4k", OPTIMAL, "constraints=['time <= 300 ms']")
    front = search(problem, engine="exhaustive", population=400)
    assert front.frame["time_ms"].max() <= 300
    assert len(front) > 80
    proof = certify(problem, front)
    assert proof.missed_hypervolume < 0.02 * proof.max_hypervolume


def test_a_single_design_that_is_all_there_is_misses_nothing() -> None:
    shape = "fabric.shape=RI(4)@chiplet:100_FC(8)@package:50_RI(4)@node:20_SW(32)@pod:5"
    problem = load("gpt3-4k", shape)
    proof = certify(problem, search(problem, evaluations=50))
    assert proof.missed_hypervolume < 1e-6
    assert proof.largest_factor < 1 + 1e-9
