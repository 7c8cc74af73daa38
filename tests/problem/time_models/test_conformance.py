"""Every time model does what every time model must do, and so does one that another package registers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.arrays import FloatArray, Population
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.conformance import faults
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.loops import Times
from evo_libra.problem.time_models.registry import TIME_MODELS

GENERATOR = {
    "kind": "decoder", "layers": 8, "hidden": 2048, "heads": 16, "kv_heads": 4, "feed_forward": 5632, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
PARTS = {"catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"], "blocks": ["switch"]}
WORKLOADS: dict[str, dict[str, Any]] = {
    "layers": {"model": "gpt-3-libra", "parallelism": {"tp": 4}, "compute_TFLOPS": 234},
    "step": {
        "generator": GENERATOR, "training": {"sequence": 1024, "global_batch": 64}, "parallelism": {"tp": 4, "pp": 2},
    },
    "plans": {
        "generator": GENERATOR, "training": {"sequence": 1024, "global_batch": 64},
        "parallelism": {"tp": [1, 2, 4, 8], "pp": [1, 2]},
    },
    "served": {
        "generator": GENERATOR, "serving": {"input": 500, "output": 200, "concurrency": [1, 8]},
        "parallelism": {"tp": [1, 2, 4, 8]},
    },
}  # fmt: skip
"""Workloads of every kind but a trace, with closed plans and with open ones."""


def data_of(workload: str, time: object) -> dict[str, Any]:
    return {
        "name": workload, "npus": 32, "npu": "h100-80gb", "fabric": {**PARTS, "max_dimensions": 2}, "time": time,
        "workloads": [{"name": workload, **WORKLOADS[workload]}], "bandwidth": "ports",
    }  # fmt: skip


def problem_of(workload: str, time: object) -> Problem:
    found = load_problem(data_of(workload, time))
    assert isinstance(found, Problem)
    return found


def designs_of(problem: Problem, count: int = 24) -> Population:
    designs = problem.decode(problem.genome.sample(np.random.default_rng(3), count))
    return designs.select(np.flatnonzero(problem.time.fits(designs.npus, designs.plan, designs.technology)))


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("model", TIME_MODELS)
def test_every_model_conforms(model: str, workload: str) -> None:
    problem = problem_of(workload, model)
    designs = designs_of(problem)
    assert len(designs) > 5
    assert faults(problem.time, designs) == []


def test_open_schedules_conform() -> None:
    time = {"model": "astra", "chunks": [4, 16], "scheduler": ["baseline", "themis-paper"], "algorithms": "search"}
    problem = problem_of("plans", time)
    assert faults(problem.time, designs_of(problem)) == []


@dataclass(frozen=True)
class Wrong(LibraTime):
    """LIBRA's time that adds what the whole population sends, and has a slower bound."""

    @property
    def title(self) -> str:
        return ""

    @property
    def lower_bound(self) -> LibraTime:
        return LibraTime(tuple(replace(loop, time=replace(loop.time, compute=1e3)) for loop in self.loops))

    def times(self, designs: Population, traffic: FloatArray | None = None) -> Times:
        found = super().times(designs, traffic)
        return replace(found, workloads=[one + len(designs) for one in found.workloads])


def test_what_is_wrong_is_found() -> None:
    problem = problem_of("step", "libra")
    wrong = Wrong(problem.time.loops, problem.time.kits)
    assert faults(wrong, designs_of(problem)) == [
        "'' is no part of a sentence", "the time of a design depends on the others of its population",
        "the lower bound is slower",
    ]  # fmt: skip


def run_with(folder: Path, entry: str, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "alpha_beta.py").write_text((Path(__file__).parent / "alpha_beta.py").read_text())
    package = folder / "own-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[evo_libra.time_models]\nalpha-beta = alpha_beta:{entry}\n")
    here = str(Path(__file__).parent)
    path = os.pathsep.join([str(folder), here, *filter(None, [os.environ.get("PYTHONPATH")])])
    script = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, check=False)


SEARCH = """
from evo_libra import search
from evo_libra.problem.time_models.conformance import faults
from test_conformance import WORKLOADS, designs_of, problem_of

for workload in WORKLOADS:
    problem = problem_of(workload, "alpha-beta")
    found = search(problem, engine="nsga2", evaluations=200, population=20, seed=1)
    print(workload, problem.time.title, faults(problem.time, designs_of(problem)), len(found) > 1)
"""


@pytest.mark.slow
def test_a_model_of_another_package_is_searched_with(tmp_path: Path) -> None:
    found = run_with(tmp_path, "KIND", SEARCH)
    assert found.stderr == ""
    assert found.stdout.splitlines() == [f"{workload} the alpha-beta time [] True" for workload in WORKLOADS]


@pytest.mark.slow
def test_what_is_no_time_model_is_named(tmp_path: Path) -> None:
    code = "from test_conformance import problem_of; problem_of('step', 'alpha-beta')"
    assert "entry point 'alpha-beta' of group evo_libra.time_models is no time model but 1e-06" in (
        run_with(tmp_path, "ALPHA", code).stderr
    )


def test_a_key_of_another_model_is_refused() -> None:
    with pytest.raises(Exception, match="LIBRA's time has bandwidth only; this key belongs to astra and themis"):
        problem_of("step", {"model": "libra", "chunks": 4})
    with pytest.raises(Exception, match=json.dumps("alpha")[1:-1]):
        problem_of("step", "alpha")
