"""A problem that is no network, by its name, through every command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import run

WORDS = ("repurpose", "--set", "weights=[10,8,4]", "--set", "workers=2", "--evaluations", "120", "--population", "40")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("repurpose")
    run(place, "search", *WORDS)
    return place


@pytest.mark.slow
def test_commands_that_take_any_problem(folder: Path) -> None:
    found = json.loads(run(folder, "front", "last", "--json").stdout)
    assert [one["name"] for one in found["references"]] == ["all sent", "contiguous", "random", "direct"]
    shown = run(folder, "front", "last").stdout
    assert "designs to compare with" in shown
    assert "GB/s" not in shown
    assert "the knee" in run(folder, "recommend", "last").stdout
    run(folder, "report", "last", "-o", "page.html")
    assert "neighbours, nothing left out" in (folder / "page.html").read_text()
    assert "identical" in run(folder, "reproduce", "last").stdout
    assert "repurpose" in run(folder, "catalog", "problems").stdout
    run(folder, "search", *WORDS, "--seed", "1")
    assert "hypervolume" in run(folder, "compare", "problem:repurpose").stdout


@pytest.mark.parametrize("words", [
    ("evaluate", "last#0"), ("explain", "last#0"), ("diff", "last#0", "last#1"), ("certify", "last"),
    ("draw", "last#0", "-o", "x.svg"), ("rescore", "last", "--time", "astra"), ("prices", "last"),
    ("optimize", "repurpose", "--total", "500"), ("export", "last#0", "--astra-sim", "run"),
])  # fmt: skip
def test_commands_of_networks_refuse_it_in_one_sentence(folder: Path, words: tuple[str, ...]) -> None:
    said = run(folder, *words, code=2).stderr
    assert len(said.splitlines()) == 1
    assert "Python" in said


@pytest.mark.slow
def test_traces_of_a_design(folder: Path) -> None:
    row = json.loads(run(folder, "front", "last", "--json").stdout)["front"][-1]
    said = run(folder, "workload", "write", f"last#{row['id']}", "traces/mlp", "--batch", "3", "--json")
    assert json.loads(said.stdout)["traces"] == ["traces/mlp.0.et", "traces/mlp.1.et"]
    shown = json.loads(run(folder, "workload", "show", "traces/mlp", "--json").stdout)
    assert sum(one["bytes"] for npu in shown["npus"] for one in npu["sends"]) == 3 * 4 * row["copies"]
    assert "batch" in run(folder, "workload", "write", "last#0", "traces/mlp", "--batch", "0", code=2).stderr


@pytest.mark.slow
def test_weights_of_a_user_in_worker_processes(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    np.savez(tmp_path / "my.npz", W1=random.normal(size=(6, 5)), inputs=random.normal(size=(20, 5)))
    words = ("search", "repurpose", "--set", "weights=my.npz", "--evaluations", "40", "--population", "20", "--json")
    alone = json.loads(run(tmp_path, *words).stdout)["front"]
    assert json.loads(run(tmp_path, *words, "--workers", "1", "--out", "again").stdout)["front"] == alone
    (tmp_path / "e.yaml").write_text(
        "problem: repurpose\nset: {weights: my.npz}\ngrid: {workers: [2, 3]}\nevaluations: 40\npopulation: 20\n"
    )
    run(tmp_path, "run", "e.yaml", "--workers", "0")
    assert len(json.loads(run(tmp_path, "results", "experiment:e", "--json").stdout)["runs"]) == 2
