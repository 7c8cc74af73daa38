"""Layers of a Hugging Face configuration whose attention sees a part of the sequence alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evo_libra.workload.models.model_file import ModelFile

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"


@dataclass(frozen=True)
class Window:
    """A part of the sequence that a layer attends to.

    Attributes
    ----------
    tokens : of a window.
    chunked : whether a token attends to those of its chunk, and not to the `tokens` before it.
    """

    tokens: int
    chunked: bool = False


Kinds = Callable[[ModelFile, int], list[str]]
"""A function that returns the kind of attention of each of a number of layers."""


def _alternating(usual: int) -> Kinds:
    """Return the kinds of models in which every n-th layer attends to the whole sequence; 0 for none of them."""

    def kinds(file: ModelFile, layers: int) -> list[str]:
        given = _period(file)
        period = usual if given is None else given
        return [FULL if period and (at + 1) % period == 0 else SLIDING for at in range(layers)]

    return kinds


def _period(file: ModelFile) -> int | None:
    """Return the n of every n-th layer that attends to all; LLLG says as much as 4."""
    for key in ("sliding_window_pattern", "_sliding_window_pattern"):
        word = file.value(key)
        if isinstance(word, str) and word and word == "L" * (len(word) - 1) + "G":
            return len(word)
    return file.size("sliding_window_pattern", "_sliding_window_pattern")


_SAME_IN_ALL = _alternating(0)


def _from_a_layer_on(file: ModelFile, layers: int) -> list[str]:
    first = _first_layers(file)
    return [FULL if at < first else SLIDING for at in range(layers)]


def _every_second_of_the_first(file: ModelFile, layers: int) -> list[str]:
    first = _first_layers(file)
    return [SLIDING if at < first and at % 2 == 0 else FULL for at in range(layers)]


def _first_layers(file: ModelFile) -> int:
    given = file.size("max_window_layers", least=0)
    return 28 if given is None else given


def _by_positions(rotary: str, others: str) -> Kinds:
    """Return the kinds of models whose layers with rotary positions are of one kind, and those without of another."""

    def kinds(file: ModelFile, layers: int) -> list[str]:
        period = file.size("no_rope_layer_interval") or 4
        given = file.value("no_rope_layers") or [(at + 1) % period for at in range(layers)]
        if not isinstance(given, list) or len(given) < layers:
            file.note("no_rope_layers", f"found {given!r:.60}; a list of {layers} is needed, 0 or 1 for each layer")
            return [FULL] * layers
        return [rotary if one else others for one in given[:layers]]

    return kinds


def _of_gpt_neo(file: ModelFile, layers: int) -> list[str]:
    given = file.value("attention_layers")
    blocks = file.value("attention_types", [[["global", "local"], layers // 2]])
    if given is None:
        try:
            given = [one for names, times in blocks for _ in range(min(times, layers)) for one in names]
        except (TypeError, ValueError):
            file.note("attention_types", f"found {blocks!r:.60}; a list such as [[['global', 'local'], 12]] is needed")
            return [FULL] * layers
    key = "attention_types" if file.value("attention_layers") is None else "attention_layers"
    return _named(file, key, given, {"global": FULL, "local": SLIDING}, layers)


def _named(file: ModelFile, key: str, given: Any, kinds: Mapping[str, str], layers: int) -> list[str]:  # noqa: ANN401 - whatever the file has
    """Return the kinds that a list names, one for each layer."""
    if not isinstance(given, list) or len(given) != layers:
        file.note(key, f"found {given!r:.60}; a list of {layers} is needed, a kind of attention for each layer")
        return [FULL] * layers
    names = [str(one) for one in given]
    for name in dict.fromkeys(one for one in names if one not in kinds):
        count = names.count(name)
        file.note(
            key, f"found {name} in {count} of {layers} layers, which is not computed; allowed: {', '.join(kinds)}"
        )
    return [kinds.get(name, FULL) for name in names]


@dataclass(frozen=True)
class _Usual:
    """Defaults of a class of models for missing keys of its file.

    Attributes
    ----------
    tokens : of a window; None for no windows.
    kinds : kind of attention of each layer.
    asked : whether there are windows only with `use_sliding_window: true`.
    """

    tokens: int | None = None
    kinds: Kinds = _SAME_IN_ALL
    asked: bool = False


_USUAL = {
    "cohere2": _Usual(4096, _alternating(4)),
    "exaone4": _Usual(4096, _alternating(4)),
    "gemma2": _Usual(4096, _alternating(2)),
    "gemma3_text": _Usual(4096, _alternating(6)),
    "gpt_neo": _Usual(256, _of_gpt_neo),
    "gpt_oss": _Usual(128, _alternating(2)),
    "llama4_text": _Usual(8192, _by_positions(CHUNKED, FULL)),
    "ministral": _Usual(4096),
    "mistral": _Usual(4096),
    "olmo3": _Usual(4096, _alternating(4)),
    "qwen2": _Usual(4096, _from_a_layer_on, asked=True),
    "qwen2_5_vl_text": _Usual(4096, _from_a_layer_on, asked=True),
    "qwen2_moe": _Usual(4096, _every_second_of_the_first, asked=True),
    "qwen2_vl_text": _Usual(4096, _from_a_layer_on, asked=True),
    "qwen3": _Usual(4096, _from_a_layer_on, asked=True),
    "qwen3_moe": _Usual(4096, asked=True),
    "smollm3": _Usual(None, _by_positions(FULL, SLIDING), asked=True),
}
"""Classes of Hugging Face's transformers by model_type, with the defaults of their configurations."""


def windows_of(file: ModelFile, layers: int) -> list[Window | None]:
    """Return the window of each layer of a model, None for the whole sequence; wrong keys are noted in the file."""
    usual = _USUAL.get(file.kind or "", _Usual())
    kinds, listed = usual.kinds(file, layers), file.value("layer_types")
    if listed is not None:  # It counts before the keys that the class makes it from, where a file has both.
        kinds = _named(file, "layer_types", listed, {kind: kind for kind in (FULL, SLIDING, CHUNKED)}, layers)
    found = {kind: _window(file, usual, kind, kinds.count(kind)) for kind in (SLIDING, CHUNKED)}
    return [found.get(kind) for kind in kinds]


def _window(file: ModelFile, usual: _Usual, kind: str, layers: int) -> Window | None:
    """Return the window of a kind that some layers have; None where it is not computed."""
    key = "attention_chunk_size" if kind == CHUNKED else "sliding_window"
    key = "window_size" if usual.kinds is _of_gpt_neo else key
    if not layers and kind == CHUNKED:
        return None
    tokens = usual.tokens if file.value(key, usual) is usual else file.size(key)
    has_windows = kind == CHUNKED or _is_on(file, usual)
    if not layers or not has_windows:
        return None
    if tokens is None and file.value("layer_types") is not None:
        file.note("layer_types", f"found {kind} in {layers} layers; the key `{key}` is required, tokens of a window")
    return None if tokens is None else Window(tokens, chunked=kind == CHUNKED)


def _is_on(file: ModelFile, usual: _Usual) -> bool:
    """Return whether the model has its sliding windows at all."""
    given = file.value("use_sliding_window")
    if given is not None and not isinstance(given, bool):
        file.note("use_sliding_window", f"found {given!r:.60}; true or false is needed")
    return not usual.asked if given is None else bool(given)
