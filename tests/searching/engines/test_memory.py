"""No search spends evaluations on a design that it has had, whatever genes stand for the design."""

from __future__ import annotations

import numpy as np
import pytest
from designs import design_file
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Evaluation, design_rows_of
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engines.nsga import empty_memory, remember, remembers
from evo_libra.searching.engines.variation import row_hash
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.generations import generations, memetic_share, memetic_step
from evo_libra.searching.loop import SearchOptions
from evo_libra.searching.registry import load_engine

HASHES = st.lists(st.integers(1, 2**64 - 1), max_size=60, unique=True)


@given(HASHES, HASHES, st.integers(4, 2000))
@settings(max_examples=25)
def test_a_memory_knows_only_what_it_was_told_and_what_came_last(old: list[int], new: list[int], size: int) -> None:
    told, later = np.array(old, np.uint64), np.array(new, np.uint64)
    empty = empty_memory(size)
    memory = remember(empty, told)
    assert not empty.any()
    assert not remembers(memory, np.setdiff1d(later, told)).any()
    for one in later:
        memory = remember(memory, np.array([one]))
        assert remembers(memory, np.array([one])).all()


def test_a_memory_of_a_fifth_of_its_slots_has_lost_next_to_nothing() -> None:
    memory = empty_memory(100)
    told = row_hash(np.random.default_rng(0).random((3, len(memory) // 5)))
    for part in np.array_split(told, 60):
        memory = remember(memory, part)
    assert remembers(memory, told).mean() > 0.98
    assert len(empty_memory(10**6)) == 2**17


@pytest.mark.slow
@pytest.mark.parametrize("name", ["moe-4k", "mixtral-8x7b-256", "dense-4k"])
def test_rows_are_equal_for_equal_designs_alone(name: str) -> None:
    problem = load_problem(design_file(name))
    assert isinstance(problem, Problem)
    genes = problem.genome.sample(np.random.default_rng(0), 2000)
    rows = problem.design_rows(genes)
    described = zip(*(map(str, column) for column in problem.describe(genes).values()), strict=True)
    kinds: dict[tuple[str, ...], set[bytes]] = {}
    for row, design in zip(rows.T, described, strict=True):
        kinds.setdefault(design, set()).add(row.tobytes())
    assert len(kinds) < 2000
    np.testing.assert_array_equal(problem.design_rows(genes[:, :1]), rows[:, :1])
    assert sum(map(len, kinds.values())) == len(kinds) == len(np.unique(rows, axis=1).T)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["nsga2", "nsga3"])
def test_hardly_a_design_is_evaluated_twice(engine: str) -> None:
    problem = load_problem("moe-4k")
    assert isinstance(problem, Problem)
    had: list[FloatArray] = []

    def observe(genes: FloatArray, _evaluation: Evaluation) -> None:
        had.append(problem.design_rows(genes))

    options = {"population": 50, "seed": 1, "evaluations": 1500, "options": SearchOptions(observe=observe)}
    *_, _last = generations(problem, load_engine(engine, problem), **options)
    rows = np.concatenate(had, axis=1)
    assert rows.shape[1] == 1500
    assert len(np.unique(rows, axis=1).T) >= 1485  # 723 and 703 where genes alone tell designs apart


def test_a_small_space_is_searched_to_its_end() -> None:
    problem = load_problem("wafer-20")
    *_, last = generations(problem, load_engine("nsga2", problem), population=50, seed=0, evaluations=5000)
    assert last.exhausted
    assert last.evaluations == 33
    exact = search(problem, engine="exhaustive").frame
    found = np.unique(last.archive.objectives, axis=1)
    scales = [one.scale for one in problem.objectives]
    same = np.stack([exact[one.column].to_numpy() * one.scale for one in problem.objectives])
    np.testing.assert_allclose(found / np.array(scales)[:, None], np.unique(same, axis=1) / np.array(scales)[:, None])


def test_the_genes_are_the_design_where_a_problem_does_not_say() -> None:
    genes = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(design_rows_of(SampleProblem())(genes), genes)
    problem = load_problem("moe-4k")
    genes = problem.genome.sample(np.random.default_rng(2), 20)
    with ExpensiveProblem(problem, workers=1) as expensive:
        np.testing.assert_array_equal(design_rows_of(expensive)(genes), design_rows_of(problem)(genes))


def test_a_small_population_learns_from_memetic_steps_soon() -> None:
    problem = load_problem("gpt3-4k")
    share = memetic_share(problem, "nsga2")
    small, large = memetic_step(problem, share, 100), memetic_step(problem, share, 650)
    assert small is not None
    assert large is not None
    assert (small.count, small.every, large.count, large.every) == (50, 1000, 250, 5000)


def test_a_table_has_slots_for_256_generations() -> None:
    # The next power of two of 256 x 4 and of 256 x 100 = 25,600.
    assert [len(empty_memory(population)) for population in (4, 100, 512, 513)] == [1024, 32_768, 131_072, 131_072]
