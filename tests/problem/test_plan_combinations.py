"""Combinations of plans of several workloads: those that are left have the least value of all of them."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.problem.best_plans import prune_plans
from evo_libra.problem.file.registry import load_open_problem
from evo_libra.problem.plan_combinations import combinations_within
from evo_libra.problem.plans import all_plans
from evo_libra.problem.problem import Problem
from tests.problem.test_best_plans import DATA, MODEL, networks, pairs, values


def problem_of(folder: Path, constraint: str) -> Problem:
    data = deepcopy(DATA)
    (first,) = data["workloads"]
    second = deepcopy(first) | {
        "name": "wide",
        "generator": MODEL | {"hidden": 2048, "feed_forward": 5632},
        "weight": 2,
    }
    second["parallelism"] = {"tp": [1, 2, 4], "pp": [1, 2]}
    fixed = deepcopy(second) | {"name": "fixed", "parallelism": {"tp": 2, "pp": 1}}
    fixed["training"]["zero"] = 1
    data["workloads"] = [first, fixed, second]
    (folder / "p.yaml").write_text(json.dumps(data))
    return load_open_problem(str(folder / "p.yaml"), (), None, [constraint])


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "constraint"), [
    ("time", "sum(bw) == 100 GB/s"), ("time", "cost <= 3 kUSD"), ("time-cost", "sum(bw) == 100 GB/s"),
])  # fmt: skip
def test_what_is_left_has_the_least_value_of_every_combination(tmp_path: Path, goal: str, constraint: str) -> None:
    problem = problem_of(tmp_path, constraint)
    designs, plans = networks(problem), all_plans(problem.time, problem.constraints).plans
    network, plan = np.indices((len(designs.structure), plans.shape[1])).reshape(2, -1)
    every = replace(designs.select(network), plan=plans[:, plan])
    every = every.select(np.flatnonzero(problem.time.fits(every.npus, every.plan, every.technology)))
    value = values(problem, every, goal)
    assert np.isfinite(value).sum() > 100
    left = prune_plans(problem, designs, goal)
    np.testing.assert_allclose(values(problem, left, goal), value.min(), rtol=2e-9)
    assert pairs(left) <= pairs(every.select(np.flatnonzero(value <= value.min() * (1 + 2e-9))))


def test_the_traffic_of_workloads_is_looked_up_for_each_alone(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "sum(bw) == 100 GB/s")
    designs, plans = networks(problem), all_plans(problem.time, problem.constraints).plans
    network, plan = np.indices((len(designs.structure), plans.shape[1])).reshape(2, -1)
    every = replace(designs.select(network), plan=plans[:, plan])
    assert problem.traffic.listed is None
    fits = problem.time.fits(every.npus, every.plan, every.technology)
    np.testing.assert_array_equal(problem.traffic.fits(every), fits)
    held = every.select(np.flatnonzero(fits))
    known = problem.time.traffic(held.npus, held.technology, held.plan)
    np.testing.assert_array_equal(problem.traffic.of(held), known)


def test_sums_within_a_limit() -> None:
    # 1 + 10, 1 + 11 and 2 + 10 are at most 12; 2 + 11 is not.
    found = combinations_within([np.array([1.0, 2.0]), np.array([10.0, 11.0])], 12.0)
    assert found.T.tolist() == [[0, 0], [0, 1], [1, 0]]


_LISTS = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4)


@given(_LISTS, st.integers(0, 30))
def test_sums_within_a_limit_are_those_of_all_combinations(lists: list[list[int]], limit: int) -> None:
    found = combinations_within([np.array(values, dtype=np.float64) for values in lists], float(limit))
    every = product(*(range(len(values)) for values in lists))
    expected = {c for c in every if sum(values[place] for values, place in zip(lists, c, strict=True)) <= limit}
    assert set(map(tuple, found.T.tolist())) == expected
