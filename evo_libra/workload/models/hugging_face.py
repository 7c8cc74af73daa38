"""Language models from the ``config.json`` of Hugging Face, and what of it is not computed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, read_source
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec, Experts, LatentAttention
from evo_libra.workload.models.mixed_layers import mixed_layers
from evo_libra.workload.models.model_file import ModelFile, changes_nothing, makes_another_model, refusal_of_key

_MAX_LAYERS = 10_000
_PARALLEL = ("parallel_attn", "use_parallel_residual")
"""Keys of models whose attention and feed-forward block add to the same input."""


@dataclass(frozen=True)
class Configuration:
    """A model of a Hugging Face configuration, and what the file says of it that is not computed.

    Attributes
    ----------
    source : the file.
    model, spec : as it is computed, and as a file would write it.
    read : paths of the keys that the model was made from, or that change nothing.
    parallel : the key that makes attention and feed-forward block parallel; empty where none does.
    unread : keys that are not known.
    """

    source: Source
    model: Decoder
    spec: DecoderSpec
    read: tuple[KeyPath, ...]
    parallel: str
    unread: tuple[str, ...]

    @property
    def path(self) -> KeyPath:
        """Path of the keys of the language model."""
        return ModelFile(self.source).path

    def omissions(self) -> list[str]:
        """Return a sentence, with file, line and key, for what is not computed, with the size of its effect."""
        found = list[tuple[str, str]]()
        if self.parallel:
            rule = "attention and feed-forward block share an all-reduce of the tensor parallel group in each pass"
            found.append((self.parallel, f"{rule}; two are counted, twice the traffic"))
        if self.unread:
            found.append(("", f"keys that are not known and not read: {', '.join(self.unread)}"))
        return [str(self.source.mistake((*self.path, key) if key else (), text)) for key, text in found]


def read_decoder(path: Path) -> Decoder:
    """Read a model from a Hugging Face ``config.json``; its name is that of the file's folder, or of the file.

    Raises
    ------
    InputError : the file cannot be read, a key is missing or wrong, or the model is of a kind that is not supported.
    """
    return read_configuration(path).model


def read_configuration(path: Path) -> Configuration:
    """Read a configuration with what of it is not computed; errors and names are as for `read_decoder`."""
    return configuration_of(read_source(path))


def configuration_of(source: Source) -> Configuration:
    """Return what a configuration says that has been read; errors and names are as for `read_decoder`."""
    if not isinstance(source.data, dict):
        raise InputError(source.mistake((), "a mapping is needed, as in a Hugging Face config.json"))
    path = Path(source.file)
    name = path.parent.name if path.stem == "config" and path.parent.name else path.stem
    file = ModelFile(source)
    spec = _spec_of(file)
    parallel = next((key for key in _PARALLEL if file.value(key) is True), "")
    known, unread = _judged(file)
    file.check()
    model = decoder_of(name, spec, source.file)
    return Configuration(source=source, model=model, spec=spec, read=known, parallel=parallel, unread=unread)


def _judged(file: ModelFile) -> tuple[tuple[KeyPath, ...], tuple[str, ...]]:
    """Return the paths of keys that are known, and the names of others; those of another model are mistakes."""
    places = {(*file.path, key): value for key, value in file.data.items()}
    if file.path:
        places |= {(key,): value for key, value in file.source.data.items() if key != file.path[0]}
    read = {(*file.path, key) for key in file.read}
    known = {path for path, value in places.items() if path in read or changes_nothing(str(path[-1]), value)}
    others = [path for path in places if path not in known]
    for path in others:
        if makes_another_model(str(path[-1])) and path[:-1] == file.path:
            file.note(str(path[-1]), refusal_of_key(str(path[-1]), places[path], file.read))
    return tuple(sorted(known)), tuple(str(path[-1]) for path in others)


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
    "nemotron",
    "phi",
    "gpt_bigcode",
    "starcoder2",
)
_GATED_MODELS = (
    "baichuan",
    "cohere",
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "gemma",
    "gemma2",
    "gemma3_text",
    "glm",
    "glm4",
    "glm4_moe",
    "gpt_oss",
    "granite",
    "granitemoe",
    "internlm2",
    "jamba",
    "kimi_k2",
    "kimi_linear",
    "llama",
    "llama4_text",
    "minimax_m2",
    "ministral",
    "mistral",
    "mixtral",
    "nemotron_h",
    "olmo",
    "olmo2",
    "olmoe",
    "phi3",
    "phimoe",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen3_next",
    "seed_oss",
    "smollm3",
    "stablelm",
)
"""Models whose layers are those of Llama, with experts or narrow attention where their keys say so."""
_KEYS_OF_BIASES = {"falcon": "bias", "nemotron": "mlp_bias"}
"""Keys of the biases of models that are not gated and have rotary positions."""
_NOT_DECODERS = ("bert", "roberta", "t5", "bart", "vit", "whisper", "mamba", "mamba2", "rwkv", "dbrx")
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


def _spec_of(file: ModelFile) -> DecoderSpec:
    _refuse_unsupported(file)
    hidden = file.needed("the width of the model", "hidden_size", "n_embd", "n_embed", "d_model")
    heads = file.needed("the number of heads of queries", "num_attention_heads", "n_head", "n_heads", "num_heads")
    gated, inner = _is_gated(file), file.size("intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim")
    if inner is None and gated:
        inner = file.needed("the width of a feed-forward block", "intermediate_size", "ffn_dim")
    experts, deep = _experts_of(file), ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    layers = file.needed("the number of layers", *deep)
    if layers > _MAX_LAYERS:
        file.note(file.find(*deep) or "", f"found {layers}; models of up to {_MAX_LAYERS:,} layers are read")
    values: dict[str, Any] = {
        "layers": min(layers, _MAX_LAYERS),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": _kv_heads(file, heads),
        "head_width": file.size("head_dim", "attention_head_dim"),
        "feed_forward": inner or 4 * hidden,
        "gated": gated,
        "biased": _is_biased(file),
        "vocabulary": file.needed("the number of tokens of the vocabulary", "vocab_size"),
        "sequence": file.size("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"),
        "tied": bool(file.value("tie_word_embeddings", file.value("model_type") in _TIED_MODELS)),
        "source": f"{file.source.file}, a Hugging Face configuration",
    }
    values |= {"experts": experts, "latent": _latent_of(file), "predictors": _predictors_of(file)}
    return DecoderSpec(**values, **mixed_layers(file, values))


def _predictors_of(file: ModelFile) -> int:
    """Return the layers that predict further tokens."""
    own = file.size("num_nextn_predict_layers", least=0)
    modules = file.size("num_mtp_modules", least=0) if file.value("use_mtp") else 0
    return own or modules or 0


def _refuse_unsupported(file: ModelFile) -> None:
    kind = file.value("model_type")
    if file.value("is_encoder_decoder") is True or kind in _NOT_DECODERS:
        raise file.mistake("model_type", f"'{kind}' is not supported; a decoder whose layers are equal is expected")
    if kind is not None and kind not in (*_GATED_MODELS, *_PLAIN_MODELS):
        rest = "write that of a model with the same layers, such as llama, or a generator of kind decoder"
        known = unknown("model_type", kind, (*_GATED_MODELS, *_PLAIN_MODELS))
        raise file.mistake("model_type", f"{known}; {rest}")


def _is_gated(file: ModelFile) -> bool:
    """Return whether feed-forward blocks have three matrices, as all that use SiLU have and few that use GELU."""
    if file.value("model_type") in _PLAIN_MODELS:
        return False
    activation = file.find("hidden_act", "hidden_activation", "activation_function")
    return activation is None or file.data[activation] in _GATED_ACTIVATIONS


def _is_biased(file: ModelFile) -> bool | None:
    """Return whether a model has biases and learned positions; None where that follows from its gates."""
    key = _KEYS_OF_BIASES.get(str(file.value("model_type")))
    return None if key is None else bool(file.value(key))


def _kv_heads(file: ModelFile, heads: int) -> int:
    if file.value("multi_query") is True and not file.value("new_decoder_architecture"):
        return 1
    return file.size("num_key_value_heads", "num_kv_heads") or heads


def _experts_of(file: ModelFile) -> Experts | None:
    counted = ("n_routed_experts", "num_local_experts", "num_experts")
    count = file.size(*counted, least=0)
    if not count or count == 1:
        return None
    width = file.needed("the width of an expert", "moe_intermediate_size", "intermediate_size")
    shared = file.size("shared_expert_intermediate_size", least=0)
    if file.value("model_type") == "llama4_text":
        shared = width
    return Experts(
        count=count,
        per_token=file.needed(
            "the number of experts that a token passes",
            "num_experts_per_tok",
            "experts_per_token",
            "num_experts_per_token",
        ),
        feed_forward=width,
        shared_feed_forward=(file.size("n_shared_experts", "num_shared_experts", least=0) or 0) * width
        if shared is None
        else shared,
        dense_layers=file.size("first_k_dense_replace", least=0) or 0,
    )


def _latent_of(file: ModelFile) -> LatentAttention | None:
    if file.find("kv_lora_rank") is None:
        return None
    return LatentAttention(
        query_rank=file.size("q_lora_rank"),
        kv_rank=file.needed("the rank of keys and values", "kv_lora_rank"),
        nope_width=file.needed("the width of a head without a position", "qk_nope_head_dim"),
        rope_width=file.needed("the width of a head with a position", "qk_rope_head_dim"),
        value_width=file.needed("the width of a head of values", "v_head_dim"),
    )
