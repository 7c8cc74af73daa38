"""Layers of classes of Hugging Face that mix tokens in ways of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evo_libra.workload.models.mixed_parts import ATTENTION, DENSE, EXPERTS, Layers, Sizes, grouped
from evo_libra.workload.models.model_file import ModelFile


def _of_jamba(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    period, offset = file.size("attn_layer_period") or 8, file.size("attn_layer_offset", least=0)
    width = (file.size("mamba_expand") or 2) * sizes["hidden"]
    rank = None if file.value("mamba_dt_rank") == "auto" else file.size("mamba_dt_rank")
    name = found.name(
        "mamba", "selective-scan", width=width, state_width=file.size("mamba_d_state") or 16,
        rank=rank or -(-sizes["hidden"] // 16), taps=file.size("mamba_d_conv") or 4,
    )  # fmt: skip
    first = 4 if offset is None else offset
    found.mixers[:] = [ATTENTION if at % period == first else name for at in range(len(found.mixers))]
    _leave(file, _OF_MAMBA)


def state_space(found: Layers, file: ModelFile, *, heads: int, width: int, groups: int, states: int) -> str:
    """Return the name of a layer of Mamba-2 of some sizes."""
    return found.name(
        "mamba", "state-space", heads=heads, head_width=width, groups=groups, state_width=states,
        taps=file.size("conv_kernel", "mamba_d_conv") or 4, chunk=file.size("chunk_size", "mamba_chunk_size") or 256,
    )  # fmt: skip


_LETTERS = {"linear_attention": "M", "mamba": "M", "full_attention": "*", "attention": "*", "mlp": "-", "moe": "E"}
"""Kinds of layers of Nemotron-H -> letters of its pattern."""


def _of_nemotron_h(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set layers of one part each, by the letters of a pattern."""
    listed, pattern = file.value("layers_block_type"), str(file.value("hybrid_override_pattern"))
    if isinstance(listed, list):
        pattern = "".join(_LETTERS.get(str(one), "?") for one in listed)
    mamba = state_space(
        found, file, heads=file.needed("the number of heads of Mamba", "mamba_num_heads"),
        width=file.needed("the width of a head of Mamba", "mamba_head_dim"),
        groups=file.needed("the groups of Mamba", "n_groups"),
        states=file.needed("the states of a channel", "ssm_state_size"),
    )  # fmt: skip
    mlp = found.name("mlp", "feed-forward", width=sizes["feed_forward"], gated=False)
    names = {"*": ATTENTION, "M": mamba, "-": mlp}
    experts = sizes["experts"]
    if experts is not None:
        names["E"] = found.name(
            "routed", "experts", width=experts.feed_forward, count=experts.count, chosen=experts.per_token,
            shared_width=experts.shared_feed_forward, gated=False,
        )  # fmt: skip
    _leave(file, _OF_MAMBA)
    if len(pattern) != sizes["layers"] or set(pattern) - set(names):
        letters = ", ".join(names) if experts is not None else "M, * or -"
        message = f"found {pattern!r:.60}; a letter of {letters} for each of {sizes['layers']} layers is needed"
        file.note("hybrid_override_pattern", message)
        return
    found.mixers[:] = [names[letter] for letter in pattern]
    found.blocks[:] = [""] * len(pattern)


_OF_MAMBA = (
    "mamba_conv_bias", "mamba_hidden_act", "mamba_inner_layernorms", "mamba_proj_bias", "mamba_rms_norm",
    "mamba_norm_before_gate", "mamba_ssm_cache_dtype", "mlp_hidden_act", "use_conv_bias", "expand", "use_mamba_kernels",
    "time_step_rank", "rms_norm", "moe_shared_expert_overlap", "mamba_use_mlp",
)  # fmt: skip
"""Keys of Mamba that change nothing here."""


