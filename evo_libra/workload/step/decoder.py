from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Experts:
    count: int
    per_token: int
    feed_forward: int
    shared_feed_forward: int = 0
    dense_layers: int = 0


@dataclass(frozen=True)
class LatentAttention:
    query_rank: int
    kv_rank: int
    nope_width: int
    rope_width: int
    value_width: int


@dataclass(frozen=True)
class Decoder:
    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_width: int
    feed_forward: int
    gated: bool
    vocabulary: int
    sequence: int | None = None
    experts: Experts | None = None
    latent: LatentAttention | None = None
    tied: bool = False
    source: str = ""
