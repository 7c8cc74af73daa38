"""Constants of kernels that no source gives for an accelerator: the default of its class, which its source says.

A data sheet has peaks, memory and ports. The share that kernels reach of them is measured, or it is that of the nearest
precision of the same accelerator, or of a measured chip of its generation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from evo_libra.network.catalog.accelerator import CLASS_DEFAULT

NEAREST = f"{CLASS_DEFAULT} of the nearest precision"
"""Begin of the source of constants of a precision that are those of another precision of the same accelerator."""

_DEFAULT = f"{CLASS_DEFAULT} because no kernel of this chip"
"""Begin of the source of constants that are those of a measured chip."""

_NEAREST: Mapping[str, tuple[str, ...]] = {
    "bf16": ("fp8", "int8", "mxfp8", "fp4", "mxfp4"), "int8": ("fp8", "mxfp8", "bf16"),
    "fp8": ("mxfp8", "int8", "bf16", "mxfp4", "fp4"), "mxfp8": ("fp8", "int8", "bf16", "mxfp4", "fp4"),
    "fp4": ("mxfp4", "mxfp8", "fp8", "int8", "bf16"), "mxfp4": ("fp4", "mxfp8", "fp8", "int8", "bf16"),
}  # fmt: skip
"""Precisions whose products stand for those of another, the nearest first."""

_QUANTISATION = {"fp8": 10.4, "int8": 10.4, "mxfp8": 3.96, "fp4": 5.23, "mxfp4": 5.23}
"""Bytes per element that quantising an input moves: those of an H100 in fp8, and of a B200 in the others."""

_OF_PRECISION = ("quantisation", "any_layout")
"""Constants of a precision that say nothing of others."""


@dataclass(frozen=True)
class KernelClass:
    """The measured chip whose constants accelerators of a kind have.

    Attributes
    ----------
    chip : its name; `reason` : why it stands in, where that is not its generation.
    source : of its constants, with the years.
    """

    chip: str
    source: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.chip}, {self.reason}" if self.reason else self.chip


_NVIDIA = "ai-dynamo/aiconfigurator, 2025 and 2026"
CLASSES: Mapping[str, KernelClass] = {
    "ampere": KernelClass("a100-80gb", _NVIDIA),
    "ada": KernelClass("l40s-48gb", _NVIDIA),
    "hopper": KernelClass("h100-80gb", _NVIDIA),
    "blackwell": KernelClass("b200", _NVIDIA),
    "rubin": KernelClass("b200", _NVIDIA, "because no Rubin was measured"),
    "cdna3": KernelClass("mi300x", "ROCm/aiter and moonmath-ai/amd-kernels, 2026"),
    "cdna4": KernelClass("mi355x", "ROCm/aiter, 2026, and HazyResearch/HipKittens, 2025"),
    "tpu": KernelClass("tpu7x", "AI-Hypercomputer/accelerator-microbenchmarks, 2025, and arXiv 2604.15464, 2026"),
}
"""Measured chips by the generations that an entry may name."""

_NO_GENERATION = KernelClass("h100-80gb", _NVIDIA, "as its entry has no generation")
_PRECISION = re.compile(r" in \w+\Z")


def class_of(generation: str | None) -> KernelClass:
    """Return the measured chip whose constants accelerators of a generation have; the H100 where an entry has none."""
    return CLASSES[generation] if generation else _NO_GENERATION


def lender_of(source: str) -> str:
    """Return the chip whose constants an accelerator has by the source of these, with the reason; empty for its own.

    >>> lender_of("Class default because no kernel of this chip is public: those of the tpu7x (arXiv 2604.15464, 2026)")
    'tpu7x'
    """
    if not source.startswith((_DEFAULT, NEAREST)):
        return ""
    name, follows, _ = source.partition("those of the ")[2].partition(" (")
    return _PRECISION.sub("", name) if follows else ""


def default_kernels(
    peaks: Collection[str], own: Mapping[str, Any], measured: Mapping[str, Any], *, of: KernelClass
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the constants that an accelerator lacks, by kind of kernels, and the source of each.

    Parameters
    ----------
    peaks : precisions that the accelerator computes in.
    own : its constants by kind.
    measured : those of the measured chip of its class; `of` : the class.
    """
    lacking = [kind for kind in (*_NEAREST, "decode", "attention") if kind not in own and _runs(kind, peaks)]
    found = {kind: _default(kind, own, measured, of) for kind in lacking}
    return {kind: it for kind, (it, _) in found.items()}, {kind: text for kind, (_, text) in found.items()}


def _runs(kind: str, peaks: Collection[str]) -> bool:
    """Return whether an accelerator runs kernels of a kind; attention computes in 16 bits."""
    return kind == "decode" or (kind if kind in _NEAREST else "bf16") in peaks


def _default(kind: str, own: Mapping[str, Any], measured: Mapping[str, Any], of: KernelClass) -> tuple[Any, str]:
    near = next((one for one in _NEAREST.get(kind, ()) if one in own), None)
    if near is not None:
        return _as_precision(kind, own[near]), f"{NEAREST}: its own in {near} because no table in {kind} is public"
    if kind in measured:
        return measured[kind], f"{_DEFAULT} is public: those of the {of} ({of.source})"
    near = next(one for one in _NEAREST[kind] if one in measured)
    return _as_precision(kind, measured[near]), f"{NEAREST}: those of the {of} in {near} ({of.source})"


def _as_precision(kind: str, constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return constants of one precision as those of another, which has its own bytes of quantisation."""
    kept = {key: value for key, value in constants.items() if key not in _OF_PRECISION and value is not None}
    return kept | ({"quantisation": _QUANTISATION[kind]} if kind in _QUANTISATION else {})
