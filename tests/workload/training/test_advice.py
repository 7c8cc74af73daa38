"""Plans that would fit the memory where one does not: the nearest one, by small models worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.recommender import recommender
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.plans.recomputation import FULL, NONE, SELECTIVE
from evo_libra.workload.training.advice import _change, _distance, _other_plans, fitting_npus, fitting_option
from evo_libra.workload.training.memory import memory
from evo_libra.workload.training.recommender_step import RecommenderSetup, recommender_memory
from evo_libra.workload.training.training_setup import Setup

NPU = accelerator("h100-80gb")
MODEL = decoder_of(
    "small",
    DecoderSpec.model_validate({
        "layers": 4, "hidden": 1024, "heads": 8, "feed_forward": 4096, "gated": False, "vocabulary": 32000,
        "source": "made up",
    }),
)  # fmt: skip
SETUP = Setup(MODEL, NPU, 2048, 16)


def needed(plan: Plans) -> float:
    return float(sum(memory(SETUP, plan).values(), np.zeros(1))[0])


def advice(capacity: float, plan: Plans, *, setup: Setup = SETUP) -> str:
    return fitting_option(setup, plan, auto=False, capacity=capacity)


def test_the_option_that_slows_training_least_comes_first() -> None:
    # ZeRO 1 costs 1 and ZeRO 2 1.5; full recomputation would cost 5, a smaller microbatch 3 and more.
    plan = one_plan(dp=4, micro_batch=4)
    one = needed(one_plan(dp=4, micro_batch=4, zero=1))
    assert advice(one, plan) == f"zero: 1 would need {one / 1e9:.1f} GB"
    two = needed(one_plan(dp=4, micro_batch=4, zero=2))
    assert advice((one + two) / 2, plan) == f"zero: 2 would need {two / 1e9:.1f} GB"


def test_what_no_plan_fits_is_said() -> None:
    assert advice(1.0, one_plan(dp=4)) == (
        "no plan on these NPUs fits, whatever its micro_batch, zero, recompute, tp, cp, pp and ep"
    )
    assert "on these NPUs and vp 2 fits" in advice(1.0, one_plan(pp=2, vp=2, dp=2))


@pytest.mark.parametrize(("change", "count", "cost"), [
    # A larger stage of ZeRO costs 1, 1.5 and 8.5, selective and full recomputation 2 and 5. A microbatch of half the
    # size 3.5. A group of twice as many NPUs: ep 4 + 1, tp 7 + 1, pp 7.1 + 1, cp 7.2 + 1, of four times as many 1 more.
    ({}, 0, 0.0), ({"zero": 1}, 1, 1.0), ({"zero": 2}, 1, 1.5), ({"zero": 3}, 1, 8.5),
    ({"recompute": SELECTIVE}, 1, 2.0), ({"recompute": FULL}, 1, 5.0), ({"micro_batch": 2}, 1, 3.5),
    ({"micro_batch": 1}, 1, 3.75), ({"tp": 4}, 1, 8.0), ({"tp": 1}, 1, 8.0), ({"tp": 8}, 1, 9.0), ({"ep": 2}, 1, 5.0),
    ({"pp": 2}, 1, 8.1), ({"cp": 4}, 1, 9.2), ({"tp": 4, "zero": 1}, 2, 9.0),
])  # fmt: skip
def test_costs_of_changes(change: dict[str, int], count: int, cost: float) -> None:
    changes, costs = _distance(one_plan(tp=2, micro_batch=4), one_plan(**{"tp": 2, "micro_batch": 4, **change}))
    assert (changes[0], costs[0]) == (count, pytest.approx(cost))


def test_changes_are_written_as_in_a_file() -> None:
    assert _change(one_plan(tp=2, dp=4), one_plan(tp=4, dp=2, recompute=FULL)) == (
        "recompute: full with tp: 4 with dp: 2"
    )


def test_options_are_those_that_may_save_memory() -> None:
    # On 4 NPUs with a microbatch of 2, ZeRO 1 and fused attention, which keeps no scores to compute again.
    found = _other_plans(SETUP, one_plan(dp=4, micro_batch=2, zero=1), auto=False)
    assert set(found.micro_batch.tolist()) == {1, 2}
    assert set(found.zero.tolist()) == {1, 2, 3}
    assert set(found.recompute.tolist()) == {NONE, FULL}
    rows = set(zip(found.tp.tolist(), found.cp.tolist(), found.pp.tolist(), found.dp.tolist(), strict=True))
    assert all(tp * cp * pp * dp == 4 for tp, cp, pp, dp in rows)
    assert {1, 2, 4} == {row[0] for row in rows} == {row[1] for row in rows} == {row[2] for row in rows}
    assert not found.sequence_parallel.any()
    follows = _other_plans(SETUP, one_plan(dp=4), auto=True)
    assert (follows.sequence_parallel == (follows.tp > 1)).all()
    unfused = Setup(MODEL, NPU, 2048, 16, fused_attention=False)
    assert set(_other_plans(unfused, one_plan(dp=4), auto=False).recompute.tolist()) == {NONE, SELECTIVE, FULL}


def test_batches_are_of_whole_microbatches() -> None:
    # A batch of 6: dp 4 leaves no whole number of sequences, dp 2 with microbatches of 2 neither.
    setup = Setup(MODEL, NPU, 2048, 6)
    found = _other_plans(setup, one_plan(dp=2, tp=2, micro_batch=3), auto=False)
    assert set(zip(found.dp.tolist(), found.micro_batch.tolist(), strict=True)) == {
        (1, 1), (1, 2), (1, 3), (2, 1), (2, 3),
    }  # fmt: skip


def test_stages_are_as_many_as_layers_with_embedding_and_head() -> None:
    found = _other_plans(Setup(MODEL, NPU, 2048, 16), one_plan(dp=8), auto=False)
    # pp 8 exceeds 4 + 2; tp divides 8 heads.
    assert set(found.pp.tolist()) == {1, 2, 4}
    assert set(found.tp.tolist()) == {1, 2, 4, 8}


def test_a_plan_that_breaks_a_rule_is_not_advised() -> None:
    # With vp 2, a pipeline of 4 stages of one layer has no second virtual stage; ZeRO 3 is not enough.
    plan = one_plan(pp=2, vp=2, dp=2)
    fits = needed(one_plan(pp=4, vp=2, zero=3))
    assert "pp: 4" not in advice(fits, plan)


def test_a_plan_whose_groups_the_network_does_not_hold_is_not_advised() -> None:
    # Less than full recomputation and ZeRO 3 leave: a tensor parallel group of 2, then of 4, is the nearest that fits.
    plan = one_plan(dp=8, zero=3, recompute=FULL)
    fits = needed(one_plan(tp=2, dp=4, zero=3, recompute=FULL))
    assert advice(fits, plan).startswith("tp: 2 with dp: 4 would need")
    held = fitting_option(SETUP, plan, auto=False, capacity=fits, holds=lambda other: int(other.tp[0]) != 2)
    assert held.startswith("tp: 4 with dp: 2 would need")
    none = fitting_option(SETUP, plan, auto=False, capacity=fits, holds=lambda _: False)
    assert none.startswith("no plan on these NPUs fits")


def test_a_recommendation_model_gets_the_smallest_multiple_of_its_npus() -> None:
    setup = RecommenderSetup(recommender("dlrm-mlperf"), NPU, 65536)
    sizes = {npus: float(sum(recommender_memory(setup, npus).values(), np.zeros(1))[0]) for npus in (4, 8, 16)}
    assert fitting_npus(setup, 4, capacity=sizes[8]) == f"npus: 8 would need {sizes[8] / 1e9:.1f} GB"
    assert fitting_npus(setup, 4, capacity=sizes[16]) == f"npus: 16 would need {sizes[16] / 1e9:.1f} GB"
    assert fitting_npus(setup, 3, capacity=1e15) == (
        "no multiple of these NPUs that divides the global batch of 65,536 fits"
    )
