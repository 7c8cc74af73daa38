"""Broadcasts of tokens, choices of the next one, and times of collectives, in problem files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.problem.problem import Problem
from evo_libra.workload.serving.stacks import LAYER

EXACT = 1e-12
GENERATOR = {
    "kind": "decoder", "layers": 8, "hidden": 2048, "heads": 16, "kv_heads": 4, "feed_forward": 5632, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip


def problem_of(folder: Path, serving: dict[str, Any]) -> Problem:
    served = {"input": 500, "output": 200, "concurrency": 64, **serving}
    workload = {"name": "small", "generator": GENERATOR, "serving": served, "parallelism": {"tp": 8}}
    fabric = {"catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"], "max_dimensions": 2}
    data = {
        "name": "served", "npus": 32, "npu": "h100-80gb", "fabric": fabric, "workloads": [workload],
        "bandwidth": "ports", "objectives": ["tpot", "cost"],
    }  # fmt: skip
    (folder / "p.yaml").write_text(json.dumps(data))
    found = load_problem(str(folder / "p.yaml"))
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("serving", "first", "last"), [
    ({"broadcast": "ids", "sampling": "top-k", "top_k": 10}, 2 * 4 * 64, 8 * 10 * 8 * 64),
    ({"broadcast": "ids", "sampling": "top-k"}, 2 * 4 * 64, 8 * 50 * 8 * 64),
    ({"broadcast": "embeddings", "sampling": "logits"}, 2 * 2 * 2048 * 64, 4 * 32000 * 64),
])  # fmt: skip
def test_bytes_take_the_links_of_the_tensor_parallel_group(
    tmp_path: Path, serving: dict[str, Any], first: int, last: int
) -> None:
    """At the seconds per byte of the 16 all-reduces of the 8 layers, where software takes nothing."""
    problem = problem_of(tmp_path, {**serving, "collective_us": 0})
    population = problem.read("SW(8)@nvlink4:450_SW(4)@optics-400g:50 | tp8 dp4 c64")
    (workload,) = explain(problem, population)["workloads"]
    found = workload["serving"]["decode_ms"]
    per_byte = found["tensor"] / (16 * 2 * (2 * 2048 * 64))
    assert found["embedding"] == pytest.approx(first * per_byte, rel=EXACT)
    assert found["sampling"] == pytest.approx(last * per_byte, rel=EXACT)
    ends = workload["serving"]["prefill_ms"]
    assert ends["sampling"] == pytest.approx(found["sampling"] / 64, rel=EXACT)
    assert ends["embedding"] == pytest.approx(found["embedding"] * 500 / 64, rel=EXACT)


def test_a_number_of_logits_needs_a_local_choice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"serving\.top_k: found 10; it is of 'sampling: top-k' alone"):
        problem_of(tmp_path, {"top_k": 10, "sampling": "logits"})


def test_times_of_collectives_are_those_of_the_file(tmp_path: Path) -> None:
    """Among 8 NPUs of servers of 2: one level inside, two outside, and 16 collectives of 8 layers."""
    problem = problem_of(tmp_path, {"collective_us": 50, "server": {"npus": 2, "collective_us": 10}})
    population = problem.read("SW(8)@nvlink4:450_SW(4)@optics-400g:50 | tp8 dp4 c64")
    (workload,) = explain(problem, population)["workloads"]
    assert workload["serving"]["prefill_ms"]["overhead"] == pytest.approx(16 * 0.11 + 8e3 * LAYER, rel=EXACT)


def test_a_server_has_a_power_of_two(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"serving\.server\.npus: found 6; a power of 2 is needed"):
        problem_of(tmp_path, {"server": {"npus": 6, "collective_us": 10}})
