"""Every model of the catalogue is trained and served with one plan, and is shown by `catalog`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evo_libra import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.ui.commands.catalog import catalog
from evo_libra.workload.models.decoder import decoder, load_decoders

DESIGN = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"
USES: dict[str, dict[str, Any]] = {
    "training": {"sequence": 4096, "global_batch": 128},
    "serving": {"input": 2048, "output": 1024, "concurrency": 4, "weights": ["bf16", "fp8"]},
}


def time_of(folder: Path, **workload: Any) -> float:
    (folder / "p.yaml").write_text(json.dumps({
        "name": "own", "npus": 64, "npu": "h200-141gb", "bandwidth": "ports",
        "fabric": {"catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"]},
        "workloads": [workload],
    }))  # fmt: skip
    problem = load_problem(str(folder / "p.yaml"))
    assert isinstance(problem, Problem)
    plans = "".join(f" | {table.texts[0]}" for table in problem.time.tables)
    return float(problem.evaluate(f"{DESIGN}{plans}").objectives.ravel()[0])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", load_decoders())
def test_every_model_is_trained_and_served(tmp_path: Path, name: str, use: str) -> None:
    """A training step of 128 sequences of 4,096 tokens takes no less than its FLOP do at the peak of 64 H200s."""
    groups: dict[str, Any] = {"tp": [1, 2, 4, 8], "pp": "any"} if use == "serving" else {}
    routed = {"ep": "any"} if use == "serving" and decoder(name).expert_layers else {}
    took = time_of(tmp_path, model=name, parallelism=groups | routed, **{use: USES[use]})
    if use == "training":
        assert took >= 6 * (decoder(name).active_parameters - ends(name)) * 128 * 4096 / (64 * 989.4e12)
    assert 0 < took < 1e9


def ends(name: str) -> int:
    """Return the weights of the embedding, whose rows are read and not multiplied."""
    return decoder(name).embedding.parameters()


@pytest.mark.parametrize("name", load_decoders())
def test_every_model_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog(name, as_json=True) == 0
    found = json.loads(capsys.readouterr().out)["language_models"][name]
    assert found["parameters"] == decoder(name).parameters
    assert found["year"] == decoder(name).year
    assert found["source"]
    assert catalog(name) == 0
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())
