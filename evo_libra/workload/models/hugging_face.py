"""Language models from the ``config.json`` of Hugging Face, and what of it is not computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, counted
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import MAX_MISTAKES, Source, read_source
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec, Experts, LatentAttention
from evo_libra.workload.models.mixed_layers import mixed_layers
from evo_libra.workload.models.model_file import (
    APPROXIMATED,
    ModelFile,
    changes_nothing,
    makes_another_model,
    refusal_of_key,
)
from evo_libra.workload.models.model_types import unknown_type

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
    usual : keys that the file leaves to the class of its type, with the values there.
    """

    source: Source
    model: Decoder
    spec: DecoderSpec
    read: tuple[KeyPath, ...]
    parallel: str
    unread: tuple[str, ...]
    usual: tuple[tuple[str, int | bool], ...] = ()

    @property
    def path(self) -> KeyPath:
        """Path of the keys of the language model."""
        return ModelFile(self.source).path

    def omissions(self) -> list[str]:
        """Return a sentence, with file, line and key, for what is not computed, with the size of its effect."""
        found = list[tuple[str, str]]()
        if self.parallel:
            rule = "attention and feed-forward block share an all-reduce of the tensor parallel group in each pass"
            found.append((self.parallel, f"{rule}; two are counted, 100 % more of that traffic"))
        found += [(key, APPROXIMATED[key]) for key in self.unread if key in APPROXIMATED]
        found += self._encoders()
        unread = [key for key in self.unread if key not in {name for name, _ in found}]
        if unread:
            found.append(("", f"keys that are not known and not read: {', '.join(unread)}"))
        return [str(self.source.mistake(self._place(key), text)) for key, text in found]

    def _place(self, key: str) -> KeyPath:
        """Return the path of a key of the language model, or else of the whole."""
        inner = self.path and key in self.source.data[self.path[0]]
        return (*self.path, key) if inner else (key,) if key else ()

    def _encoders(self) -> list[tuple[str, str]]:
        """Return the keys of encoders of pictures and sounds, with their part of the weights; none that has no size."""
        sizes = {key: _encoder_weights(self.source.data[key]) for key in self.unread if key in self.source.data}
        return [
            (key, f"about {100 * weights / (weights + self.model.parameters):.2g} % of the weights are not computed")
            for key, weights in sizes.items() if weights
        ]  # fmt: skip


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
    parallel = next((key for key in _PARALLEL if file.value(key) is True), "model_type" * file.rules.parallel)
    known, unread = _judged(file)
    file.check()
    model = decoder_of(name, spec, source.file)
    return Configuration(source=source, model=model, spec=spec, read=known, parallel=parallel, unread=unread,
                         usual=tuple(sorted(file.usual.items())))  # fmt: skip


def _encoder_weights(keys: Any) -> int:  # noqa: ANN401 - whatever the file has
    """Return the weights of an encoder of equal layers: attention, and a block of two matrices; 0 without sizes."""
    if not isinstance(keys, Mapping):
        return 0
    width, layers = keys.get("hidden_size"), keys.get("num_hidden_layers", keys.get("depth"))
    inner = keys.get("intermediate_size")
    if type(width) is not int or type(layers) is not int:
        return 0
    return layers * (4 * width**2 + 2 * width * (inner if type(inner) is int else 4 * width))


def _judged(file: ModelFile) -> tuple[tuple[KeyPath, ...], tuple[str, ...]]:
    """Return the paths of keys that are known, and the names of others; those of another model are mistakes."""
    places = {(*file.path, key): value for key, value in file.data.items()}
    if file.path:
        places |= {(key,): value for key, value in file.source.data.items() if key != file.path[0]}
    read = {(*file.path, key) for key in file.read}
    known = {path for path, value in places.items() if path in read or changes_nothing(str(path[-1]), value)}
    others = [path for path in places if path not in known]
    wrong = [path for path in others if path[:-1] == file.path and makes_another_model(str(path[-1]), places[path])]
    for path in wrong[:MAX_MISTAKES]:
        file.note(str(path[-1]), refusal_of_key(str(path[-1]), places[path], file.read))
    if more := wrong[MAX_MISTAKES:]:
        file.note(str(more[0][-1]), f"this key and {counted(len(more) - 1, 'further one')} are not known, either")
    return tuple(sorted(known)), tuple(str(path[-1]) for path in others)


_GROK = "Grok1ForCausalLM"
_NOT_DECODERS = ("bert", "roberta", "t5", "bart", "vit", "whisper", "rwkv")
_COUNTED = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
_PER_TOKEN = (
    "num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_k", "moe_topk", "moe_top_k",
    "top_k_experts", "num_selected_experts",
)  # fmt: skip
_WIDTHS = ("moe_intermediate_size", "expert_intermediate_size", "intermediate_size")
_SHARED_WIDTHS = (
    "shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size",
)  # fmt: skip
_SHARED_COUNTS = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
_DENSE_FIRST = ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")


