"""Models of Hugging Face as parts of problem files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evo_libra.exchange.formats import Draft, Reader, without_none
from evo_libra.files.source import Source
from evo_libra.workload.models.hugging_face import configuration_of

_LONGEST = 4096

_LLAMA = """{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
 "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192, "vocab_size": 128256,
 "hidden_act": "silu", "rope_theta": 500000.0, "tie_word_embeddings": false}"""
_MIXTRAL = """{"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
 "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 32768, "vocab_size": 32000,
 "num_local_experts": 8, "num_experts_per_tok": 2}"""


def _recognise(source: Source) -> bool:
    return isinstance(source.data, dict) and ("model_type" in source.data or "architectures" in source.data)


def _read(source: Source) -> Draft:
    found = configuration_of(source)
    model = found.model
    own = found.spec.model_dump(include={"sublayers", "stack", "predictors"}, exclude_defaults=True)
    values: dict[str, Any] = {**without_none(model.figures()), **own}
    for key in ("name", "source", "mixed"):
        values.pop(key, None)
    if model.latent is not None:
        values["latent"], _ = without_none(values["latent"]), values.pop("head_width")
    sequence = min(model.sequence or _LONGEST, _LONGEST)
    assumed = f"sequences of {sequence} tokens; a configuration has the longest context alone"
    values.pop("sequence", None)  # the longest context, which is no sequence of a training
    return Draft(
        values, suggested=(("training", "sequence", sequence, assumed),), left=tuple(found.omissions()),
        assumed=tuple(_of_the_class(source, found.usual)),
    )  # fmt: skip


def _of_the_class(source: Source, usual: tuple[tuple[str, int | bool], ...]) -> Iterator[str]:
    """Yield a sentence about the sizes that a file leaves to the class of its model; false is none."""
    if sizes := ", ".join(f"{key} {value}" for key, value in usual if value):
        yield f"{source.file} leaves to its class in transformers: {sizes}"


_DEEPSEEK = """{"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
 "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
 "num_key_value_heads": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
 "first_k_dense_replace": 3, "moe_layer_freq": 1, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
 "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280, "max_position_embeddings": 163840,
 "hidden_act": "silu", "tie_word_embeddings": false, "n_group": 8, "topk_group": 4}"""
_QWEN = """{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 4096,
 "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 94, "num_attention_heads": 64,
 "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1,
 "mlp_only_layers": [], "vocab_size": 151936, "max_position_embeddings": 40960, "hidden_act": "silu"}"""
_OPT = """{"architectures": ["OPTForCausalLM"], "model_type": "opt", "hidden_size": 9216, "ffn_dim": 36864,
 "num_hidden_layers": 64, "num_attention_heads": 72, "vocab_size": 50272, "max_position_embeddings": 2048,
 "activation_function": "relu"}"""
_GPT2 = """{"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25,
 "n_positions": 1024, "vocab_size": 50257, "activation_function": "gelu_new"}"""
_GPT_OSS = """{"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880,
 "intermediate_size": 2880, "head_dim": 64, "num_hidden_layers": 36, "num_attention_heads": 64,
 "num_key_value_heads": 8, "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128,
 "vocab_size": 201088, "max_position_embeddings": 131072, "hidden_act": "silu", "tie_word_embeddings": false}"""

_SAMPLES = (_LLAMA, _MIXTRAL, _DEEPSEEK, _QWEN, _OPT, _GPT2, _GPT_OSS)
READERS = (Reader("hugging-face", "a `config.json` of Hugging Face: a model", _recognise, _read, _SAMPLES),)
