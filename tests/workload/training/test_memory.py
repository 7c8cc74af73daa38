"""Memory of a training step: its equations worked by hand on small models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.losses import LOSSES
from evo_libra.workload.models.stacks import stack_of
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.plans.recomputation import FULL, SELECTIVE, recompute_of
from evo_libra.workload.training.activations import waiting_activations
from evo_libra.workload.training.memory import layers_of_stage, memory, parameters, stage_activations, weight_bytes
from evo_libra.workload.training.stage_layers import chunks_in_flight, stage_loads
from evo_libra.workload.training.training_setup import Setup


def model(**given: object) -> Decoder:
    spec = {"layers": 8, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000}
    return decoder_of("small", DecoderSpec.model_validate({**spec, "source": "made up", **given}))


SETUP = Setup(model(), accelerator("h100-80gb"), 128, 16, fused_attention=False, dropout=True)


def number(array: np.ndarray) -> float:
    return float(np.ravel(array)[0])


def test_a_layer_keeps_what_the_paper_counts() -> None:
    """Korthikanti et al. 2022, equation 1: s b h (34 + 5 a s / h) bytes, here 128 x 64 (34 + 5 x 8 x 128 / 64).

    = 8,192 x 114 = 933,888 of each of 8 layers. Equation 2 splits all but 10 of the 34 over tp, equation 4 all of it.
    """
    assert number(stage_activations(SETUP, one_plan())) == 8 * 933_888
    split = one_plan(tp=4)
    assert number(stage_activations(SETUP, split)) == 8 * 8_192 * (10 + 24 / 4 + 80 / 4)
    assert number(stage_activations(SETUP, replace(split, sequence_parallel=np.array([True])))) == 8 * 933_888 / 4


def test_recomputation_keeps_inputs_or_all_but_scores() -> None:
    """Equation 6: 34 s b h without the scores; 2 s b h with full recomputation."""
    assert number(stage_activations(SETUP, one_plan(recompute=SELECTIVE))) == 8 * 8_192 * 34
    assert number(stage_activations(SETUP, one_plan(recompute=FULL))) == 8 * 8_192 * 2


def test_the_first_stage_has_as_many_microbatches_in_flight_as_the_schedule_says() -> None:
    """1F1B has p in flight, at most all; interleaved p (1 + (p - 1) / (p v)), section 4.2.3: 4 (1 + 3/8) = 5.5."""
    plain, interleaved = one_plan(pp=4), one_plan(pp=4, vp=2)
    one = number(stage_activations(SETUP, plain))
    assert number(waiting_activations(SETUP, plain)) == 4 * one
    assert number(waiting_activations(SETUP, interleaved)) == 5.5 * one
    assert number(waiting_activations(SETUP, one_plan(pp=4, dp=8))) == 2 * one


def test_classes_of_memory() -> None:
    """8 layers of 12 h^2 = 49,152 and two tables of 64,000: 521,216 weights of 2 + 4 + 12 bytes.

    Logits take 8 bytes of each of 128 tokens and 1,000 words, the head's input and that of its norm 2 x 2 x 64 of each.
    """
    used = {kind: number(bytes_) for kind, bytes_ in memory(SETUP, one_plan()).items()}
    weights = 8 * 49_152 + 128_000
    assert (used["weights"], used["gradients"], used["states"]) == (2 * weights, 4 * weights, 12 * weights)
    assert used["logits"] == 128 * (8 * 1000 + 256)
    sharded = {kind: number(bytes_) for kind, bytes_ in memory(SETUP, one_plan(dp=4, zero=2)).items()}
    # The gradients of a layer are whole before they are scattered, but the loss has more.
    assert sharded["logits"] > 4 * 49_152
    assert (sharded["weights"], sharded["gradients"], sharded["states"]) == (2 * weights, weights, 3 * weights)


def test_weights_of_a_stage_with_experts() -> None:
    """Two of 8 layers are dense; a stage of 4 has none of them: attention 16,384 and 4 of 8 experts of 2 x 64 x 32.

    With ep 2, tp 1: 4 (16,384 + router 512) dense and 4 x 4 x 4,096 routed, of which 2 of dp 4 hold the same.
    """
    experts = {"count": 8, "per_token": 2, "feed_forward": 32, "dense_layers": 2}
    setup = replace(SETUP, decoder=model(experts=experts))
    plan = one_plan(pp=2, ep=2, dp=4)
    assert [number(count) for count in layers_of_stage(setup.decoder, plan)] == [0, 4]
    held = parameters(setup, plan, embeddings=False)
    assert (number(held.dense), number(held.experts)) == (4 * 16_896, 65_536)
    assert number(held.sharded) == pytest.approx(4 * 16_896 / 4 + 65_536 / 2)


def test_a_stage_that_is_alone_has_the_predictor_too() -> None:
    """A predictor is a layer of 49,152 weights and a projection of 2 h^2 = 8,192; the last of two stages has it."""
    setup = replace(SETUP, decoder=model(predictors=1))
    assert number(parameters(setup, one_plan(), embeddings=False).dense) == 8 * 49_152 + 49_152 + 8_192
    assert number(parameters(setup, one_plan(pp=2), embeddings=False).dense) == 4 * 49_152


def test_inputs_of_products_have_their_precision() -> None:
    """Of 128 tokens, 64 wide, a layer of 8 bits keeps less: two norms 2 x (2 + 1) x 64 = 384.

    Queries, keys, values and results 2 x 4 x 64 = 512 and a copy of results of 64, sums of exponentials 4 x 8 = 32,
    GELU (2 + 1) x 256 = 768: 1,760 bytes of a token. In 16 bits it is 512 + 512 + 32 + 1,024 = 2,080.
    """
    setup = replace(SETUP, fused_attention=True, dropout=False)
    assert number(stage_activations(setup, one_plan())) == 8 * 128 * 2_080
    assert number(stage_activations(replace(setup, precision="fp8"), one_plan())) == 8 * 128 * 1_760


def test_weights_of_8_bits_are_kept_once_for_each_layout_that_products_take() -> None:
    """Hopper's products of 8 bits take one layout, Blackwell's any; blocks of MXFP8 follow one dimension."""
    for npu, precision, bytes_ in (
        ("h100-80gb", "bf16", 2), ("h100-80gb", "fp8", 2), ("b200", "fp8", 1), ("b200", "mxfp8", 2 + 2 / 32),
        ("b200", "fp4", 1 + 2 / 16),
    ):  # fmt: skip
        setup = replace(SETUP, accelerator=accelerator(npu), precision=precision)
        assert weight_bytes(setup, one_plan()) == bytes_
        # The two tables of 64,000 stay in 16 bits.
        assert number(memory(setup, one_plan())["weights"]) == bytes_ * 8 * 49_152 + 2 * 128_000


@pytest.mark.parametrize(("loss", "bytes_"), LOSSES.items())
def test_kinds_of_loss_differ_in_the_bytes_of_a_logit(loss: str, bytes_: float) -> None:
    """1,000 words over tp 2; the head's input is whole, 2 x 64, that of its norm is split: 64 of each of 128 tokens."""
    plan = replace(one_plan(tp=2), sequence_parallel=np.array([True]))
    used = memory(replace(SETUP, loss=loss), plan)
    assert number(used["logits"]) == 128 * (bytes_ * 500 + 128 + 64)


