from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.fabrics.population import fabrics_of
from evo_libra.problem.switch_fabrics.genes import GENES, encoded, genome
from evo_libra.problem.switch_fabrics.sampling import SeededGenome, stepped
from evo_libra.problem.switch_fabrics.seeds import named_fabrics

SEEDS = encoded(fabrics_of(list(named_fabrics(256, 8).values())))
GENOME = SeededGenome(**vars(genome(8)), seeds=SEEDS, npus=8)


def test_samples_begin_with_the_named_fabrics() -> None:
    found = GENOME.sample(np.random.default_rng(0), 100)
    assert np.array_equal(found[:GENES, : SEEDS.shape[1]], SEEDS)
    assert np.array_equal(GENOME.repair(found), found)
    few = GENOME.sample(np.random.default_rng(0), 2)
    assert np.array_equal(few[:GENES], SEEDS[:, :2])


def test_samples_depend_on_the_random_numbers_alone() -> None:
    one, same, other = (GENOME.sample(np.random.default_rng(seed), 50) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.slow
@given(st.integers(0, 10**9))
def test_steps_are_legal_and_mostly_change_something(seed: int) -> None:
    random = np.random.default_rng(seed)
    before = GENOME.sample(random, 60)
    after = stepped(before, 8, random)
    assert np.array_equal(GENOME.repair(after), after)
    assert (before != after).any(axis=0).mean() > 0.5
