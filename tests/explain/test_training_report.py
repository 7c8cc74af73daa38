"""Training steps of a small model, and their other plans: figures of their times, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from evo_libra import load_problem
from evo_libra.explain import figure_bands
from evo_libra.explain.explain import breakdown_of
from evo_libra.explain.plan_alternatives import plan_alternatives
from evo_libra.explain.time_record import Alternatives, Training
from evo_libra.problem.bands import bands_of
from evo_libra.problem.problem import Problem
from evo_libra.workload.plans.step_class import TIME

MODEL = (
    "{name: tiny, generator: {kind: decoder, layers: 4, hidden: 1024, heads: 4, kv_heads: 4, feed_forward: 4096, "
    "gated: false, vocabulary: 32000}, training: {sequence: 1024, global_batch: 16, micro_batch: [1, 2], "
    "precision: bf16, recompute: none, zero: [0, 1]%s}, parallelism: {tp: [1, 2, 4], pp: [1, 2]}}"
)
SETTINGS = ("npus=8", "time=libra", "fabric.blocks=[switch, fat-tree]", "objectives=[time, cost]")
NETWORK = "SW(8)@nvlink4:450"
MINE = "tp2 pp2 dp2 mb1 zero0"


@cache
def tiny(more: str = ", tokens: 1.0e+9", *changes: str) -> Problem:
    found = load_problem("dense-1k", [*SETTINGS, f"workloads=[{MODEL % more}]", *changes])
    assert isinstance(found, Problem)
    return found


def seconds(problem: Problem, plan: str) -> float:
    return float(problem.evaluate(f"{NETWORK} | {plan}").objectives[0, 0])


def others(plan: str, *changes: str) -> Alternatives:
    problem = tiny(", tokens: 1.0e+9", *changes)
    return plan_alternatives(problem, problem.read(f"{NETWORK} | {plan}"), 0)


def training(problem: Problem, plan: str = MINE) -> Training:
    (workload,) = breakdown_of(problem, problem.read(f"{NETWORK} | {plan}")).workloads
    assert workload.training is not None
    return workload.training


def test_rates_and_energy_of_a_step() -> None:
    problem = tiny()
    found, time = training(problem), seconds(problem, MINE)
    assert sum(found.split_ms.values()) == pytest.approx(time * 1e3)
    # 16 sequences of 1,024 tokens on 8 NPUs; a training of 1e9 tokens.
    assert [found.samples_per_s, found.samples_per_s_per_npu] == pytest.approx([16 / time, 2 / time])
    assert [found.tokens_per_s, found.tokens_per_s_per_npu] == pytest.approx([16384 / time, 2048 / time])
    assert (found.training_tokens, found.training_days) == (1e9, pytest.approx(1e9 * time / 16384 / 86400))
    # 8 NPUs of 700 W; 144 links of 0.52 W and 4 switches of 356 W.
    watts = 8 * 700 + 144 * 0.52 + 4 * 356
    assert found.power_MW == pytest.approx(watts / 1e6)
    assert found.energy_kJ == pytest.approx(watts * time / 1e3)
    assert found.energy_per_token_J == pytest.approx(watts * time / 16384)
    # A MWh has 3.6e9 J.
    assert found.training_energy_MWh == pytest.approx(watts * time / 16384 * 1e9 / 3.6e9)
    assert found.energy_per_sample_J is None
    # Weights of 4 layers, 12 x 1024^2 each, and of the head, 1024 x 32000: 6 FLOP per token and weight; attention of
    # 1024 tokens, half of which are masked, 6 x 1024 x 1025 per token and layer. An H100 has 989.4 TFLOP/s in bf16.
    flop = 16384 * (6 * (4 * 12 * 1024**2 + 1024 * 32000) + 4 * 6 * 1024 * 1025)
    assert found.model_flop_utilisation == pytest.approx(flop / time / (8 * 989.4e12), rel=1e-2)


def test_memory_of_a_step() -> None:
    memory = training(tiny()).memory
    assert memory.memory_total_GB == pytest.approx(sum(memory.memory_GB.values()))
    # Half of 4 layers and of embedding and head on a stage, halved again by tensor parallelism; 2 bytes each.
    assert memory.memory_GB["weights"] == pytest.approx((2 * 12 * 1024**2 + 1024 * 32000) / 2 * 2 / 1e9, rel=5e-3)
    # 97 % of 80 GB.
    assert memory.memory_limit_GB == 77.6


def test_what_the_file_does_not_say_is_left_out() -> None:
    found = training(tiny(""))
    assert (found.training_tokens, found.training_days, found.training_energy_MWh) == (None, None, None)
    assert found.energy_per_token_J is not None
    bare = load_problem("dense-1k", [*SETTINGS, "fabric={catalog: libra, max_dimensions: 2}",
                                     "bandwidth={max_GBps: 100000}", f"workloads=[{MODEL % ''}]"])  # fmt: skip
    assert isinstance(bare, Problem)
    (workload,) = breakdown_of(bare, bare.read(f"SW(8)@node:450 | {MINE}")).workloads
    assert workload.training is not None
    assert (workload.training.power_MW, workload.training.energy_kJ) == (None, None)


def test_streams_of_an_offloaded_optimizer() -> None:
    assert training(tiny()).optimizer_streams == ()
    found = load_problem("opt-175b-offload")
    assert isinstance(found, Problem)
    design = found.read("SW(8)@smart-100g:12.5 | dp8 mb16 zero3 full opt-network")
    (workload,) = breakdown_of(found, design, alternatives=False).workloads
    assert workload.training is not None
    # Weights of 174.6e9, 2 bytes each, come over 12.5 GB/s in 27.93 s, and into memory at 187.5 GB/s in 1.86 s. What
    # takes as long as the longest one binds, too.
    assert [(one.pass_, one.stream, round(one.time_ms), one.binds) for one in workload.training.optimizer_streams] == [
        ("forward", "compute", 25117, False), ("forward", "data", 27930, True), ("forward", "host link", 2454, False),
        ("forward", "server link", 27930, True), ("forward", "server SSD", 13428, False),
        ("forward", "server memory", 1862, False), ("backward", "compute", 75205, False),
        ("backward", "data", 27930, False), ("backward", "host link", 2454, False),
        ("backward", "server link", 27930, False), ("backward", "server SSD", 93995, True),
        ("backward", "server memory", 27930, False), ("backward", "server compute", 1622, False),
    ]  # fmt: skip


@pytest.mark.slow
def test_plans_one_step_away() -> None:
    problem, found = tiny(), others(MINE)
    time = seconds(problem, MINE)
    # The next values of each option, lower first, with dp what is left of 8 NPUs; then halves of one degree and doubles
    # of another one.
    assert [(one.change, one.plan) for one in found.changes] == [
        ("tp 1", "pp2 dp4 mb1 zero0"), ("tp 4", "tp4 pp2 dp1 mb1 zero0"), ("pp 1", "tp2 dp4 mb1 zero0"),
        ("micro_batch 2", "tp2 pp2 dp2 mb2 zero0"), ("zero 1", "tp2 pp2 dp2 mb1 zero1"),
        ("pp 1, tp 4", "tp4 dp2 mb1 zero0"),
    ]  # fmt: skip
    for one in found.changes:
        other = seconds(problem, one.plan)
        assert one.time_ms == pytest.approx(other * 1e3)
        assert one.slower_percent == pytest.approx(100 * (other / time - 1))
        assert one.memory_GB == pytest.approx(training(problem, one.plan).memory.memory_total_GB)
        assert (one.fits_memory, one.fits_network, one.most_memory) == (True, True, "")


def test_half_of_a_degree_and_twice_another_one() -> None:
    # From tp 4: half of it and two stages, with the same microbatch and ZeRO. tp 8 and half a stage are none.
    found = [(one.change, one.plan) for one in others("tp4 dp2 mb2 zero1").changes if "," in one.change]
    assert found == [("tp 2, pp 2", "tp2 pp2 dp2 mb2 zero1")]
    assert [one.change for one in others("dp8 mb1 zero0").changes] == ["tp 2", "pp 2", "micro_batch 2", "zero 1"]


def test_faster_plans_are_counted_and_the_fastest_is_named() -> None:
    problem = tiny()
    every = {plan: seconds(problem, plan) for plan in problem.time.tables[0].texts}
    ranked = sorted(every, key=lambda plan: every[plan])
    found = others(MINE)
    assert found.faster_plans == ranked.index(MINE)
    assert found.next_plan is not None
    assert (found.next_plan.plan, found.next_plan.change) == (ranked[0], "")
    assert found.next_plan.time_ms == pytest.approx(every[ranked[0]] * 1e3)
    # Of the fastest plan, the next one is the second.
    best = others(ranked[0])
    assert best.next_plan is not None
    assert (best.faster_plans, best.next_plan.plan) == (0, ranked[1])


def test_a_faster_network_has_a_tenth_more() -> None:
    problem = tiny()
    one = problem.read(f"{NETWORK} | {MINE}")
    wide = problem.time(replace(one, bandwidth=one.bandwidth * 1.1))[0]
    assert others(MINE).time_with_faster_network_ms == pytest.approx(float(wide) * 1e3)


def test_what_does_not_divide() -> None:
    # 4 heads are not divided by 8; pp 4 divides 4 layers, and is not listed. An odd dp has no half.
    assert [(one.change, "heads" in one.reason) for one in others("tp4 dp2 mb1 zero0").blocked] == [("tp 8", True)]
    assert [(one.change, one.reason) for one in others("tp4 pp2 dp1 mb1 zero0").blocked] == [
        ("tp 8", "dp is 1, and its half would have to be whole"),
        ("pp 4", "dp is 1, and its half would have to be whole"),
    ]
    # 16 sequences of dp 8 are two each: a microbatch of 4 is none.
    assert [(one.change, one.reason) for one in others("dp8 mb2 zero0").blocked] == [
        (
            "micro_batch 4",
            "found 16 sequences; dp 8 x micro_batch 4 cannot share them evenly. Nearest: 4 NPUs, or a batch of 32",
        )
    ]
    assert others("dp8 mb1 zero0").blocked == ()


@pytest.mark.slow
def test_plans_that_do_not_fit_say_what_takes_most() -> None:
    # 95 % of 2.1 GB are 1.995 GB: 1.65 GB fit, and 2.31 and 2.18 GB do not, of which 1 GB are buffers.
    found = others(MINE, "npu={base: h100-80gb, memory: {capacity_GB: 2.1}, source: made up 2026}")
    assert [(one.change, one.fits_memory, one.most_memory) for one in found.changes] == [
        ("tp 1", False, "buffers"), ("tp 4", True, ""), ("pp 1", False, "buffers"), ("micro_batch 2", True, ""),
        ("zero 1", True, ""), ("pp 1, tp 4", True, ""),
    ]  # fmt: skip
    every = {plan: seconds(tiny(), plan) for plan in tiny().time.tables[0].texts
             if training(tiny(), plan).memory.memory_total_GB <= 1.995}  # fmt: skip
    assert found.next_plan is not None
    assert (found.next_plan.plan, found.faster_plans) == (
        min(every, key=lambda plan: every[plan]), sum(time < every[MINE] for time in every.values()),
    )  # fmt: skip


def test_figures_have_the_band_of_the_time_that_they_follow_from() -> None:
    problem = tiny()
    found = training(problem)
    (bands,) = bands_of(problem, problem.read(f"{NETWORK} | {MINE}"))
    low, high = bands["time_ms"].low_factor, bands["time_ms"].high_factor
    assert low < 1.0 < high
    assert found.training_days is not None
    assert found.between["training_days"] == pytest.approx((found.training_days * low, found.training_days * high))
    assert found.between["samples_per_s"] == pytest.approx((found.samples_per_s / high, found.samples_per_s / low))


def test_a_time_of_80_to_125_percent_gives_rates_of_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_bands, "step_factors", lambda *_: {TIME: (0.8, 1.25)})
    found = training(tiny())
    assert found.tokens_per_s is not None
    assert found.energy_kJ is not None
    assert found.between["tokens_per_s"] == pytest.approx((0.8 * found.tokens_per_s, 1.25 * found.tokens_per_s))
    assert found.between["energy_kJ"] == pytest.approx((0.8 * found.energy_kJ, 1.25 * found.energy_kJ))
