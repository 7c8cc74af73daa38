"""The least product of time and cost, worked by hand."""

from __future__ import annotations

import numpy as np
from random_programs import one

from evo_libra.bandwidth import product
from evo_libra.bandwidth.product import LeastProduct, least_product

NONE = {"rows": np.empty((0, 2)), "limit": np.empty(0), "equality": np.zeros(0, dtype=np.bool_)}


def test_a_product_by_hand() -> None:
    # T = 1 + 1 / b and cost b + 2, as the second dimension is at its floor: T cost = b + 3 + 2 / b is least at
    # b = sqrt(2), where it is 3 + 2 sqrt(2).
    program = one([[1.0, 0.0]], base=1.0, low=[0.0, 2.0], **NONE)
    found = least_product(program, np.ones((2, 1)))
    np.testing.assert_allclose(found.bandwidth[:, 0], [np.sqrt(2.0), 2.0], rtol=1e-4)
    np.testing.assert_allclose(found.time * found.cost, 3.0 + 2.0 * np.sqrt(2.0), rtol=1e-9)
    np.testing.assert_allclose(found.bound, 3.0 + 2.0 * np.sqrt(2.0), rtol=1e-8)


def test_the_floors_are_best_where_more_does_not_pay() -> None:
    # T = 1 + 1 / b_0 + 1 / b_1 and cost 3 b_0 + 3 b_1: the product at the floors of 1/2 is 5 x 3, at 1 it is 3 x 6.
    found = least_product(one([[1.0, 0.0], [0.0, 1.0]], base=1.0, low=[0.5, 0.5], **NONE), np.full((2, 1), 3.0))
    np.testing.assert_allclose(found.bandwidth[:, 0], 0.5, rtol=1e-6)
    np.testing.assert_allclose([found.time[0], found.cost[0], found.bound[0]], [5.0, 3.0, 15.0], rtol=1e-6)


def test_the_gap_is_relative_to_the_product() -> None:
    found = LeastProduct(
        np.ones((1, 3)), np.array([2.0, 2.0, np.inf]), np.array([5.0, 5.0, 1.0]), np.array([9.0, 11.0, 1.0])
    )
    np.testing.assert_allclose(found.gap(), [0.1, 0.0, np.inf])


def test_the_next_slope_is_the_geometric_mean_of_two() -> None:
    steep, flat = np.array([4.0, 4.0, 4.0, np.inf]), np.array([1.0, 0.0, np.inf, 2.0])
    # Beside a flat line of 0 a quarter of the steep one, beside none 16 times as steep.
    assert product._between(steep, flat).tolist() == [2.0, 1.0, 1.0, 8.0]  # noqa: SLF001 - a formula


def test_the_least_product_that_two_lines_allow() -> None:
    # Time is at least 10 - 2 c and at least 3; they meet at 3.5 USD. The product is 1 x 8 at 1 USD, the least cost, and
    # 3.5 x 3 from 3.5 USD on. The line of slope 2 is tight at 1 USD; steeper ones, up to 32, have sqrt(2 x 32) next.
    slope, height = np.array([[0.0], [2.0]]), np.array([[3.0], [10.0]])
    least, following = product._weakest(slope, height, np.array([1.0]))  # noqa: SLF001 - a formula
    assert (least.tolist(), following.tolist()) == ([8.0], [8.0])
    # From 3 USD on it is 3 x 4 and 3.5 x 3: the two lines that meet there are weakest between their slopes.
    least, following = product._weakest(slope, height, np.array([3.0]))  # noqa: SLF001 - the same
    assert (least.tolist(), following.tolist()) == ([10.5], [0.5])
