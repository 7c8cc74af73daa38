"""Context parallel groups that exchange heads: models and plans that can, the sentences of others, and their text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.decoder import load_decoders as decoders
from evo_libra.workload.plans.head_exchange import beyond_domain, exchange_allowed, exchange_mistakes, shared_heads
from evo_libra.workload.plans.plan_rules import plan_text
from evo_libra.workload.plans.plan_space import OpenPlans, PlanSpace, plan_table
from evo_libra.workload.plans.plans import context_inside, one_plan
from evo_libra.workload.training.memory import memory
from evo_libra.workload.training.training_setup import Setup

ORDER = ("tp", "cp", "dp", "pp")


def setup_of(name: str, **given: int) -> Setup:
    return replace(Setup(decoders()[name], accelerator("h100-80gb"), 8192, 16), **given)


def why(setup: Setup, **plan: int | bool) -> list[tuple[str, str]]:
    return list(exchange_mistakes(setup, one_plan(**plan)))


@pytest.mark.parametrize(
    ("name", "heads"),
    # 64 heads of queries and 8 of keys and values; 128 that latent attention makes; an index of the whole sequence.
    [("llama-3.1-70b", 8), ("gpt-3-175b", 96), ("deepseek-v3", 128), ("deepseek-v3.2", 0)],
)
def test_heads_of_a_model(name: str, heads: int) -> None:
    assert shared_heads(decoders()[name]) == heads


def test_a_recurrent_layer_has_no_heads_to_exchange() -> None:
    found = {name: shared_heads(model) for name, model in decoders().items() if model.mixed is not None}
    assert 0 in found.values()


def test_tensor_times_context_parallelism_divides_the_heads_of_keys() -> None:
    model: Decoder = decoders()["llama-3.1-70b"]
    allowed = [
        (tp, cp)
        for tp in (1, 2, 4, 8)
        for cp in (1, 2, 4, 8, 16)
        if exchange_allowed(one_plan(tp=tp, cp=cp, ulysses=True), model)[0]
    ]
    assert allowed == [
        *((1, cp) for cp in (1, 2, 4, 8)), *((2, cp) for cp in (1, 2, 4)), (4, 1), (4, 2), (8, 1),
    ]  # fmt: skip
    assert exchange_allowed(one_plan(cp=16), model)[0]
    assert not context_inside(one_plan(ulysses=True))[0]


TOO_FEW = (
    "found 4; with `ulysses: true` tp 4 x cp 4 = 16 must divide the 8 heads of keys and values of llama-3.1-70b: "
    "1, 2, 4, 8"
)
TOO_SMALL = (
    "found 4; no scale-up domain, of 4 NPUs at most, holds the context parallel group, which exchanges heads; "
    "`ulysses: false` lets the group leave it"
)


def test_sentences_name_the_heads_the_domain_and_the_layer() -> None:
    llama = setup_of("llama-3.1-70b", domain=8)
    assert why(llama, tp=2, cp=4, ulysses=True) == []
    assert why(llama, tp=4, cp=4, ulysses=True) == [("cp", TOO_FEW)]
    assert why(replace(llama, domain=4), tp=2, cp=4, ulysses=True) == [("cp", TOO_SMALL)]
    ((key, sentence),) = why(setup_of("deepseek-v3.2"), cp=2, ulysses=True)
    assert key == "ulysses"
    assert sentence == (
        "found true; sparse-latent-attention of deepseek-v3.2 has no heads to exchange; leave this key out"
    )


def test_a_domain_holds_both_groups_or_that_which_must_stay() -> None:
    llama = setup_of("llama-3.1-70b", domain=4)
    assert beyond_domain(llama, one_plan(tp=2, cp=4, ulysses=True))[0]
    assert not beyond_domain(llama, one_plan(tp=2, cp=4))[0]
    anywhere = replace(llama, tensor_anywhere=True)
    assert not beyond_domain(anywhere, one_plan(tp=2, cp=4, ulysses=True))[0]
    assert beyond_domain(anywhere, one_plan(tp=2, cp=4, ulysses=True, overlap_tp=True))[0]
    assert not beyond_domain(replace(llama, domain=None), one_plan(cp=8, ulysses=True))[0]


def test_a_table_has_each_plan_once_and_heads_where_they_divide() -> None:
    space = PlanSpace(8, tp=(1,), cp=(1, 4, 8), pp=(1,), micro_batch=(1,))
    flags = {"ulysses": (False, True)}
    found = plan_table(
        "llama", OpenPlans((setup_of("llama-3.1-8b", domain=4),), space, flags, (ORDER,)), training_tokens=None,
        capacities=(1e15,),
    )  # fmt: skip
    texts = [found.text(n) for n in range(len(found))]
    assert texts == [
        "dp8 mb1 zero0", "cp4 dp2 mb1 zero0", "cp8 dp1 mb1 zero0", "cp4 ulysses dp2 mb1 zero0",
    ]  # fmt: skip
    assert found.value_of("ulysses", 1) == "on"
    assert found.kept_inside["cp"].tolist() == [False, False, False, True]


def test_the_notation_says_so_where_there_is_a_group() -> None:
    assert plan_text(one_plan(tp=2, cp=4, dp=2, ulysses=True)) == "tp2 cp4 ulysses dp2 mb1 zero0"
    assert plan_text(one_plan(dp=2, ulysses=True)) == "dp2 mb1 zero0"


def test_as_much_waits_for_the_backward_pass_as_where_keys_are_gathered() -> None:
    """S/4 tokens of all heads are as many elements as S tokens of a fourth of the heads."""
    setup = setup_of("llama-3.1-70b")
    one, other = (memory(setup, one_plan(tp=2, cp=4, dp=2, ulysses=heads)) for heads in (False, True))
    assert {name: float(bytes_[0]) for name, bytes_ in one.items()} == {
        name: float(bytes_[0]) for name, bytes_ in other.items()
    }
