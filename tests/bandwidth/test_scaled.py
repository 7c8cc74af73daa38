"""A program in units of the interior point's start, and what is left to do there, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_programs import one

from evo_libra.bandwidth.interior_point import DenseHead, DiagonalHead, RacesHead, cholesky, hold, substitute
from evo_libra.bandwidth.iterate import first_iterate, state_of
from evo_libra.bandwidth.scaled import scaled
from evo_libra.workload.layers.iteration_time import Overlap

PROGRAM = one([[1.0, 0.0], [0.0, 1.0]], size=[1.0, 4.0], limit=[2.0])


def test_units_of_a_budget_of_two_patterns() -> None:
    part = scaled(PROGRAM)
    # Bandwidths of 19/20 of the budget, in proportion to the square roots of 1 and 4 bytes, and of these 9/10, as they
    # have no cap; rates of 9/10 of what they allow; one unit of time is what that takes.
    np.testing.assert_allclose(part.unit_b[:, 0], [0.57, 1.14])
    np.testing.assert_allclose(part.unit_s, 0.9 * part.unit_b)
    np.testing.assert_allclose(part.unit, (1 / 0.57 + 4 / 1.14) / 0.9)
    # So sizes are the parts of that time, links are 9/10, and the row sums to 0.855 of its limit.
    np.testing.assert_allclose(part.size[:, 0], [1 / 3, 2 / 3])
    np.testing.assert_allclose(part.link[..., 0], [[0.9, 0.0], [0.0, 0.9]])
    np.testing.assert_allclose(part.rows[0, :, 0], [0.285, 0.57])
    np.testing.assert_allclose([part.limit[0, 0], part.row_scale[0, 0]], [1.0, 2.0])
    # Two links, two floors, no cap and one row are there.
    assert part.active[:, 0].tolist() == [1, 0, 0, 1, 1, 1, 0, 0, 1]
    assert part.count.tolist() == [5.0]


def test_what_is_not_there_has_the_unit_1() -> None:
    # A dimension that is held at 0, and a row that says nothing.
    program = one(
        [[1.0, 0.0]], high=[np.inf, 0.0], rows=[[1.0, 1.0], [0.0, 0.0]], limit=[1.0, 0.0],
        equality=np.zeros(2, dtype=np.bool_),
    )  # fmt: skip
    part = scaled(program)
    np.testing.assert_allclose(part.unit_b[:, 0], [0.855, 1.0])
    np.testing.assert_allclose([part.row_scale[1, 0], part.limit[1, 0]], [1.0, 0.0])
    assert part.rows[1, :, 0].tolist() == [0.0, 0.0]
    # Of two budgets the tighter one counts.
    two = scaled(one([[1.0]], rows=[[1.0], [1.0]], limit=[4.0, 2.0], equality=np.zeros(2, dtype=np.bool_)))
    np.testing.assert_allclose(two.unit_b[0], 0.9 * 0.95 * 2.0)


def test_the_left_sides_of_the_stack() -> None:
    part = scaled(replace(PROGRAM, high=np.array([[5.0], [np.inf]]), low=np.array([[0.1], [0.0]])))
    s, b = np.array([[0.5], [0.25]]), np.array([[2.0], [1.0]])
    values = part.values(s, b, np.empty((0, 1)))[:, 0]
    # b - link s for both links, 1 where there is none; b - low; high - b; what is left of the row.
    # A cap of 5 leaves room for all of 19/20 of a third of the budget.
    np.testing.assert_allclose(part.unit_b[:, 0], [0.95 * 2 / 3, 1.14])
    used = 0.95 / 3 * 2.0 + 0.57 * 1.0
    low, high = 0.1 / part.unit_b[0, 0], 5.0 / part.unit_b[0, 0]
    np.testing.assert_allclose(values, [1.55, 1.0, 1.0, 0.775, 2.0 - low, 1.0, high - 2.0, 1.0, 1.0 - used])


def test_the_start_is_all_ones() -> None:
    part = scaled(PROGRAM)
    start = first_iterate(part)
    assert start.s.tolist() == start.b.tolist() == [[1.0], [1.0]]
    # Slacks: links have 0.1, floors 1, the row 0.145; multipliers are 0.03 over the slack.
    np.testing.assert_allclose(start.w[part.active > 0], [0.1, 0.1, 1.0, 1.0, 0.145])
    np.testing.assert_allclose(start.y[part.active > 0], [0.3, 0.3, 0.03, 0.03, 0.03 / 0.145])
    state = state_of(part, start)
    np.testing.assert_allclose([state.count[0], state.mu[0]], [5.0, 0.03])
    # Rates are pulled with size / s^2, and pushed with link x multiplier.
    np.testing.assert_allclose(state.pull[:, 0], [1 / 3, 2 / 3])
    np.testing.assert_allclose(state.push[:, 0], [0.27, 0.27])
    # Stationarity: 2/3 - 0.27 of the second rate; of the bandwidths 0.33 - 0.207 x (0.285, 0.57) is less.
    np.testing.assert_allclose(state.dual, 2 / 3 - 0.27)
    np.testing.assert_allclose(state.residual, 0.0, atol=1e-12)
    np.testing.assert_allclose(state.merit, 2 / 3 - 0.27)


def test_a_race_counts_from_its_shortest_compute() -> None:
    # 5 s and 3 s + 2 bytes: only the 2 s between them matter, in units of time.
    part = scaled(one([[1.0]], races=[Overlap(1.0, (5.0, 3.0), np.array([[0.0], [2.0]]))], size=[0.0]))
    np.testing.assert_allclose(part.race_compute[0, :, 0] * part.unit, [2.0, 0.0])
    np.testing.assert_allclose(part.race[0, :, 0, 0] * part.unit * part.unit_s[0], [0.0, 2.0])
    start = first_iterate(part)
    # The race starts a tenth above its longest chain, and either chain holds half of it up.
    np.testing.assert_allclose(start.z[0], max(float(part.race_compute.max()), float(part.race.max())) + 0.1)
    np.testing.assert_allclose(part.race_part(start.y)[0, :, 0], [0.5, 0.5])


def test_factors_solve_small_systems() -> None:
    matrix = np.array([[4.0, 2.0], [2.0, 5.0]])
    # [[4, 2], [2, 5]] = L L^T with L = [[2, 0], [1, 2]]; x = (1, 2) has the right side (8, 12).
    factor = cholesky(matrix[..., None].copy())
    np.testing.assert_allclose(np.tril(factor[..., 0]), [[2.0, 0.0], [1.0, 2.0]])
    np.testing.assert_allclose(substitute(factor, np.array([[8.0], [12.0]]))[:, 0], [1.0, 2.0])
    held = matrix[..., None].copy()
    hold(held, np.array([[1.0], [0.0]]))
    assert held[..., 0].tolist() == [[1.0, 0.0], [0.0, 5.0]]


def test_systems_with_heads_by_hand() -> None:
    # [[2, -1], [-1, 3]] (1, 2) = (0, 5).
    head, cross, tail = np.array([[2.0]]), np.array([[[1.0]]]), np.array([[[3.0]]])
    for system in (DiagonalHead(head, cross, tail.copy(), None), DenseHead(head[None], cross, tail.copy(), None)):
        x, y = system.solve(np.array([[0.0]]), np.array([[5.0]]))
        np.testing.assert_allclose([x[0, 0], y[0, 0]], [1.0, 2.0])
    # Held at 0, the tail leaves 2 x = 4.
    fixed = np.array([[1.0]])
    for system in (DiagonalHead(head, cross, tail.copy(), fixed), DenseHead(head[None], cross, tail.copy(), fixed)):
        x, y = system.solve(np.array([[4.0]]), np.array([[0.0]]))
        np.testing.assert_allclose([x[0, 0], y[0, 0]], [2.0, 0.0])


def test_a_race_is_eliminated_from_its_system() -> None:
    # Two chains of stiffness 1 and 3 with slopes 2 and 4: the race has 1 + 3, with the rate 1 x 2 + 3 x 4 = 14, and the
    # rate 5 + 1 x 4 + 3 x 16 = 57; with the bandwidth -1 and 6. For (1, 2, 3) the right sides are 32, 125 and 16.
    stiff, slope = np.array([[[1.0], [3.0]]]), np.array([[[[2.0]], [[4.0]]]])
    system = RacesHead(np.array([[5.0]]), np.array([[[1.0]]]), np.array([[[6.0]]]), None, stiff, slope)
    head, tail = system.solve(np.array([[32.0], [125.0]]), np.array([[16.0]]))
    np.testing.assert_allclose([*head[:, 0], tail[0, 0]], [1.0, 2.0, 3.0])
