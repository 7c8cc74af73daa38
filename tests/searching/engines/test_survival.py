"""Tournaments, ranks, crowding and survival of NSGA-II, worked by hand (Deb et al. 2002)."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.searching.engines import survival
from evo_libra.searching.engines.survival import (
    ENDS,
    Crowding,
    along,
    crowding,
    largest,
    least_crowded,
    ranks,
    survivors,
    turns,
    winners,
)

STAIRS = np.array([[0.0, 2.0, 5.0, 10.0], [10.0, 6.0, 5.0, 0.0]])
"""Four designs of one front, 10 by 10 in size."""
# Crowding distance: the sum over objectives of |next - previous| / range, here over the number of objectives.
# Design 1: ((5 - 0) / 10 + (10 - 5) / 10) / 2 = 0.5; design 2: ((10 - 2) / 10 + (6 - 0) / 10) / 2 = 0.7.
STAIRS_CROWDING = [ENDS, 0.5, 0.7, ENDS]


@pytest.mark.parametrize(
    ("one", "two", "wins"),
    [
        (0, 1, 0),  # the better front, though the other design is less crowded
        (1, 0, 0),
        (0, 2, 2),  # of one front the less crowded
        (2, 0, 2),
        (2, 3, 2),  # of equals the first one
        (3, 2, 3),
        (1, 4, 4),  # the same in a later front
        (4, 5, 4),  # the fronts 1 and 2
    ],
)
def test_the_better_front_wins_then_the_less_crowded_then_the_first(one: int, two: int, wins: int) -> None:
    arrays = {"front": np.array([0, 1, 0, 0, 1, 2]), "crowding": np.array([1.0, 9.0, 2.0, 2.0, 10.0, 11.0])}
    assert winners(arrays, np.array([one]), np.array([two])).tolist() == [wins]


def test_of_a_single_front_the_less_crowded_wins_then_the_first() -> None:
    arrays = {"front": np.zeros(3, dtype=np.int64), "crowding": np.array([1.0, 2.0, 2.0])}
    found = winners(arrays, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))
    assert found.tolist() == [1, 1, 1, 2]


def test_a_parent_of_a_worse_front_has_met_itself() -> None:
    arrays = {"front": np.array([0, 1]), "crowding": np.array([0.0, 1.0])}
    found = {tuple(np.sort(Crowding().parents(arrays, 2, np.random.default_rng(seed)))) for seed in range(20)}
    # Either each meets the other, and design 0 wins twice, or each meets itself.
    assert found == {(0, 0), (0, 1)}


def test_turns_are_a_shuffle_of_the_members_as_often_as_needed() -> None:
    orders = [turns(7, 7, np.random.default_rng(seed)).tolist() for seed in range(50)]
    assert all(sorted(order) == list(range(7)) for order in orders)
    assert len(set(map(tuple, orders))) == 50
    twice = turns(7, 14, np.random.default_rng(0)).tolist()
    assert twice[:7] == twice[7:] == orders[0]
    assert turns(8, 3, np.random.default_rng(0)).tolist() == turns(8, 8, np.random.default_rng(0)).tolist()[:3]


def test_ranks_are_fronts_then_repeats_then_violations() -> None:
    # (1, 4), (2, 2) and (4, 1) are the first front; (3, 3) is behind (2, 2), (5, 5) behind (3, 3). Of the two designs
    # (2, 2) the last one counts; the other one comes after the 3 fronts, so in front 0 + 3. Violation 1 is in front 4,
    # the larger violation 2 in front 5.
    objectives = np.array([[1.0, 2, 4, 3, 5, 2, 0, 0, 0], [4.0, 2, 1, 3, 5, 2, 0, 0, 0]])
    violation = np.array([0.0, 0, 0, 0, 0, 0, 1, 2, 1])
    assert ranks(objectives, violation).tolist() == [0, 3, 0, 1, 2, 0, 4, 5, 4]
    assert ranks(objectives[:, :6], violation[:6]).tolist() == [0, 3, 0, 1, 2, 0]
    assert ranks(objectives[:, 6:], violation[6:]).tolist() == [0, 1, 0]
    # A limit that is kept to the digit, or with room, is kept.
    assert ranks(objectives[:, :2], np.array([0.0, -1.0])).tolist() == [0, 0]


def test_crowding_by_hand() -> None:
    one = np.zeros(4, dtype=np.int64)
    np.testing.assert_allclose(crowding(STAIRS, one), STAIRS_CROWDING)
    np.testing.assert_allclose(along(STAIRS), STAIRS_CROWDING)
    np.testing.assert_allclose(crowding(STAIRS / 100.0, one), STAIRS_CROWDING)
    np.testing.assert_allclose(along(STAIRS / 100.0), STAIRS_CROWDING)
    # A second front, in between and in another order: (40, 20), (20, 30) and (25, 22), 20 by 10 in size.
    # Its middle: ((40 - 20) / 20 + (30 - 20) / 10) / 2 = 1.
    order = [4, 0, 1, 5, 2, 3, 6]
    both = np.concatenate([STAIRS, [[40.0, 20.0, 25.0], [20.0, 30.0, 22.0]]], axis=1)[:, order]
    front = np.array([0, 0, 0, 0, 1, 1, 1])[order]
    np.testing.assert_allclose(crowding(both, front), np.array([*STAIRS_CROWDING, ENDS, ENDS, 1.0])[order])
    assert crowding(np.empty((2, 0)), np.empty(0, dtype=np.int64)).tolist() == []


def test_a_repeat_has_no_distance() -> None:
    objectives = STAIRS[:, [0, 1, 1, 2, 3]]
    np.testing.assert_allclose(crowding(objectives, np.zeros(5, dtype=np.int64)), [ENDS, 0.5, 0.0, 0.7, ENDS])
    three = np.concatenate([objectives, objectives[:1]])
    # Now over three objectives: (0.5 + 0.5 + 0.5) / 3 and (0.8 + 0.6 + 0.8) / 3.
    np.testing.assert_allclose(crowding(three, np.zeros(5, dtype=np.int64)), [ENDS, 0.5, 0.0, 2.2 / 3, ENDS])


def test_crowding_of_three_objectives_by_hand() -> None:
    # All objectives range from 0 to 8; in each the middle design is between 2 and 4: 3 (4 - 2) / 8 / 3 = 0.25.
    middle = np.array([[3.0, 0, 2, 4, 8], [3.0, 8, 4, 2, 0], [3.0, 4, 8, 0, 2]])
    for distance in (crowding(middle, np.zeros(5, dtype=np.int64)), along(middle[:, [1, 2, 0, 3, 4]])[[2, 0, 1, 3, 4]]):
        np.testing.assert_allclose(distance, [0.25, ENDS, ENDS, ENDS, ENDS])
    # What is the same all over a front adds nothing and has no ends: ((4 - 0) / 4 + (4 - 0) / 4) / 3.
    flat = np.array([[1.0, 0, 4], [1.0, 4, 0], [7.0, 7, 7]])
    np.testing.assert_allclose(crowding(flat, np.zeros(3, dtype=np.int64)), [2 / 3, ENDS, ENDS])
    np.testing.assert_allclose(along(flat[:, [1, 0, 2]]), [ENDS, 2 / 3, ENDS])


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_designs_are_ends(count: int) -> None:
    np.testing.assert_array_equal(crowding(STAIRS[:, :count], np.zeros(count, dtype=np.int64)), [ENDS] * count)
    np.testing.assert_array_equal(along(STAIRS[:, :count]), [ENDS] * count)
    many = crowding(STAIRS[:, :3], np.array([0, 1, 2]))
    np.testing.assert_array_equal(many, [ENDS] * 3)


def test_the_largest_are_chosen_and_of_equals_the_first() -> None:
    values = np.array([1.0, 3.0, 2.0, 3.0, 2.0, 2.0])
    assert [np.flatnonzero(largest(values, count)).tolist() for count in range(8)] == [
        [], [1], [1, 3], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5],
    ]  # fmt: skip


def test_a_front_that_is_too_large_loses_the_most_crowded() -> None:
    kept, value = least_crowded(STAIRS, 3)
    assert kept.tolist() == [0, 2, 3]
    np.testing.assert_allclose(value, [ENDS, 0.7, ENDS])
    # The same with a dominated and an infeasible design beside the front.
    objectives = np.concatenate([[[11.0], [11.0]], STAIRS, [[-1.0], [-1.0]]], axis=1)
    kept, front, value = survivors(objectives, np.array([0.0, 0, 0, 0, 0, 0.5]), 3)
    assert (kept.tolist(), front.tolist()) == ([1, 3, 4], [0, 0, 0])
    np.testing.assert_allclose(value, [ENDS, 0.7, ENDS])
    kept, front, _ = survivors(objectives[:, :5], np.zeros(5), 4)
    assert (kept.tolist(), front.tolist()) == ([1, 2, 3, 4], [0, 0, 0, 0])


@pytest.mark.parametrize(("designs", "broken"), [(4, 0.0), (5, 0.5), (5, 2.0)])
def test_a_first_front_that_fills_the_population_is_thinned(designs: int, broken: float) -> None:
    def thin(front: FloatArray, size: int) -> tuple[IntArray, FloatArray]:
        return np.arange(front.shape[1])[-size:], np.full(size, 7.0)

    objectives = np.concatenate([STAIRS, [[-1.0], [-1.0]]], axis=1)[:, :designs]
    violation = np.array([0.0, 0, 0, 0, broken])[:designs]
    for size in (3, 4):
        kept, _, value = survivors(objectives, violation, size, thin)
        assert (kept.tolist(), value.tolist()) == ([0, 1, 2, 3][-size:], [7.0] * size)


def test_whole_fronts_survive_and_the_next_one_is_cut() -> None:
    # (1, 4), (2, 2), (4, 1), then the stairs behind (2, 2), then two that break a limit.
    objectives = np.concatenate([[[1.0, 2, 4], [4.0, 2, 1]], STAIRS + 2.0, [[0.0, 0.0], [0.0, 0.0]]], axis=1)
    violation = np.array([0.0] * 7 + [2.0, 1.0])
    kept, front, value = survivors(objectives, violation, 6)
    assert (kept.tolist(), front.tolist()) == ([0, 1, 2, 3, 5, 6], [0, 0, 0, 1, 1, 1])
    # The middle of the first front: ((4 - 1) / 3 + (4 - 1) / 3) / 2 = 1.
    np.testing.assert_allclose(value, [ENDS, 1.0, ENDS, ENDS, 0.7, ENDS])
    kept, front, value = survivors(objectives, violation, 8)
    assert (kept.tolist(), front.tolist()) == ([0, 1, 2, 3, 4, 5, 6, 8], [0, 0, 0, 1, 1, 1, 1, 2])
    np.testing.assert_allclose(value, [ENDS, 1.0, ENDS, *STAIRS_CROWDING, 0.0])
    # Only what breaks limits: the least broken.
    kept, front, value = survivors(objectives[:, 7:], violation[7:], 1)
    assert (kept.tolist(), front.tolist(), value.tolist()) == ([1], [0], [0.0])


@pytest.mark.parametrize("unfiltered", [0, 2000])
def test_the_first_front_of_three_objectives_is_sorted_and_has_the_first_of_equals(
    unfiltered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survival, "_UNFILTERED", unfiltered)
    # (1, 5, 5), (3, 1, 1) twice, (2, 2, 2), and (4, 0, 4), which is best in the second objective alone; (4, 4, 4) and
    # (2, 2, 3) are behind (2, 2, 2).
    objectives = np.array([[3.0, 4, 2, 1, 3, 2, 4], [1.0, 4, 2, 5, 1, 2, 0], [1.0, 4, 2, 5, 1, 3, 4]])
    assert survival._first_front(objectives).tolist() == [3, 2, 0, 6]  # noqa: SLF001 - its order is what `along` needs
