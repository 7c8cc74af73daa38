"""A Hugging Face configuration as keys with their mistakes, and the keys that no size is read from.

Some of these change nothing here, and some make a model another one; problem files and `import` judge them by these
tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evo_libra.errors import InputError, Mistake, suggestion
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source
from evo_libra.workload.models.model_types import ModelType, model_types, type_of

WITHOUT_EFFECT = frozenset((
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_name_or_path",
    "_remove_final_layer_norm", "activation_dropout", "activation_function", "add_bos_token", "alibi",
    "apply_residual_connection_post_layernorm", "architectures", "attention_dropout", "attention_dropout_prob",
    "attention_multiplier", "attention_probs_dropout_prob", "attention_softmax_in_fp32", "attention_value_scale",
    "attn_implementation", "attn_logit_softcapping", "attn_output_multiplier", "attn_pdrop", "attn_rotary_emb",
    "attn_scale", "attn_temperature_tuning", "auto_map", "aux_loss_alpha", "base_model_pp_plan", "base_model_tp_plan",
    "begin_image_token_id", "begin_suppress_tokens", "bias", "bias_dropout_fusion", "boi_token_index", "bos_token_id",
    "cache_implementation", "calc_logits_for_entire_prompt", "capacity_factor", "chat_template", "classifier_dropout",
    "clip_qkv", "compression_ratio", "cross_attention_hidden_size", "disable_ffn_model_parallel", "diversity_penalty",
    "do_layer_norm_before", "dtype", "embd_pdrop", "embed_dropout", "embedding_dropout", "embedding_fraction",
    "embedding_multiplier", "embedding_multiplier_scale", "enable_bias", "enable_mtp_magic_send", "end_image_token_id",
    "eoi_token_index", "eos_token_id", "ep_size", "exponential_decay_length_penalty", "final_logit_softcapping",
    "finetuning_task", "floor_scale", "for_llm_compressor", "forced_bos_token_id", "forced_eos_token_id",
    "freq_allocation", "full_attn_mod", "group_limited_greedy", "hidden_act", "hidden_activation", "hidden_dropout",
    "hidden_dropout_prob", "id2label", "image_token_id", "image_token_index", "indexer_rope_interleave", "init_method",
    "init_std", "initial_context_length", "initializer_factor", "initializer_range", "input_jitter_noise",
    "interpolate_factor", "is_decoder", "keys_to_ignore_at_inference", "label2id", "layer_norm_elementwise_affine",
    "layer_norm_eps", "layer_norm_epsilon", "layer_switch", "layerdrop", "layernorm_epsilon", "length_penalty",
    "lm_head_bias", "logit_scale", "logits_scaling", "mamba_dt_init_floor", "mamba_dt_limit", "mamba_dt_max",
    "mamba_dt_min", "masked_softmax_fusion", "max_attn_value", "max_length", "max_sequence_length",
    "max_window_layers", "min_length", "mla_use_nope", "mlp_bias", "mlp_multipliers", "mm_tokens_per_image",
    "model_max_length", "model_type", "moe_aux_loss_coef", "moe_capacity", "moe_drop_tokens", "moe_gate",
    "moe_gate_act", "moe_norm_min", "moe_random_routing_dropped_token", "moe_renormalize",
    "moe_router_activation_func", "moe_router_bias_update_rate", "moe_softmax_topk_method", "moe_use_aux_free",
    "mrope_section", "mtp_transformer_layers", "mtp_use_dedicated_embeddings", "no_bias", "no_repeat_ngram_size",
    "no_rope_layer_interval", "no_rope_layers", "norm_eps", "norm_epsilon", "norm_topk_prob", "norm_type",
    "normalization_function", "num_beam_groups", "num_beams", "num_expert_group", "num_ln_in_parallel_attn",
    "num_logits_to_keep", "num_return_sequences", "offset_alibi", "order_of_interleaved_layers", "org_vocab_size",
    "original_max_position_embeddings", "output_attentions", "output_hidden_states", "output_multiplier_scale",
    "output_router_logits", "output_scores", "pad_token_id", "partial_rotary_factor", "position_embedding_type",
    "post_norm", "prefix", "pretraining_tp", "problem_type", "processor_class", "projectors_bias", "pruned_heads",
    "qk_head_dim", "qk_layernorm", "qk_norm", "qk_norm_type", "query_pre_attn_scalar", "remove_invalid_values",
    "reorder_and_upcast_attn", "repetition_penalty", "rescale_prenorm_residual", "resid_pdrop", "residual_dropout",
    "residual_in_fp32", "residual_multiplier", "return_dict", "return_dict_in_generate", "rms_norm_eps", "rope",
    "rope_head_dim", "rope_interleave", "rope_local_base_freq", "rope_parameters", "rope_ratio", "rope_scaling",
    "rope_theta", "rotary", "rotary_dim", "rotary_emb_base", "rotary_pct", "rotary_percentage",
    "routed_scaling_factor", "router_aux_loss_coef", "router_bias", "router_dtype", "router_jitter_noise",
    "router_logit_softcapping", "router_z_loss_coef", "scale_attention_softmax_in_fp32",
    "scale_attn_by_inverse_layer_idx", "scale_attn_weights", "scoring_func", "sep_token_id", "seq_aux", "seq_length",
    "skip_bias_add", "skip_bias_add_qkv", "sliding_window_size", "slow_but_exact", "ssm_multipliers",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
    "suppress_tokens", "swiglu_alpha", "swiglu_limit", "task_specific_params", "temperature", "tf_legacy_loss",
    "time_step_floor", "time_step_limit", "time_step_max", "time_step_min", "tokenizer_class", "top_p", "topk_method",
    "torch_dtype", "torchscript", "transformers_version", "typical_p", "unk_token_id", "use_3d_rope",
    "use_associative_scan", "use_bfloat16", "use_bias", "use_bidirectional_attention", "use_cache", "use_dynamic_ntk",
    "use_embedding_sharing", "use_flash_attention", "use_flash_attn", "use_gated_activation", "use_grouped_topk",
    "use_logn_attn", "use_mixed_mlp_moe", "use_moe", "use_mrope", "use_parallel_block", "use_qk_layernorm",
    "use_rotary_pos_emb", "use_routing_bias", "video_token_id", "vision_end_token_id", "vision_start_token_id",
    "vision_token_id", "z_loss_coef", "z_loss_weight",
))  # fmt: skip
"""Keys whose values change neither time nor memory here; a pattern of `_ANOTHER_MODEL` fits some of them."""

_HARMLESS = re.compile(
    r"(token|tokens|token_id|token_index|_loss|_coef|_coeff|dropout|_eps|epsilon|_std|_penalty|_plan|_dtype|_path|_version"
    r"|_softcap|softcapping|_scaling|_scale|_multiplier|_theta|_temperature|_name|_class|_impl|_implementation)$"
    r"|^(rope|rotary|output|initializer|init|tokenizer|quant|_)"
)
"""Names of keys of training, of text and of scales, which change neither time nor memory."""

APPROXIMATED: Mapping[str, str] = {
    "attention_bias": "biases of attention are left out, under 0.1 % of the weights",
    "qkv_bias": "biases of attention are left out, under 0.1 % of the weights",
    "use_qkv_bias": "biases of attention are left out, under 0.1 % of the weights",
    "attention_out_bias": "biases of attention are left out, under 0.1 % of the weights",
    "use_qk_norm": "norms of queries and keys are left out, under 0.01 % of the weights",
    "learned_pos_emb": "rows of learned positions are left out, under 0.2 % of the weights",
    "n_group": "experts are chosen among all groups, so all-to-alls may reach more servers; 0 % of the weights",
    "topk_group": "experts are chosen among all groups, so all-to-alls may reach more servers; 0 % of the weights",
    "quantization_config": "weights have the precision of the problem file, not that of storage; 0 % of the weights",
    "compression_config": "weights have the precision of the problem file, not that of storage; 0 % of the weights",
}
"""Keys that are not computed -> their effect, in % of the weights."""

_STRUCTURAL = re.compile(
    # layers in another place of attention, or next to it
    r"attn|attention|window|sliding|sparse|mamba|(^|_)ssm|state_size|conv|recurren|rwkv|lru_|retention|delta|time_mix"
    r"|linear_(num|key|value|head)|hybrid|index_|chunk|layer|block|stream|residual|memory|hyper|engram|loop|stage"
    # layers that differ from each other, or share what they have
    r"|per_layer|kv_|shar|altup|laurel|expert|moe|rank|lora|latent|hidden|head|width|dim|size|num_|(^|_)n_|depth|pattern"
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
    return key in WITHOUT_EFFECT or not value or _HARMLESS.search(key.lower()) is not None


def makes_another_model(key: str, value: Any) -> bool:  # noqa: ANN401 - likewise
    """Return whether a key that is not read may change the layers: by its name, or as it is a number or a list.

    >>> makes_another_model("attn_layer_period", "x"), makes_another_model("altitude", 3)
    (True, True)
    >>> makes_another_model("colour", "blue"), makes_another_model("n_group", 8)
    (False, False)
    """
    if key in APPROXIMATED:
        return False
    return _STRUCTURAL.search(key.lower()) is not None or not isinstance(value, str)


def refusal_of_key(key: str, value: Any, known: set[str]) -> str:  # noqa: ANN401 - likewise
    """Return why a model with a key is refused; `known` are the keys that are read, for the nearest name."""
    nearest = suggestion(key, sorted({*known, *WITHOUT_EFFECT} - {key}))
    return (
        f"found {value!r:.60}; it describes layers that are not computed in a model of this class; null leaves it "
        f"out{nearest}"
    )


_MAX = 10**9
_INNER = ("text_config", "llm_config", "language_config")
"""Keys of the language model in files of several models."""


def _same(value: Any) -> Any:  # noqa: ANN401 - likewise
    """Return the value that all layers have, of a list of it; any other value as it is.

    >>> _same([8, 8, 8]), _same([8, 4]), _same(3)
    (8, [8, 4], 3)
    """
    if isinstance(value, list) and value and all(type(one) is int and one == value[0] for one in value):
        return value[0]
    return value


@dataclass(frozen=True)
class ModelFile:
    """Keys of a Hugging Face configuration.

    The language model of one with several models is under ``text_config``, ``llm_config`` or ``language_config``.

    Keys that a file does not have are as the class of its `model_type` has them, and are kept in `usual`.
    Keys that are missing or wrong are gathered in `mistakes`, and the smallest size stands for theirs until `check`.
    Those that were asked for are kept in `read`.
    """

    source: Source
    mistakes: list[Mistake] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    usual: dict[str, int | bool] = field(default_factory=dict)

    @property
    def path(self) -> KeyPath:
        """Return where the keys are."""
        inner = [key for key in _INNER if isinstance(self.source.data.get(key), dict)]
        return tuple(inner[:1])

    @property
    def data(self) -> Mapping[str, Any]:
        """Return the keys with their values."""
        found: Mapping[str, Any] = self.source.data[self.path[0]] if self.path else self.source.data
        return found

    @cached_property
    def kind(self) -> str | None:
        """Type of the language model, of `model_types`; None where it has none that is known."""
        names = [self.data.get("model_type"), self.source.data.get("model_type")]
        return next((kind for name in names if name is not None and (kind := type_of(name))), None)

    @cached_property
    def rules(self) -> ModelType:
        """Rules of the type; those of Llama where the file names none."""
        return model_types()[self.kind or "llama"]

    def value(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever the file has
        """Return the value of a key, and keep that it was read; that of the type where the file does not have it."""
        self.read.add(key)
        if key not in self.data and self.kind is not None and key in self.rules.defaults:
            self.usual[key] = self.rules.defaults[key]
            return self.usual[key]
        return self.data.get(key, default)

    def find(self, *keys: str) -> str | None:
        """Return the first of some keys that has a value in the file, or else in its type."""
        self.read.update(keys)
        given = [key for key in keys if key in self.data]
        found = next(iter([key for key in given if self.data[key] is not None]), None)
        if found is not None or given:
            return found
        return next((key for key in keys if self.value(key) is not None), None)

    def size(self, *keys: str, least: int = 1) -> int | None:
        """Return the whole number under the first of some keys that has a value; None where none has."""
        key = self.find(*keys)
        if key is None:
            return None
        value = _same(self.value(key))
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MAX:
            self.note(key, f"found {value!r}; a whole number from {least} to {_MAX} is needed")
            return least
        return value

    def needed(self, what: str, *keys: str) -> int:
        """Return the whole number under the first of some keys; one of them has to be there."""
        value = self.size(*keys)
        if value is None:
            also = f" (or {', '.join(f'`{key}`' for key in keys[1:])})" if keys[1:] else ""
            self.note("", f"has no key `{keys[0]}`{also}: {what}, a whole number, is expected")
        return value or 1

    def note(self, key: str, message: str) -> None:
        """Keep a mistake at a key, or of all keys."""
        self.mistakes.extend(self.mistake(key, message).mistakes)

    def check(self) -> None:
        """Raise an `InputError` with all mistakes that were found, if any."""
        if self.mistakes:
            raise InputError(dict.fromkeys(self.mistakes))

    def mistake(self, key: str, message: str) -> InputError:
        """Return the error at a key."""
        return InputError(self.source.mistake((*self.path, key) if key else self.path, message))
