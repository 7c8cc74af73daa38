"""Fused evaluation: the same results as from the sections to the last bit, compiled or not."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.arrays import TILE, compile_function
from evo_libra.problem import fused
from evo_libra.problem.fused import WORTH_COMPILING, FusedEvaluation, _run
from evo_libra.problem.problem import Problem

SHIPPED = ("gpt3-4k", "dlrm-4k", "language-models-4k", "msft-1t-4k", "resnet50-4k", "turing-nlg-4k")
EIGHT = (
    "npus=1024", "fabric.catalog=libra", "fabric.max_dimensions=8", "fabric.one_dimension_per_technology=false",
)  # fmt: skip
FIVE = ("fabric.catalog=libra", "fabric.max_dimensions=5", "fabric.one_dimension_per_technology=false")


def problem_of(name: str, settings: tuple[str, ...] = ()) -> tuple[Problem, FusedEvaluation]:
    problem = load_problem(design_file(name), list(settings))
    assert isinstance(problem, Problem)
    assert problem.fused is not None
    return problem, problem.fused


def outcome(problem: Problem, genes: np.ndarray) -> tuple[bytes, ...]:
    found = problem.evaluate_genes(genes)
    return found.objectives.tobytes(), found.violation.tobytes(), problem.design_rows(genes).tobytes()


def not_fused(problem: Problem) -> Problem:
    """Return the problem without fused evaluation: it has sections, pricing and time model, as all others."""
    other = replace(problem)
    vars(other)["fused"] = None
    return other


def check(problem: Problem, loop: FusedEvaluation, genes: np.ndarray) -> None:
    """Compare all ways; that the last one is compiled is seen by what the loop is asked for."""
    expected = outcome(not_fused(problem), genes)
    loop.evaluated = 0
    assert outcome(problem, genes) == expected
    assert loop.evaluated == genes.shape[1] <= WORTH_COMPILING
    if compile_function(_run) is None:
        return
    loop.evaluated = WORTH_COMPILING
    assert (loop.compiled(genes.shape[1]) is not None) == (genes.shape[1] % TILE != 1)
    assert outcome(problem, genes) == expected


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), FIVE], ids=["four", "five"])
@pytest.mark.parametrize("name", SHIPPED)
def test_results_are_equal_to_the_last_bit(name: str, settings: tuple[str, ...]) -> None:
    problem, loop = problem_of(name, settings)
    for count, order in ((1, "C"), (2, "C"), (650, "F"), (5000, "C")):
        genes = problem.genome.sample(np.random.default_rng(count), count)
        check(problem, loop, np.array(genes, order=order))


@pytest.mark.slow
def test_eight_dimensions_of_a_tile_of_one_design_are_added_as_numpy_does() -> None:
    problem, loop = problem_of("gpt3-4k", EIGHT)
    for seed in range(8):
        genes = problem.genome.sample(np.random.default_rng(seed), TILE + 1)
        genes[0] = len(problem.structures) - 1
        check(problem, loop, genes)


@given(
    st.sampled_from([64, 96, 1024]), st.integers(1, 5), st.sampled_from([1, 2, 8]), st.sampled_from(["true", "false"]),
    st.sampled_from(["none", "tp-dp"]), st.floats(0.5, 50.0), st.sampled_from(["libra", "libra-cosearch"]),
    st.sampled_from(["[time, cost]", "[cost, time]", "[time]"]), st.integers(0, 2**32),
)  # fmt: skip
@costly(100)
def test_random_problems_too(
    npus: int, dimensions: int, tp: int, one_each: str, overlap: str, low: float, catalog: str, objectives: str,
    seed: int,
) -> None:  # fmt: skip
    settings = (
        f"npus={npus}", f"fabric.catalog={catalog}", f"fabric.max_dimensions={dimensions}",
        f"fabric.one_dimension_per_technology={one_each}", f"workloads[0].parallelism.tp={tp}",
        f"time={{model: libra, shares: libra, overlap: {overlap}}}", f"bandwidth.min_GBps={low}",
        f"objectives={objectives}",
    )  # fmt: skip
    problem, loop = problem_of("gpt3-4k", settings)
    check(problem, loop, problem.genome.sample(np.random.default_rng(seed), 50))


@pytest.mark.parametrize(("name", "settings"), [
    ("gpt3-4k", ["constraints=['sum(bw) <= 300 GB/s']"]),
    ("gpt3-4k", ["constraints=[cost <= 20 MUSD]"]),
    ("gpt3-4k", ["bandwidth={mode: optimal}"]),
    ("gpt3-4k", ["objectives=[time, cost, bisection]"]),
    ("gpt3-4k", ["time={model: astra, latency_ns: 500}"]),
    ("moe-4k", []),
    ("mixed-models-4k", []),
])  # fmt: skip
def test_other_problems_have_no_loop(name: str, settings: list[str]) -> None:
    problem = load_problem(design_file(name), settings)
    assert isinstance(problem, Problem)
    assert problem.fused is None


def test_numba_is_only_asked_for_in_long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(fused, "compile_function", asked.append)
    problem, loop = problem_of("gpt3-4k")
    genes = problem.genome.sample(np.random.default_rng(0), 10)
    loop.evaluated = WORTH_COMPILING - 10
    before = outcome(problem, genes)
    assert loop.evaluated == WORTH_COMPILING
    assert not asked
    # Without numba, NumPy goes on.
    assert outcome(problem, genes) == before
    assert len(asked) == 1
    # A single design is left to NumPy.
    problem.evaluate_genes(genes[:, :1])
    assert len(asked) == 1


def test_a_search_finds_the_same_front(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    plain = search("gpt3-4k", evaluations=6000, seed=3)
    monkeypatch.setattr(fused, "WORTH_COMPILING", 3000)
    problem, loop = problem_of("gpt3-4k")
    assert search(problem, evaluations=6000, seed=3).frame.equals(plain.frame)
    assert loop.compiled(2) is not None


def test_a_problem_that_has_run_the_loop_can_be_sent_to_a_process() -> None:
    pytest.importorskip("numba")
    problem, loop = problem_of("gpt3-4k")
    loop.evaluated = WORTH_COMPILING
    genes = problem.genome.sample(np.random.default_rng(0), 20)
    assert outcome(pickle.loads(pickle.dumps(problem)), genes) == outcome(problem, genes)  # noqa: S301 - our own


@pytest.mark.parametrize("settings", [(), FIVE], ids=["listed", "not listed"])
def test_topologies_that_are_looked_up_are_those_that_are_made(settings: tuple[str, ...]) -> None:
    problem, _ = problem_of("gpt3-4k", settings)
    genes = problem.genome.sample(np.random.default_rng(1), 300)
    structure, block = genes[0].astype(np.int64), genes[1 : 1 + len(problem.choices)].astype(np.int64)
    found = problem.pricing.topologies(structure, block)
    made = problem.pricing.topologies_of(*problem.structures.look_up(structure), block, structure)
    for name, values in vars(made).items():
        np.testing.assert_array_equal(getattr(found, name), values, err_msg=name)
