"""Options of Megatron-LM, one by one, on the smallest model."""

from __future__ import annotations

from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Draft
from evo_libra.exchange.megatron_script import READERS
from evo_libra.exchange.registry import read_text_as
from evo_libra.files.source import Source

SIZES = "--num-layers 12 --hidden-size 96 --num-attention-heads 4 --seq-length 64"


def draft(more: str = "") -> Draft:
    return read_text_as(f"{SIZES} {more}", "run.sh")[1]


@pytest.mark.parametrize("data", [[1], "num-layers", {"layers": 1}, None])
def test_what_has_no_option_is_another_format(data: Any) -> None:
    assert not READERS[0].recognise(Source("f", data, {}))
    assert READERS[0].recognise(Source("f", {"num-layers": 1}, {}))


def test_sizes_of_a_model() -> None:
    # Without a width, feed-forward blocks are four times as wide as the model (Megatron-LM, ffn_hidden_size).
    assert draft().generator == {
        "layers": 12, "hidden": 96, "heads": 4, "feed_forward": 384, "gated": False, "tied": True, "sequence": 64,
    }  # fmt: skip
    found = draft("--ffn-hidden-size 200 --group-query-attention --num-query-groups 2 --kv-channels 32 --vocab-size 99")
    assert [found.generator[name] for name in ("feed_forward", "kv_heads", "head_width", "vocabulary")] == [
        200, 2, 32, 99,
    ]  # fmt: skip
    assert draft("--untie-embeddings-and-output-weights").generator["tied"] is False


def test_gated_blocks_are_two_thirds_as_wide_in_tiles_of_64() -> None:
    # int(4 x 96 x 2 / 3 / 64) x 64 = 256; of 100 hidden, 266.7 is four tiles of 64 as well.
    assert draft("--swiglu").generator["feed_forward"] == 256
    assert draft("--swiglu --hidden-size 100").generator["feed_forward"] == 256
    assert draft("--swiglu --hidden-size 120").generator["feed_forward"] == 320


def test_experts() -> None:
    assert draft("--num-experts 8").generator["experts"] == {
        "count": 8, "per_token": 2, "feed_forward": 384, "shared_feed_forward": 0, "dense_layers": 0,
    }  # fmt: skip
    found = draft(
        "--num-experts 8 --moe-router-topk 3 --moe-ffn-hidden-size 48 --moe-shared-expert-intermediate-size 24 "
        "--moe-layer-freq ([0]*3+[1]*9)"
    )
    assert found.generator["experts"] == {
        "count": 8, "per_token": 3, "feed_forward": 48, "shared_feed_forward": 24, "dense_layers": 3,
    }  # fmt: skip
    assert "experts" not in draft("--num-experts 1").generator
    every_second = draft("--num-experts 8 --moe-layer-freq 2").generator["stack"]
    assert [rule["every"] for rule in every_second] == [2]


def test_latent_attention_has_the_widths_of_megatron_lm() -> None:
    # multi-latent-attention's defaults: kv-lora-rank 512 (before v0.13: 32), qk-head-dim 128, pos-emb 64, v 128.
    assert draft("--multi-latent-attention").generator["latent"] == {
        "kv_rank": 512, "nope_width": 128, "rope_width": 64, "value_width": 128,
    }  # fmt: skip
    assert draft("--multi-latent-attention --q-lora-rank 1536").generator["latent"]["query_rank"] == 1536


def test_degrees_of_a_plan() -> None:
    found = draft(
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 3 --context-parallel-size 4 "
        "--expert-model-parallel-size 5"
    )
    assert found.parallelism == {"tp": 2, "pp": 3, "cp": 4, "ep": 5}
    assert draft("--num-virtual-stages-per-pipeline-rank 2").parallelism == {"vp": 2}


def test_layers_of_a_virtual_stage_say_how_many_there_are() -> None:
    # 12 layers / (3 stages x 2 layers) = 2.
    plan = "--pipeline-model-parallel-size 3 --num-layers-per-virtual-pipeline-stage"
    assert draft(f"{plan} 2").parallelism == {"pp": 3, "vp": 2}
    assert draft("--num-layers-per-virtual-pipeline-stage 4").parallelism == {"vp": 3}
    with pytest.raises(InputError, match="found 5; 5 x 3 stages do not divide the 12 layers"):
        draft(f"{plan} 5")


