"""Degrees that files leave unsaid: those that the model can use are the search's to choose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange import samples
from evo_libra.exchange.problem_text import made_of
from evo_libra.exchange.registry import PACKAGED, read_text_as
from evo_libra.front.front import Front
from evo_libra.problem.file.registry import load_problem
from evo_libra.searching.generations import search

NAMED = {reader.name: reader for reader in PACKAGED}
DEEPSEEK = NAMED["hugging-face"].samples[2]
SIZES = "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --vocab-size 32000 --micro-batch-size 1"
ROUTED = f"{SIZES} --seq-length 2048 --num-experts 8 --moe-router-topk 2 --moe-token-dispatcher-type alltoall"
NEMO = """model:
  {num_layers: 8, hidden_size: 512, ffn_hidden_size: 2048, num_attention_heads: 8, encoder_seq_length: 2048,
   num_moe_experts: 8, moe_router_topk: 2, moe_token_dispatcher_type: alltoall, micro_batch_size: 1}
"""


def made(*texts: str, npus: int | None = 64) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parallelism of the problem that files make, and what is assumed."""
    found = made_of(
        {str(at): read_text_as(text, str(at))[1] for at, text in enumerate(texts)}, "own", npus, question="design"
    )
    return found.data["workloads"][0].get("parallelism", {}), found.assumed


def fastest(data: dict[str, Any]) -> tuple[float, str]:
    """Return seconds and notation of the fastest design that a search finds."""
    front = search(load_problem(data), engine="nsga2", evaluations=20_000, seed=0)
    assert isinstance(front, Front)
    first = front.frame.sort("time_ms").row(0, named=True)
    return first["time_ms"] / 1e3, first["design"]


@pytest.mark.slow
def test_the_best_plan_of_deepseek_v3_shares_out_its_experts() -> None:
    data = dict(
        made_of({"config.json": read_text_as(DEEPSEEK, "config.json")[1]}, "deepseek", 2048, question="design").data
    )
    assert data["workloads"][0]["parallelism"] == {"tp": "any", "pp": "any", "ep": "any"}
    whole = {**data, "workloads": [{**data["workloads"][0], "parallelism": {"tp": "any", "pp": "any"}}]}
    # Without expert parallelism an NPU gathers all 256 experts of a layer, 22.6 GB, and those of the next one.
    with pytest.raises(InputError, match=r"none of the 16 plans fits .*gathered 45.7"):
        fastest(whole)
    seconds, design = fastest(data)
    assert seconds == pytest.approx(3.91, abs=0.01)
    assert "ep256" in design


@pytest.mark.parametrize("text", [ROUTED, NEMO, NAMED["hugging-face"].samples[1], NAMED["hugging-face"].samples[3]])
def test_every_format_with_experts_leaves_ep_open(text: str) -> None:
    parallelism, assumed = made(text)
    assert parallelism["ep"] == "any"
    assert any(sentence.startswith("that the search chooses") for sentence in assumed)


def test_a_plan_of_another_file_leaves_ep_open_and_says_so() -> None:
    parallelism, assumed = made(NAMED["hugging-face"].samples[1], NAMED["deepspeed"].samples[0], npus=None)
    assert parallelism == {"dp": 64, "ep": "any"}
    assert "that the search chooses ep, which no file states" in assumed


@pytest.mark.parametrize(("text", "stated"), [
    (f"{ROUTED} --expert-model-parallel-size 4", {"ep": 4}),
    (f"{ROUTED} --expert-model-parallel-size 1", {"ep": 1}),
    (f"{ROUTED} --tensor-model-parallel-size 2 --expert-model-parallel-size 8", {"tp": 2, "ep": 8}),
    (NEMO.replace("micro_batch_size", "expert_model_parallel_size: 1, micro_batch_size"), {"ep": 1}),
    (f"{SIZES} --seq-length 32768 --context-parallel-size 1", {"cp": 1}),
])  # fmt: skip
def test_what_a_file_states_stays(text: str, stated: dict[str, int]) -> None:
    parallelism, assumed = made(text)
    assert parallelism == stated
    assert not any("the search chooses" in sentence for sentence in assumed)


@pytest.mark.parametrize(("sequence", "expected"), [(8192, {}), (8193, {"cp": "any"}), (131072, {"cp": "any"})])
def test_long_sequences_leave_cp_open(sequence: int, expected: dict[str, str]) -> None:
    assert made(f"{SIZES} --seq-length {sequence}")[0] == expected


@pytest.mark.slow
def test_long_sequences_are_faster_with_a_context_parallel_group() -> None:
    """One sequence of 131,072 tokens on 64 NPUs: without cp, tp alone shares it out."""
    model = json.loads(NAMED["hugging-face"].samples[0]) | {"max_position_embeddings": 131072}
    plan = json.dumps({"train_micro_batch_size_per_gpu": 1, "train_batch_size": 4, "zero_optimization": {"stage": 3}})
    data = dict(
        made_of(
            {"m": read_text_as(json.dumps(model), "m")[1], "p": read_text_as(plan, "p")[1]}, "x", 64, question="design"
        ).data
    )
    (workload,) = data["workloads"]
    long = {**workload, "training": {**workload["training"], "sequence": 131072, "tp_domain": "any"}}
    plans = {name: {**data, "workloads": [{**long, "parallelism": plan}]} for name, plan in (
        ("tp", {"tp": "any"}), ("cp", {"tp": "any", "cp": "any"}),
    )}  # fmt: skip
    assert fastest(plans["cp"])[0] < 0.9 * fastest(plans["tp"])[0]


def test_dense_models_of_short_sequences_are_as_they_were() -> None:
    assert made(samples.MEGATRON_LLAMA3)[0].keys().isdisjoint({"ep"})
    assert made(NAMED["hugging-face"].samples[0])[0] == {"tp": "any", "pp": "any"}
