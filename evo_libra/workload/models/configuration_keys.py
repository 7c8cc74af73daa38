"""Keys of Hugging Face configurations that change nothing here, and those that make a model another one.

Problem files and `import` judge a key that no size is read from by these tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evo_libra.errors import suggestion

WITHOUT_EFFECT = frozenset((
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_name_or_path",
    "_remove_final_layer_norm", "activation_dropout", "activation_function", "alibi",
    "apply_residual_connection_post_layernorm", "architectures", "attention_bias", "attention_dropout",
    "attention_multiplier", "attention_out_bias", "attention_softmax_in_fp32", "attn_implementation",
    "attn_logit_softcapping", "attn_pdrop", "attn_scale", "attn_temperature_tuning", "auto_map", "aux_loss_alpha",
    "bias", "bias_dropout_fusion", "bos_token_id", "cache_implementation", "clip_qkv", "do_layer_norm_before",
    "dtype", "embd_pdrop", "embed_dropout", "embedding_dropout", "embedding_multiplier", "enable_bias",
    "eos_token_id", "final_logit_softcapping", "floor_scale", "hidden_act", "hidden_activation", "hidden_dropout",
    "id2label", "init_std", "initializer_range", "input_jitter_noise", "is_decoder", "label2id",
    "layer_norm_elementwise_affine", "layer_norm_eps", "layer_norm_epsilon", "layerdrop", "layernorm_epsilon",
    "lm_head_bias", "logit_scale", "logits_scaling", "masked_softmax_fusion", "max_window_layers", "mlp_bias",
    "model_type", "no_rope_layer_interval", "no_rope_layers", "norm_eps", "norm_epsilon", "norm_topk_prob",
    "num_ln_in_parallel_attn", "original_max_position_embeddings", "output_attentions", "output_hidden_states",
    "output_router_logits", "pad_token_id", "partial_rotary_factor", "pretraining_tp", "qk_layernorm", "qkv_bias",
    "query_pre_attn_scalar", "reorder_and_upcast_attn", "resid_pdrop", "residual_dropout", "residual_multiplier",
    "return_dict", "rms_norm_eps", "rope_interleave", "rope_local_base_freq", "rope_parameters", "rope_scaling",
    "rope_theta", "rotary_dim", "rotary_emb_base", "rotary_pct", "routed_scaling_factor", "router_aux_loss_coef",
    "router_jitter_noise", "scale_attention_softmax_in_fp32", "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights", "scoring_func", "sep_token_id", "seq_aux", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj", "task_specific_params", "tokenizer_class",
    "torch_dtype", "transformers_version", "use_bias", "use_cache", "use_flash_attention", "use_flash_attn",
    "use_qk_norm", "use_qkv_bias",
))  # fmt: skip
"""Keys whose values change neither time nor memory here; a pattern of `_ANOTHER_MODEL` fits some of them."""

_ANOTHER_MODEL = re.compile(
    # layers in another place of attention, or beside it
    r"attn|attention|window|sliding|sparse|mamba|(^|_)ssm|state_size|conv|recurren|rwkv|lru_|retention|delta_|time_mix"
    r"|linear_(num|key|value|head)|hybrid|index_(topk|head|n_head)|chunk"
    # layers that differ from each other, or share what they have
    r"|layer_types|layers_block_type|block_types|block_configs|per_layer|kv_shar|share_factor|altup|laurel"
)
"""Names of keys that give layers another attention than all of a causal sequence, or make layers differ."""

_CONVENTIONAL: Mapping[str, Mapping[str, Any]] = {
    "attn_config": {"attn_type": "multihead_attention", "sliding_window_size": -1},
}
"""Keys with keys inside, and the values of these that change nothing."""


def changes_nothing(key: str, value: Any) -> bool:  # noqa: ANN401 - whatever the file has
    """Return whether a key changes neither time nor memory here: by its name, or as its value turns it off.

    >>> changes_nothing("rope_theta", 500000.0), changes_nothing("mamba_d_state", None), changes_nothing("mamba", 16)
    (True, True, False)
    """
    if key in _CONVENTIONAL and isinstance(value, Mapping):
        return all(value.get(name, usual) == usual for name, usual in _CONVENTIONAL[key].items())
    return key in WITHOUT_EFFECT or not value


def makes_another_model(key: str) -> bool:
    """Return whether a key that is not read names something of attention, or of layers that differ.

    >>> makes_another_model("attn_layer_period"), makes_another_model("n_group")
    (True, False)
    """
    return _ANOTHER_MODEL.search(key.lower()) is not None


def refusal_of_key(key: str, value: Any, known: set[str]) -> str:  # noqa: ANN401 - likewise
    """Return why a model with a key is refused; `known` are the keys that are read, for the nearest name."""
    nearest = suggestion(key, sorted({*known, *WITHOUT_EFFECT} - {key}))
    return (
        f"found {value!r:.60}; it describes layers that are not computed in a model of this class; null leaves it "
        f"out{nearest}"
    )
