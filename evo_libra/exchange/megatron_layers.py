"""Layers of Megatron-LM that differ: experts in some of them, windows, hybrid patterns, linear attention."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evo_libra.exchange.keys import Keys
from evo_libra.files.mistakes import KeyPath

_MOST = 10_000
_BRACES = str.maketrans("{}", "()")
_FREQUENCY = "an n of every n-th layer, or a list such as [0]*3+[1]*58"


def frequency(keys: Keys, path: KeyPath, layers: int) -> list[int] | None:
    """Return 1 or 0 for each layer, of a frequency or a list of Python; None without one."""
    value = keys.raw(*path)
    if value is None:
        return None
    if isinstance(value, list):
        found: Any = value
    else:
        found = _evaluated(str(value))
    if type(found) is int and found >= 1:
        return [int(at % found == 0) for at in range(layers)]
    if not isinstance(found, list) or len(found) != layers or any(one not in (0, 1) for one in found):
        keys.wrong(path, f"found {value!r:.60}; {_FREQUENCY}, is needed for {layers} layers")
        return None
    return [int(one) for one in found]


def _evaluated(text: str) -> Any:  # noqa: ANN401 - a number, a list, or None
    """Return the value of an expression of numbers, lists, sums and products; None for any other.

    >>> _evaluated("{[0]*2+[1]}*2"), _evaluated("3"), _evaluated("open('x')")
    ([0, 0, 1, 0, 0, 1], 3, None)
    """
    text = text.translate(_BRACES).strip("'\"")
    text = text[: len(text) - max(text.count(")") - text.count("("), 0)] if text.endswith(")") else text
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _value(node: ast.expr) -> Any:  # noqa: ANN401 - likewise
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.List):
        return [_value(one) for one in node.elts]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        first, second = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Add) and type(first) is type(second):
            return _checked(first + second)
        if isinstance(node.op, ast.Mult) and int in (type(first), type(second)):
            one, times = (first, second) if isinstance(first, list) else (second, first)
            if not isinstance(one, list) or len(one) * times <= _MOST:
                return first * second
    raise ValueError


def _checked(value: Any) -> Any:  # noqa: ANN401 - likewise
    if isinstance(value, list) and len(value) > _MOST:
        raise ValueError
    return value


def rule(parts: Sequence[str], layers: Sequence[int]) -> dict[str, Any]:
    """Return the rule of some layers: a range where they are one, else a list."""
    every = layers[1] - layers[0] if len(layers) > 1 else 1
    if list(layers) != list(range(layers[0], layers[-1] + 1, every)):
        return {"parts": list(parts), "at": list(layers)}
    return {"parts": list(parts), "start": layers[0], "stop": layers[-1] + 1, "every": every}


def stack_of(layers: Sequence[tuple[str, ...]], usual: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return rules for the layers of each kind that differs from the usual ones anywhere."""
    return [
        rule(kind, [at for at, one in enumerate(layers) if one == kind])
        for kind in dict.fromkeys(layers)
        if any(one == kind != other for one, other in zip(layers, usual, strict=True))
    ]


def window_of(keys: Keys) -> int | None:
    """Return the tokens of the window that `--window-size 128,0` has; None without one."""
    value = keys.raw("window-size")
    if value is None:
        return None
    found = re.match(r"[({\[]*([0-9]{1,9})", str(value))
    if found is None:
        keys.wrong(("window-size",), f"found {value!r:.60}; tokens before and after, such as 128,0, are needed")
        return None
    return int(found[1]) or 1


def windowed_layers(keys: Keys, layers: int) -> list[int]:
    """Return 1 for each layer with a window; of a number n, every n-th layer has none, counted from 1."""
    value = keys.raw("window-attn-skip-freq")
    number = _evaluated(str(value)) if value is not None else None
    if type(number) is int and number >= 1:
        return [int((at + 1) % number != 0) for at in range(layers)]
    return frequency(keys, ("window-attn-skip-freq",), layers) or [1] * layers


PATTERNS = ("hybrid-override-pattern", "hybrid-layer-pattern")


def pattern_of(keys: Keys) -> tuple[str, int] | None:
    """Return the letters of a hybrid model and how many layers predict further tokens; None for another model."""
    path = next(((name,) for name in PATTERNS if keys.raw(name) is not None), None)
    if path is None:
        return None
    main, *further = str(keys.raw(*path)).replace("|", "").split("/")
    if not main or set(main) - set("M*-E"):
        unknown = "".join(sorted(set(main) - set("M*-E")))
        keys.wrong(path, f"found {main!r:.60} with {unknown or 'nothing'}; M, *, - and E are computed")
    return main, len(further)


