"""Designs that are looked up in the table of combinations: the same figures and violations as without a look-up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from designs import design_file

from evo_libra.problem import problem as problems
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem


@pytest.mark.parametrize("name", ["gpt3-4k", "moe-4k", "dense-1k"])
def test_designs_have_the_figures_that_they_have_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem(design_file(name))
    assert isinstance(problem, Problem)
    random = np.random.default_rng(0)
    designs = problem.decode(problem.genome.sample(random, 300))
    # Technologies in any order and bandwidths beyond ports break rules of the space.
    technology = random.integers(0, len(problem.catalog.technologies), designs.technology.shape)
    others = replace(designs, technology=technology, bandwidth=designs.bandwidth * random.uniform(0.5, 1.5, 300))
    for some in (designs, others):
        monkeypatch.setattr(problems, "_LOOKED_UP", 0)
        alone = problem.evaluate(some)
        monkeypatch.setattr(problems, "_LOOKED_UP", 10**9)
        found = problem.evaluate(some)
        np.testing.assert_array_equal(found.objectives, alone.objectives)
        np.testing.assert_array_equal(found.violation, alone.violation)
    assert (alone.violation > 0).any()