def _of_mamba2(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set layers of Mamba-2 alone."""
    mamba = state_space(
        found, file, heads=sizes["heads"], width=sizes["head_width"], groups=file.size("n_groups") or 1,
        states=file.size("state_size") or 128,
    )  # fmt: skip
    _leave(file, _OF_MAMBA)
    found.mixers[:], found.blocks[:] = [mamba] * len(found.mixers), [""] * len(found.mixers)


def _mamba_of_heads(found: Layers, file: ModelFile, sizes: Sizes) -> str:
    """Return the layer of Mamba-2 of Bamba, Granite 4 and Falcon-H1."""
    heads = file.needed("the number of heads of Mamba", "mamba_n_heads")
    expanded = (file.size("mamba_expand") or 2) * sizes["hidden"]
    inner = file.size("mamba_d_ssm") or expanded
    given = None if file.value("mamba_d_head") == "auto" else file.size("mamba_d_head")
    _leave(file, _OF_MAMBA)
    return state_space(
        found, file, heads=heads, width=given or max(inner // heads, 1), groups=file.size("mamba_n_groups") or 1,
        states=file.size("mamba_d_state") or 256,
    )  # fmt: skip


def _of_granite_hybrid(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set Mamba-2 or attention as a list says, each before experts or a block that all tokens pass."""
    mamba, listed = _mamba_of_heads(found, file, sizes), file.value("layer_types") or file.value("layers_block_type")
    names = {"mamba": mamba, "linear_attention": mamba, "attention": ATTENTION, "full_attention": ATTENTION}
    if not isinstance(listed, list) or len(listed) != len(found.mixers) or set(map(str, listed)) - set(names):
        file.note("layer_types", f"found {listed!r:.60}; one of {', '.join(names)} for each layer is needed")
        return
    found.mixers[:] = [names[one] for one in listed]
    if sizes["experts"] is None and (width := file.size("shared_intermediate_size")) is not None:
        block = found.name("shared", "feed-forward", width=width, gated=True)
        found.blocks[:] = [block] * len(found.blocks)


def _of_bamba(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set attention in the layers of a list, and Mamba-2 in the others."""
    mamba, listed = _mamba_of_heads(found, file, sizes), file.value("attn_layer_indices") or []
    if not isinstance(listed, list):
        file.note("attn_layer_indices", f"found {listed!r:.60}; a list of numbers of layers is needed")
        return
    found.mixers[:] = [ATTENTION if at in listed else mamba for at in range(len(found.mixers))]


def _of_falcon_h1(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set Mamba-2 and attention in every layer."""
    found.mixers[:] = [f"{_mamba_of_heads(found, file, sizes)} {ATTENTION}"] * len(found.mixers)


def _of_gemma4(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set windows, and wide heads in the layers that see all; a block and experts follow each other."""
    for key in ("hidden_size_per_layer_input", "num_kv_shared_layers"):
        if value := file.value(key):
            file.note(key, f"found {value!r:.60}; inputs or keys of other layers are not computed; 0 is none")
    count, listed = len(found.mixers), file.value("layer_types")
    kinds = ["full_attention" if (at + 1) % 6 == 0 else "sliding_attention" for at in range(count)]
    kinds = kinds if listed is None else listed
    window = found.name("window", "grouped-attention", **grouped(sizes, window=file.size("sliding_window")))
    shared = {"shared_projection": True} if file.value("attention_k_eq_v") else {}
    pairs = file.size("num_global_key_value_heads") if shared else None
    wide = {"head_width": file.size("global_head_dim"), "kv_heads": pairs or sizes["kv_heads"]}
    names = {
        "sliding_attention": window,
        "full_attention": found.name("full", "grouped-attention", **{**grouped(sizes), **wide, **shared}),
    }
    if not isinstance(kinds, list) or len(kinds) != count or set(map(str, kinds)) - set(names):
        file.note("layer_types", f"found {kinds!r:.60}; one of {', '.join(names)} for each of {count} layers is needed")
        return
    _leave(file, ("enable_moe_block", "use_double_wide_mlp", "vocab_size_per_layer_input"))
    found.mixers[:] = [names[one] for one in kinds]
    if sizes["experts"] is not None:
        found.blocks[:] = [f"{DENSE} {EXPERTS}"] * count


def _of_mimo_v2(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set windows with keys and values of their own where a list has ones, and heads of narrow values."""
    count, listed, values = len(found.mixers), file.value("hybrid_layer_pattern"), file.size("v_head_dim")
    if listed is None and isinstance(file.value("layer_types"), list):
        listed = [int(one == "sliding_attention") for one in file.value("layer_types")]
    if not isinstance(listed, list) or len(listed) != count or any(one not in (0, 1) for one in listed):
        file.note("hybrid_layer_pattern", f"found {listed!r:.60}; a list of {count} is needed, 1 for a window")
        return
    full = found.name("full", "grouped-attention", **grouped(sizes, value_width=values))
    own = {
        "kv_heads": file.size("swa_num_key_value_heads") or 8,
        "heads": file.size("swa_num_attention_heads"),
        "head_width": file.size("swa_head_dim"),
        "value_width": file.size("swa_v_head_dim") or values,
        "window": file.size("sliding_window", "sliding_window_size") or 128,
        "sinks": True,
    }
    given = {key: value for key, value in own.items() if value is not None}
    window = found.name("window", "grouped-attention", **{**grouped(sizes), **given})
    _leave(file, _OF_MIMO)
    found.mixers[:] = [window if one else full for one in listed]


_OF_MIMO = (
    "add_swa_attention_sink_bias", "add_full_attention_sink_bias", "swa_rope_theta", "attention_projection_layout",
    "attention_chunk_size",
)  # fmt: skip
"""Keys of MiMo that change nothing here; chunks are as wide as windows."""


def _of_qwen3_next(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set gated attention in every n-th layer, and the gated delta rule in the others."""
    interval, listed = file.size("full_attention_interval") or 4, file.value("layer_types")
    delta = found.name(
        "delta", "gated-delta", key_heads=file.needed("the heads of keys", "linear_num_key_heads"),
        value_heads=file.needed("the heads of values", "linear_num_value_heads"),
        key_width=file.needed("the width of a head of keys", "linear_key_head_dim"),
        value_width=file.needed("the width of a head of values", "linear_value_head_dim"),
        taps=file.size("linear_conv_kernel_dim") or 4,
    )  # fmt: skip
    full = found.name("gated", "grouped-attention", **grouped(sizes, gated=True))
    kinds = [full if (at + 1) % interval == 0 else delta for at in range(len(found.mixers))]
    if listed is not None:
        names = {"full_attention": full, "linear_attention": delta}
        if not isinstance(listed, list) or len(listed) != len(kinds) or set(map(str, listed)) - set(names):
            message = f"found {listed!r:.60}; one of {', '.join(names)} for each of {len(kinds)} layers is needed"
            file.note("layer_types", message)
            return
        kinds = [names[one] for one in listed]
    _leave(file, ("attn_output_gate",))
    found.mixers[:] = kinds


def _of_kimi_linear(found: Layers, file: ModelFile, sizes: Sizes) -> None:  # noqa: ARG001 - the signature of classes
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
    found.mixers[:] = [name if at + 1 in listed else ATTENTION for at in range(len(found.mixers))]


def _of_minimax_m2(found: Layers, file: ModelFile, sizes: Sizes) -> None:  # noqa: ARG001 - the signature of classes
    """Leave full attention in every layer, which a list says with ones."""
    kinds = file.value("attn_type_list") or []
    if not isinstance(kinds, list) or any(kind != 1 for kind in kinds):
        file.note("attn_type_list", f"found {kinds!r:.60}; only 1, full attention, is computed")


def _leave(file: ModelFile, keys: Sequence[str]) -> None:
    """Read keys that change nothing here."""
    for key in keys:
        file.value(key)


CLASSES = {
    "bamba": _of_bamba,
    "falcon_h1": _of_falcon_h1,
    "gemma4_text": _of_gemma4,
    "granitemoehybrid": _of_granite_hybrid,
    "jamba": _of_jamba,
    "kimi_linear": _of_kimi_linear,
    "mamba2": _of_mamba2,
    "mimo_v2_flash": _of_mimo_v2,
    "minimax_m2": _of_minimax_m2,
    "nemotron_h": _of_nemotron_h,
    "qwen3_5_moe_text": _of_qwen3_next,
    "qwen3_5_text": _of_qwen3_next,
    "qwen3_next": _of_qwen3_next,
}
"""Classes by type."""
