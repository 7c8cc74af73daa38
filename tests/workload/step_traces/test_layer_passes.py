"""Passes through a layer as execution traces write them: collectives before, beside and after, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evo_libra.collective import Collective
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.stacks import STACKS
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.plans.recomputation import FULL, SELECTIVE
from evo_libra.workload.step_traces.layer_passes import LayerPass, LayerPasses, Sent, layer_passes, number, parts
from evo_libra.workload.training.layer_time import layer_time, one_layer
from evo_libra.workload.training.training_setup import Setup

MODEL = decoder_of(
    "small",
    DecoderSpec.model_validate({
        "layers": 8, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000,
        "source": "made up", "experts": {"count": 8, "per_token": 2, "feed_forward": 32, "dense_layers": 2},
    }),
)  # fmt: skip
HIDES = replace(next(stack for stack in STACKS.values() if stack.hides_gather), hides_tensor=None)
SETUP = Setup(MODEL, accelerator("h100-80gb"), 128, 16, stack=replace(HIDES, hides_gather=False))
DENSE, ROUTED = MODEL.stack.kinds
SIZE = 2 * 128 * 64
"""Bytes of the activations of 128 tokens, which each of two sublayers reduces."""

REDUCE, SCATTER, GATHER = Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER


def passes(setup: Setup = SETUP, kind: int = 0, **plan: int | bool) -> LayerPasses:
    return layer_passes(setup, one_plan(**plan), (DENSE, ROUTED)[kind])


def sizes(sent: tuple[Sent, ...], *groups: str) -> list[tuple[str, str, float]]:
    """Return what is sent in some groups; a writer of traces leaves out what a group of one NPU sends."""
    return [(one.group, one.collective.name, one.size) for one in sent if one.group in (groups or {"tp"})]


def test_each_sublayer_reduces_once_forwards_and_once_backwards() -> None:
    found = passes(tp=2)
    for run in (*found.forward, *found.backward):
        assert sizes(run.after) == [("tp", "ALL_REDUCE", SIZE)] * 2
        assert not run.hidden
    assert [run.name for run in (*found.forward, *found.backward)] == ["forward", "backward"]


def test_sequence_parallelism_scatters_and_gathers_and_gathers_again_for_weights() -> None:
    found = passes(tp=2, sequence_parallel=True)
    (forward,), (backward,) = found.forward, found.backward
    pair = [("tp", "REDUCE_SCATTER", SIZE), ("tp", "ALL_GATHER", SIZE)]
    assert sizes(forward.after) == pair * 2
    assert sizes(backward.after) == [*pair * 2, *[("tp", "ALL_GATHER", SIZE)] * 2]


def test_products_hide_all_but_a_part_for_each_npu() -> None:
    # 3/4 of each all-reduce among 4 run beside the products, 1/4 after them.
    found = passes(tp=4, overlap_tp=True)
    for run in (*found.forward, *found.backward):
        assert sizes(run.hidden) == [("tp", "ALL_REDUCE", SIZE * 0.75)] * 2
        assert sizes(run.after) == [("tp", "ALL_REDUCE", SIZE * 0.25)] * 2
    time = layer_time(SETUP, one_plan(tp=4), one_layer(DENSE))
    (forward,), (backward,) = found.forward, found.backward
    assert (forward.window, forward.compute) == (number(time.products.forward), number(time.forward))
    assert (backward.window, backward.compute) == (number(time.products.backward), number(time.backward))


def test_a_stack_may_gather_again_beside_the_gradients_of_weights() -> None:
    setup = replace(SETUP, stack=HIDES)
    (backward,) = passes(setup, tp=2, sequence_parallel=True).backward
    assert sizes(backward.hidden) == [("tp", "ALL_GATHER", SIZE)] * 2
    assert sizes(backward.after) == [("tp", "REDUCE_SCATTER", SIZE), ("tp", "ALL_GATHER", SIZE)] * 2
    weights = number(layer_time(setup, one_plan(tp=2, sequence_parallel=True), one_layer(DENSE)).products.weights)
    assert backward.window == weights
    (other,) = passes(setup, tp=2, sequence_parallel=True, overlap_tp=True).backward
    assert sizes(other.hidden)[-1] == ("tp", "ALL_GATHER", SIZE / 2)
    assert not passes(setup, tp=2).backward[0].hidden


def test_keys_and_values_are_gathered_before_a_pass_and_scattered_after_the_backward_one() -> None:
    # Of all 128 tokens, keys and values of 64 in 2 bytes; a pass of an NPU has 64 tokens.
    found = passes(cp=2)
    (forward,), (backward,) = found.forward, found.backward
    whole = 128 * 2 * 64 * 2
    assert sizes(forward.before, "cp") == sizes(backward.before, "cp") == [("cp", "ALL_GATHER", whole)]
    assert sizes(forward.after, "tp", "cp") == [("tp", "ALL_REDUCE", SIZE / 2)] * 2
    assert sizes(backward.after, "tp", "cp") == [*[("tp", "ALL_REDUCE", SIZE / 2)] * 2, ("cp", "REDUCE_SCATTER", whole)]


def test_tokens_go_to_their_experts_and_back() -> None:
    # Two copies of each token; the routed block reduces nothing itself.
    found = passes(kind=1, tp=2, ep=4, dp=2)
    for run in (*found.forward, *found.backward):
        assert sizes(run.after, "tp", "ep") == [("tp", "ALL_REDUCE", SIZE), *[("ep", "ALL_TO_ALL", SIZE / 2 * 2)] * 2]


@pytest.mark.parametrize("fused", [True, False])
def test_what_is_computed_again(fused: bool) -> None:  # noqa: FBT001 - a case
    setup = replace(SETUP, fused_attention=fused)
    full = passes(setup, tp=2, recompute=FULL)
    assert [run.name for run in full.backward] == ["recomputed", "backward"]
    assert full.backward[0] == replace(full.forward[0], name="recomputed")
    # Scores are computed again where attention is not fused; that communicates nothing.
    some = passes(setup, tp=2, recompute=SELECTIVE)
    assert [run.name for run in some.backward] == (["backward"] if fused else ["recomputed", "backward"])
    if not fused:
        core = number(layer_time(setup, one_plan(tp=2, recompute=SELECTIVE), one_layer(DENSE)).recomputed)
        assert some.backward[0] == LayerPass("recomputed", core, 0.0, (), (), ())


def test_parts_of_collectives() -> None:
    one = Sent("tp", REDUCE, 8.0)
    assert parts((one,), 0.25) == (Sent("tp", REDUCE, 2.0),)
    assert parts((one,), 0.0) == ()
