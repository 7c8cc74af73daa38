"""Serving software: what it takes beyond kernels and bytes, with the rows that say so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class ServingStack:
    """Serving software.

    Attributes
    ----------
    layer : s of a layer beyond its products and its attention (other kernels, launches).
    hop : s of a collective among two NPUs beyond its bytes; among t NPUs it takes ``hop x log2 t``.
    source : rows that the figures come from.
    server : NPUs of a server, in which a level of a collective takes ``server_hop`` in place of `hop`.
    """

    name: str
    layer: float
    hop: float
    source: str
    server: int = 1
    server_hop: float = 0.0

    def beyond_bytes(self, npus: FloatArray | IntArray | float) -> FloatArray:
        """Return (n,) seconds of a collective among adjacent NPUs beyond its bytes; a level doubles its NPUs."""
        levels = np.log2(np.asarray(npus, dtype=np.float64))
        inside = np.minimum(levels, np.log2(self.server))
        return np.asarray(self.server_hop * inside + self.hop * (levels - inside))


LAYER = 62.1e-6
"""s of a layer beyond its products and attention; fitted to the 22 published rows of Llama 2 on A100 and H100."""

HOP = 8.35e-6
"""s of a collective among two NPUs beyond its bytes; fitted to the same rows."""

SERVING_STACKS = {
    stack.name: stack
    for stack in (
        ServingStack("any", LAYER, HOP, "Llama 2 on A100 and H100, NVIDIA's figures in Kundu et al., 2024: 22 rows"),
        ServingStack(
            "xfastertransformer",
            0.0,
            56.8e-6,
            "xFasterTransformer, 2024: 2.85 times as fast on 4 servers of 2 sockets as on one (the one free constant)",
        ),
    )
}
"""Software by name."""

ATTENTION = {"flash": 1.0, "slim": 61.57 / 16.02}
"""Rate of attention over a prompt by how it is split, over that of the accelerator's constants.

SlimAttention splits scores in one dimension: 16.02 ms where FlashAttention takes 61.57, a layer with 1,024 tokens on a
Xeon 8563C (xFasterTransformer, arXiv 2407.07304, 2024).
"""
