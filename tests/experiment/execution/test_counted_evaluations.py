"""Problems in Python: each design that is evaluated is counted, and workers evaluate all where there are some."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from evo_libra.ui.commands.application import run as run_command

SOURCE = """
import os
from pathlib import Path
import numpy as np
from evo_libra.searching.sample_problem import SampleProblem
from evo_libra.searching.evaluation.parallel import OneByOne

CALLS = Path(__file__).parent / "calls"


class Logged(SampleProblem):
    def evaluate_genes(self, genes):
        with CALLS.open("a") as file:
            file.write(f"{os.getpid()}\\n" * genes.shape[1])
        return super().evaluate_genes(genes)


problem = Logged()
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / f"{tmp_path.name}.py").write_text(SOURCE)  # a name of its own, as modules are imported once
    monkeypatch.chdir(tmp_path)
    return tmp_path / "calls"


def run(*words: str) -> dict[str, object]:
    assert (
        run_command(["search", f"{Path.cwd().name}:problem", "--evaluations", "200", "--population", "20", *words]) == 0
    )
    (manifest,) = Path("results").glob("*/*/manifest.json")
    found: dict[str, object] = json.loads(manifest.read_text())
    return found


@pytest.mark.slow
def test_each_evaluation_is_counted(calls: Path) -> None:
    manifest = run()
    assert manifest["evaluations"] == 200
    assert len(calls.read_text().split()) == 200
    assert isinstance(manifest["hypervolume"], float)


@pytest.mark.slow
def test_workers_evaluate_every_design(calls: Path) -> None:
    manifest = run("--workers", "1")
    processes = calls.read_text().split()
    assert len(processes) <= manifest["evaluations"] == 200  # type: ignore[operator] # a number
    assert str(os.getpid()) not in processes
