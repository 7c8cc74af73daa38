"""Operators on arrays: legal children, and the distributions that the literature says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray
from evo_libra.problem.protocol import Genome
from evo_libra.searching.engines import variation
from evo_libra.searching.engines.variation import Operators, _hits, is_new, offspring

KINDS = np.array([False, True, True, False, True, False])
MIXED = Genome(
    tuple("abcdef"), np.array([-1.0, 0, 3, 0.5, 0, -9]), np.array([1.0, 79, 5, 0.5, 1, -2]), KINDS
)  # fmt: skip
REAL = Genome(("x",), np.array([0.0]), np.array([1.0]), np.array([False]))
NOTHING = Operators(crossover=0.0, mutation=0.0)


def child(operators: Operators, parents: tuple[float, float], count: int = 40_000) -> FloatArray:
    first, second = (np.full((1, count), value) for value in parents)
    return offspring(REAL, first, second, np.random.default_rng(0), operators)[0]


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60)
def test_children_are_legal(seed: int, crossover: float, exchange: float, polynomial: float) -> None:
    random = np.random.default_rng(seed)
    operators = Operators(crossover=crossover, exchange=exchange, polynomial=polynomial, mutation=3.0)
    # In either order in memory.
    parents = MIXED.sample(random, 61), np.asfortranarray(MIXED.sample(random, 61))
    before = [each.copy() for each in parents]
    children = offspring(MIXED, *parents, random, operators)
    np.testing.assert_array_equal(children, MIXED.repair(children))
    assert children.shape == (6, 122)
    np.testing.assert_array_equal(parents, before)


def test_children_are_their_parents_to_the_last_bit_where_nothing_happens() -> None:
    random = np.random.default_rng(1)
    first, second = MIXED.sample(random, 300), MIXED.sample(random, 300)
    parents = np.concatenate([first, second], axis=1)
    np.testing.assert_array_equal(offspring(MIXED, first, second, random, NOTHING), parents)
    same = Operators(mutation=0.0)
    np.testing.assert_array_equal(offspring(MIXED, first, first, random, same), np.tile(first, 2))


def test_segments_are_passed_on_whole() -> None:
    genome = replace(MIXED, segments=(0, 0, 2, 1, 1, 2))
    random = np.random.default_rng(4)
    first, second = genome.sample(random, 500), genome.sample(random, 500)
    first[3], second[3] = 0.25, 0.75
    children = offspring(genome, first, second, random, Operators(crossover=0.8, whole_segments=1.0, mutation=0.0))
    parents = np.stack([np.concatenate([first, second], axis=1), np.concatenate([second, first], axis=1)])
    ways = set()
    for child, one, two in zip(children.T, *parents.transpose(0, 2, 1), strict=True):
        ways.add(tuple(bool((child[list(part)] == two[list(part)]).all()) for part in ((0, 1), (3, 4), (2, 5))))
        for part in ([0, 1], [3, 4], [2, 5]):
            assert (child[part] == one[part]).all() or (child[part] == two[part]).all()
    assert len(ways) == 8


def test_crossed_whole_numbers_are_a_parent_s() -> None:
    random = np.random.default_rng(2)
    first, second = MIXED.sample(random, 4000), MIXED.sample(random, 4000)
    children = offspring(MIXED, first, second, random, Operators(mutation=0.0))
    one, two = children[:, :4000], children[:, 4000:]
    swapped = (one == second) & (two == first) & (first != second)
    kept = (one == first) & (two == second)
    assert (swapped | kept)[KINDS].all()
    assert swapped[KINDS].sum() / (first != second)[KINDS].sum() == pytest.approx(0.45, abs=0.02)


@pytest.mark.parametrize("exchange", [0.0, 0.5])
def test_spread_of_real_genes_is_that_of_simulated_binary_crossover(exchange: float) -> None:
    eta, parents = 15.0, (0.4, 0.6)
    children = child(Operators(crossover=1.0, crossover_eta=eta, exchange=exchange, mutation=0.0), parents)
    one, two = children[:40_000], children[40_000:]
    np.testing.assert_allclose(one + two, 1.0)
    crossed = one != 0.4
    assert crossed.mean() == pytest.approx(0.5, abs=0.02)
    spread = np.abs(two - one)[crossed] / 0.2
    # Deb and Agrawal: contracting half of the time, then with a density that is a power of the spread.
    assert (spread < 1).mean() == pytest.approx(0.5, abs=0.02)
    for quantile in (0.1, 0.5, 0.9):
        inside = np.quantile(spread[spread < 1], quantile)
        assert inside == pytest.approx(quantile ** (1 / (eta + 1)), rel=0.01)
        assert np.quantile(spread[spread > 1], quantile) == pytest.approx((1 - quantile) ** (-1 / (eta + 1)), rel=0.01)
    assert (two < one)[crossed].mean() == pytest.approx(exchange, abs=0.02)


def test_polynomial_mutation_has_its_distribution() -> None:
    eta = 20.0
    children = child(Operators(crossover=0.0, mutation=1.0, polynomial=1.0, mutation_eta=eta), (0.3, 0.3))
    assert (children < 0.3).mean() == pytest.approx(0.5, abs=0.01)
    assert children.min() >= 0
    assert children.max() <= 1
    for quantile in (0.02, 0.2, 0.4):
        # Deb and Goyal: the cumulative distribution turned around, below and above.
        base, power = 2 * quantile, 1 / (eta + 1)
        low = 0.3 + (base + (1 - base) * 0.7 ** (eta + 1)) ** power - 1
        high = 0.3 + 1 - (base + (1 - base) * 0.3 ** (eta + 1)) ** power
        assert np.quantile(children, quantile) == pytest.approx(low, abs=2e-3)
        assert np.quantile(children, 1 - quantile) == pytest.approx(high, abs=2e-3)


def test_steps_are_uniform_in_their_logarithm() -> None:
    children = child(Operators(crossover=0.0, polynomial=0.0, decades=4.0), (0.5, 0.5))
    step = np.log10(np.abs(children - 0.5))
    # A uniform number times a power of ten: its logarithm is uniform but for the ends.
    for decade in (-1.5, -2.5, -3.5):
        assert ((step > decade - 0.5) & (step < decade + 0.5)).mean() == pytest.approx(0.25, abs=0.03)


def test_mutated_whole_numbers_are_near_or_anywhere() -> None:
    genome = Genome(("kind",), np.array([0.0]), np.array([999.0]), np.array([True]))
    parents = np.full((1, 20_000), 500.0)
    children = offspring(genome, parents, parents, np.random.default_rng(0), Operators(crossover=0.0, near=0.4))[0]
    near = np.abs(children - 500) <= 3
    assert near.mean() == pytest.approx(0.4, abs=0.02)
    assert set(np.unique(children[near])) >= {497.0, 498.0, 499.0, 501.0, 502.0, 503.0}
    assert np.quantile(children[~near], [0.1, 0.9]) == pytest.approx([100, 900], abs=20)


def test_ordered_whole_numbers_move_by_steps() -> None:
    """Crossed they stay whole, and their sum is their parents'; mutated they are others, mostly near ones."""
    genome = Genome(("place",), np.array([0.0]), np.array([999.0]), np.array([True]), ordered=(True,))
    first, second = np.full((1, 20_000), 400.0), np.full((1, 20_000), 440.0)
    children = offspring(genome, first, second, np.random.default_rng(0), Operators(crossover=1.0, mutation=0.0))[0]
    one, two = children[:20_000], children[20_000:]
    np.testing.assert_array_equal(one + two, 840.0)
    assert len(np.unique(one)) > 20
    assert (np.abs(two - one) <= 80).mean() > 0.99
    mutated = offspring(genome, first, first, np.random.default_rng(0), Operators(crossover=0.0))[0]
    np.testing.assert_array_equal(mutated, np.rint(mutated))
    assert (mutated != 400).all()
    assert 0.3 < (np.abs(mutated - 400) <= 10).mean() < 0.7
    np.testing.assert_array_equal(genome.repair(mutated[None])[0], mutated)


