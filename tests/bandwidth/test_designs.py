"""Programs whose bytes, seconds and races differ by design: each design is as if it were alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st
from random_programs import ROUNDING, SEEDS, Case, budget_case, case, one, random_races, same

from evo_libra.arrays import FloatArray
from evo_libra.bandwidth.chains import Chains, chains_of
from evo_libra.bandwidth.closed_form import closed_form, has_closed_form
from evo_libra.bandwidth.conic import conic
from evo_libra.bandwidth.interior_point import interior_point
from evo_libra.bandwidth.product import least_product
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers, ascend, hyperbola, lower_bound
from evo_libra.bandwidth.solve import ACCURACY, merged, optimal_bandwidth, violation
from evo_libra.workload.layers.iteration_time import Overlap


@dataclass(frozen=True)
class Designs:
    """A program with coefficients of each design, its designs' programs, and the case that it was made of."""

    program: BandwidthProgram
    alone: list[BandwidthProgram]
    drawn: Case


def designs_case(seed: int, count: int = 8, *, races: bool = True, drawn: Case | None = None, **wishes: Any) -> Designs:
    """Draw coefficients of each design: some seconds, none to four races, and patterns of which it has no bytes."""
    drawn, rng = drawn or case(seed, count, races=False, **wishes), np.random.default_rng(seed + 1)
    program = drawn.program
    patterns = len(program.traffic)
    unit = float(program.size.max())
    base = rng.choice([0.5, 1.0, 3.0], count)
    size = unit * 10.0 ** rng.uniform(-1, 1, (patterns, count)) * (rng.random((patterns, count)) < 0.8)
    mine: list[tuple[Overlap, ...]] = [
        random_races(rng, patterns, unit) if races and rng.random() < 0.8 else () for _ in range(count)
    ]
    alone = [
        replace(
            program.select(np.array([n])), base=base[n : n + 1], size=size[:, n : n + 1],
            chains=chains_of([mine[n]], patterns),
        )
        for n in range(count)
    ]  # fmt: skip
    return Designs(replace(program, base=base, size=size, chains=chains_of(mine, patterns)), alone, drawn)


def each(designs: Designs, bandwidth: FloatArray) -> list[tuple[BandwidthProgram, FloatArray]]:
    """Return the program of each design, with its bandwidths."""
    return [(program, bandwidth[:, n : n + 1]) for n, program in enumerate(designs.alone)]


def own(program: BandwidthProgram, multipliers: Multipliers, n: int) -> Multipliers:
    """Return the multipliers of a design for its program alone, which has as many races and chains as it needs."""
    races, chains = program.chains.shape
    mine = multipliers.select(np.array([n]))
    return replace(mine, race=mine.race[:races, :chains])


@given(SEEDS, st.booleans())
@costly(30)
def test_time_and_objective_are_those_of_each_design(seed: int, races: bool) -> None:  # noqa: FBT001
    designs, rng = designs_case(seed, races=races), np.random.default_rng(seed)
    feasible = designs.drawn.feasible
    for bandwidth in (feasible, feasible * (rng.random(feasible.shape) < 0.9)):
        alone = each(designs, bandwidth)
        same(designs.program.time(bandwidth), np.concatenate([p.time(b) for p, b in alone]), ROUNDING)
        same(designs.program.objective(bandwidth), np.concatenate([p.objective(b) for p, b in alone]), ROUNDING)


