"""Designs of a front that another search starts from."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.front.front import Front, front_genes
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import SearchOptions
from evo_libra.searching.registry import load_engine


@pytest.fixture(scope="module")
def earlier() -> Front:
    return search(load_problem("gpt3-4k"), evaluations=3000, seed=2)


def test_the_same_problem_has_all_designs(earlier: Front) -> None:
    problem = load_problem("gpt3-4k")
    known = front_genes(problem, earlier)
    assert known.left_out == ()
    worth = problem.evaluate_genes(known.genes)
    np.testing.assert_allclose(worth.objectives[0] * 1e3, earlier.frame["time_ms"].to_numpy(), rtol=1e-6)
    assert (worth.violation <= 0).all()


def test_designs_outside_the_space_are_left_out_and_named(earlier: Front) -> None:
    problem = load_problem("gpt3-4k", ["fabric.max_dimensions=2"])
    known = front_genes(problem, earlier)
    deep = [design for design in earlier.frame["design"] if design.count("_") > 1]
    assert deep
    assert list(known.left_out) == deep
    assert known.genes.shape == (len(problem.genome), len(earlier) - len(deep))
    np.testing.assert_array_equal(known.genes, problem.genome.repair(known.genes))


def test_a_search_goes_on_from_another_front(earlier: Front) -> None:
    problem = load_problem("gpt3-4k")
    first = front_genes(problem, earlier).genes
    numbers = {"population": 60, "seed": 1, "evaluations": first.shape[1] + 60}
    found = [
        list(generations(problem, load_engine("nsga2", problem), **numbers, options=options))[-1].archive
        for options in (SearchOptions(first=first), SearchOptions())
    ]
    best = earlier.frame.select(earlier.objectives).to_numpy().T * np.array([[o.scale] for o in problem.objectives])
    for point in best.T:
        assert (found[0].objectives <= point[:, None] * (1 + 1e-6)).all(axis=0).any()
    assert len(found[0]) > len(found[1])


def test_fronts_that_are_of_no_use_are_the_user_s_mistake(earlier: Front) -> None:
    with pytest.raises(InputError, match=r"in the search space of 'gpt3-4k'.* has 4096 NPUs; the problem has 512"):
        front_genes(load_problem("gpt3-4k", ["npus=512"]), earlier)
    python = Front(pl.DataFrame({"id": [0], "time_ms": [1.0]}), ("time_ms",))
    with pytest.raises(InputError, match="no column 'design'"):
        front_genes(load_problem("gpt3-4k"), python)
    with pytest.raises(InputError, match="the front is empty"):
        front_genes(load_problem("gpt3-4k", ["npus=512"]), Front(earlier.frame.head(0), earlier.objectives))
