"""The numbers of serving that its plan leaves open: model, accelerator, precisions, users, and ends of passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.kernels import ELEMENT_BYTES, Array, Kernels
from evo_libra.workload.models.layers.sublayer import Cell, Matrix
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.experts import (
    NO_CHOICES,
    GroupedSeconds,
    ServedExperts,
    grouped_constants,
    misalignment,
)
from evo_libra.workload.serving.lengths import Lengths
from evo_libra.workload.serving.stacks import ATTENTION, SERVING_STACKS, ServingStack
from evo_libra.workload.training.expansion import NO_EXPANSION, Expansion
from evo_libra.workload.training.races import TENSOR, Traffic
from evo_libra.workload.training.training_setup import GEMM_OF_ISOLATED, Setup

_ID, _LOGIT, _ELEMENT = 4.0, 4.0, 2.0
"""Bytes of a token's id, of the logit of a token, and of an element of an embedding."""


@dataclass(frozen=True)
class EmbeddingAndHeadTraffic:
    """Input of tokens to the NPUs of a tensor parallel group, and the choice of the next ones from all of them.

    Attributes
    ----------
    broadcast : ``ids`` of tokens, or their ``embeddings``, from one NPU to all; None where no bytes are counted.
    sampling : ``top-k`` where each NPU sends its largest logits with their tokens, ``logits`` where it sends all that
        it has; None where no bytes are counted.
    top_k : logits of a sequence that an NPU sends with ``top-k``; never more than it has.
    """

    broadcast: str | None = None
    sampling: str | None = None
    top_k: int = 1

    @property
    def collectives(self) -> int:
        """Number of tokens in a pass."""
        return (self.broadcast is not None) + (self.sampling is not None)

    def traffic(
        self, tokens: Array, sequences: Array, times: Array, *, hidden: int, vocabulary: int, npus: Array
    ) -> list[Traffic]:
        """Return what is sent for (n,) tokens of some sequences, as many times, among (n,) NPUs.

        A broadcast is a scatter and an all-gather, which are the bytes of an all-reduce. A choice among all logits is
        an all-gather of what the NPUs have to say.
        """
        found, times = list[Traffic](), np.asarray(times, dtype=np.float64)
        if self.broadcast is not None:
            bytes_ = _ID if self.broadcast == "ids" else _ELEMENT * hidden
            found.append(Traffic("embedding", TENSOR, Collective.ALL_REDUCE, np.atleast_1d(bytes_ * tokens), times))
        if self.sampling is not None:
            said = np.atleast_1d(sequences * self._said(vocabulary, npus))
            found.append(Traffic("sampling", TENSOR, Collective.ALL_GATHER, said, times))
        return found

    def _said(self, vocabulary: int, npus: Array) -> FloatArray:
        """Return the (n,) bytes of all NPUs for one sequence."""
        share = vocabulary / np.asarray(npus, dtype=np.float64)
        if self.sampling == "logits":
            return np.full_like(share, _LOGIT * vocabulary)
        return np.asarray((_LOGIT + _ID) * npus * np.minimum(self.top_k, share))


UNCOUNTED = EmbeddingAndHeadTraffic()
"""No traffic of either: the constants of software include what they cost."""


WEIGHT_BYTES = {
    "bf16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5, "nvfp4": ELEMENT_BYTES["fp4"],
    **{precision: ELEMENT_BYTES[precision] for precision in ("mxfp8", "mxfp4")},
}  # fmt: skip
"""Bytes of a weight by precision."""

_PRODUCTS = {"fp8": "fp8", "mxfp8": "mxfp8", "nvfp4": "fp4", "mxfp4": "mxfp4"}
"""Precision of the products of weights; those of others run in bf16, as the weights alone are narrower."""

CACHE_BYTES = {"bf16": (2.0, 0.0), "fp8": (1.0, 0.0), "int8": (1.0, 4.0), "nvfp4": (0.5 + 1.0 / 16.0, 0.0)}
"""Bytes of an element of the cache of keys and values by precision, and of the scale of each token and head."""

RESERVED = 3.5e9
"""Bytes of an accelerator that software takes, as ai-dynamo/aiconfigurator (2025) counts them."""


def products_of(weights: str) -> str:
    """Return the precision that the products of weights of a precision run in."""
    return _PRODUCTS.get(weights, "bf16")


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
    expansion : memory that an NPU has next to its own; `usable` : bytes of its own that plans may use.
    expert_weights : precision of the weights of experts; None for that of the others.
    experts : how software serves experts.
    budget : tokens of prompts in a pass, at most, unless a single one has more.
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
    expert_weights: str | None = None
    experts: ServedExperts = NO_CHOICES
    budget: int = 8192

    @property
    def expert_bytes(self) -> float:
        """Bytes of a weight of an expert."""
        return WEIGHT_BYTES[self.expert_weights or self.weights]

    @property
    def expert_products(self) -> str:
        """The precision that products of experts run in: 16 bits where an accelerator lacks that of the weights."""
        precision = products_of(self.expert_weights or self.weights)
        return precision if precision in self.accelerator.gemm else "bf16"

    @property
    def misalignment(self) -> float:
        """The part of the wait for prompts at random that ranks in step have."""
        spread = 0.0 if self.lengths is None else self.lengths.spread
        return misalignment(spread, balanced=self.experts.balanced)

    def grouped(self, plans: Plans, matrices: Sequence[Matrix], tokens: Array) -> GroupedSeconds:
        """Return the times of the products of experts for (n,) tokens of each NPU: of one layer.

        Parameters
        ----------
        matrices : of the experts of an NPU, without redundant ones.
        """
        npu, held = self.accelerator, self.experts.held(self.decoder.expert_count)
        latent = self.decoder.latent is not None  # DeepSeek's fp8 has a scale for each block of 128 x 128
        narrow = self.expert_bytes < ELEMENT_BYTES.get(self.expert_products, 2.0)
        constants = grouped_constants(self.expert_products, blocks=latent, narrow=narrow)
        read = sum((one.weights * one.part_read(tokens) for one in matrices), np.zeros(1))
        flop = sum((tokens * one.flop for one in matrices), np.zeros(1))
        bandwidth = npu.memory_bandwidth * constants.bandwidth
        rate = npu.peak_rate(self.expert_products) * constants.rate
        return GroupedSeconds(
            np.full(1, constants.fixed if matrices else 0.0), np.asarray(self.expert_bytes * held * read / bandwidth),
            np.asarray(flop * self.experts.skew(plans) / rate),
        )  # fmt: skip

    @property
    def products(self) -> str:
        """The precision that products run in."""
        return products_of(self.weights)

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
