from __future__ import annotations

import json
import math
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from command import COMMAND, run, run_process
from order_files import order_problem
from patience import ended, wait_for

from evo_libra.arrays import FloatArray
from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.results.benchmark import FIGURES, Run, Task, compare, exact_front, run_task, run_tasks
from evo_libra.pictures.plots.figure import attainment_figure
from evo_libra.problem.file.registry import load_problem
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.ui.commands.bench import _data, _dotted, _show

BENCH = ("bench", "gpt3-4k", "--seeds", "3", "--evaluations", "600", "--population", "60", "--workers", "2")


@pytest.mark.slow
def test_engines_are_compared_with_a_table_a_plot_and_figures(tmp_path: Path) -> None:
    words = (*BENCH, "--engines", "nsga2", "deap:nsga2", "random")
    found = json.loads(run_process(tmp_path, *words, "--json").stdout)
    folder = tmp_path / found["result"]
    assert json.loads((folder / "bench.json").read_text()) == found
    assert (folder / "attainment.png").read_bytes().startswith(b"\x89PNG")
    assert list(found["results"]) == ["nsga2", "deap:nsga2", "random"]
    for figures in found["results"].values():
        assert [row["seed"] for row in figures["runs"]] == [0, 1, 2]
        assert {row["evaluations"] for row in figures["runs"]} == {600}
        for key in FIGURES:
            values = [row[key] for row in figures["runs"]]
            assert figures[key]["median"] == np.median(values)
            assert figures[key]["lower_quartile"] == np.percentile(values, 25)
    by_chance = found["results"]["random"]
    for name in ("nsga2", "deap:nsga2"):
        assert found["results"][name]["hypervolume"]["median"] > by_chance["hypervolume"]["median"]
        assert found["results"][name]["igd_plus"]["median"] < by_chance["igd_plus"]["median"]
        assert 0 < found["results"][name]["epsilon"]["median"] < by_chance["epsilon"]["median"]
    shown = run(tmp_path, *words).stdout
    assert "IGD+" in shown
    assert "what 25, 50 and 75 % of 3 seeds attain" in shown
    assert max(map(len, shown.splitlines())) <= 80
    again = json.loads((folder / "bench.json").read_text())
    for name, figures in again["results"].items():
        for row, before in zip(figures["runs"], found["results"][name]["runs"], strict=True):
            assert {key: row[key] for key in FIGURES[:3]} == {key: before[key] for key in FIGURES[:3]}


@pytest.mark.slow
def test_an_exact_front_is_not_beaten(tmp_path: Path) -> None:
    words = ("bench", "gpt3-4k", "--engines", "nsga2", "--seeds", "1", "--evaluations", "600", "--exact", "--json")
    found = json.loads(run(tmp_path, *words).stdout)
    assert found["reference"]["designs"] > 5000
    assert found["reference"]["hypervolume"] == pytest.approx(1.0497, abs=5e-5)
    assert found["results"]["nsga2"]["hypervolume"]["median"] < found["reference"]["hypervolume"]


def test_a_front_of_parts_that_is_not_exact_is_not_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evo_libra.optimality.whole_designs.MAX_NETWORKS", 10)
    with pytest.raises(InputError, match="--exact: 'wafer-20' has too many designs of whole ports"):
        exact_front(load_problem("wafer-20"))