def hybrid_parts(keys: Keys, generator: Mapping[str, Any], pattern: str) -> dict[str, Any]:
    """Return sublayers and rules of a hybrid model of Mamba-2, attention, blocks and experts."""
    width, hidden = keys.size("mamba-head-dim") or 64, generator["hidden"]
    heads = keys.size("mamba-num-heads") or max(2 * hidden // width, 1)
    mamba = {
        "kind": "state-space", "heads": heads, "head_width": width,
        "groups": keys.size("mamba-num-groups") or 8, "state_width": keys.size("mamba-state-dim") or 128,
    }  # fmt: skip
    names = {"M": "mamba", "*": "attention", "-": "feed-forward", "E": "experts"}
    kinds = [(names[letter],) for letter in pattern if letter in names]
    rules = [rule(kind, [at for at, one in enumerate(kinds) if one == kind]) for kind in dict.fromkeys(kinds)]
    return {"sublayers": {"mamba": mamba} if "M" in pattern else {}, "stack": rules}


def layers_of(keys: Keys, generator: Mapping[str, Any], blocks: Sequence[int] | None) -> dict[str, Any]:
    """Return sublayers and rules of layers that differ; nothing where all are as the other keys have them.

    Parameters
    ----------
    generator : the model without them.
    blocks : 1 for each layer with experts, else 0; None where all of them have what the model has.
    """
    count, experts = generator["layers"], generator.get("experts")
    dense = count if experts is None else experts["dense_layers"]
    usual = ["feed-forward" if at < dense else "experts" for at in range(count)]
    found = usual if blocks is None or experts is None else ["experts" if one else "feed-forward" for one in blocks]
    mixers, sublayers = _mixers(keys, generator)
    layers, plain = list(zip(mixers, found, strict=True)), [("attention", block) for block in usual]
    rules = stack_of(layers, plain)
    return {"sublayers": sublayers, "stack": rules} if rules else {}


def _mixers(keys: Keys, generator: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the token mixer of each layer, and the sublayers that these are."""
    count, sublayers = generator["layers"], dict[str, Any]()
    mixers, window = ["attention"] * count, window_of(keys)
    gated = {"gated": True} if keys.flag("attention-output-gate") else {}
    if gated:
        sublayers["gated"] = _grouped(generator) | gated
        mixers = ["gated"] * count
    if window is not None:
        sublayers["window"] = _grouped(generator) | {"window": window} | gated
        flags = windowed_layers(keys, count)
        mixers = ["window" if one else mixer for one, mixer in zip(flags, mixers, strict=True)]
    variant = keys.raw("experimental-attention-variant")
    if variant in ("gated_delta_net", "gdn"):
        sublayers["delta"] = _delta(keys)
        listed = frequency(keys, ("linear-attention-freq",), count) or [1] * count
        if type(value := keys.raw("linear-attention-freq")) is int:
            listed = [int((at + 1) % value != 0) for at in range(count)]
        mixers = ["delta" if one else mixer for one, mixer in zip(listed, mixers, strict=True)]
    elif variant == "dsa" and "latent" in generator:
        sublayers["sparse"] = _sparse(keys, generator)
        mixers = ["sparse"] * count
    elif variant is not None:
        message = "gated_delta_net, and dsa with multi-latent-attention, are computed"
        keys.wrong(("experimental-attention-variant",), f"found {variant!r:.60}; {message}")
    return mixers, sublayers


def _grouped(generator: Mapping[str, Any]) -> dict[str, Any]:
    heads = generator["heads"]
    found = {
        "kind": "grouped-attention", "heads": heads, "kv_heads": generator.get("kv_heads") or heads,
        "head_width": generator.get("head_width") or generator["hidden"] // heads,
    }  # fmt: skip
    return found | ({"biased": True} if generator.get("biased", not generator["gated"]) else {})


def _delta(keys: Keys) -> dict[str, Any]:
    return {
        "kind": "gated-delta", "key_heads": keys.size("linear-num-key-heads") or 16,
        "value_heads": keys.size("linear-num-value-heads") or 32, "key_width": keys.size("linear-key-head-dim") or 128,
        "value_width": keys.size("linear-value-head-dim") or 128, "taps": keys.size("linear-conv-kernel-dim") or 4,
    }  # fmt: skip


def _sparse(keys: Keys, generator: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "sparse-latent-attention", "heads": generator["heads"], **generator["latent"],
        "query_rank": generator["latent"].get("query_rank"), "index_heads": keys.size("dsa-indexer-n-heads") or 64,
        "index_width": keys.size("dsa-indexer-head-dim") or 128, "top_k": keys.size("dsa-indexer-topk") or 2048,
    }  # fmt: skip
