"""Problems that take long to evaluate, by the real command."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import COMMAND, run
from patience import code_of, wait_for

SIMULATOR = """
import os, time
from evo_libra.searching.evaluation.parallel import OneByOne
from evo_libra.searching.conformance import SampleProblem


class Simulator(OneByOne):
    name = "simulator"
    genome, objectives, settings = SampleProblem().genome, SampleProblem().objectives, SampleProblem().settings

    def evaluate_one(self, genes):
        time.sleep(0.005)
        if genes[0] == 4:
            raise ValueError("no convergence")
        with open("calls", "a") as file:
            file.write("x\\n")
        worth = SampleProblem().evaluate_genes(genes[:, None])
        return worth.objectives[:, 0], worth.violation[0]

    def describe(self, genes):
        return {"kind": genes[0].tolist()}

    def identity(self):
        return {"problem": "simulator"}


problem = Simulator()
"""
WORDS = ("search", "simulator:problem", "--engine", "deap:nsga2", "--population", "20", "--workers", "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "simulator.py").write_text(SIMULATOR)
    return tmp_path


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text().splitlines()) if (folder / "calls").exists() else 0


def killed(folder: Path, number: int, *words: str, after: int) -> int:
    process = subprocess.Popen([COMMAND, *words], cwd=folder, stderr=subprocess.DEVNULL)
    wait_for(lambda: calls(folder) >= after or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(number)
    return code_of(process)


@pytest.mark.slow
def test_designs_that_fail_are_told_and_kept(folder: Path) -> None:
    done = run(folder, *WORDS, "--evaluations", "60", "--json")
    found: Any = json.loads(done.stdout)
    reasons = {row["reason"] for row in found["failures"]}
    assert reasons == {"ValueError: no convergence"}
    assert {row["kind"] for row in found["failures"]} == {4}
    assert f"{found['failure_count']} designs could not be evaluated and count as infeasible" in done.stderr
    assert "  kind 4.0: ValueError: no convergence" in done.stderr
    assert all(row["kind"] != 4 for row in found["front"])
    manifest = json.loads((folder / found["result"] / "manifest.json").read_text())
    assert (manifest["failures"], manifest["first_failures"]) == (found["failure_count"], found["failures"])
    assert len(found["failures"]) == min(found["failure_count"], 10)
    # The same search again: nothing is evaluated twice but what failed.
    before = calls(folder)
    again = json.loads(run(folder, *WORDS, "--evaluations", "60", "--json").stdout)
    assert again["front"] == found["front"]
    assert calls(folder) == before


@pytest.mark.slow
def test_a_killed_search_goes_on_to_the_same_bytes(folder: Path) -> None:
    words = (*WORDS, "--evaluations", "200")
    assert killed(folder, signal.SIGKILL, *words, "--out", "stopped", after=100) == -signal.SIGKILL
    resumed = json.loads(run(folder, *words, "--out", "stopped", "--resume", "--json").stdout)
    straight = json.loads(run(folder, *words, "--out", "straight", "--json").stdout)
    fronts = [(folder / found["result"] / "front.parquet").read_bytes() for found in (resumed, straight)]
    assert fronts[0] == fronts[1]
    assert (resumed["failure_count"], resumed["failures"]) == (straight["failure_count"], straight["failures"])


@pytest.mark.slow
def test_an_asynchronous_search_is_interrupted_and_resumed(folder: Path) -> None:
    words = (*WORDS, "--asynchronous")
    assert killed(folder, signal.SIGINT, *words, "--evaluations", "100000", after=30) == 130
    (stopped,) = (folder / "results" / "simulator").glob("deap*")
    with np.load(stopped / "checkpoint.npz") as data:
        done = json.loads(bytes(data["head"]).decode())["evaluations"]
    assert done >= 25
    found = json.loads(run(folder, *words, "--evaluations", str(done + 10), "--resume", "--json").stdout)
    assert found["evaluations"] == done + 10
    assert (folder / found["result"] / "done.json").exists()


@pytest.mark.parametrize(("words", "part"), [
    (["gpt3-4k", "--engine", "pymoo:moead", "--set", "objectives=[time]"], "at least 2 objectives"),
    (["gpt3-4k", "--asynchronous"], "needs --workers"),
    (["gpt3-4k", "--timeout", "3"], "belongs to --workers"),
    (["gpt3-4k", "--workers", "0"], "--workers: found 0; it must be at least 1"),
    (["gpt3-4k", "--workers", "1", "--timeout", "0"], "--timeout: found 0; it must be a number from 0.001"),
    (["gpt3-4k", "--workers", "1", "--asynchronous", "--engine", "exhaustive"], "many designs at once"),
])  # fmt: skip
def test_wrong_input_is_one_sentence(tmp_path: Path, words: list[str], part: str) -> None:
    done = run(tmp_path, "search", *words, code=2)
    assert part in done.stderr
    assert all(line.startswith("evo-libra: ") for line in done.stderr.splitlines())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_problem_file_is_evaluated_in_processes_to_the_same_front(tmp_path: Path) -> None:
    words = ("search", "gpt3-4k", "--set", "npus=512", "--evaluations", "60", "--population", "20", "--json")
    plain = json.loads(run(tmp_path, *words).stdout)
    spread = json.loads(run(tmp_path, *words, "--workers", "2", "--out", "other").stdout)
    assert plain["front"] == spread["front"]
    assert (tmp_path / "other" / "gpt3-4k" / "evaluations.sqlite").exists()
