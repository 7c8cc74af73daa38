"""A folder of results with runs of every status, written by hand: the same on every machine and at any time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evo_libra.experiment.checkpoint import write_checkpoint
from evo_libra.experiment.control import request
from evo_libra.experiment.events import Progress, tell_progress
from evo_libra.experiment.provenance import program
from evo_libra.experiment.runspec import origin_of
from evo_libra.experiment.store import RunFolder
from evo_libra.front.archive import Archive, Collection
from evo_libra.front.front import Front
from evo_libra.search.engine import EngineState
from evo_libra.search.run import Snapshot

OBJECTIVES = [
    {"name": "time", "column": "time_ms", "scale": 1e-3, "label": "iteration time [ms]"},
    {"name": "cost", "column": "cost_usd", "scale": 1.0, "label": "network cost [USD]"},
]
BUDGET = 20_000
Write = Callable[..., Path]


def front_values(count: int, better: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times [ms] and costs [USD] along a curve."""
    cost = np.geomspace(3e5, 2e7, count)[::-1]
    return 190 + better * 2.4e8 / cost, cost


def front_frame(count: int, better: float) -> Front:
    time, cost = front_values(count, better)
    notation = [
        f"RI(4)@chiplet:{40 + 5 * n}_FC(8)@package:{10 + n}_RI(16)@node:{6 + n / 2}_SW(8)@pod:2" for n in range(count)
    ]
    frame = pl.DataFrame({"id": np.arange(count), "time_ms": time, "cost_usd": cost, "design": notation})
    return Front(frame, ("time_ms", "cost_usd"))


@pytest.fixture(scope="session")
def problem_data() -> Any:
    return origin_of("gpt3-4k", []).data


@pytest.fixture
def write_run(tmp_path: Path, problem_data: Any) -> Write:
    """Return what writes a run into the folder of results, and returns its folder."""
    results = tmp_path / "results"
    results.mkdir()

    def write(
        seed: int, status: str, *, name: str = "gpt3-4k", label: str = "", engine: str = "nsga2", share: float = 1.0,
        better: float = 1.0, designs: int = 21, python: bool = False,
    ) -> Path:  # fmt: skip
        folder = results / name / f"{engine}-0000{seed:04d}-e{BUDGET}-s{seed}"
        folder.mkdir(parents=True)
        source = {"problem": "gpt3-4k", "set": [], "data": None if python else problem_data, "folder": str(tmp_path)}
        manifest = {
            "name": name, "engine": engine, "seed": seed, "population": 100, "budget": BUDGET, "keep": "front",
            "hash": f"{seed:064x}", "search": f"{seed:064x}", "program": program() if status != "stale" else "older",
            "objectives": OBJECTIVES, "experiment": "", "label": label, "problem": {}, "source": source,
            "started": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        (folder / "manifest.json").write_text(json.dumps(manifest))
        evaluations = int(BUDGET * share)
        for step in range(1, 21):
            volume = 1.0 - 0.6 / step
            tell_progress(folder, Progress(step, evaluations * step // 20, step + 1, volume, step / 2))
        (folder / "run.log").write_text(f"2026-01-01 00:00:00 started on node:{seed}\n")
        front = front_frame(designs, better)
        if status in ("done", "stale"):
            front.write(folder / "front.parquet")
            done = {"evaluations": BUDGET, "front": designs, "hypervolume": 0.97, "wall_s": 10.0}
            (folder / "done.json").write_text(json.dumps(done))
        elif share > 0:
            values = np.array([front.frame["time_ms"].to_numpy() * 1e-3, front.frame["cost_usd"].to_numpy()])
            archive = Archive(np.zeros((3, designs)), values)
            state = Snapshot(EngineState({}, {}), Collection(archive), evaluations)
            write_checkpoint(RunFolder(folder), state, f"{seed:064x}")
        if status == "failed":
            (folder / "failed.json").write_text(json.dumps({"error": "no luck today", "time": 0}))
        if status == "paused":
            request(results, f"{name}/{folder.name}", "pause")
        return folder

    return write


@pytest.fixture
def store(write_run: Write, tmp_path: Path) -> Path:
    """Return a folder of results with runs of every status but running, and an experiment that is queued."""
    for seed, better in ((0, 1.0), (1, 1.1), (2, 0.9)):
        write_run(seed, "done", better=better)
    write_run(3, "failed", share=0.2)
    write_run(4, "paused", share=0.5, better=1.4)
    write_run(5, "interrupted", share=0.7, better=1.3)
    write_run(6, "stale", engine="random", better=2.0, designs=6)
    results = tmp_path / "results"
    batch = results / ".batches" / "sweep"
    batch.mkdir(parents=True)
    queued = {
        "name": "gpt3-4k", "engine": "nsga2", "population": 100, "budget": BUDGET, "hash": "q", "search": "q",
        "label": "npus=1024",
    }  # fmt: skip
    runs = [{**queued, "id": f"gpt3-4k/nsga2-00009999-e{BUDGET}-s{seed}", "seed": seed} for seed in (7, 8)]
    plan = {"experiment": "sweep", "file": str(tmp_path / "sweep.yaml"), "runs": runs}
    (batch / "plan.json").write_text(json.dumps(plan))
    return results
