"""What is served, on what, in which precisions and to whom: the numbers of serving that its plan leaves open."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.kernels import Kernels
from evo_libra.workload.models.layers.sublayer import Cell
from evo_libra.workload.serving.ends import UNCOUNTED, EmbeddingAndHeadTraffic
from evo_libra.workload.serving.lengths import Lengths
from evo_libra.workload.serving.stacks import ATTENTION, SERVING_STACKS, ServingStack
from evo_libra.workload.training.expansion import NO_EXPANSION, Expansion
from evo_libra.workload.training.training_setup import GEMM_OF_ISOLATED, Setup

WEIGHT_BYTES = {"bf16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5}
"""Bytes of a weight by precision. Products of int8 and int4 weights run in bf16: the weights alone are narrower."""

CACHE_BYTES = {"bf16": (2.0, 0.0), "fp8": (1.0, 0.0), "int8": (1.0, 4.0)}
"""Bytes of an element of the cache of keys and values by precision, and of the scale of each token and head."""

RESERVED = 3.5e9
"""Bytes of an accelerator that software takes, as ai-dynamo/aiconfigurator (2025) counts them."""


@dataclass(frozen=True)
class ServingSetup:
    """A model, an accelerator, and the requests that one answers on the other.

    Attributes
    ----------
    prompt, answer : tokens of a request, and of its answer, at least 2; where they vary, on average.
    weights, cache : precisions of the weights, and of the cache of keys and values.
    gemm_factor : rate of large products over that of isolated ones, fitted to training steps.
    lengths : of requests, where they vary.
    ends : what goes over the tensor parallel group before the layers and after the head.
    attention : how attention over a prompt is split, one of `ATTENTION`.
    expansion : memory that an NPU has beside its own; `usable` : bytes of its own that plans may use.
    """

    decoder: Decoder
    accelerator: Accelerator
    prompt: int
    answer: float
    weights: str = "bf16"
    cache: str = "bf16"
    stack: ServingStack = SERVING_STACKS["any"]
    gemm_factor: float = GEMM_OF_ISOLATED
    lengths: Lengths | None = None
    ends: EmbeddingAndHeadTraffic = UNCOUNTED
    attention: str = "flash"
    expansion: Expansion = NO_EXPANSION
    usable: float = math.inf

    @property
    def products(self) -> str:
        """The precision that products run in."""
        return "fp8" if self.weights == "fp8" else "bf16"

    @property
    def weight_bytes(self) -> float:
        """Bytes of a weight."""
        return WEIGHT_BYTES[self.weights]

    @property
    def kernels(self) -> Kernels:
        """Times of kernels."""
        return Kernels(self.accelerator, self.gemm_factor, self._memory_factor, 0, self.weight_bytes)

    @property
    def _memory_factor(self) -> float:
        """The part of the memory's bandwidth that kernels reach: serving fuses those that training runs one by one."""
        return self.accelerator.decode_constants().bandwidth

    @property
    def context(self) -> float:
        """Tokens that a token of an answer attends to, on average."""
        return self.prompt + self.answer / 2.0 if self.lengths is None else self.lengths.context

    @property
    def longest(self) -> float:
        """Tokens of the longest context of a request that is being answered, on average."""
        return self.prompt + self.answer if self.lengths is None else self.lengths.longest

    @property
    def forward(self) -> Setup:
        """The forward pass over one prompt, as that of training has it.

        Training keeps inputs in fp8 a second time, transposed, for the backward pass. Serving needs them once: the
        norm or the activation before a product writes them.
        """
        gemm = {
            name: constants.model_copy(update={"quantisation": 0.0})
            for name, constants in self.accelerator.gemm.items()
        }
        split = self.accelerator.attention_constants()
        attention = split.model_copy(update={"plateau": min(split.plateau * ATTENTION[self.attention], 1.0)})
        return Setup(
            self.decoder.without_predictors, replace(self.accelerator, gemm=gemm, attention=attention),
            self.prompt, 1, self.products,
            gemm_factor=self.gemm_factor, memory_factor=self._memory_factor, weight_bytes=self.weight_bytes,
        )  # fmt: skip

    @property
    def cell(self) -> Cell:
        """Bytes of an element of the cache, and of the scale of each token and head."""
        return Cell(*CACHE_BYTES[self.cache])
