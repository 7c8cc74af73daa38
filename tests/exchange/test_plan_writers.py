"""Plans written for training programs and read back: the same plan, and the same time of a step."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.exchange.problem_text import made_of
from evo_libra.exchange.reader import Draft
from evo_libra.exchange.registry import read_text_as
from evo_libra.exchange.writer import Exported, exported
from evo_libra.exchange.writer_registry import writer_named

DESIGN = "SW(8)@nvlink4:450_CL(8)@optics-400g:50"
NPUS = 64

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
    "sequence_parallel": st.booleans(), "zero": st.sampled_from([0, 1]),
    "overlap": st.fixed_dictionaries({"tp": st.booleans(), "dp": st.booleans()}),
})  # fmt: skip
DEGREES = st.fixed_dictionaries({
    "tp": st.sampled_from([1, 2, 8]), "cp": st.sampled_from([1, 2]), "pp": st.sampled_from([1, 2, 4]),
    "vp": st.sampled_from([1, 2, 4]), "ep": st.sampled_from([1, 2]),
})  # fmt: skip


def design_of(generator: dict[str, Any], training: dict[str, Any], degrees: dict[str, int]) -> Exported:
    parallelism = {name: degree for name, degree in degrees.items() if degree > 1}
    made = made_of({"some": Draft(generator, training, parallelism, NPUS, "h100-80gb")}, "some")
    return exported(load_problem(dict(made.data)), DESIGN)


def read_back(text: str, *others: Draft) -> Exported:
    drafts = {"script": read_text_as(text, "script")[1], **{str(place): one for place, one in enumerate(others)}}
    return exported(load_problem(dict(made_of(drafts, "some", npu="h100-80gb").data)), DESIGN)


def plan_of(design: Exported) -> dict[str, list[Any]]:
    _, plan = design.plan
    return {one.name: np.asarray(getattr(plan, one.name)).tolist() for one in fields(plan)}


@settings(max_examples=12)
@given(GENERATORS, TRAININGS, DEGREES)
def test_a_plan_that_megatron_can_say_comes_back_with_its_time(
    generator: dict[str, Any], training: dict[str, Any], degrees: dict[str, int]
) -> None:
    assume(degrees["pp"] > 1 or degrees["vp"] == 1)
    assume("experts" in generator or degrees["ep"] == 1)
    before = design_of(generator, training, degrees)
    text = writer_named("megatron-arguments").write(before).content
    assert isinstance(text, str)
    after = read_back(text)
    assert plan_of(after) == plan_of(before)
    (setup, _), (other, _) = before.plan, after.plan
    assert replace(other.decoder, source="", name="") == replace(setup.decoder, source="", name="")
    assert replace(other, decoder=setup.decoder) == setup
    assert after.problem.npus == NPUS
    times = [one.problem.evaluate(DESIGN).objectives[0, 0] for one in (before, after)]
    assert times[0] == times[1] > 0


@settings(max_examples=8)
@given(TRAININGS, st.sampled_from([0, 1, 2, 3]))
def test_a_plan_that_deepspeed_can_say_comes_back_with_its_time(training: dict[str, Any], zero: int) -> None:
    generator = {
        "layers": 16, "hidden": 1024, "heads": 16, "feed_forward": 2816, "gated": True, "vocabulary": 32000,
    }  # fmt: skip
    plain = {**training, "zero": zero, "precision": "bf16", "recompute": "none", "sequence_parallel": False}
    before = design_of(generator, {**plain, "overlap": {"dp": training["overlap"]["dp"]}}, {})
    written = writer_named("deepspeed-json").write(before)
    assert written.unsaid == ("the model some and its sequences of 2048 tokens, which the program has",)
    after = read_back(str(written.content), Draft(generator, {"sequence": 2048, "sequence_parallel": False}))
    assert plan_of(after) == plan_of(before)
    assert after.problem.npus == NPUS
    assert after.problem.evaluate(DESIGN).objectives[0, 0] == before.problem.evaluate(DESIGN).objectives[0, 0]


def test_what_a_format_cannot_say_is_said() -> None:
    problem = load_problem("opt-175b-offload")
    found = {
        design.step.plan.split("opt-")[1]: design for design in (exported(problem, one) for one in sampled(problem))
    }
    megatron, deepspeed = (writer_named(name) for name in ("megatron-arguments", "deepspeed-json"))
    device = {"device": "nvme", "nvme_path": "/local_nvme", "pin_memory": True}
    sharding = json.loads(deepspeed.write(found["nvme"]).content)["zero_optimization"]
    assert (sharding["offload_optimizer"], sharding["offload_param"], sharding["stage"]) == (device, device, 3)
    assert any("where the SSDs are" in sentence for sentence in deepspeed.write(found["nvme"]).unsaid)
    for writer in (megatron, deepspeed):
        assert any(
            "servers of the network" in one or "at network" in one for one in writer.write(found["network"]).unsaid
        )
    written = megatron.write(found["network"])
    comments = [line for line in str(written.content).split("\n") if line.startswith("# Not said")]
    assert comments == [f"# Not said: {sentence}." for sentence in written.unsaid]
    assert "--data-parallel-sharding-strategy optim_grads_params" in str(written.content)


def sampled(problem: Any, count: int = 60) -> list[Any]:
    population = problem.decode(problem.genome.sample(np.random.default_rng(5), count))
    return [population.select([place]) for place in range(len(population))]


def test_one_of_several_models_is_chosen_by_its_name() -> None:
    problem = load_problem("llama3-405b-16k")
    with pytest.raises(InputError, match=r"unknown workload with a plan 'llama'; allowed: llama-3\.1-405b"):
        writer_named("megatron-arguments").write(replace(exported(problem, sampled(problem, 1)[0]), workload="llama"))
    dense = load_problem("dense-4k")
    with pytest.raises(InputError, match="'dense-4k' trains no language model under a plan"):
        writer_named("deepspeed-json").write(exported(dense, sampled(dense, 1)[0]))