def test_only_the_last_stage_has_the_loss_and_the_fullest_stage_counts() -> None:
    """4 stages of 2 layers: the first one has 4 microbatches of 933,888 x 2, the last one 1, but the loss.

    8 x 128 x 1,000 = 1,024,000 of the loss and 32,768 of the head's inputs are less than 3 x 1,867,776.
    """
    used = {kind: number(bytes_) for kind, bytes_ in memory(SETUP, one_plan(pp=4)).items()}
    assert (used["activations"], used["logits"]) == (4 * 2 * 933_888, 0)
    # Of 10,000 words the loss is the larger one, and the last stage waits with one microbatch.
    wide = replace(SETUP, decoder=model(vocabulary=10_000))
    used = {kind: number(bytes_) for kind, bytes_ in memory(wide, one_plan(pp=4)).items()}
    assert (used["activations"], used["logits"]) == (2 * 933_888, 128 * (8 * 10_000 + 256))


def test_llama_3_405b_waits_longest_on_its_second_stage() -> None:
    """126 layers with both ends on 8 stages of 8 parts: 2 layers a part, of which the first one has 1.

    The first stage starts with 14 + 56 passes and runs one more: 15 on its first part and 8 on each of the others make
    15 x 1 + 56 x 2 = 127 layers; the second one with 13 and 8: (13 + 56) x 2 = 138.
    """
    setup = Setup(decoder("llama-3.1-405b"), accelerator("h100-80gb"), 8192, 1152, balanced=True)
    loads = stage_loads(setup, one_plan(tp=8, pp=8, vp=8, cp=2, dp=4))
    assert loads.waiting[0][:, 0].tolist() == [127, 138, 8 * 14 + 1]
    assert loads.layers[0][:, 0].tolist() == [15, 16, 15]
    assert (loads.tables[:, 0].tolist(), loads.loss[:, 0].tolist()) == ([1, 0, 1], [0, 0, 1])


