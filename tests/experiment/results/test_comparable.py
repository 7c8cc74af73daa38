"""Runs are ranked against others of their own problem alone, per sequence where iterations are not the same work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import call
from designs import design_file

from evo_libra.errors import InputError
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.worker import execute
from evo_libra.experiment.results.comparison import Subject, by_problem, sequences
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.run.spec import manifest_of, run_of
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.ui.terminal.details import detail_lines
from evo_libra.ui.terminal.session import Session, Wanted
from evo_libra.ui.terminal.view_model import State, picture, selected_design, wanted

WORKLOADS = "workloads=[{{model: gpt-3-libra, parallelism: {{tp: {tp}}}, compute_TFLOPS: 234}}]"
TP4, TP64 = (WORKLOADS.format(tp=tp) for tp in (4, 64))


def subject(problem: str, *assignments: str) -> Subject:
    return Subject.of(json.loads(json.dumps(manifest(Path(), problem, *assignments))))


def manifest(folder: Path, problem: str, *assignments: str) -> dict[str, Any]:
    spec = run_of(origin_of(problem, assignments), evaluations=200, population=50)
    return manifest_of(spec, build(spec.origin), [], folder)


def kept(folder: Path, problem: str, *assignments: str) -> Subject:
    found = RunFolder(folder / str(len(list(folder.iterdir()))))
    found.write_json(MANIFEST, manifest(found.path, problem, *assignments))
    return Subject.of_run(found)


DENSE_4K, DENSE_32K, MIXTRAL = map(design_file, ("dense-4k", "dense-32k", "mixtral-8x7b-256"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "ranked"),
    [
        (("gpt3-4k",), ("gpt3-4k",), True),
        (("gpt3-4k", TP4), ("gpt3-4k", TP64), True),
        (("gpt3-4k", "npus=1024"), ("gpt3-4k",), True),
        (("gpt3-4k", "fabric.max_dimensions=3"), ("gpt3-4k", "fabric.max_dimensions=2"), True),
        ((DENSE_4K, "fabric.technologies=[nvlink4, optics-400g]"), (DENSE_4K,), True),
        (("gpt3-4k", "constraints=['cost <= 5e6 USD']"), ("gpt3-4k",), True),
        ((DENSE_32K, "npu=[tpu-v4, h100-80gb]"), (DENSE_32K,), True),
        ((MIXTRAL, "npu=h200-141gb"), (MIXTRAL,), True),
        (("gpt3-4k",), ("moe-4k",), False),
        (("gpt3-4k",), ("msft-1t-4k",), False),
        (("gpt3-4k", "time={model: astra, latency_ns: 500}"), ("gpt3-4k",), False),
        (("gpt3-4k", "workloads=[{model: dlrm-libra, compute_TFLOPS: 234}]"), ("gpt3-4k",), False),
        ((DENSE_4K, "objectives=[time, cost, power]"), (DENSE_4K,), False),
    ],
)
def test_only_runs_of_one_problem_are_ranked(one: tuple[str, ...], other: tuple[str, ...], *, ranked: bool) -> None:
    assert len(by_problem([subject(*one), subject(*other)])) == (1 if ranked else 2)


def test_sequences_of_an_iteration_are_those_of_all_replicas(tmp_path: Path) -> None:
    one, other = kept(tmp_path, "gpt3-4k", TP4), kept(tmp_path, "gpt3-4k", TP64)
    found = sequences([one, other])
    assert found is not None
    assert found[0] == 16 * found[1] > 0
    assert sequences([one, one]) == [1.0, 1.0]
    # A table does not say how many sequences it is of, and code of a problem in Python is not run.
    assert sequences([kept(tmp_path, "resnet50-4k", "npus=1024"), kept(tmp_path, "resnet50-4k")]) is None
    assert sequences([Subject({"a": 1}, {"data": None}, ()), Subject({"npus": 2}, {"data": None}, ())]) is None


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for name, *changes in (("gpt3-4k", TP4), ("gpt3-4k", TP64), ("moe-4k",)):
        spec = run_of(origin_of(name, changes), evaluations=500, population=100)
        assert execute(spec.data(), Job(str(folder), "batch")).ending == "done"
    return folder


@pytest.mark.slow
def test_times_are_per_sequence_where_an_iteration_is_another_amount_of_work(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", "problem:gpt3-4k", "--out", results, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["problems"]
    assert found["objectives"] == ["time_per_sequence_ms", "cost_usd"]
    assert "another number of sequences" in found["note"]
    assert all(rate > 0 for rate in found["sequences_per_second"].values())
    best = {1e3 / rate for rate in found["sequences_per_second"].values()}
    assert min(best) == pytest.approx(found["ideal"][0])
    call("compare", "problem:gpt3-4k", "--out", results)
    assert "sequences/s" in capsys.readouterr().out


@pytest.mark.slow
def test_different_problems_are_shown_one_by_one(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("compare", "problem:*", "--out", results) == 0
    shown = capsys.readouterr().out
    assert " ".join(shown.split()).startswith(
        "gpt3-4k and moe-4k are 2 different problems (they differ in name, workloads, npu, fabric, "
    )
    assert "not ranked against one another" in " ".join(shown.split())
    call("compare", "problem:*", "--out", results, "--json")
    found = json.loads(capsys.readouterr().out)["problems"]
    assert [(one["problem"], sum(len(group["runs"]) for group in one["groups"].values())) for one in found] == [
        ("gpt3-4k", 2), ("moe-4k", 1),
    ]  # fmt: skip


def test_single_runs_of_different_problems_are_refused(results: Path, tmp_path: Path) -> None:
    moe, gpt = (next((results / name).iterdir()) for name in ("moe-4k", "gpt3-4k"))
    with pytest.raises(InputError, match=r"moe-4k and gpt3-4k are 2 different problems .* two runs or more of one"):
        call("compare", moe, gpt)
    with pytest.raises(InputError, match="--figure: gpt3-4k and moe-4k are 2 different problems"):
        call("compare", "problem:*", "--out", results, "--figure", tmp_path / "a.png")


def test_the_terminal_ui_does_not_compare_designs_of_unlike_runs(results: Path) -> None:
    session = Session(results)
    every = session.look(Wanted()).every
    four, sixty_four, moe = sorted(every, key=lambda run: (run.problem, _degree(run.folder)))
    state = State(run=four.id, marked=(sixty_four.id, moe.id))
    scene = session.look(wanted(state))
    session.close()
    own, other, another = (series.label for series in picture(state, scene).fronts)
    assert "(" not in own
    assert other.endswith("(an iteration is other work)")
    assert another.endswith("(another problem)")
    mine, theirs = (selected_design(State(run=run.id), scene) for run in (four, moe))
    assert mine is not None
    assert theirs is not None
    text = "\n".join("".join(part for part, _ in line) for line in detail_lines(mine, None, theirs, 200))
    assert f"Not compared with {theirs.name}: another problem." in text
    assert "%" not in text.partition("Not compared")[0]


def _degree(folder: Path) -> int:
    workloads = json.loads((folder / "manifest.json").read_text())["problem"]["workloads"]
    return int(dict(workloads[0]["parallelism"])["tp"])
