"""Layers with windows, by class of model: the first eight of each, or those about which a key says something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evo_libra.files.source import parse_source
from evo_libra.workload.models.attention_windows import Window, windows_of
from evo_libra.workload.models.model_file import ModelFile


def pattern(layers: int = 8, **keys: Any) -> str:
    """Return a letter for each layer: s and c for sliding and chunked windows, . for the whole sequence."""
    found = windows_of(ModelFile(parse_source(json.dumps(keys), "config.json")), layers)
    return "".join("." if one is None else "c" if one.chunked else "s" for one in found)


@pytest.mark.parametrize(("keys", "expected"), [
    # Every n-th layer sees the whole sequence, the first of them at n.
    ({"model_type": "gemma2"}, "s.s.s.s."), ({"model_type": "gemma3_text"}, "sssss.ss"),
    ({"model_type": "gemma3_text", "sliding_window_pattern": 3}, "ss.ss.ss"),
    ({"model_type": "gpt_oss"}, "s.s.s.s."),
    ({"model_type": "mistral"}, "ssssssss"), ({"model_type": "ministral"}, "ssssssss"),
    # Layers from a number on, or every second one before it.
    ({"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 3}, "...sssss"),
    ({"model_type": "qwen3", "use_sliding_window": True, "max_window_layers": 0}, "ssssssss"),
    ({"model_type": "qwen2_moe", "use_sliding_window": True, "max_window_layers": 5}, "s.s.s..."),
    ({"model_type": "qwen2", "max_window_layers": 3}, "........"),
    # Three layers with rotary positions, then one without.
    ({"model_type": "llama4_text"}, "ccc.ccc."),
    ({"model_type": "llama4_text", "no_rope_layer_interval": 2}, "c.c.c.c."),
    ({"model_type": "llama4_text", "no_rope_layers": [0, 1, 1, 0, 0, 0, 1, 1]}, ".cc...cc"),
    ({"model_type": "smollm3", "use_sliding_window": True, "sliding_window": 64}, "...s...s"),
    ({"model_type": "gpt_neo"}, ".s.s.s.s"),
    ({"model_type": "gpt_neo", "attention_types": [[["global"], 2], [["local"], 6]]}, "..ssssss"),
    ({"model_type": "gpt_neo", "attention_layers": ["local", *["global"] * 7]}, "s......."),
    ({"layer_types": [*["full_attention"] * 7, "sliding_attention"], "sliding_window": 9}, ".......s"),
    ({"sliding_window": 9}, "ssssssss"),
    ({"sliding_window": 9, "use_sliding_window": False}, "........"), ({}, "........"),
], ids=str)  # fmt: skip
def test_layers_of_each_class(keys: dict[str, Any], expected: str) -> None:
    assert pattern(**keys) == expected


def test_qwen_has_windows_from_layer_28_on_unless_its_file_says_otherwise() -> None:
    assert pattern(30, model_type="qwen2", use_sliding_window=True) == "." * 28 + "ss"


@pytest.mark.parametrize(("keys", "tokens"), [
    ({"model_type": "mistral"}, 4096), ({"model_type": "mistral", "sliding_window": 7}, 7),
    ({"model_type": "gpt_neo", "attention_layers": ["local"]}, 256), ({"model_type": "llama4_text"}, 8192),
    ({"model_type": "llama4_text", "attention_chunk_size": 7}, 7), ({"model_type": "gpt_oss"}, 128),
    ({"model_type": "gemma2"}, 4096), ({"model_type": "gemma3_text"}, 4096), ({"model_type": "ministral"}, 4096),
    *[({"model_type": name, "use_sliding_window": True, "max_window_layers": of}, 4096)
      for name, of in (("qwen2", 0), ("qwen2_moe", 1), ("qwen3", 0), ("qwen3_moe", 0))],
])  # fmt: skip
def test_tokens_of_a_window(keys: dict[str, Any], tokens: int) -> None:
    (found,) = windows_of(ModelFile(parse_source(json.dumps(keys), "config.json")), 1)
    assert found == Window(tokens, chunked=keys["model_type"] == "llama4_text")


@pytest.mark.parametrize(("keys", "words"), [
    ({"model_type": "llama4_text", "no_rope_layers": [1] * 7}, "a list of 8 is needed, 0 or 1 for each layer"),
    ({"layer_types": ["full_attention"] * 7}, "a list of 8 is needed, a kind of attention for each layer"),
    ({"layer_types": ["full_attention"] * 6 + ["linear"] * 2}, "found linear in 2 of 8 layers, which is not computed"),
    ({"model_type": "gpt_neo", "attention_types": 3}, "a list such as [[['global', 'local'], 12]] is needed"),
    ({"layer_types": ["sliding_attention"] * 8}, "found sliding_attention in 8 layers; the key `sliding_window`"),
    ({"sliding_window": 9, "use_sliding_window": 1}, "found 1; true or false is needed"),
], ids=str)  # fmt: skip
def test_what_is_wrong_is_noted_once(keys: dict[str, Any], words: str) -> None:
    file = ModelFile(parse_source(json.dumps(keys), "config.json"))
    windows_of(file, 8)
    assert len(file.mistakes) == 1
    assert words in str(file.mistakes[0])
