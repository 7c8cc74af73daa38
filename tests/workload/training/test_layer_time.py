"""Time of a layer in training and in decoding: its terms worked by hand, with the kernels' own times."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.workload.models.decoder import decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.serving.decoding import part_step
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.layer_time import layer_time, one_layer, part_traffic, reduced_bytes, share_of
from evo_libra.workload.training.stage import stage_of
from evo_libra.workload.training.stage_layers import predictor_parts
from evo_libra.workload.training.step_time import head_time
from evo_libra.workload.training.training_setup import Setup

SPEC = DecoderSpec.model_validate(
    {
        "layers": 8, "hidden": 1024, "heads": 8, "kv_heads": 4, "feed_forward": 3072, "gated": True,
        "vocabulary": 32000, "source": "made up", "predictors": 1,
        "experts": {"count": 16, "per_token": 2, "feed_forward": 512, "dense_layers": 2},
    }
)  # fmt: skip
MODEL = decoder_of("small", SPEC)
NPU = accelerator("h100-80gb")
BUS = BusConstants(efficiency=1.0, half_message_MB=0.001)
SETUP = Setup(MODEL, NPU, 2048, 64, bus=BUS, wire_rate=1e9)
DENSE, ROUTED = MODEL.stack.kinds


def number(array: np.ndarray) -> float:
    return float(np.ravel(array)[0])


def test_terms_of_a_dense_layer() -> None:
    """2 x 2,048 tokens over tp 2: products (1,024, 1,024), (1,024, 512), (3,072, 1,024), (1,024, 1,536).

    Attention of 4 heads with 2 x 128 x 2,048 FLOP a token, SwiGLU with 6 x 1,536 bytes, and 22 x 1,024 bytes of two
    norms and two residual additions.
    """
    kernels, tokens = SETUP.kernels, 4096.0
    sizes = ((1024, 1024), (1024, 512), (3072, 1024), (1024, 1536))
    products = sum(number(kernels.product(tokens, n, k, "bf16").forward) for n, k in sizes)
    attention = number(kernels.fused_attention(tokens * 4 * 256 * 2048, 2048)[0])
    elements = number(kernels.moved(tokens * (22 * 1024 + 6 * 1536)))
    found = layer_time(SETUP, one_plan(tp=2, micro_batch=2), one_layer(DENSE))
    assert number(found.forward) == pytest.approx(products + attention + elements, rel=1e-12)
    assert number(found.products.forward) == pytest.approx(products, rel=1e-12)
    assert number(found.recomputed) == 0
    again = layer_time(SETUP, one_plan(tp=2, micro_batch=2, recompute=FULL), one_layer(DENSE))
    assert number(again.recomputed) == number(again.forward)


def test_terms_of_experts() -> None:
    """2,048 tokens with ep 4: a router of (16, 1,024) in 16 bits, 4 experts to which 2 x 4 / 16 of the tokens come."""
    kernels = SETUP.kernels
    router = number(kernels.product(2048.0, 16, 1024, "bf16").forward)
    experts = sum(number(kernels.product(1024.0, n, k, "bf16").forward) for n, k in ((1024, 1024), (1024, 512)))
    found = layer_time(SETUP, one_plan(ep=4, dp=4), one_layer(ROUTED[1:]))
    assert number(found.products.forward) == pytest.approx(router + 4 * experts, rel=1e-12)


def test_traffic_of_parts() -> None:
    """4,096 tokens over cp 2: all-reduces of 2 x 2,048 x 1,024 bytes, keys and values of 2 x 4,096 x 256 x 4 bytes.

    Experts get 2 copies of each token of 1,024 x 2 bytes, from a group of tp 2 one half each. A collective counts with
    1,000 bytes more.
    """
    plan = one_plan(tp=2, cp=2, micro_batch=2)
    assert number(reduced_bytes(SETUP, plan)) == 2 * 2048 * 1024 + 1000
    attention, experts = (part_traffic(SETUP, plan, part) for part in ROUTED)
    assert number(attention.context) == 2 * 4096 * 256 * 2 + 1000  # 2 of 4 heads
    assert number(experts.expert) == 2 * 1024 * 2048 / 2 * 2
    assert (attention.reduces, experts.reduces, experts.per_token) == (True, False, 2)
    assert number(experts.context) == 0


def test_the_longest_stage_has_the_predictor_too() -> None:
    """Of 4 stages with 2 layers each, the last has a predictor: an all-reduce of 3 attentions and of its projection."""
    stage = stage_of(SETUP, one_plan(pp=4, tp=2))
    assert number(stage.layers) == 2
    assert number(stage.forward.reduced) == 2 * 1 + 2
    # One predictor, not two: its time is what a model without it lacks.
    bare = decoder_of("bare", SPEC.model_copy(update={"predictors": 0}))
    without = Setup(bare, NPU, 2048, 64, bus=BUS, wire_rate=1e9)
    plan = one_plan(pp=4, tp=2)
    one = layer_time(SETUP, plan, predictor_parts(MODEL, np.ones(1)))
    assert number(stage.forward.compute - stage_of(without, plan).forward.compute) == pytest.approx(number(one.forward))


def test_time_of_the_head_and_the_loss() -> None:
    """A product of (16,000, 1,024) with its gradients and 20 bytes of each logit, twice: the predictor has a loss."""
    kernels = SETUP.kernels
    product = kernels.product(2048.0, 16000, 1024, "bf16")
    expected = number(product.forward + product.backward) + number(kernels.moved(20.0 * 2048 * 16000))
    assert number(head_time(SETUP, one_plan(tp=2))) == pytest.approx(2 * expected, rel=1e-12)


def test_a_token_in_decoding_reads_weights_and_cache() -> None:
    """8 users: matrices of 2 bytes a weight, and a cache of 4 x 2 x 128 x 2 bytes for each of 1,050 tokens."""
    setup, plan = ServingSetup(MODEL, NPU, 1000, 100), one_plan(micro_batch=8)
    constants = NPU.decode_constants()
    bandwidth = NPU.memory_bandwidth * constants.bandwidth
    attention = part_step(setup, plan, DENSE[0])
    weights = [2 * 2048 * 1024, 2 * 1024 * 1024]
    assert number(attention.products) == pytest.approx(sum(bytes_ / bandwidth + constants.fixed for bytes_ in weights))
    assert number(attention.cache) == pytest.approx(8 * 1050 * 2048 / bandwidth + constants.fixed)
    assert number(part_step(setup, plan, DENSE[1]).cache) == 0


def test_attention_that_is_not_fused_computes_the_scores_of_all_pairs() -> None:
    """4,096 tokens by 2,048 by 4 heads: 2 products of 2 x 128 FLOP of each score, causal or not."""
    (core,) = DENSE[0].cores(share_of(one_plan(tp=2)), 2048)
    scores = 4096.0 * 2048 * 4
    expected = SETUP.kernels.unfused_attention(scores * 512, scores)
    found = core.seconds(SETUP.kernels, np.array([4096.0]), fused=False)
    assert [number(one) for one in found] == [number(one) for one in expected]
