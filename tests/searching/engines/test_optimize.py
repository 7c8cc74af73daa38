"""The engine that asks for the one design that is proven to be best."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from designs import design_file

from evo_libra import load_problem, optimize, search
from evo_libra.errors import InputError
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.search_loop import planned_run
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.results.benchmark import Task, run_task
from evo_libra.experiment.results.estimate import estimate
from evo_libra.experiment.run.origin import origin_of
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.problem.problem import Problem
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engines import exact as optimize_engine
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import Snapshot
from evo_libra.searching.registry import load_engine

SHAPE = "fabric.shape=RI(4)@chiplet_FC(8)@package_RI(4)@node_SW(32)@pod"
TOTAL = ["sum(bw) == 500 GB/s"]


def load(objectives: str, constraints: list[str], mode: str = "search", *more: str) -> Problem:
    limits = f"constraints={json.dumps(constraints)}"
    problem = load_problem("gpt3-4k", [SHAPE, f"objectives=[{objectives}]", limits, f"bandwidth.mode={mode}", *more])
    assert isinstance(problem, Problem)
    return problem


def planned(*assignments: str, **settings: object) -> RunSpec:
    return planned_run(origin_of("gpt3-4k", [SHAPE, *assignments]), **{"engine": "optimize", **settings})


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["time", "time-cost"])
@pytest.mark.parametrize(
    "constraints",
    [[*TOTAL, "bw[0] == bw[1]"], ["sum(bw) <= 500 GB/s", "bw[2] >= 50 GB/s", "cost <= 5 MUSD"]],
)
def test_the_front_is_the_best_design_and_what_was_proven_of_it(goal: str, constraints: list[str]) -> None:
    best = optimize(load(f"{goal}, cost", constraints), objective=goal)
    proven = best.time * 1e3 if goal == "time" else best.time * best.cost
    for mode in ("search", "optimal"):
        front = search(load(f"{goal}, cost", constraints, mode), engine="optimize", evaluations=100)
        assert len(front) == 1
        assert front.frame[front.objectives[0]][0] == pytest.approx(proven, rel=1e-9)
        # Where bandwidths are solved for, those of the same time may be a little cheaper.
        assert 1 - (1e-9 if mode == "search" else 1e-4) < front.frame["cost_usd"][0] / best.cost < 1 + 1e-9


def test_bounds_of_the_problem_hold() -> None:
    problem = load("time", TOTAL, "search", "bandwidth.min_GBps=30", "bandwidth.max_GBps=200")
    front = search(problem, engine="optimize")
    bandwidth = front.frame.select(r"^bandwidth\[\d\]_GBps$").to_numpy()[0]
    assert bandwidth.min() >= 30 * (1 - 1e-9)
    assert bandwidth.max() <= 200 * (1 + 1e-9)
    assert bandwidth.sum() == pytest.approx(500)


def test_technologies_that_the_shape_leaves_open_are_chosen() -> None:
    problem = load_problem("gpt3-4k", ["fabric.shape=RI(4)_FC(8)_SW(128)", f"constraints={json.dumps(TOTAL)}"])
    assert isinstance(problem, Problem)
    front = search(problem, engine="optimize")
    assert front.frame["time_ms"][0] == pytest.approx(optimize(problem).time * 1e3, rel=1e-9)


def test_dimensions_that_carry_nothing_may_have_no_bandwidth() -> None:
    """They have none in the best design, for which there is no notation."""
    problem = load_problem(
        "gpt3-4k", ["npus=128", "fabric.shape=RI(4)_FC(8)_RI(4)", "workloads[0].parallelism={tp: 32, dp: 4}",
                    "bandwidth={mode: optimal, min_GBps: 0}", "objectives=[time]"],
    )  # fmt: skip
    assert search(problem, engine="optimize").frame.height == 1


def test_it_has_one_design_to_ask_for_and_ends_where_it_was_stopped() -> None:
    problem = load("time, cost", TOTAL)

    def run(evaluations: int, resume: Snapshot | None = None) -> Snapshot:
        options = {"population": 20, "seed": 0, "evaluations": evaluations, "resume": resume}
        return list(generations(problem, load_engine("optimize", problem), **options))[-1]

    first, whole = run(1), run(100)
    assert (first.evaluations, first.ended) == (1, "evaluations")
    for last in (whole, run(100, first), run(100, replace(whole, ended="", exhausted=False))):
        assert (last.evaluations, last.ended) == (1, "exhausted")
        np.testing.assert_array_equal(last.archive.genes, whole.archive.genes)


def test_a_run_of_it_has_one_evaluation_unless_more_are_asked_for(tmp_path: Path) -> None:
    spec = planned(f"constraints={json.dumps(TOTAL)}")
    assert (spec.evaluations, spec.memetic) == (1, 0)
    assert estimate([spec], tmp_path).evaluations == 1
    assert planned(evaluations=7).evaluations == 7
    assert planned("search.engine=optimize", engine=None).evaluations == 1
    report = perform(spec, Job(str(tmp_path), "batch"))
    assert (report.ending, report.figures.evaluations, report.figures.front_size) == ("done", 1, 1)
    assert len(RunFolder(tmp_path / spec.id).read_front()) == 1


def test_it_can_be_compared_with_other_engines() -> None:
    problem = load("time, cost", TOTAL)
    best, other = (run_task(problem, Task(engine, 0, 20, 200)) for engine in ("optimize", "nsga2"))
    assert (best.evaluations, best.objectives.shape) == (1, (2, 1))
    assert best.objectives[0, 0] <= other.objectives[0].min()


@pytest.mark.parametrize(
    ("constraints", "objectives", "sentence"),
    [
        (["time <= 100 ms"], "time", "no bandwidths meet 'time <= 100 ms': the least time is "),
        (["time >= 900 ms"], "time", "'time >= 900 ms' does not hold where time is least"),
    ],
)
def test_where_there_is_no_best_design_the_run_fails_with_the_sentence(
    tmp_path: Path, constraints: list[str], objectives: str, sentence: str
) -> None:
    spec = planned(f"constraints={json.dumps(constraints)}", f"objectives=[{objectives}]")
    report = perform(spec, Job(str(tmp_path), "batch"))
    assert report.ending == "failed"
    assert report.error.startswith(sentence)


def test_where_nothing_limits_the_bandwidth_the_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of a problem is quick to show it: all dimensions have a largest bandwidth there."""
    problem = load("time", TOTAL)
    free = replace(optimize(problem), status="unbounded", reason="nothing limits the bandwidth of dimension 1")
    monkeypatch.setattr(optimize_engine, "optimize", lambda *_, **__: free)
    with pytest.raises(InputError, match="'gpt3-4k' is unbounded: nothing limits the bandwidth of dimension 1"):
        search(problem, engine="optimize")


