"""Serving in problem files: plans as genes, objectives of what users see and pay, and mistakes that are told."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from designs import design_file
from served_problems import GENERATOR, OBJECTIVES, POOLS, data_of, problem_of, table_of

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain

EXACT = 1e-12
NARROW_ALONE = {
    "peak_TFLOPS": {"fp8": 1000}, "memory": {"capacity_GB": 80, "bandwidth_GBps": 2000}, "ports": {"nvlink4": 18},
    "power_W": 700, "source": "own measurement, 2026",
}  # fmt: skip
"""An accelerator of which no source gives a peak in 16 bits."""


@pytest.mark.slow
@pytest.mark.parametrize("pools", POOLS)
def test_objectives_are_those_of_the_report_of_a_design(pools: dict[str, Any], tmp_path: Path) -> None:
    problem = problem_of(tmp_path, data_of(pools))
    genes = problem.genome.sample(np.random.default_rng(0), 40)
    found = problem.evaluate_genes(genes)
    designs = problem.decode(genes)
    again = problem.evaluate([str(fabric) for fabric in problem.fabrics(designs)])
    np.testing.assert_allclose(again.objectives, found.objectives, rtol=EXACT)
    for n in range(0, 40, 5):
        (workload,) = explain(problem, designs.select([n]))["workloads"]
        report, value = workload["serving"], dict(zip(OBJECTIVES, found.objectives[:, n], strict=True))
        assert report["request_ms"] == pytest.approx(1e3 * value["time"], rel=EXACT)
        assert workload["time_ms"] == pytest.approx(1e3 * value["time"], rel=EXACT)
        assert report["tpot_ms"] == pytest.approx(1e3 * value["tpot"], rel=EXACT)
        assert report["ttft_ms"] == pytest.approx(1e3 * value["ttft"], rel=EXACT)
        assert report["ttft_one_user_ms"] <= report["ttft_ms"]
        assert report["tokens_per_s"] == pytest.approx(1e6 / value["tokens-per-s"], rel=EXACT)
        assert report["usd_per_Mtoken"] == pytest.approx(value["usd-per-Mtoken"], rel=EXACT)
        assert report["energy_per_token_J"] == pytest.approx(value["energy-per-token"], rel=EXACT)
        assert report["memory_total_GB"] * 1e9 == pytest.approx(value["memory"], rel=EXACT)
        if not report["prefill_replicas"] and report["concurrency"] == 1:
            assert sum(report["decode_ms"].values()) == pytest.approx(report["tpot_ms"], rel=EXACT)
            assert sum(report["prefill_ms"].values()) == pytest.approx(report["ttft_ms"], rel=EXACT)


def test_dollars_of_a_million_tokens_are_those_of_the_bill(tmp_path: Path) -> None:
    """Price of network and 32 H100, and their energy, over four years and all tokens of that time."""
    problem = problem_of(tmp_path, data_of())
    design = "SW(8)@nvlink4:450_SW(4)@optics-400g:50 | tp8 dp4 c64 fp8"
    figures = problem.measure(problem.read(design))
    value = dict(zip(OBJECTIVES, problem.evaluate(design).objectives[:, 0], strict=True))
    seconds = 4 * 365 * 24 * 3600
    price = 32 * (25000 + 30678) / 2 + figures.cost[0]
    energy = (32 * 700 + figures.watts[0]) / 1e3 * 1.2 * 0.1 * seconds / 3600
    tokens = seconds * 1e6 / value["tokens-per-s"]
    assert value["usd-per-Mtoken"] == pytest.approx(1e6 * (price + energy) / tokens, rel=EXACT)
    assert 1e6 / value["tokens-per-s"] == pytest.approx(4 * 64 * 200 / value["time"], rel=EXACT)


def test_the_exact_front_of_time_and_cost_is_that_of_all_plans_and_networks(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, data_of(objectives=["time", "cost"]))
    front = search(problem, engine="exhaustive", evaluations=100_000, population=1000)
    best = {row["cost_usd"]: row["time_ms"] for row in front.rows()}
    genes = problem.genome.sample(np.random.default_rng(1), 20_000)
    found = problem.evaluate_genes(genes)
    times, costs = found.objectives[:, found.violation == 0]
    for cost, fastest in best.items():
        assert (times[costs <= cost * (1 + EXACT)] >= fastest * 1e-3 * (1 - 1e-9)).all()
    assert min(best.values()) == pytest.approx(times.min() * 1e3, rel=1e-9)


LIMITS = ["ttft <= 20 ms", "tpot <= 1.2 ms", "tokens-per-s >= 100 ktoken/s"]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    "objectives", [["time", "cost"], ["tpot", "usd-per-Mtoken"], ["ttft", "tokens-per-s", "memory"]]
)
def test_the_exact_front_is_beaten_by_no_design(tmp_path: Path, limit: str, objectives: list[str]) -> None:
    pools = POOLS[objectives == ["time", "cost"]]
    problem = problem_of(tmp_path, data_of(pools, objectives=objectives, constraints=[limit]))
    rows = search(problem, engine="exhaustive", evaluations=100_000, population=1000).rows()
    scales = [objective.scale for objective in problem.objectives]
    best = np.array([[row[objective.column] for row in rows] for objective in problem.objectives])
    best = best * np.array(scales)[:, None]
    found = problem.evaluate_genes(problem.genome.sample(np.random.default_rng(1), 4000))
    assert 100 < (found.violation <= 0).sum() < 4000
    for values in found.objectives[:, found.violation <= 0].T:
        covered = (best <= values[:, None] * (1 + 1e-9)).all(axis=0)
        assert covered.any()


@pytest.mark.parametrize("limit", LIMITS)
def test_no_plan_is_left_out_that_a_limit_may_need(tmp_path: Path, limit: str) -> None:
    problem = problem_of(tmp_path, data_of(objectives=["time", "cost"], constraints=[limit], bandwidth="optimal"))
    with pytest.raises(InputError, match="which a slower plan may meet; nsga2 searches it"):
        search(problem, engine="exhaustive", evaluations=1000, population=100)


def test_limits_of_what_users_see_hold_on_a_front(tmp_path: Path) -> None:
    limits = ["ttft <= 200 ms", "tpot <= 4 ms", "usd-per-Mtoken <= 5 USD/Mtoken"]
    problem = problem_of(tmp_path, data_of(objectives=["tpot", "usd-per-Mtoken"], constraints=limits))
    front = search(problem, evaluations=5000, population=200, seed=0)
    rows = front.rows()
    assert len(rows) > 1
    found = problem.measure(problem.read([str(row["design"]) for row in rows]))
    assert found.served is not None
    assert (found.served.first <= 0.2 * (1 + 1e-9)).all()
    assert (found.served.token <= 0.004 * (1 + 1e-9)).all()


def test_an_accelerator_has_the_precisions_that_it_has_kernels_for(tmp_path: Path) -> None:
    fabric = {**data_of()["fabric"], "technologies": ["nvlink3", "nvlink4", "optics-400g"]}
    table = table_of(problem_of(tmp_path, data_of(npu=["a100-80gb", "h100-80gb"], fabric=fabric)))
    mine = [{table.setups[k].weights for k in np.unique(table.setup[table.npu == place])} for place in (0, 1)]
    assert mine == [{"bf16"}, {"bf16", "fp8"}]


def test_the_times_under_astra_have_the_same_software(tmp_path: Path) -> None:
    data = data_of(objectives=["time", "tpot", "ttft"])
    libra = problem_of(tmp_path, data)
    astra = problem_of(tmp_path, {**data, "time": {"model": "astra", "chunks": 1}})
    design = "SW(8)@nvlink4:450_SW(4)@optics-400g:50"
    for plan in ("dp32 c8 bf16", "tp8 dp4 c8 bf16"):
        one, other = (problem.evaluate(f"{design} | {plan}").objectives[:, 0] for problem in (libra, astra))
        if plan.startswith("dp"):
            np.testing.assert_allclose(one, other, rtol=EXACT)
        else:
            # Measured times of small messages contain their latencies; only those of prompts are simulated.
            assert (other >= one * (1.0 - EXACT)).all()
            assert other[1] == pytest.approx(one[1], rel=0.01)
            assert (other <= 1.1 * one).all()


def test_the_workload_weighs_and_the_longest_token_counts(tmp_path: Path) -> None:
    data = data_of(objectives=["time", "tpot", "tokens-per-s"])
    one = data["workloads"][0]
    two = {**one, "name": "long", "serving": {**one["serving"], "input": 4000}, "weight": 0.5}
    both = problem_of(tmp_path, {**data, "workloads": [one, two]})
    singles = [problem_of(tmp_path, {**data, "workloads": [{**part, "weight": 1}]}) for part in (one, two)]
    network, plans = "SW(8)@nvlink4:450_SW(4)@optics-400g:50", ("tp2 dp16 c8 bf16", "tp4 dp8 c1 fp8")
    found = both.evaluate(" | ".join((network, *plans))).objectives[:, 0]
    first, second = (p.evaluate(f"{network} | {plan}").objectives[:, 0] for p, plan in zip(singles, plans, strict=True))
    time_ = first[0] + 0.5 * second[0]
    assert found[0] == pytest.approx(time_, rel=EXACT)
    assert found[1] == pytest.approx(max(first[1], second[1]), rel=EXACT)
    assert 1e6 / found[2] == pytest.approx((16 * 8 * 200 + 0.5 * 8 * 200) / time_, rel=EXACT)


def test_uncertain_weights_change_tokens_with_times(tmp_path: Path) -> None:
    weight = {"low": 0.5, "value": 1, "high": 2}
    data = data_of(objectives=["time", "tokens-per-s.worst", "tokens-per-s"])
    data["workloads"][0]["weight"] = weight
    problem = problem_of(tmp_path, data)
    found = problem.evaluate_genes(problem.genome.sample(np.random.default_rng(0), 50)).objectives
    np.testing.assert_allclose(found[1], found[2], rtol=1e-9, err_msg="a weight counts in tokens and in time")


def test_half_a_million_designs_a_second() -> None:
    problem = load_problem(design_file("llama3-70b-serving"))
    genes = problem.genome.sample(np.random.default_rng(0), 20_000)
    problem.evaluate_genes(genes)
    spent = []
    for _ in range(5):
        begun = time.process_time()
        problem.evaluate_genes(genes)
        spent.append(time.process_time() - begun)
    assert 20_000 / min(spent) >= 500_000


MISTAKES = [
    (
        {"serving": {"prefill_parallelism": {"tp": 2}}},
        "prefill_parallelism: no NPUs have prompts alone; `prefill` says",
    ),
    (
        {"serving": {"prefill": 0.25, "prefill_parallelism": {"tp": 3}}},
        "prefill_parallelism.tp: found 3; it must divide the 16 heads: 1, 2, 4, 8, 16",
    ),
    ({"serving": {"prefill": 0.3}}, "prefill: found 0.3; that is 9.6 of 32 replicas, and they are whole"),
    ({"parallelism": {"tp": 3}}, "tp: found 3; it must divide the 16 heads: 1, 2, 4, 8, 16"),
    ({"parallelism": {"tp": 1, "ep": 2}}, "ep: found 2; small has no experts, so only 1 is allowed"),
    ({"parallelism": {"tp": 1, "cp": 2}}, "parallelism.cp: serving has no cp; allowed: tp, pp, ep, dp"),
    ({"serving": {"output": 1}}, "serving.output: found 1 (number), a number of at least 2 is needed"),
    ({"serving": {"weights": "fp4"}}, "serving.weights"),
    (
        {"serving": {"weights": "nvfp4"}},
        "serving.weights: found nvfp4; h100-80gb has kernel constants for bf16, fp8, int8;",
    ),
    (
        {"serving": {"requests": "normal", "input": None, "output": None}},
        "requests: found normal; allowed: fixed, exponential, or a .csv file",
    ),
    ({"serving": {"requests": "r.csv"}}, "serving.input: the file of `requests` has the lengths; leave this key out"),
    ({"serving": {"input": None}}, "the key 'input' is required, tokens of a request or of its answer"),
    ({"training": {"sequence": 1024, "global_batch": 32}}, "a workload is a training step or served"),
    ({"compute_TFLOPS": 100}, "serving computes its times from the problem's `npu`; leave this key out"),
    ({"serving": {"concurrency": 10_000_000}}, "plans fits 76 GB; the smallest, tp8 dp4 c10000000 fp8, needs"),
]


@pytest.mark.parametrize(("changes", "part"), MISTAKES)
def test_mistakes_of_a_workload_are_said_in_a_sentence(changes: dict[str, Any], part: str, tmp_path: Path) -> None:
    data = data_of(changes.get("serving"))
    kept = {key: one for key, one in data["workloads"][0]["serving"].items() if one is not None}
    data["workloads"][0]["serving"] = kept
    rest = {key: value for key, value in changes.items() if key != "serving"}
    data["workloads"] = [{**data["workloads"][0], **rest}]
    with pytest.raises(InputError) as caught:
        problem_of(tmp_path, data)
    assert part in str(caught.value)


@pytest.mark.parametrize(("changes", "part"), [
    ({"npu": None}, "serving needs the key 'npu', one of a100-40gb"),
    ({"npu": NARROW_ALONE}, "serving: npu has no peak rate in bf16, which attention needs"),
    ({"npu": "a100-80gb", "serving": {"weights": "fp8"}}, "found fp8; a100-80gb has kernel constants for bf16"),
    ({"bandwidth": "optimal"}, "bandwidths are solved for the least time of whole requests, and tpot is of a part"),
    ({"tco": None}, "usd-per-Mtoken needs the key 'tco'"),
])  # fmt: skip
def test_mistakes_of_a_file_are_said_in_a_sentence(changes: dict[str, Any], part: str, tmp_path: Path) -> None:
    data = {**data_of(changes.get("serving")), **{key: one for key, one in changes.items() if key != "serving"}}
    with pytest.raises(InputError) as caught:
        problem_of(tmp_path, {key: value for key, value in data.items() if value is not None})
    assert part in str(caught.value)


def test_times_of_users_need_somebody_who_is_served(tmp_path: Path) -> None:
    training = {"sequence": 1024, "global_batch": 32}
    data = data_of(objectives=["time", "ttft"])
    data["workloads"] = [{"generator": GENERATOR, "training": training, "parallelism": {"tp": 1}}]
    with pytest.raises(InputError, match="ttft is of serving: some workload needs the key 'serving'"):
        problem_of(tmp_path, data)


@pytest.mark.slow
@pytest.mark.parametrize("pools", POOLS)
@pytest.mark.parametrize("model", ["libra", "astra"])
def test_a_plan_is_the_same_among_others_and_by_itself(model: str, pools: dict[str, Any], tmp_path: Path) -> None:
    problem = problem_of(tmp_path, data_of(pools, objectives=["time", "tpot", "ttft"], time=model))
    designs = problem.decode(problem.genome.sample(np.random.default_rng(2), 200))
    found = problem.time.times(designs)
    for n in range(0, 200, 17):
        alone = problem.time.pinned(designs.plans[:, n].tolist()).times(replace(designs.select([n]), plan=None))
        for part in ("workloads", "first", "token"):
            many, one = getattr(found, part), getattr(alone, part)
            assert float(one[0][0]) == pytest.approx(float(many[0][n]), rel=EXACT)
