"""Several accelerators to choose from: every design is one of a problem that names its accelerator alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import certify, load_problem, optimize, search
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.problem.designs import violations
from evo_libra.problem.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
NPUS = ["h100-80gb", "h200-141gb", "a100-80gb"]
SHEET = {
    "name": "sheet", "peak_TFLOPS": {"fp8": 100}, "memory": {"capacity_GB": 80, "bandwidth_GBps": 1000},
    "ports": {"nvlink4": 18}, "source": "made up, 2026",
}  # fmt: skip

OWN = {
    "name": "half-h100", "base": "h100-80gb", "ports": {"nvlink4": 9}, "memory": {"capacity_GB": 30},
    "price_usd": [10000, 12000], "sources": {"all": "drawn, 2026"},
}  # fmt: skip
DENSE = {
    "kind": "decoder", "layers": 8, "hidden": 2048, "heads": 16, "kv_heads": 4, "feed_forward": 5632, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
ROUTED = {**DENSE, "experts": {"count": 8, "per_token": 2, "feed_forward": 2816}}


def data_of(**changes: Any) -> dict[str, Any]:
    workload = {
        "name": "small", "generator": DENSE, "parallelism": {"tp": [1, 2, 4], "pp": [1, 2]},
        "training": {"sequence": 4096, "global_batch": 128, "zero": [0, 1, 3], "tp_domain": "any"},
    }  # fmt: skip
    fabric = {"catalog": "parts-2024", "technologies": ["nvlink3", "nvlink4", "optics-400g"], "max_dimensions": 3}
    return {
        "name": "chosen", "npus": 64, "npu": NPUS, "fabric": {**fabric, "blocks": ["switch", "ring"]},
        "workloads": [workload], "bandwidth": "ports", "objectives": ["time", "cost"], **changes,
    }  # fmt: skip


def problem_of(folder: Path, data: dict[str, Any]) -> Problem:
    (folder / "p.yaml").write_text(json.dumps(data))
    found = load_problem(str(folder / "p.yaml"))
    assert isinstance(found, Problem)
    return found


def alone(folder: Path, data: dict[str, Any], npu: str) -> Problem:
    """Return the same problem with one accelerator."""
    entry = next((one for one in data["npu"] if isinstance(one, dict) and one["name"] == npu), npu)
    known = ["nvlink3" if npu.startswith("a100") else "nvlink4", "optics-400g"]
    return problem_of(folder, {**data, "npu": entry, "fabric": {**data["fabric"], "technologies": known}})


def random_data(random: np.random.Generator) -> dict[str, Any]:
    npus = [NPUS, [*NPUS, OWN], [OWN, "a100-80gb"]][random.integers(0, 3)]
    second = {
        "name": "routed", "generator": ROUTED, "parallelism": {"tp": [1, 4], "ep": [1, 8]}, "weight": 0.5,
        "training": {"sequence": 2048, "global_batch": 128, "zero": [0, 1], "recompute": ["none", "full"]},
    }  # fmt: skip
    fabric = {**data_of()["fabric"], "max_dimensions": int(random.integers(2, 5))}
    return data_of(
        npu=npus, fabric=fabric, time=["libra", "astra", "themis"][random.integers(0, 3)],
        workloads=[*data_of()["workloads"], *([second] if random.random() < 0.5 else [])],
        objectives=["time", "cost", "memory", "system-cost", "energy-per-token", "power"],
    )  # fmt: skip


@pytest.mark.slow
@given(SEEDS)
@costly(6)
def test_a_design_has_the_figures_of_the_problem_of_its_npu_alone(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("npus")
    data = random_data(random)
    problem = problem_of(folder, data)
    genes = problem.genome.sample(random, 24)
    designs, found = problem.decode(genes), problem.evaluate_genes(genes)
    texts, fits = list(map(str, problem.fabrics(designs))), problem.traffic.fits(problem.pricing.built(designs))
    chosen = problem.sources.npu.named(designs.technology)
    assert len(set(chosen)) > 1
    for npu in problem.sources.npu.names:
        mine = np.flatnonzero(fits & (np.array(chosen) == npu))
        if not len(mine):
            continue
        assert all(f" npu={npu} |" in texts[n] for n in mine)
        own = alone(folder, data, npu)
        for plain in ([texts[n] for n in mine], [texts[n].replace(f" npu={npu}", "") for n in mine]):
            where = problem if "npu=" in plain[0] else own
            expected = where.evaluate(plain)
            np.testing.assert_allclose(expected.objectives, found.objectives[:, mine], rtol=1e-12)
            np.testing.assert_allclose(expected.violation, found.violation[mine], rtol=1e-9, atol=1e-12)


def test_an_accelerator_without_a_plan_is_named(tmp_path: Path) -> None:
    # Without NVLink 3, A100s have no scale-up domain for groups of 4; H100s have one.
    (small,) = data_of()["workloads"]
    inside = {key: value for key, value in small["training"].items() if key != "tp_domain"}
    workload = {**small, "parallelism": {"tp": 4, "pp": [1, 2]}, "training": inside}
    fabric = {**data_of()["fabric"], "technologies": ["nvlink4", "optics-400g"]}
    data = data_of(npu=["h100-80gb", "a100-80gb"], workloads=[workload], fabric=fabric)
    said = r"parallelism: a100-80gb: no plan is possible; .* tp: found 4; no scale-up domain, of 1 NPUs at most, holds "
    with pytest.raises(InputError, match=said):
        problem_of(tmp_path, data)


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 4])
def test_no_design_mixes_links_of_two_accelerators(dimensions: int, tmp_path: Path) -> None:
    catalogue = {**data_of()["fabric"], "max_dimensions": dimensions}
    del catalogue["technologies"]
    data = data_of(npu=[*NPUS, "b200"], fabric=catalogue)
    problem = problem_of(tmp_path, data)
    owner = np.array(problem.catalog.npus)
    npus, technology = problem.counted.look_up(np.arange(len(problem.counted)))
    owners = np.where(npus > 1, owner[technology], owner[technology[:1]])
    assert (owners == owners[0]).all()
    assert set(owners[0].tolist()) == {*NPUS, "b200"}
    for npu in (*NPUS, "b200"):
        names = [t.name for t in problem.catalog.technologies if t.npu == npu]
        one = problem_of(tmp_path, {**data, "npu": npu})
        assert names == list(one.catalog.names)
        assert (owners[0] == npu).sum() == len(one.counted)


def test_layers_of_a_table_run_on_the_ports_of_one_accelerator() -> None:
    problem = load_problem(design_file("dense-32k"))
    assert isinstance(problem, Problem)
    both = {"nvlink4", "ici-v4"}
    names, designs = (
        np.array(problem.catalog.names),
        problem.decode(problem.genome.sample(np.random.default_rng(0), 2000)),
    )
    for n in range(len(designs)):
        used = names[designs.technology[designs.npus[:, n] > 1, n]]
        assert not both <= set(used.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["time", pytest.param("time-cost", marks=pytest.mark.slow)])
def test_the_best_design_is_that_of_the_best_accelerator(goal: str, tmp_path: Path) -> None:
    bandwidth = {"mode": "optimal", "min_GBps": 10, "max_GBps": 400}
    fabric = {**data_of()["fabric"], "max_dimensions": 2}
    few = {**data_of()["workloads"][0], "parallelism": {"tp": [1, 4]}}
    data = data_of(bandwidth=bandwidth, objectives=[goal, "cost", "time"], fabric=fabric, workloads=[few])
    best = optimize(problem_of(tmp_path, data), objective=goal)
    each = [optimize(alone(tmp_path, data, npu), objective=goal) for npu in NPUS]
    value = {"time": lambda one: one.time, "time-cost": lambda one: one.time * one.cost}[goal]
    assert value(best) == pytest.approx(min(map(value, each)), rel=1e-9)
    assert best.gap < 1e-6


@pytest.mark.slow
def test_the_exhaustive_front_is_that_of_all_accelerators_and_is_certified(tmp_path: Path) -> None:
    fabric = {**data_of()["fabric"], "max_dimensions": 2, "blocks": ["switch"]}
    data = data_of(bandwidth={"mode": "optimal", "min_GBps": 10, "max_GBps": 400}, fabric=fabric)
    problem = problem_of(tmp_path, data)
    front = search(problem, engine="exhaustive", population=200, evaluations=20_000)
    proof = certify(problem, front)
    each = [search(alone(tmp_path, data, npu), engine="exhaustive", population=200, evaluations=20_000) for npu in NPUS]
    fastest = [float(one.frame["time_ms"].min()) for one in each]  # type: ignore[arg-type]
    best = front.frame.row(int(front.frame["time_ms"].arg_min() or 0), named=True)
    assert best["time_ms"] == pytest.approx(min(fastest), rel=1e-9)
    assert best["npu"] == NPUS[int(np.argmin(fastest))]
    assert 0.995 * proof.max_hypervolume <= proof.hypervolume <= proof.max_hypervolume
    plans = [certify(alone(tmp_path, data, npu), one).plans for npu, one in zip(NPUS, each, strict=True)]
    assert proof.plans == sum(plans)


def test_memory_is_that_of_each_accelerator(tmp_path: Path) -> None:
    fabric = {**data_of()["fabric"], "technologies": ["nvlink4", "optics-400g"]}
    data = data_of(npu=["h200-141gb", OWN], fabric=fabric)
    data["workloads"][0]["generator"] = {**DENSE, "layers": 24}
    problem = problem_of(tmp_path, data)
    network = "SW(64)@optics-400g:50"
    plan = "dp64 mb1 zero0"
    assert not violations(problem, problem.read(f"{network} npu=h200-141gb | {plan}"))
    broken, advice = violations(problem, problem.read(f"{network} npu=half-h100 | {plan}"))
    assert "'memory <= the NPU's memory' is broken" in broken
    assert broken.endswith(f"of {problem.sources.npu.capacity[1] / 1e9:g} GB")
    assert advice.startswith("small (dp64 mb1 zero0) needs ")
    own = alone(tmp_path, data, "half-h100")
    assert own.evaluate(f"{network} | {plan}").violation == pytest.approx(
        problem.evaluate(f"{network} npu=half-h100 | {plan}").violation, rel=1e-12
    )


@pytest.mark.parametrize(
    ("design", "part"),
    [
        ("SW(64)@optics-400g:50 | dp64 mb1 zero0", "has no NPU; write it like '... npu=h100-80gb'"),
        ("SW(64)@optics-400g:50 npu=h100 | dp64 mb1 zero0", "unknown NPU 'h100'; allowed: h100-80gb"),
        ("SW(64)@nvlink3:50 npu=h100-80gb | dp64 mb1 zero0", "h100-80gb cannot be wired with a switch of nvlink3"),
        ("SW(64)@optics-400g:50 npu=a npu=b | dp64", "names 2 NPUs"),
        ("SW(64)@optics-400g:50 npu=h100-80gb | tp3 dp2", "none of the 18 plans of small on h100-80gb, such as dp64"),
    ],
)
def test_a_design_that_has_no_such_npu_is_refused(design: str, part: str, tmp_path: Path) -> None:
    problem = problem_of(tmp_path, data_of())
    with pytest.raises(InputError) as caught:
        problem.read(design)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"npu": []}, "npu: found [] (list), a length of at least 1 is needed"),
        ({"npu": ["h100-80gb", "b400"]}, "npu[1]: unknown accelerator 'b400'"),
        ({"npu": ["h100-80gb", "h100-80gb"]}, "npu[1]: there is a second 'h100-80gb'; the key 'name' can tell"),
        ({"npu": ["h100-80gb", {**OWN, "sources": {}}]}, "npu[1]: ports.nvlink4: has no source"),
        ({"npu": ["h100-80gb", SHEET]}, "found bf16; sheet has kernel constants for fp8"),
        ({"npu": ["b200", "h100-80gb"]}, "b200 and h100-80gb have no ports of nvlink3"),
        ({"npu": ["h100-80gb", {**OWN, "memory": {"capacity_GB": 1}}],
          "fabric": {"catalog": "parts-2024", "max_dimensions": 2}}, "half-h100: none of the 18 plans fits"),
        ({"objectives": ["time", "system-cost"], "npu": ["h100-80gb", "gb200"],
          "fabric": {"catalog": "parts-2024", "max_dimensions": 2}},
         ("system-cost needs the price of an NPU, and gb200 has no price. Give one: "
          "npu: [h100-80gb, {base: gb200, price_usd: ..., source: ...}]")),
        ({"objectives": ["time", "system-cost"], "npu": None, "workloads": [
            {"model": "gpt-3-libra", "compute_TFLOPS": 200, "parallelism": {"tp": 8}}
        ]}, "system-cost needs the price of an NPU, and the file has no key 'npu'"),
        ({"workloads": [{"model": "dlrm-mlperf", "training": {"global_batch": 65536}}]}, "one kind of NPU; name it"),
    ],
)  # fmt: skip
def test_mistakes_are_said_in_a_sentence(changes: dict[str, Any], part: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        problem_of(tmp_path, data_of(**changes))
    assert part in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("npus", [NPUS, NPUS[::-1]])
def test_other_plans_are_those_of_the_accelerator_of_the_design(npus: list[str], tmp_path: Path) -> None:
    data = data_of(npu=npus)
    network, plan = "SW(8)@optics-400g:50_SW(8)@optics-400g:50", "tp2 dp32 mb1 zero1"
    for npu in NPUS:
        problem, own = problem_of(tmp_path, data), alone(tmp_path, data, npu)
        found = explain(problem, problem.read(f"{network} npu={npu} | {plan}"))["workloads"][0]["alternatives"]
        assert found == explain(own, own.read(f"{network} | {plan}"))["workloads"][0]["alternatives"]
        assert {one["change"] for one in found["changes"]} >= {"tp 1", "tp 4", "pp 2", "zero 0", "zero 3", "tp 1, pp 2"}


def test_degrees_that_do_not_divide_are_said(tmp_path: Path) -> None:
    workload = {**data_of()["workloads"][0], "parallelism": {"tp": "any", "pp": "any"}}
    problem = problem_of(tmp_path, data_of(workloads=[workload]))
    design = "SW(8)@optics-400g:50_SW(8)@optics-400g:50 npu=h100-80gb | tp2 pp8 dp4 mb1 zero1"
    blocked = explain(problem, problem.read(design))["workloads"][0]["alternatives"]["blocked"]
    assert [one["change"] for one in blocked] == ["pp 16"]
    assert blocked[0]["reason"].startswith("found 16; the 8 layers make 8 stages at most")
