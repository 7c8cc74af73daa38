"""Layers that stay in bf16 where others are in fewer bits: shares of stages worked by hand, times between both ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.training.memory import memory, weight_bytes
from evo_libra.workload.training.stage import stage_of
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.wide_layers import wide_share


def model(layers: int = 40) -> Decoder:
    spec = {"layers": layers, "hidden": 4096, "heads": 32, "feed_forward": 16384, "gated": True, "vocabulary": 1000}
    return decoder_of("small", DecoderSpec.model_validate({**spec, "source": "made up"}))


SETUP = Setup(model(), accelerator("gb200"), 4096, 64, precision="nvfp4", bf16_layers=(0, 0))


def share(plan: Plans, start: int, end: int, layers: int = 40) -> float:
    setup = replace(SETUP, decoder=model(layers), bf16_layers=(start, end))
    return float(wide_share(setup, plan)[0])


def test_the_stage_with_most_of_them_counts() -> None:
    """40 layers: of one stage 8 are a fifth; of 4 stages of 10 the last has all 8, or 10 and its neighbour more."""
    assert share(one_plan(), 2, 6) == 0.2
    assert share(one_plan(pp=4), 0, 8) == 0.8
    assert share(one_plan(pp=4), 0, 13) == 1.0
    assert share(one_plan(pp=4), 2, 6) == 0.6
    assert share(one_plan(pp=4), 7, 6) == 0.7


def test_virtual_stages_share_them_out() -> None:
    """4 stages of 5 chunks of 2: the last 8 layers are a chunk of each, 9 are a layer more of the last stage."""
    assert share(one_plan(pp=4, vp=5), 0, 8) == 0.2
    assert share(one_plan(pp=4, vp=5), 0, 9) == pytest.approx(0.3)
    assert share(one_plan(pp=4, vp=5), 0, 1) == pytest.approx(0.1)
    # Layers of both ends meet in no stage unless they fill all between them.
    assert share(one_plan(pp=4, vp=5), 8, 8) == pytest.approx(0.4)


@given(st.integers(1, 8), st.integers(1, 5), st.integers(0, 20), st.integers(0, 20))
def test_the_share_is_that_of_layers_counted_one_by_one(pp: int, vp: int, start: int, end: int) -> None:
    layers, size = 40 * pp * vp, 40
    stages = [0] * pp
    for layer in [*range(start), *range(layers - end, layers)]:
        stages[layer // size % pp] += 1
    assert share(one_plan(pp=pp, vp=vp), start, end, layers) == pytest.approx(max(stages) * pp / layers)


def test_the_last_15_percent_are_the_default_of_nvfp4_alone() -> None:
    assert replace(SETUP, bf16_layers=None).wide_layers == (0, 6)
    assert replace(SETUP, bf16_layers=None, precision="mxfp8").wide_layers == (0, 0)
    assert replace(SETUP, precision="bf16", bf16_layers=(3, 3)).wide_layers == (0, 0)


def test_times_and_memory_are_a_mean_of_both_precisions_by_layers() -> None:
    plan = one_plan()

    def of(setup: Setup) -> tuple[float, float, float]:
        stage, used = stage_of(setup, plan), memory(setup, plan)
        return float(stage.forward.products[0]), float(used["activations"][0]), float(used["weights"][0])

    none, all_wide = of(SETUP), of(replace(SETUP, bf16_layers=(0, 40)))
    mixed = of(replace(SETUP, bf16_layers=(4, 6)))
    np.testing.assert_allclose(mixed, [0.75 * a + 0.25 * b for a, b in zip(none, all_wide, strict=True)])
    assert all(a < b for a, b in zip(none, all_wide, strict=True))


def test_a_weight_of_nvfp4_has_4_bits_and_a_scale_for_16_once_for_each_layout() -> None:
    """0.5 + 1/16 bytes, twice; 2 bytes of those that stay in bf16."""
    assert weight_bytes(SETUP, one_plan()) == 2 * 0.5625
    assert weight_bytes(replace(SETUP, bf16_layers=(0, 10)), one_plan()) == pytest.approx(0.75 * 1.125 + 0.25 * 2)