def test_zero_3_has_two_layers_and_the_tables_whole() -> None:
    """Of 521,216 weights on 4 NPUs a quarter of 4 and 12 bytes; of the tables and 2 layers 2 bytes."""
    used = {kind: number(bytes_) for kind, bytes_ in memory(SETUP, one_plan(dp=4, zero=3)).items()}
    weights = 8 * 49_152 + 128_000
    assert (used["weights"], used["gradients"], used["states"]) == (0, weights, 3 * weights)
    assert used["gathered"] == 2 * (2 * 49_152 + 128_000)
    whole = memory(SETUP, one_plan(dp=4, zero=3, reshard=False))
    assert number(whole["gathered"]) == 2 * weights
    short = memory(replace(SETUP, gradient_bytes=2), one_plan(dp=4, zero=3))
    assert (number(short["weights"]), number(short["gradients"])) == (weights / 2, weights / 2)


def test_a_layer_that_runs_again_does_not_meet_the_loss() -> None:
    """Attention keeps 5 x 64 + 2 x 4 x 64 + 5 x 128 x 8 = 5,952 bytes of each of 128 tokens, half of it in gradients.

    When its block runs backwards, a layer has 7,296 bytes and half of the block's 1,344: 7,968. The loss has 8,256.
    """
    used = {kind: number(bytes_) for kind, bytes_ in memory(SETUP, one_plan(recompute=FULL)).items()}
    assert (used["backward"], used["logits"]) == (128 * 1.5 * 5_952, 0)
    more = memory(replace(SETUP, loss="unfused"), one_plan(recompute=FULL))
    assert (number(more["backward"]), number(more["logits"])) == (0, 128 * (14 * 1000 + 256))


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 40))
def test_as_many_microbatches_wait_as_a_schedule_of_passes_leaves(stages: int, chunks: int, groups: int) -> None:
    """Passes of a stage one by one: the first ones forward, then one forward and one backward in turn."""
    microbatches = groups * stages if chunks > 1 else groups
    found = chunks_in_flight(stages, chunks, microbatches)
    for stage in range(stages):
        order = [chunk for _ in range(-(-microbatches // stages)) for chunk in range(chunks) for _ in range(stages)]
        order = order if chunks > 1 else [0] * microbatches
        warm = 2 * (stages - stage - 1) + (chunks - 1) * stages if chunks > 1 else stages - stage - 1
        started = order[: warm + 1]
        assert [started.count(chunk) for chunk in range(chunks)] == found[stage].tolist()


def named(recompute: str, **given: object) -> float:
    """Return the bytes that a token keeps in a layer of SETUP with fused attention, without dropout."""
    setup = replace(SETUP, fused_attention=True, dropout=False, decoder=model(**given))
    return number(stage_activations(setup, one_plan(recompute=recompute_of(recompute)))) / (8 * 128)


def test_named_modules_that_run_again_are_not_kept() -> None:
    """Of 2,080 bytes: the outputs of two norms are 2 x 128, that of GELU 512 and its input 512.

    Sums of exponentials stay, whatever runs again, and fused attention has no scores to leave.
    """
    assert named("none") == named("core_attn") == 2_080
    assert named("layernorm") == 2_080 - 256
    assert named("mlp_act") == 2_080 - 512
    assert named("mlp") == named("mlp+mlp_act") == 2_080 - 1_024
    assert named("layernorm+mlp_act") == 2_080 - 256 - 512
    # Experts of 32, 2 for each of 8 tokens in 8: 2 x (2 + 2) x 64 of copies, 2 x (2 + 2) x 32 of activations.
    experts = {"count": 8, "per_token": 2, "feed_forward": 32}
    kept = 2 * 128 + 2 * 4 * 64 + 256 + 32
    assert named("none", experts=experts) == kept + 512 + 256
    assert named("moe_act", experts=experts) == kept + 512 + 128
    assert named("moe", experts=experts) == kept


def test_inputs_of_activations_may_wait_in_8_bits() -> None:
    """Of 2,080 bytes the input of GELU is 512 in 16 bits, and 256 in 8; products of 16 bits keep their inputs."""
    setup = replace(SETUP, fused_attention=True, dropout=False, activation_input="fp8")
    assert number(stage_activations(setup, one_plan())) / (8 * 128) == 2_080 - 256


def test_savings_of_deepseek_v3_are_as_published() -> None:
    """Megatron-Core, 2026 (arXiv 2603.07685), section 4 and table 4, of DeepSeek-V3 on one configuration.

    Latent projections that run again save 30.4 GB of an NPU, outputs of experts that are not kept 26.3 GB: 1.156 times.
    """
    model = decoder("deepseek-v3")
    setup = Setup(model, accelerator("h100-80gb"), 4096, 16, stack=stack_of("megatron-2025", "hopper"))

    def kept(of: Setup, named: str) -> float:
        return number(stage_activations(of, one_plan(recompute=recompute_of(named)))) / 4096

    after = replace(setup, stack=replace(setup.stack, weighs_outputs=True))
    outputs = kept(after, "none") - kept(setup, "none")
    assert outputs == 58 * 8 * 7168 * 2
    assert (kept(setup, "none") - kept(setup, "mla_up_proj")) / outputs == pytest.approx(30.4 / 26.3, rel=0.05)


def test_latent_projections_that_run_again_leave_the_narrow_layers() -> None:
    """8 heads with queries and keys of 8 + 4 and values of 6: 2 x 8 x (2 x 12 + 6) = 480 bytes come back."""
    latent = {"query_rank": 24, "kv_rank": 16, "nope_width": 8, "rope_width": 4, "value_width": 6}
    assert named("none", latent=latent) - named("mla_up_proj", latent=latent) == 480


def test_operation_by_operation_every_second_product_is_kept() -> None:
    """The layer's input 128, results of attention 128, queries 128, values 128, the way up 512, and 32 of exponentials.

    torchtitan's 8B: 2 (4,096 + 4,096 + 4,096 + 1,024 + 14,336 + 4,096) bytes of a token, and 4 x 32.
    """
    assert named("selective-op") == 4 * 128 + 512 + 32
    setup = Setup(decoder("llama-3.1-8b"), accelerator("h100-80gb"), 8192, 16)
    one = number(stage_activations(setup, one_plan(recompute=recompute_of("selective-op"))))
    assert one == 32 * 8192 * (2 * 31_744 + 128)


def test_gradients_are_whole_before_they_are_scattered() -> None:
    """Of 4 stages of 2 layers the first one has 4 microbatches in flight; a layer of 49,152 has gradients of 4 bytes.

    With two virtual stages of a layer each it is the same: 2 x 49,152 / 2.
    """
    for virtual in (1, 2):
        plan = one_plan(pp=4, vp=virtual, dp=4, zero=2)
        assert number(memory(SETUP, plan)["backward"]) == 4 * 49_152
        assert number(memory(SETUP, replace(plan, zero=np.array([1])))["backward"]) == 0
    # Software that goes by 10,000 weights still needs the matrices of 64 x 256 whole.
    setup = replace(SETUP, stack=replace(SETUP.stack, at_a_time=1e4))
    assert number(memory(setup, one_plan(pp=4, dp=4, zero=2))["backward"]) == 4 * 64 * 256
    assert number(memory(setup, one_plan(pp=4, dp=4, zero=3))["gathered"]) == 2 * (64 * 256 + 64_000)