@pytest.mark.slow
@given(SEEDS, st.booleans())
@costly(30)
def test_the_optimum_and_its_bound_are_those_of_each_design(seed: int, races: bool) -> None:  # noqa: FBT001
    designs = designs_case(seed, races=races)
    found = optimal_bandwidth(designs.program)
    assert (violation(designs.program, found.bandwidth) <= 1e-9).all()
    assert (found.bound <= found.objective * (1 + 1e-10)).all()
    assert (found.bound <= designs.program.objective(designs.drawn.feasible) * (1 + ROUNDING)).all()
    for n, (program, bandwidth) in enumerate(each(designs, found.bandwidth)):
        expected = optimal_bandwidth(program)
        apart = 2e-9 + 2 * float(expected.gap()[0] + found.gap()[n])
        same(found.objective[n : n + 1], expected.objective, apart)
        same(found.bound[n : n + 1], expected.bound, apart)
        same(found.objective[n : n + 1], program.objective(bandwidth), ROUNDING)
        # The proof is one of the design's own program.
        relief = 1e-12 * float(np.abs(found.multipliers.rows[:, n] * program.limit[:, 0]).sum())
        proven = lower_bound(program, own(program, found.multipliers, n))
        np.testing.assert_allclose(proven, found.bound[n : n + 1], rtol=1e-9, atol=relief)


@pytest.mark.slow
@given(SEEDS)
@costly(15)
def test_the_interior_point_alone_agrees(seed: int) -> None:
    designs = designs_case(seed, general=False, priced=False)
    bandwidth, multipliers = interior_point(designs.program, ACCURACY)
    bound, objective = lower_bound(designs.program, multipliers), designs.program.objective(bandwidth)
    proven = (objective - bound <= 1e-7 * objective) & (violation(designs.program, bandwidth) <= 1e-8)
    # One design in ten thousand is left to the conic solver, whatever its coefficients.
    assert proven.sum() >= len(bound) - 1
    for n in np.flatnonzero(proven):
        expected = optimal_bandwidth(designs.alone[n])
        same(objective[n : n + 1], expected.objective, 2e-7 + 2 * float(expected.gap()[0]))


@given(SEEDS)
@costly(8)
def test_clarabel_agrees(seed: int) -> None:
    designs = designs_case(seed, 4)
    program = designs.program
    found = optimal_bandwidth(program)
    bandwidth, proof, solved = conic(program)
    reference = program.objective(bandwidth)
    assert solved.all()
    good = violation(program, bandwidth) <= 1e-9
    assert (found.bound[good] <= reference[good] * (1 + 1e-7)).all()
    assert (found.objective[good] <= reference[good] * (1 + 1e-7 + found.gap()[good])).all()
    # Clarabel now and then stops early: it is a reference where its multipliers prove its answer.
    finished = good & (reference - lower_bound(program, proof) <= 1e-8 * reference)
    assert (reference[finished] <= found.objective[finished] * (1 + 1e-7)).all()


@given(SEEDS, st.booleans(), st.booleans())
@costly(30)
def test_closed_forms_are_those_of_each_design(seed: int, boxes: bool, equality: bool) -> None:  # noqa: FBT001
    rng = np.random.default_rng(seed)
    drawn = budget_case(seed, patterns=int(rng.integers(1, 3)))
    feasible = drawn.feasible
    if boxes:
        low = np.where(rng.random(feasible.shape) < 0.5, feasible * rng.uniform(0, 1, feasible.shape), 0.0)
        high = np.where(rng.random(feasible.shape) < 0.5, feasible * rng.uniform(1, 5, feasible.shape), np.inf)
        drawn = replace(drawn, program=replace(drawn.program, low=low, high=high))
    drawn = replace(drawn, program=replace(drawn.program, equality=np.array([equality])))
    designs = designs_case(seed, len(drawn.program), races=False, drawn=drawn)
    assert has_closed_form(designs.program).all()
    bandwidth, multipliers, short = closed_form(designs.program)
    bound = lower_bound(designs.program, multipliers)
    for n, program in enumerate(designs.alone):
        expected, proof, without = closed_form(program)
        assert short[n] == without[0]
        if not short[n]:
            same(designs.program.objective(bandwidth)[n : n + 1], program.objective(expected), 1e-11)
            np.testing.assert_allclose(bound[n : n + 1], lower_bound(program, proof), rtol=1e-11, atol=1e-300)


