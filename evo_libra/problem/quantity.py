"""Numbers with units, as constraints write them."""

from __future__ import annotations

UNITS: dict[str, tuple[str, float]] = {
    "TB/s": ("bandwidth", 1e12),
    "GB/s": ("bandwidth", 1e9),
    "MB/s": ("bandwidth", 1e6),
    "USD": ("cost", 1.0),
    "kUSD": ("cost", 1e3),
    "MUSD": ("cost", 1e6),
    "s": ("time", 1.0),
    "ms": ("time", 1e-3),
    "us": ("time", 1e-6),
}
"""Unit to what it measures and its size in SI."""
