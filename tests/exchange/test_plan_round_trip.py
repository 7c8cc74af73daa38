"""Plans of random models written for Megatron-LM and read back: the same model, plan and time of a step."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.exchange.formats import Chosen, Draft, trained_plan
from evo_libra.exchange.problem_text import made_of
from evo_libra.exchange.registry import read_text_as, write_as

DESIGN = "SW(8)@nvlink4:450_CL(8)@optics-400g:50"
NPUS, NPU = 64, "h100-80gb"

EXPERTS = {"count": 8, "per_token": 2, "feed_forward": 512, "shared_feed_forward": 256}
GENERATORS = st.builds(
    lambda gated, tied, kv_heads, head_width, experts: {
        "layers": 16, "hidden": 1024, "heads": 16, "kv_heads": kv_heads, "head_width": head_width, "feed_forward": 2816,
        "gated": gated, "vocabulary": 32000, "tied": tied, "sequence": 2048,
        **({"experts": EXPERTS} if experts else {}),
    },
    st.booleans(), st.booleans(), st.sampled_from([4, 8, 16]), st.sampled_from([64, 128]), st.booleans(),
)  # fmt: skip
TRAININGS = st.fixed_dictionaries({
    "sequence": st.just(2048), "global_batch": st.just(256), "micro_batch": st.sampled_from([1, 2]),
    "precision": st.sampled_from(["bf16", "fp8"]), "recompute": st.sampled_from(["none", "selective", "full"]),
    "sequence_parallel": st.booleans(), "zero": st.sampled_from([0, 1, 2, 3]),
    "gradients": st.sampled_from(["bf16", "fp32"]), "dropout": st.booleans(),
    "attention": st.sampled_from(["fused", "unfused"]),
    "overlap": st.fixed_dictionaries({"tp": st.booleans(), "dp": st.booleans()}),
})  # fmt: skip
DEGREES = st.fixed_dictionaries({
    "tp": st.sampled_from([1, 2, 8]), "cp": st.sampled_from([1, 2]), "pp": st.sampled_from([1, 2, 4]),
    "vp": st.sampled_from([1, 2, 4]), "ep": st.sampled_from([1, 2]),
})  # fmt: skip


def chosen_of(draft: Draft) -> Chosen:
    problem = load_problem(dict(made_of({"some": draft}, "some", NPUS, NPU, question="design").data))
    return Chosen(problem, problem.read(DESIGN))


def options_of(chosen: Chosen) -> dict[str, list[Any]]:
    plan = trained_plan(chosen).plan
    return {one.name: np.asarray(getattr(plan, one.name)).tolist() for one in fields(plan)}


@pytest.mark.slow
@settings(max_examples=12)
@given(GENERATORS, TRAININGS, DEGREES)
def test_a_plan_comes_back_with_its_model_and_its_time(
    generator: dict[str, Any], training: dict[str, Any], degrees: dict[str, int]
) -> None:
    assume(degrees["pp"] > 1 or degrees["vp"] == 1)
    assume("experts" in generator or degrees["ep"] == 1)
    before = chosen_of(Draft(generator, training, degrees))
    written = write_as("megatron-arguments", before)
    assert written.left == ()
    after = chosen_of(read_text_as(str(written.content), "script")[1])
    assert options_of(after) == options_of(before)
    setup, other = trained_plan(before).setup, trained_plan(after).setup
    unnamed = {"source": "", "name": ""}
    assert other.decoder.model_copy(update=unnamed) == setup.decoder.model_copy(update=unnamed)
    assert replace(other, decoder=setup.decoder) == setup
    times = [one.problem.evaluate(DESIGN).objectives[0, 0] for one in (before, after)]
    assert times[0] == times[1] > 0