@given(SEEDS, st.sampled_from([1e-3, 1.0, 1e3]))
@costly(20)
def test_any_multipliers_prove_a_bound_of_each_design(seed: int, spread: float) -> None:
    designs, rng = designs_case(seed), np.random.default_rng(seed)
    program, optimum = designs.program, optimal_bandwidth(designs.program)
    race = rng.normal(size=(*program.chains.shape, len(program))) * spread
    near = optimum.multipliers
    share = rng.normal(size=near.share.shape) * spread
    for multipliers in (
        replace(near, race=race), replace(near, race=near.race + race), replace(near, share=share),
        ascend(program, designs.drawn.price, 5),
    ):  # fmt: skip
        bound = lower_bound(program, multipliers)
        assert not np.isnan(bound).any()
        assert (bound <= optimum.objective * (1 + 1e-10)).all()


@given(SEEDS)
@costly(20)
def test_the_hyperbola_is_that_of_each_design(seed: int) -> None:
    designs = designs_case(seed)
    price = designs.drawn.price
    multipliers = ascend(designs.program, price, 12)
    base, kappa = hyperbola(designs.program, multipliers, price)
    for n, program in enumerate(designs.alone):
        expected = hyperbola(program, own(program, multipliers, n), price[:, n : n + 1])
        same(np.array([base[n], kappa[n]]), np.concatenate(expected), 1e-12)


@given(SEEDS)
@costly(20)
def test_selected_designs_keep_their_coefficients(seed: int) -> None:
    designs, rng = designs_case(seed), np.random.default_rng(seed)
    program, feasible = designs.program, designs.drawn.feasible
    time, chosen = program.time(feasible), rng.integers(0, len(program), 12)
    np.testing.assert_array_equal(program.select(chosen).time(feasible[:, chosen]), time[chosen])
    np.testing.assert_array_equal(program.select(slice(2, 5)).time(feasible[:, 2:5]), time[2:5])
    some = rng.random(len(program)) < 0.5
    np.testing.assert_array_equal(program.select(some).time(feasible[:, some]), time[some])
    for n in range(len(program)):
        np.testing.assert_array_equal(program.select([n]).time(feasible[:, [n]]), time[[n]])
    # A single design may be repeated: its coefficients are then shared.
    again = program.select(np.array([3])).select(np.zeros(5, dtype=np.int64))
    same(again.time(feasible[:, [3] * 5]), np.full(5, time[3]), ROUNDING)
    found = optimal_bandwidth(program.select(np.zeros(0, dtype=np.int64)))
    assert found.objective.shape == found.bound.shape == (0,)


@pytest.mark.slow
@given(SEEDS)
@costly(15)
def test_a_design_has_the_same_bandwidths_whatever_it_is_solved_with(seed: int) -> None:
    program, rng = designs_case(seed).program, np.random.default_rng(seed)
    found = optimal_bandwidth(program)
    some = np.flatnonzero(rng.random(len(program)) < 0.5)
    for designs in (rng.permutation(len(program)), np.array([3]), some, np.repeat(some, 2)):
        again = optimal_bandwidth(program.select(designs))
        np.testing.assert_array_equal(again.bandwidth, found.bandwidth[:, designs])
        np.testing.assert_array_equal(again.objective, found.objective[designs])


