"""Calculon's files (Isaev et al., SC 2023), key by key: what each value of a small file stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Draft
from evo_libra.exchange.registry import read_text_as

EXECUTION = {
    "num_procs": 64, "tensor_par": 4, "pipeline_par": 2, "data_par": 8, "batch_size": 128, "microbatch_size": 2,
    "datatype": "float16", "activation_recompute": "attn_only", "pipeline_interleaving": 3,
    "optimizer_sharding": True, "tensor_par_comm_type": "rs_ag", "data_par_overlap": True, "training": True,
}  # fmt: skip


def draft(data: dict[str, Any]) -> Draft:
    return read_text_as(json.dumps(data), "file.json")[1]


def training(**change: Any) -> dict[str, Any]:
    return dict(draft(EXECUTION | change).training)


def test_an_application_is_a_model_of_tied_embeddings_and_two_matrices() -> None:
    found = draft({"hidden": 64, "feedforward": 256, "seq_size": 32, "attn_heads": 4, "attn_size": 16, "num_blocks": 2})
    assert found.generator == {
        "layers": 2, "hidden": 64, "heads": 4, "head_width": 16, "feed_forward": 256, "gated": False,
        "vocabulary": 51200, "tied": True, "sequence": 32,
    }  # fmt: skip
    assert found.training == {"sequence": 32}
    assert found.left == ()


def test_an_execution_is_a_plan() -> None:
    found = draft(EXECUTION)
    assert found.parallelism == {"tp": 4, "pp": 2, "vp": 3, "dp": 8}
    assert found.npus == 64
    assert found.training == {
        "global_batch": 128, "micro_batch": 2, "precision": "bf16", "gradients": "bf16", "recompute": "selective",
        "sequence_parallel": True, "zero": 1, "attention": "unfused", "overlap": {"tp": False, "pp": False, "dp": True},
    }  # fmt: skip
    assert found.left == ()


def test_sharded_optimizer_states_are_the_first_stage_of_zero() -> None:
    # Calculon divides the optimizer's states alone by the data-parallel degree (its `optimizer_sharding`): ZeRO 1
    # (Rajbhandari et al., SC 2020, section 5.1), where gradients stay whole.
    assert training(optimizer_sharding=True)["zero"] == 1
    assert training(optimizer_sharding=False)["zero"] == 0


@pytest.mark.parametrize(("change", "key", "value"), [
    ({"activation_recompute": "full"}, "recompute", "full"),
    ({"activation_recompute": "none"}, "recompute", "none"),
    ({"datatype": "bfloat16"}, "precision", "bf16"),
    ({"datatype": "float8"}, "precision", "fp8"),
    ({"tensor_par_comm_type": "ar"}, "sequence_parallel", False),
    ({"tensor_par_comm_type": "p2p_rs_ag"}, "sequence_parallel", True),
    ({"tensor_par_overlap": "ring"}, "overlap", {"tp": True, "pp": False, "dp": True}),
    ({"tensor_par_overlap": "pipe"}, "overlap", {"tp": True, "pp": False, "dp": True}),
    ({"tensor_par_overlap": "none", "data_par_overlap": False}, "overlap", {"tp": False, "pp": False, "dp": False}),
])  # fmt: skip
def test_words_of_an_execution(change: dict[str, Any], key: str, value: Any) -> None:
    assert training(**change)[key] == value


def test_degrees_that_are_missing_are_one() -> None:
    few = {key: EXECUTION[key] for key in ("num_procs", "tensor_par", "batch_size")}
    assert draft(few).parallelism == {"tp": 4, "pp": 1, "vp": 1, "dp": 1}


def test_what_has_no_counterpart_is_listed() -> None:
    more = {"weight_offload": True, "fused_activation": True, "seq_par_ag_redo": True, "optimizer_offload": False}
    left = draft(EXECUTION | more).left
    assert [sentence.split(": ")[1] for sentence in left] == ["weight_offload", "fused_activation", "seq_par_ag_redo"]


@pytest.mark.parametrize(("change", "words"), [
    ({"training": False}, "training: found false; only training is read"),
    ({"attention_type": "multiquery"}, "attention_type: found multiquery"),
    ({"datatype": "int4"}, "datatype: found 'int4'"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        draft(EXECUTION | change)


@pytest.mark.parametrize(("tflops", "capacity", "npu"), [
    (312, 80, "a100-80gb"),
    (312 * 1.019, 80, "a100-80gb"),
    (312 * 1.021, 80, None),  # 2 % off the peak is the limit
    (312, 82.7, "a100-80gb"),
    (312, 82.9, None),  # 80e9 B are 10 % less than 82.78 x 2^30 B, which is the limit
    (312, 67.8, "a100-80gb"),
    (312, 67.6, None),  # and 10 % more than 67.73 x 2^30 B
    (312, 40, "a100-40gb"),
    (100, 80, None),
])  # fmt: skip
def test_a_system_names_the_accelerator_with_its_peak_and_capacity(
    tflops: float, capacity: float, npu: str | None
) -> None:
    system = {"matrix": {"tflops": tflops}, "mem1": {"GiB": capacity, "GBps": 2039}, "networks": [{"size": 8}]}
    assert draft(system).npu == npu


def test_a_system_without_a_peak_is_refused() -> None:
    with pytest.raises(InputError, match="are needed to know the accelerator"):
        draft({"matrix": {}, "mem1": {"GiB": 80}})
