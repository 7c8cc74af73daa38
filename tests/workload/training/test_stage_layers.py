"""Which layers stages have: all of them once, in the order in which microbatches pass them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plans import DUALPIPE, one_plan
from evo_libra.workload.training.memory import layers_of_stage
from evo_libra.workload.training.stage_layers import (
    layers_of_stages,
    share_of_fill,
    shorter_last_stage,
    stage_loads,
)
from evo_libra.workload.training.training_setup import Setup

LLAMA = Setup(decoder("llama-3.1-405b"), accelerator("h100-80gb"), 8192, 2048, balanced=True)


def counts(setup: Setup, stages: int, chunks: int) -> list[list[int]]:
    return [[len(layers) for layers in stage] for stage in layers_of_stages(setup, stages, chunks)]


@given(st.integers(1, 20), st.integers(1, 4), st.integers(1, 100), st.sampled_from([{}, {"balanced": False}]))
def test_microbatches_pass_all_layers_and_no_stage_has_more_than_the_longest(
    stages: int, chunks: int, layers: int, unbalanced: dict[str, bool]
) -> None:
    layers = max(layers, stages)
    setup = replace(LLAMA, decoder=LLAMA.decoder.model_copy(update={"layers": layers}), **unbalanced)
    found = layers_of_stages(setup, stages, chunks)
    on_the_way = [layer for chunk in range(chunks) for stage in found for layer in stage[chunk]]
    assert on_the_way == list(range(layers))
    longest = float(sum(layers_of_stage(setup.decoder, one_plan(pp=stages)))[0])
    assert max(sum(map(len, stage)) for stage in found) == longest


def test_stages_of_llama_3() -> None:
    assert counts(LLAMA, 16, 1) == [[7], *[[8]] * 14, [7]]
    # The first part of the first stage is the embedding alone, the last part of the last one the head.
    assert counts(LLAMA, 16, 8) == [[0, *[1] * 7], *[[1] * 8] * 14, [*[1] * 7, 0]]


def test_of_stages_that_are_not_equal_the_first_ones_are_longer() -> None:
    uneven = replace(LLAMA, balanced=False, uneven=True)
    assert counts(uneven, 4, 1) == [[32], [32], [31], [31]]


def test_loss_or_embedding_takes_the_place_of_a_layer() -> None:
    # Megatron-LM's account_for_loss_in_pipeline_split: 15 layers and the loss make 4 stages of 4, 3 in the last
    # one; with two virtual stages 2 layers each, and 1 in the last one.
    model = decoder("llama-3.1-8b").model_copy(update={"layers": 15})
    for counted, sizes in (("loss", [4, 4, 4, 3]), ("embedding", [3, 4, 4, 4])):
        setup = Setup(model, accelerator("h100-80gb"), 8192, 64, account_for=(counted,))
        assert [len(stage[0]) for stage in layers_of_stages(setup, 4, 1)] == sizes
        chunks = layers_of_stages(setup, 4, 2)
        assert [sum(map(len, stage)) for stage in chunks] == sizes
        assert setup.ends == ((0, 1) if counted == "loss" else (1, 0))
        assert shorter_last_stage(setup, one_plan(pp=4)).tolist() == [0.0]


def test_the_last_of_uneven_stages_has_room_for_the_head() -> None:
    # 61 layers on 16 stages: 13 of 4 and 3 of 3. All but the longest take 57 / (4 x 15) = 0.95 of 15 times the longest.
    setup = Setup(decoder("deepseek-v3"), accelerator("h100-80gb"), 4096, 64, uneven=True)
    assert shorter_last_stage(setup, one_plan(pp=16)).tolist() == [1.0]
    assert share_of_fill(setup, one_plan(pp=16)).tolist() == [0.95]
    assert share_of_fill(setup, one_plan(pp=1)).tolist() == [1.0]


def test_each_rank_of_dualpipe_has_two_stages() -> None:
    # Rank r has stages r and 3 - r of 2 layers each, and 4 - r and r + 1 microbatches wait on them: 10 layers in all.
    setup = Setup(decoder("llama-3.1-8b").model_copy(update={"layers": 8}), accelerator("h100-80gb"), 8192, 64)
    loads = stage_loads(setup, one_plan(pp=4, dp=1, schedule=DUALPIPE))
    assert [loads.layers[0].tolist(), loads.waiting[0].tolist()] == [[[4.0]], [[10.0]]]
    assert [loads.tables.tolist(), loads.loss.tolist()] == [[[2.0]], [[1.0]]]


def test_virtual_stages_beyond_the_layers_are_empty() -> None:
    # 3 stages of 32 virtual stages are 96, and 61 layers, the embedding and the head are 63: the others are empty.
    ends = ("embedding", "loss")
    setup = Setup(decoder("deepseek-v3"), accelerator("h100-80gb"), 4096, 960, uneven=True, account_for=ends)
    found = stage_loads(setup, one_plan(pp=3, vp=32))
    assert max(float(sum(stage)) for stage in zip(*(kind[:, 0] for kind in found.layers), strict=True)) <= 32.0
