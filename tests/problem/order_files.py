"""Problem files that ask for an order, small enough for tests."""

from __future__ import annotations

from typing import Any

from evo_libra import load_problem
from evo_libra.problem.problem import Problem

GENERATOR = {
    "kind": "decoder", "source": "made up", "layers": 30, "hidden": 4096, "heads": 32, "kv_heads": 8,
    "feed_forward": 14336, "gated": True, "vocabulary": 32000, "tied": False,
}  # fmt: skip


def order_data(**changes: Any) -> dict[str, Any]:
    """Return the data of a file that asks for about 576 NPUs: 72 servers of 8, or 8 racks of 72."""
    generator = {key: value for key, value in GENERATOR.items() if key != "tied"}
    training = {
        "sequence": 4096, "global_batch": {"about": 576, "within": 0.05}, "micro_batch": [1, 2], "zero": [1, 2],
        "balanced": True, "recompute": ["none", "full"],
    }  # fmt: skip
    workload = {
        "name": "decoder", "generator": generator, "training": training,
        "parallelism": {"tp": [1, 2, 4, 8], "pp": [1, 2, 4], "vp": "any"},
    }  # fmt: skip
    data = {
        "version": 1, "name": "small-order", "question": "order", "systems": ["hgx-h100", "gb200-nvl72"],
        "npus": {"about": 576, "within": 0.12}, "fabric": {"switches": ["qm9700", "sn5600"]}, "workloads": [workload],
        "objectives": ["time", "order-cost"], "search": {"evaluations": 1_000_000},
    }  # fmt: skip
    return {**data, **changes}


def order_problem(**changes: Any) -> Problem:
    """Return the problem of such a file."""
    found = load_problem(order_data(**changes))
    assert isinstance(found, Problem)
    return found
