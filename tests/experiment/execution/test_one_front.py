"""One search, one front: in Python, by the command, of an experiment file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command import call_json, options, sets

from evo_libra import load_problem, search
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.worker import execute
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.experiment.run.origin import origin_of
from evo_libra.experiment.run.spec import run_of
from evo_libra.experiment.store.folder import RunFolder

NUMBERS = {"evaluations": 5200, "population": 200, "seed": 3}
"""So many that designs are improved once."""
PROBLEMS = {
    "gpt3-4k": (),
    "language-models-4k": (),
    "wafer-20": (),
    "moe-4k": ("npus=512", "fabric.max_dimensions=3"),
    "problems.two_tier:problem": (),
    "dense-1k": ("fabric.max_dimensions=2", "time.chunks=2"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "engine"), [*((name, "nsga2") for name in PROBLEMS), ("gpt3-4k", "nsga3"), ("gpt3-4k", "random")]
)
def test_every_way_to_search_finds_the_same_front(name: str, engine: str, job: Job, tmp_path: Path) -> None:
    changes = PROBLEMS[name]
    found = search(load_problem(name, changes), engine=engine, **NUMBERS)
    words = ("search", name, *options({"engine": engine, **NUMBERS}), "--out", tmp_path, *sets(changes))
    assert call_json(*words)["front"] == found.rows()
    settings = "".join(f"{key}: {value}\n" for key, value in [*NUMBERS.items()][:2]) + f"seeds: [{NUMBERS['seed']}]\n"
    assigned = json.dumps(dict(change.split("=") for change in changes)).replace('"', "")
    (tmp_path / "e.yaml").write_text(f"problem: {name}\nset: {assigned}\nengines: {engine}\n{settings}")
    (spec,) = load_experiment(tmp_path / "e.yaml").runs
    assert execute(spec.data(), job).ending == "done"
    assert RunFolder(Path(job.results) / spec.id).read_front().frame.equals(found.frame)


@pytest.mark.slow
def test_the_problem_says_how_much_of_a_search_improves_designs() -> None:
    origin = origin_of("gpt3-4k", ["search.memetic=0.25"])
    assert run_of(origin).memetic == 0.25
    assert run_of(origin, memetic=0.0).memetic == 0.0
    assert run_of(origin, engine="exhaustive").memetic == 0.0
    assert run_of(origin, workers=2).memetic == 0.0
    assert run_of(origin_of("gpt3-4k", [])).memetic == 0.05
    problem = load_problem("gpt3-4k", ["search.memetic=0.25"])
    plain = replace(problem, settings=replace(problem.settings, memetic=None))
    asked = search(plain, memetic=0.25, **NUMBERS)
    assert search(problem, **NUMBERS).frame.equals(asked.frame)
    assert not search(plain, memetic=0.0, **NUMBERS).frame.equals(asked.frame)


@pytest.mark.slow
def test_worker_processes_find_the_same_front_with_the_same_bands(tmp_path: Path) -> None:
    name, numbers = "mixtral-8x7b-256", {"evaluations": 8, "population": 8, "seed": 3}
    here = search(load_problem(name), engine="random", memetic=0.0, **numbers)
    assert "low_time_ms" in here.frame.columns
    words = ("search", name, *options({"engine": "random", "workers": 1, **numbers}), "--out", tmp_path)
    assert call_json(*words)["front"] == here.rows()
