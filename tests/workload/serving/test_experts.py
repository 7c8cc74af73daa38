"""Experts as they are served: grouped products by hand, ranks in step, prompts that wait, copies of experts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.models.layers.sublayer import Matrix
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.experts import (
    MARCH,
    ServedExperts,
    busiest,
    grouped_constants,
    in_step,
    misalignment,
)
from evo_libra.workload.serving.lengths import Lengths
from evo_libra.workload.serving.memory import serving_memory, weight_bytes
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_rules import ServingSpace, every_serving_plan, serving_mistakes
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.races import Traffic

H100 = accelerator("h100-80gb")
QWEN, DEEPSEEK = decoder("qwen3-235b-a22b"), decoder("deepseek-v3")


def free(_: Traffic) -> np.ndarray:
    return np.zeros(1)


def setup_of(**keys: Any) -> ServingSetup:
    given = {"decoder": QWEN, "accelerator": H100, "prompt": 1000, "answer": 1000, "weights": "fp8", "cache": "fp8"}
    return ServingSetup(**{**given, **keys})


def test_grouped_products_are_the_sum_of_weights_and_flop() -> None:
    # Two experts of 1,000 x 1,000 in fp8, which 100 tokens of an NPU all read, 50 each: 35 us, 2e6 bytes at 0.90 of
    # 3,350 GB/s, and 100 x 2 x 1e6 FLOP at 0.63 of 1,979 TFLOP/s, twice as long for skewed batches.
    matrix = Matrix(1000, 1000, rows=0.5, count=2.0, chance=0.5, routed=True)
    found = setup_of().grouped(one_plan(ep=8), [matrix], 100.0)
    assert found.fixed == pytest.approx(35e-6, rel=1e-12)
    assert found.read == pytest.approx(2e6 / (0.90 * 3350e9), rel=1e-9)
    assert found.flop == pytest.approx(2.0 * 100 * 0.5 * 2 * 2e6 / (0.63 * 1979e12), rel=1e-9)
    assert found.all == pytest.approx(found.fixed + found.read + found.flop, rel=1e-12)


def test_a_layer_has_one_fixed_time_however_many_experts_it_has() -> None:
    few = [Matrix(1000, 1000, count=2.0, chance=0.5, routed=True)]
    many = [replace(few[0], count=32.0)]
    times = [setup_of().grouped(one_plan(ep=8), some, 1.0).fixed[0] for some in (few, many)]
    assert times == pytest.approx([35e-6, 35e-6], rel=1e-12)


@pytest.mark.parametrize(("experts", "ep", "skew"), [
    (ServedExperts(), 8, 2.0), (ServedExperts(), 1, 1.06), (ServedExperts(redundant=32), 8, 1.25),
    (ServedExperts(imbalance=1.5), 8, 1.5),
])  # fmt: skip
def test_flop_of_the_busiest_rank(experts: ServedExperts, ep: int, skew: float) -> None:
    assert experts.skew(one_plan(ep=ep)).tolist() == [skew]


def test_the_most_prompts_of_ranks_by_enumeration() -> None:
    """Of two ranks with Poisson numbers of mean 1, the most is 1.5207 on average: 2 - sum of P(least > k)."""
    chance = np.exp(-1.0) / np.cumprod([1.0, *range(1, 40)])
    below = np.cumsum(chance)
    assert busiest(np.ones(1), np.full(1, 2.0))[0] == pytest.approx((1.0 - below**2).sum(), rel=1e-12)
    assert busiest(np.array([0.3, 7.0]), np.ones(1)) == pytest.approx([0.3, 7.0], rel=1e-9)


def test_ranks_are_as_aligned_as_lengths_are_alike() -> None:
    alike, spread = setup_of(), setup_of(lengths=Lengths(np.array([1000, 1000]), np.array([1, 1999])))
    assert alike.misalignment == pytest.approx(0.15, rel=1e-12)
    assert 0.95 < spread.misalignment < 1.0
    assert setup_of(experts=ServedExperts(balanced=True)).misalignment == 0.0
    assert misalignment(0.05, balanced=False) < misalignment(0.2, balanced=False)


def test_groups_inside_of_the_tensor_parallel_one_are_not_in_step() -> None:
    assert [bool(in_step(one_plan(tp=tp, ep=ep, dp=8))[0]) for tp, ep in ((8, 8), (1, 1), (1, 8), (2, 4))] == [
        False, False, True, True,
    ]  # fmt: skip


def test_a_step_of_ranks_in_step_takes_its_parts_and_a_quarter() -> None:
    together = phases_of(setup_of(), one_plan(tp=1, ep=8, dp=8, micro_batch=64)).decode
    assert together.plain["overhead"] == pytest.approx(MARCH * 94 * 50e-6, rel=1e-12)


def test_prompts_of_other_ranks_stop_the_dense_part_alone() -> None:
    plan = one_plan(tp=1, ep=8, dp=8, micro_batch=64)
    seconds = [
        float(phases_of(setup_of(experts=ServedExperts(balanced=balanced)), plan).beside(free)[0])
        for balanced in (True, False)
    ]
    # 0.063 prompts a step: the most of eight ranks is 0.40 on average, 0.15 of which waits.
    mean = 63 / 999
    wait = 0.15 * (float(busiest(np.full(1, mean), np.full(1, 8.0))[0]) / mean - 1.0)
    assert seconds[0] < seconds[1] < seconds[0] * (1.0 + wait)


def test_outputs_of_experts_in_a_tensor_parallel_group_are_reduced() -> None:
    decode = phases_of(setup_of(), one_plan(tp=8, ep=8, micro_batch=4)).decode
    found = {one.part: float(one.operations[0]) for race in decode.races for one in race.sent}
    assert found["expert"] == 0.0
    assert found["tensor"] == 2 * 94


def test_tokens_go_to_experts_in_the_precision_of_their_products() -> None:
    # 64 rows to 8 of the experts each, 4,096 wide: 1 byte there and 2 back, of which each of two operations has half.
    decode = phases_of(setup_of(), one_plan(ep=8, dp=8, micro_batch=64)).decode
    (sent,) = (one for race in decode.races for one in race.sent if one.part == "expert")
    assert sent.size.tolist() == [64 * 8 * 4096 * 1.5]


def test_copies_of_experts_let_72_npus_share_them_and_take_memory() -> None:
    space = ServingSpace(npus=72, tp=[1], pp=[1], ep=[72], dp=None, concurrency=[64])
    assert not len(every_serving_plan(DEEPSEEK, space))
    with_copies = replace(space, redundant=32)
    assert len(every_serving_plan(DEEPSEEK, with_copies)) == 1
    (mistake,) = serving_mistakes(DEEPSEEK, 72, replace(space, redundant=1))
    assert mistake == ("ep", "found 72; it must divide the 257 experts, 1 of them copies")
    plan = one_plan(ep=72, dp=72)
    plain, more = (
        weight_bytes(setup_of(decoder=DEEPSEEK, experts=ServedExperts(redundant=copies)), plan)[0] for copies in (0, 32)
    )
    # 58 layers of 32 / 72 experts of 3 x 7,168 x 2,048 weights more.
    assert more - plain == pytest.approx(58 * 32 / 72 * 3 * 7168 * 2048, rel=1e-9)


def test_experts_have_a_precision_of_their_own() -> None:
    model, plan = decoder("gpt-oss-120b"), one_plan(tp=8)
    wide = setup_of(decoder=model, weights="bf16")
    narrow = replace(wide, expert_weights="mxfp4")
    assert narrow.expert_products == "bf16"  # an H100 has no products of it
    saved = serving_memory(wide, plan)["weights"] - serving_memory(narrow, plan)["weights"]
    # 36 layers of 128 experts of 3 matrices of 2,880 x 2,880: 2 - 0.53125 bytes of each, an eighth of them.
    assert saved[0] == pytest.approx(36 * 128 * 3 * 2880**2 / 8 * (2 - 0.53125), rel=1e-9)


def test_constants_of_narrow_weights_and_of_blocks() -> None:
    rates = [
        grouped_constants(precision, blocks=blocks, narrow=narrow).rate
        for precision, blocks, narrow in (("fp8", False, False), ("fp8", True, False), ("mxfp4", False, False),
                                          ("bf16", True, True))
    ]  # fmt: skip
    assert rates == [0.63, 0.45, 0.222, 0.61]
