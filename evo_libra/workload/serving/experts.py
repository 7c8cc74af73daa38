"""Experts as they are served: grouped products of skewed batches, and ranks that march in step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.workload.models.kernels import ELEMENT_BYTES, Array
from evo_libra.workload.models.layers.sublayer import Matrix, Share, Sublayer
from evo_libra.workload.plans.plans import Plans

_MICRO = 1e-6


@dataclass(frozen=True)
class GroupedConstants:
    """Speed of the products of all experts of an NPU: ``fixed + weights / bandwidth + FLOP x imbalance / rate``.

    Attributes
    ----------
    fixed : s of a layer, however many experts it has.
    bandwidth : share of the memory bandwidth; `rate` : of the peak rate, where experts get as many tokens as others.
    """

    fixed: float
    bandwidth: float
    rate: float


GROUPED = {
    "bf16": GroupedConstants(35 * _MICRO, 0.90, 0.61),
    "fp8": GroupedConstants(35 * _MICRO, 0.90, 0.63),
    "block fp8": GroupedConstants(35 * _MICRO, 0.95, 0.45),
    "fp4": GroupedConstants(40 * _MICRO, 0.875, 0.222),
    "narrow weights": GroupedConstants(60 * _MICRO, 0.82, 0.61),
}
"""Constants by precision: fp8 and block fp8 of Hopper, fp4 of B200, and mxfp4 weights whose products have 16 bits.

They are fits to 1,900 to 4,700 kernels of TensorRT-LLM, SGLang and vLLM in ai-dynamo/aiconfigurator 0.12 (2026), 8 to
15 % off in the median, those of fp4 25 %. Of bf16 no kernel was measured: it has the rate of the narrow weights, and
the rest of fp8. MXFP8 counts as block fp8, and MXFP4 where products have it as NVFP4; both are assumed.
"""

_AS = {"mxfp8": "block fp8", "mxfp4": "fp4"}

SKEWED, ALONE, REPLICATED = 2.0, 1.06, 1.25
"""Time of FLOP of skewed batches over that of balanced ones: of an expert parallel group, without one, and with
redundant experts. The first two are medians in the same tables, the last is assumed."""

MARCH = 1.25
"""Time of a step of ranks that meet twice a layer over that of its parts.

