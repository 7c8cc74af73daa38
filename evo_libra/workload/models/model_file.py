"""A Hugging Face configuration as keys with their mistakes, and the keys that no size is read from.

Some of these change nothing here, and some make a model another one; problem files and `import` judge them by these
tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evo_libra.errors import InputError, Mistake, suggestion
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source

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
    # layers in another place of attention, or next to it
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


_MAX = 10**9


@dataclass(frozen=True)
class ModelFile:
    """Keys of a Hugging Face configuration; the language model of one with several models is under ``text_config``.

    Keys that are missing or wrong are gathered in `mistakes`, and the smallest size stands for theirs until `check`.
    Those that were asked for are kept in `read`.
    """

    source: Source
    mistakes: list[Mistake] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    @property
    def path(self) -> KeyPath:
        """Return where the keys are."""
        return ("text_config",) if isinstance(self.source.data.get("text_config"), dict) else ()

    @property
    def data(self) -> Mapping[str, Any]:
        """Return the keys with their values."""
        found: Mapping[str, Any] = self.source.data["text_config"] if self.path else self.source.data
        return found

    def value(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever the file has
        """Return the value of a key, and keep that it was read."""
        self.read.add(key)
        return self.data.get(key, default)

    def find(self, *keys: str) -> str | None:
        """Return the first of some keys that has a value."""
        return next(iter([key for key in keys if self.value(key) is not None]), None)

    def size(self, *keys: str, least: int = 1) -> int | None:
        """Return the whole number under the first of some keys that has a value; None where none has."""
        key = self.find(*keys)
        if key is None:
            return None
        value = self.data[key]
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
