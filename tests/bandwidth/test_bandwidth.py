"""Laws that the best bandwidths of fixed structures obey, for batches of random convex programs of many kinds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from effort import costly
from hypothesis import example, given
from hypothesis import strategies as st
from random_programs import ROUNDING, SEEDS, budget_case, case, check, one, same, with_races, with_row

from evo_libra.bandwidth.closed_form import closed_form, has_closed_form
from evo_libra.bandwidth.conic import conic
from evo_libra.bandwidth.interior_point import interior_point
from evo_libra.bandwidth.product import least_product
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers, ascend, hyperbola, lower_bound
from evo_libra.bandwidth.solve import ACCURACY, merged, optimal_bandwidth, unlimited, violation
from evo_libra.workload.layers.iteration_time import Overlap


@given(SEEDS)
@costly(40)
def test_the_bound_is_below_and_the_optimum_is_best(seed: int) -> None:
    drawn, rng = case(seed), np.random.default_rng(seed)
    program, optimum = drawn.program, optimal_bandwidth(drawn.program)
    assert np.isfinite(optimum.objective).all()
    same(optimum.objective, program.objective(optimum.bandwidth), ROUNDING)
    assert (optimum.bound <= optimum.objective * (1 + 1e-10)).all()
    # What is feasible is convex: all that is between the optimum and bandwidths drawn before is feasible, too.
    for part in (1.0, 0.5, 0.1, 1e-3, rng.random(len(program))):
        between = optimum.bandwidth + part * (drawn.feasible - optimum.bandwidth)
        objective = program.objective(np.clip(between, program.low, program.high))
        assert (optimum.bound <= objective * (1 + 1e-10)).all()
        assert (optimum.objective <= objective * (1 + optimum.gap() + 1e-10)).all()


@given(SEEDS)
@costly(30)
def test_no_point_of_budgets_is_below_the_bound(seed: int) -> None:
    drawn, rng = case(seed, budgets=True, general=False), np.random.default_rng(seed)
    program = replace(drawn.program, equality=np.zeros(2, dtype=np.bool_))
    optimum = optimal_bandwidth(program)
    room = np.where(np.isinf(program.high), drawn.feasible * 20.0, program.high) - program.low
    for _ in range(20):
        wish = rng.random(room.shape) ** rng.integers(1, 4) * room
        used = (program.rows * wish).sum(axis=1) / (program.limit - (program.rows * program.low).sum(axis=1))
        objective = program.objective(program.low + wish / np.maximum(used.max(axis=0), 1.0 + 1e-12))
        assert (optimum.bound <= objective * (1 + ROUNDING)).all()
        assert (optimum.objective <= objective * (1 + optimum.gap() + ROUNDING)).all()


@given(SEEDS)
@costly(30)
def test_the_answer_is_feasible_and_proven(seed: int) -> None:
    program = case(seed, 100).program
    optimum = optimal_bandwidth(program)
    assert (violation(program, optimum.bandwidth) <= 1e-9).all()
    assert (optimum.bandwidth >= program.low).all()
    assert (optimum.bandwidth <= program.high).all()
    assert (optimum.gap() <= 1e-6).mean() >= 0.99


@given(SEEDS)
@costly(15)
def test_clarabel_agrees_with_both_sides(seed: int) -> None:
    program = case(seed, 8).program
    optimum = optimal_bandwidth(program)
    bandwidth, proof, solved = conic(program)
    reference = program.objective(bandwidth)
    assert solved.all()
    assert (optimum.bound <= reference * (1 + 1e-7)).all()
    good = violation(program, bandwidth) <= 1e-9
    # Ours is never worse than its gap says; clarabel, which now and then stops early, is no worse where it proves that.
    assert (optimum.objective[good] <= reference[good] * (1 + 1e-7 + optimum.gap()[good])).all()
    finished = good & (reference - lower_bound(program, proof) <= 1e-8 * reference)
    assert (reference[finished] <= optimum.objective[finished] * (1 + 1e-7)).all()


@given(SEEDS, st.floats(0.01, 100.0))
@costly(30)
def test_without_floors_time_is_inverse_to_the_budget(seed: int, factor: float) -> None:
    program = budget_case(seed, 60).program
    before = optimal_bandwidth(program)
    richer = optimal_bandwidth(replace(program, limit=program.limit * factor))
    larger = optimal_bandwidth(replace(program, size=program.size * factor))
    same(richer.objective - program.base, (before.objective - program.base) / factor, 1e-8)
    same(larger.objective - program.base, (before.objective - program.base) * factor, 1e-8)
    # The split of the budget is the same; where several are best, it is the other's time that counts.
    same(program.time(richer.bandwidth / factor), before.objective, 1e-8)
    if (program.traffic > 0).all() and len(program.traffic) <= 2:
        np.testing.assert_allclose(richer.bandwidth / factor, before.bandwidth, rtol=1e-6)


@pytest.mark.slow
@given(SEEDS)
@costly(15)
def test_order_does_not_matter(seed: int) -> None:
    drawn, rng = case(seed, 25), np.random.default_rng(seed)
    program, optimum = drawn.program, optimal_bandwidth(drawn.program)
    patterns, depth, count = program.traffic.shape
    to, g = rng.permutation(depth), rng.permutation(patterns)
    turned = replace(
        program, traffic=program.traffic[:, to], price=program.price[to], low=program.low[to], high=program.high[to],
        rows=program.rows[:, to],
    )  # fmt: skip
    races = [replace(race, size=race.size[:, g]) for race in drawn.races]
    relabelled = with_races(replace(program, size=program.size[g], traffic=program.traffic[g]), races)
    for other in (turned, relabelled):
        found = optimal_bandwidth(other)
        same(found.objective, optimum.objective, 2e-9 + 2 * np.max(optimum.gap() + found.gap()))
    for designs in (rng.permutation(count), np.array([3]), np.flatnonzero(rng.random(count) < 0.5)):
        found = optimal_bandwidth(program.select(designs))
        np.testing.assert_array_equal(found.bandwidth, optimum.bandwidth[:, designs])


@given(SEEDS)
@costly(15)
def test_a_constraint_never_helps(seed: int) -> None:
    drawn, rng = case(seed, 25), np.random.default_rng(seed)
    program, feasible = drawn.program, drawn.feasible
    free = optimal_bandwidth(program)
    row = rng.choice([-1.0, 0.0, 1.0, 2.0], len(feasible))[:, None] * np.ones(feasible.shape)
    more = (row * feasible).sum(axis=0) + rng.uniform(0.01, 0.1) * np.abs(row * feasible).sum(axis=0)
    halfway = 0.5 * (free.bandwidth + feasible)
    tighter = [
        with_row(program, row, more),
        replace(program, high=np.maximum(np.minimum(program.high, 1.01 * feasible), program.low)),
        replace(program, low=np.maximum(program.low, np.minimum(halfway, 0.99 * feasible))),
        with_row(program, drawn.price, (drawn.price * feasible).sum(axis=0) * 1.001),
    ]
    for held in tighter:
        found = optimal_bandwidth(held)
        assert (free.bound <= found.objective * (1 + 1e-10)).all()
        # The tighter one was found to be as good as what is known to be feasible in it.
        assert (found.bound <= held.objective(np.clip(feasible, held.low, held.high)) * (1 + 1e-10)).all()
        assert (found.objective >= free.objective * (1 - 1e-7)).all()
    loose = replace(program, low=0.5 * program.low, high=2.0 * program.high)
    assert (optimal_bandwidth(loose).objective <= free.objective * (1 + 1e-7)).all()


@given(SEEDS)
@example(479001601)  # has no traffic at all, and races
@costly(15)
def test_merging_changes_nothing(seed: int) -> None:
    drawn, rng = case(seed, 20, patterns=3), np.random.default_rng(seed)
    first = drawn.program.size[:1]
    sizes = np.concatenate([drawn.program.size, rng.uniform(0.1, 1) * first, first, 0.0 * first])
    idle = np.zeros_like(drawn.program.traffic[:1])
    traffic = np.concatenate(
        [drawn.program.traffic, 3.0 * drawn.program.traffic[:1], idle, drawn.program.traffic[:1] + 1.0]
    )
    races = [
        replace(race, size=np.hstack([race.size, race.size[:, :2], np.zeros((len(race.size), 1))]))
        for race in drawn.races
    ]
    program = with_races(replace(drawn.program, size=sizes, traffic=traffic), races)
    small = merged(program)
    kept = [g for g in range(3) if traffic[g].any()]
    assert len(small.traffic) == len(kept)
    np.testing.assert_array_equal(small.traffic, traffic[kept])
    for bandwidth in (drawn.feasible, rng.uniform(0.1, 2) * drawn.feasible):
        same(small.objective(bandwidth), program.objective(bandwidth), 1e-12)
    # What is optimal for one is optimal for the other.
    found, other = optimal_bandwidth(small), optimal_bandwidth(program)
    assert (other.bound <= program.objective(found.bandwidth) * (1 + 1e-10)).all()
    same(found.objective, other.objective, 1e-8 + np.max(found.gap() + other.gap()))


@pytest.mark.slow
@given(SEEDS, st.sampled_from([1e-3, 1.0, 1e3]))
@example(18549, 1e-3)  # its rows hold to rounding after a thousand sweeps
@costly(40)
def test_any_multipliers_prove_a_bound(seed: int, spread: float) -> None:
    drawn, rng = case(seed), np.random.default_rng(seed)
    program, optimum = drawn.program, optimal_bandwidth(drawn.program)
    patterns, depth, count = program.traffic.shape
    share = rng.normal(size=(patterns, depth, count)) * spread
    share[:, :, :5] = 0.0
    # Of the size that matters: the optimum's own multipliers, turned, stretched and made negative.
    rows = rng.normal(size=program.limit.shape) * spread
    rows *= optimum.objective / np.abs(program.rows * drawn.feasible).sum(axis=1)
    race = rng.normal(size=(*program.chains.shape, count)) * spread
    garbage = Multipliers(share, rows, race)
    near = Multipliers(
        optimum.multipliers.share * rng.uniform(0.5, 2, share.shape),
        optimum.multipliers.rows * rng.uniform(0.5, 2, rows.shape),
        optimum.multipliers.race + rng.normal(size=race.shape) * 0.1,
    )  # fmt: skip
    for multipliers in (garbage, near, optimum.multipliers, ascend(program, drawn.price, 5)):
        bound = lower_bound(program, multipliers)
        assert not np.isnan(bound).any()
        assert (bound <= optimum.objective * (1 + 1e-10)).all()
    # They are legal and near the best ones: a bound that is far off would prove nothing.
    same(lower_bound(program, optimum.multipliers), optimum.bound, 1e-9)


@given(SEEDS, st.floats(0.1, 10.0))
@costly(30)
def test_the_hyperbola_is_below_at_any_budget(seed: int, factor: float) -> None:
    drawn, rng = case(seed, 30, priced=False, general=False), np.random.default_rng(seed)
    program, price = drawn.program, drawn.price
    budget = np.maximum(factor, 1.0) * (price * drawn.feasible).sum(axis=0)
    optimum = optimal_bandwidth(with_row(program, price, budget))
    assert np.isfinite(optimum.objective).all()
    shares = rng.normal(size=program.traffic.shape)
    race = rng.normal(size=(*program.chains.shape, len(program)))
    random = Multipliers(shares, np.zeros(program.limit.shape), race)
    for multipliers in (random, ascend(program, price, 12)):
        base, kappa = hyperbola(program, multipliers, price)
        assert (base + kappa / budget <= optimum.objective * (1 + 1e-10)).all()


@given(SEEDS)
@costly(20)
def test_the_ascent_nearly_reaches_the_optimum_of_a_budget(seed: int) -> None:
    drawn = budget_case(seed)
    program, optimum = drawn.program, optimal_bandwidth(drawn.program)
    base, kappa = hyperbola(program, ascend(program, drawn.price, 60), drawn.price)
    reached = (base + kappa / program.limit[0] - program.base) / (optimum.objective - program.base)
    assert (reached <= 1 + 1e-9).all()
    assert np.median(reached) > 0.97


@given(SEEDS, st.booleans(), st.booleans())
@costly(40)
def test_closed_forms_agree_with_the_interior_point(seed: int, boxes: bool, equality: bool) -> None:  # noqa: FBT001
    rng = np.random.default_rng(seed)
    drawn = budget_case(seed, patterns=int(rng.integers(1, 3)))
    program, feasible = drawn.program, drawn.feasible
    if boxes:
        low = np.where(rng.random(feasible.shape) < 0.5, feasible * rng.uniform(0, 1, feasible.shape), 0.0)
        high = np.where(rng.random(feasible.shape) < 0.5, feasible * rng.uniform(1, 5, feasible.shape), np.inf)
        program = replace(program, low=low, high=high)
    program = replace(program, equality=np.array([equality]))
    assert has_closed_form(program).all()
    bandwidth, multipliers, short = closed_form(program)
    done = ~short
    assert done.mean() > 0.5
    objective = program.objective(bandwidth)
    proven = done & (objective - lower_bound(program, multipliers) <= 1e-9 * objective)
    assert proven.mean() >= 0.9 * done.mean()
    assert (violation(program, bandwidth)[done] <= 1e-12).all()
    iterated, _ = interior_point(program, ACCURACY)
    apart = np.abs(program.objective(iterated) / objective - 1.0)[proven]
    assert (apart <= 1e-8).all()


@given(SEEDS, st.booleans())
@costly(30)
def test_closed_forms_prove_every_optimum_at_floors(seed: int, twins: bool) -> None:  # noqa: FBT001
    rng = np.random.default_rng(seed)
    drawn = budget_case(seed, patterns=int(rng.integers(1, 3)))
    program, shape = drawn.program, drawn.feasible.shape
    traffic = program.traffic * (rng.random(program.traffic.shape) < rng.choice([0.6, 1.0]))
    traffic[:, 0] = np.where(traffic.any(axis=1), traffic[:, 0], 1.0)
    low = drawn.feasible * rng.uniform(0.0, 1.0, shape) ** rng.choice([0.2, 1.0]) * (rng.random(shape) < 0.9)
    high = np.where(rng.random(shape) < rng.choice([0.5, 1.0]), np.inf, drawn.feasible * rng.uniform(1.0, 5.0, shape))
    if twins:
        # Dimensions that are alike leave their floors, and pass from pattern to pattern, at once.
        traffic[:, -1], low[-1], high[-1], drawn.price[-1] = traffic[:, 0], low[0], high[0], drawn.price[0]
    limit = np.maximum(program.limit, (drawn.price * low).sum(axis=0) * 1.01)
    program = replace(program, traffic=traffic, low=low, high=high, rows=drawn.price[None], limit=limit)
    assert has_closed_form(program).all()
    bandwidth, multipliers, short = closed_form(program)
    objective = program.objective(bandwidth)
    assert not short.any()
    assert (violation(program, bandwidth) <= 1e-12).all()
    assert (objective - lower_bound(program, multipliers) <= 1e-9 * objective).all()
    iterated, _ = interior_point(program, ACCURACY)
    assert (objective <= program.objective(iterated) * (1 + 1e-8)).all()


@given(SEEDS)
@costly(10)
def test_interior_point_agrees_with_clarabel(seed: int) -> None:
    program = case(seed, 6, general=False).program
    bandwidth, multipliers = interior_point(program, ACCURACY)
    reference, proof, solved = conic(program)
    assert solved.all()
    objective, other = program.objective(bandwidth), program.objective(reference)
    good = (violation(program, reference) <= 1e-8) & (violation(program, bandwidth) <= 1e-8)
    assert good.mean() > 0.5
    assert (objective[good] <= other[good] * (1 + 1e-7)).all()
    # Clarabel now and then stops early: it is a reference where its multipliers prove its answer. Elsewhere ours do.
    finished = good & (other - lower_bound(program, proof) <= 1e-8 * other)
    assert (other[finished] <= objective[finished] * (1 + 1e-7)).all()
    proven = objective - lower_bound(program, multipliers) <= 1e-7 * objective
    assert proven[good & ~finished].all()


@pytest.mark.slow
@given(SEEDS)
@costly(4)
def test_the_least_product_is_least(seed: int) -> None:
    drawn, rng = budget_case(seed, 10), np.random.default_rng(seed)
    total, ones = drawn.feasible.sum(axis=0), np.ones(drawn.feasible.shape)
    program = replace(drawn.program, rows=ones[None], limit=total[None], equality=np.array([True]))
    best = least_product(program, drawn.price)
    product = best.time * best.cost
    same(best.time, program.time(best.bandwidth), ROUNDING)
    same(best.cost, (drawn.price * best.bandwidth).sum(axis=0), ROUNDING)
    assert (violation(program, best.bandwidth) <= 1e-9).all()
    assert (best.bound <= product * (1 + 1e-10)).all()
    assert (best.gap() <= 1e-5).all()
    assert np.median(best.gap()) <= 1e-8
    fastest = optimal_bandwidth(program)
    points = [fastest.bandwidth, *(rng.dirichlet(np.ones(len(ones)), len(total)).T * total for _ in range(20))]
    points += [best.bandwidth + rng.uniform(0, 0.1) * (point - best.bandwidth) for point in points]
    for point in points:
        other = program.time(point) * (drawn.price * point).sum(axis=0)
        assert (best.bound <= other * (1 + 1e-10)).all()
        assert (product <= other * (1 + best.gap() + 1e-10)).all()
    # Where all prices are equal the cost is given: the least product is the least time.
    same(least_product(program, ones).time, fastest.objective, 1e-8)


@given(SEEDS)
@costly(15)
def test_what_cannot_be_met_is_infinite_and_leaves_the_others_alone(seed: int) -> None:
    drawn, rng = case(seed, 30, general=False, races=False), np.random.default_rng(seed)
    program, feasible = drawn.program, drawn.feasible
    ones = np.ones(feasible.shape)
    poor, contradicted = rng.random(30) < 0.3, rng.random(30) < 0.3
    below_floors = np.where(poor, 0.9, 1.1) * feasible.sum(axis=0)
    low = np.where(poor, np.minimum(feasible, program.high), program.low)
    mixed = with_row(replace(program, low=low), ones, below_floors)
    # At least so much in the first dimension, and less than that in all of them.
    row = np.concatenate([-ones[:1], 0.0 * ones[1:]])
    mixed = with_row(
        mixed, row, np.where(contradicted, -1.3, -0.9) * np.where(contradicted, feasible.sum(axis=0), feasible[0])
    )
    wrong = poor | contradicted
    found = optimal_bandwidth(mixed)
    assert np.isinf(found.objective[wrong]).all()
    assert np.isinf(found.bound[wrong]).all()
    assert np.isinf(found.gap()[wrong]).all()
    assert np.isfinite(found.objective[~wrong]).all()
    if not wrong.all():
        alone = optimal_bandwidth(mixed.select(np.flatnonzero(~wrong)))
        same(alone.objective, found.objective[~wrong], 1e-9)


@given(SEEDS)
@costly(30)
def test_unlimited_names_what_nothing_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 7))
    high = np.where(rng.random(depth) < 0.3, 10.0, np.inf)
    # b[i] <= b[j] limits i where j is limited; a budget limits what has a coefficient above 0 in it.
    budget = rng.random(depth) * (rng.random(depth) < 0.4) * 10.0 ** rng.uniform(-9, 9)
    limited = np.isfinite(high) | (budget > 0)
    rows = [budget]
    chains = [tuple(rng.choice(depth, 2, replace=False)) for _ in range(int(rng.integers(0, depth)))]
    for i, j in chains:
        row = np.zeros(depth)
        row[i], row[j] = 1.0, -1.0
        rows.append(row)
    for _ in range(depth):
        for i, j in chains:
            limited[i] |= limited[j]
    table = np.array(rows)[..., None]
    program = BandwidthProgram(
        np.zeros(1), np.ones((1, 1)), np.ones((1, depth, 1)), np.zeros((depth, 1)), np.zeros((depth, 1)), high[:, None],
        table, np.where(np.arange(len(rows)) == 0, 1.0, 0.0)[:, None], np.zeros(len(rows), dtype=np.bool_),
    )  # fmt: skip
    np.testing.assert_array_equal(unlimited(program), ~limited)


def test_an_empty_batch_of_two_patterns() -> None:
    found = optimal_bandwidth(one(np.ones((2, 3))).select(np.zeros(0, dtype=np.int64)))
    assert found.bandwidth.shape == (3, 0)
    assert found.objective.shape == found.bound.shape == found.gap().shape == (0,)


def test_an_empty_batch_of_three_patterns() -> None:
    found = optimal_bandwidth(one(np.ones((3, 3))).select(np.zeros(0, dtype=np.int64)))
    assert found.objective.shape == found.bound.shape == found.gap().shape == (0,)


def test_interior_point_keeps_pinned_dimensions_where_they_are() -> None:
    # The pinned dimension takes nearly all of the time, and what the budget leaves is plenty.
    traffic = [[0.1, 0.1, 1.0], [0.2, 0.1, 3.0], [0.1, 0.4, 9.0]]
    program = one(traffic, low=[0, 0, 1], high=[np.inf, np.inf, 1], rows=[[1, 1, 1], [1, 2, 1]], limit=[20, 25],
                  equality=np.zeros(2, dtype=np.bool_))  # fmt: skip
    bandwidth, multipliers = interior_point(program, ACCURACY)
    np.testing.assert_allclose(program.objective(bandwidth), 13.0, rtol=1e-9)
    np.testing.assert_allclose(lower_bound(program, multipliers), 13.0, rtol=1e-6)


def test_huge_multipliers_do_not_lift_the_bound_by_rounding() -> None:
    # The row is met with equality by the only bandwidths that there are, whatever its multiplier.
    program = one([[1.0, 1.0]], low=[0.1, 0.2], high=[0.1, 0.2], rows=[[1, 1]], limit=[0.1 + 0.2])
    for size in np.geomspace(1.0, 1e30, 31):
        for sign in (1.0, -1.0):
            held = replace(program, equality=np.array([True]), limit=program.limit * (1 - sign * 1e-16))
            bound = lower_bound(
                held, Multipliers(np.array([[[1.0], [0.0]]]), np.array([[sign * size]]), np.empty((0, 1, 1)))
            )
            assert (bound <= 10.0 * (1 + 1e-9)).all()


def test_an_equality_said_twice() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2, (1, 200))
    shape, price = x.shape, rng.uniform(1e-9, 1e-7, x.shape)
    program = BandwidthProgram(
        np.zeros(1), np.ones((3, 1)), rng.uniform(0.1, 2, (3, *shape)), np.zeros(shape), np.zeros(shape),
        np.full(shape, np.inf), np.stack([price, np.ones(shape)]), np.stack([(price * x)[0], x[0]]),
        np.array([True, True]),
    )  # fmt: skip
    found = optimal_bandwidth(program)
    assert (found.bound <= program.objective(x) * (1 + ROUNDING)).all()


def test_the_gap_of_nothing_is_a_number() -> None:
    # No traffic and no base: the objective is 0, and what is proven may be a rounding error below it.
    found = optimal_bandwidth(one([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    assert found.objective[0] == 0.0
    assert not np.isnan(found.gap()).any()


def test_patterns_without_bytes_may_have_no_bandwidth() -> None:
    check(one([[1.0, 2.0]], size=np.zeros(1), base=1.0), 1.0)


def test_a_pattern_that_takes_next_to_no_time() -> None:
    check(one([[1e-2], [1e3]], size=np.array([0.1, 1e12])), 1e15)


def test_what_is_infeasible_may_have_races() -> None:
    race = Overlap(1.0, (0.0, 0.0), np.array([[1.0, 0.0], [0.0, 1.0]]))
    program = one([[1.0, 1.0], [1.0, 2.0]], rows=[[1, 1], [-1, 0], [0, -1]], limit=[1, -0.6, -0.6], races=(race,),
                  equality=np.zeros(3, dtype=np.bool_))  # fmt: skip
    assert np.isinf(optimal_bandwidth(program).objective).all()


def test_one_pattern_by_hand() -> None:
    # T = max(3/b0, 4/b1) with b0 + 2 b1 = 22: b0 : b1 = 3 : 4, so b = (6, 8) and T = 1/2.
    column = np.ones((2, 1))
    program = BandwidthProgram(
        np.zeros(1), np.ones((1, 1)), np.array([[[3.0], [4.0]]]), 0.0 * column, 0.0 * column, np.inf * column,
        np.array([[[1.0], [2.0]]]), np.array([[22.0]]), np.array([False]),
    )  # fmt: skip
    found = optimal_bandwidth(program)
    np.testing.assert_allclose(found.bandwidth[:, 0], [6.0, 8.0], rtol=1e-12)
    np.testing.assert_allclose([found.objective[0], found.bound[0]], 0.5, rtol=1e-12)