@pytest.mark.parametrize(("words", "part"), [
    (["--engines", "nsga4"], "did you mean 'nsga3'"),
    (["--engines", "nsga2", "nsga2"], "twice"),
    (["--engines", "nsga2", "--seeds", "0"], "--seeds: found 0"),
    (["--engines", "pymoo:moead", "--set", "objectives=[time]"], "at least 2 objectives"),
    ([], "--engines"),
])  # fmt: skip
def test_wrong_input_is_one_sentence_and_writes_nothing(tmp_path: Path, words: list[str], part: str) -> None:
    done = run(tmp_path, "bench", "gpt3-4k", *words, code=2)
    assert part in done.stderr
    assert all(line.startswith("evo-libra: ") for line in done.stderr.splitlines())
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_one_objective_has_figures_and_no_plot(tmp_path: Path) -> None:
    words = (*BENCH, "--engines", "nsga2", "--set", "objectives=[time]")
    shown = run(tmp_path, *words).stdout
    assert "no plot of one objective" in shown
    assert "hypervolume" in shown


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_interrupted_it_ends_with_its_processes(tmp_path: Path) -> None:
    words = [COMMAND, "bench", "gpt3-4k", "--engines", "nsga2", "--evaluations", "100000000", "--workers", "2"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("no list of processes here")
    program = psutil.Process(process.pid)
    # Two at work: what starts processes takes less time of a processor.
    wait_for(lambda: sum(child.cpu_times().user > 1.0 for child in program.children()) >= 2)
    started = [int(word) for word in children.read_text().split()]
    process.send_signal(signal.SIGINT)
    _, message = ended(process)
    assert process.returncode == 130
    assert message == "evo-libra: interrupted; a comparison keeps nothing before its end\n"
    wait_for(lambda: not any(map(alive, started)))


def done(engine: str, seed: int, points: FloatArray) -> Run:
    return Run(Task(engine, seed, 20, 100), points, 100, 0.5, 0.001)


def test_orders_and_a_single_seed_are_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    problem = order_problem(systems=["hgx-h100"], npus=64, fabric={"switches": ["qm9700"]})
    found = compare([done("a", 0, np.array([[1.0, 10.0], [10.0, 1.0]]))], None)
    _show(found, problem, {"seeds": 1, "evaluations": 40, "population": 20}, exact=True)
    shown = capsys.readouterr().out
    for part in ("what one seed attains\n", " orders ", "takes per order\n", "the exact front: 2 orders, hypervolume"):
        assert part in shown
    assert "design" not in shown


def test_figures_by_hand() -> None:
    ends = np.array([[1.0, 10.0], [10.0, 1.0]])
    found = compare([done("a", 0, ends), done("a", 1, ends[:, :1]), done("b", 0, np.empty((2, 0)))], None)
    np.testing.assert_array_equal(found.reference, ends)
    np.testing.assert_allclose(found.figures["a"]["hypervolume"], [2 * 0.11 - 0.01, 0.11])
    np.testing.assert_allclose(found.figures["a"]["igd_plus"], [0, 0.5])
    np.testing.assert_allclose(found.figures["a"]["epsilon"], [0, 1])
    np.testing.assert_allclose(found.figures["a"]["evaluations_per_s"], 200)
    np.testing.assert_allclose(found.figures["a"]["engine_us"], 10)
    assert found.figures["b"]["igd_plus"] == math.inf
    half = found.surfaces()["a"][1]
    np.testing.assert_array_equal(half, ends)
    data = _data(found, SampleProblem().objectives)
    assert data["results"]["b"]["igd_plus"] == {"median": None, "lower_quartile": None, "upper_quartile": None}
    json.dumps(data, allow_nan=False)


def test_runs_that_all_find_nothing_are_told() -> None:
    with pytest.raises(EvoLibraError, match="no run found a design"):
        compare([done("a", 0, np.empty((2, 0)))], None)


@pytest.mark.slow
def test_a_problem_with_processes_of_its_own_is_run_here() -> None:
    tasks = [Task("deap:nsga2", seed, 20, 30) for seed in range(2)]
    with ExpensiveProblem(SampleProblem(), workers=1) as expensive:
        found = list(run_tasks(expensive, "no name", [], tasks, workers=2))
    assert [run.task for run in found] == tasks
    for one in found:
        np.testing.assert_array_equal(one.objectives, run_task(SampleProblem(), one.task).objectives)


def test_dots_lie_on_the_line_and_reach_its_ends() -> None:
    line = np.array([[1.0, 1.0, 100.0, 100.0], [1000.0, 10.0, 10.0, 1.0]])
    dots = _dotted(line)
    np.testing.assert_allclose(dots[:, [0, -1]], line[:, [0, -1]])
    on_it = (np.isclose(dots[0], 1)) | (np.isclose(dots[1], 10)) | (np.isclose(dots[0], 100))
    assert on_it.all()
    assert dots.shape[1] > 100


@pytest.mark.slow
def test_the_same_lines_give_the_same_picture(tmp_path: Path) -> None:
    line = np.array([[1.0, 1.0, 100.0], [1000.0, 10.0, 10.0]])
    lines: dict[str, Any] = {"one": [line, 2 * line, 3 * line], "two": [2 * line, 3 * line, np.empty((2, 0))]}
    labels = {"x_label": "x", "y_label": "y", "title": "t"}
    for name in ("a.png", "b.png"):
        attainment_figure(lines, **labels, path=tmp_path / name)
    attainment_figure({"one": lines["one"]}, **labels, path=tmp_path / "c.png")
    first, second, other = ((tmp_path / name).read_bytes() for name in ("a.png", "b.png", "c.png"))
    assert first == second != other
