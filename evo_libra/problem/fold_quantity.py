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
    "W": ("power", 1.0),
    "kW": ("power", 1e3),
    "MW": ("power", 1e6),
    "J": ("energy", 1.0),
    "kJ": ("energy", 1e3),
    "MJ": ("energy", 1e6),
    "USD s": ("time times cost", 1.0),
    "kUSD s": ("time times cost", 1e3),
    "MUSD s": ("time times cost", 1e6),
}
"""Unit to what it measures and its size in SI."""


def units_of(kind: str) -> str:
    """Return the units of one kind, as sentences list them.

    >>> units_of("power")
    'W, kW, MW'
    """
    return ", ".join(unit for unit, (measured, _) in UNITS.items() if measured == kind)
