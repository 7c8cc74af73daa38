"""Setup of a training step: model, accelerator and software; the plan is apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.kernels import Kernels
from evo_libra.workload.models.losses import LOSSES
from evo_libra.workload.models.stacks import STACKS, Stack
from evo_libra.workload.training.expansion import Expansion
from evo_libra.workload.training.offload import Offload

GEMM_OF_ISOLATED = 0.876
"""Rate of products within a step over that of isolated kernels (clocks, gaps); fitted to published training rows."""

MEMORY_OF_PEAK = 0.515
"""Memory bandwidth that element-wise kernels reach, over the data sheet's; fitted to published training rows."""


COUNTED = ("embedding", "loss")
"""Parts of a model that may count as a layer each where stages divide it."""

Ends = tuple[int, int]
"""Layers that the first and the last stage have less than others."""


def products_in(precision: str) -> str:
    """Return what accelerators call the products of a precision of training.

    >>> products_in("nvfp4"), products_in("mxfp8")
    ('fp4', 'mxfp8')
    """
    return {"nvfp4": "fp4"}.get(precision, precision)


_WIDE_SHARES = {"nvfp4": 0.15}
"""Share of the layers, the last ones, that stay in bf16 (NVIDIA, Pretraining Large Language Models with NVFP4, 2025,
arXiv 2509.25149: less than that of linear layers, most of them at the end)."""

EXPERT_PROCESSORS = 20.0 / 132.0
"""Share of an H800's processors that its all-to-alls take, 20 of 132 (DeepSeek-V3, 2024, section 3.2.2); Megatron-LM's
dispatcher takes 20 as well unless told otherwise (2025)."""


@dataclass(frozen=True)
class Setup:
    """A model, an accelerator, and how one trains the other.

    Attributes
    ----------
    sequence : tokens of a sequence.
    global_batch : sequences of a step.
    precision : of linear layers; attention and element-wise work have 16 bits.
    bf16_layers : layers at the start and at the end whose products stay in bf16; None for those of the precision.
    head_precision : of the output head.
    activation_input : precision in which inputs of activation functions wait for the backward pass.
    gradient_bytes : of an accumulated gradient, 2 or 4.
    fused_attention : attention that never writes its scores to memory.
    dropout : whether masks of dropout are kept.
    bus, wire_rate : how collectives of the tensor parallel group use the ports of an NPU, and the B/s of these ports;
        None where every collective is as fast as a large one.
    balanced : stages at the ends have a layer less, so that embedding and head do not slow the pipeline.
    account_for : which of `COUNTED` the stages have a layer less for; both where they are balanced.
    uneven : stages may have a layer more than others; the longest ones set the pace.
    uneven_heads : the tensor parallel group need not divide the heads, which are then cut as if each could be split.
    gemm_factor, memory_factor : the two fitted constants.
    weight_bytes : as for `Kernels`.
    moment_bytes : of each of the two moments of a weight on the NPU.
    offload : what plans may move the optimizer to; None where all of them leave it on the NPUs.
    expansions : choices of expansion memory, the least first; empty where there is none.
    loss : kind of loss, of `losses.LOSSES`; None for that of the stack.
    expert_processors : share of the accelerator's processors that all-to-alls of experts take alongside compute.
    stated_batch : sequences that times are of, where the batch differs from them; 0 for those of the batch.
    jitter : share of a step that each doubling of the NPUs adds, from 8 on.
    domain : most NPUs of a scale-up domain; None for no limit.
    tensor_anywhere : whether a tensor parallel group may leave scale-up domains.
    usable : bytes of an NPU's own memory that plans may use, where there is expansion memory.
    """

    decoder: Decoder
    accelerator: Accelerator
    sequence: int
    global_batch: int
    precision: str = "bf16"
    bf16_layers: Ends | None = None
    head_precision: str = "bf16"
    activation_input: str = "bf16"
    gradient_bytes: int = 4
    fused_attention: bool = True
    balanced: bool = False
    account_for: tuple[str, ...] = ()
    uneven: bool = False
    uneven_heads: bool = False
    stack: Stack = STACKS["any"]
    dropout: bool = False
    bus: BusConstants | None = None
    wire_rate: float = 0.0
    gemm_factor: float = GEMM_OF_ISOLATED
    memory_factor: float = MEMORY_OF_PEAK
    weight_bytes: float | None = None
    moment_bytes: float = 4.0
    offload: Offload | None = None
    expansions: tuple[Expansion, ...] = ()
    usable: float = math.inf
    stated_batch: int = 0
    jitter: float = 0.0
    domain: int | None = None
    tensor_anywhere: bool = False
    loss: str | None = None
    expert_processors: float = EXPERT_PROCESSORS

    @property
    def ends(self) -> Ends:
        """Layers less of the first stage and of the last one, for embedding and loss."""
        first, last = (int(self.balanced or name in self.account_for) for name in COUNTED)
        return first, last

    @property
    def products(self) -> str:
        """Precision of products as accelerators name it."""
        return products_in(self.precision)

    @property
    def state_bytes(self) -> float:
        """Bytes of a weight's states on the NPU: a copy of 32 bits, and the moments."""
        return 4.0 + 2.0 * self.moment_bytes

    @property
    def update_bytes(self) -> float:
        """Bytes that an update of a weight moves: its states both ways, the gradient and the weight."""
        return 2.0 * self.state_bytes + 6.0

    @property
    def wide_layers(self) -> Ends:
        """Layers at the start and at the end whose products are in bf16 though others are in fewer bits."""
        if self.precision == "bf16":
            return 0, 0
        return self.bf16_layers or (0, math.ceil(_WIDE_SHARES.get(self.precision, 0.0) * self.decoder.layers))

    @property
    def shares_head(self) -> bool:
        """Whether the last stage has a layer less for head and loss, so that each stage computes a share of them."""
        return bool(self.ends[1])

    @property
    def share_of_batch(self) -> float:
        """The stated batch over the batch: what times of a step are multiplied by."""
        return self.stated_batch / self.global_batch if self.stated_batch else 1.0

    def counted(self, size: FloatArray, npus: IntArray) -> FloatArray:
        """Return the bytes that a collective of a group of (n,) NPUs counts for at the rate of large ones."""
        if self.bus is None:
            return size
        return self.bus.counted(size, npus.astype(np.float64), self.wire_rate)

    @property
    def loss_bytes(self) -> float:
        """Bytes of a logit that the loss needs."""
        return LOSSES[self.loss or self.stack.loss]

    @property
    def kernels(self) -> Kernels:
        """Times of kernels within the step."""
        return Kernels(
            self.accelerator, self.gemm_factor, self.memory_factor, self.gradient_bytes, self.weight_bytes,
            attention_factor=self.stack.attention, quantisation_factor=self.stack.quantisation,
        )  # fmt: skip
