"""Branch and bound: random spaces end at the ideal of all structures, and no step proves too much."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from designs import design_file
from effort import costly
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import certify, load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.optimality import branch_and_bound as module
from evo_libra.optimality.bounds import bound_variants
from evo_libra.optimality.branch_and_bound import branch_and_bound
from evo_libra.optimality.certificate import certificates
from evo_libra.optimality.ideal_bandwidth import ideal_of, levels
from evo_libra.optimality.partial_structures import Budgets, PartialStructures
from evo_libra.optimality.useful_ways import UsefulOptions
from evo_libra.problem.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(folder: Path, seed: int, *assignments: str) -> Problem:
    """Return a problem of random technologies: prices, caps and sizes, some of which stand for others."""
    random = np.random.default_rng(seed)
    technologies = {}
    for place in range(int(random.integers(2, 5))):
        figures = {"link_usd_per_GBps": float(random.choice([1.0, 2.0, 5.0, 9.0])), "blocks": ["ring"]}
        if random.random() < 0.4:
            figures["largest_dimension"] = int(random.choice([4, 8, 16]))
        if random.random() < 0.4:
            figures["bandwidth_cap_GBps"] = float(random.choice([50.0, 200.0]))
        technologies[f"t{place}"] = figures
    technologies["last"] = {"link_usd_per_GBps": float(random.uniform(1.0, 20.0)), "blocks": ["ring"]}
    catalog = folder / f"catalog-{seed}.yaml"
    catalog.write_text(yaml.safe_dump({"name": "random", "source": "a test", "technologies": technologies}))
    fabric = f"fabric={{catalog: {catalog}, max_dimensions: {random.integers(2, 5)}, "
    fabric += f"one_dimension_per_technology: {str(random.random() < 0.5).lower()}}}"
    npus = f"npus={random.choice([64, 96, 192, 256])}"
    problem = load_problem("gpt3-4k", [npus, "workloads[0].parallelism.tp=4", fabric, *assignments])
    assert isinstance(problem, Problem)
    return problem


def known(problem: Problem, count: int) -> tuple[FloatArray, FloatArray]:
    """Return costs, and the least time at each by a look at every structure."""
    bounds = bound_variants(problem)
    ideal = ideal_of(problem, levels(problem, bounds, count), bounds)
    return ideal.cost, ideal.time


LIMITS: list[list[str]] = [
    [],
    ["constraints=['cost <= 2 MUSD', 'bw[0] <= 300 GB/s']"],
    ["constraints=['cost >= 20 kUSD']"],
]


@pytest.mark.slow
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@given(seed=SEEDS)
@costly(8)
def test_random_spaces_end_at_the_ideal(limits: list[str], tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    problem = random_problem(tmp_path_factory.mktemp("spaces"), seed, *limits)
    cost, time = known(problem, 30)
    random, before = np.random.default_rng(seed), np.zeros(len(cost))
    # A front that knows nothing, one that is nearly the best, and one of its designs.
    for start in (
        np.full(len(cost), np.inf),
        time * random.uniform(1.0, 1.1),
        np.where(cost > cost[9], time[9], np.inf),
    ):
        before = np.zeros(len(cost))
        for found in branch_and_bound(problem, cost, np.minimum.accumulate(start)):
            assert (found.bound <= time * (1 + 1e-9)).all()
            assert (found.bound >= before).all()
            finite = np.isfinite(found.ideal.time)
            assert (found.bound[finite] >= (1.0 - found.gap) * found.ideal.time[finite] * (1 - 1e-6)).all()
            before = found.bound
        assert not found.waiting
        assert found.gap == 0
        np.testing.assert_allclose(found.ideal.time, np.minimum.accumulate(time), rtol=1e-8)
        np.testing.assert_allclose(found.bound, time, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("npus", [192, 512])
def test_spaces_of_parts_end_at_the_ideal(npus: int) -> None:
    parts = "fabric={catalog: parts-2024, domains: any, max_dimensions: 3, technologies: [xgmi, nvlink4, optics-400g]}"
    loaded = load_problem("gpt3-4k", [parts, "bandwidth=ports", f"npus={npus}"])
    assert isinstance(loaded, Problem)
    problem = loaded.relaxed()
    cost, time = known(problem, 40)
    for found in branch_and_bound(problem, cost, np.full(len(cost), np.inf)):
        assert (found.bound <= time * (1 + 1e-9)).all()
    np.testing.assert_allclose(found.ideal.time, time, rtol=1e-8)
    np.testing.assert_allclose(found.bound, time, rtol=1e-6)


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=8)
def test_scores_that_stand_for_bounds_prove_no_more_and_no_less_than_the_gap(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    problem = random_problem(tmp_path_factory.mktemp("spaces"), seed)
    cost, time = known(problem, 30)
    start = time * np.random.default_rng(seed).uniform(1.0, 1.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_EXACT_PROOF", 0)
        patch.setattr(module, "_BATCH", 3)
        for found in branch_and_bound(problem, cost, np.minimum.accumulate(start)):
            assert (found.bound <= time * (1 + 1e-9)).all()
            assert (found.bound >= (1.0 - found.gap) * found.ideal.time * (1 - 1e-6)).all()
    np.testing.assert_allclose(found.bound, time, rtol=1e-6)


@given(seed=SEEDS)
@settings(max_examples=40)
def test_scores_are_the_least_ratio_to_the_best_time_known(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, depth = int(random.integers(1, 600)), 3
    cost = np.sort(random.uniform(1.0, 100.0, int(random.integers(1, 60))))
    time = np.minimum.accumulate(random.uniform(0.5, 5.0) + 50.0 * random.uniform(0.5, 1.0, len(cost)) / cost)
    time[cost < random.uniform(0.0, 20.0)] = np.inf
    figures = [random.uniform(0.0, 3.0, count), random.uniform(0.0, 90.0, count), random.uniform(0.0, 3.0, count)]
    lowest, at = random.uniform(0.0, 60.0, count), random.uniform(1.0, 100.0, count)
    height = np.where(random.random(count) < 0.5, -np.inf, random.uniform(0.0, 5.0, count))
    whole, few = np.ones((depth, count), dtype=np.int64), np.ones(count, dtype=np.int64)
    base, kappa, min_time = figures
    nodes = PartialStructures(
        base=base, kappa=kappa, min_time=min_time, min_cost=lowest,
        npus=whole, technology=whole, depth=few, left=few, last=few, group=few,
        at=at, height=height, slope=random.uniform(0.0, 1.0, count), score=at,
    )  # fmt: skip
    found = nodes.prune(Budgets(cost, time))
    with np.errstate(invalid="ignore"):
        ratio = nodes.bound(cost) / time
    expected = np.where(np.isnan(ratio), np.inf, ratio).min(axis=1)
    np.testing.assert_array_equal(found.score, expected[expected < 1])
    np.testing.assert_array_equal(found.base, nodes.base[expected < 1])


def test_only_technologies_that_nothing_beats_are_gone_on_with() -> None:
    loose = ["fabric.catalog=libra", "fabric.one_dimension_per_technology=false"]
    problem = load_problem("gpt3-4k", loose)
    assert isinstance(problem, Problem)
    every, useful = problem.counted.options(0, 4096, -1), UsefulOptions(problem).of(0, 4096, -1)
    assert set(useful[1]) == set(every.size)
    assert len(useful[0]) < len(every.size)
    for rest in (["constraints=['cost >= 1 MUSD']"], ["constraints=['bw[pod] >= 10 GB/s']"]):
        other = load_problem("gpt3-4k", [*loose, *rest])
        assert isinstance(other, Problem)
        assert len(UsefulOptions(other).of(0, 4096, -1)[0]) == len(every.size)
    parts = load_problem(design_file("dlrm-1k-parts"))
    assert isinstance(parts, Problem)
    state = 0, parts.npus, -1
    assert len(UsefulOptions(parts).of(*state)[0]) == len(parts.counted.options(*state).size)


@pytest.mark.slow
def test_a_proof_that_is_stopped_or_has_no_time_ends_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("gpt3-4k")
    assert isinstance(problem, Problem)
    front = search(problem, evaluations=2000)
    best = certify(problem, front)
    monkeypatch.setattr("evo_libra.optimality.certificate.ENUMERATED", 0)
    whole = certify(problem, front)
    for some in (list(certificates(problem, front, None, lambda: True)), list(certificates(problem, front, 0.0))):
        assert len(some) == 1
        assert some[0].waiting > 0
        assert (some[0].factor >= whole.factor * (1 - 1e-9)).all()
    np.testing.assert_allclose(whole.factor, best.factor, rtol=1e-6)
    assert whole.waiting == 0
