"""The program of best bandwidths and its bounds, worked by hand on one design."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_programs import one

from evo_libra.bandwidth.program import Multipliers, Optimum, ascend, hyperbola, legal, lower_bound, slopes
from evo_libra.bandwidth.solve import _linear, merged, optimal_bandwidth
from evo_libra.workload.layers.iteration_time import Overlap

HALVES = Multipliers(np.full((1, 2, 1), 0.5), np.array([[2.0]]), np.empty((0, 1, 1)))
PROGRAM = one([[1.0, 4.0]], size=[4.0], base=1.0, rows=[[1.0, 1.0]], limit=[3.0])


def test_time_by_hand() -> None:
    # A byte takes the longest of 2 / 1 and 4 / 8 s. Time is 1 + 3 x 2 + 2 max(1, 5 x 2) = 27 s; the price is 1.8 s.
    program = one([[2.0, 4.0]], races=[Overlap(2.0, (1.0, 0.0), np.array([[0.0], [5.0]]))], size=[3.0], base=1.0,
                  price=[1.0, 0.1])  # fmt: skip
    bandwidth = np.array([[1.0], [8.0]])
    assert program.pattern_times(bandwidth).tolist() == [[2.0]]
    assert program.time(bandwidth).tolist() == [27.0]
    np.testing.assert_allclose(program.objective(bandwidth), 28.8)
    # Without bandwidth there is no end, and where there is no traffic no time either.
    assert one([[1.0, 0.0]]).time(np.array([[0.0], [1.0]])).tolist() == [np.inf]
    assert one([[1.0, 0.0]]).time(np.array([[2.0], [0.0]])).tolist() == [0.5]


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        # alpha = 4 x 0.5 x (1, 4) = (2, 8); with 2 s per unit of the budget, min 2 / b + 2 b = 4 at b = 1 and
        # min 8 / b + 2 b = 8 at b = 2; 1 + 4 + 8 - 2 x 3 = 7.
        ({}, 7.0),
        ({"base": np.array([5.0])}, 11.0),
        # A cap of 1/2: 4 + 1 instead of 4. A floor of 4: 2 + 8 instead of 8.
        ({"high": np.array([[0.5], [np.inf]])}, 8.0),
        ({"low": np.array([[0.0], [4.0]])}, 9.0),
        # A price of 6: min 2 / b + 8 b = 8 at b = 1/2.
        ({"price": np.array([[6.0], [0.0]])}, 11.0),
        ({"limit": np.array([[4.0]])}, 5.0),
    ],
)
def test_a_bound_by_hand(changes: dict[str, np.ndarray], bound: float) -> None:
    np.testing.assert_allclose(lower_bound(replace(PROGRAM, **changes), HALVES), bound, rtol=1e-9)  # type: ignore[arg-type]


def test_a_bound_without_a_price_is_that_of_the_caps_or_of_the_whole_budget() -> None:
    free = replace(HALVES, rows=np.zeros((1, 1)))
    # Each dimension may have the whole budget of 3: 1 + 2 / 3 + 8 / 3.
    capped = replace(PROGRAM, high=np.array([[3.0], [2.0]]))
    np.testing.assert_allclose(lower_bound(capped, free), 1.0 + 2.0 / 3.0 + 4.0, rtol=1e-9)
    np.testing.assert_allclose(lower_bound(PROGRAM, free), 1.0, rtol=1e-9)
    # A row of -1 for the second dimension makes more of it better without end, unless another row ends it.
    rows, limit = np.array([[[1.0], [-1.0]], [[1.0], [1.0]]]), np.array([[3.0], [2.0]])
    two = replace(PROGRAM, rows=rows, limit=limit, equality=np.zeros(2, dtype=np.bool_))
    # With 2 s per unit of the first row: min 2 / b + 2 b = 4, and 8 / b - 2 b is 0 at the cap of 2 that the second has.
    mixed = Multipliers(HALVES.share, np.array([[2.0], [0.0]]), HALVES.race)
    np.testing.assert_allclose(lower_bound(two, mixed), 1.0 + 4.0 + 0.0 - 6.0, rtol=1e-9)


def test_multipliers_are_made_legal() -> None:
    share = np.array([[3.0, 1.0, -5.0, 7.0], [0.0, 0.0, 0.0, 0.0]])[..., None]
    wish = Multipliers(share, np.array([[-1.0], [-1.0]]), np.empty((0, 1, 1)))
    program = one([[1, 1, 1, 0], [0, 2, 0, 2]], rows=np.ones((2, 4)), limit=[1, 1], equality=np.array([True, False]))
    found = legal(program, wish)
    assert found.share[..., 0].tolist() == [[0.75, 0.25, 0.0, 0.0], [0.0, 0.5, 0.0, 0.5]]
    assert found.rows.tolist() == [[-1.0], [0.0]]


def test_a_race_is_at_least_a_mixture_of_its_chains() -> None:
    # A quarter of 8 s of compute and three quarters of 4 bytes: 2 + 3 / b, at b = 3 the least under the cap.
    program = one([[1.0]], races=[Overlap(1.0, (8.0, 0.0), np.array([[0.0], [4.0]]))], size=[0.0], high=[3.0])
    mixture = Multipliers(np.ones((1, 1, 1)), np.zeros((1, 1)), np.array([[[0.25], [0.75]]]))
    np.testing.assert_allclose(lower_bound(program, mixture), 3.0, rtol=1e-9)


def test_a_hyperbola_by_hand() -> None:
    # alpha = (2, 8) and prices (2, 2): (sqrt(4) + sqrt(16))^2 = 36 s USD above the base of 1 s.
    base, kappa = hyperbola(PROGRAM, HALVES, np.array([[2.0], [2.0]]))
    np.testing.assert_allclose([base[0], kappa[0]], [1.0, 36.0])


def test_slopes_are_0_where_a_bandwidth_is_best() -> None:
    # alpha / b^2 - 2 is 0 at b = 1 and at b = 2; at b = 2 and b = 1 it is 2 / 4 - 2 and 8 - 2.
    np.testing.assert_allclose(slopes(PROGRAM, HALVES, np.array([[1.0], [2.0]])), [[0.0], [0.0]], atol=1e-12)
    np.testing.assert_allclose(slopes(PROGRAM, HALVES, np.array([[2.0], [1.0]])), [[-1.5], [6.0]])
    priced = replace(PROGRAM, price=np.array([[0.5], [0.0]]))
    np.testing.assert_allclose(slopes(priced, HALVES, np.array([[1.0], [0.0]])), [[-0.5], [-2.0]])


def test_the_ascent_gives_a_dimension_what_its_price_and_traffic_are() -> None:
    # One pattern over two dimensions: the share of d is price_d traffic_d over the sum, (1 x 1, 3 x 4) / 13.
    found = ascend(replace(PROGRAM, high=np.full((2, 1), 9.0)), np.array([[1.0], [3.0]]), 1)
    np.testing.assert_allclose(found.share[0, :, 0], [1 / 13, 12 / 13])
    assert found.rows.tolist() == [[0.0]]


def test_the_gap_is_relative_to_the_objective() -> None:
    objective, bound = np.array([10.0, 10.0, np.inf, 0.0]), np.array([9.0, 11.0, 3.0, 0.0])
    found = Optimum(np.zeros((1, 4)), objective, bound, HALVES).gap()
    np.testing.assert_array_equal(found, [0.1, 0.0, np.inf, 0.0])


def test_proportional_patterns_become_one() -> None:
    # The second sends twice what the first does, the third nothing, the fourth has no bytes: 1 + 2 x 3 bytes are left.
    whole = one([[1, 2], [2, 4], [0, 0], [1, 1]], size=[1, 3, 5, 0])
    found = merged(whole)
    assert (found.traffic[..., 0].tolist(), found.size.tolist()) == ([[1.0, 2.0]], [[7.0]])
    apart = merged(one([[1, 2], [2, 4.001]], size=[1, 3]))
    assert len(apart.traffic) == 2


def test_caps_alone_are_the_answer_where_nothing_else_limits() -> None:
    program = one([[1.0, 4.0]], high=[2.0, 4.0], rows=np.empty((0, 2)), limit=np.empty(0))
    found = optimal_bandwidth(program)
    assert found.bandwidth[:, 0].tolist() == [2.0, 4.0]
    np.testing.assert_allclose([found.objective[0], found.bound[0]], [1.0, 1.0])
    # Where a cap is missing the best bandwidths are numbers all the same.
    free = optimal_bandwidth(replace(program, high=np.array([[2.0], [np.inf]])))
    np.testing.assert_allclose([free.objective[0], free.bound[0]], [0.5, 0.5])
    assert np.isfinite(free.bandwidth).all()


def test_a_linear_program_with_a_limit_and_an_equality() -> None:
    # The most of b0 + b1 in boxes of 5 with b0 + b1 <= 3 and b0 = b1.
    rows, limit, equality = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([3.0, 0.0]), np.array([False, True])
    low, high = np.zeros(2), np.full(2, 5.0)
    found = _linear(rows, limit, equality=equality, low=low, high=high, price=np.array([-1.0, -1.0]))
    np.testing.assert_allclose(found, [1.5, 1.5])
    assert _linear(rows, np.array([3.0, 9.0]), equality=equality, low=low, high=high, price=np.zeros(2)) is None
