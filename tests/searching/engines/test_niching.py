"""Survival of NSGA-III, worked by hand (Deb and Jain 2014); `test_nsga` has its laws and pymoo's figures."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.searching.engines import niching
from evo_libra.searching.engines.niching import Niches, Scale, chosen_by_niche, das_dennis, nearest, rescale

NOTHING = Scale(np.full(2, 1e300), np.full(2, -1e300), np.empty((2, 0)))
DIRECTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])


def test_directions_are_the_whole_multiples_of_a_step() -> None:
    assert sorted(das_dennis(2, 2).tolist()) == [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    assert len(das_dennis(3, 3)) == 10  # the binomial coefficient of 3 + 3 - 1 over 3 - 1


@pytest.mark.parametrize(
    ("most", "count", "inner"),
    [
        (2, 3, 0),  # one design for each objective at least
        (6, 6, 0),  # 4 over 2 with two steps
        (8, 6, 0),  # no room for a layer of three inside
        (9, 9, 3),
        (10, 10, 0),  # 5 over 2 with three steps, one of which lies inside
    ],
)
def test_a_second_layer_is_half_as_wide(most: int, count: int, inner: int) -> None:
    found = niching.reference_directions(3, most)
    assert len(found) == count
    # Half of a corner (1, 0, 0) and half of the middle: (2 / 3, 1 / 6, 1 / 6).
    corners = np.isclose(np.sort(found, axis=1), [1 / 6, 1 / 6, 2 / 3]).all(axis=1)
    assert corners.sum() == inner


def test_the_plane_through_the_extremes_is_the_nadir() -> None:
    # Beside the ideal (1, 1) the extremes are (6, 1) and (1, 6); (9, 9) is dominated and is the worst, no extreme.
    first = np.array([[1.0, 2.0, 6.0], [6.0, 2.0, 1.0]])
    scale, nadir = rescale(NOTHING, np.concatenate([first, [[9.0], [9.0]]], axis=1), first)
    assert (scale.ideal.tolist(), scale.worst.tolist(), scale.extremes.tolist()) == (
        [1.0, 1.0], [9.0, 9.0], [[6.0, 1.0], [1.0, 6.0]],
    )  # fmt: skip
    np.testing.assert_allclose(nadir, [6.0, 6.0])
    # From an ideal (0, 0) of old, x / a + y / b = 1 through (4, 1) and (1, 4) meets the axes at 5.
    old = Scale(np.zeros(2), np.full(2, 9.0), np.empty((2, 0)))
    scale, nadir = rescale(old, np.array([[4.0, 1.0], [1.0, 4.0]]), np.array([[4.0, 1.0], [1.0, 4.0]]))
    np.testing.assert_allclose(nadir, [5.0, 5.0])
    # The nadir is nowhere worse than the worst design.
    _, nadir = rescale(Scale(np.zeros(2), np.zeros(2), np.empty((2, 0))), *[np.array([[4.0, 1.0], [1.0, 4.0]])] * 2)
    np.testing.assert_allclose(nadir, [4.0, 4.0])


def test_without_a_plane_the_worst_of_the_front_is_the_nadir() -> None:
    # One design alone is the extreme of both objectives.
    _, nadir = rescale(
        Scale(np.zeros(2), np.zeros(2), np.empty((2, 0))), np.array([[3.0], [4.0]]), np.array([[3.0], [4.0]])
    )
    np.testing.assert_allclose(nadir, [3.0, 4.0])
    # What is the same everywhere has a scale of 1.
    _, nadir = rescale(NOTHING, np.array([[1.0, 3.0], [7.0, 7.0]]), np.array([[1.0], [7.0]]))
    np.testing.assert_allclose(nadir, [3.0, 8.0])


@pytest.mark.parametrize(
    ("extremes", "ideal", "reach"),
    [
        ([[4.0, 1.0], [1.0, 4.0]], [0.0, 0.0], [5.0, 5.0]),
        ([[4.0, 1.0], [1.0, 4.0]], [1.0, 1.0], [4.0, 4.0]),
        ([[6.0, 2.0], [2.0, 3.0]], [0.0, 0.0], [14.0, 3.5]),  # x / 14 + y / 3.5 = 1
        ([[4.0, 5.0], [1.0, 2.0]], [0.0, 0.0], None),  # it meets the second axis below the ideal
        ([[4.0, 4.0], [1.0, 1.0]], [0.0, 0.0], None),  # one design is no line
    ],
)
def test_intercepts(extremes: list[list[float]], ideal: list[float], reach: list[float] | None) -> None:
    found = niching._intercepts(np.array(extremes), np.array(ideal))  # noqa: SLF001 - a formula of its own
    assert (found is None) == (reach is None)
    if found is not None:
        np.testing.assert_allclose(found, reach)


def test_the_nearest_direction_has_the_longest_projection() -> None:
    # (3, 1) reaches 3, 1 and 4 / sqrt(2) along them; (2, 2) lies on the third; (1, 5) is 1 beside the second.
    which, distance = nearest(np.array([[3.0, 2.0, 1.0, 0.0], [1.0, 2.0, 5.0, 0.0]]), DIRECTIONS)
    assert which.tolist() == [0, 2, 1, 0]
    np.testing.assert_allclose(distance, [1.0, 0.0, 1.0, 0.0], atol=1e-7)


@pytest.mark.parametrize(
    ("occupied", "count", "chosen"),
    [
        ([0, 2], 1, {(1,)}),  # the nearest one of an empty direction
        ([0, 2], 2, {(0, 1)}),  # whose second design comes before a third one of the other
        ([1, 0], 1, {(2,)}),
        ([1, 0], 2, {(0, 2), (1, 2)}),  # either design of a direction that has one
        ([1, 1], 1, {(0,), (1,), (2,)}),
        ([5, 0], 3, {(0, 1, 2)}),
    ],
)
def test_the_last_places_go_to_the_emptiest_directions(
    occupied: list[int], count: int, chosen: set[tuple[int, ...]]
) -> None:
    niche, distance = np.array([0, 0, 1]), np.array([0.3, 0.1, 0.9])
    found = {
        tuple(np.sort(chosen_by_niche(niche, distance, np.array(occupied), count, np.random.default_rng(seed))))
        for seed in range(60)
    }
    assert found == chosen


def survivors(objectives: FloatArray, violation: list[float], size: int) -> list[int]:
    arrays = {"size": np.array(size), **Niches().memory(2, size)}
    kept, _ = Niches().survivors(arrays, objectives, np.array(violation), np.random.default_rng(0))
    return kept.tolist()


def test_designs_survive_that_are_near_to_directions() -> None:
    # Three directions; (5, 5) is on the middle one, (4, 6.5) beside it, and the ends have the others.
    objectives = np.array([[0.0, 4.0, 5.0, 10.0, 11.0, 1.0], [10.0, 6.5, 5.0, 0.0, 11.0, 1.0]])
    assert niching.reference_directions(2, 3).tolist() == [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    assert survivors(objectives[:, :5], [0.0] * 5, 3) == [0, 2, 3]
    # (1, 1) would dominate the middle and breaks a limit: it comes after (11, 11), which all dominate.
    assert survivors(objectives, [0.0] * 5 + [0.1], 5) == [0, 1, 2, 3, 4]
    assert survivors(objectives, [0.0] * 4 + [0.2, 0.1], 5) == [0, 1, 2, 3, 5]
    assert survivors(objectives, [3.0, 2.0, 1.0, 4.0, 5.0, 6.0], 2) == [1, 2]


def test_a_parent_that_breaks_limits_has_met_no_better_one() -> None:
    pairs = {
        tuple(np.sort(Niches().parents({"violation": np.array([0.0, 1.0])}, 2, np.random.default_rng(n))))
        for n in range(20)
    }
    assert pairs == {(0, 0), (0, 1)}
    order = Niches().parents({"violation": np.zeros(5)}, 5, np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(5))
