"""Memory of a training step: its equations worked by hand on small models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plans import FULL, SELECTIVE, one_plan
from evo_libra.workload.training.memory import (
    layers_of_stage,
    memory,
    parameters,
    stage_activations,
    waiting_activations,
)
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

    Logits take 4 bytes of each of 128 tokens and 1,000 words.
    """
    used = {kind: number(bytes_) for kind, bytes_ in memory(SETUP, one_plan()).items()}
    weights = 8 * 49_152 + 128_000
    assert (used["weights"], used["gradients"], used["states"]) == (2 * weights, 4 * weights, 12 * weights)
    assert used["logits"] == 4 * 128 * 1000
    sharded = {kind: number(bytes_) for kind, bytes_ in memory(SETUP, one_plan(dp=4, zero=2)).items()}
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