@given(st.integers(0, 5000), st.floats(1e-4, 1), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_hits_are_among_the_trials(count: int, probability: float, seed: int) -> None:
    hits = _hits(np.random.default_rng(seed), count, probability)
    assert not len(hits) or (hits.min() >= 0 and hits.max() < count)
    assert probability < 1 or sorted(hits.tolist()) == list(range(count))


def test_hits_are_as_likely_everywhere() -> None:
    random = np.random.default_rng(3)
    times = np.bincount(np.concatenate([np.unique(_hits(random, 50, 0.3)) for _ in range(10_000)]), minlength=50)
    np.testing.assert_allclose(times / 10_000, 0.3, atol=0.02)


def test_one_gene_of_a_child_mutates_on_average() -> None:
    parents = MIXED.sample(np.random.default_rng(0), 4000)
    children = offspring(MIXED, parents, parents, np.random.default_rng(1))
    # The gene without a range cannot change, nor is it counted, and a whole number may become what it was.
    changed = (children != np.tile(parents, 2)).mean(axis=1)
    assert changed[3] == 0
    np.testing.assert_allclose(changed[[0, 1, 5]], 1 / 5, atol=0.02)


def test_is_new_finds_repeats() -> None:
    genes = np.array([[1.0, 2.0, 1.0, 3.0]])
    assert is_new(genes, np.array([[3.0]])).tolist() == [True, True, False, False]


def test_the_operators_are_those_of_the_literature() -> None:
    # NSGA-II crosses nine pairs of ten, with a distribution index of 15, and mutates one gene of a child, with one of
    # 20 (Deb et al. 2002; pymoo's are the same); half of the genes are exchanged.
    usual = Operators()
    assert (usual.crossover, usual.crossover_eta, usual.exchange) == (0.9, 15.0, 0.5)
    assert (usual.mutation, usual.mutation_eta) == (1.0, 20.0)
    # Half of the mutations are bold or fine steps, over four decades, and half of those of categories near ones.
    assert (usual.polynomial, usual.decades, usual.near, usual.whole_segments) == (0.5, 4.0, 0.5, 0.1)


def drawn(*values: list[float], smooth: int = 0) -> Any:
    """Return a generator that gives these numbers, whatever is asked for, and as exponential ones the first."""
    numbers = np.array(values)
    return SimpleNamespace(
        random=lambda shape: (numbers if isinstance(shape, tuple) else numbers[-1]).copy(),
        standard_exponential=lambda _: numbers[0].copy(),
        binomial=lambda *_: smooth,
    )


def test_polynomial_mutation_by_hand() -> None:
    # Deb and Goyal: below u = 1/2, (2 u + (1 - 2 u) (1 - below)^(eta + 1))^(1 / (eta + 1)) - 1, and the same turned
    # around above. With eta = 1, u = 1/4 and half of the range below, that is sqrt(0.5 + 0.5 x 0.25) - 1 = -0.2094.
    step = np.sqrt(0.625) - 1.0
    below, u = np.array([0.5, 0.5, 0.5, 0.2, 0.2]), np.array([0.25, 0.75, 0.5, 0.25, 0.75])
    # With a fifth of the range below: sqrt(0.5 + 0.5 x 0.64) - 1, and 1 - sqrt(0.5 + 0.5 x 0.04).
    expected = [step, -step, 0.0, np.sqrt(0.82) - 1.0, 1.0 - np.sqrt(0.52)]
    np.testing.assert_allclose(variation._polynomial(below, u, 1.0), expected, atol=1e-12)  # noqa: SLF001 - a formula


def test_simulated_binary_crossover_by_hand() -> None:
    # Deb and Agrawal: children are (1 -+ spread) / 2 between their parents. An exponential number of 16 ln 2 over
    # eta + 1 = 16 makes a spread of 2 or 1/2, so that a parent moves -1/2 or 1/4 of the way to the other one.
    exponential = [16.0 * np.log(2.0)] * 4
    random = drawn(exponential, [0.9, 0.6, 0.1, 0.4])
    plain = variation._sbx_parts(4, random, Operators(crossover_eta=15.0, exchange=0.0))  # noqa: SLF001 - a formula
    np.testing.assert_allclose(plain, [-0.5, -0.5, 0.25, 0.25])
    # With exchange 1/2, numbers within 1/4 of 1/2 swap the children: 1 + 1/2 and 1 - 1/4 of the way.
    swapped = variation._sbx_parts(4, random, Operators(crossover_eta=15.0, exchange=0.5))  # noqa: SLF001 - a formula
    np.testing.assert_allclose(swapped, [-0.5, 1.5, 0.25, 0.75])


def test_other_categories_by_hand() -> None:
    # Below 1/2 a near number: a sixth each for -3, -2, -1, 1, 2 and 3. Else any from the lowest, 20, to 20 + 9.
    random = drawn([0.49, 0.49, 0.5, 0.5, 0.5], [0.0, 0.5, 0.0, 0.55, 0.99])
    lower, span = np.full(5, 20.0), np.full(5, 9.0)
    found = variation._other_whole(np.full(5, 25.0), lower, span, random, Operators(near=0.5))  # noqa: SLF001 - a formula
    assert found.tolist() == [22.0, 26.0, 20.0, 25.0, 29.0]


def test_steps_by_hand() -> None:
    # 10^(-decades v) (2 u - 1) of the range; the first ones are polynomial: u = 1/4 from the middle with eta = 1.
    random, values = drawn([0.25, 0.75, 0.25], [0.0, 0.5, 0.0], smooth=1), np.full(3, 60.0)
    lower, span, operators = np.full(3, 10.0), np.full(3, 100.0), Operators(mutation_eta=1.0, decades=4.0)
    moved = variation._moved(values, lower, span, random, operators)  # noqa: SLF001 - a formula
    np.testing.assert_allclose(moved, [60.0 + 100.0 * (np.sqrt(0.625) - 1.0), 60.0 + 0.5, 60.0 - 50.0])
    # Whole numbers go on to the next one: -20.9 to -21, 0.5 to 1.
    stepped = variation._stepped(values, lower, span, random, operators)  # noqa: SLF001 - a formula
    assert stepped.tolist() == [39.0, 61.0, 10.0]
    # A range of a million has steps of six decades: 10^-3 of a half of it.
    wide = variation._stepped(values, lower, np.full(3, 1e6), random, operators)  # noqa: SLF001 - a formula
    assert wide[1] == 60.0 + 500.0
