"""Bounds of the least time at every cost, and the lines and staircases that they are made of, worked by hand."""

from __future__ import annotations

import numpy as np

from evo_libra.optimality import ideal_bandwidth, pruning
from evo_libra.optimality.bounds import CostBounds, VariantBounds
from evo_libra.optimality.comparisons import beaten, rounded
from evo_libra.optimality.ideal_bandwidth import TangentLines, bound_at, empty_ideal, tiles


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
    # A cost may be below it by 1e-9 of itself.
    cost = np.array([1.0 - 5e-10, 1.0 - 2e-9])
    assert np.isfinite(variants([1.0], [1.0], [0.0], [1.0]).bound(cost)).tolist() == [[True, False]]
    rough = CostBounds(*(np.array([value]) for value in (1.0, 8.0, 2.0, 1.0)))
    assert np.isfinite([pruning._at(rough, one)[0] for one in cost.tolist()]).tolist() == [True, False]  # noqa: SLF001
    # 1 + 8 / 4 and the least of 2.
    assert [float(pruning._at(rough, one)[0]) for one in (4.0, 100.0)] == [3.0, 2.0]  # noqa: SLF001 - a formula


def variants(*columns: list[float]) -> VariantBounds:
    """Return bounds of variants with these bases, kappas, least times and least costs."""
    places = np.zeros((1, len(columns[0])), dtype=np.int64)
    return VariantBounds(*map(np.array, columns), places[0], places, places, places, places)


def test_between_two_lines_the_larger_one_counts() -> None:
    # The lines go through 10 at 1 USD, 6 at 3 USD and 5 at 8 USD, and fall by 2, 1 and 1/2 a USD.
    at, height, slope = np.array([3.0, 8.0, 1.0]), np.array([6.0, 5.0, 10.0]), np.array([1.0, 0.5, 2.0])
    # At 0 there is the first line alone; at 2 the first two give 8 and 7; at 5 the last two 4 and 6.5; at 9 the last
    # two 0 and 4.5.
    found = ideal_bandwidth._nearest(at, height, slope, np.array([0.0, 2.0, 5.0, 9.0]))  # noqa: SLF001 - a formula
    assert found.tolist() == [12.0, 8.0, 6.5, 4.5]


def test_variants_that_are_bounded_higher_everywhere_decide_nothing() -> None:
    # The second is no lower than the first in anything; the third has a lower kappa, the fourth a lower base.
    bounds = variants([1.0, 1.0, 2.0, 0.5], [4.0, 4.0, 3.0, 9.0], [1.0, 2.0, 3.0, 3.0], [1.0, 1.0, 5.0, 5.0])
    assert ideal_bandwidth._extreme(bounds).tolist() == [3, 0, 2]  # noqa: SLF001 - a rule of its own
    assert np.concatenate(list(tiles(bounds))).tolist() == [2, 0, 1, 3]


def test_the_bound_of_a_space_is_the_least_of_its_variants() -> None:
    bounds = variants([1.0, 2.0, 3.0], [4.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    # The first variant is solved at 2 USD: 5 - (c - 2); its hyperbola is 1 + 4 / c. The others are 2 + 4 / c and 3.
    lines = TangentLines(np.array([0]), np.array([2.0]), np.array([5.0]), np.array([1.0]))
    ideal = empty_ideal(np.array([2.0]), 1)
    ideal = type(ideal)(**{**vars(ideal), "lines": lines})
    np.testing.assert_array_equal(bound_at(bounds, ideal, np.array([1.0, 2.0, 4.0, 16.0])), [3.0, 3.0, 3.0, 1.25])
    two = bounds.select(np.array([0, 1]))
    np.testing.assert_array_equal(bound_at(two, ideal, np.array([1.0, 2.0, 4.0])), [6.0, 4.0, 3.0])
    both = lines.join(lines)
    assert (both.variant.tolist(), both.height.tolist()) == ([0, 0], [5.0, 5.0])


def test_what_is_beaten() -> None:
    best = np.array([[1.0, 3.0, 2.0], [4.0, 1.0, 9.0]])
    # As good is enough: (1, 4) and (3, 1) themselves are beaten; (2, 3) is behind none, (3, 0.5) and (0.5, 9) neither.
    values = np.array([[1.0, 3.0, 2.0, 3.0, 0.5, 5.0, 0.1], [4.0, 1.0, 3.0, 0.5, 9.0, 5.0, np.inf]])
    expected = [True, True, False, False, False, True, True]
    assert beaten(values, best).tolist() == expected
    # The same with a third objective that all share, and with one that no known design is as good in.
    assert beaten(np.vstack([values, np.ones(7)]), np.vstack([best, np.ones(3)])).tolist() == expected
    assert beaten(np.vstack([values, np.ones(7)]), np.vstack([best, np.full(3, 2.0)])).tolist() == [False] * 6 + [True]
    assert beaten(values, best[:, :0]).tolist() == [False] * 6 + [True]


def test_figures_have_12_digits() -> None:
    found = rounded(np.array([1.2345678901234, 123456789012.4, 9.999999999999e-7, 1e-3]))
    np.testing.assert_allclose(found, [1.23456789012, 123456789012.0, 1e-6, 1e-3], rtol=1e-15)
