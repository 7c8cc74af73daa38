"""Layers of a Hugging Face configuration that differ: the parts that each has, and the rules that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evo_libra.workload.models.attention_windows import windows_of
from evo_libra.workload.models.model_file import ModelFile

Sizes = Mapping[str, Any]
"""Keys of a decoder's specification with their values."""

_ATTENTION, _DENSE, _EXPERTS = "attention", "feed-forward", "experts"


@dataclass
class _Layers:
    """Token mixer of each layer, its block, and the sublayers that a specification has to name."""

    mixers: list[str]
    blocks: list[str]
    sublayers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def name(self, name: str, kind: str, **sizes: Any) -> str:  # noqa: ANN401 - sizes of that kind
        """Return the name of a sublayer, and keep what it stands for."""
        self.sublayers[name] = {"kind": kind, **sizes}
        return name


def mixed_layers(file: ModelFile, sizes: Sizes) -> dict[str, Any]:
    """Return the sublayers and the rules of a stack; both are empty where layers are as other keys have them."""
    count, dense = sizes["layers"], 0 if sizes["experts"] is None else sizes["experts"].dense_layers
    usual = [_DENSE if sizes["experts"] is None or layer < dense else _EXPERTS for layer in range(count)]
    found = _Layers([_ATTENTION] * count, _blocks(file, usual))
    _fill(found, file, sizes)
    parts = [tuple(part for part in both if part) for both in zip(found.mixers, found.blocks, strict=True)]
    rules = [
        {"parts": list(kind), **_range([layer for layer, one in enumerate(parts) if one == kind])}
        for kind in dict.fromkeys(parts)
        if any(one == kind != (_ATTENTION, block) for one, block in zip(parts, usual, strict=True))
    ]
    return {"sublayers": found.sublayers, "stack": rules}


def _range(layers: Sequence[int]) -> dict[str, Any]:
    """Return some layers as a range where they are one, else as a list.

    >>> _range([3, 7, 11]), _range([0, 1, 3])
    ({'start': 3, 'stop': 12, 'every': 4}, {'at': [0, 1, 3]})
    """
    every = layers[1] - layers[0] if len(layers) > 1 else 1
    if list(layers) != list(range(layers[0], layers[-1] + 1, every)):
        return {"at": list(layers)}
    return {"start": layers[0], "stop": layers[-1] + 1, "every": every}


def _blocks(file: ModelFile, usual: list[str]) -> list[str]:
    """Return the block of each layer: a dense one where keys say that experts are in every n-th layer alone."""
    step, freq = file.size("decoder_sparse_step", "interleave_moe_layer_step") or 1, file.size("moe_layer_freq") or 1
    period, offset = file.size("expert_layer_period") or 1, file.size("expert_layer_offset", least=0) or 0
    dense = file.value("mlp_only_layers") or []
    if not isinstance(dense, list) or not all(isinstance(layer, int) for layer in dense):
        file.note("mlp_only_layers", f"found {dense!r:.60}; a list of numbers of layers is needed")
        dense = []
    return [
        block if (at + 1) % step == 0 and at % freq == 0 and at % period == offset % period and at not in dense
        else _DENSE
        for at, block in enumerate(usual)
    ]  # fmt: skip


