"""Designs to genes and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.problem.designs import genes_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.space import CountedStructures

OPEN = "time={model: astra, chunks: [1, 4], scheduler: [baseline, offline-greedy], algorithms: search, latency_ns: 500}"
PROBLEMS = {
    "bandwidths are genes": [],
    "constraints": ["constraints=['sum(bw) <= 300 GB/s', 'bw[0] >= bw[1]']"],
    "bandwidths are solved for": ["bandwidth=optimal"],
    "no cost": ["bandwidth=optimal", "objectives=[time]", "constraints=['cost <= 10 MUSD']"],
    "blocks to choose of": ["fabric.catalog=libra", "fabric.one_dimension_per_technology=false"],
    "too large for a table": [
        "npus=65536", "fabric.catalog=libra", "fabric.max_dimensions=7", "fabric.one_dimension_per_technology=false",
    ],
    "open schedules": [OPEN],
}  # fmt: skip


@pytest.fixture(scope="module", params=PROBLEMS)
def problem(request: pytest.FixtureRequest) -> Problem:
    return load_problem("gpt3-4k", PROBLEMS[request.param])


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_genes_decode_to_the_designs_they_are_of(problem: Problem, seed: int) -> None:
    genes = problem.genome.sample(np.random.default_rng(seed), 60)
    designs = problem.decode(genes)
    back = genes_of(problem, designs)
    np.testing.assert_array_equal(back, problem.genome.repair(back))
    again = problem.decode(back)
    used = designs.npus > 1
    np.testing.assert_array_equal(again.npus, designs.npus)
    for name in ("technology", "block"):
        np.testing.assert_array_equal(getattr(again, name)[used], getattr(designs, name)[used])
    if problem.optimal:
        one, two = problem.evaluate_genes(genes), problem.evaluate_genes(back)
        feasible = one.violation <= 0
        np.testing.assert_allclose(two.objectives[:, feasible], one.objectives[:, feasible], rtol=1e-6)
    else:
        np.testing.assert_allclose(again.bandwidth, designs.bandwidth, rtol=1e-9)
    if designs.schedule is not None and again.schedule is not None:
        np.testing.assert_array_equal(again.schedule.chunks, designs.schedule.chunks)
        np.testing.assert_array_equal(again.schedule.scheduler, designs.schedule.scheduler)
        np.testing.assert_array_equal(again.schedule.algorithm[used], designs.schedule.algorithm[used])


def test_structures_are_found_where_they_are(problem: Problem) -> None:
    every = np.unique(np.linspace(0, len(problem.structures) - 1, 3000).astype(np.int64))
    npus, technology = problem.structures.look_up(every)
    np.testing.assert_array_equal(problem.structures.find(npus, technology), every)
    # The technology of a dimension that is not in use says nothing to a reader, but has its place in a table.
    none = np.where(npus > 1, npus, 1)[:, ::-1]
    found = problem.structures.find(none, technology)
    wrong = (none[:-1] < none[1:]) & (none[:-1] == 1)
    assert (found[wrong.any(axis=0)] == -1).all()


def test_a_space_without_a_table_is_among_them() -> None:
    large = load_problem("gpt3-4k", PROBLEMS["too large for a table"])
    assert isinstance(large.structures, CountedStructures)


def test_design_that_is_not_in_the_space_is_named() -> None:
    problem = load_problem("gpt3-4k")
    inside = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"
    # The network of pods may come first, but not twice.
    outside = "SW(64)@pod:20_SW(64)@pod:20"
    designs = problem.read([inside, outside])
    np.testing.assert_array_equal(problem.sections.recognise(designs)[1], [True, False])
    with pytest.raises(InputError, match=r"SW\(64\)@pod:20_SW\(64\)@pod:20' is not in the search space of 'gpt3-4k'"):
        genes_of(problem, designs)


def test_schedule_that_is_no_choice_is_not_in_the_space() -> None:
    problem = load_problem("gpt3-4k", [OPEN])
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 5))
    assert problem.sections.recognise(designs)[1].all()
    assert designs.schedule is not None
    other = replace(designs, schedule=replace(designs.schedule, chunks=np.full(5, 3)))
    assert not problem.sections.recognise(other)[1].any()
