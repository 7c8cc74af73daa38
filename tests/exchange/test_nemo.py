"""NeMo's own keys beside those of Megatron-LM, on the smallest model."""

from __future__ import annotations

from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Draft
from evo_libra.exchange.registry import read_text_as

SIZES = "num_layers: 12, hidden_size: 96, num_attention_heads: 4, encoder_seq_length: 64"


def draft(model: str = "", trainer: str = "devices: 8, num_nodes: 3, precision: bf16") -> Draft:
    return read_text_as(f"trainer: {{{trainer}}}\nmodel: {{{SIZES}{model and f', {model}'}}}\n", "job.yaml")[1]


def test_a_model_has_tied_embeddings_and_blocks_of_four_times_its_width() -> None:
    assert draft().generator == {
        "layers": 12, "hidden": 96, "heads": 4, "feed_forward": 384, "gated": False, "tied": True, "sequence": 64,
    }  # fmt: skip
    assert draft("share_embeddings_and_output_weights: false").generator["tied"] is False
    assert draft().npus == 24
    assert draft(trainer="devices: 8").npus == 8


@pytest.mark.parametrize(("name", "gated"), [
    ("gelu", False), ("openai-gelu", False), ("relu", False), ("squared-relu", False), ("geglu", True),
    ("reglu", True), ("swiglu", True), ("fast-geglu", True), ("fast-reglu", True), ("fast-swiglu", True),
])  # fmt: skip
def test_activations(name: str, gated: bool) -> None:  # noqa: FBT001 - a case
    assert draft(f"activation: {name}").generator["gated"] is gated
    assert draft(f"activation: {name}").left == ()


@pytest.mark.parametrize(("name", "zero"), [
    ("adam", 0), ("adamw", 0), ("fused_adam", 0), ("megatron_fused_adam", 0), ("distributed_fused_adam", 1),
    ("mcore_distributed_optim", 1),
])  # fmt: skip
def test_optimizers(name: str, zero: int) -> None:
    found = draft(f"optim: {{name: {name}}}")
    assert found.training["zero"] == zero
    assert found.left == ()


def test_what_is_assumed_of_unknown_words_is_listed() -> None:
    assert draft("optim: {name: lion}").left == ("job.yaml: model.optim.name: found 'lion'; Adam's states are assumed",)
    with pytest.raises(InputError, match=r"model\.activation: found 'silu'; allowed: gelu"):
        draft("activation: silu")


@pytest.mark.parametrize(("more", "key", "value"), [
    ("", "precision", "bf16"),
    ("fp8: true", "precision", "fp8"),
    ("", "gradients", "fp32"),
    ("optim: {name: adam, grad_sync_dtype: bf16}", "gradients", "bf16"),
    ("optim: {name: adam, grad_sync_dtype: fp16}", "gradients", "bf16"),
    ("optim: {name: adam, grad_sync_dtype: fp32}", "gradients", "fp32"),
    ("use_flash_attention: true", "attention", "fused"),
    ("use_flash_attention: false", "attention", None),
    ("activations_checkpoint_granularity: selective", "recompute", "selective"),
    ("overlap_p2p_comm: true", "overlap", {"tp": False, "dp": False, "pp": True}),
    ("overlap_p2p_comm: false", "overlap", {"tp": False, "dp": False, "pp": False}),
    ("optim: {name: adam, overlap_grad_sync: true}", "overlap", {"tp": False, "dp": True}),
    ("overlap_grad_reduce: true", "overlap", {"tp": False, "dp": True}),
    ("ub_tp_comm_overlap: true", "overlap", {"tp": True, "dp": False}),
])  # fmt: skip
def test_options_of_a_training(more: str, key: str, value: Any) -> None:
    assert draft(more).training.get(key) == value


def test_a_plan_is_in_the_model() -> None:
    found = draft("tensor_model_parallel_size: 2, pipeline_model_parallel_size: 3, "
                  "virtual_pipeline_model_parallel_size: 2")  # fmt: skip
    assert found.parallelism == {"tp": 2, "pp": 3, "vp": 2}
