"""Constants of kernels that no source gives for an accelerator: the default of its class, which its source says.

A data sheet has peaks, memory and ports. The share that kernels reach of them is measured, or it is that of the nearest
precision of the same accelerator, or of a measured chip of its generation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from evo_libra.network.catalog.accelerator import CLASS_DEFAULT

NEAREST = f"{CLASS_DEFAULT} of the nearest precision"
"""Begin of the source of constants of a precision that are those of another precision of the same accelerator."""

_NEAREST: Mapping[str, tuple[str, ...]] = {
    "bf16": ("fp8", "int8", "mxfp8", "fp4", "mxfp4"), "int8": ("fp8", "mxfp8", "bf16"),
    "fp8": ("mxfp8", "int8", "bf16", "mxfp4", "fp4"), "mxfp8": ("fp8", "int8", "bf16", "mxfp4", "fp4"),
    "fp4": ("mxfp4", "mxfp8", "fp8", "int8", "bf16"), "mxfp4": ("fp4", "mxfp8", "fp8", "int8", "bf16"),
}  # fmt: skip
"""Precisions whose products stand for those of another, the nearest first."""

_QUANTISATION = {"fp8": 11.0, "int8": 11.0, "mxfp8": 3.5, "fp4": 5.3, "mxfp4": 5.3}
"""Bytes per element that quantising an input moves: those of an H100 in fp8, and of a B200 in the others."""

_MEASURED = "h100-80gb"
_OF_GENERATION = {"ampere": "a100-80gb", "hopper": "h100-80gb", "blackwell": "b200"}
"""Measured chips of generations; the other generations, and accelerators without one, have those of the H100."""

_YEARS = "ai-dynamo/aiconfigurator, 2025 and 2026"


def class_of(generation: str | None) -> str:
    """Return the measured chip whose constants accelerators of a generation have."""
    return _OF_GENERATION.get(generation or "", _MEASURED)


def default_kernels(
    peaks: Collection[str], own: Mapping[str, Any], measured: Mapping[str, Any], *, chip: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the constants that an accelerator lacks, by kind of kernels, and the source of each.

    Parameters
    ----------
    peaks : precisions that the accelerator computes in.
    own : its constants by kind.
    measured : those of a measured chip of its class; `chip` : its name.
    """
    lacking = [kind for kind in (*_NEAREST, "decode", "attention") if kind not in own and _runs(kind, peaks)]
    found = {kind: _default(kind, own, measured, chip=chip) for kind in lacking}
    return {kind: it for kind, (it, _) in found.items()}, {kind: text for kind, (_, text) in found.items()}


def _runs(kind: str, peaks: Collection[str]) -> bool:
    """Return whether an accelerator runs kernels of a kind; attention computes in 16 bits."""
    return kind == "decode" or (kind if kind in _NEAREST else "bf16") in peaks


def _default(kind: str, own: Mapping[str, Any], measured: Mapping[str, Any], *, chip: str) -> tuple[Any, str]:
    near = next((one for one in _NEAREST.get(kind, ()) if one in own), None)
    if near is not None:
        return _as_precision(kind, own[near]), f"{NEAREST}: its own in {near}, as no table in {kind} is public"
    if kind in measured:
        return measured[kind], f"{CLASS_DEFAULT}, as no kernel of this chip is public: those of the {chip} ({_YEARS})"
    near = next(one for one in _NEAREST[kind] if one in measured)
    return _as_precision(kind, measured[near]), f"{NEAREST}: those of the {chip} in {near} ({_YEARS})"


def _as_precision(kind: str, constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return constants of one precision as those of another, which has its own bytes of quantisation."""
    kept = {key: constants[key] for key in ("plateau", "fixed_us", "isolated_us") if constants.get(key) is not None}
    return kept | ({"quantisation": _QUANTISATION[kind]} if kind in _QUANTISATION else {})
