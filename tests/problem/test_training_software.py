"""Software, scale-up domains and jitter in problem files of training steps."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.problem.problem import Problem
from evo_libra.validation.training_2026 import steps_of
from evo_libra.workload.training.training_table import TrainingTable

SERVERS = "SW(8)@nvlink4:450_SW(16)@optics-400g:50"


def problem_of(npu: str, link: str, workload: dict[str, Any], **training: Any) -> Problem:
    found = load_problem({
        "version": 1, "name": "trained", "question": "design", "npus": 128, "npu": npu, "objectives": ["time"],
        "fabric": {"catalog": "parts-2024", "technologies": [link, "optics-400g"], "blocks": ["switch"]},
        "bandwidth": "ports", "time": {"model": "libra", "efficiency": {"optics-400g": 0.85}},
        "workloads": [{**workload, "training": {"sequence": 8192, **training}}],
    })  # fmt: skip
    assert isinstance(found, Problem)
    return found


def small(**training: Any) -> Problem:
    """Return 8B on 128 B200, one microbatch in a step, as the University of Florida trained it for MLPerf 5.1."""
    workload = {"model": "llama-3.1-8b", "parallelism": {"tp": 1, "cp": 2}}
    fixed = {"global_batch": 64, "precision": "fp8", "gradients": "bf16", "zero": 1}
    return problem_of("b200", "nvlink5", workload, **fixed, **training)


def large(tp: Any, **training: Any) -> Problem:
    """Return 70B on 128 H100 in servers of eight."""
    workload = {"model": "llama-3.1-70b", "parallelism": {"tp": tp}}
    return problem_of("h100-80gb", "nvlink4", workload, global_batch=128, zero=2, **training)


def seconds(problem: Problem, design: str) -> float:
    return float(problem.time(problem.read(design))[0])


def nics(rate: int) -> str:
    return f"SW(8)@nvlink5:900_SW(16)@optics-400g:{rate}"


def test_a_measured_step_has_one_figure_in_problems_and_in_validation() -> None:
    (step,) = steps_of("mlperf51.8b.B200.128")
    assert seconds(small(), nics(50)) == pytest.approx(step.computed, rel=1e-9)
    assert step.computed == pytest.approx(step.seconds, rel=0.01)


def test_faster_nics_gain_what_gradients_expose() -> None:
    # 4 bytes of 8.03e9 weights, an eighth for each NPU, 15/16 of it to other servers, at 85 % of the rate: 88.6 ms.
    problem, ideal = small(), small(stack="any")
    wire = 4 * 8.03e9 / 8 * 15 / 16 / (0.85 * 50e9)
    # At twice the rate the passes could hide all but the 1/32, of the last layer, that waits in any case.
    exposed = (0.65 - 1 / 32) * wire / 2
    assert seconds(problem, nics(100)) - seconds(ideal, nics(100)) == pytest.approx(exposed, rel=2e-3)
    # With faster NICs the last layer waits for NVLink, of 0.784 x 900 GB/s for the whole group.
    last = (wire - 4 * 8.03e9 / (0.784 * 900e9)) / 32
    saved = seconds(problem, nics(50)) - seconds(problem, nics(200))
    assert saved == pytest.approx((0.65 - 1 / 32) * wire * 0.75 + last, rel=2e-3)


def test_jitter_is_off_unless_a_file_asks_for_it() -> None:
    # 128 NPUs are four doublings of 8.
    assert seconds(small(jitter=0.004), nics(50)) == pytest.approx(1.016 * seconds(small(), nics(50)))


def test_tensor_parallel_groups_stay_inside_a_scale_up_domain() -> None:
    with pytest.raises(InputError, match=r"tp: found 16; no scale-up domain, of 8 NPUs at most, holds the tensor para"):
        large(16)
    table = large("any").time.tables[0]
    assert table.plans.tp.max() == 8
    problem = large(8, overlap={"tp": True})
    assert seconds(problem, SERVERS) > 0
    with pytest.raises(
        InputError, match=r"no scale-up domain of the design 'SW\(128\)@optics-400g:50' holds the tensor"
    ):
        problem.read("SW(128)@optics-400g:50")


def test_a_group_that_may_lie_anywhere_leaves_its_domain_without_overlap() -> None:
    found = large([8, 16], overlap={"tp": True}, tp_domain="any").time.tables[0]
    assert isinstance(found, TrainingTable)
    pairs = zip(found.plans.tp.tolist(), found.plans.overlap_tp.tolist(), strict=True)
    assert sorted(pairs) == [(8, False), (8, True), (16, False)]
    assert found.keeps_inside.tolist() == found.plans.overlap_tp.tolist()


def test_searched_designs_keep_tensor_parallel_groups_inside() -> None:
    problem = large([4, 8], overlap={"tp": [False, True]})
    genes = problem.genome.sample(np.random.default_rng(0), 60)
    designs, found = problem.decode(genes), problem.evaluate_genes(genes)
    outside = problem.time.outside(designs.technology)
    assert outside is not None
    alone = (outside | (designs.npus == 1)).all(axis=0)
    assert (found.violation[alone] > 0).all()
    assert (found.violation == 0).any()


def test_an_overlap_that_the_software_lacks_is_one_sentence() -> None:
    with pytest.raises(
        InputError, match=r"overlap\.tp: found true; megatron-2022 has no kernels that overlap tensor para"
    ):
        large(8, overlap={"tp": True}, stack="megatron-2022")
    with pytest.raises(InputError, match=r"found 'megatron-2052'.*did you mean 'megatron-2025'\?"):
        large(8, stack="megatron-2052")


def experts(overlap: dict[str, Any], degrees: dict[str, Any], **training: Any) -> Problem:
    """Return Mixtral 8x7B on 128 H100 in servers of eight."""
    workload = {"model": "mixtral-8x7b", "parallelism": degrees}
    given = {"sequence": 4096, "global_batch": 256, "zero": 1, **training}
    return problem_of("h100-80gb", "nvlink4", workload, overlap=overlap, **given)


@pytest.mark.parametrize(
    ("overlap", "degrees", "training", "message"),
    [
        ({"ep": True}, {"pp": 4, "ep": 8}, {}, "all-to-alls of experts run alongside compute with ep of 2 or more"),
        ({"ep": True}, {"pp": 4, "vp": 2, "ep": 8}, {"stack": "torchtitan-2025"}, "torchtitan-2025 has no all-to-alls"),
        ({"ep": True}, {"pp": 4, "vp": 2}, {}, "with ep of 2 or more"),
        ({}, {"pp": 4, "ep": 8}, {"schedule": "zb-h1", "stack": "megatron-2021"}, "older than this schedule, of 2024"),
        ({}, {"pp": 4}, {"schedule": ["1f1b", "dualpipe"], "stack": "llama-3"}, "dualpipe; llama-3 is older .* 2025"),
        ({}, {"pp": 4, "ep": 8}, {"schedule": "dualpipe", "zero": 2}, "takes zero 0 or 1"),
        ({}, {"pp": 1}, {"schedule": "zb-h1"}, "pp is 1"),
        ({}, {"pp": 4, "ep": 8}, {"schedule": "dualpipe", "global_batch": 96}, r"2 x pp 4 = 8 at least"),
        ({}, {"ep": 8}, {"schedule": "zb-h2"}, "schedule of a pipeline, and pp is 1"),
    ],
)
def test_overlaps_and_schedules_that_cannot_be(
    overlap: dict[str, Any], degrees: dict[str, Any], training: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        experts(overlap, degrees, **training)


def test_a_search_chooses_schedules_and_overlap() -> None:
    problem = experts({"ep": [False, True]}, {"pp": 4, "ep": 8}, schedule=["1f1b", "zb-h1", "dualpipe"])
    table = problem.time.tables[0]
    plain = seconds(problem, f"{SERVERS} | pp4 ep8 dp32 mb1 zero1")
    assert isinstance(table, TrainingTable)
    assert sorted(table.texts) == [
        "pp4 dualpipe ep8 dp32 mb1 zero1", "pp4 dualpipe ep8 dp32 mb1 zero1 overlap-ep", "pp4 ep8 dp32 mb1 zero1",
        "pp4 zb-h1 ep8 dp32 mb1 zero1",
    ]  # fmt: skip
    assert seconds(problem, f"{SERVERS} | pp4 zb-h1 ep8 dp32 mb1 zero1") < plain


@pytest.mark.parametrize("given", [True, [False, True]])
def test_a_dense_model_has_no_experts_to_overlap(given: Any) -> None:
    with pytest.raises(InputError, match=r"overlap\.ep: found true; .* has no experts; leave this key out$"):
        small(overlap={"ep": given}, stack="llama-3")


def test_collectives_next_to_products_take_the_processors_that_the_file_says() -> None:
    own, none, half = (
        large(8, overlap={"tp": True, **more}) for more in ({}, {"tp_processors": 0.0}, {"tp_processors": 0.5})
    )
    assert seconds(none, SERVERS) < seconds(own, SERVERS) < seconds(half, SERVERS)


def test_moments_of_fewer_bits_take_less_memory_and_time() -> None:
    # A copy of 4 bytes and two moments: 12, 8 and 6 bytes of each weight of a shard.
    usual, *shorter = (small(optimizer={"moments": one}).time.loops[0].workload for one in ("fp32", "bf16", "fp8"))
    states = usual.memory["states"]
    assert [one.memory["states"] / states for one in shorter] == pytest.approx([8 / 12, 6 / 12])
    assert shorter[1].compute < usual.compute


def test_one_tensor_parallel_degree_that_may_lie_anywhere_is_one_plan() -> None:
    problem = large(8, overlap={"tp": True}, tp_domain="any")
    assert seconds(problem, SERVERS) == seconds(large(8, overlap={"tp": True}), SERVERS)


@pytest.mark.parametrize("order", [["tp", "cp", "dp", "pp"], ["dp", "tp", "cp", "pp"]])
def test_copies_of_shards_have_one_time_in_a_plan_and_in_a_table(order: list[str]) -> None:
    # A GPU sends an eighth of the weights through its NIC: two gathers and a scatter of 2 bytes each. With shards in
    # servers it is one all-reduce of 2 bytes, as much as two scatters, after the same collectives over NVLink.
    given = {"global_batch": 128, "zero": 3, "order": order, "gradients": "bf16", "overlap": {"dp": False}}
    slow = "SW(8)@nvlink4:450_SW(16)@optics-400g:2"
    workload = {"model": "llama-3.1-8b", "parallelism": {"tp": 1}}
    alone = [
        seconds(problem_of("h100-80gb", "nvlink4", workload, replicate=copies, **given), slow) for copies in (1, 16)
    ]
    table = problem_of("h100-80gb", "nvlink4", workload, replicate=[1, 16, 3], **given)
    assert sorted(table.time.tables[0].texts) == ["dp128 mb1 zero3", "dp8x16 mb1 zero3"]
    found = [seconds(table, f"{slow} | {plan} mb1 zero3") for plan in ("dp128", "dp8x16")]
    assert found == pytest.approx(alone, rel=1e-12)
    one_way = 2 * 8.03e9 / 8 * 15 / 16 / (0.85 * 2e9)
    inside, updated = 3 * 2 * 8.03e9 * 7 / 8 / (0.745 * 450e9), 30 * 8.03e9 * (1 / 8 - 1 / 128) / (0.543 * 3.35e12)
    assert alone[0] - alone[1] == pytest.approx(one_way - inside - updated, rel=0.005)


@pytest.mark.parametrize(
    ("training", "message"),
    [({"replicate": 3}, "replicate: found 3; it must divide dp 128"), ({"replicate": 2, "zero": 0}, "zero 0 shards")],
)  # fmt: skip
def test_copies_of_shards_that_cannot_be(training: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        problem_of("h100-80gb", "nvlink4", {"model": "llama-3.1-8b"}, global_batch=128, **{"zero": 3, **training})


def test_heads_are_exchanged_inside_a_domain_alone() -> None:
    workload = {"model": "llama-3.1-8b", "parallelism": {"tp": 1, "cp": [2, 8]}}
    problem = problem_of("h100-80gb", "nvlink4", workload, global_batch=64, ulysses=[True, False], order=[
        ["cp", "tp", "dp", "pp"], ["dp", "cp", "tp", "pp"],
    ])  # fmt: skip
    (table,) = problem.time.tables
    exchanging = [n for n in range(len(table)) if " ulysses " in table.text(n)]
    assert len(exchanging) == len(table) / 2
    for n in exchanging:
        design = f"{SERVERS} | {table.text(n)}"
        if "order-dp" in table.text(n):
            with pytest.raises(InputError, match="holds the context parallel group, which exchanges heads; `ulysses:"):
                problem.read(design)
        else:
            # Of S tokens, keys and values of 8 heads go 3 times, or S/cp ones of 32 + 8 + 8 and of 32 heads twice.
            less = 2 * (32 + 8 + 8 + 32) / table.plans.cp[n] < 3 * (8 + 8)
            assert (seconds(problem, design) < seconds(problem, design.replace(" ulysses", ""))) == less


@pytest.mark.parametrize(("parallelism", "training", "sentence"), [
    ({"cp": 16}, {"ulysses": True}, "cp: found 16; with `ulysses: true` tp 1 x cp 16 = 16 must divide the 8 heads of"),
    ({"tp": 8}, {"ulysses": True}, "ulysses: found true; only a context parallel group, cp of 2 or more, exchanges"),
])  # fmt: skip
def test_sentences_about_exchanged_heads(parallelism: dict[str, int], training: dict[str, Any], sentence: str) -> None:
    workload = {"model": "llama-3.1-8b", "parallelism": parallelism}
    with pytest.raises(InputError, match=re.escape(sentence)):
        problem_of("h100-80gb", "nvlink4", workload, global_batch=128, **training)
