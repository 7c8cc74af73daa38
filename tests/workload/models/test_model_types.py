"""Types of models: published weights of each, what is refused, and keys that are not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.files.source import parse_source
from evo_libra.workload.models.hugging_face import Configuration, configuration_of
from evo_libra.workload.models.model_types import model_types, type_of, unknown_type

ROWS = json.loads((Path(__file__).parents[2] / "golden" / "model_types.json").read_text())
"""Configurations with the weights that files on Hugging Face have, or papers print; null for one that is refused."""

READ = [row for row in ROWS if row["parameters"] is not None]
REFUSED = [row for row in ROWS if row["parameters"] is None]


def read(config: dict[str, Any]) -> Configuration:
    return configuration_of(parse_source(json.dumps(config), "config.json"))


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in READ])
def test_models_have_the_weights_that_were_published(row: dict[str, Any]) -> None:
    assert read(row["config"]).model.parameters == pytest.approx(row["parameters"], rel=0.005)


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in REFUSED])
def test_models_that_are_not_computed_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"config\.json:1:"):
        read(row["config"])


def test_of_80_configurations_at_least_70_are_read() -> None:
    assert len(ROWS) >= 80
    assert len(READ) >= 70


WORDS = ("layer", "block", "attn", "expert", "moe", "head", "hidden", "window", "mamba", "latent", "rank", "streams")


@pytest.mark.slow
@given(
    row=st.sampled_from(READ), word=st.sampled_from(WORDS), start=st.text("abcdefghij", min_size=1, max_size=8),
    value=st.sampled_from((3, 0.5, True, "twisted", [1, 0], {"a": 1})),
)  # fmt: skip
def test_an_unknown_key_of_the_architecture_is_never_passed_over(
    row: dict[str, Any], word: str, start: str, value: Any
) -> None:
    """The file was accepted; with the key it is refused, or the key is named with its effect."""
    key, config = f"{start}_{word}_zz", dict(row["config"])
    inner = config["text_config"] = dict(config["text_config"]) if "text_config" in config else {}
    if not inner:
        del config["text_config"]
    (inner or config)[key] = value
    with pytest.raises(InputError, match=key):
        read(config)


@given(row=st.sampled_from(READ), value=st.sampled_from((7, 2.5, [1], {"b": 2}, True)))
def test_an_unknown_number_is_refused_whatever_its_name(row: dict[str, Any], value: Any) -> None:
    if "text_config" not in row["config"]:
        with pytest.raises(InputError, match="zyx"):
            read({**row["config"], "zyx": value})


def test_rules_that_no_key_says_are_those_of_the_type() -> None:
    sizes = {"hidden_size": 2048, "num_hidden_layers": 2, "num_attention_heads": 16, "intermediate_size": 4096,
             "vocab_size": 1000, "max_position_embeddings": 512}  # fmt: skip
    gemma = read({"model_type": "gemma", **sizes, "hidden_act": "gelu"}).model
    assert gemma.gated
    assert gemma.tied
    rotary, learned = (read({"model_type": kind, **sizes}).model for kind in ("starcoder2", "opt"))
    assert rotary.embedding.positions == 0
    assert learned.embedding.positions == 514


def test_absent_keys_are_as_the_class_has_them() -> None:
    found = read({"model_type": "gemma3_text", "hidden_size": 5376, "num_hidden_layers": 62})
    assert (found.model.vocabulary, found.model.head_width) == (262208, 256)
    assert ("vocab_size", 262208) in found.usual


def test_an_unknown_type_names_types_with_the_same_keys() -> None:
    keys = {"num_experts", "num_experts_per_tok", "moe_intermediate_size", "shared_expert_intermediate_size",
            "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim",
            "linear_conv_kernel_dim", "num_attention_heads", "num_key_value_heads", "head_dim"}  # fmt: skip
    assert "types with the same keys: qwen3_5_moe_text, qwen3_next" in unknown_type("qwen9_next", keys)
    assert unknown_type("lama", {"x"}).endswith("did you mean 'llama'?")


def test_every_type_stands_for_itself() -> None:
    assert all(type_of(name) == name for name in model_types())


def test_keys_that_restate_the_class_change_nothing() -> None:
    """Keys of files on Hugging Face, of Command R7B, Llama 4 and Qwen3.5."""
    (command,) = [row["config"] for row in READ if row["name"] == "command-r7b"]
    more = {"order_of_interleaved_layers": "local_attn_first", "use_gated_activation": True, "layer_switch": 4}
    assert read({**command, **more}).model == read(command).model
    (scout,) = [row["config"]["text_config"] for row in READ if row["name"] == "llama-4-scout"]
    every = {"moe_layers": list(range(48)), "for_llm_compressor": False}
    assert read({**scout, **every}).model == read(scout).model
    second = read({**scout, "moe_layers": list(range(1, 48, 2))}).model
    assert second.expert_layers == 24
