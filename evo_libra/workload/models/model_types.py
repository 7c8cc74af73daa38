"""Decoders of Hugging Face by `model_type`: the rules of each, and defaults of absent keys."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from pydantic import Field, RootModel

from evo_libra.errors import suggestion, unknown
from evo_libra.files.source import StrictModel, read_packaged, validate

_FILE = Path(__file__).parent / "model_types.yaml"
_INSIDE = {
    "kimi_k25": "kimi_k2", "kimi_vl": "deepseek_v3", "llava": "llama", "llava_next": "llama", "mistral3": "mistral",
}  # fmt: skip
"""Models of several models -> the language model inside, where it is not named as the whole with `_text`."""

_SIMILAR, _NAMED = 0.5, 3
"""Part of the keys of a type that a similar one has, and how many of these are named."""


class ModelType(StrictModel):
    """Rules of a class of models, which their files do not say."""

    same_as: str | None = Field(None, description="type that has the same rules")
    gated: bool = Field(default=True, description="whether a feed-forward block has a third matrix")
    biased: bool | None = Field(None, description="whether there are biases; those that are not gated when left out")
    key_of_biases: str = Field("", description="key of a file that says whether there are biases")
    learned_positions: bool = Field(default=False, description="whether positions have weights, as in GPT-2")
    further_positions: int = Field(0, description="rows of these beyond the longest context")
    parallel: bool = Field(default=False, description="whether attention and block add to the same input")
    defaults: dict[str, int | bool] = Field({}, description="values of keys that a file does not have")


class _Types(RootModel[dict[str, ModelType]]):
    pass


@lru_cache(maxsize=1)
def model_types() -> dict[str, ModelType]:
    """Return the rules of every type by its name."""
    read = validate(_Types, read_packaged(_FILE)).root
    return {name: one if one.same_as is None else read[one.same_as] for name, one in read.items()}


def type_of(name: object) -> str | None:
    """Return the type whose rules a model of some `model_type` has; None where they are not known.

    >>> type_of("llama"), type_of("qwen3_vl"), type_of("mistral3"), type_of("t5")
    ('llama', 'qwen3_vl_text', 'mistral', None)
    """
    tried = (str(name), f"{name}_text", _INSIDE.get(str(name), ""))
    return next((one for one in tried if one in model_types()), None)


def unknown_type(name: object, keys: Collection[str]) -> str:
    """Return the sentence of a type that is not known, with the types whose files have the most of some keys."""
    shares = {kind: _shared(set(one.defaults), set(keys)) for kind, one in model_types().items()}
    similar = sorted((kind for kind, share in shares.items() if share >= _SIMILAR), key=lambda kind: -shares[kind])
    if not similar:
        return unknown("model_type", str(name), model_types())
    same = ", ".join(similar[:_NAMED])
    return f"unknown model_type '{name}'; types with the same keys: {same}{suggestion(str(name), model_types())}"


def _shared(usual: set[str], given: set[str]) -> float:
    """Return the part of two sets of keys of sizes that both have."""
    sizes = {key for one in model_types().values() for key in one.defaults}
    return len(usual & given) / max(len(usual | (given & sizes)), 1)
