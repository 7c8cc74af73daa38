"""Serving software: what it takes beyond kernels and bytes, with the rows that say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import BeyondBytes, Collective, Dispatch, NextStage
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.collective_latency import IN_SERVICE, LINKS, NETWORKS, CollectiveSoftware, between


@dataclass(frozen=True)
class ServingStack:
    """Serving software.

    Attributes
    ----------
    layer : s of a layer beyond its products and its attention (other kernels, launches).
    source : rows that the figures come from.
    hop : s of a collective among two NPUs beyond its bytes, whatever their links; among t NPUs it takes
        ``hop x log2 t``. None where links decide, as measured tables say.
    server : NPUs of a server, in which a level of a collective takes ``server_hop`` in place of `hop`.
    routed : s of a layer with experts besides.
    nccl : time of NCCL's collectives in service over that of ones measured alone; None where it has kernels of its own.
    eager : whether prompts launch collectives without graphs.
    prompt_floor : s of a pass over a prompt, at least, as it is launched from Python.
    server_first : s of a first token beyond that of the pass: HTTP, tokens of text, the scheduler.
    year : of its rows; 0 for software of any year.
    """

    name: str
    layer: float
    source: str
    hop: float | None = None
    server: int = 1
    server_hop: float = 0.0
    routed: float = 0.0
    nccl: float | None = None
    eager: bool = False
    prompt_floor: float = 0.0
    server_first: float = 0.0
    year: int = 0

    def beyond_bytes(self, npus: FloatArray | IntArray | float) -> FloatArray:
        """Return (n,) seconds of a collective among adjacent NPUs beyond its bytes; a level doubles its NPUs.

        It is 0 where links decide: `of_links` has what counts then.
        """
        levels = np.log2(np.asarray(npus, dtype=np.float64))
        if self.hop is None:
            return np.zeros_like(levels)
        inside = np.minimum(levels, np.log2(self.server))
        return np.asarray(self.server_hop * inside + self.hop * (levels - inside))

    def of_links(
        self, accelerator: Accelerator, operation: Collective | Dispatch | NextStage, size: FloatArray,
        npus: FloatArray | IntArray, *, prompt: bool,
    ) -> dict[BeyondBytes, FloatArray]:  # fmt: skip
        """Return (n,) seconds of an operation of (n,) bytes beyond them among (n,) NPUs, by the links of the group.

        It is empty where the software has one time of its own.
        """
        if self.hop is not None:
            return {}
        eager, members = self.eager and prompt, np.maximum(np.asarray(npus, dtype=np.float64), 2.0)
        software, several = CollectiveSoftware(nccl=self.nccl), np.asarray(npus) > 1
        inside = {
            BeyondBytes(kind): software.inside(kind, accelerator, operation, size, members, eager=eager)
            for kind in LINKS
        }
        found = inside | dict(_networks(operation, eager=eager))
        return {link: several * seconds for link, seconds in found.items()}


def _networks(operation: Collective | Dispatch | NextStage, *, eager: bool) -> Iterator[tuple[BeyondBytes, FloatArray]]:
    """Yield the (1,) seconds among servers: those of a fabric, and those of each doubling of the servers."""
    for kind in NETWORKS:
        once, doubling = between(kind, operation, eager=eager)
        yield BeyondBytes(kind), np.full(1, once)
        if doubling:
            yield BeyondBytes(kind, doubling=True), np.full(1, doubling)


LAYER = 50e-6
"""s of a layer beyond its products, its attention and its collectives.

Fitted to rows without tensor parallelism of Llama 2 (2023) and to one user of Qwen2.5 72B on vLLM (2025).
"""

ROUTED = 10e-6
"""s of a layer with experts besides; fitted to DeepSeek-R1 on 8 H200 (SGLang, 2026)."""

SERVING_STACKS = {
    stack.name: stack
    for stack in (
        ServingStack(
            "any", LAYER, "vLLM, SGLang and TensorRT-LLM of 2024 and later; Llama 2 and Qwen2.5 72B", routed=ROUTED
        ),
        ServingStack(
            "vllm", LAYER, "Qwen2.5 72B on 2 H100, 2025 (tenstorrent/tt-inference-server issue 143): 5 rows",
            routed=ROUTED, server_first=6e-3, year=2025,
        ),
        ServingStack(
            "sglang", LAYER, "DeepSeek-R1 on 8 H200, SGLang 0.5.7, 2026 (SemiAnalysisAI/InferenceX): 4 rows",
            routed=ROUTED, eager=True, prompt_floor=100e-3, server_first=150e-3, year=2026,
        ),
        ServingStack(
            "trtllm", LAYER, "TensorRT-LLM 1.0, 2025 (its performance overview): 28 rows", routed=ROUTED, year=2025
        ),
        ServingStack(
            "nccl", LAYER, "software of 2023: Llama 2 on A100 and H100, NVIDIA's figures in Kundu et al., 2024",
            routed=ROUTED, nccl=IN_SERVICE, year=2023,
        ),
        ServingStack(
            "xfastertransformer",
            0.0,
            "xFasterTransformer, 2024: 2.85 times as fast on 4 servers of 2 sockets as on one (the one free constant)",
            hop=56.8e-6,
        ),
    )
}  # fmt: skip
"""Software by name."""

ATTENTION = {"flash": 1.0, "slim": 61.57 / 16.02}
"""Rate of attention over a prompt by how it is split, over that of the accelerator's constants.

SlimAttention splits scores in one dimension: 16.02 ms where FlashAttention takes 61.57, a layer with 1,024 tokens on a
Xeon 8563C (xFasterTransformer, arXiv 2407.07304, 2024).
"""
