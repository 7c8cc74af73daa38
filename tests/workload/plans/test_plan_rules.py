"""What plans must divide, by the smallest plan that does not: the option and what would be allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plan_rules import longest_stage, plan_mistakes, virtual_stages
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.training.training_setup import Setup


def model(**given: object) -> Decoder:
    spec = {"layers": 12, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000}
    return decoder_of("small", DecoderSpec.model_validate({**spec, "source": "made up", **given}))


SETUP = Setup(model(), accelerator("h100-80gb"), 96, 24)
BALANCED, UNEVEN = replace(SETUP, balanced=True), replace(SETUP, uneven=True)
ROUTED = replace(SETUP, decoder=model(experts={"count": 6, "per_token": 2, "feed_forward": 32}))


def mistakes(setup: Setup, **plan: int | bool) -> list[tuple[str, str]]:
    return list(plan_mistakes(setup, one_plan(**plan)))


@pytest.mark.parametrize(("setup", "plan"), [
    (SETUP, {"tp": 8, "cp": 3, "pp": 12, "dp": 2, "micro_batch": 12}), (SETUP, {"pp": 4, "vp": 3, "micro_batch": 6}),
    (BALANCED, {"pp": 14}), (UNEVEN, {"pp": 5}), (ROUTED, {"tp": 1, "dp": 3, "ep": 3}), (ROUTED, {"tp": 2, "ep": 2}),
    (SETUP, {"tp": 8, "cp": 4, "sequence_parallel": True}), (SETUP, {"pp": 2, "vp": 6, "dp": 12}),
])  # fmt: skip
def test_plans_that_divide(setup: Setup, plan: dict[str, int]) -> None:
    assert mistakes(setup, **plan) == []


@pytest.mark.parametrize(("setup", "plan", "key", "text"), [
    (SETUP, {"tp": 3}, "tp", "found 3; it must divide the 8 heads: 1, 2, 4, 8; `uneven_heads: true` splits heads"),
    (SETUP, {"cp": 5}, "cp", "found 5; it must divide the sequence of 96 tokens; 4 and 6 do"),
    (SETUP, {"tp": 8, "cp": 8, "sequence_parallel": True}, "sequence",
     "found 96; sequence parallelism needs a multiple of tp 8 x cp 8 = 64; `sequence_parallel: false` does without"),
    (SETUP, {"vp": 2}, "vp", "found 2; virtual stages need a pipeline: pp of 2 or more"),
    (SETUP, {"pp": 13}, "pp", "found 13; the 12 layers make 12 stages at most"),
    (BALANCED, {"pp": 15}, "pp", "found 15; the 14 layers, embedding and head counted, make 14 stages at most"),
    (SETUP, {"pp": 5}, "pp",
     "found 5; it must divide the 12 layers: 1, 2, 3, 4, 6, 12; `uneven: true` allows a shorter stage"),
    (SETUP, {"pp": 7}, "pp",
     ("found 7; it must divide the 12 layers: 1, 2, 3, 4, 6, 12; `uneven: true` allows a shorter stage, and "
      "`balanced: true` counts embedding and head, 14 in all")),
    (BALANCED, {"pp": 4}, "pp",
     ("found 4; it must divide the 14 layers, embedding and head counted: 1, 2, 7, 14; `uneven: true` allows a shorter "
      "stage")),
    (SETUP, {"pp": 2, "vp": 4}, "vp", "found 4; it must divide the 6 layers of a stage: 1, 2, 3, 6"),
    (BALANCED, {"pp": 2, "vp": 5}, "vp",
     "found 5; it must divide the 7 layers of a stage, or the 6 of one with embedding or head: 1, 2, 3, 6, 7"),
    (replace(UNEVEN, global_batch=5), {"pp": 5, "vp": 2}, "vp",
     "found 2; it must divide the 3 layers of the longest stage: 1, 3"),
    (SETUP, {"ep": 2, "dp": 2}, "ep", "found 2; small has no experts, so only 1 is allowed"),
    (ROUTED, {"ep": 4, "dp": 4}, "ep", "found 4; it must divide the 6 experts: 1, 2"),
    (ROUTED, {"ep": 3, "dp": 4}, "ep", "found 3; it must divide tp x cp x dp = 4 and the experts: 1, 2"),
    (SETUP, {"dp": 4, "micro_batch": 4}, "global_batch",
     "found 24 sequences; dp 4 x micro_batch 4 cannot share them evenly. Nearest: 3 NPUs, or a batch of 32"),
    (replace(SETUP, global_batch=16384), {"dp": 8190}, "global_batch",
     ("found 16,384 sequences; dp 8,190 x micro_batch 1 cannot share them evenly. Nearest: 8,192 NPUs, or a batch of "
      "16,380")),
    (replace(SETUP, global_batch=6), {"dp": 4, "micro_batch": 4}, "global_batch",
     "found 6 sequences; dp 4 x micro_batch 4 cannot share them evenly. Nearest: a batch of 16"),
    (SETUP, {"pp": 4, "vp": 3, "micro_batch": 4}, "vp",
     ("found 3; an interleaved pipeline needs a multiple of pp 4 as microbatches, and there are 6; vp 1 does without, "
      "and a global_batch of a multiple of dp 1 x micro_batch 4 x pp 4 has them")),
])  # fmt: skip
def test_plans_that_do_not_divide(setup: Setup, plan: dict[str, int], key: str, text: str) -> None:
    assert mistakes(setup, **plan) == [(key, text)]


def test_layers_of_the_longest_stage() -> None:
    assert [longest_stage(SETUP, stages) for stages in (1, 4, 5, 12)] == [12, 3, 3, 1]
    # Embedding and head take the place of a layer each.
    assert [longest_stage(BALANCED, stages) for stages in (1, 2, 4, 14)] == [14, 7, 4, 1]


def test_virtual_stages_divide_the_layers_of_a_stage() -> None:
    assert [virtual_stages(SETUP, stages) for stages in (1, 2, 3)] == [[1], [1, 2, 3, 6], [1, 2, 4]]
    # Of 7 layers, and of 6 beside an embedding or a head; of one layer nothing is left.
    assert virtual_stages(BALANCED, 2) == [1, 2, 3, 6, 7]
    assert virtual_stages(BALANCED, 14) == [1]
