"""Tables of plans: all that divide, what is on or off in them, and in which orders their groups lie."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective, SizedByPlan
from evo_libra.errors import InputError
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans import plan_space
from evo_libra.workload.plans.plan_space import OpenPlans, PlanSpace, plan_table
from evo_libra.workload.plans.plan_table import lie_alike, order_text
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_table import TrainingTable

MODEL = decoder_of(
    "small",
    DecoderSpec.model_validate({
        "layers": 4, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000,
        "source": "made up", "experts": {"count": 4, "per_token": 2, "feed_forward": 32},
    }),
)  # fmt: skip
USUAL, PIPELINE_FIRST = ("tp", "cp", "dp", "pp"), ("pp", "tp", "cp", "dp")


def table(
    space: PlanSpace, flags: dict[str, tuple[bool | None, ...]] | None = None,
    orders: tuple[tuple[str, ...], ...] = (USUAL,), **setup: int,
) -> TrainingTable:  # fmt: skip
    found = Setup(MODEL, accelerator("h100-80gb"), setup.get("sequence", 6), 8)
    return plan_table("small", OpenPlans((found,), space, flags or {}, orders), training_tokens=1e9, capacities=(80e9,))


def plans(found: TrainingTable, *names: str) -> list[tuple[int, ...]]:
    return list(zip(*(np.asarray(getattr(found.plans, name)).tolist() for name in names), strict=True))


def test_plans_are_all_that_divide() -> None:
    # 4 NPUs; 8 heads, 4 layers and a batch of 8: what is left of tp x pp is dp, which divides the batch.
    space = PlanSpace(4, vp=(1,), micro_batch=(1,))
    assert plans(table(space), "tp", "pp", "dp") == [(1, 1, 4), (1, 2, 2), (1, 4, 1), (2, 1, 2), (2, 2, 1), (4, 1, 1)]
    assert plans(table(PlanSpace(4, vp=(1,), micro_batch=(1,), dp=(2,))), "tp", "pp") == [(1, 2), (2, 1)]
    # tp 3 divides no 8 heads, cp 4 no 6 tokens.
    assert not len(table(PlanSpace(3, tp=(3,), pp=(1,))))
    assert plans(table(PlanSpace(2, tp=(1,), pp=(1,), cp=(1, 2, 4), micro_batch=(1,))), "cp", "dp") == [(1, 2), (2, 1)]


def test_virtual_stages_and_microbatches_divide_too() -> None:
    # 2 stages of 2 layers have 1 or 2 virtual stages; 8 sequences in microbatches of 8 are one, not a multiple of 2.
    found = table(PlanSpace(2, tp=(1,), pp=(2,)))
    assert plans(found, "vp", "micro_batch") == [(1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 2), (2, 4)]


def test_experts_are_shared_out_among_the_npus_of_a_stage() -> None:
    # ep divides 4 experts and tp x dp = 2 NPUs of a stage.
    found = table(PlanSpace(4, tp=(2,), pp=(2,), vp=(1,), ep=None, micro_batch=(1,)))
    assert plans(found, "tp", "pp", "dp", "ep") == [(2, 2, 1, 1), (2, 2, 1, 2)]
    assert {name: degree.tolist() for name, degree in found.degrees.items()} == {
        "tp": [2, 2], "cp": [1, 1], "pp": [2, 2], "ep": [1, 2], "dp": [1, 1], "cp+dp": [1, 1], "edp": [2, 1],
        "cp+dp beyond": [1, 1], "edp beyond": [2, 1], "all": [4, 4],
    }  # fmt: skip


def test_sequence_parallelism_follows_the_group_or_is_said() -> None:
    space = PlanSpace(2, pp=(1,), micro_batch=(1,))
    assert plans(table(space, {"sequence_parallel": (None,)}), "tp", "sequence_parallel") == [(1, False), (2, True)]
    both = table(space, {"sequence_parallel": (False, True), "overlap_dp": (True,)})
    names = "tp", "sequence_parallel", "overlap_dp"
    assert plans(both, *names) == [(1, 0, 1), (2, 0, 1), (1, 1, 1), (2, 1, 1)]
    # tp 2 divides no 5 tokens.
    assert plans(table(space, {"sequence_parallel": (None,)}, sequence=5), "tp") == [(1,)]


def test_an_order_that_changes_nothing_is_left_out() -> None:
    # With one group of several NPUs all orders are alike; tp 2 and pp 2 lie in two ways.
    found = table(PlanSpace(4, vp=(1,), micro_batch=(1,)), orders=(USUAL, PIPELINE_FIRST))
    rows = [(*row, order) for row, order in zip(plans(found, "tp", "pp", "dp"), found.order.tolist(), strict=True)]
    assert [row for row in rows if row[-1] == 0] == [
        (1, 1, 4, 0), (1, 2, 2, 0), (1, 4, 1, 0), (2, 1, 2, 0), (2, 2, 1, 0), (4, 1, 1, 0),
    ]  # fmt: skip
    assert [row for row in rows if row[-1] == 1] == [(1, 2, 2, 1), (2, 2, 1, 1)]
    # A plan that is written in the order that is left out is the one that lies alike.
    alone, split = found.texts[5], found.texts[4]
    assert alone.endswith(order_text(USUAL))
    assert found.find(alone.replace(order_text(USUAL), order_text(PIPELINE_FIRST))) == 5
    assert found.find(split.replace(order_text(USUAL), order_text(PIPELINE_FIRST))) == 7
    assert found.find(" ".join(reversed(split.split()))) == 4
    assert found.find("tp3") == found.find(split, npu=1) == -1


@pytest.mark.parametrize(("plan", "alike"), [
    ({"tp": 2}, True), ({"pp": 2}, True), ({"tp": 2, "dp": 2}, True), ({"tp": 2, "pp": 2}, False),
    ({"cp": 2, "pp": 2}, False),
])  # fmt: skip
def test_groups_of_one_npu_lie_anywhere(plan: dict[str, int], alike: bool) -> None:  # noqa: FBT001 - a case
    assert lie_alike(one_plan(**plan), USUAL, PIPELINE_FIRST).tolist() == [alike]
    assert lie_alike(one_plan(**plan), USUAL, USUAL).tolist() == [True]


def test_ways_in_which_groups_lie() -> None:
    found = table(PlanSpace(4, tp=(2, 4), pp=(1, 2), vp=(1,), zero=(0, 1), micro_batch=(1,)), orders=(PIPELINE_FIRST,))
    degrees, orders, kind = found.placements
    assert plans(found, "tp", "zero") == [(2, 0), (2, 1), (2, 0), (2, 1), (4, 0), (4, 1)]
    # ZeRO's stages of a plan lie alike; pp 1 with dp 2 and pp 2 do not.
    assert [degrees[name][kind].tolist() for name in ("tp", "dp", "pp")] == [
        [2, 2, 2, 2, 4, 4], [2, 2, 1, 1, 1, 1], [1, 1, 2, 2, 1, 1],
    ]  # fmt: skip
    assert len(orders[0]) == 3
    assert orders[:, 0].tolist() == [3, 0, 1, 2]


def test_figures_of_a_table() -> None:
    found = table(PlanSpace(2, pp=(1,), micro_batch=(1,)))
    assert found.tokens.tolist() == [48.0]  # 8 sequences of 6 tokens
    assert found.capacity.tolist() == [80e9, 80e9]
    assert found.figures({})["plans_that_fit"] == 2
    # More than 1 GB, which buffers take, fits no plan.
    less = plan_table("small", OpenPlans(found.setups, PlanSpace(2, pp=(1,), micro_batch=(1,)), {}, (USUAL,)),
                      training_tokens=None, capacities=(1e9,))  # fmt: skip
    assert less.figures({})["plans_that_fit"] == 0


def test_the_smallest_shard_of_all_gathers() -> None:
    found = table(PlanSpace(2, pp=(1,), micro_batch=(1,)))
    load = SizedByPlan(Collective.ALL_GATHER, np.array([3.0, 1.0]), np.array([True, False]))
    other = SizedByPlan(Collective.ALL_REDUCE, np.array([1.0, 1.0]), np.array([True, True]))
    assert list(found.all_gathers([("dp", load), ("tp", other)])) == [
        (f"the group dp under the plan {found.texts[0]}", 3.0)
    ]


def test_a_table_has_as_many_plans_as_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    space, flags = PlanSpace(4, vp=(1,), micro_batch=(1,)), {"overlap_dp": (False, True)}
    monkeypatch.setattr(plan_space, "_MOST", 12)
    assert len(table(space, flags)) == 12
    monkeypatch.setattr(plan_space, "_MOST", 11)
    with pytest.raises(InputError, match="more than 11 plans are possible; list fewer options"):
        table(space, flags)
    monkeypatch.setattr(plan_space, "_MOST", 5)
    with pytest.raises(InputError, match="more than 5 plans"):
        table(space)
