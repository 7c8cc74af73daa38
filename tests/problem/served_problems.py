"""Small problems of serving, to which tests change what they are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evo_libra import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.workload.serving.serving_table import ServingTable

GENERATOR = {
    "kind": "decoder", "layers": 8, "hidden": 2048, "heads": 16, "kv_heads": 4, "feed_forward": 5632, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
SERVING = {"input": 500, "output": 200, "concurrency": [1, 8, 64], "weights": ["bf16", "fp8"]}
TCO = {"years": 4, "usd_per_kWh": 0.1, "pue": 1.2}
OBJECTIVES = ["time", "cost", "tpot", "ttft", "usd-per-Mtoken", "tokens-per-s", "memory", "energy-per-token"]


def data_of(serving: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    workload = {
        "name": "small", "generator": GENERATOR, "serving": {**SERVING, **(serving or {})},
        "parallelism": {"tp": [1, 2, 4, 8]},
    }  # fmt: skip
    fabric = {
        "catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"], "max_dimensions": 2, "blocks": ["switch"],
    }  # fmt: skip
    return {
        "name": "served", "npus": 32, "npu": "h100-80gb", "fabric": fabric, "workloads": [workload], "tco": TCO,
        "bandwidth": "ports", "objectives": OBJECTIVES, **changes,
    }  # fmt: skip


def problem_of(folder: Path, data: dict[str, Any]) -> Problem:
    (folder / "p.yaml").write_text(json.dumps(data))
    found = load_problem(str(folder / "p.yaml"))
    assert isinstance(found, Problem)
    return found


POOLS = [{"prefill": [0, 0.25]}, {"prefill": [0, 0.5], "prefill_parallelism": {"tp": "any", "pp": [1, 2]}}]


def table_of(problem: Problem) -> ServingTable:
    (table,) = problem.time.tables
    assert isinstance(table, ServingTable)
    return table
