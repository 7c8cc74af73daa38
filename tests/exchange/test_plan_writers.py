"""Plans as arguments of Megatron-LM and as DeepSpeed's configuration, word by word, of the smallest model."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from evo_libra.exchange import deepspeed, megatron_writer
from evo_libra.exchange.formats import Written
from evo_libra.exchange.hugging_face import READERS
from evo_libra.exchange.registry import read_text_as
from evo_libra.workload.plans.placement import ORDER
from evo_libra.workload.plans.plans import HOST, NETWORK, NPU, NVME
from evo_libra.workload.plans.recomputation import FULL, NONE, SELECTIVE, recompute_of

DECODER = {
    "layers": 4, "hidden": 64, "heads": 8, "kv_heads": 8, "head_width": 8, "feed_forward": 256, "vocabulary": 99,
    "gated": False, "has_biases": True, "tied": True, "latent": None, "experts": None, "mixed": None, "predictors": 0,
}  # fmt: skip
SETUP = {
    "sequence": 32, "global_batch": 48, "ends": (0, 0), "gradient_bytes": 4.0, "precision": "bf16",
    "fused_attention": True, "dropout": False, "uneven": False, "offload": None, "expansions": (),
    "activation_input": "bf16", "wide_layers": (0, 0),
}  # fmt: skip
PLAN = {
    "tp": 2, "pp": 1, "cp": 1, "ep": 1, "dp": 4, "vp": 1, "micro_batch": 3, "zero": 0, "sequence_parallel": 0,
    "overlap_tp": 0, "overlap_dp": 0, "overlap_pp": 0, "recompute": NONE, "optimizer": NPU, "expansion": 0,
    "offloaded": 0, "reshard": 1, "schedule": 0, "overlap_ep": 0, "replicate": 1, "ulysses": 0,
}  # fmt: skip


def written(module: Any, monkeypatch: pytest.MonkeyPatch, decoder: Any = None, setup: Any = None, order: Any = ORDER,
            **plan: int) -> Written:  # fmt: skip
    """Return what a writer makes of a plan, which differs from the usual one."""
    values = PLAN | plan
    of = SimpleNamespace(
        name="w", npus=8, order=order, value=values.__getitem__,
        setup=SimpleNamespace(**SETUP | (setup or {}), decoder=SimpleNamespace(**DECODER | (decoder or {}))),
    )  # fmt: skip
    monkeypatch.setattr(module, "trained_plan", lambda _: of)
    found = module.WRITERS[0].write(SimpleNamespace(notation="SW(8)"))
    assert isinstance(found, Written)
    return found


def arguments(monkeypatch: pytest.MonkeyPatch, **given: Any) -> list[str]:
    text = str(written(megatron_writer, monkeypatch, **given).content)
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


USUAL = [
    "--num-layers 4", "--hidden-size 64", "--num-attention-heads 8", "--ffn-hidden-size 256", "--vocab-size 99",
    "--seq-length 32", "--max-position-embeddings 32", "--tensor-model-parallel-size 2",
    "--pipeline-model-parallel-size 1", "--context-parallel-size 1", "--micro-batch-size 3", "--global-batch-size 48",
    "--bf16", "--accumulate-allreduce-grads-in-fp32", "--attention-backend flash", "--attention-dropout 0.0",
    "--hidden-dropout 0.0",
]  # fmt: skip


def test_arguments_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arguments(monkeypatch) == USUAL


@pytest.mark.parametrize(("given", "more", "less"), [
    ({"decoder": {"kv_heads": 2}}, ["--group-query-attention", "--num-query-groups 2"], []),
    ({"decoder": {"head_width": 16}}, ["--kv-channels 16"], []),
    ({"decoder": {"tied": False}}, ["--untie-embeddings-and-output-weights"], []),
    ({"decoder": {"gated": True, "has_biases": False}},
     ["--swiglu", "--normalization RMSNorm", "--position-embedding-type rope", "--disable-bias-linear"], []),
    ({"zero": 1}, ["--use-distributed-optimizer"], []),
    ({"zero": 1, "overlap_dp": 1},
     ["--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather"], []),
    ({"zero": 2}, ["--use-distributed-optimizer", "--use-megatron-fsdp", "--ckpt-format fsdp_dtensor",
                   "--data-parallel-sharding-strategy optim_grads"], []),
    ({"zero": 3}, ["--use-distributed-optimizer", "--use-megatron-fsdp", "--ckpt-format fsdp_dtensor",
                   "--data-parallel-sharding-strategy optim_grads_params"], []),
    ({"sequence_parallel": 1}, ["--sequence-parallel"], []),
    ({"overlap_tp": 1}, ["--tp-comm-overlap"], []),
    ({"vp": 2, "overlap_pp": 1}, ["--num-virtual-stages-per-pipeline-rank 2"], []),
    ({"vp": 2}, ["--num-virtual-stages-per-pipeline-rank 2", "--no-overlap-p2p-communication"], []),
    ({"recompute": SELECTIVE}, ["--recompute-granularity selective"], []),
    ({"recompute": recompute_of("moe_act+core_attn+layernorm")},
     ["--recompute-granularity selective", "--recompute-modules core_attn layernorm moe_act"], []),
    ({"recompute": FULL},
     ["--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"], []),
    ({"setup": {"gradient_bytes": 2.0}}, ["--grad-reduce-in-bf16"], ["--accumulate-allreduce-grads-in-fp32"]),
    ({"setup": {"precision": "fp8"}}, ["--fp8-format hybrid"], []),
    ({"setup": {"precision": "mxfp8"}}, ["--fp8-format e4m3", "--fp8-recipe mxfp8"], []),
    ({"setup": {"precision": "nvfp4", "wide_layers": (0, 4)}},
     ["--fp4-format e2m1", "--fp4-recipe nvfp4", "--first-last-layers-bf16", "--num-layers-at-start-in-bf16 0",
      "--num-layers-at-end-in-bf16 4"], []),
    ({"setup": {"fused_attention": False}}, ["--attention-backend unfused"], ["--attention-backend flash"]),
    ({"setup": {"dropout": True}}, ["--attention-dropout 0.1", "--hidden-dropout 0.1"],
     ["--attention-dropout 0.0", "--hidden-dropout 0.0"]),
    ({"setup": {"ends": (0, 1)}}, ["--account-for-loss-in-pipeline-split"], []),
    ({"ulysses": 1}, ["--cp-comm-type a2a"], []),
    ({"overlap_ep": 1}, ["--overlap-moe-expert-parallel-comm"], []),
    ({"setup": {"ends": (1, 1)}},
     ["--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"], []),
    ({"order": ("tp", "cp", "pp", "dp")}, ["--use-tp-pp-dp-mapping"], []),
    ({"optimizer": HOST}, ["--optimizer-cpu-offload", "--optimizer-offload-fraction 1.0"], []),
])  # fmt: skip
def test_options_that_a_plan_adds(
    given: dict[str, Any], more: list[str], less: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sorted(arguments(monkeypatch, **given)) == sorted([*(word for word in USUAL if word not in less), *more])


def test_experts_and_latent_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    experts = SimpleNamespace(count=8, per_token=2, feed_forward=48, shared_feed_forward=24, dense_layers=1)
    latent = SimpleNamespace(query_rank=None, kv_rank=16, nope_width=8, rope_width=4, value_width=8)
    found = arguments(monkeypatch, decoder={"experts": experts, "latent": latent}, ep=4)
    assert sorted(set(found) - set(USUAL)) == sorted([
        "--multi-latent-attention", "--kv-lora-rank 16", "--qk-head-dim 8", "--qk-pos-emb-head-dim 4",
        "--v-head-dim 8", "--num-experts 8", "--moe-router-topk 2", "--moe-ffn-hidden-size 48",
        "--moe-shared-expert-intermediate-size 24", '--moe-layer-freq "([0]*1+[1]*3)"',
        "--expert-model-parallel-size 4", "--expert-tensor-parallel-size 1", "--moe-token-dispatcher-type alltoall",
    ])  # fmt: skip


@pytest.mark.parametrize(("given", "words"), [
    ({"order": ("dp", "tp", "pp", "cp")}, "the order dp-tp-pp-cp of the process groups"),
    ({"setup": {"uneven": True}, "pp": 3}, "stages of different lengths"),
    ({"setup": {"offload": SimpleNamespace(checkpoints=True)}}, "inputs of layers in the memory of hosts"),
    ({"optimizer": NETWORK}, "the optimizer in network"),
    ({"offloaded": 4}, "activations of layers in the memory of hosts"),
    ({"zero": 3, "reshard": 0}, "weights that stay whole"),
    ({"schedule": 1}, "the schedule zb-h1"),
    ({"replicate": 2}, "2 copies of shards"),
    ({"recompute": recompute_of("mlp_act")}, "recompute mlp_act: Megatron-LM has modules"),
    ({"setup": {"expansions": (SimpleNamespace(text="64 GB"),)}}, "expansion memory"),
])  # fmt: skip
def test_what_megatron_lm_has_no_word_for(given: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (left,) = written(megatron_writer, monkeypatch, **given).left
    assert left.startswith(words)


def config(monkeypatch: pytest.MonkeyPatch, **given: Any) -> dict[str, Any]:
    return dict(json.loads(str(written(deepspeed, monkeypatch, **given).content)))


def test_a_configuration_of_deepspeed(monkeypatch: pytest.MonkeyPatch) -> None:
    # 48 sequences on 4 replicas in micro batches of 3: 4 steps.
    assert config(monkeypatch, zero=2, overlap_dp=1) == {
        "train_batch_size": 48, "train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 4,
        "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"},
        "zero_optimization": {"stage": 2, "overlap_comm": True},
    }  # fmt: skip
    found = config(monkeypatch, setup={"gradient_bytes": 2.0, "offload": SimpleNamespace(checkpoints=True)})
    assert found["data_types"] == {"grad_accum_dtype": "bf16"}
    assert found["activation_checkpointing"] == {"cpu_checkpointing": True}
    assert config(monkeypatch, optimizer=HOST)["zero_optimization"]["offload_optimizer"] == {"device": "cpu"}
    assert config(monkeypatch, optimizer=NVME)["zero_optimization"] == {
        "stage": 0, "overlap_comm": False, "offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "nvme"},
    }  # fmt: skip


def test_what_deepspeed_leaves_to_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    def left(**given: Any) -> list[str]:
        return [sentence.partition(":")[0] for sentence in written(deepspeed, monkeypatch, **given).left]

    assert left() == ["tensor parallelism of 2"]
    assert left(tp=1, cp=2, pp=3, ep=4) == [
        "context parallelism of 2", "pipeline parallelism of 3", "expert parallelism of 4",
    ]  # fmt: skip
    assert left(tp=1, vp=2, recompute=FULL, setup={"precision": "fp8"}) == [
        "2 virtual stages of each NPU", "recompute full", "fp8 in linear layers",
    ]  # fmt: skip
    assert left(tp=1, optimizer=NVME) == ["nvme_path of both offloads"]
    assert left(tp=1, optimizer=NETWORK) == ["the optimizer in network"]


def test_a_configuration_of_hugging_face() -> None:
    found = read_text_as(READERS[0].samples[0], "config.json")[1]
    assert {name: found.generator[name] for name in ("layers", "hidden", "heads", "kv_heads", "feed_forward",
                                                     "vocabulary", "gated", "tied")} == {
        "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "feed_forward": 14336, "vocabulary": 128256,
        "gated": True, "tied": False,
    }  # fmt: skip
    # The longest context of 8192 tokens is no sequence of a training: 4096 are suggested, or a shorter context.
    assert "sequence" not in found.generator
    assert found.suggested[0][:3] == ("training", "sequence", 4096)
    short = READERS[0].samples[0].replace('"max_position_embeddings": 8192', '"max_position_embeddings": 2048')
    assert read_text_as(short, "config.json")[1].suggested[0][2] == 2048
