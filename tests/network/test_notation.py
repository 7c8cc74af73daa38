"""Networks of a population in the notation, against their records."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.arrays import Population
from evo_libra.network.fabric import Dimension, networks_of, parse_fabric


@pytest.mark.parametrize("name", ["gpt3-4k", "moe-4k", "llama3-405b-16k", "llama3-70b-serving", "language-models-4k"])
def test_designs_are_written_as_their_records(name: str) -> None:
    problem = load_problem(name)
    population = problem.decode(problem.genome.sample(np.random.default_rng(3), 500))
    assert problem.notation.written(population) == list(map(str, problem.fabrics(population)))
    assert networks_of(population.select([]), problem.catalog.names) == []


@given(st.floats(1e-9, 1e20, allow_subnormal=False))
def test_bandwidths_are_the_shortest_decimals_that_read_back(bandwidth: float) -> None:
    text = str(Dimension(0, 4, "node", bandwidth)).partition(":")[2]
    assert Decimal(text) == Decimal(repr(bandwidth)).scaleb(-9)
    assert text == "0" or not text.endswith((".", "0")) or "." not in text
    if bandwidth >= 1e-3:
        assert parse_fabric(f"RI(4)@node:{text}").dimensions[0].bandwidth == bandwidth


@given(st.lists(st.floats(1e-9, 1e20, allow_subnormal=False) | st.integers(0, 10**17).map(float), min_size=1))
@example([9.5e15, 1e16, 1.5e16, 0.5, 1e-7])
def test_bandwidths_of_many_designs_are_written_like_those_of_one(bandwidths: list[float]) -> None:
    count = len(bandwidths)
    npus = np.array([[4] * count, [1] * count, [2] * count])
    population = Population(npus, np.zeros_like(npus), np.zeros_like(npus), np.array([bandwidths] * 3))
    each = [f"{Dimension(0, 4, 'node', one)}_{Dimension(0, 2, 'node', one)}" for one in bandwidths]
    assert networks_of(population, ["node"]) == each
