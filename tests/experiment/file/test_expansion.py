"""Experiment files: which runs they mean, and what is said of their mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.errors import EngineError, InputError
from evo_libra.experiment.execution.search_loop import planned_run
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.experiment.file.schema import read_with_includes
from evo_libra.experiment.results.estimate import estimate
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.run.spec import Experiment, RunSpec
from evo_libra.problem.problem import Problem


def load(folder: Path, text: str, name: str = "exp.yaml") -> Experiment:
    (folder / name).write_text(text)
    return load_experiment(folder / name)


def mistakes(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as found:
        load(folder, text)
    return str(found.value)


def key(spec: RunSpec) -> tuple[Any, ...]:
    return spec.problem["npus"], spec.engine, spec.population, spec.evaluations, spec.seed


def test_a_problem_alone_is_one_run_with_its_own_settings(tmp_path: Path) -> None:
    experiment = load(tmp_path, "problem: gpt3-4k")
    assert [key(spec) for spec in experiment.runs] == [(4096, "nsga2", 650, 50_000, 0)]
    assert (experiment.name, experiment.runs[0].experiment, experiment.runs[0].label) == ("exp", "exp", "")


def test_everything_is_combined_with_everything(tmp_path: Path) -> None:
    experiment = load(tmp_path, """
name: study
problem: gpt3-4k
grid: {npus: [1024, 4096], fabric.max_dimensions: [3, 4]}
engines: [nsga2, {engine: nsga3, population: 50}]
population: 100
evaluations: [500, 200]
seeds: [0, 7]
repeats: 2
""")  # fmt: skip
    assert len(experiment.runs) == 2 * 2 * 2 * 2 * 4
    assert {key(spec) for spec in experiment.runs} == {
        (npus, *engine, budget, seed)
        for npus in (1024, 4096)
        for engine in (("nsga2", 100), ("nsga3", 50))
        for budget in (200, 500)
        for seed in (0, 1, 7, 8)
    }
    assert {spec.experiment for spec in experiment.runs} == {"study"}
    assert experiment.runs[0].label == "npus=1024, max_dimensions=3"
    # Shorter ones first, so that longer ones can go on from them.
    assert [spec.evaluations for spec in experiment.runs[:2]] == [200, 500]


def test_zip_and_list_take_values_together(tmp_path: Path) -> None:
    experiment = load(tmp_path, """
problem: gpt3-4k
zip: {npus: [1024, 2048, 4096], fabric.max_dimensions: [2, 3, 4]}
list:
  - {bandwidth.max_GBps: 500}
  - {bandwidth.max_GBps: 600, bandwidth.min_GBps: 2}
""")  # fmt: skip
    found = [(s.problem["npus"], s.problem["fabric"]["max_dimensions"], s.problem["bandwidth"]["max_GBps"],
              s.problem["bandwidth"]["min_GBps"]) for s in experiment.runs]  # fmt: skip
    assert found == [(npus, most, *bounds) for npus, most in ((1024, 2), (2048, 3), (4096, 4))
                     for bounds in ((500, 1), (600, 2))]  # fmt: skip


def test_named_runs_take_what_they_leave_out_from_the_top(tmp_path: Path) -> None:
    experiment = load(tmp_path, """
problem: gpt3-4k
evaluations: 300
set: {npus: 1024}
runs:
  baseline: {engines: random}
  large: {set: {fabric.max_dimensions: 3}, seeds: [1, 2], grid: {npus: [2048, 4096]}}
""")  # fmt: skip
    found = [(spec.label, key(spec)) for spec in experiment.runs]
    assert found[0] == ("baseline", (1024, "random", 650, 300, 0))
    assert found[1:] == [
        (f"large, npus={npus}", (npus, "nsga2", 650, 300, seed)) for npus in (2048, 4096) for seed in (1, 2)
    ]
    assert experiment.runs[1].problem["fabric"]["max_dimensions"] == 3


def test_several_problems_paths_relative_to_the_file_and_a_run_named_twice(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "problems" / "gpt3-4k.yaml").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "p.yaml").write_text(text.replace("name: gpt3-4k", "name: mine"))
    experiment = load(tmp_path, """
evaluations: 300
runs:
  a: {problem: [mine/p.yaml, dlrm-4k]}
  b: {problem: mine/p.yaml}
