"""Training steps in problem files: one figure on every path, limits, and what a user may get wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.problem.designs import violations
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import operation_of
from evo_libra.quantities import number
from evo_libra.ui.commands.evaluate import evaluate
from evo_libra.validation.training import NIC_EFFICIENCY, SERVER_LINKS, plain_rows, seconds_of, setup_of
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plan_rules import plan_mistakes
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.training.advice import fitting_option
from evo_libra.workload.training.memory import CLASSES
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_step import TrainingStep, model_flop

EXACT = 1e-12
SMALL = {
    "kind": "decoder", "layers": 8, "hidden": 2048, "heads": 16, "kv_heads": 4, "feed_forward": 5632, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
ROUTED = {**SMALL, "experts": {"count": 8, "per_token": 2, "feed_forward": 2816}}
PLAN = {"tp": 4, "pp": 2}
VIRTUAL, VIRTUAL4 = {"tp": 4, "pp": 2, "vp": 3}, {"tp": 4, "pp": 2, "vp": 4}
TRAINING, SAMPLES = {"sequence": 4096, "global_batch": 128}, {"global_batch": 65536}
TABLES = [{"model": "gpt-3-libra", "compute_TFLOPS": 200, "parallelism": {"tp": 8}}]


NARROW_ALONE = {
    "peak_TFLOPS": {"fp8": 500}, "memory": {"capacity_GB": 80, "bandwidth_GBps": 2000}, "ports": {"nvlink4": 18},
    "source": "own measurement, 2026",
}  # fmt: skip
"""An accelerator of which no source gives a peak in 16 bits."""


def data_of(**changes: Any) -> dict[str, Any]:
    workload = {"name": "small", "generator": SMALL, "training": TRAINING, "parallelism": PLAN}
    fabric = {
        "catalog": "parts-2024",
        "domains": "any",
        "technologies": ["nvlink4", "optics-400g"],
        "max_dimensions": 3,
    }
    return {
        "name": "trained", "npus": 64, "npu": "h100-80gb", "fabric": {**fabric, "blocks": ["switch", "ring"]},
        "workloads": [workload], "bandwidth": "ports", "objectives": ["time", "cost"], **changes,
    }  # fmt: skip


def problem_of(folder: Path, data: dict[str, Any]) -> Problem:
    (folder / "p.yaml").write_text(json.dumps(data))
    found = load_problem(str(folder / "p.yaml"))
    assert isinstance(found, Problem)
    return found


def workload_of(training: dict[str, Any] | None = None, **changes: Any) -> list[dict[str, Any]]:
    return [{**data_of()["workloads"][0], "training": {**TRAINING, **(training or {})}, **changes}]


@pytest.mark.parametrize("row", plain_rows(), ids=lambda row: row["id"])
def test_a_published_row_has_one_figure_in_problems_and_in_validation(row: dict[str, Any], tmp_path: Path) -> None:
    npu = accelerator(row["npu"])
    model = {
        "kind": "decoder",
        **{key: row[key] for key in ("layers", "hidden", "heads", "kv_heads", "feed_forward", "gated", "vocabulary")},
        "sequence": row["sequence"], "tied": not row["gated"],
    }  # fmt: skip
    training = {
        **{key: row[key] for key in ("sequence", "global_batch", "micro_batch", "precision", "recompute", "attention")},
        **{key: row[key] for key in ("overlap", "zero", "sequence_parallel")},
        "gradients": {2: "bf16", 4: "fp32"}[row["gradient_bytes"]], "balanced": bool(row.get("balanced_head")),
        "stack": setup_of(row).stack.name,
    }  # fmt: skip
    near, far = SERVER_LINKS[npu.name], "optics-200g" if row["npu"].startswith("a100") else "optics-400g"
    data = data_of(
        npus=row["npus"], npu=row["npu"], memory={"reserve": 0},
        fabric={"catalog": "parts-2024", "technologies": [near, far], "blocks": ["switch"], "max_dimensions": 2},
        time={"model": "libra", "efficiency": {far: NIC_EFFICIENCY}},
        workloads=[{
            "name": "row", "generator": model, "training": training,
            "parallelism": {key: row[key] for key in ("tp", "cp", "pp", "vp")},
        }],
    )  # fmt: skip
    problem = problem_of(tmp_path, data)
    servers = row["npus"] // 8
    design = f"SW(8)@{near}:{npu.wire_rate(near) / 1e9:g}"
    design += f"_SW({servers})@{far}:{25 if far == 'optics-200g' else 50}" if servers > 1 else ""
    population = problem.read(design)
    assert problem.time(population)[0] == pytest.approx(seconds_of(row, setup_of(row)), rel=EXACT)
    assert problem.evaluate(population).objectives[0, 0] == problem.time(population)[0]


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@costly(25)
def test_the_split_adds_up_under_every_time_model(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("split")
    data = random_step(random)
    times = {}
    for model in ("libra", "astra", "themis"):
        time = {"model": model} if model == "libra" else {"model": model, "chunks": int(random.choice([1, 8]))}
        problem = problem_of(folder, {**data, "time": time})
        designs = problem.decode(problem.genome.sample(random, 3))
        for n in range(len(designs)):
            found = explain(problem, designs.select([n]))["workloads"][0]
            whole = problem.time(designs)[n] * 1e3
            assert sum(found["training"]["split_ms"].values()) == pytest.approx(whole, rel=EXACT)
            assert found["time_ms"] == pytest.approx(whole, rel=EXACT)
            assert all(part >= 0 for part in found["training"]["split_ms"].values())
        times[model] = problem
    bounded = times["astra"]
    assert bounded.time.lower_bound is not None
    designs = bounded.decode(bounded.genome.sample(random, 20))
    assert (bounded.time.lower_bound(designs) <= bounded.time(designs) * (1 + 1e-12)).all()


@pytest.mark.parametrize("zero", [3, [0, 3]])
def test_weights_and_gradients_take_as_long_beyond_domains(zero: Any, tmp_path: Path) -> None:
    # Of a group of 64 copies, 8 NPUs with the same place in 8 domains exchange an eighth of the 491,782,144 weights:
    # at 50 GB/s an all-gather of 2 B each takes 7/8 x 2 W / 8 / 50 GB/s, a reduce-scatter of gradients in fp32 twice.
    training = {"zero": zero, "overlap": {"dp": True}}
    data = data_of(
        workloads=workload_of(training, parallelism={"tp": 1, "pp": 1}), time={"model": "astra", "chunks": 1}
    )
    problem = problem_of(tmp_path, data)
    plan = "" if zero == 3 else " | dp64 mb1 zero3"
    one = problem.read(f"SW(8)@nvlink4:450_SW(8)@optics-400g:50{plan}")
    gather, scatter = (
        sum(
            float(seconds[0])
            for (_, group, load), seconds in problem.time.channel_times(one).items()
            if group == "cp+dp beyond" and operation_of(load) is operation
        )
        for operation in (Collective.ALL_GATHER, Collective.REDUCE_SCATTER)
    )
    # Both have the latency of the same steps, some microseconds.
    each = 7 / 8 * 2 * 491_782_144 / 8 / 50e9
    assert gather == pytest.approx(each, abs=6e-6)
    assert scatter - gather == pytest.approx(each, abs=1e-8)


def random_step(random: np.random.Generator) -> dict[str, Any]:
    routed, vp = bool(random.random() < 0.5), int(random.choice([1, 2]))
    tp, cp, pp = (int(random.choice(some)) for some in ([1, 2, 4], [1, 2], [1, 2, 4]))
    plan = {"tp": tp, "cp": cp, "pp": pp, "vp": vp if pp > 1 else 1, "ep": int(random.choice([1, 4])) if routed else 1}
    training = {
        "micro_batch": int(random.choice([1, 2])), "zero": int(random.integers(0, 4)),
        "recompute": str(random.choice(["none", "selective", "full"])),
        "precision": str(random.choice(["bf16", "fp8"])),
        "overlap": {name: bool(random.random() < 0.5) for name in ("tp", "pp", "dp")},
        "order": random.permutation(["tp", "cp", "dp", "pp"]).tolist(), "tp_domain": "any",
        "sequence_parallel": bool(random.random() < 0.5), "global_batch": 256,
    }  # fmt: skip
    if training["overlap"]["tp"]:
        # A group that overlaps stays inside a domain.
        training |= {"order": ["tp", "cp", "dp", "pp"], "tp_domain": "scale-up"}
    return data_of(workloads=workload_of(training, generator=ROUTED if routed else SMALL, parallelism=plan))


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@costly(15)
def test_solved_bandwidths_are_proven_and_no_design_is_faster(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("solved")
    data = {**random_step(random), "fabric": {"catalog": "libra", "max_dimensions": 3}}
    searched = problem_of(folder, {**data, "bandwidth": {"mode": "search", "max_GBps": 700}})
    solved = problem_of(folder, {**data, "bandwidth": {"mode": "optimal", "max_GBps": 700}})
    designs = searched.decode(searched.genome.sample(random, 10))
    cost = searched.measure(designs).cost
    topologies = solved.pricing.built(designs)
    program = solved.traffic.program(topologies)
    time = program.time(designs.bandwidth)
    np.testing.assert_allclose(time, searched.time(designs), rtol=1e-9)
    front = search(solved, evaluations=60, population=20, engine="random")
    assert (front.frame["time_ms"] > 0).all()
    assert cost.min() > 0


def test_more_memory_than_there_is_breaks_a_limit_and_names_what_would_fit(tmp_path: Path) -> None:
    data = data_of(npus=64, workloads=[{
        "model": "llama-3.1-70b", "training": {"sequence": 8192, "global_batch": 128, "zero": 1},
        "parallelism": {"tp": 4, "pp": 2},
    }])  # fmt: skip
    problem = problem_of(tmp_path, data)
    population = problem.read("SW(8)@nvlink4:450_SW(8)@optics-400g:50")
    assert problem.evaluate(population).violation[0] > 0
    limit, reason = violations(problem, population)
    assert limit.startswith("the constraint 'memory <= 77.6 GB' is broken: ")
    assert limit.endswith(f"{problem.evaluate(population).violation[0] * 77.6 + 77.6:.4g} of 77.6 GB")
    assert reason.startswith("llama-3.1-70b (tp4 pp2 dp8 mb1 zero1) needs ")
    advice = reason.rpartition("; ")[2]
    assert advice.endswith(" GB")
    assert "would need" in advice
    changed = dict(part.split(": ") for part in advice.partition(" would")[0].split(" with "))
    own = {key: int(value) for key, value in changed.items() if key in ("tp", "pp", "cp", "dp")}
    options = {key: value if key == "recompute" else int(value) for key, value in changed.items() if key not in own}
    training = {**data["workloads"][0]["training"], **options}
    plan = {**data["workloads"][0]["parallelism"], **own}
    followed = problem_of(
        tmp_path, {**data, "workloads": [{**data["workloads"][0], "training": training, "parallelism": plan}]}
    )
    assert not violations(followed, population)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@costly(40)
def test_who_follows_the_advice_gets_what_it_says(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random = np.random.default_rng(seed)
    folder, data = tmp_path_factory.mktemp("advice"), random_step(random)
    workload = data["workloads"][0]
    if random.random() < 0.7:
        del workload["training"]["sequence_parallel"]
    workload["training"]["attention"] = str(random.choice(["fused", "unfused"]))
    design = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"
    problem = problem_of(folder, data)
    step = problem.time.loops[0].workload
    assert isinstance(step, TrainingStep)
    limited = {**data, "constraints": [f"memory <= {step.total_memory / 1e9 * random.uniform(0.2, 0.99):.6f} GB"]}
    problem = problem_of(folder, limited)
    advice = violations(problem, problem.read(design))[-1].rpartition("; ")[2]
    if advice.startswith("no plan"):
        return
    said, _, figure = advice.partition(" would need ")
    changed = dict(part.split(": ") for part in said.split(" with "))
    groups = {key: int(value) for key, value in changed.items() if key in ("tp", "cp", "pp", "ep", "dp")}
    options = {key: value if key == "recompute" else int(value) for key, value in changed.items() if key not in groups}
    training, plan = {**workload["training"], **options}, {**workload["parallelism"], **groups}
    before = {**workload["parallelism"], **workload["training"], "dp": step.parallelism["dp"]}
    assert all(str(before.get(key)) != value for key, value in changed.items())
    followed = problem_of(folder, {**limited, "workloads": [{**workload, "training": training, "parallelism": plan}]})
    population = followed.read(design)
    assert not violations(followed, population)
    report = explain(followed, population)["workloads"][0]["training"]
    assert f"{report['memory_total_GB']:.1f} GB" == figure
    if len(set(changed) - {"dp"}) > 1:
        for key, value in (("zero", 3), ("recompute", "full"), ("micro_batch", 1)):
            single = {**workload["training"], key: value}
            tried = problem_of(folder, {**limited, "workloads": [{**workload, "training": single}]})
            assert violations(tried, tried.read(design))


@pytest.mark.parametrize(("rule", "limit", "advice"), [
    # Domains are of 8 GPUs: a group of 16 would have a NIC between its halves.
    ({}, 60, "zero: 2 with recompute: full would need 40.6 GB"),
    ({}, 40, "zero: 3 with recompute: full would need 24.3 GB"),
    ({"tp_domain": "any"}, 60, "tp: 16 with dp: 2 would need 39.4 GB"),
    ({"tp_domain": "any"}, 35, "tp: 32 with dp: 1 would need 27.9 GB"),
])  # fmt: skip
def test_advice_keeps_a_tensor_parallel_group_inside_its_domain(
    rule: dict[str, str], limit: int, advice: str, tmp_path: Path
) -> None:
    training = {"sequence": 8192, "global_batch": 128, "zero": 1, **rule}
    data = data_of(
        workloads=[{"model": "llama-3.1-70b", "training": training, "parallelism": PLAN}],
        constraints=[f"memory <= {limit} GB"],
    )
    problem = problem_of(tmp_path, data)
    sentence = violations(problem, problem.read("SW(8)@nvlink4:450_SW(8)@optics-400g:50"))[-1]
    assert sentence.rpartition("; ")[2] == advice


@pytest.mark.parametrize(
    ("gigabytes", "advice"),
    [
        (76, "recompute: full would need"),
        (70, "zero: 3 would need"),
        (60, "tp: 16 with dp: 2 would need"),
        (10, "no plan on these NPUs fits, whatever its micro_batch, zero, recompute, tp, cp, pp and ep"),
    ],
)
def test_advice_names_only_what_changes_and_claims_what_was_searched(gigabytes: float, advice: str) -> None:
    setup = Setup(decoder("llama-3.1-70b"), accelerator("h100-80gb"), 8192, 128)
    plan = one_plan(tp=4, pp=2, dp=8, zero=1, sequence_parallel=True)
    assert fitting_option(setup, plan, auto=True, capacity=gigabytes * 1e9).startswith(advice)


def test_two_changes_are_advised_where_no_single_one_fits_and_experts_may_move() -> None:
    setup, plan = Setup(decoder("mixtral-8x7b"), accelerator("h100-80gb"), 4096, 512), one_plan(dp=64, zero=1)
    full = one_plan(dp=64, zero=1, recompute=2)
    assert fitting_option(setup, full, auto=True, capacity=76e9).startswith("ep: 8 would need")
    assert fitting_option(setup, plan, auto=True, capacity=40e9).startswith("zero: 3 with recompute: full would")


def test_a_recommendation_model_that_is_too_large_is_told_how_many_npus_hold_it(tmp_path: Path) -> None:
    limit = {"constraints": ["memory <= 2.2 GB"], "workloads": [recommender_of()]}
    problem = problem_of(tmp_path, data_of(**limit))
    advice = violations(problem, problem.read("SW(8)@nvlink4:450_SW(8)@optics-400g:50"))[-1].rpartition("; ")[2]
    number, _, figure = advice.removeprefix("npus: ").partition(" would need ")
    followed = problem_of(tmp_path, data_of(npus=int(number), **limit))
    population = followed.read(f"SW(8)@nvlink4:450_SW({int(number) // 8})@optics-400g:50")
    assert not violations(followed, population)
    assert f"{explain(followed, population)['workloads'][0]['training']['memory_total_GB']:.1f} GB" == figure


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("memory <= 800 MB", " of 800 MB"),
        ("cost <= 0.1 MUSD", "MUSD"),
        ("tokens-per-s >= 9 Mtoken/s", "9"),
        ("bw[0] + bw[1] <= 400 GB/s", "500 of 400 GB/s"),
        ("bw[1] >= 0.1 TB/s", "0.05 of 0.1 TB/s"),
        ("bw[0] <= 449.9999 GB/s", "450 of 449.9999 GB/s"),
        ("bw[0] <= bw[1]", "the difference is 0.4 TB/s"),
    ],
)
def test_a_broken_limit_names_what_there_is_and_what_is_allowed_in_its_unit(
    text: str, said: str, tmp_path: Path
) -> None:
    problem = problem_of(tmp_path, data_of(constraints=[text]))
    population = problem.read("SW(8)@nvlink4:450_SW(8)@optics-400g:50")
    sentence = violations(problem, population)[0]
    assert sentence.startswith(f"the constraint '{text}' is broken: ")
    assert said in sentence.removeprefix(f"the constraint '{text}' is broken: ")
    figures = problem.measure(population)
    assert figures.training is not None
    totals = {"memory": figures.training.memory[0] / 1e6, "cost": figures.cost[0] / 1e6}
    totals["tokens-per-s"] = (figures.training.tokens or 0.0) / figures.time[0] / 1e6
    if (name := text.partition(" ")[0]) in totals:
        found, _, limit = sentence.rpartition(": ")[2].partition(" of ")
        assert float(found.replace(",", "")) == pytest.approx(totals[name], rel=1e-3)
        assert limit == text.split("= ")[1]


def test_objectives_of_training_are_those_of_the_report(tmp_path: Path) -> None:
    names = ["time", "cost", "tokens-per-s", "memory", "energy-per-token"]
    problem = problem_of(tmp_path, data_of(objectives=names, workloads=workload_of({"tokens": 1e12}), constraints=[
        "tokens-per-s >= 1 ktoken/s", "memory <= 70 GB", "energy-per-token <= 900 J"
    ]))  # fmt: skip
    population = problem.read("SW(8)@nvlink4:450_SW(8)@optics-400g:50")
    found = problem.evaluate(population)
    assert found.violation[0] == 0
    time, _, per_mega, memory, energy = found.objectives[:, 0]
    report = explain(problem, population)["workloads"][0]["training"]
    assert report["tokens_per_s"] == pytest.approx(128 * 4096 / time, rel=EXACT)
    assert per_mega == pytest.approx(1e6 / report["tokens_per_s"], rel=EXACT)
    assert memory == pytest.approx(report["memory_total_GB"] * 1e9, rel=EXACT)
    assert energy == pytest.approx(report["energy_per_token_J"], rel=EXACT)
    assert report["training_days"] == pytest.approx(1e12 / report["tokens_per_s"] / 86400, rel=EXACT)
    assert tuple(report["memory_GB"]) == CLASSES
    assert report["training_energy_MWh"] == pytest.approx(energy * 1e12 / 3.6e9, rel=EXACT)
    watts = problem.measure(population).watts[0] + 64 * 700
    assert energy == pytest.approx(watts * time / (128 * 4096), rel=EXACT)


def test_model_flop_are_those_that_llama_3_counts() -> None:
    """Table 4 of arXiv 2407.21783: 430, 400 and 380 TFLOP/s are 43, 41 and 38 % of 989."""
    model = decoder("llama-3.1-405b")
    assert model_flop(model, 8192) == pytest.approx(6 * 405e9 + 6 * 126 * 16384 * 8192, rel=0.01)


def test_a_file_of_hugging_face_trains_as_the_model_of_the_catalogue(tmp_path: Path) -> None:
    config = {
        "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192,
        "tie_word_embeddings": False, "hidden_act": "silu",
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    named = {"model": "llama-3-8b", "training": TRAINING, "parallelism": PLAN}
    read = {"file": "config.json", "training": TRAINING, "parallelism": PLAN}
    times = []
    for workload in (named, read):
        problem = problem_of(tmp_path, data_of(workloads=[workload]))
        times.append(problem.evaluate("SW(8)@nvlink4:450_SW(8)@optics-400g:50").objectives[0, 0])
    assert times[0] == times[1]
    assert "config.json" in problem.identity()["files"]


def test_an_npu_of_ones_own_replaces_figures_and_is_part_of_the_problem(tmp_path: Path) -> None:
    own = {"base": "h100-80gb", "power_W": 650, "sources": {"power_W": "measured in 2026"}}
    problem = problem_of(tmp_path, data_of(npu=own))
    assert problem.sources.training is not None
    assert problem.sources.npu.watts.tolist() == [650]
    other = problem_of(tmp_path, data_of(npu={**own, "power_W": 640}))
    assert problem.identity()["accelerator"] != other.identity()["accelerator"]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"npu": None}, "workloads[0].training: a training step needs the key 'npu', one of a100-40gb"),
        ({"npu": "h100"}, "npu: unknown accelerator 'h100'; allowed: "),
        ({"workloads": workload_of(parallelism={"tp": 3})}, "tp 3 does not divide the 64 NPUs; 2 and 4 do"),
        (
            {"workloads": workload_of(parallelism={"tp": 16, "cp": 4, "pp": 2})},
            "pp 2 does not divide the 1 NPU that tp 16 x cp 4 leaves; 1 does",
        ),
        ({"workloads": workload_of(parallelism={"tp": 32})}, "tp: found 32; it must divide the 16 heads: 1, 2, 4, 8"),
        (
            {"workloads": workload_of({"idle": 4}, parallelism={"tp": 3, "pp": 4, "dp": 5})},
            "tp: found 3; it must divide the 16 heads: 1, 2, 4, 8, 16; `uneven_heads: true` splits heads",
        ),
        (
            {"workloads": workload_of({"idle": 64}, parallelism={"tp": 4})},
            "training.idle: found 64; it must be less than the 64 NPUs",
        ),
        (
            {"workloads": workload_of({"idle": 4}, parallelism={"tp": [1, 2]})},
            "training.idle: found 4; NPUs are left idle by a single plan, and this file leaves some open",
        ),
        (
            {"workloads": workload_of({"idle": 2}, parallelism={"tp": 4})},
            "tp 4 does not divide the 62 NPUs; 2 and 31 do",
        ),
        ({"workloads": workload_of(parallelism={"pp": 16})}, "pp: found 16; the 8 layers make 8 stages at most"),
        (
            {"workloads": workload_of({"uneven": True}, parallelism={"pp": 16})},
            "pp: found 16; the 8 layers make 8 stages at most",
        ),
        (
            {"workloads": workload_of(generator={**SMALL, "layers": 6}, parallelism={"pp": 4})},
            "2, 3, 6; `uneven: true` allows a shorter stage, and `balanced: true` counts embedding and head, 8 in all",
        ),
        (
            {"workloads": workload_of({"uneven": True}, generator={**SMALL, "layers": 7}, parallelism=VIRTUAL)},
            "vp: found 3; it must divide the 4 layers of the longest stage: 1, 2, 4",
        ),
        (
            {"workloads": workload_of({"balanced": True}, generator={**SMALL, "layers": 10}, parallelism=VIRTUAL4)},
            "it must divide the 6 layers of a stage, or the 5 of one with embedding or head: 1, 2, 3, 5, 6",
        ),
        (
            {"workloads": workload_of({"sequence": 4098}, parallelism={"cp": 4})},
            "cp: found 4; it must divide the sequence of 4,098 tokens; 3 and 6 do",
        ),
        (
            {"workloads": workload_of({"sequence": 4098}, parallelism={"tp": 4, "cp": 2})},
            "found 4,098; sequence parallelism needs a multiple of tp 4 x cp 2 = 8; `sequence_parallel: false`",
        ),
        (
            {"npus": 96, "workloads": workload_of(generator=ROUTED, parallelism={"tp": 1, "pp": 24, "ep": 8})},
            "ep: found 8; it must divide tp x cp x dp = 4 and the experts: 1, 2, 4",
        ),
        ({"workloads": workload_of(parallelism={"vp": 2})}, "vp: found 2; virtual stages need a pipeline: pp of 2"),
        ({"workloads": workload_of(parallelism={"pp": 4, "vp": 4})}, "it must divide the 2 layers of a stage: 1, 2"),
        ({"workloads": workload_of(parallelism={"ep": 4})}, "ep: found 4; small has no experts"),
        (
            {"workloads": workload_of(generator=ROUTED, parallelism={"ep": 3})},
            "ep: found 3; it must divide the 8 experts: 1, 2, 4, 8",
        ),
        (
            {"workloads": workload_of({"global_batch": 100})},
            "global_batch: found 100 sequences; dp 8 x micro_batch 1 cannot share them evenly. Nearest: 80 NPUs",
        ),
        (
            {"workloads": workload_of({"global_batch": 24}, parallelism={"tp": 4, "pp": 2, "vp": 2})},
            "there are 3; vp 1 does without, and a global_batch of a multiple of dp 8 x micro_batch 1 x pp 2 has them",
        ),
        (
            {"npu": "a100-80gb", "workloads": workload_of({"precision": "fp8"})},
            "precision: found fp8; a100-80gb has kernel constants for bf16",
        ),
        (
            {"npu": {"name": "sheet", "peak_TFLOPS": {"fp8": 100}, "source": "made up, 2026",
                     "ports": {"nvlink4": 18}, "memory": {"capacity_GB": 80, "bandwidth_GBps": 1000}}},
            "precision: found bf16; sheet has kernel constants for fp8",
        ),
        ({"workloads": workload_of(trace="trace")}, "trace: a trace has its own times; a training step has"),
        ({"npu": None, "memory": {"reserve": 0.2}, "workloads": TABLES}, "memory: this is part of the memory of the"),
        ({"npu": NARROW_ALONE, "workloads": workload_of({"precision": "fp8"})}, "no peak rate in bf16, which"),
        (
            {"objectives": ["time", "tokens-per-s"], "workloads": [{"model": "dlrm-mlperf", "training": SAMPLES}]},
            "tokens-per-s is of training and serving language models: a recommendation model has no tokens",
        ),
        ({"workloads": workload_of(compute_TFLOPS=200)}, "compute_TFLOPS: a training step computes its times"),
        ({"workloads": [{"model": "llama-3-8b"}]}, "the key 'training' or 'serving' is needed"),
        (
            {"workloads": [{"model": "gpt-3-libra", "training": TRAINING}]},
            "'gpt-3-libra' is a table of some layers; models that are trained as a whole: deepseek-v3",
        ),
        ({"workloads": [{"model": "llama-8b", "training": TRAINING}]}, "unknown model 'llama-8b'; allowed: "),
        (
            {"workloads": [{"model": "gpt-3-libra", "compute_TFLOPS": 200, "parallelism": {"tp": 8, "pp": 2}}]},
            "parallelism.pp: this group belongs to training steps: the key 'training' is needed",
        ),
        (
            {"objectives": ["time", "tokens-per-s"], "workloads": [
                {"model": "gpt-3-libra", "compute_TFLOPS": 200, "parallelism": {"tp": 8}}
            ]},
            "tokens-per-s is of training steps and serving: every workload needs the key 'training' or 'serving'",
        ),
        ({"time": {"model": "libra", "efficiency": {"nvlink": 0.8}}}, "unknown technology 'nvlink'"),
        (
            {"workloads": workload_of({"recompute": "moe_act"})},
            "recompute: found moe_act; no layer of small has it, and those that can run again by name are layernorm",
        ),
        ({"workloads": workload_of({"recompute": "layer_norm"})}, "did you mean 'layernorm'?"),
        ({"workloads": workload_of({"recompute": "full+mlp"})}, "'full' stands alone; modules are joined: layernorm"),
        ({"workloads": workload_of({"reshard": False})}, "reshard: found false; only zero 3 shards weights"),
        ({"workloads": workload_of({"offload_layers": 4})}, "offload_layers: layers wait in a host: the key"),
        (
            {"workloads": workload_of({"offload_layers": 4}), "system": {"host": {"link_GBps": 64, "memory_GB": 900}}},
            "offload_layers: layers wait in a host, and `system.host` has no memory_GBps, GFLOPS",
        ),
        ({"workloads": workload_of({"loss": "fuzed"})}, "loss: "),
        ({"workloads": workload_of({"order": ["tp", "cp", "dp", "dp"]})}, "each of tp, cp, dp and pp is needed once"),
        (
            {"workloads": workload_of({"overlap": {"embedding": False}})},
            "overlap.embedding: a language model sends nothing of this kind",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_said_in_a_sentence(changes: dict[str, Any], part: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        problem_of(tmp_path, data_of(**changes))
    assert part in str(caught.value)


def test_stages_may_be_uneven_where_the_file_says_so_and_the_longest_one_sets_the_pace(tmp_path: Path) -> None:
    design = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"
    reports = {}
    for layers in (4, 5, 8):
        own = workload_of({"uneven": True}, generator={**SMALL, "layers": layers}, parallelism={"tp": 4, "pp": 4})
        problem = problem_of(tmp_path, data_of(workloads=own))
        reports[layers] = explain(problem, problem.read(design))["workloads"][0]
    # The first of four stages has 2 of 5 layers and sets the pace; the others fill faster, and the last has room.
    four, five, eight = (reports[layers]["time_ms"] for layers in (4, 5, 8))
    assert four < five < eight
    assert reports[5]["training"]["memory_GB"] == reports[8]["training"]["memory_GB"]


@given(
    layers=st.integers(1, 40),
    pp=st.integers(1, 40),
    vp=st.integers(1, 40),
    balanced=st.booleans(),
    uneven=st.booleans(),
)
def test_a_pipeline_is_allowed_if_its_stages_share_the_layers_and_its_chunks_a_stage(
    layers: int, pp: int, vp: int, *, balanced: bool, uneven: bool
) -> None:
    model = decoder("llama-3-8b").model_copy(update={"layers": layers})
    setup = Setup(model, accelerator("h100-80gb"), 4096, pp, balanced=balanced, uneven=uneven)
    slots = layers + 2 * balanced
    longest = -(-slots // pp)
    shared = pp <= slots and (uneven or slots % pp == 0)
    chunked = vp == 1 if pp == 1 else longest % vp == 0 or (balanced and longest > 1 and (longest - 1) % vp == 0)
    assert (not list(plan_mistakes(setup, one_plan(pp=pp, vp=vp)))) == (shared and chunked)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"npu": 5}, ["npu: found 5 (number), text or a mapping or a list is needed"]),
        (
            {"npu": {"base": "h100-80gb", "power_W": 0, "sources": {"all": "x, 2025"}}},
            ["npu.power_W: found 0 (number), a number above 0 is needed"],
        ),
        (
            {"workloads": workload_of(trace="trace", generator=None)},
            ["trace: a trace has its own times; a training step has one of model, file and generator in its place"],
        ),
    ],
)
def test_one_mistake_has_one_sentence(changes: dict[str, Any], parts: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        problem_of(tmp_path, data_of(**changes))
    assert [part for part in parts if part in str(caught.value)] == parts
    assert len(caught.value.mistakes) == len(parts)


def test_tables_alone_reach_all_of_the_bandwidth_and_beside_a_step_what_was_measured(tmp_path: Path) -> None:
    design, times = "SW(8)@nvlink4:450_SW(8)@optics-400g:50", []
    for npu, workloads in ((None, TABLES), ("h100-80gb", TABLES), ("h100-80gb", [*TABLES, *workload_of()])):
        problem = problem_of(tmp_path, data_of(npu=npu, workloads=workloads))
        times.append(explain(problem, problem.read(design))["workloads"][0]["time_ms"])
    assert times[0] == times[1] < times[2]


def test_a_limit_of_ones_own_gets_advice_once_however_many_limits_break(tmp_path: Path) -> None:
    design = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"
    for changes, broken in (({}, 1), ({"memory": {"reserve": 0.99}}, 2)):
        problem = problem_of(tmp_path, data_of(constraints=["memory <= 1.1 GB", "memory <= 500 GB"], **changes))
        said = violations(problem, problem.read(design))
        assert sum(text.startswith("the constraint 'memory") for text in said) == broken
        assert sum(" of an NPU: " in text for text in said) == 1


def test_all_mistakes_of_a_step_are_said_at_once(tmp_path: Path) -> None:
    wrong = workload_of({"global_batch": 101, "precision": "fp8"}, parallelism={"tp": 32, "vp": 2})
    with pytest.raises(InputError) as caught:
        problem_of(
            tmp_path, data_of(npu="a100-80gb", workloads=wrong, fabric={"catalog": "libra"}, bandwidth="optimal")
        )
    assert len(caught.value.mistakes) == 4


def test_one_missing_key_of_a_model_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "hidden_size": 4096}))
    with pytest.raises(InputError, match="num_hidden_layers"):
        problem_of(tmp_path, data_of(workloads=[{"file": "config.json", "training": TRAINING}]))


def recommender_of(**changes: Any) -> dict[str, Any]:
    return {"model": "dlrm-mlperf", "training": {"global_batch": 65536, "overlap": {"dp": False}}, **changes}


def test_a_recommendation_model_is_trained_with_its_embeddings_spread_over_all_npus(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, data_of(workloads=[recommender_of()]))
    population = problem.read("SW(8)@nvlink4:450_SW(8)@optics-400g:50")
    found = explain(problem, population)["workloads"][0]
    report = found["training"]
    assert report["split_ms"]["embedding"] > 0
    assert sum(report["split_ms"].values()) == pytest.approx(found["time_ms"], rel=EXACT)
    assert report["samples_per_s"] == pytest.approx(65536e3 / found["time_ms"], rel=EXACT)
    assert report["memory_total_GB"] > 187_767_399 * 128 * 4 / 64 / 1e9
    assert report["samples_per_s_per_npu"] == pytest.approx(report["samples_per_s"] / 64, rel=EXACT)
    assert report["energy_per_sample_J"] == pytest.approx(report["energy_kJ"] * 1e3 / 65536, rel=EXACT)
    assert not {"tokens_per_s", "energy_per_token_J"} & set(report)


def test_a_recommendation_model_in_nvfp4_has_products_of_its_own_constants(tmp_path: Path) -> None:
    fabric = {**data_of()["fabric"], "technologies": ["nvlink5", "optics-400g"]}

    def compute(precision: str) -> float:
        workload = recommender_of(training={"global_batch": 65536, "precision": precision})
        problem = problem_of(tmp_path, data_of(npu="gb200", fabric=fabric, workloads=[workload]))
        population = problem.read("SW(8)@nvlink5:900_SW(8)@optics-400g:50")
        return float(explain(problem, population)["workloads"][0]["training"]["split_ms"]["compute"])

    assert len({compute("nvfp4"), compute("fp8"), compute("bf16")}) == 3


def test_evaluate_prints_what_a_sample_and_what_free_communication_would_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"
    problem = problem_of(tmp_path, data_of(workloads=[recommender_of()]))
    evaluate(str(tmp_path / "p.yaml"), design=design)
    out = " ".join(capsys.readouterr().out.split())
    report = explain(problem, problem.read(design))["workloads"][0]["training"]
    assert f"MW of NPUs and network, {number(report['energy_per_sample_J'])} J per sample" in out
    assert f"samples/s, {number(report['samples_per_s_per_npu'])} on each h100-80gb" in out
    assert " on a network that costs no time" in out
    assert "of it compute" not in out


@pytest.mark.parametrize(
    ("workload", "part"),
    [
        (recommender_of(parallelism={"tp": 8}), "tp: found 8; all NPUs share a recommendation model's tables"),
        (recommender_of(training={"global_batch": 65536, "zero": 3}), "zero: this key is of language models"),
        (recommender_of(training={"global_batch": 65537}), "found 65,537; it must be a multiple of the 64 NPUs"),
        (
            recommender_of(training={**SAMPLES, "overlap": {"tp": True}}),
            "overlap.tp: a recommendation model sends nothing of this kind; leave this key out",
        ),
        (recommender_of(training={**SAMPLES, "overlap": {"pp": True}}), "overlap.pp: a recommendation model sends"),
        (recommender_of(model="dlrm-libra"), "the key 'rows' of dlrm-libra is required, and no source gives it"),
    ],
)
def test_what_a_recommendation_model_has_no_use_for_is_refused(
    workload: dict[str, Any], part: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        problem_of(tmp_path, data_of(workloads=[workload]))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "overlap", [{"dp": dp, "embedding": embedding} for dp in (False, True) for embedding in (False, True)]
)
def test_a_recommendation_step_lists_each_collective_that_it_runs_once(
    overlap: dict[str, bool], tmp_path: Path
) -> None:
    problem = problem_of(tmp_path, data_of(workloads=[
        recommender_of(training={"global_batch": 65536, "overlap": overlap})
    ]))  # fmt: skip
    population = problem.read("SW(8)@nvlink4:450_SW(8)@optics-400g:50")
    listed = explain(problem, population)["workloads"][0]["collectives"]
    counts = {(one["collective"], one["phase"]): one["count"] for one in listed}
    assert counts == {("all-reduce", "data"): 1, ("all-to-all", "embedding"): 2}
    assert len(listed) == 2


@pytest.mark.parametrize("overlap", [True, False])
def test_collectives_of_the_bubble_are_not_counted(tmp_path: Path, *, overlap: bool) -> None:
    """Two all-reduces of a layer and pass: forward, backward and the recomputed forward pass, per microbatch."""
    training = {"recompute": "full", "overlap": {"tp": overlap, "pp": overlap, "dp": overlap}, "zero": 0}
    problem = problem_of(tmp_path, data_of(workloads=workload_of(
        {**training, "sequence_parallel": False}, parallelism={"tp": 4, "pp": 4, "vp": 2}
    )))  # fmt: skip
    population = problem.read("SW(8)@nvlink4:450_SW(8)@optics-400g:50")
    listed = explain(problem, population)["workloads"][0]["collectives"]
    tensor = sum(one["count"] for one in listed if one["phase"] == "tensor" and one["collective"] == "all-reduce")
    microbatches, layers = 128 // 4, 8 // 4
    assert tensor == pytest.approx(microbatches * layers * 2 * 3, rel=EXACT)


@pytest.mark.parametrize("order", [["tp", "cp", "dp", "pp"], ["tp", "cp", "pp", "dp"], ["pp", "tp", "cp", "dp"]])
@pytest.mark.parametrize("generator", [SMALL, ROUTED])
def test_groups_lie_as_far_apart_as_what_is_inside_them(
    order: list[str], generator: dict[str, Any], tmp_path: Path
) -> None:
    plan = {"tp": 1, "pp": 2, "ep": 8 if "experts" in generator else 1}
    workloads = workload_of({"order": order, "global_batch": 64}, generator=generator, parallelism=plan)
    problem = problem_of(tmp_path, data_of(workloads=workloads))
    npus = np.array([[64]])
    placed = {group: found for (_, group), found in problem.time.placed(npus).items()}
    inside = 2 if order.index("pp") < order.index("dp") else 1
    assert placed["cp+dp"].stride.item() == inside
    assert placed["cp+dp"].extent.item() == 32
    if "ep" in placed:
        assert placed["ep"].stride.item() == inside
        assert placed["edp"].stride.item() == inside * 8


@pytest.mark.slow
def test_the_network_reduces_gradients_without_zero_and_nothing_of_sequence_parallelism(tmp_path: Path) -> None:
    fabric = {"catalog": "wafer", "technologies": ["wafer-fred"], "blocks": ["fred-c", "fred-d"], "max_dimensions": 1}

    def split(block: str, **training: Any) -> dict[str, float]:
        own = {"gradients": "bf16", "overlap": {"dp": False}, "global_batch": 16, **training}
        plan = {"tp": 8 if "sequence_parallel" in training else 1}
        data = data_of(npus=16, fabric=fabric, workloads=workload_of(own, parallelism=plan))
        problem = problem_of(tmp_path, data)
        report = explain(problem, problem.read(f"{block}(16)@wafer-fred:3000"))["workloads"][0]["training"]
        found: dict[str, float] = report["split_ms"]
        return found

    for zero, reduces in ((0, True), (1, False), (3, False)):
        assert (split("WD", zero=zero)["data"] < 0.9 * split("WC", zero=zero)["data"]) is reduces
    for on in (False, True):
        tensor = [split(block, sequence_parallel=on)["tensor"] for block in ("WC", "WD")]
        assert (tensor[1] < 0.9 * tensor[0]) is not on
