from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray
from evo_libra.front.indicators import (
    additive_epsilon,
    attainment_surfaces,
    hypervolume,
    igd_plus,
    largest_factor,
    scaled,
    staircase,
)

IDEAL, NADIR = np.array([1.0, 10.0]), np.array([100.0, 1000.0])
FRONT = np.array([[1.0, 10.0, 100.0], [1000.0, 100.0, 10.0]])

fronts = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=8).map(
    lambda points: np.array(points, dtype=float).T
)


def test_axes_are_logarithms_between_ideal_and_nadir() -> None:
    np.testing.assert_allclose(scaled(FRONT, IDEAL, NADIR), [[0, 0.5, 1], [1, 0.5, 0]])
    np.testing.assert_allclose(scaled(FRONT[:, :1], FRONT[:, 0], FRONT[:, 0]), [[0], [0]])
    # Beside a front of one point a unit is a decade.
    np.testing.assert_allclose(scaled(FRONT, FRONT[:, 0], FRONT[:, 0]), [[0, 1, 2], [0, -1, -2]])


def test_hypervolume_by_hand() -> None:
    # Corners (0, 1), (0.5, 0.5), (1, 0) under the reference point (1.1, 1.1).
    assert hypervolume(FRONT, IDEAL, NADIR) == pytest.approx(0.5 * 0.1 + 0.5 * 0.6 + 0.1 * 1.1)
    assert hypervolume(np.array([[2e2], [2e3]]), IDEAL, NADIR) == 0
    assert hypervolume(np.empty((2, 0)), IDEAL, NADIR) == 0


def test_distances_by_hand() -> None:
    assert igd_plus(FRONT, FRONT, IDEAL, NADIR) == 0
    assert additive_epsilon(FRONT, FRONT, IDEAL, NADIR) == 0
    # Only the middle point is left: it is 0.5 worse than each end in one objective.
    assert igd_plus(FRONT[:, 1:2], FRONT, IDEAL, NADIR) == pytest.approx(1 / 3)
    assert additive_epsilon(FRONT[:, 1:2], FRONT, IDEAL, NADIR) == pytest.approx(0.5)
    # Better than the reference everywhere: nothing to make up for, and something to spare.
    assert igd_plus(0.1 * FRONT, FRONT, IDEAL, NADIR) == 0
    assert additive_epsilon(0.1 * FRONT, FRONT, IDEAL, NADIR) == pytest.approx(-0.5)


def test_without_designs_distances_are_infinite() -> None:
    assert igd_plus(np.empty((2, 0)), FRONT, IDEAL, NADIR) == math.inf
    assert additive_epsilon(np.empty((2, 0)), FRONT, IDEAL, NADIR) == math.inf


def test_one_objective() -> None:
    best, found = np.array([[1.0]]), np.array([[10.0, 20.0]])
    ends = np.array([1.0]), np.array([100.0])
    assert hypervolume(found, *ends) == pytest.approx(0.6)
    assert igd_plus(found, best, *ends) == pytest.approx(0.5)
    assert additive_epsilon(found, best, *ends) == pytest.approx(0.5)


@given(fronts, fronts)
def test_indicators_agree_with_their_definitions(one: FloatArray, two: FloatArray) -> None:
    low, high = np.ones(2), np.full(2, 9.0)
    a, b = scaled(one, low, high).T, scaled(two, low, high).T
    worse = [[np.maximum(p - q, 0) for p in a] for q in b]
    igd = np.mean([min(np.linalg.norm(gap) for gap in gaps) for gaps in worse])
    epsilon = max(min((p - q).max() for p in a) for q in b)
    assert igd_plus(one, two, low, high) == pytest.approx(igd, abs=1e-12)
    assert additive_epsilon(one, two, low, high) == pytest.approx(epsilon, abs=1e-12)


def attained(point: tuple[float, ...], front: FloatArray) -> bool:
    return bool((front <= np.array(point)[:, None]).all(axis=0).any())


@pytest.mark.slow
@given(st.lists(fronts, min_size=1, max_size=6), st.integers(2, 3))
@settings(max_examples=60)
def test_surfaces_bound_what_a_share_of_the_fronts_attains(found: list[FloatArray], objectives: int) -> None:
    if objectives == 3:
        found = [np.vstack([front, 10 - front[:1]]) for front in found]
    grid = list(itertools.product(range(1, 11), repeat=2)) if objectives == 2 else list(
        itertools.product(range(1, 11, 3), repeat=3)
    )  # fmt: skip
    percentages = (25, 50, 75)
    for percentage, surface in zip(percentages, attainment_surfaces(found, percentages), strict=True):
        for point in grid:
            count = sum(attained(point, front) for front in found)
            assert attained(point, surface) == (count >= math.ceil(percentage / 100 * len(found)))


def test_a_search_that_found_nothing_counts() -> None:
    nothing = np.empty((2, 0))
    quarter, half, most = attainment_surfaces([FRONT, nothing, nothing, FRONT], (25, 50, 75))
    np.testing.assert_array_equal(quarter, FRONT)
    np.testing.assert_array_equal(half, FRONT)
    assert most.shape == (2, 0)


def test_staircase_goes_through_the_corners_and_attains_no_more() -> None:
    line = staircase(FRONT, np.array([200.0, 2000.0]))
    np.testing.assert_array_equal(line, [
        [1, 1, 10, 10, 100, 100, 200],
        [2000, 1000, 1000, 100, 100, 10, 10],
    ])  # fmt: skip
    assert staircase(np.empty((2, 0)), np.ones(2)).shape == (2, 0)


def test_a_factor_is_that_of_the_design_that_needs_it_most() -> None:
    # (1, 4) is reached by (2, 4) with a factor of 2, (3, 1) by (3, 3) with 3; by (2, 4) it would take 4.
    front, reference = np.array([[2.0, 3.0], [4.0, 3.0]]), np.array([[1.0, 3.0], [4.0, 1.0]])
    assert largest_factor(front, reference) == 3.0
    assert largest_factor(front, front) == 1.0
    assert largest_factor(reference, front) == 1.0
    assert largest_factor(2.0 * front, front) == 2.0
