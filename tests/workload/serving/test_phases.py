"""Phases of serving a small model by hand: what its layers send, how often, and the seconds beyond bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.serving.experts import MARCH
from evo_libra.workload.serving.phases import phases_of, stage_of
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.stacks import LAYER
from evo_libra.workload.training.races import StepTime

NPU = accelerator("h100-80gb")
FAR = {"ep": 4, "dp": 4}


def model(**experts: int) -> Decoder:
    """Return a model of 8 layers, the first two of which are dense."""
    spec = {
        "layers": 8, "hidden": 1024, "heads": 8, "kv_heads": 4, "feed_forward": 3072, "gated": True,
        "vocabulary": 32000, "source": "made up",
        "experts": {"count": 16, "per_token": 2, "feed_forward": 512, "dense_layers": 2, **experts},
    }  # fmt: skip
    return decoder_of("small", DecoderSpec.model_validate(spec))


def setup_of(**experts: int) -> ServingSetup:
    return ServingSetup(model(**experts), NPU, 1000, 100)


def number(array: Any) -> float:
    return float(np.ravel(array)[0])


def sent(step: StepTime) -> dict[str, tuple[float, float]]:
    """Return the bytes and the number of operations of each part."""
    found = {one.part: (number(one.size), number(one.operations)) for race in step.races for one in race.sent}
    return {part: figures for part, figures in found.items() if figures[1]}


def test_steps_of_experts_that_a_group_shares_out() -> None:
    # 8 users in 2 stages are 4 rows at a time; the longest stage has 4 layers with experts, and both count as it.
    # A row of 1,024 activations of 2 bytes: all-reduces of 8,192 bytes behind 8 attentions; to experts and back go 2
    # copies of each row of a tp group of 2, half of them from each NPU: 8,192 bytes 2 x 8 times. Each stage sends half
    # a row to the next.
    plan = one_plan(tp=2, pp=2, micro_batch=8, **FAR)
    decode = phases_of(setup_of(), plan).decode
    assert sent(decode) == {
        "tensor": (8192, 8 * MARCH), "expert": (8192, 16 * MARCH), "pipeline": (4096, 2 * MARCH),
    }  # fmt: skip
    # The software takes its time for 8 layers, and nothing for collectives: links take that. Ranks march in step.
    assert number(decode.plain["overhead"]) == pytest.approx(MARCH * 8 * LAYER, rel=1e-12)


@pytest.mark.parametrize(("experts", "plan", "reduced"), [
    ({}, {"ep": 1, "dp": 4}, 16),  # each NPU has a part of every expert: their outputs are summed, too
    ({"shared_feed_forward": 512}, FAR, 16),  # so are those of shared experts
    ({}, FAR, 8),
])  # fmt: skip
def test_outputs_are_summed_where_a_tensor_parallel_group_has_parts_of_them(
    experts: dict[str, int], plan: dict[str, int], reduced: int
) -> None:
    decode = phases_of(setup_of(**experts), one_plan(tp=2, pp=2, micro_batch=8, **plan)).decode
    assert sent(decode)["tensor"] == (8192, reduced * (MARCH if plan["ep"] > 1 else 1))


def test_a_prompt_passes_all_layers_and_keeps_the_longest_stage() -> None:
    # 1,000 rows of 2,048 bytes. All of it: 8 attentions and 2 dense blocks reduce, 6 blocks have experts, and it goes
    # from the first stage to the second; the longest stage has 4 layers of attention and experts.
    found = phases_of(setup_of(), one_plan(tp=2, pp=2, micro_batch=8, **FAR))
    size = 2_048_000
    assert sent(found.prefill) == {"tensor": (size, 10), "expert": (size, 12), "pipeline": (size / 2, 1)}
    assert sent(found.slot) == {"tensor": (size, 4), "expert": (size, 8), "pipeline": (size / 2, 1)}


def test_a_single_stage_sends_nothing_to_another() -> None:
    found = phases_of(setup_of(), one_plan(tp=2, micro_batch=8, **FAR))
    assert all("pipeline" not in sent(step) for step in (found.prefill, found.slot, found.decode))


@pytest.mark.parametrize(("users", "rows", "attentions", "heads"), [(3, 1, 8, 4), (4, 1, 8, 4), (5, 2, 8, 4)])
def test_a_pipeline_with_users_for_all_stages_waits_for_the_longest(
    users: int, rows: int, attentions: int, heads: int
) -> None:
    # Of 4 stages with 2 layers each. 5 users make rows 2, 2, 1 and 0: 2 x 3 = 6 of them fill no fourth stage; with 3
    # users the fourth has none, either. There all layers follow each other, with one head.
    full = users == 4
    setup, plan = setup_of(), one_plan(pp=4, micro_batch=users, **FAR)
    decode = phases_of(setup, plan).decode
    one = number(phases_of(setup, one_plan(micro_batch=rows, **FAR)).decode.plain["head"])
    assert number(decode.plain["head"]) == pytest.approx((heads if full else 1) * one, rel=1e-12)
    assert sent(decode)["expert"] == (rows * 2048 * 2, 2 * (attentions if full else 6) * MARCH)
    assert sent(decode)["pipeline"] == (rows * 2048, 4 * MARCH)


def test_a_stage_of_a_pipeline_has_its_own_layers() -> None:
    # 8 layers in 3 stages: 3, 3 and 2. The first has the two dense layers, the last one the head, and a prompt ends
    # there; a step of decoding goes on to the first stage.
    setup, plan = setup_of(), one_plan(tp=2, pp=3, micro_batch=3, **FAR)
    first, middle, last = (stage_of(setup, plan, stage) for stage in range(3))
    assert [sent(step[0]).get("tensor", (0, 0))[1] for step in (first, middle, last)] == [3 + 2, 3, 2]
    assert [sent(step[1])["expert"][1] for step in (first, middle, last)] == [2 * MARCH, 6 * MARCH, 4 * MARCH]
    assert [sent(step[0]).get("pipeline", (0, 0))[1] for step in (first, middle, last)] == [1, 1, 0]
    assert [sent(step[1])["pipeline"][1] for step in (first, middle, last)] == [MARCH] * 3
    assert [number(step[0].plain["head"]) > 0 for step in (first, middle, last)] == [False, False, True]
    alone: Plans = one_plan(tp=2, micro_batch=1, **FAR)
    assert "pipeline" not in sent(stage_of(setup, alone, 0)[1])


def test_the_cache_of_a_prompt_is_what_an_npu_of_a_stage_holds() -> None:
    # 1,000 tokens in 4 layers with 2 of 4 heads, keys and values of 128 in 2 bytes: 1,000 x 4 x 2 x 2 x 128 x 2.
    (race,) = phases_of(setup_of(), one_plan(tp=2, pp=2, **FAR)).transfer.races
    (one,) = race.sent
    assert (one.group, number(one.size), number(one.operations)) == ("dp", 4_096_000, 1)
