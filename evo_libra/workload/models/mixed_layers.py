"""Layers of a Hugging Face configuration that differ: the parts that each has, and the rules that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evo_libra.workload.models.attention_windows import windows_of
from evo_libra.workload.models.layer_classes import CLASSES
from evo_libra.workload.models.mixed_parts import ATTENTION, DENSE, EXPERTS, Layers, Sizes, grouped
from evo_libra.workload.models.model_file import ModelFile


def mixed_layers(file: ModelFile, sizes: Sizes) -> dict[str, Any]:
    """Return the sublayers and the rules of a stack; both are empty where layers are as other keys have them."""
    count, dense = sizes["layers"], 0 if sizes["experts"] is None else sizes["experts"].dense_layers
    usual = [DENSE if sizes["experts"] is None or layer < dense else EXPERTS for layer in range(count)]
    found = Layers([ATTENTION] * count, _blocks(file, usual))
    _fill(found, file, sizes)
    parts = [tuple(f"{mixer} {block}".split()) for mixer, block in zip(found.mixers, found.blocks, strict=True)]
    rules = [
        {"parts": list(kind), **_range([layer for layer, one in enumerate(parts) if one == kind])}
        for kind in dict.fromkeys(parts)
        if any(one == kind != (ATTENTION, block) for one, block in zip(parts, usual, strict=True))
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


_STEPS = ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval")
_NAMES = {"dense": DENSE, "sparse": EXPERTS, 0: DENSE, 1: EXPERTS}
"""Blocks by the names that lists of some files give them."""


def _listed_blocks(file: ModelFile, usual: list[str]) -> list[str] | None:
    """Return the block of each layer that a list names; None without such a list."""
    places = file.value("moe_layers")
    if isinstance(places, list) and EXPERTS in usual:
        return [EXPERTS if at in places else DENSE for at in range(len(usual))]
    key = next((key for key in ("mlp_layer_types", "moe_layer_freq") if isinstance(file.value(key), list)), None)
    if key is None:
        return None
    given = [one for one in file.value(key) if isinstance(one, str | int) and one in _NAMES]
    if len(given) != len(usual):
        file.note(key, f"found {file.value(key)!r:.60}; one of {', '.join(map(str, _NAMES))} for each layer is needed")
        return None
    return [_NAMES[one] for one in given]


def _blocks(file: ModelFile, usual: list[str]) -> list[str]:
    """Return the block of each layer: a dense one where keys say that experts are in every n-th layer alone."""
    file.read.update(_STEPS)
    if (listed := _listed_blocks(file, usual)) is not None:
        return listed
    last = file.size("moe_layer_end_index", least=-1)
    if last is not None and last != -1 and last < len(usual) - 1:
        file.note("moe_layer_end_index", f"found {last}; experts up to the last layer are computed, as -1 says")
    step, freq = file.size(*_STEPS) or 1, file.size("moe_layer_freq") or 1
    period, offset = file.size("expert_layer_period") or 1, file.size("expert_layer_offset", least=0) or 0
    dense = file.value("mlp_only_layers") or []
    if not isinstance(dense, list) or not all(isinstance(layer, int) for layer in dense):
        file.note("mlp_only_layers", f"found {dense!r:.60}; a list of numbers of layers is needed")
        dense = []
    return [
        block if (at + 1) % step == 0 and at % freq == 0 and at % period == offset % period and at not in dense
        else DENSE
        for at, block in enumerate(usual)
    ]  # fmt: skip


def _fill(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set what the layers of a model mix tokens with, by its class."""
    fill = CLASSES.get(file.kind or "")
    if fill is not None:
        fill(found, file, sizes)
    elif sizes["latent"] is not None and file.find("index_topk") is not None:
        _sparse(found, file, sizes)
    else:
        _windows(found, file, sizes)


def _windows(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    """Set windows of attention, and sinks in every layer of classes that have them."""
    sinks = {"sinks": True} if file.kind == "gpt_oss" else {}
    for layer, window in enumerate(windows_of(file, sizes["layers"])):
        if window is None and not sinks:
            continue
        if window is None:
            found.mixers[layer] = found.name("full", "grouped-attention", **grouped(sizes, **sinks))
            continue
        chunked = {"chunked": True} if window.chunked else {}
        keys = grouped(sizes, window=window.tokens, **chunked, **sinks)
        found.mixers[layer] = found.name("chunks" if window.chunked else "window", "grouped-attention", **keys)


def _sparse(found: Layers, file: ModelFile, sizes: Sizes) -> None:
    name = found.name(
        "sparse", "sparse-latent-attention", heads=sizes["heads"], **sizes["latent"].model_dump(),
        index_heads=file.needed("the number of heads of the index", "index_n_heads"),
        index_width=file.needed("the width of a head of the index", "index_head_dim"),
        top_k=file.needed("the number of tokens that one attends to", "index_topk"),
    )  # fmt: skip
    found.mixers[:] = [name] * len(found.mixers)