def test_what_is_not_proven_well_enough_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimize_engine, "PROVEN", 1e-14)
    with pytest.raises(InputError, match=r"the least time-cost of 'gpt3-4k' is proven to a relative \de-\d\d only"):
        search(load("time-cost, cost", TOTAL), engine="optimize")


def test_what_the_genes_cannot_say_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimize_engine, "ACCURACY", -1.0)
    with pytest.raises(InputError, match="the genes of 'gpt3-4k' cannot say its best bandwidths"):
        search(load("time", TOTAL), engine="optimize")


@pytest.mark.parametrize(
    ("name", "assignments", "sentence"),
    [
        ("problems.two_tier:problem", [], "is written in Python; optimize solves"),
        ("gpt3-4k", [SHAPE, "time={model: astra, latency_ns: 100}"], "under LIBRA's time; 'gpt3-4k' has another"),
        (design_file("dlrm-1k-parts"), [], "come in whole ports, and optimize takes any fraction"),
        ("gpt3-4k", [SHAPE, "objectives=[cost, time]"], "of the first objective, time or time-cost; found cost first"),
        ("gpt3-4k", [SHAPE, "objectives=[time-cost, time]", "bandwidth=optimal"], "for time-cost add it"),
    ],
)
def test_problems_that_it_cannot_solve_are_refused_in_a_sentence(
    name: str, assignments: list[str], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as found:
        search(load_problem(name, assignments), engine="optimize")
    assert "\n" not in str(found.value)


def test_spaces_of_too_many_networks_are_refused() -> None:
    many = ["npus=16777216", "fabric.max_dimensions=8", "fabric.one_dimension_per_technology=false"]
    with pytest.raises(InputError, match="networks to choose from; a shape, or parts of it, is needed"):
        search(load_problem("gpt3-4k", many), engine="optimize")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"islands": 2}, "optimize leaves nothing to chance"),
        ({"restarts": 1, "stagnation": 10}, "optimize leaves nothing to chance"),
        ({"workers": 1}, "optimize evaluates one design alone; search without worker processes"),
    ],
)
def test_a_method_that_it_has_no_use_for_is_refused(settings: dict[str, int], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        planned(**settings)


def test_parts_in_any_fraction_are_solved_for() -> None:
    problem = load_problem(
        design_file("dlrm-1k-parts"), ["bandwidth=optimal", "fabric.shape=TO(256)@ici-v5e_SW(4)@optics-400g"]
    )
    assert isinstance(problem, Problem)
    front = search(problem, engine="optimize")
    assert front.frame["time_ms"][0] == pytest.approx(optimize(problem).time * 1e3, rel=1e-9)


def test_a_toy_is_no_problem_file() -> None:
    with pytest.raises(InputError, match="written in Python"):
        load_engine("optimize", SampleProblem())
