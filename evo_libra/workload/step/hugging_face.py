"""Language models from the ``config.json`` of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, read_source
from evo_libra.workload.step.decoder import Decoder, DecoderSpec, ExpertsSpec, LatentAttentionSpec, decoder_of

_MAX = 10**9


def read_decoder(path: Path) -> Decoder:
    """Read a model from a Hugging Face ``config.json``; its name is that of the file's folder, or of the file.

    Raises
    ------
    InputError : the file cannot be read, a key is missing or wrong, or the model is of a kind that is not supported.
    """
    return decoder_of_source(read_source(path))


def decoder_of_source(source: Source) -> Decoder:
    """Return the model of a configuration that has been read; errors and names are as for `read_decoder`."""
    return decoder_and_keys(source)[0]


def decoder_and_keys(source: Source) -> tuple[Decoder, list[KeyPath]]:
    """Return the model of a configuration, and the paths of the keys that it was made from."""
    if not isinstance(source.data, dict):
        raise InputError(source.mistake((), "a mapping is needed, as in a Hugging Face config.json"))
    path = Path(source.file)
    name = path.parent.name if path.stem == "config" and path.parent.name else path.stem
    config = _Config(source)
    model = _decoder_of_config(name, config)
    return model, [(*config.path, key) for key in sorted(config.read) if key in config.data]


@dataclass(frozen=True)
class _Config:
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
        return next((key for key in keys if self.value(key) is not None), None)

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


_GATED_ACTIVATIONS = ("silu", "swish", "swiglu", "geglu", "gelu_pytorch_tanh")
_PLAIN_MODELS = (
    "gpt2",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "opt",
    "bloom",
    "falcon",
    "mpt",
    "phi",
    "gpt_bigcode",
    "starcoder2",
)
_GATED_MODELS = (
    "baichuan",
    "cohere",
    "deepseek_v2",
    "deepseek_v3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "glm",
    "glm4",
    "granite",
    "granitemoe",
    "internlm2",
    "kimi_k2",
    "llama",
    "llama4_text",
    "ministral",
    "mistral",
    "mixtral",
    "olmo",
    "olmo2",
    "olmoe",
    "phi3",
    "phimoe",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "seed_oss",
    "smollm3",
    "stablelm",
)
"""Models whose layers are those of Llama, with experts or narrow attention where their keys say so."""
_NOT_DECODERS = ("bert", "roberta", "t5", "bart", "vit", "whisper", "mamba", "mamba2", "rwkv", "jamba", "dbrx")
_TIED_MODELS = (
    "gpt2",
    "opt",
    "bloom",
    "falcon",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt_bigcode",
    "gpt_neo",
    "mpt",
    "starcoder2",
)
"""Models whose configuration class leaves Hugging Face's default of `tie_word_embeddings`, which is true."""


def _decoder_of_config(name: str, config: _Config) -> Decoder:
    _refuse_unsupported(config)
    hidden = config.needed("the width of the model", "hidden_size", "n_embd", "n_embed", "d_model")
    heads = config.needed("the number of heads of queries", "num_attention_heads", "n_head", "n_heads", "num_heads")
    gated, inner = _is_gated(config), config.size("intermediate_size", "n_inner", "ffn_dim")
    if inner is None and gated:
        inner = config.needed("the width of a feed-forward block", "intermediate_size", "ffn_dim")
    experts = _experts_of(config)
    values: dict[str, Any] = {
        "layers": config.needed("the number of layers", "num_hidden_layers", "n_layer", "n_layers", "num_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": _kv_heads(config, heads),
        "head_width": config.size("head_dim"),
        "feed_forward": inner or 4 * hidden,
        "gated": gated,
        "vocabulary": config.needed("the number of tokens of the vocabulary", "vocab_size"),
        "sequence": config.size("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"),
        "tied": bool(config.value("tie_word_embeddings", config.value("model_type") in _TIED_MODELS)),
        "source": f"{config.source.file}, a Hugging Face configuration",
    }
    latent = _latent_of(config)
    config.check()
    return decoder_of(name, DecoderSpec(experts=experts, latent=latent, **values), config.source.file)


def _refuse_unsupported(config: _Config) -> None:
    kind = config.value("model_type")
    if config.value("is_encoder_decoder") is True or kind in _NOT_DECODERS:
        raise config.mistake("model_type", f"'{kind}' is not supported; a decoder whose layers are equal is expected")
    if kind is not None and kind not in (*_GATED_MODELS, *_PLAIN_MODELS):
        rest = "write that of a model with the same layers, such as llama, or a generator of kind decoder"
        known = unknown("model_type", kind, (*_GATED_MODELS, *_PLAIN_MODELS))
        raise config.mistake("model_type", f"{known}; {rest}")
    if config.value("mlp_only_layers"):
        raise config.mistake("mlp_only_layers", "found layers without experts; only the first layers may lack them")
    for key in ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq"):
        if config.value(key, 1) != 1:
            raise config.mistake(key, f"found {config.data[key]!r}; only 1, experts in every layer, is supported")


def _is_gated(config: _Config) -> bool:
    """Return whether feed-forward blocks have three matrices, as all that use SiLU have and few that use GELU."""
    if config.value("model_type") in _PLAIN_MODELS:
        return False
    activation = config.find("hidden_act", "hidden_activation", "activation_function")
    return activation is None or config.data[activation] in _GATED_ACTIVATIONS


def _kv_heads(config: _Config, heads: int) -> int:
    if config.value("multi_query") is True and not config.value("new_decoder_architecture"):
        return 1
    return config.size("num_key_value_heads", "num_kv_heads") or heads


def _experts_of(config: _Config) -> ExpertsSpec | None:
    counted = ("n_routed_experts", "num_local_experts", "num_experts")
    count = config.size(*counted, least=0)
    if not count or count == 1:
        return None
    width = config.needed("the width of an expert", "moe_intermediate_size", "intermediate_size")
    shared = config.size("shared_expert_intermediate_size", least=0)
    return ExpertsSpec(
        count=count,
        per_token=config.needed(
            "the number of experts that a token passes", "num_experts_per_tok", "experts_per_token"
        ),
        feed_forward=width,
        shared_feed_forward=(config.size("n_shared_experts", least=0) or 0) * width if shared is None else shared,
        dense_layers=config.size("first_k_dense_replace", least=0) or 0,
    )


def _latent_of(config: _Config) -> LatentAttentionSpec | None:
    if config.find("kv_lora_rank") is None:
        return None
    return LatentAttentionSpec(
        query_rank=config.size("q_lora_rank"),
        kv_rank=config.needed("the rank of keys and values", "kv_lora_rank"),
        nope_width=config.needed("the width of a head without a position", "qk_nope_head_dim"),
        rope_width=config.needed("the width of a head with a position", "qk_rope_head_dim"),
        value_width=config.needed("the width of a head of values", "v_head_dim"),
    )
