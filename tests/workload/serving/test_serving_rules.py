"""Plans of serving on 8 NPUs: all that divide, and what the smallest one that does not is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_rules import ServingSpace, every_serving_plan, serving_mistakes, serving_text


def model(**given: object) -> Decoder:
    spec = {"layers": 4, "hidden": 64, "heads": 4, "feed_forward": 256, "gated": False, "vocabulary": 1000}
    return decoder_of("small", DecoderSpec.model_validate({**spec, "source": "made up", **given}))


DENSE = model()
ROUTED = model(experts={"count": 4, "per_token": 2, "feed_forward": 32})


def space(npus: int = 8, **given: Any) -> ServingSpace:
    usual = {"tp": (1,), "pp": (1,), "ep": (1,), "dp": None, "concurrency": (1,)}
    return ServingSpace(npus, **{**usual, **given})


def plans(decoder: Decoder, some: ServingSpace) -> list[tuple[int, ...]]:
    """Return tp, pp, ep, dp and replicas for prompts alone of every plan."""
    found = every_serving_plan(decoder, some)
    columns = (found.plans.tp, found.plans.pp, found.plans.ep, found.plans.dp, found.prefill)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_degrees_that_are_open_are_all_that_divide() -> None:
    # tp divides 4 heads, pp 4 layers, and both 8 NPUs; what is left are replicas.
    assert plans(DENSE, space(tp=None)) == [(1, 1, 1, 8, 0), (2, 1, 1, 4, 0), (4, 1, 1, 2, 0)]
    assert plans(DENSE, space(pp=None)) == [(1, 1, 1, 8, 0), (1, 2, 1, 4, 0), (1, 4, 1, 2, 0)]
    assert plans(DENSE, space(npus=6, tp=None, pp=None)) == [(1, 1, 1, 6, 0), (1, 2, 1, 3, 0), (2, 1, 1, 3, 0)]
    assert plans(DENSE, space(tp=None, dp=(2, 8))) == [(1, 1, 1, 8, 0), (4, 1, 1, 2, 0)]


def test_each_number_of_requests_is_a_plan() -> None:
    assert every_serving_plan(DENSE, space(concurrency=(1, 4, 16))).plans.micro_batch.tolist() == [1, 4, 16]


def test_experts_are_split_over_the_replicas_of_a_stage() -> None:
    assert plans(ROUTED, space(tp=(2,), ep=None)) == [(2, 1, ep, 4, 0) for ep in (1, 2, 4)]
    assert plans(ROUTED, space(npus=6, ep=None)) == [(1, 1, 1, 6, 0), (1, 1, 2, 6, 0)]
    assert plans(DENSE, space(ep=None)) == [(1, 1, 1, 8, 0)]


def test_pools_are_of_whole_replicas() -> None:
    # A quarter of 8, 4 and 2 replicas; half a replica is none.
    assert plans(DENSE, space(tp=None, prefill=(0.25,))) == [(1, 1, 1, 8, 2), (2, 1, 1, 4, 1)]
    # Each pool shares out the experts: 6 and 2 replicas divide by 2.
    assert plans(ROUTED, space(ep=None, prefill=(0.25,))) == [(1, 1, 1, 8, 2), (1, 1, 2, 8, 2)]
    assert plans(DENSE, space(npus=3, prefill=(0.3333,))) == [(1, 1, 1, 3, 1)]


def test_pools_with_degrees_of_their_own() -> None:
    found = every_serving_plan(DENSE, space(tp=(1, 2), prefill=(0.0, 0.5), ahead={"tp": (1, 4)}))
    assert found.ahead is not None
    columns = found.plans.tp, found.ahead.tp, found.plans.dp, found.ahead.dp, found.prefill, found.answering
    # Without a pool both are alike; half of 8 NPUs are 4 replicas of one or 1 of four.
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (1, 1, 8, 8, 0, 8), (1, 1, 8, 8, 4, 4), (1, 4, 8, 2, 1, 4),
        (2, 2, 4, 4, 0, 4), (2, 1, 4, 8, 4, 2), (2, 4, 4, 2, 1, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(("decoder", "given", "key", "text"), [
    (DENSE, {"tp": (3,)}, "tp", "found 3; it must divide the 4 heads: 1, 2, 4"),
    (DENSE, {"pp": (5,)}, "pp", "found 5; the 4 layers make 4 stages at most"),
    (DENSE, {"tp": (4,), "pp": (3,)}, "pp", "tp 4 x pp 3 does not divide the 8 NPUs"),
    (DENSE, {"ep": (2,)}, "ep", "found 2; small has no experts, so only 1 is allowed"),
    (ROUTED, {"ep": (3,)}, "ep", "found 3; it must divide the 4 experts"),
    (ROUTED, {"tp": (2,), "ep": (4,), "npus": 6}, "ep", "found 4; it must divide tp 2 x dp 3"),
    (ROUTED, {"ep": (4,), "prefill": (0.25,)}, "ep",
     "found 4; it must divide tp 1 x the replicas of each pool, 6 and 2"),
    (DENSE, {"tp": (4,), "prefill": (0.25,)}, "prefill",
     "found 0.25; that is 0.5 of 2 replicas, and they are whole"),
    (DENSE, {"tp": (2,), "dp": (3, 5)}, "dp", "found 3, 5; tp 2 x pp 1 leave 4"),
    (DENSE, {"prefill": (0.5,), "ahead": {"tp": (3,)}}, "prefill_parallelism.tp",
     "found 3; it must divide the 4 heads: 1, 2, 4"),
    (DENSE, {"pp": (2,), "npus": 12, "prefill": (0.5,), "ahead": {"pp": (3,)}}, "prefill_parallelism.pp",
     "found 3 next to 2; one must be a multiple of the other"),
    (DENSE, {"tp": (4,), "npus": 8, "prefill": (0.5,), "ahead": {"tp": (1,), "pp": (4,)}}, "prefill_parallelism",
     "tp 4 x pp 4, the larger ones, do not divide the 8 NPUs"),
    (DENSE, {"prefill": (0.25,), "ahead": {"tp": (4,)}}, "prefill",
     "found 0.25; a pool has 2 NPUs of a stage, no multiple of its tp 4"),
    (ROUTED, {"prefill": (0.5,), "ahead": {"ep": (3,)}}, "prefill_parallelism.ep",
     "found 3; it must divide the 4 experts"),
    (ROUTED, {"prefill": (0.25,), "ahead": {"ep": (4,)}}, "prefill_parallelism.ep",
     "found 4; it must divide tp 1 x dp 2"),
])  # fmt: skip
def test_what_does_not_divide_is_said(decoder: Decoder, given: dict[str, Any], key: str, text: str) -> None:
    some = space(**given)
    assert serving_mistakes(decoder, some.npus, some) == [(key, text)]
    assert plans(decoder, some) == []


def test_what_divides_has_no_mistake() -> None:
    some = space(tp=(2,), dp=(4,))
    assert serving_mistakes(DENSE, 8, some) == []
    # Without a share for prompts alone their degrees do not matter.
    assert serving_mistakes(DENSE, 8, space(ahead={"tp": (3,)})) == []


@pytest.mark.parametrize(("own", "prefill", "ahead", "text"), [
    ({"dp": 8, "micro_batch": 2}, 0, None, "dp8 c2"),
    ({"tp": 2, "pp": 4, "ep": 2, "dp": 1}, 0, None, "tp2 pp4 ep2 dp1 c1"),
    ({"tp": 2, "dp": 4}, 1, None, "tp2 dp4 c1 prefill1"),
    # 2 of 8 NPUs are one replica of two beside 6 of one: 7 in all.
    ({"dp": 8}, 1, {"tp": 2, "dp": 4}, "dp7 c1 prefill1 prefill-tp2"),
    ({"tp": 2, "dp": 4}, 1, {"tp": 2, "dp": 4}, "tp2 dp4 c1 prefill1"),
])  # fmt: skip
def test_plans_are_written(own: dict[str, int], prefill: int, ahead: dict[str, int] | None, text: str) -> None:
    other = None if ahead is None else one_plan(**ahead)
    assert serving_text(ServingPlans(one_plan(**own), np.array([prefill]), other), 0) == text
