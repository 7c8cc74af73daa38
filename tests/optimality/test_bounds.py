"""Bounds of the least time at every cost, worked by hand."""

from __future__ import annotations

import numpy as np

from evo_libra.optimality.bounds import CostBounds, VariantBounds


def test_a_bound_is_a_hyperbola_above_the_least_time_and_from_the_least_cost_on() -> None:
    # 1 + 8 / cost seconds, never below 2, from 2 USD on; and 2 + 2 / cost from 0.5 USD on.
    bounds = CostBounds(np.array([1.0, 2.0]), np.array([8.0, 2.0]), np.array([2.0, 0.0]), np.array([2.0, 0.5]))
    np.testing.assert_array_equal(
        bounds.bound(np.array([0.4, 1.0, 2.0, 8.0, 16.0])),
        [[np.inf, np.inf, 5.0, 2.0, 2.0], [np.inf, 4.0, 3.0, 2.25, 2.125]],
    )
    np.testing.assert_array_equal(bounds.select(np.array([1])).bound(np.array([1.0])), [[4.0]])
    np.testing.assert_array_equal(
        bounds.select(np.array([1])).join(bounds).bound(np.array([2.0])), [[3.0], [5.0], [3.0]]
    )
    assert (len(bounds), len(bounds.join(bounds))) == (2, 4)
    # Below its least cost there is nothing, be it by rounding.
    assert np.isinf(bounds.bound(np.array([2.0 * (1.0 - 1e-12)]))[0, 0])


def test_the_least_cost_of_a_variant_is_a_solver_s() -> None:
    one, places = np.ones(1), np.zeros((1, 1), dtype=np.int64)
    bounds = VariantBounds(one, one, 0.0 * one, one, places[0], places, places, places, places)
    # A cost may be below it by 1e-9 of itself.
    assert np.isfinite(bounds.bound(np.array([1.0 - 5e-10, 1.0 - 2e-9]))).tolist() == [[True, False]]
