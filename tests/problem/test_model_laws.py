"""Laws that every problem obeys, whatever its numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from effort import costly
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.arrays import Population
from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.fabric import Dimension, Fabric, parse_fabric
from evo_libra.problem.problem import Problem

SETTINGS = settings(max_examples=40)
SEEDS = st.integers(0, 2**32 - 1)
OPEN = ["fabric.catalog=libra", "fabric.max_dimensions=5", "fabric.one_dimension_per_technology=false"]


def load(*assignments: str) -> Problem:
    problem = load_problem("gpt3-4k", assignments)
    assert isinstance(problem, Problem)
    return problem


WIDE = load(*OPEN)
OVERLAP = load(*OPEN, "time={shares: libra, overlap: tp-dp}")


def designs(problem: Problem, seed: int, count: int = 64) -> Population:
    return problem.decode(problem.genome.sample(np.random.default_rng(seed), count))


def scaled(population: Population, factor: float) -> Population:
    return Population(population.npus, population.block, population.technology, population.bandwidth * factor)


@pytest.mark.slow
@pytest.mark.parametrize(("npus", "tp"), [(4096, 16), (3000, 10), (16384, 16), (100_000, 16)])
def test_every_genome_decodes_to_the_npus(npus: int, tp: int) -> None:
    several = ["fabric.one_dimension_per_technology=false", "fabric.max_dimensions=5"]
    problem = load(f"npus={npus}", f"workloads[0].parallelism.tp={tp}", *several, "fabric.catalog=libra")
    population = designs(problem, 0, 2000)
    assert (population.npus.prod(axis=0) == npus).all()
    assert problem.time.fits(population.npus).all()
    used = population.npus > 1
    assert ((population.bandwidth > 0) == used).all()
    assert (np.diff(used.astype(int), axis=0) <= 0).all()
    assert (np.diff(population.technology, axis=0)[used[1:]] >= 0).all()


@pytest.mark.slow
@given(SEEDS)
@SETTINGS
def test_genes_and_designs_have_the_same_worth(seed: int) -> None:
    genes = WIDE.genome.sample(np.random.default_rng(seed), 3000)
    by_genes, by_design = WIDE.evaluate_genes(genes), WIDE.evaluate(WIDE.decode(genes))
    np.testing.assert_allclose(by_genes.objectives, by_design.objectives, rtol=1e-14)
    alone = WIDE.evaluate_genes(genes[:, 1500:1501])
    np.testing.assert_array_equal(by_genes.objectives[:, 1500:1501], alone.objectives)


@pytest.mark.slow
@given(SEEDS, st.floats(1.0, 100.0))
@SETTINGS
def test_more_bandwidth_is_never_slower_and_scales_as_it_should(seed: int, factor: float) -> None:
    population = designs(WIDE, seed)
    before, after = WIDE.evaluate(population).objectives, WIDE.evaluate(scaled(population, factor)).objectives
    compute = WIDE.time.loops[0].workload.compute
    np.testing.assert_allclose(after[0] - compute, (before[0] - compute) / factor, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(after[1], before[1] * factor, rtol=1e-12)
    for problem in (WIDE, OVERLAP):
        faster, slower = problem.evaluate(scaled(population, factor)), problem.evaluate(population)
        assert (faster.objectives[0] <= slower.objectives[0] * (1 + 1e-12)).all()


@given(SEEDS)
@SETTINGS
def test_overlap_never_costs_time_and_never_hides_compute(seed: int) -> None:
    population = designs(WIDE, seed)
    with_overlap, without = OVERLAP.evaluate(population).objectives[0], WIDE.evaluate(population).objectives[0]
    assert (with_overlap <= without * (1 + 1e-12)).all()
    assert (with_overlap >= WIDE.time.loops[0].workload.compute * (1 - 1e-12)).all()


def test_overlap_of_one_layer_by_hand(tmp_path: Path) -> None:
    # Per layer in backward: max(ig compute + ig collective, ig compute + wg compute + wg collective).
    text = "HYBRID_TRANSFORMER\n1\nl -1 1000 ALLREDUCE 4000 2000 ALLREDUCE 8000 3000 ALLREDUCE 6000 0\n"
    (tmp_path / "w.txt").write_text(text)
    file = f"workloads=[{{file: {tmp_path / 'w.txt'}, parallelism: {{tp: 2}}}}]"
    design = "RI(2)@chiplet:1_SW(4)@pod:2"
    times = {}
    for overlap in ("none", "tp-dp"):
        problem = load("npus=8", file, f"time={{model: libra, overlap: {overlap}}}")
        times[overlap] = problem.evaluate(design).objectives[0, 0] * 1e9
    forward, tensor, data = 1000 + 4000, 8000, 6000 * 2 * 3 / 4 / 2
    assert times["none"] == pytest.approx(forward + 2000 + tensor + 3000 + data, rel=1e-12)
    assert times["tp-dp"] == pytest.approx(forward + max(2000 + tensor, 2000 + 3000 + data), rel=1e-12)


def test_normalised_weights_let_no_workload_drown_the_others() -> None:
    problem = load_problem("language-models-4k")
    assert isinstance(problem, Problem)
    shares = [loop.weight * loop.workload.compute for loop in problem.time.loops]
    np.testing.assert_allclose(shares, shares[0], rtol=1e-12)
    assert sum(shares) == pytest.approx(sum(loop.workload.compute for loop in problem.time.loops))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(2, 10**6), st.sampled_from([None, "pod", "my-tech.2"]),
                          st.none() | st.floats(1e-3, 1e18)), min_size=1, max_size=6))  # fmt: skip
def test_notation_round_trip(parts: list[tuple[int, int, str | None, float | None]]) -> None:
    fabric = Fabric(tuple(Dimension(*part) for part in parts))
    assert parse_fabric(str(fabric)) == fabric


@pytest.mark.slow
@given(st.text(max_size=40) | st.text(alphabet="RIFCSW()@:_0123456789.e-", max_size=40))
@settings(max_examples=300)
def test_any_text_is_a_design_or_an_input_error(text: str) -> None:
    try:
        assert parse_fabric(text).dimensions
    except InputError as error:
        assert "\n" not in str(error).replace(text, "")


CONSTRAINED = [
    "sum(bw) == 1000 GB/s",
    "bw[0] == 500 GB/s",
    "bw[0] >= bw[1] >= bw[2]",
    "bw[2] + bw[3] == 200 GB/s",
]


@pytest.mark.slow
@given(SEEDS)
@costly(10)
def test_the_constraints_that_libra_ships_are_met_by_repair(seed: int) -> None:
    problem = load("fabric.catalog=libra", "fabric.shape=RI(4)@chiplet_FC(8)@package_RI(4)@node_SW(32)@pod",
                   "bandwidth={mode: search, min_GBps: 1, max_GBps: 700}", f"constraints={CONSTRAINED}")  # fmt: skip
    genes = problem.genome.sample(np.random.default_rng(seed), 500)
    bandwidth = problem.decode(genes).bandwidth / 1e9
    feasible = problem.evaluate_genes(genes).violation <= 0
    assert feasible.mean() > 0.9
    np.testing.assert_allclose(bandwidth[:, feasible].sum(axis=0), 1000, rtol=1e-8)
    np.testing.assert_allclose(bandwidth[0, feasible], 500, rtol=1e-8)
    np.testing.assert_allclose(bandwidth[2:, feasible].sum(axis=0), 200, rtol=1e-8)
    assert (bandwidth[1, feasible] >= bandwidth[2, feasible] * (1 - 1e-8)).all()


@pytest.mark.slow
@given(SEEDS, st.floats(20.0, 2000.0))
@SETTINGS
def test_a_single_sum_is_always_met(seed: int, total: float) -> None:
    problem = load(f"constraints=['sum(bw) <= {total!r} GB/s']")
    genes = problem.genome.sample(np.random.default_rng(seed), 500)
    assert (problem.evaluate_genes(genes).violation == 0).all()
    assert (problem.decode(genes).bandwidth.sum(axis=0) <= total * 1e9 * (1 + 1e-9)).all()


def test_the_first_blocks_are_those_of_libra() -> None:
    assert [(block.code, block.name) for block in BLOCKS[:3]] == [
        ("RI", "ring"), ("FC", "fully-connected"), ("SW", "switch"),
    ]  # fmt: skip
