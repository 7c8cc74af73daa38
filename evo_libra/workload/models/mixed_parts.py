"""Layers of a Hugging Face configuration while they are read: the parts of each, and its block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Sizes = Mapping[str, Any]
"""Keys of a decoder's specification with their values."""

ATTENTION, DENSE, EXPERTS = "attention", "feed-forward", "experts"


@dataclass
class Layers:
    """Token mixer of each layer, its block, and the sublayers that a specification has to name."""

    mixers: list[str]
    blocks: list[str]
    sublayers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def name(self, name: str, kind: str, **sizes: Any) -> str:  # noqa: ANN401 - sizes of that kind
        """Return the name of a sublayer, and keep what it stands for."""
        self.sublayers[name] = {"kind": kind, **sizes}
        return name


def grouped(sizes: Sizes, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - keys of that kind
    """Return the keys of grouped attention of a model's sizes; those of further keys count before them."""
    width = sizes["head_width"] or sizes["hidden"] // sizes["heads"]
    has_biases = not sizes["gated"] if sizes["biased"] is None else sizes["biased"]
    biased = {"biased": True} if has_biases else {}
    return {"heads": sizes["heads"], "kv_heads": sizes["kv_heads"], "head_width": width, **biased, **more}
