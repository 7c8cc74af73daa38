"""Which layers stages have: all of them once, in the order in which microbatches pass them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.training.memory import layers_of_stage
from evo_libra.workload.training.stage_layers import layers_of_stages
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