@given(SEEDS)
@costly(15)
def test_merging_looks_at_every_design(seed: int) -> None:
    drawn, rng = case(seed, patterns=3, races=False), np.random.default_rng(seed)
    traffic = np.concatenate([drawn.program.traffic, 3.0 * drawn.program.traffic[:1], drawn.program.traffic[:2] + 1.0])
    wider = replace(drawn.program, traffic=traffic, size=np.ones((6, 1)) * drawn.program.size[0])
    designs = designs_case(seed, len(wider), drawn=replace(drawn, program=wider))
    size, chains = designs.program.size.copy(), designs.program.chains
    # The fifth pattern has bytes in the plain time of one design, the last one nowhere.
    size[4:], size[4, 7] = 0.0, 1.0
    bytes_ = chains.size.copy()
    bytes_[:, :, 4:] = 0.0
    program = replace(designs.program, size=size, chains=replace(chains, size=bytes_))
    small = merged(program)
    kept = [g for g in range(3) if traffic[g].any()]
    np.testing.assert_array_equal(small.traffic, traffic[[*kept, 4]])
    for bandwidth in (drawn.feasible, rng.uniform(0.1, 2) * drawn.feasible):
        same(small.objective(bandwidth), program.objective(bandwidth), ROUNDING)


@pytest.mark.slow
@given(SEEDS)
@costly(3)
def test_the_least_product_is_that_of_each_design(seed: int) -> None:
    drawn = budget_case(seed, 2)
    rows, total = np.ones((1, *drawn.feasible.shape)), drawn.feasible.sum(axis=0)[None]
    held = replace(drawn.program, rows=rows, limit=total, equality=np.array([True]))
    designs = designs_case(seed, 2, drawn=replace(drawn, program=held))
    best = least_product(designs.program, drawn.price)
    for n, program in enumerate(designs.alone):
        expected = least_product(program, drawn.price[:, n : n + 1])
        product = best.time[n : n + 1] * best.cost[n : n + 1]
        same(product, expected.time * expected.cost, 1e-8 + 2 * float(expected.gap()[0] + best.gap()[n]))


def test_races_of_each_design_by_hand() -> None:
    # A budget of 1 B/s for two patterns, each of a dimension of its own. The first design adds both, which takes
    # (1 + 1)^2; the second takes the longer one twice; the third has compute of 5 s beside the first pattern alone.
    both = np.eye(2)
    races = [
        (),
        (Overlap(2.0, (0.0, 0.0), both),),
        (Overlap(1.0, (5.0, 0.0), np.array([[0.0, 0.0], [1.0, 0.0]])), Overlap(1.0, (1.0, 1.0, 0.5), np.zeros((3, 2)))),
    ]
    program = replace(
        one([[1.0, 0.0], [0.0, 1.0]]).select(np.zeros(3, dtype=np.int64)), base=np.array([0.0, 1.0, 2.0]),
        size=np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), chains=chains_of(races, 2),
    )  # fmt: skip
    found = optimal_bandwidth(program)
    np.testing.assert_allclose(found.objective, [4.0, 1.0 + 2.0 * 2.0, 2.0 + 5.0 + 1.0], rtol=1e-9)
    assert (found.gap() <= 1e-6).all()
    np.testing.assert_allclose(found.bandwidth[:, :2], 0.5, rtol=1e-6)


def test_the_chains_of_a_table_are_those_of_the_races() -> None:
    two = Overlap(2.0, (1.0, 2.0), np.array([[1.0, 0.0], [0.0, 3.0]]))
    three = Overlap(1.0, (5.0, 0.0, 4.0), np.ones((3, 2)))
    table = chains_of([(two, three), (), (three,)], 2)
    assert table.shape == (2, 3)
    np.testing.assert_array_equal(table.compute[..., 0], [[2.0, 4.0, 0.0], [5.0, 0.0, 4.0]])
    np.testing.assert_array_equal(table.size[0, :, :, 0], [[2.0, 0.0], [0.0, 6.0], [0.0, 0.0]])
    np.testing.assert_array_equal(table.compute[..., 2], [[5.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    # What a design has no race for is a race of one chain without anything.
    np.testing.assert_array_equal(table.present.sum(axis=1), [[2, 1, 3], [3, 1, 1]])
    assert not table.compute[..., 1].any()
    assert not table.size[..., 1].any()
    shared = Chains(table.compute[..., :1], table.size[..., :1], table.present[..., :1])
    assert shared.select(np.array([0, 0, 0])).present.shape == (2, 3, 1)