def _fill(found: _Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set what the layers of a model mix tokens with, by its class."""
    fill = _CLASSES.get(str(file.value("model_type")))
    if fill is not None:
        fill(found, file, sizes)
    elif sizes["latent"] is not None and file.find("index_topk") is not None:
        _sparse(found, file, sizes)
    else:
        _windows(found, file, sizes)


def _grouped(sizes: Sizes, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - keys of that kind
    """Return the keys of grouped attention of a model's sizes."""
    width = sizes["head_width"] or sizes["hidden"] // sizes["heads"]
    biased = {} if sizes["gated"] else {"biased": True}
    return {"heads": sizes["heads"], "kv_heads": sizes["kv_heads"], "head_width": width, **biased, **more}


def _windows(found: _Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set windows of attention, and sinks in every layer of classes that have them."""
    sinks = {"sinks": True} if file.value("model_type") == "gpt_oss" else {}
    for layer, window in enumerate(windows_of(file, sizes["layers"])):
        if window is None and not sinks:
            continue
        if window is None:
            found.mixers[layer] = found.name("full", "grouped-attention", **_grouped(sizes, **sinks))
            continue
        chunked = {"chunked": True} if window.chunked else {}
        keys = _grouped(sizes, window=window.tokens, **chunked, **sinks)
        found.mixers[layer] = found.name("chunks" if window.chunked else "window", "grouped-attention", **keys)


def _sparse(found: _Layers, file: ModelFile, sizes: Sizes) -> None:
    name = found.name(
        "sparse", "sparse-latent-attention", heads=sizes["heads"], **sizes["latent"].model_dump(),
        index_heads=file.needed("the number of heads of the index", "index_n_heads"),
        index_width=file.needed("the width of a head of the index", "index_head_dim"),
        top_k=file.needed("the number of tokens that one attends to", "index_topk"),
    )  # fmt: skip
    found.mixers[:] = [name] * len(found.mixers)


def _of_jamba(found: _Layers, file: ModelFile, sizes: Sizes) -> None:
    period, offset = file.size("attn_layer_period") or 8, file.size("attn_layer_offset", least=0)
    width = (file.size("mamba_expand") or 2) * sizes["hidden"]
    rank = None if file.value("mamba_dt_rank") == "auto" else file.size("mamba_dt_rank")
    name = found.name(
        "mamba", "selective-scan", width=width, state_width=file.size("mamba_d_state") or 16,
        rank=rank or -(-sizes["hidden"] // 16), taps=file.size("mamba_d_conv") or 4,
    )  # fmt: skip
    first = 4 if offset is None else offset
    found.mixers[:] = [_ATTENTION if at % period == first else name for at in range(len(found.mixers))]
    _leave(file, ("mamba_conv_bias", "mamba_proj_bias", "mamba_inner_layernorms", "use_mamba_kernels"))


def _of_nemotron_h(found: _Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set layers of one part each, by the letters of a pattern."""
    pattern = str(file.value("hybrid_override_pattern"))
    names = {
        "*": _ATTENTION,
        "M": found.name(
            "mamba", "state-space", heads=file.needed("the number of heads of Mamba", "mamba_num_heads"),
            head_width=file.needed("the width of a head of Mamba", "mamba_head_dim"),
            groups=file.needed("the groups of Mamba", "n_groups"),
            state_width=file.needed("the states of a channel", "ssm_state_size"),
            taps=file.size("conv_kernel") or 4, chunk=file.size("chunk_size") or 256,
        ),
        "-": found.name("mlp", "feed-forward", width=sizes["feed_forward"], gated=False),
    }  # fmt: skip
    unused = (
        "mamba_hidden_act",
        "mlp_hidden_act",
        "mamba_proj_bias",
        "mamba_ssm_cache_dtype",
        "use_conv_bias",
        "expand",
        "use_mamba_kernels",
    )
    _leave(file, unused)
    if len(pattern) != sizes["layers"] or set(pattern) - set(names):
        message = f"found {pattern!r:.60}; a letter of M, * or - for each of {sizes['layers']} layers is needed"
        file.note("hybrid_override_pattern", message)
        return
    found.mixers[:] = [names[letter] for letter in pattern]
    found.blocks[:] = [""] * len(pattern)


def _of_qwen3_next(found: _Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set gated attention in every n-th layer, and the gated delta rule in the others."""
    interval, listed = file.size("full_attention_interval") or 4, file.value("layer_types")
    delta = found.name(
        "delta", "gated-delta", key_heads=file.needed("the heads of keys", "linear_num_key_heads"),
        value_heads=file.needed("the heads of values", "linear_num_value_heads"),
        key_width=file.needed("the width of a head of keys", "linear_key_head_dim"),
        value_width=file.needed("the width of a head of values", "linear_value_head_dim"),
        taps=file.size("linear_conv_kernel_dim") or 4,
    )  # fmt: skip
    full = found.name("gated", "grouped-attention", **_grouped(sizes, gated=True))
    kinds = [full if (at + 1) % interval == 0 else delta for at in range(len(found.mixers))]
    if listed is not None:
        names = {"full_attention": full, "linear_attention": delta}
        if not isinstance(listed, list) or len(listed) != len(kinds) or set(map(str, listed)) - set(names):
            message = f"found {listed!r:.60}; one of {', '.join(names)} for each of {len(kinds)} layers is needed"
            file.note("layer_types", message)
            return
        kinds = [names[one] for one in listed]
    found.mixers[:] = kinds


def _of_kimi_linear(found: _Layers, file: ModelFile, sizes: Sizes) -> None:  # noqa: ARG001 - the signature of classes
    """Set Kimi Delta Attention in the layers that are listed, which are counted from 1."""
    keys = file.value("linear_attn_config")
    sizes_of = keys if isinstance(keys, Mapping) else {}
    heads, width = sizes_of.get("num_heads"), sizes_of.get("head_dim")
    listed = sizes_of.get("kda_layers")
    if not all(isinstance(one, int) and one > 0 for one in (heads, width)) or not isinstance(listed, list):
        message = "`num_heads`, `head_dim` and `kda_layers`, a list, are needed"
        file.note("linear_attn_config", f"found {keys!r:.60}; {message}")
        return
    name = found.name(
        "kda", "gated-delta", key_heads=heads, value_heads=heads, key_width=width, value_width=width, gate_rank=width,
        taps=sizes_of.get("short_conv_kernel_size", 4),
    )  # fmt: skip
    found.mixers[:] = [name if at + 1 in listed else _ATTENTION for at in range(len(found.mixers))]


def _of_minimax_m2(found: _Layers, file: ModelFile, sizes: Sizes) -> None:  # noqa: ARG001 - the signature of classes
    """Leave full attention in every layer, which a list says with ones."""
    kinds = file.value("attn_type_list") or []
    if not isinstance(kinds, list) or any(kind != 1 for kind in kinds):
        file.note("attn_type_list", f"found {kinds!r:.60}; only 1, full attention, is computed")


def _leave(file: ModelFile, keys: Sequence[str]) -> None:
    """Read keys that change nothing here."""
    for key in keys:
        file.value(key)


_CLASSES = {
    "jamba": _of_jamba,
    "kimi_linear": _of_kimi_linear,
    "minimax_m2": _of_minimax_m2,
    "nemotron_h": _of_nemotron_h,
    "qwen3_next": _of_qwen3_next,
}
"""Classes whose layers mix tokens in ways of their own."""
