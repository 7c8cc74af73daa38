"""Time of kernels on an accelerator: rooflines with constants that were fitted to measured kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerator import HEAD_WIDTH, Accelerator

Array = FloatArray | float

ELEMENT_BYTES = {"fp8": 1.0, "mxfp8": 1.0 + 1.0 / 32.0, "fp4": 0.5 + 1.0 / 16.0, "mxfp4": 0.5 + 1.0 / 32.0}
"""Bytes of an element of a product by precision, 2 of others.

32 in MXFP8 and MXFP4, and 16 in NVFP4, share a scale of one byte.
"""

_UNFUSED_RATE = 0.75
"""Rate of the batched products of unfused attention and of chunks over that of large ones (assumed)."""


def scaled(values: FloatArray, factor: Array) -> FloatArray:
    """Return values times a factor; they are the same object if the factor is the number 1."""
    return values if isinstance(factor, float) and factor == 1.0 else values * factor


@dataclass(frozen=True)
class Product:
    """Seconds of a product of an (m, k) activation with a (k, n) weight.

    Attributes
    ----------
    forward : of the product; `inputs`, `weights` : of the gradients of its activation and of its weight.
    """

    forward: FloatArray
    inputs: FloatArray
    weights: FloatArray

    def __add__(self, other: Product) -> Product:
        return Product(self.forward + other.forward, self.inputs + other.inputs, self.weights + other.weights)

    def __mul__(self, times: Array) -> Product:
        return Product(scaled(self.forward, times), scaled(self.inputs, times), scaled(self.weights, times))

    @property
    def backward(self) -> FloatArray:
        """Both gradients."""
        return self.inputs + self.weights


@dataclass(frozen=True)
class Kernels:
    """Kernels of an accelerator within a training step.

    Attributes
    ----------
    gemm_factor : rate of products in a step over that of isolated kernels.
    memory_factor : memory bandwidth of element-wise kernels over the data sheet's.
    gradient_bytes : of an accumulated gradient of a weight, which a product reads and writes.
    weight_bytes : of a weight that a forward pass reads; None for those of the products' precision.
    attention_factor : rate of fused attention over that of the accelerator's constants.
    quantisation_factor : bytes that quantising an input moves, over those of the accelerator's constants.
    """

    accelerator: Accelerator
    gemm_factor: float
    memory_factor: float
    gradient_bytes: int
    weight_bytes: float | None = None
    attention_factor: float = 1.0
    quantisation_factor: float = 1.0

    def product(self, m: Array, n: Array, k: Array, precision: str) -> Product:
        """Return the time of a product and its gradients: FLOP, bytes and inner size joined, and a fixed time.

        The gradient of a weight is accumulated: it reads and writes that many bytes of each.
        """
        one = ELEMENT_BYTES.get(precision, 2.0)
        work = 2.0 * m * n * k / self.rate(precision)
        activations, outputs, weights = m * k, m * n, k * n
        constants = self.accelerator.gemm_constants(precision)
        read = one if self.weight_bytes is None else self.weight_bytes
        quantised = self.quantisation_factor * constants.quantisation / self.accelerator.memory_bandwidth

        def time(inner: Array, *moved: Array) -> FloatArray:
            return constants.joined(work, sum(moved) / self.bandwidth(precision), inner) + constants.fixed

        return Product(
            time(k, one * activations, read * weights, 2.0 * outputs) + quantised * activations,
            time(n, one * outputs, one * weights, 2.0 * activations) + quantised * outputs,
            time(m, one * activations, one * outputs, 2.0 * self.gradient_bytes * weights),
        )

    def bandwidth(self, precision: str) -> float:
        """Return the B/s that products reach."""
        return self.accelerator.memory_bandwidth * (
            self.accelerator.gemm_constants(precision).bandwidth or self.memory_factor
        )

    def moved(self, moved: Array) -> FloatArray:
        """Return the time of element-wise kernels that read and write a number of bytes."""
        return np.asarray(moved / (self.accelerator.memory_bandwidth * self.memory_factor))

    def fused_attention(
        self, work: Array, attended: float, width: float = HEAD_WIDTH, *, windowed: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return forward and backward time of fused attention with heads of a width, causal forward FLOP given.

        A token attends to half of some tokens on average, those of a sequence or of a window. The backward pass
        computes the scores again: it has 2.5 times the FLOP.
        """
        constants, peak = self.accelerator.attention_constants(), self.accelerator.peak_rate("bf16")
        seconds = constants.forward(work, peak, attended, width, windowed=windowed) / self.attention_factor
        fixed = self.accelerator.gemm_constants("bf16").fixed
        return np.asarray(seconds + fixed), np.asarray(2.5 * seconds / constants.backward + fixed)

    def unfused_attention(self, work: Array, scores: Array) -> tuple[FloatArray, FloatArray]:
        """Return forward and backward time of attention kernel by kernel, full FLOP and scores given.

        A score is scaled, masked and normalised with 4 bytes of traffic, and dropped out with 5.
        """
        rate = self.rate("bf16") * _UNFUSED_RATE
        fixed = self.accelerator.gemm_constants("bf16").fixed
        forward = work / rate + self.moved(9.0 * scores) + 2.0 * fixed
        return np.asarray(forward), np.asarray(2.0 * work / rate + self.moved(11.0 * scores) + 4.0 * fixed)

    def batched(self, work: Array, moved: Array) -> FloatArray:
        """Return the time of a kernel of many small products: the longer of FLOP and bytes, and a fixed time."""
        compute = work / (self.rate("bf16") * _UNFUSED_RATE)
        return np.asarray(np.maximum(compute, self.moved(moved)) + self.accelerator.gemm_constants("bf16").fixed)

    def rate(self, precision: str) -> float:
        """Return the FLOP/s of large products."""
        return (
            self.accelerator.peak_rate(precision)
            * self.accelerator.gemm_constants(precision).plateau
            * self.gemm_factor
        )
