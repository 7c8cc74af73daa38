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
def accelerator(name):
    return Accelerator('h100-80gb',{'bf16':989e12,'fp8':1979e12},80e9,3350e9,{'bf16':GemmConstants(.742,3.5e-6),'fp8':GemmConstants(.68,3.5e-6,11)},AttentionConstants(.55,1700,.86))
