"""Networks of a population in the notation, against their records."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest
from designs import design_file
from hypothesis import example, given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.arrays import Population
from evo_libra.errors import InputError
from evo_libra.network.fabric import Dimension, fabrics_of, networks_of, parse_fabric, population_of


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt3-4k", "moe-4k", "llama3-405b-16k", "llama3-70b-serving", "language-models-4k"])
def test_designs_are_written_as_their_records(name: str) -> None:
    problem = load_problem(design_file(name))
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


@pytest.mark.slow
@given(st.lists(st.floats(1e-9, 1e20, allow_subnormal=False) | st.integers(0, 10**17).map(float), min_size=1))
@example([9.5e15, 1e16, 1.5e16, 0.5, 1e-7])
def test_bandwidths_of_many_designs_are_written_like_those_of_one(bandwidths: list[float]) -> None:
    count = len(bandwidths)
    npus = np.array([[4] * count, [1] * count, [2] * count])
    population = Population(npus, np.zeros_like(npus), np.zeros_like(npus), np.array([bandwidths] * 3))
    each = [f"{Dimension(0, 4, 'node', one)}_{Dimension(0, 2, 'node', one)}" for one in bandwidths]
    assert networks_of(population, ["node"]) == each


@pytest.mark.parametrize(("bandwidth", "text"), [
    (1.0, "0.000000001"), (5e8, "0.5"), (62.5e9, "62.5"), (1e11, "100"), (123456789.5, "0.1234567895"),
    (1e16, "10000000"), (1.5e16, "15000000"), (1e-7, "0.0000000000000001"), (999999999.0, "0.999999999"),
])  # fmt: skip
def test_bandwidths_by_hand(bandwidth: float, text: str) -> None:
    # GB/s are B/s with the point nine places to the left.
    assert str(Dimension(0, 4, "node", bandwidth)) == f"RI(4)@node:{text}"
    population = Population(
        np.array([[4], [1], [2]]), np.array([[0], [0], [2]]), np.zeros((3, 1), np.int64), np.full((3, 1), bandwidth)
    )
    assert networks_of(population, ["node"]) == [f"RI(4)@node:{text}_SW(2)@node:{text}"]


def test_designs_by_hand() -> None:
    text = "RI(4)@board:100_SW2(32)@rack:12.5 chunks=16 scheduler=themis npu=b200 spares=64 | tp8 dp4 | tp2"
    found = parse_fabric(text)
    assert (found.npus, found.options, found.npu, found.spares) == (
        128, (("chunks", "16"), ("scheduler", "themis")), "b200", 64,
    )  # fmt: skip
    assert (found.plans, str(found)) == (("tp8 dp4", "tp2"), text)
    assert [(one.npus, one.technology, one.bandwidth) for one in found.dimensions] == [
        (4, "board", 100e9), (32, "rack", 12.5e9),
    ]  # fmt: skip
    bare = parse_fabric("ri(4)_sw(2)")
    assert (str(bare), bare.spares, bare.npu, bare.plans) == ("RI(4)_SW(2)", 0, None, ())
    assert parse_fabric("RI(2)@a:1e3").dimensions[0].bandwidth == 1e12
    # No spares are not written, and NPUs beyond 2^63 are counted.
    assert str(parse_fabric("RI(4) spares=0")) == "RI(4)"
    assert parse_fabric("_".join(["RI(100000000)"] * 3)).npus == 10**24


@pytest.mark.parametrize(("text", "words"), [
    ("RI(1)", "has 1 NPUs; a dimension has at least 2"), ("RI(4)@a:0", "has no bandwidth; it must be above 0"),
    ("RI(4) npu=a npu=b", "names 2 NPUs"), ("RI(4) spares=1 spares=2", "spares=1 and spares=2"),
    ("RI(4) spares=x", "has spares=x"), ("RI(4) chunks=", "has no value"), ("RI(4) chunks", "has no value"),
    ("RI(4) chanks=4", "did you mean 'chunks'"), ("RJ(4)", "unknown block 'RJ'"), ("RI4", "is no dimension"),
    ("spares=2 RI(4)", "goes after the network and a space, like SW(8)@node_SW(32)@pod spares=2"),
    ("RI(4)_spares=2", "'spares=2' in the design 'RI(4)_spares=2' stands where a dimension is needed"),
])  # fmt: skip
def test_mistakes_of_designs(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        parse_fabric(text)


def test_designs_become_arrays_and_back() -> None:
    fabrics = [parse_fabric("RI(4)@b:100_SW(2)@a:50"), parse_fabric("SW(8)@a:25")]
    found = population_of(fabrics, ["a", "b"])
    assert (found.npus.tolist(), found.technology.tolist()) == ([[4, 8], [2, 1]], [[1, 0], [0, 0]])
    assert found.bandwidth.tolist() == [[100e9, 25e9], [50e9, 0.0]]
    assert population_of(fabrics, ["a", "b"], 3).npus.tolist() == [[4, 8], [2, 1], [1, 1]]
    assert fabrics_of(found, ["a", "b"]) == fabrics
    for lacking in ("RI(4)@a", "RI(4)", "RI(4)@a:1_SW(2)@a"):
        with pytest.raises(InputError, match="lacks its technology or bandwidth"):
            population_of([parse_fabric(lacking)], ["a"])
    with pytest.raises(InputError, match="unknown technology 'c'"):
        population_of([parse_fabric("RI(4)@c:1")], ["a"])
