"""What objectives need of a problem, and the sentence that refuses one whose needs are not met."""

from __future__ import annotations

import pytest

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.problem.needs import FAULTS, NPU_PRICE, NPU_WATTS, ORDER, TCO, TOKENS, TRAINING, USERS, WATTS, refusal
from evo_libra.problem.objectives import MEASURES

ALL = {WATTS, TCO, FAULTS, TRAINING, TOKENS, USERS, NPU_WATTS, NPU_PRICE, ORDER}


def test_the_first_quantity_with_an_unmet_need_is_refused() -> None:
    asked = [("a", frozenset({TCO})), ("b", frozenset({WATTS, USERS})), ("c", frozenset({WATTS}))]
    lacks = {USERS: "is of serving", WATTS: "needs parts"}
    # The order of the needs that are lacking decides between two of one quantity.
    assert refusal(asked, lacks) == (1, "b is of serving")
    assert refusal(asked, {WATTS: "needs parts"}) == (1, "b needs parts")
    assert refusal(asked, {FAULTS: "needs faults"}) is None
    assert refusal([], lacks) is None


def test_needs_have_names() -> None:
    assert set().union(*(measure.needs for measure in MEASURES.values())) == ALL
    assert MEASURES["usd-per-Mtoken"].needs == {WATTS, TCO, TRAINING, TOKENS, NPU_WATTS, NPU_PRICE}
    assert MEASURES["usd-per-Mtoken.p95"].needs == MEASURES["usd-per-Mtoken"].needs
    assert MEASURES["memory"].needs == {TRAINING}
    assert MEASURES["time"].needs == MEASURES["cost"].needs == frozenset()


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("objectives=[time, power]", "objectives: power needs a catalogue of parts: others have no watts"),
        ("objectives=[time, tco]", "objectives: tco needs the key 'tco': years, usd_per_kWh and pue"),
        ("objectives=[time, memory]", "objectives: memory is of training steps and serving: every workload needs"),
        ("objectives=[time, ttft]", "objectives: ttft is of serving: some workload needs the key 'serving'"),
        ("objectives=[time, goodput]", "objectives: goodput needs the key 'faults': checkpoint_s and restart_s"),
        ("objectives=[time, system-cost]", "system-cost needs the price of an NPU, and the file has no key 'npu'"),
        ("constraints=[power <= 1 MW]", "'power <= 1 MW': power needs a catalogue of parts: others have no watts"),
    ],
)
def test_a_file_is_refused_that_does_not_say_what_is_needed(assignment: str, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        load_problem("gpt3-4k", [assignment])
    assert sentence in str(refused.value)
