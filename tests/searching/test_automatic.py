"""The default engine: what it chooses, and that a run with it is one with what was chosen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.errors import EngineError
from evo_libra.experiment.execution.search_loop import planned_run
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.run.spec import manifest_of, spec_of
from evo_libra.problem.problem import Problem
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.generations import memetic_share, settle
from evo_libra.searching.registry import choose, load_engine
from evo_libra.ui.commands.application import run


def parts(*changes: str, name: str = "wafer-20") -> Problem:
    found = load_problem(design_file(name), changes)
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize(
    ("problem", "evaluations", "engine", "reason"),
    [
        (parts, 50_000, "exhaustive", "enumerating 33 designs takes less than 50,000 evaluations"),
        (parts, 5, "exhaustive", "33 designs"),
        (parts, 4, "nsga2", "enumerating 33 designs would take more than 4 evaluations; 5 give the exact front"),
        (lambda: parts("objectives=[time, cost, bisection]"), 32, "nsga2", "33 designs"),
        (lambda: parts("objectives=[time, cost, bisection]"), 33, "exhaustive", "33 designs"),
        (lambda: parts("bandwidth=optimal"), 50_000, "nsga2", ""),
        (lambda: parts(name="gpt3-4k"), 50_000, "nsga2", ""),
        (SampleProblem, 50_000, "nsga2", ""),
        (lambda: parts(name="llama3-405b-16k"), 50_000, "nsga2", "designs would take more than 50,000 evaluations"),
        (lambda: parts(name="llama3-405b-16k"), 500_000, "exhaustive", "less than 500,000 evaluations"),
    ],
)  # fmt: skip
def test_what_is_chosen_and_why(problem: Callable[[], Any], evaluations: int, engine: str, reason: str) -> None:
    chosen, why = choose(problem(), evaluations, 650)
    assert chosen == engine
    assert reason in why
    assert bool(why) == bool(reason)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "population", "engine"),
    [
        (lambda: parts(name="gpt3-4k"), 324, "smsemoa"),
        (lambda: parts(name="gpt3-4k"), 325, "nsga2"),
        (lambda: parts(name="llama3-405b-16k"), 100, "smsemoa"),
        (lambda: parts("objectives=[time, cost, power]", name="llama3-405b-16k"), 100, "smsemoa"),
        (lambda: parts("objectives=[time, cost, power, bisection]", name="llama3-405b-16k"), 100, "nsga2"),
    ],
)  # fmt: skip
def test_a_small_population_is_searched_for_hypervolume(
    problem: Callable[[], Problem], population: int, engine: str
) -> None:
    assert choose(problem(), 5_000, population)[0] == engine


def test_a_memetic_step_is_off_where_ports_are_whole() -> None:
    shares = {name: memetic_share(parts(name=name), "nsga2") for name in ("moe-4k", "wafer-20", "gpt3-4k")}
    assert shares == {"moe-4k": 0.0, "wafer-20": 0.0, "gpt3-4k": 0.05}
    assert memetic_share(parts(), "nsga2", 0.1) == 0.1
    assert memetic_share(parts("search.memetic=0.2"), "nsga2") == 0.2


def test_the_front_is_that_of_the_engine_that_was_chosen() -> None:
    problem = parts()
    assert search(problem).frame.equals(search(problem, engine="exhaustive").frame)
    found = search(parts(name="gpt3-4k"), evaluations=2000, seed=3)
    assert found.frame.equals(search(parts(name="gpt3-4k"), engine="nsga2", evaluations=2000, seed=3).frame)


@pytest.mark.parametrize(
    "settings",
    [{"islands": 2}, {"restarts": 1, "stagnation": 100}, {"memetic": 0.1}, {"workers": 1},
     {"workers": 1, "asynchronous": True}],
)  # fmt: skip
def test_what_only_a_search_has_is_searched(settings: dict[str, Any]) -> None:
    spec = planned_run(origin_of("wafer-20", ()), **settings)
    assert spec.engine == "nsga2"
    assert "belongs to a search" in spec.engine_choice


def test_options_of_the_library_are_searched() -> None:
    assert settle(parts(), memetic=0.1).engine == "nsga2"
    assert settle(parts(), "restarts").engine == "nsga2"
    assert settle(parts()).engine == "exhaustive"
    with pytest.raises(EngineError, match="auto chooses between exhaustive, smsemoa and nsga2"):
        load_engine("auto", SampleProblem())


def test_a_run_is_that_of_the_named_engine_and_says_why() -> None:
    chosen, named = planned_run(origin_of("wafer-20", ())), planned_run(origin_of("wafer-20", ()), engine="exhaustive")
    assert (chosen.id, chosen.hash) == (named.id, named.hash)
    assert (chosen.engine_choice != "", named.engine_choice) == (True, "")
    manifest = manifest_of(chosen, build(chosen.origin), ("evo-libra",), Path("results"))
    assert manifest["engine"] == "exhaustive"
    assert manifest["method"]["engine_choice"] == chosen.engine_choice
    assert spec_of(json.loads(json.dumps(manifest))).hash == chosen.hash


@pytest.mark.slow
def test_the_command_says_so_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--resume"]):
        assert run(["search", "wafer-20", "--no-plot", *more]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "Engine exhaustive: enumerating 33 designs takes less than 50,000 evaluations" in text
        assert "The front is exact of 33 networks of whole ports, under LIBRA's time and the prices of wafer." in text
    assert run(["search", "wafer-20", "--no-plot", "--islands", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["engine_choice"] == "Engine nsga2: --islands belongs to a search"
    first, second = sorted((tmp_path / "results" / "wafer-20").iterdir())
    assert (first.name[:10], second.name[:5]) == ("exhaustive", "nsga2")
    start = ["--start-from", str(first)]
    assert run(["search", "wafer-20", "--no-plot", "--evaluations", "300", "--json", *start]) == 0
    assert "--start-from" in json.loads(capsys.readouterr().out)["engine_choice"]