def _spec_of(file: ModelFile) -> DecoderSpec:
    _refuse_unsupported(file)
    hidden = file.needed("the width of the model", "hidden_size", "n_embd", "n_embed", "d_model")
    heads = file.needed("the number of heads of queries", "num_attention_heads", "n_head", "n_heads", "num_heads")
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
        "feed_forward": _feed_forward(file, hidden, experts),
        "gated": file.rules.gated,
        "biased": _is_biased(file),
        "vocabulary": file.needed("the number of tokens of the vocabulary", "vocab_size", "padded_vocab_size"),
        "sequence": file.size("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length"),
        "tied": _is_tied(file),
        "source": f"{file.source.file}, a Hugging Face configuration",
    }
    values |= {"experts": experts, "latent": _latent_of(file), "predictors": _predictors_of(file)}
    return DecoderSpec(**values, positions=_positions_of(file, values), **mixed_layers(file, values))


def _is_tied(file: ModelFile) -> bool:
    """Return whether the head is the embedding: as the whole model says, then its language model, then the type."""
    whole = file.source.data.get("tie_word_embeddings")
    return bool(whole if file.path and whole is not None else file.value("tie_word_embeddings"))


def _feed_forward(file: ModelFile, hidden: int, experts: Experts | None) -> int:
    """Return the width of a block; that of experts where there is no other, and four times the model's by GPT."""
    width = file.size("intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size")
    if width is None and experts is not None:
        return experts.feed_forward
    if width is None and (ratio := file.size("expansion_ratio")) is not None:
        return ratio * hidden
    if width is None and file.rules.gated and file.kind != "mamba2":
        return file.needed("the width of a feed-forward block", "intermediate_size", "ffn_dim")
    return width or 4 * hidden


def _positions_of(file: ModelFile, values: dict[str, Any]) -> int | None:
    """Return the rows of learned positions; None where they follow from biases."""
    biased = not values["gated"] if values["biased"] is None else values["biased"]
    if file.rules.learned_positions:
        return (values["sequence"] or 0) + file.rules.further_positions
    return 0 if biased else None


def _predictors_of(file: ModelFile) -> int:
    """Return the layers that predict further tokens."""
    own = file.size("num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers", least=0)
    modules = file.size("num_mtp_modules", least=0) if file.value("use_mtp") else 0
    return own or modules or 0


def _refuse_unsupported(file: ModelFile) -> None:
    inner, whole = file.data.get("model_type"), file.source.data.get("model_type")
    kind = whole if inner is None else inner
    file.value("model_type")
    if kind == "git" and _GROK not in (file.source.data.get("architectures") or ()):
        raise file.mistake("model_type", f"'git' is read with `architectures` of {_GROK} alone")
    if file.value("is_encoder_decoder") is True or kind in _NOT_DECODERS:
        raise file.mistake("model_type", f"'{kind}' is not supported; a decoder is expected")
    if kind is not None and file.kind is None:
        rest = "write that of a model with the same layers, such as llama, or a generator of kind decoder"
        raise file.mistake("model_type", f"{unknown_type(kind, set(file.data))}; {rest}")
    for key, usual in (("word_embed_proj_dim", "hidden_size"), ("embedding_size", "hidden_size")):
        if (width := file.value(key)) is not None and width != file.value(usual):
            file.note(key, f"found {width!r:.60}; embeddings of another width than the model's are not computed")


def _is_biased(file: ModelFile) -> bool | None:
    """Return whether a model has biases; None where that follows from its gates."""
    key = file.rules.key_of_biases
    return bool(file.value(key)) if key else file.rules.biased


def _kv_heads(file: ModelFile, heads: int) -> int:
    given = file.size("num_key_value_heads", "num_kv_heads", "multi_query_group_num")
    if file.value("multi_query") is True and not file.value("new_decoder_architecture"):
        return 1
    return given or heads


def _experts_of(file: ModelFile) -> Experts | None:
    count = file.size(*_COUNTED, least=0)
    if not count or count == 1:
        file.read.update((*_PER_TOKEN, *_WIDTHS, *_SHARED_WIDTHS, *_SHARED_COUNTS, *_DENSE_FIRST))
        return None
    width, shared = file.needed("the width of an expert", *_WIDTHS), file.size(*_SHARED_WIDTHS, least=0)
    shared_count = file.size(*_SHARED_COUNTS, least=0) or 0
    if file.kind == "llama4_text":
        shared = width
    if file.value("residual_moe") is True:  # Grok 2 adds a dense block to the experts of each layer.
        shared = file.size("intermediate_size")
    return Experts(
        count=count,
        per_token=file.needed("the number of experts that a token passes", *_PER_TOKEN),
        feed_forward=width,
        shared_feed_forward=shared or shared_count * width,
        dense_layers=file.size(*_DENSE_FIRST, least=0) or 0,
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
