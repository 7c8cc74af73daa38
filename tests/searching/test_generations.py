"""One suite for every engine: what the contract promises."""

from __future__ import annotations

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.front.archive import Archive
from evo_libra.problem.protocol import Genome, SearchProblem
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engine import EngineState
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import Snapshot
from evo_libra.searching.registry import load_engine

MIXED = Genome(
    ("kind", "x", "y"), np.array([0.0, -1.0, 2.0]), np.array([4.0, 1.0, 3.0]), np.array([True, False, False])
)


PROBLEM = SampleProblem()  # its genes are its designs, as those of MIXED are
SAMPLING = ("nsga2", "nsga3", "random")


def evaluation(genes: FloatArray) -> tuple[FloatArray, FloatArray]:
    kind, x, y = genes
    return np.stack([1 + x**2 + kind / 10, 1 + (x - 1) ** 2 + y]), np.maximum(y - 2.9, 0)


def step(engine: object, state: EngineState) -> EngineState:
    genes, state = engine.ask(state)  # type: ignore[attr-defined]
    return engine.tell(state, genes, *evaluation(genes))  # type: ignore[attr-defined, no-any-return]


@pytest.fixture(scope="module")
def problem() -> SearchProblem:
    return load_problem("gpt3-4k")


@pytest.mark.parametrize("name", SAMPLING)
def test_asked_genes_are_legal_new_and_the_same_when_asked_again(name: str) -> None:
    engine = load_engine(name, PROBLEM)
    state = engine.start(MIXED, 2, 20, seed=3)
    for _ in range(4):
        genes, after = engine.ask(state)
        again, _ = engine.ask(state)
        np.testing.assert_array_equal(genes, again)
        assert genes.shape == (3, 20)
        np.testing.assert_array_equal(genes, MIXED.repair(genes))
        assert len(np.unique(genes.T, axis=0)) == 20
        state = engine.tell(after, genes, *evaluation(genes))


@pytest.mark.parametrize("name", SAMPLING)
def test_state_is_plain_and_a_fresh_engine_goes_on_from_it(name: str) -> None:
    first = load_engine(name, PROBLEM)
    state = first.start(MIXED, 2, 20, seed=1)
    for _ in range(3):
        state = step(first, state)
    arrays = {key: np.array(values) for key, values in state.arrays.items()}
    assert all(np.isfinite(values).all() for values in arrays.values())
    second = load_engine(name, PROBLEM)
    second.start(MIXED, 2, 20, seed=99)
    copied = EngineState(arrays, dict(state.random))
    for _ in range(3):
        state, copied = step(first, state), step(second, copied)
    for key, values in state.arrays.items():
        np.testing.assert_array_equal(values, copied.arrays[key])
    assert state.random == copied.random


@pytest.mark.parametrize("name", SAMPLING)
def test_seed_decides_the_front(name: str, problem: SearchProblem) -> None:
    def run(seed: int) -> FloatArray:
        return search(problem, engine=name, evaluations=1500, population=100, seed=seed).frame["cost_usd"].to_numpy()

    np.testing.assert_array_equal(run(5), run(5))
    assert not np.array_equal(run(5), run(6))


@pytest.mark.parametrize("name", SAMPLING)
def test_resumed_search_ends_like_an_uninterrupted_one(name: str, problem: SearchProblem) -> None:
    def run(evaluations: int, resume: Snapshot | None = None) -> Snapshot:
        options = {"population": 60, "seed": 2, "evaluations": evaluations, "resume": resume}
        return list(generations(problem, load_engine(name, problem), **options))[-1]

    whole, resumed = run(600), run(600, run(240))
    np.testing.assert_array_equal(whole.archive.genes, resumed.archive.genes)
    assert whole.evaluations == resumed.evaluations == 600


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["search", "optimal"])
def test_exhaustive_goes_on_where_it_was_cut(mode: str) -> None:
    problem = load_problem("gpt3-4k", [f"bandwidth={mode}"])

    def run(evaluations: int, resume: Snapshot | None = None) -> Snapshot:
        options = {"population": 60, "seed": 0, "evaluations": evaluations, "resume": resume}
        return list(generations(problem, load_engine("exhaustive", problem), **options))[-1]

    whole, resumed = run(600), run(600, run(41, run(23)))
    np.testing.assert_array_equal(whole.archive.genes, resumed.archive.genes)
    assert whole.exhausted
    assert whole.evaluations == resumed.evaluations <= 60


@pytest.mark.slow
def test_evolution_beats_random_search(problem: SearchProblem) -> None:
    cheap = {n: search(problem, engine=n, evaluations=6000, population=100, seed=0).frame for n in SAMPLING}
    for time in (300.0, 400.0, 800.0):
        best = {n: f.filter(f["time_ms"] <= time)["cost_usd"].min() for n, f in cheap.items()}
        assert max(best["nsga2"], best["nsga3"]) < best["random"]


def test_exhausted_space_ends_the_search() -> None:
    pinned = ["npus=8", "workloads[0].parallelism.tp=4", "fabric.shape=RI(4)@chiplet:100_SW(2)@pod:10"]
    small = load_problem("gpt3-4k", [*pinned, "bandwidth=optimal", "objectives=[time]"])
    *_, last = generations(small, load_engine("nsga2", small), population=10, seed=0, evaluations=100_000)
    assert last.exhausted
    assert (len(last.archive), last.evaluations) == (1, 1)


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.integers(1, 6)] * 2, st.sampled_from([0.0, 0.0, 1.0])), min_size=1, max_size=40))
@costly(200)
def test_archive_keeps_just_the_feasible_designs_that_nothing_dominates(rows: list[tuple[int, int, float]]) -> None:
    data = np.array(rows, dtype=float).T
    archive = Archive.empty(1, 2)
    for part in np.array_split(np.arange(data.shape[1]), 3):
        archive = archive.add(part[None].astype(float), data[:2, part], data[2, part])
    feasible = {(a, b) for a, b, violation in rows if not violation}
    expected = {p for p in feasible if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in feasible)}
    assert sorted(map(tuple, archive.objectives.T)) == sorted(expected)
    for gene, point in zip(archive.genes[0], archive.objectives.T, strict=True):
        assert int(gene) == next(i for i, row in enumerate(rows) if row[:2] == tuple(point) and not row[2])
