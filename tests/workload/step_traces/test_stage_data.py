"""What a stage exchanges in execution traces: bytes of weights, gradients and a tied embedding, by hand."""

from __future__ import annotations

import pytest

from evo_libra.collective import Collective
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.step_traces.stage_writer import StageData, stage_data
from evo_libra.workload.training.training_setup import Setup

NPU = accelerator("h100-80gb")
LAYER, TABLE = 49_152, 64_000
"""Weights of a layer, 12 h^2 with h = 64, and of the embedding, 1,000 x 64."""


def model(**given: object) -> Decoder:
    spec = {"layers": 4, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000}
    return decoder_of("small", DecoderSpec.model_validate({**spec, "source": "made up", **given}))


def data(decoder: Decoder, stage: int, layers: range, **plan: int | bool) -> StageData:
    return stage_data(Setup(decoder, NPU, 128, 16), one_plan(dp=4, **plan), stage, layers)


def sizes(found: StageData) -> list[tuple[str, str, float]]:
    return [(one.group, one.collective.name, one.size) for one in (*found.weights, *found.gradients)]


def seconds(bytes_: float) -> float:
    return float(Setup(model(), NPU, 128, 16).kernels.moved(bytes_))


@pytest.mark.parametrize(("tied", "stage", "tables", "embedding"), [
    (False, 0, 1, 0), (False, 1, 0, 0), (False, 2, 1, 0),
    # The first and the last stage sum 4 bytes of each gradient of a table that both have.
    (True, 0, 1, 4 * TABLE), (True, 1, 0, 0), (True, 2, 1, 4 * TABLE),
])  # fmt: skip
def test_the_ends_of_a_pipeline_have_a_table(tied: bool, stage: int, tables: int, embedding: float) -> None:  # noqa: FBT001 - a case
    found = data(model(tied=tied), stage, range(1, 2), pp=3)
    assert sizes(found) == [("cp+dp", "ALL_REDUCE", 4 * (LAYER + tables * TABLE))]
    assert found.embedding == embedding


@pytest.mark.parametrize(("tied", "tables"), [(False, 2), (True, 1)])
def test_a_stage_that_is_alone_has_both_tables_or_the_one_that_is_both(tied: bool, tables: int) -> None:  # noqa: FBT001 - a case
    found = data(model(tied=tied), 0, range(4))
    assert sizes(found) == [("cp+dp", "ALL_REDUCE", 4 * (4 * LAYER + tables * TABLE))]
    assert found.embedding == 0


def test_two_stages_of_a_tied_model_both_sum() -> None:
    assert [data(model(tied=True), stage, range(1), pp=2).embedding for stage in (0, 1)] == [4 * TABLE, 4 * TABLE]


@pytest.mark.parametrize("zero", [1, 2, 3])
def test_zero_gathers_weights_of_2_bytes_and_scatters_gradients_of_4(zero: int) -> None:
    held = 2 * LAYER
    found = data(model(), 1, range(1, 3), pp=4, zero=zero, overlap_dp=True)
    assert sizes(found) == [("cp+dp", "ALL_GATHER", 2 * held), ("cp+dp", "REDUCE_SCATTER", 4 * held)]
    assert (found.gathers_each, found.scatters, found.beside) == (zero == 3, int(zero > 1), True)


def test_an_optimizer_moves_30_bytes_of_each_weight_that_an_npu_updates() -> None:
    # Adam reads a gradient of 4 bytes and states of 12 (a weight in 32 bits and two moments), and writes the states and
    # a weight of 2 bytes: 4 + 12 + 12 + 2 = 30. Where states are sharded over dp 4, it does so for a quarter.
    held = 2 * LAYER
    assert data(model(), 1, range(1, 3), pp=4).optimizer == pytest.approx(seconds(30 * held), rel=1e-12)
    assert data(model(), 1, range(1, 3), pp=4, zero=1).optimizer == pytest.approx(seconds(30 * held / 4), rel=1e-12)


def test_experts_are_summed_by_their_own_copies() -> None:
    # A layer of attention 16,384 and a router of 8 x 64, and 8 / 2 experts of 2 x 64 x 32 = 4,096.
    experts = {"count": 8, "per_token": 2, "feed_forward": 32}
    found = data(model(experts=experts), 1, range(1, 2), pp=4, ep=2)
    assert sizes(found) == [("cp+dp", "ALL_REDUCE", 4 * 16_896), ("edp", "ALL_REDUCE", 4 * 16_384)]


def test_a_stage_without_layers_hides_nothing() -> None:
    found = data(model(), 0, range(0), pp=4, overlap_dp=True)
    assert (found.beside, found.gradients[0].collective, found.gradients[0].size) == (
        False, Collective.ALL_REDUCE, 4 * TABLE,
    )  # fmt: skip


def test_layers_that_predict_further_tokens_are_those_behind_the_last() -> None:
    # A predictor is a layer and a projection of 64 x 128.
    found = data(model(predictors=1), 3, range(3, 5), pp=4)
    assert sizes(found) == [("cp+dp", "ALL_REDUCE", 4 * (2 * LAYER + TABLE + 64 * 128))]
