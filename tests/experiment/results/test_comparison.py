"""Indicators of fronts: their laws, and the attainment surface by its definition."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.experiment.results.comparison import LEVELS, _coverage, compare
from evo_libra.front.archive import non_dominated

OBJECTIVES = ("time_ms", "cost_usd")
LARGE = 10_000


def front(seed: int, count: int = 12, objectives: int = 2) -> FloatArray:
    points = 10 ** np.random.default_rng(seed).uniform(0, 2, (objectives, count))
    return points[:, non_dominated(points)]


def dominates_weakly(front: FloatArray, point: FloatArray) -> bool:
    return bool((front <= point[:, None]).all(axis=0).any())


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_laws_of_the_indicators(one: int, other: int) -> None:
    a, b = front(one), front(other)
    both = np.concatenate([a, b], axis=1)
    best = both[:, non_dominated(both)]
    found = compare(OBJECTIVES, {"a": [a], "b": [b], "best": [best]})
    volumes = {name: runs[0].hypervolume for name, runs in found.runs.items()}
    assert volumes["best"] >= max(volumes["a"], volumes["b"]) - 1e-12
    assert found.runs["best"][0].epsilon == 1.0
    for name in ("a", "b"):
        assert found.runs[name][0].epsilon >= 1.0
        assert found.coverage["best", name] == 1.0
        assert found.epsilon["best", name] <= 1.0
        # That factor is enough, and no smaller one is.
        factor = found.epsilon[name, "best"]
        points = {"a": a, "b": b}[name]
        assert all(dominates_weakly(points / (factor * (1 + 1e-9)), point) for point in best.T)
        assert not all(dominates_weakly(points / (factor * (1 - 1e-6)), point) for point in best.T)
        share = np.mean([dominates_weakly(points, point) for point in best.T])
        assert found.coverage[name, "best"] == pytest.approx(share)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5), st.sampled_from([2, 3]))
def test_attainment_surfaces_are_what_they_are_called(seeds: list[int], objectives: int) -> None:
    group = [front(seed, 8, objectives) for seed in seeds]
    found = compare(OBJECTIVES if objectives == 2 else (*OBJECTIVES, "power_W"), {"a": group})
    every = np.concatenate(group, axis=1)
    probes = 10 ** np.random.default_rng(1).uniform(0, 2, (objectives, 100))
    for level in LEVELS:
        needed = max(1, int(np.ceil(level / 100 * len(group))))
        surface = found.attainment["a"][level]
        for point in np.concatenate([probes, every], axis=1).T:
            attained = sum(dominates_weakly(one, point) for one in group) >= needed
            assert dominates_weakly(surface, point) == attained


def test_of_several_seeds_the_median_pair_counts() -> None:
    base = front(1)
    found = compare(OBJECTIVES, {"a": [base, base, base * 3], "b": [base]})
    assert found.epsilon["a", "b"] == pytest.approx(1.0)
    assert found.coverage["a", "b"] == 1.0
    assert [run.designs for run in found.runs["a"]] == [base.shape[1]] * 3


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans())
def test_coverage_is_that_of_all_pairs(seed: int, objectives: int, whole: bool) -> None:  # noqa: FBT001 - drawn
    random = np.random.default_rng(seed)
    # Not only fronts: some designs dominate others of their own set, or repeat them.
    sets = [random.uniform(1, 4, (objectives, int(random.integers(1, 40)))) for _ in range(2)]
    a, b = [each.round() if whole else each for each in sets]
    b = np.concatenate([b, a[:, : int(random.integers(0, a.shape[1] + 1))]], axis=1)
    found = compare(("x",) * objectives, {"a": [a], "b": [b]})
    for (one, other), share in {("a", "b"): (a, b), ("b", "a"): (b, a)}.items():
        pairs = (share[0][:, :, None] <= share[1][:, None, :]).all(axis=0).any(axis=0)
        assert found.coverage[one, other] == pairs.mean()


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.booleans())
def test_epsilon_of_two_objectives_is_that_of_all_pairs(seed: int, whole: bool) -> None:  # noqa: FBT001 - drawn
    random = np.random.default_rng(seed)
    a, b = (random.uniform(1, 9, (2, int(random.integers(1, 40)))) for _ in range(2))
    a, b = (a.round(), b.round()) if whole else (a, b)
    found = compare(OBJECTIVES, {"a": [a], "b": [b]}).epsilon
    for (one, other), sets in {("a", "b"): (a, b), ("b", "a"): (b, a)}.items():
        expected = (sets[0][:, :, None] / sets[1][:, None, :]).max(axis=0).min(axis=0).max()
        assert found[one, other] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("objectives", [2, 3])
def test_coverage_of_large_fronts_takes_little_memory(objectives: int) -> None:
    angles = np.abs(np.random.default_rng(0).normal(size=(objectives, 2 * LARGE)))
    points = 10 ** (2 - angles / np.linalg.norm(angles, axis=0))
    tracemalloc.start()
    try:
        share = _coverage(points[:, :LARGE], (LARGE, points[:, LARGE:]))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.0 <= share < 0.9
    assert most < 1000 * LARGE  # bytes; all pairs would take LARGE**2


def test_four_objectives_have_no_attainment() -> None:
    found = compare(("a", "b", "c", "d"), {"x": [front(1, 10, 4)], "y": [front(2, 10, 4)]})
    assert found.attainment == {}
    assert found.coverage["x", "y"] >= 0


def test_nothing_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="no runs"):
        compare(OBJECTIVES, {})
    with pytest.raises(InputError, match="empty"):
        compare(OBJECTIVES, {"a": [np.empty((2, 0))]})
