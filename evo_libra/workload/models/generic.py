"""Language models of no maker, whose shape follows from their numbers of weights by stated rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from evo_libra.errors import InputError
from evo_libra.files.source import StrictModel
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec, Experts

_UNITS = {"M": 1e6, "B": 1e9, "T": 1e12}
MIN_WEIGHTS, MAX_WEIGHTS = 1e9, 1e14
_HEAD, _KV_HEADS, _VOCABULARY, _SEQUENCE = 128, 8, 128_256, 8192
"""Width of a head, heads of keys and values, vocabulary and sequence, all of Llama 3 (arXiv 2407.21783)."""
_STEP = 1024
"""Widths of the model are multiples of it: eight heads, for tensor parallel groups of eight."""
_USUAL_RATIO, _CHOSEN = 3.5, 8
"""Feed-forward width over that of the model (Llama 3); experts of a token (DeepSeek-V3, Qwen3)."""
_TOLERANCE = 0.004
"""Largest part by which the width of experts, and with it the total, may differ."""
_NARROWEST = 128
"""Least width of an expert, chosen: hundreds of slivers next to a wide shared expert are no mixture."""
_LIMITS = ((0.5, 1024, 16), (0.0, 1280, 16), (0.0, 1280, 8))
"""Least width of the shared expert over that of others, most experts of a layer, and what widths of experts are
multiples of: the next ones where those before give no model, as routers of many experts are large, or as few experts
have widths that the total lies between."""


def _weights(value: Any) -> Any:  # noqa: ANN401 - whatever the file has
    """Return the number that a text such as 1T or 64B stands for; other values are checked by the model."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([MBT])", value)
    if found is None:
        raise ValueError("a number of weights is needed, such as 1T, 405B or 7.5e+10")
    return float(found[1]) * _UNITS[found[2]]


def weights_text(weights: float) -> str:
    """Return a number of weights as people write it.

    >>> weights_text(1e12), weights_text(64e9), weights_text(7.5e9)
    ('1T', '64B', '7.5B')
    """
    unit = next(unit for unit in ("T", "B", "M") if weights >= _UNITS[unit] or unit == "M")
    return f"{weights / _UNITS[unit]:.6g}{unit}"


Weights = Annotated[
    float, BeforeValidator(_weights, json_schema_input_type=float | str), Field(ge=MIN_WEIGHTS, le=MAX_WEIGHTS),
]  # fmt: skip
"""Number of weights, as a number or as a text with the unit M, B or T."""


class RoutedWeights(StrictModel):
    """Weights of a model with experts."""

    total: Weights = Field(description="of all experts together, such as 2T")
    active: Weights = Field(description="that a token passes, such as 64B; at most half of the total")


def dense_model(weights: float) -> DecoderSpec:
    """Return the dense model of about as many weights.

    It has 128 times the layers in width (Kaplan et al. 2020, arXiv 2001.08361: loss barely depends on the shape
    between 50 and 200; Llama 3 has 102 to 130). Of widths the one is taken whose model with the feed-forward blocks of
    Llama 3 is nearest, and the width of these blocks makes up for the rest.
    """
    hidden = _width(weights)
    layers = hidden // 128
    left = (weights - _ends(hidden)) / layers - _attention(hidden)
    return _spec(
        hidden, feed_forward=_multiple(left / (3 * hidden), 64), what=f"dense model of {weights_text(weights)}"
    )


def routed_model(total: float, active: float) -> DecoderSpec:
    """Return the model with experts of about as many weights.

    Width and layers are those of the dense model of the active weights. A token passes eight experts and a shared one,
    as in DeepSeek-V3 (arXiv 2412.19437), in every layer. Their number is a multiple of eight that makes the shared
    expert nearly as wide as the others. The width of experts makes up for the total, that of the shared one for the
    active weights.

    Raises
    ------
    InputError : no number of experts up to 1,280 gives both.
    """
    hidden = _width(active)
    layers = hidden // 128
    spare = (active - _ends(hidden)) / layers - _attention(hidden)
    tried = (list(_experts(hidden, (total - active) / layers, spare, *limits)) for limits in _LIMITS)
    possible = next((found for found in tried if found), [])
    if not possible:
        both = f"{weights_text(total)} weights with {weights_text(active)} active"
        raise InputError(
            f"no model of {both} follows from the rules; totals of 3.5 to 60 times the active weights do, "
            "from 1.5B active weights on"
        )
    count, width, shared = min(possible, key=lambda each: abs(each[2] / each[1] - 1.0))
    experts = Experts(count=count, per_token=_CHOSEN, feed_forward=width, shared_feed_forward=shared)
    what = f"model of {weights_text(total)} with {weights_text(active)} active"
    return _spec(hidden, feed_forward=_CHOSEN * width + shared, experts=experts, what=what)


def generic_model(dense: float | None, moe: RoutedWeights | None) -> Decoder | None:
    """Return the model of a size under a name that says it; None without a size."""
    if dense is not None:
        return decoder_of(f"dense-{weights_text(dense)}", dense_model(dense))
    if moe is not None:
        name = f"moe-{weights_text(moe.total)}-a{weights_text(moe.active)}"
        return decoder_of(name, routed_model(moe.total, moe.active))
    return None


def _experts(
    hidden: int, inactive: float, spare: float, share: float, most: int, step: int
) -> Iterator[tuple[int, int, int]]:
    """Yield experts of a layer, their width and that of the shared one.

    Parameters
    ----------
    inactive : weights of a layer that a token does not pass.
    spare : weights of a layer that a token passes, without attention.
    share : least width of the shared expert over that of the others; most : experts; step : widths are multiples of it.
    """
    for count in range(_CHOSEN + 8, most + 1, 8):
        exact = inactive / (3 * hidden * (count - _CHOSEN))
        width = _multiple(exact, step)
        shared = (spare - count * hidden) / (3 * hidden) - _CHOSEN * width
        if width >= _NARROWEST and abs(width / exact - 1.0) <= _TOLERANCE and shared >= share * width:
            yield count, width, _multiple(shared, 16)


def _width(weights: float) -> int:
    """Return the width of the dense model with usual feed-forward blocks that is nearest to a number of weights."""
    return min(range(2 * _STEP, 256 * _STEP, _STEP), key=lambda hidden: abs(1.0 - _usual(hidden) / weights))


def _usual(hidden: int) -> float:
    return _ends(hidden) + hidden // 128 * (_attention(hidden) + 3 * _USUAL_RATIO * hidden**2)


def _ends(hidden: int) -> int:
    """Return the weights of embedding and head."""
    return 2 * _VOCABULARY * hidden


def _attention(hidden: int) -> int:
    """Return the weights of attention in a layer."""
    return 2 * hidden * (hidden + _KV_HEADS * _HEAD)


def _multiple(value: float, of: int) -> int:
    return max(round(value / of), 1) * of


def _spec(hidden: int, *, feed_forward: int, what: str, experts: Experts | None = None) -> DecoderSpec:
    return DecoderSpec(
        layers=hidden // 128, hidden=hidden, heads=hidden // _HEAD, kv_heads=_KV_HEADS, feed_forward=feed_forward,
        gated=True, vocabulary=_VOCABULARY, sequence=_SEQUENCE, experts=experts, source=f"generic {what}",
    )  # fmt: skip
