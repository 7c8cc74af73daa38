"""Why the traces of a step take another time than its formula: plans that have each reason, and plans without it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evo_libra.astra_sim.times import step_differences
from evo_libra.collective import Collective
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.stacks import STACKS
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.training.training_setup import Setup

GATHER, SCATTER, REDUCE = Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_REDUCE
HIDES = replace(next(stack for stack in STACKS.values() if stack.hides_gather), hides_tensor=None)


def model(**given: object) -> Decoder:
    spec = {"layers": 8, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000}
    return decoder_of("small", DecoderSpec.model_validate({**spec, "source": "made up", **given}))


EXPERTS = {"count": 8, "per_token": 2, "feed_forward": 32}
SETUP = Setup(model(), accelerator("h100-80gb"), 128, 16, stack=replace(HIDES, hides_gather=False))
TWO_KINDS = replace(SETUP, decoder=model(experts={**EXPERTS, "dense_layers": 2}))


def reasons(setup: Setup = SETUP, seconds: dict[Any, float] | None = None, **plan: int | bool) -> list[str]:
    """Return the first words of each reason."""
    found = one_plan(**plan)
    degrees = {"tp": int(found.tp[0]), "cp": int(found.cp[0]), "cp+dp": int(found.cp[0] * found.dp[0])}
    return [" ".join(text.split()[:4]) for text in step_differences(setup, found, degrees, seconds or {})]


SCHEDULE, OVERLAP, BUCKETS = "The traces run the", "If products hide a", "Weights and gradients travel"


@pytest.mark.parametrize(("setup", "plan", "expected"), [
    (SETUP, {"tp": 2, "dp": 2}, []),
    (SETUP, {"pp": 2}, [SCHEDULE]),
    (SETUP, {"pp": 3}, [SCHEDULE, "Stages have 2 to"]),
    (replace(SETUP, balanced=True), {"pp": 2}, [SCHEDULE, "The last stage computes"]),
    (replace(SETUP, decoder=model(tied=True)), {"pp": 2}, [SCHEDULE, "The first and the"]),
    (replace(SETUP, decoder=model(tied=True)), {}, []),
    (TWO_KINDS, {"pp": 2}, [SCHEDULE, "The first layers have"]),
    (replace(SETUP, decoder=model(experts=EXPERTS)), {"pp": 2}, [SCHEDULE]),
    (SETUP, {"tp": 2, "overlap_tp": True}, [OVERLAP]),
    (SETUP, {"overlap_tp": True}, []),
    (SETUP, {"dp": 2, "overlap_dp": True}, [BUCKETS]),
    (SETUP, {"cp": 2, "overlap_dp": True}, [BUCKETS]),
    (SETUP, {"overlap_dp": True}, []),
    (replace(TWO_KINDS, stack=HIDES), {"tp": 2, "sequence_parallel": True}, ["Each layer hides what"]),
    (replace(TWO_KINDS, stack=HIDES), {"tp": 2}, []),
    (replace(TWO_KINDS, stack=HIDES), {"tp": 1, "sequence_parallel": True}, []),
    (TWO_KINDS, {"tp": 2, "sequence_parallel": True}, []),
    (replace(SETUP, stack=HIDES), {"tp": 2, "sequence_parallel": True}, []),
])  # fmt: skip
def test_a_plan_has_the_reasons_that_apply_to_it(setup: Setup, plan: dict[str, Any], expected: list[str]) -> None:
    assert reasons(setup, **plan) == expected


def sentence(setup: Setup, **plan: int | bool) -> str:
    found = one_plan(**plan)
    return next(iter(step_differences(setup, found, {"tp": int(found.tp[0]), "cp": 1, "cp+dp": 1}, {})))


def test_a_schedule_is_named_with_its_stages() -> None:
    assert "the schedule of 4 stages, 1F1B, microbatch by microbatch" in sentence(SETUP, pp=4)
    assert "interleaved 1F1B with 2 virtual stages" in sentence(SETUP, pp=4, vp=2)
    waits, hides = "waits for each message between stages", "hides messages between stages"
    assert waits in sentence(SETUP, pp=4, vp=2)
    assert waits in sentence(SETUP, pp=4, overlap_pp=True)
    assert hides in sentence(SETUP, pp=4, vp=2, overlap_pp=True)


def test_a_part_that_products_do_not_hide_is_named() -> None:
    assert "all but 1/8 of the bytes" in sentence(SETUP, tp=8, overlap_tp=True)


@pytest.mark.parametrize(("group", "words"), [
    ("cp", "Backward passes scatter what cp has gathered; the search counts that as gathering, which takes"),
    ("tp", "Backward passes gather again over tp; the search counts half of that as scattering, which takes"),
])  # fmt: skip
def test_collectives_of_as_many_bytes_may_take_another_time(group: str, words: str) -> None:
    # A reduce-scatter of 800 bytes among 4 is the all-gather of shards of 200. Half a ns is rounding.
    plan = one_plan(**{group: 4})
    degrees = {"tp": 1, "cp": 1, "cp+dp": 1, group: 4}

    def found(gather: float, size: int = 200, kind: Collective = SCATTER) -> list[str]:
        return list(step_differences(SETUP, plan, degrees, {(group, kind, 800): 10e-9, (group, GATHER, size): gather}))

    assert found(12e-9) == found(8e-9) == found(10.6e-9) == [f"{words} another time."]
    assert found(10.4e-9) == found(12e-9, size=201) == found(12e-9, kind=REDUCE) == []