It is fitted, with `ALIGNED`, to seven rows of Qwen3-235B and one of DeepSeek-R1 (TensorRT-LLM, 2025).
"""

ALIGNED = 0.15
"""Part of the wait for prompts at random that is left where all requests are as long; fitted to the same rows."""

_SPREAD = 0.2
"""Relative spread of the lengths of answers that takes ranks most of the way to prompts at random (simulated)."""

SENDING = 20.0 / 132.0
"""Part of the processors that send to experts while others compute: 20 of 132 (DeepEP on H100)."""

WORKSPACE = 1e9
"""B of a rank for each rank of a group whose tokens it gathers (assumed)."""


@dataclass(frozen=True)
class ServedExperts:
    """Choices of software that serves experts.

    Attributes
    ----------
    imbalance : time of FLOP of the busiest rank over the mean; None for that of the tables.
    redundant : copies of experts besides one of each.
    balanced : whether each rank gets a prompt when the others do.
    two_batches : whether replicas that only process prompts send those of one batch while they compute another.
    """

    imbalance: float | None = None
    redundant: int = 0
    balanced: bool = False
    two_batches: bool = False

    def skew(self, plans: Plans) -> FloatArray:
        """Return (n,) the time of FLOP over that of balanced batches."""
        usual = REPLICATED if self.redundant else SKEWED
        shared = usual if self.imbalance is None else self.imbalance
        return np.where(plans.ep > 1, shared, ALONE)

    def held(self, experts: int) -> float:
        """Return the experts that a group holds, over those of the model."""
        return 1.0 + self.redundant / experts


NO_CHOICES = ServedExperts()
"""Experts as software serves them unless a file says otherwise."""


def in_step(plans: Plans) -> BoolArray:
    """Return (n,) whether an expert parallel group has several replicas, whose ranks march in step then."""
    return np.asarray(plans.ep > plans.tp)


def march(plans: Plans) -> FloatArray:
    """Return (n,) the time of a step over that of its parts."""
    return np.where(in_step(plans), MARCH, 1.0)


def misalignment(spread: float, *, balanced: bool) -> float:
    """Return the part of the wait for prompts at random that ranks have, by the relative spread of answers.

    A simulation of 8 ranks found 0.1 to 0.5 for a spread of 5 %, 0.5 to 0.8 for 20 %, and 0.85 to 1 for answers that
    are as likely to have any length up to twice the mean.

    >>> [round(misalignment(spread, balanced=False), 2) for spread in (0.0, 0.05, 0.2, 0.577)]
    [0.15, 0.34, 0.69, 0.95]
    """
    if balanced:
        return 0.0
    return float(1.0 - (1.0 - ALIGNED) * np.exp(-spread / _SPREAD))


def busiest(mean: FloatArray, ranks: FloatArray) -> FloatArray:
    """Return (n,) the expected most prompts of some ranks that each get a Poisson number of them, with (n,) means.

    >>> busiest(np.array([1.0, 1.0]), np.array([1.0, 8.0])).round(2).tolist()
    [1.0, 2.58]
    """
    mean, ranks = np.broadcast_arrays(np.asarray(mean, dtype=np.float64), np.asarray(ranks, dtype=np.float64))
    most = int(mean.max(initial=0.0) + 12.0 * np.sqrt(mean.max(initial=0.0)) + 30.0)
    count = np.arange(most)[:, None]
    logarithms = np.cumsum(np.log(np.maximum(np.arange(most), 1.0)))[:, None]
    chance = np.exp(count * np.log(np.maximum(mean, 1e-300)) - mean - logarithms)
    return np.asarray((1.0 - np.minimum(np.cumsum(chance, axis=0), 1.0) ** ranks).sum(axis=0))


def grouped_constants(precision: str, *, blocks: bool, narrow: bool) -> GroupedConstants:
    """Return the constants of products of a precision.

    Parameters
    ----------
    blocks : whether blocks of weights in fp8 have scales of their own.
    narrow : whether weights have fewer bits than products.
    """
    if narrow:
        return GROUPED["narrow weights"]
    return GROUPED["block fp8" if blocks and precision == "fp8" else _AS.get(precision, precision)]


@dataclass(frozen=True)
class GroupedSeconds:
    """(n,) seconds of the products of experts: fixed ones, those that read weights, and those of FLOP."""

    fixed: FloatArray
    read: FloatArray
    flop: FloatArray

    def plus(self, other: GroupedSeconds, times: FloatArray) -> GroupedSeconds:
        """Return the seconds with (n,) times others."""
        return GroupedSeconds(
            self.fixed + times * other.fixed, self.read + times * other.read, self.flop + times * other.flop
        )

    @property
    def all(self) -> FloatArray:
        """All of them."""
        return np.asarray(self.fixed + self.read + self.flop)


def routed(matrices: Sequence[Matrix]) -> list[Matrix]:
    """Return the matrices of experts that a group shares out."""
    return [matrix for matrix in matrices if matrix.routed]


@dataclass(frozen=True)
class WithoutExperts(Sublayer):
    """A sublayer without the matrices of its experts, whose products have times of their own."""

    whole: Sublayer | None = None

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the others."""
        assert self.whole is not None, "it is of a sublayer"  # noqa: S101 - internal error
        return tuple(matrix for matrix in self.whole.matrices(share) if not matrix.routed)

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return what element-wise kernels move."""
        assert self.whole is not None, "it is of a sublayer"  # noqa: S101 - internal error
        return self.whole.moved(share)


def element_bytes(precision: str) -> float:
    """Return the bytes of an element of an activation on its way to experts.

    >>> element_bytes("fp8"), element_bytes("bf16")
    (1.0, 2.0)
    """
    return ELEMENT_BYTES.get(precision, 2.0)
