from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.indicators import hypervolume
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engine import EngineState
from evo_libra.searching.engines.niching import reference_directions
from evo_libra.searching.engines.pymoo import PymooEngine
from evo_libra.searching.generations import generations
from evo_libra.searching.registry import load_engine

SAMPLE = SampleProblem(width=8)


def volume(name: str, seed: int, evaluations: int = 1000, population: int = 40) -> float:
    *_, last = generations(SAMPLE, load_engine(name, SAMPLE), population=population, seed=seed, evaluations=evaluations)
    return hypervolume(last.archive.objectives, np.ones(2), np.full(2, 4.0))


def median(name: str) -> float:
    return float(np.median([volume(name, seed) for seed in range(3)]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pymoo:nsga2", "deap:nsga2", "pymoo:nsga3", "deap:nsga3"])
def test_libraries_agree_in_quality_with_the_array_engines(name: str) -> None:
    own, by_chance = median(name.partition(":")[2]), median("random")
    assert own > 1.5 * by_chance
    assert median(name) == pytest.approx(own, rel=0.12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["unsga3", "smsemoa", "moead", "rvea", "spea2", "ctaea", "omnioptimizer"])
def test_every_algorithm_is_far_from_chance(name: str) -> None:
    assert volume(f"pymoo:{name}", seed=1) > 1.3 * median("random")


def after(engine: PymooEngine, generations: int, sample: SampleProblem = SAMPLE, population: int = 20) -> EngineState:
    state = engine.start(sample.genome, sample.count, population, seed=5)
    for _ in range(generations):
        genes, state = engine.ask(state)
        evaluation = sample.evaluate_genes(genes)
        state = engine.tell(state, genes, np.log10(evaluation.objectives), evaluation.violation)
    return state


@pytest.mark.slow
def test_sub_problems_of_moead_only_improve() -> None:
    engine = PymooEngine("moead")
    weights = reference_directions(2, 20).T
    for count in range(1, 12):
        before, now = after(engine, count).arrays, after(engine, count + 1).arrays
        evaluation = [(weights * (state["objectives"] - now["ideal"][:, None])).max(axis=0) for state in (before, now)]
        assert (evaluation[1] <= evaluation[0]).all()
        assert (evaluation[1] < evaluation[0]).any()
        assert (now["ideal"] <= before["ideal"]).all()


def test_moead_takes_a_design_from_elsewhere_for_the_sub_problem_that_it_suits() -> None:
    engine = PymooEngine("moead")
    state = after(engine, 3, population=60)
    best = state.arrays["objectives"].min(axis=1, keepdims=True) - [[0.0], [1.0]]
    genes = SAMPLE.genome.sample(np.random.default_rng(0), 1)
    state = engine.tell(state, genes, best, np.zeros(1))
    taken = np.flatnonzero((state.arrays["objectives"] == best).all(axis=0))
    # Best of all in the second objective, it replaces the twenty designs at that end, and no others.
    np.testing.assert_array_equal(taken, np.arange(20))
    np.testing.assert_array_equal(state.arrays["genes"][:, taken], np.repeat(genes, 20, axis=1))


@pytest.mark.parametrize("name", ["moead", "nsga2", "nsga3", "spea2", "smsemoa"])
def test_no_infeasible_design_is_kept_for_a_feasible_one(name: str) -> None:
    sample = replace(SAMPLE, feasible=0.3)
    arrays = after(PymooEngine(name), 25, sample).arrays
    assert (arrays["violation"] <= 0).all()


def test_ctaea_keeps_two_archives_as_large_as_its_directions() -> None:
    arrays = after(PymooEngine("ctaea"), 4, SampleProblem(3, width=4), population=40).arrays
    assert arrays["genes"].shape == arrays["diverse_genes"].shape == (6, len(reference_directions(3, 40)))
    assert not np.array_equal(arrays["genes"], arrays["diverse_genes"])


def vectors(evaluations: int, count: int) -> FloatArray:
    return after(PymooEngine("rvea", evaluations), count).arrays["V"]


@pytest.mark.slow
def test_rvea_adapts_its_vectors_ten_times_in_its_schedule_and_then_goes_on_as_often() -> None:
    changed = [not np.array_equal(vectors(400, count), vectors(400, count + 1)) for count in range(2, 9)]
    assert changed == [False, True] * 3 + [False]
    with_longer = [not np.array_equal(vectors(1200, count), vectors(1200, count + 1)) for count in range(2, 9)]
    assert sum(with_longer) < sum(changed)


def test_rvea_keeps_the_schedule_that_it_started_with() -> None:
    state = after(PymooEngine("rvea", 400), 5)
    other = PymooEngine("rvea", 9000)
    other.start(SAMPLE.genome, 2, 20, seed=0)
    same = PymooEngine("rvea", 400)
    same.start(SAMPLE.genome, 2, 20, seed=0)
    found = []
    for engine in (other, same):
        genes, asked = engine.ask(state)
        evaluation = SAMPLE.evaluate_genes(genes)
        found.append(engine.tell(asked, genes, np.log10(evaluation.objectives), evaluation.violation))
    assert found[0].arrays["generations"] == found[1].arrays["generations"] == 20
    for name, values in found[0].arrays.items():
        np.testing.assert_array_equal(values, found[1].arrays[name])


def test_warning_filters_are_left_alone() -> None:
    before = list(warnings.filters)
    after(PymooEngine("nsga3"), 3)
    assert warnings.filters == before


def test_agemoea_without_numba_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(InputError, match=r"needs numba: pip install 'evo-libra\[fast\]'"):
        PymooEngine("agemoea")


def imported(program: str) -> set[str]:
    checked = f"{program}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", checked], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.slow
def test_libraries_are_imported_only_when_they_are_chosen() -> None:
    program = """
from evo_libra.searching.registry import engine_names, load_engine
from evo_libra.searching.conformance import SampleProblem
engine_names()
load_engine({!r}, SampleProblem()).start(SampleProblem().genome, 2, 20, 0)
"""
    assert not {"pymoo", "deap"} & imported(program.format("nsga2"))
    assert {"pymoo", "deap"} & imported(program.format("deap:nsga2")) == {"deap"}
    assert {"pymoo", "deap"} & imported(program.format("pymoo:nsga2")) == {"pymoo"}


def test_nothing_is_printed(capsys: Any) -> None:
    after(PymooEngine("nsga3"), 2)
    after(PymooEngine("moead"), 2)
    assert capsys.readouterr() == ("", "")
