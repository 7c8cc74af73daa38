"""Steps between structures: against a look at every pair of structures."""

from __future__ import annotations

import numpy as np
import pytest
from designs import design_file

from evo_libra import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import topology_steps_of
from evo_libra.problem.space import CountedStructures
from evo_libra.problem.steps import StructureSteps
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.evaluation.parallel import ExpensiveProblem

Dimensions = list[tuple[int, int]]


def dimensions(problem: Problem, structure: int) -> Dimensions:
    """Sizes and technologies of the dimensions in use."""
    npus, technology = problem.structures.look_up(np.array([structure]))
    return [(n, t) for n, t in zip(npus[:, 0].tolist(), technology[:, 0].tolist(), strict=True) if n > 1]


def joins(many: Dimensions, few: Dimensions) -> bool:
    """Whether one dimension of the second ones is in place of two neighbours of the first ones."""
    if len(many) != len(few) + 1:
        return False
    same = [
        d for d in range(len(few))
        if many[:d] == few[:d] and many[d + 2 :] == few[d + 1 :] and many[d][0] * many[d + 1][0] == few[d][0]
    ]  # fmt: skip
    return any(few[d][1] in {many[d][1], many[d + 1][1]} for d in same)


def steps_of(problem: Problem) -> StructureSteps:
    return StructureSteps(problem.structures, len(problem.catalog.technologies))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed-models-4k", "gpt3-4k", "llama3-70b-serving"])
def test_steps_are_all_structures_with_one_dimension_in_place_of_two_or_the_reverse(name: str) -> None:
    problem = load_problem(design_file(name))
    steps, every = steps_of(problem), [dimensions(problem, one) for one in range(len(problem.structures))]
    for structure, mine in enumerate(every):
        near = [place for place, other in enumerate(every) if joins(mine, other) or joins(other, mine)]
        assert steps.steps_from(structure).tolist() == near


@pytest.mark.slow
def test_a_space_without_a_table_has_steps_there_and_back() -> None:
    changes = [
        "npus=65536",
        "fabric.catalog=libra",
        "fabric.max_dimensions=7",
        "fabric.one_dimension_per_technology=false",
    ]
    problem = load_problem("gpt3-4k", changes)
    assert isinstance(problem.structures, CountedStructures)
    steps = steps_of(problem)
    for structure in (0, 12345, len(problem.structures) - 1):
        near = steps.steps_from(structure)
        assert len(near)
        for other in near.tolist():
            assert structure in steps.steps_from(other)
            mine, its = dimensions(problem, structure), dimensions(problem, other)
            assert joins(mine, its) or joins(its, mine)


def test_a_random_step_changes_the_topology_and_nothing_else() -> None:
    problem = load_problem(design_file("mixed-models-4k"))
    genes = problem.genome.sample(np.random.default_rng(0), 500)
    one, again = (problem.step_topologies(genes, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    np.testing.assert_array_equal(one[1:], genes[1:])
    steps = steps_of(problem)
    for before, after in zip(genes[0].astype(int).tolist(), one[0].astype(int).tolist(), strict=True):
        near = steps.steps_from(before).tolist()
        assert after in near or (not near and after == before)


def test_like_topologies_are_a_step_apart_where_their_genes_are_far() -> None:
    problem = load_problem(design_file("mixed-models-4k"))
    three, two = ([(8, 0), (8, 2), (64, 1)], [(8, 0), (512, 1)])
    every = [dimensions(problem, one) for one in range(len(problem.structures))]
    assert every.index(three) - every.index(two) > 80
    assert every.index(two) in steps_of(problem).steps_from(every.index(three))


def test_a_problem_says_whether_it_knows_of_steps() -> None:
    assert topology_steps_of(SampleProblem()) is None
    problem = load_problem("gpt3-4k")
    genes = problem.genome.sample(np.random.default_rng(2), 20)
    with ExpensiveProblem(problem, workers=1) as expensive, ExpensiveProblem(SampleProblem(), workers=1) as sample:
        step = topology_steps_of(expensive)
        assert step is not None
        expected = problem.step_topologies(genes, np.random.default_rng(3))
        np.testing.assert_array_equal(step(genes, np.random.default_rng(3)), expected)
        assert topology_steps_of(sample) is None
