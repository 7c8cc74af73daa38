from __future__ import annotations
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class GemmConstants:
    plateau: float
    fixed: float
    quantisation: float = 0.0


@dataclass(frozen=True)
class AttentionConstants:
    plateau: float
    half_tokens: float
    backward: float


@dataclass(frozen=True)
class Accelerator:
    name: str
    peak: Mapping[str, float]
    memory_capacity: float
    memory_bandwidth: float
    gemm: Mapping[str, GemmConstants]
    attention: AttentionConstants | None

    def peak_of(self, p):
        return self.peak[p]

    def fused_attention(self):
        return self.attention
