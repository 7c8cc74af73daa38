"""How plans of a table are written: with every option that differs among them, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plan_space import OpenPlans, PlanSpace, plan_table
from evo_libra.workload.serving.serving_rules import ServingSpace
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_table import ServingTable, serving_table
from evo_libra.workload.training.expansion import NO_EXPANSION, Expansion
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_table import TrainingTable

MODEL = decoder_of(
    "small",
    DecoderSpec.model_validate({
        "layers": 4, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000,
        "source": "made up",
    }),
)  # fmt: skip
NPU = accelerator("h100-80gb")
USUAL = ("tp", "cp", "dp", "pp")
SPACE = PlanSpace(2, tp=(1, 2), pp=(1,), micro_batch=(1,))


def trained(flags: dict[str, Any], *setups: Setup) -> TrainingTable:
    some = setups or (Setup(MODEL, NPU, 6, 8),)
    capacities = (80e9,) * len(some)
    return plan_table("small", OpenPlans(some, SPACE, flags, (USUAL,)), training_tokens=None, capacities=capacities)


def served(*setups: ServingSetup, **space: Any) -> ServingTable:
    found = ServingSpace(4, **{"tp": (1, 2), "pp": (1,), "ep": (1,), "dp": None, "concurrency": (1, 8),
                               "prefill": (0.0,), **space})  # fmt: skip
    some = setups or (ServingSetup(MODEL, NPU, 100, 10),)
    return serving_table("small", some, found, (USUAL,), (80e9,) * len(some))


def words(table: TrainingTable | ServingTable) -> list[set[str]]:
    """Return the words of each plan that not all plans have."""
    texts = [set(text.split()) for text in table.texts]
    return [text - set.intersection(*texts) for text in texts]


def test_sequence_parallelism_that_follows_is_not_written() -> None:
    assert not any("sp" in text.split() for text in trained({"sequence_parallel": (None,)}).texts)
    assert "sequence_parallel" not in trained({"sequence_parallel": (None,)}).options
    assert not any("sp" in text.split() for text in trained({"sequence_parallel": (False,)}).texts)
    open_ = trained({"sequence_parallel": (False, True)})
    assert [("sp" in text.split(), "nosp" in text.split()) for text in open_.texts] == [(False, True)] * 2 + [
        (True, False)
    ] * 2
    assert open_.options["sequence_parallel"].tolist() == [0, 0, 1, 1]


def test_overlap_that_differs_is_written_where_it_is_on() -> None:
    found = trained({"overlap_dp": (False, True), "overlap_tp": (True,)})
    assert ["overlap-dp" in text.split() for text in found.texts] == [False, False, True, True]
    assert not any("overlap-tp" in text for text in found.texts)


def test_precisions_are_written_where_there_are_several() -> None:
    one = Setup(MODEL, NPU, 6, 8)
    both = trained({}, one, replace(one, precision="fp8"))
    assert both.precisions == ("bf16", "fp8")
    assert [text.split()[-1] for text in both.texts] == ["bf16", "bf16", "fp8", "fp8"]
    assert both.options["precision"].tolist() == [0, 0, 1, 1]
    assert not any("bf16" in text for text in trained({}, one).texts)


@pytest.mark.parametrize(("option", "value", "text"), [
    ("recompute", 1, "selective"), ("optimizer", 1, "host"), ("order", 0, "tp-cp-dp-pp"), ("precision", 0, "bf16"),
    ("overlap_tp", 1, "on"), ("sequence_parallel", 0, "off"), ("tp", 8, "8"),
])  # fmt: skip
def test_values_of_options_of_training(option: str, value: int, text: str) -> None:
    assert trained({}).value_of(option, value) == text


def test_expansion_memory_is_written_by_what_a_plan_has() -> None:
    # Only 1 kB of an NPU's own memory may be used, so that all plans need an expansion.
    choices = (NO_EXPANSION, Expansion(64e9, 1e11))
    found = trained({}, Setup(MODEL, NPU, 6, 8, expansions=choices, usable=1e3))
    assert [text.split()[-1] == "exp64at100" for text in found.texts] == [False, False, True, True]
    assert [found.value_of("expansion", place) for place in (0, 1)] == ["none", "exp64at100"]


def test_memory_of_a_plan_is_that_of_the_table() -> None:
    for found in (trained({}), served()):
        for n in range(len(found)):
            assert sum(found.memory_of(n).values()) == pytest.approx(found.memory[n], rel=1e-12)


def test_what_is_open_of_serving_is_written() -> None:
    one = ServingSetup(MODEL, NPU, 100, 10)
    kinds = [one, replace(one, weights="fp8"), replace(one, cache="fp8")]
    found = served(*kinds)
    assert (found.weights, found.caches) == (("bf16", "fp8"), ("bf16", "fp8"))
    assert len(found) == 3 * 4
    assert [set(text.split()) & {"bf16", "fp8", "kv-bf16", "kv-fp8"} for text in found.texts[::4]] == [
        {"bf16", "kv-bf16"}, {"fp8", "kv-bf16"}, {"bf16", "kv-fp8"},
    ]  # fmt: skip
    assert [found.options[name][::4].tolist() for name in ("weights", "kv_cache")] == [[0, 1, 0], [0, 0, 1]]
    assert [found.value_of(name, 1) for name in ("weights", "kv_cache", "tp")] == ["fp8", "fp8", "1"]
    assert not {"bf16", "kv-bf16"} & set(" ".join(served().texts).split())


def test_tokens_are_those_of_answers_of_all_users() -> None:
    # 4 NPUs are 4 or 2 replicas with 1 or 8 users each, of 10 tokens.
    found = served()
    users = [4 // tp * count for tp, count in zip(found.plans.tp, found.plans.micro_batch, strict=True)]
    assert sorted(users) == [2, 4, 16, 32]
    assert found.tokens.tolist() == [10.0 * count for count in users]
    assert found.size.figures["layers"] == 4
    assert not found.pools


def test_pools_are_written_with_their_replicas() -> None:
    found = served(prefill=(0.0, 0.5))
    assert found.pools
    assert set(found.prefill.tolist()) == {0, 1, 2}
    ahead = served(prefill=(0.0, 0.5), ahead={"tp": (1, 2), "pp": (1,)})
    assert ahead.ahead is not None
    same = ahead.ahead.tp == ahead.plans.tp
    assert ahead.options["prefill_tp"].tolist() == np.where(same, 0, ahead.ahead.tp).tolist()
    assert [ahead.value_of("prefill_tp", value) for value in (0, 2)] == ["as the others", "2"]
    assert ahead.value_of("order", 0) == "order-tp-cp-dp-pp"


def test_an_expansion_of_serving_is_a_plan_where_it_is_used() -> None:
    one = ServingSetup(MODEL, NPU, 100, 10)
    with_memory = replace(one, expansion=Expansion(64e9, 1e11))
    assert len(served(one, with_memory)) == 4  # all plans fit the NPU
    less = [replace(setup, usable=1e3) for setup in (one, with_memory)]
    found = served(*less)
    assert len(found) == 8
    assert ["exp64at100" in text for text in found.texts] == [False] * 4 + [True] * 4
    assert [found.value_of("expansion", place) for place in (0, 1)] == ["none", "exp64at100"]
