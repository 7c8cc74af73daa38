"""What the report of a design says of requests whose lengths vary, of pools, and of their simulation."""

from __future__ import annotations

from pathlib import Path

import pytest
from served_problems import SERVING, data_of, problem_of, table_of

from evo_libra.explain.explain import explain


def test_requests_of_a_file_are_part_of_the_problem(tmp_path: Path) -> None:
    (tmp_path / "requests.csv").write_text("input,output\n100,50\n3000,400\n")
    varied = {key: value for key, value in SERVING.items() if key not in ("input", "output")}
    data = data_of()
    data["workloads"][0]["serving"] = {**varied, "requests": "requests.csv"}
    problem = problem_of(tmp_path, data)
    (setup, *_) = table_of(problem).setups
    assert (setup.prompt, setup.answer) == (1550, 225)
    assert setup.context == (50 * 125 + 400 * 3200) / 450
    before = problem.identity()
    (tmp_path / "requests.csv").write_text("input,output\n100,50\n3000,401\n")
    assert problem_of(tmp_path, data).identity() != before


@pytest.mark.slow
def test_a_report_says_where_the_formula_is_off(tmp_path: Path) -> None:
    design = "SW(8)@nvlink4:450_SW(4)@optics-400g:50 | tp1 dp32 c8 bf16".replace("tp1 ", "")
    found = []
    for changes in ({}, {"input": 20_000, "requests": "exponential"}):
        problem = problem_of(tmp_path, data_of({**changes}))
        (workload,) = explain(problem, problem.read(design))["workloads"]
        found.append(workload["serving"]["simulated"])
    assert [one["formula_holds"] for one in found] == [True, False]
    assert max(map(abs, found[0]["formula_off_percent"].values())) < 1
    assert found[0]["ttft_one_by_one_ms"] < found[0]["ttft_at_once_ms"]


@pytest.mark.slow
def test_a_pool_of_its_own_degrees_and_what_is_not_simulated_is_said(tmp_path: Path) -> None:
    pools = {"concurrency": [8], "weights": "fp8", "prefill": 0.5, "prefill_parallelism": {"tp": [1, 2]}}
    design = "SW(8)@nvlink4:450_SW(4)@optics-400g:50 | tp4 dp12 c8 prefill8 prefill-tp2"
    problem = problem_of(tmp_path, data_of(pools))
    (workload,) = explain(problem, problem.read(design))["workloads"]
    report = workload["serving"]
    assert (report["replicas"], report["prefill_replicas"]) == (12, 8)
    assert report["prefill_parallelism"] == {"tp": 2, "pp": 1, "ep": 1}
    assert {one["group"] for one in workload["collectives"]} == {"tp", "prefill-tp", "pools"}
    assert report["simulated"]["formula_holds"]
    long = problem_of(tmp_path, data_of({**pools, "output": 10**6}))
    (workload,) = explain(long, long.read(design))["workloads"]
    assert "simulated" not in workload["serving"]
    assert "passes through a stage are more than" in workload["serving"]["not_simulated"]
