"""Exports that the real simulator (518bd51) has run: what it printed, to the nanosecond."""

from __future__ import annotations

from pathlib import Path

from evo_libra import load_problem
from evo_libra.astra_sim.export import export_design
from evo_libra.problem.problem import Problem


def exported_ns(folder: Path, design: str, name: str, *assignments: str) -> int:
    problem = load_problem(name, assignments)
    assert isinstance(problem, Problem)
    return export_design(problem, design, folder / "out").workloads[0].prediction.last


def test_halving_doubling_gathers_what_it_halves_twice(tmp_path: Path) -> None:
    design = "FC(4)@chiplet:300_FC(4)@package:100_SW(16)@pod:20"
    # 64 ns less than with shares of exactly a sixteenth, which are 1,134,200 ns.
    time = exported_ns(tmp_path, design, "resnet50-4k", "npus=256", "time={model: astra, latency_ns: 500}")
    assert time == 1_134_136


def test_listed_members_reduce_both_halves_of_a_direct_all_reduce(tmp_path: Path) -> None:
    keys = ["npus=16", "workloads[0].parallelism={tp: 4}"]
    keys.append("time={model: astra, latency_ns: 500, local_memory_GBps: 2000}")
    assert exported_ns(tmp_path, "FC(16)@node:160", "gpt3-4k", *keys) == 1_203_314_126
