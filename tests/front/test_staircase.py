"""The front of two objectives, by hand; `test_archive` has its laws."""

from __future__ import annotations

import numpy as np

from evo_libra.front.staircase import Staircase, stable_order, staircase


def test_a_staircase_has_the_lowest_of_each_place_and_the_first_of_equals() -> None:
    # (1, 5), (3, 2) and (4, 1) are on the front; (1, 6) is behind (1, 5), (2, 5) too, (3, 3) behind (3, 2), and the
    # second (3, 2) came later.
    first, second = np.array([3.0, 1, 4, 2, 3, 3, 1, 5]), np.array([3.0, 6, 1, 5, 2, 2, 5, 1])
    assert staircase(first, second).tolist() == [6, 4, 2]
    assert staircase(first[:0], second[:0]).tolist() == []
    assert staircase(-first, -second).tolist() == [7, 0, 3, 1]


def test_new_designs_take_the_place_of_those_that_they_dominate() -> None:
    stairs = Staircase.of_sorted(np.array([[1.0, 3.0, 5.0, 7.0], [8.0, 6.0, 4.0, 2.0]]))
    # (2, 4) dominates (3, 6) and (5, 4). (7, 2) is there, (8, 1) goes on, (2, 9) is dominated; (0, 9) comes first.
    new = np.array([[2.0, 7.0, 8.0, 2.0, 0.0], [4.0, 2.0, 1.0, 9.0, 9.0]])
    assert stairs.may_lack(new).tolist() == [0, 2, 4]
    found = stairs.add(new)
    assert found.objectives.tolist() == [[0.0, 1.0, 2.0, 7.0, 8.0], [9.0, 8.0, 4.0, 2.0, 1.0]]
    # Places count all designs that came: 4, then the new ones.
    assert (found.place.tolist(), found.count) == ([8, 0, 4, 3, 6], 9)
    same = found.add(new)
    assert (same.place.tolist(), same.count) == ([8, 0, 4, 3, 6], 14)


def test_equal_values_and_zeros_of_either_sign_stay_in_order() -> None:
    assert stable_order(np.array([2.0, -1.0, 0.0, -0.0, 2.0, -3.0, np.inf, -np.inf])).tolist() == [
        7, 5, 1, 2, 3, 0, 4, 6,
    ]  # fmt: skip
    close = np.array([1.0 + 2.0**-52, 1.0, 1.0 + 2.0**-52, 1.0])
    assert stable_order(close).tolist() == [1, 3, 0, 2]