""")  # fmt: skip
    assert [(spec.label, spec.name) for spec in experiment.runs] == [("a", "mine"), ("a", "dlrm-4k")]
    assert experiment.runs[0].origin.name == str((tmp_path / "mine" / "p.yaml").resolve())
    problem = build(experiment.runs[0].origin)
    assert isinstance(problem, Problem)


def test_files_begin_with_others(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.yaml").write_text("problem: ../p.yaml\nname: a\nset: {npus: 1024}\nseeds: [1, 2]\n")
    (tmp_path / "base" / "b.yaml").write_text("include: a.yaml\nevaluations: 400\nset: {fabric.max_dimensions: 3}\n")
    (tmp_path / "p.yaml").write_text((Path(__file__).parents[3] / "problems" / "gpt3-4k.yaml").read_text())
    experiment = load(tmp_path, "include: [base/b.yaml]\nseeds: [5]\nset: {npus: 2048}\n")
    assert experiment.name == "exp"
    assert [key(spec) for spec in experiment.runs] == [(2048, "nsga2", 650, 400, 5)]
    assert experiment.runs[0].problem["fabric"]["max_dimensions"] == 3
    source = read_with_includes(tmp_path / "exp.yaml")
    assert source.places["set", "fabric.max_dimensions"].file.endswith("b.yaml")
    assert source.places["set", "npus"].file.endswith("exp.yaml")
    (tmp_path / "base" / "a.yaml").write_text("include: ../exp.yaml\n")
    assert "a.yaml:1:1: include: '../exp.yaml' includes itself" in mistakes(
        tmp_path, "include: [base/b.yaml]\nproblem: gpt3-4k\n"
    )


@pytest.mark.parametrize(("text", "parts"), [
    ("grid: {npus: [1]}", ["a required key is missing: problem"]),
    ("problem: gpt3-5k", ["exp.yaml:1:1: problem: unknown problem 'gpt3-5k'", "did you mean 'gpt3-4k'?"]),
    ("problem: gpt3-4k\nengine: nsga2", ["exp.yaml:2:1: engine: unknown key 'engine'", "did you mean 'engines'?"]),
    ("problem: gpt3-4k\nengines: [nsga2, nsga5]", ["exp.yaml:2:18: engines[1]: unknown engine 'nsga5'"]),
    ("problem: gpt3-4k\nengines: nsga9\nseeds: [1, 2]",
     ["exp.yaml:2:1: engines: unknown engine 'nsga9'", "did you mean 'nsga3'?"]),
    ("problem: gpt3-4k\nruns:\n  a:\n    engines: [{engine: nsga8}, nowhere:engine]",
     ["exp.yaml:4:16: runs.a.engines[0].engine: unknown engine 'nsga8'",
      "exp.yaml:4:32: runs.a.engines[1]: the engine 'nowhere:engine' cannot be imported", "(in a)"]),
    ("problem: gpt3-4k\nset: {search.engine: nsga7}", ["exp.yaml:2:7: set.search.engine"]),
    ("problem: gpt3-4k\nengines: [{engine: nsga2, popluation: 3}]", ["exp.yaml:2:27: engines[0].popluation"]),
    ("problem: gpt3-4k\nevaluations: 0\nseeds: [1, -1]",
     ["exp.yaml:2:1: evaluations: found 0", "exp.yaml:3:12: seeds[1]: found -1"]),
    ("problem: gpt3-4k\ngrid: {fabric.max_dimension: [3, 4]}",
     ["exp.yaml:2:31: grid.fabric.max_dimension[0]", "did you mean 'max_dimensions'?"]),
    ("problem: gpt3-4k\ngrid: {npus: []}", ["a length of at least 1"]),
    ("problem: gpt3-4k\nlist:\n- npus: 4099\n", ["exp.yaml:1:1: problem", "tp 16 does not divide", "(in npus=4099)"]),
    ("problem: gpt3-4k\ngrid: {npus: [1024]}\nzip: {npus: [2048]}",
     ["exp.yaml:3:14: zip.npus[0]: npus is varied twice; only one of grid, zip and list may do it"]),
    ("problem: gpt3-4k\nzip: {npus: [1024, 2048], fabric.max_dimensions: [3]}",
     ["exp.yaml:2:1: zip: lists of one length are needed: npus has 2, fabric.max_dimensions has 1"]),
    ("problem: problems.two_tier:problem\nset: {npus: 2}", ["which 'problems.two_tier:problem' lacks"]),
    ("problem: gpt3-4k\ninclude: none.yaml", ["exp.yaml:2:1: include: there is no file"]),
    ("problem: gpt3-4k\nrepeats: 100\nevaluations: [1, 2]", ["more than 150 runs"]),
    ("problem: gpt3-4k\nruns: {a: {problem: gpt4-4k}}", ["exp.yaml:2:12: runs.a.problem: unknown problem 'gpt4-4k'"]),
    ("- 1", ["a mapping is needed"]),
])  # fmt: skip
def test_mistakes_are_told_with_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, parts: list[str]
) -> None:
    monkeypatch.setattr("evo_libra.experiment.file.expansion.MAX_RUNS", 150)
    found = mistakes(tmp_path, text)
    for part in parts:
        assert part in found


def test_an_unknown_engine_of_a_problem_file_is_told_with_its_place(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "problems" / "gpt3-4k.yaml").read_text()
    (tmp_path / "p.yaml").write_text(text.replace("search: {", "search: {engine: nsgaa2, "))
    line = 1 + text[: text.index("search: {")].count("\n")
    place = f"p.yaml:{line}:10: search.engine: unknown engine 'nsgaa2'"
    with pytest.raises(EngineError, match=re.escape(place)):
        planned_run(origin_of(str(tmp_path / "p.yaml"), ()))
    with pytest.raises(EngineError, match=re.escape("--set search.engine=b: search.engine: unknown engine 'b'")):
        planned_run(origin_of(str(tmp_path / "p.yaml"), ("search.engine=b",)))
    with pytest.raises(EngineError, match=r"^unknown engine 'nsga9'"):
        planned_run(origin_of(str(tmp_path / "p.yaml"), ()), engine="nsga9")
    assert place in mistakes(tmp_path, "problem: p.yaml\n")


def test_mistakes_of_several_variants_are_told_together_and_once(tmp_path: Path) -> None:
    found = mistakes(tmp_path, "problem: gpt3-4k\ngrid: {npus: [1024, 4099, 4097]}\nseeds: [1, 2]\n").splitlines()
    assert len(found) == 2
    assert "4099 NPUs" in found[0]
    assert "4097 NPUs" in found[1]


def test_a_changed_workload_file_makes_another_run(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "problems" / "gpt3-4k.yaml").read_text()
    i = text.index("workloads:")
    changed = text[:i] + (
        "workloads:\n  - {name: w, file: w.txt, parallelism: {tp: 16}}\n" + text[text.index("time:") :]
    )
    (tmp_path / "p.yaml").write_text(changed)
    line = "layer0 -1 10 NONE 0 10 NONE 0 10 ALLREDUCE {} 10\n"
    (tmp_path / "w.txt").write_text("DATA\n1\n" + line.format(1000))
    first = load(tmp_path, "problem: p.yaml").runs[0]
    (tmp_path / "w.txt").write_text("DATA\n1\n" + line.format(2000))
    second = load(tmp_path, "problem: p.yaml").runs[0]
    assert first.problem["files"].keys() == {"w.txt"}
    assert first.hash != second.hash


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
FILES = st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=1, max_size=4)


def merged(base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, dict):
        return {**base, **{k: merged(base[k], v) if k in base else v for k, v in over.items()}}
    return over


@pytest.mark.slow
@settings(max_examples=60)
@given(FILES, FILES)
def test_including_merges_mappings_and_keeps_the_places(
    tmp_path_factory: pytest.TempPathFactory, base: dict[str, Any], over: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("files")
    (folder / "base.yaml").write_text(json.dumps(base))
    (folder / "over.yaml").write_text(json.dumps({"include": "base.yaml", **over}))
    source = read_with_includes(folder / "over.yaml")
    assert source.data == merged(base, {"include": "base.yaml", **over})
    for path, place in source.places.items():
        there: Any = json.loads(Path(place.file).read_text())
        here: Any = source.data
        for part in path:
            there, here = there[part], here[part]
        if not isinstance(here, dict):
            assert there == here


def test_files_that_include_each_other_many_times_are_refused(tmp_path: Path) -> None:
    """Four files of 30 includes each would be read 27,931 times."""
    for level in range(3):
        (tmp_path / f"{level}.yaml").write_text(json.dumps({"include": [f"{level + 1}.yaml"] * 30}))
    (tmp_path / "3.yaml").write_text("problem: gpt3-4k\n")
    with pytest.raises(InputError, match="more than 100 files would be read, repeated ones included"):
        read_with_includes(tmp_path / "0.yaml")
    assert read_with_includes(tmp_path / "2.yaml").data["problem"] == "gpt3-4k"


def test_an_estimate_comes_from_earlier_runs_or_a_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path / "cache"))
    experiment = load(tmp_path, "problem: gpt3-4k\nevaluations: [2000, 5000]\nseeds: [0, 1]\npopulation: 200\n")
    guess = estimate(experiment.runs, tmp_path / "results")
    assert guess.evaluations == 2 * 5000  # the longer ones go on from the shorter ones
    assert (guess.from_earlier, guess.from_trial, guess.from_similar) == (0, 4, 0)
    assert guess.seconds > 0
    assert estimate([], tmp_path / "results").seconds == 0
