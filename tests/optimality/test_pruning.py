"""Spaces without a table: what is pruned is beaten at every cost."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.optimality.bounds import bound_variants
from evo_libra.optimality.ideal_bandwidth import ideal_of
from evo_libra.optimality.pruning import prune
from evo_libra.problem.file import combinations
from evo_libra.problem.problem import Problem
from evo_libra.problem.space import CountedStructures

LIBRA = ["npus=1536", "fabric.catalog=libra", "fabric.one_dimension_per_technology=false"]
PARTS = "fabric={catalog: parts-2024, domains: any, max_dimensions: 3, technologies: [xgmi, nvlink4, optics-400g]}"
CASES = {
    "libra": LIBRA,
    "libra, constrained": [*LIBRA, "constraints=['bw[0] >= 2 * bw[1]', 'cost <= 3 MUSD']"],
    "libra, expensive": [*LIBRA, "fabric.max_dimensions=3", "constraints=['cost >= 3 MUSD']"],
    "parts": [PARTS, "bandwidth=ports", "npus=512"],
    "parts that are sold": ["fabric={catalog: parts-2024, max_dimensions: 3}", "bandwidth=ports", "npus=1152"],
    "all parts": ["fabric={catalog: parts-2024, domains: any, max_dimensions: 2}", "bandwidth=ports", "npus=768"],
}


def load(*assignments: str) -> Problem:
    problem = load_problem("gpt3-4k", assignments)
    assert isinstance(problem, Problem)
    return problem


def counted(monkeypatch: pytest.MonkeyPatch, *assignments: str) -> Problem:
    monkeypatch.setattr(combinations, "MAX_STRUCTURES", 10)
    problem = load(*assignments)
    assert isinstance(problem.structures, CountedStructures)
    return problem


@pytest.mark.slow
@pytest.mark.parametrize("case", [
    pytest.param(case, marks=[pytest.mark.slow] if case == "libra, expensive" else []) for case in CASES
])  # fmt: skip
def test_no_structure_is_pruned_that_is_best_at_some_cost(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = load(*CASES[case]).relaxed()
    problem = counted(monkeypatch, *CASES[case]).relaxed()
    every, some = bound_variants(table), prune(problem)
    assert len(some) <= len(every)
    finite = every.min_cost[np.isfinite(every.min_cost)]
    cost = np.geomspace(finite.min() * 0.999, table.pricing.max_cost(), 150)
    exact, found = ideal_of(table, cost, every), ideal_of(problem, cost, some)
    np.testing.assert_allclose(found.time, exact.time, rtol=1e-8)
    assert np.isfinite(exact.time).any()


@pytest.mark.slow
def test_most_structures_are_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = counted(monkeypatch, *CASES["all parts"]).relaxed()
    assert len(prune(problem)) < 0.1 * len(problem.structures)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["libra", "parts", "parts that are sold"])
def test_every_structure_is_in_the_order_of_its_index(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    structures = counted(monkeypatch, *CASES[case]).structures
    assert isinstance(structures, CountedStructures)
    every, index = structures.every(), np.arange(len(structures))
    for found, expected in zip(every.look_up(index), structures.look_up(index), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_exhaustive_without_a_table_finds_the_least_time_at_each_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    table = load(*LIBRA)
    front = search(counted(monkeypatch, *LIBRA), engine="exhaustive", population=40, evaluations=100_000).frame
    assert len(front) > 20
    order = front.sort("cost_usd")
    ideal = ideal_of(table, order["cost_usd"].to_numpy())
    np.testing.assert_allclose(order["time_ms"].to_numpy() * 1e-3, ideal.time, rtol=1e-6)


@pytest.mark.slow
def test_exhaustive_of_parts_has_the_same_ends_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for case in ("parts", "all parts"):
        monkeypatch.setattr(combinations, "MAX_STRUCTURES", 500_000)
        one = search(load(*CASES[case]), engine="exhaustive", population=40, evaluations=100_000).frame
        two = search(counted(monkeypatch, *CASES[case]), engine="exhaustive", population=40, evaluations=100_000).frame
        for name in ("time_ms", "cost_usd"):
            np.testing.assert_allclose(two[name].min(), one[name].min(), rtol=1e-9)


@pytest.mark.slow
def test_constraints_that_nothing_meets_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = counted(monkeypatch, *LIBRA, "constraints=['cost <= 1 USD']")
    with pytest.raises(InputError, match="meets its constraints"):
        search(problem, engine="exhaustive", population=10)