@pytest.mark.parametrize(("more", "key", "value"), [
    ("", "zero", 0),
    ("--use-distributed-optimizer", "zero", 1),
    ("--data-parallel-sharding-strategy no_shard", "zero", 0),
    ("--data-parallel-sharding-strategy optim", "zero", 1),
    ("--data-parallel-sharding-strategy optim_grads", "zero", 2),
    ("--data-parallel-sharding-strategy optim_grads_params", "zero", 3),
    ("--use-distributed-optimizer --data-parallel-sharding-strategy no_shard", "zero", 0),
    ("", "precision", "bf16"),
    ("--fp8-format hybrid", "precision", "fp8"),
    ("--fp8-format hybrid --fp8-recipe delayed", "precision", "fp8"),
    ("--fp8-format e4m3 --fp8-recipe mxfp8", "precision", "mxfp8"),
    ("--fp4-format e2m1 --fp4-recipe nvfp4", "precision", "nvfp4"),
    ("--fp4-format e2m1", "bf16_layers", [0, 0]),
    ("--fp8-format hybrid", "bf16_layers", None),
    ("--fp8-format hybrid --first-last-layers-bf16", "bf16_layers", [1, 1]),
    ("--fp4-format e2m1 --first-last-layers-bf16 --num-layers-at-start-in-bf16 0 --num-layers-at-end-in-bf16 4",
     "bf16_layers", [0, 4]),
    ("", "gradients", "fp32"),
    ("--bf16", "gradients", "fp32"),
    ("--fp16", "gradients", "bf16"),
    ("--fp16 --bf16", "gradients", "fp32"),
    ("--fp16 --accumulate-allreduce-grads-in-fp32", "gradients", "fp32"),
    ("--bf16 --grad-reduce-in-bf16", "gradients", "bf16"),
    ("", "recompute", "none"),
    ("--recompute-activations", "recompute", "selective"),
    ("--recompute-granularity full", "recompute", "full"),
    ("--recompute-activations --recompute-granularity full", "recompute", "full"),
    ("--sequence-parallel", "sequence_parallel", True),
    ("", "sequence_parallel", False),
    ("--tp-comm-overlap", "overlap", {"tp": True, "dp": False}),
    ("--overlap-grad-reduce", "overlap", {"tp": False, "dp": True}),
    ("--no-overlap-p2p-communication", "overlap", {"tp": False, "dp": False, "pp": False}),
    ("--attention-backend flash", "attention", "fused"),
    ("--attention-backend unfused", "attention", "unfused"),
    ("--hidden-dropout 0.1", "dropout", True),
    ("--hidden-dropout 0.0", "dropout", False),
    ("--use-tp-pp-dp-mapping", "order", ["tp", "cp", "pp", "dp"]),
    ("--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split", "balanced", True),
    ("--account-for-embedding-in-pipeline-split", "balanced", None),
    ("--account-for-embedding-in-pipeline-split", "account_for", ["embedding"]),
    ("--account-for-loss-in-pipeline-split", "account_for", ["loss"]),
    ("--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split", "account_for", None),
    ("--overlap-moe-expert-parallel-comm", "overlap", {"tp": False, "dp": False, "ep": True}),
    ("--recompute-granularity selective --recompute-modules core_attn moe_act", "recompute", "core_attn+moe_act"),
    ("--recompute-granularity selective --recompute-modules layernorm", "recompute", "layernorm"),
    ("--recompute-granularity full --recompute-modules layernorm", "recompute", "full"),
    ("--recompute-granularity selective", "recompute", "selective"),
    ("--global-batch-size 48", "global_batch", 48),
    ("--micro-batch-size 3", "micro_batch", 3),
    ("", "activation_input", None),
    ("--activation-func-fp8-input-store", "activation_input", "fp8"),
])  # fmt: skip
def test_options_of_a_training(more: str, key: str, value: Any) -> None:
    assert draft(more).training.get(key) == value


def test_modules_that_nothing_here_runs_again_are_listed() -> None:
    found = draft("--recompute-granularity selective --recompute-modules layernorm shared_experts")
    assert found.training["recompute"] == "layernorm"
    assert any("read without shared_experts" in str(one) for one in found.left)


def test_npus_are_those_of_a_node_times_nodes() -> None:
    assert draft("--nproc-per-node 8 --nnodes 3").npus == 24
    assert draft("--ntasks-per-node 4 --nodes 2").npus == 8
    assert draft("--gpus-per-node 8").npus == 8
    assert draft("--nnodes 3").npus is None


def test_a_vocabulary_and_a_dispatcher_are_suggested_where_none_is_given() -> None:
    ((part, key, value, _),) = draft().suggested
    assert (part, key, value) == ("generator", "vocabulary", 51200)
    assert draft("--vocab-size 99").suggested == ()
    assert draft().assumed == ()


def test_experts_over_tensor_groups_are_listed() -> None:
    assert draft("--expert-tensor-parallel-size 1").left == ()
    assert "expert-tensor-parallel-size" in draft("--expert-tensor-parallel-size 2").left[0]
