"""Units at the border to ASTRA-sim: each conversion is here once, with the simulator's arithmetic.

A quotient and the product with an inverse differ in the last digit for two bandwidths in five, and where a time is
rounded down, a last digit is a nanosecond of each message.
"""

from __future__ import annotations

from math import floor
from typing import TypeVar

from evo_libra.arrays import GIGA, FloatArray

GIBI = 2**30
"""Bytes in ASTRA-sim's GB of network bandwidth."""

_DIGITS = 15
"""Decimal digits that a float surely keeps."""

Number = TypeVar("Number", float, FloatArray)


def bytes_per_ns(bandwidth: Number) -> Number:
    """Return B/s in bytes per ns, as ASTRA-sim counts."""
    return bandwidth / GIGA


def bytes_of_gib(gibibytes: float) -> float:
    """Return GiB in bytes."""
    return gibibytes * GIBI


def bandwidth_of_file(gigabytes: float) -> float:
    """Return GB/s of a network file in B/s. It is exact, and so is the way back: both only move the binary point."""
    return gigabytes * GIBI


def bandwidth_in_file(bandwidth: float) -> float:
    """Return B/s in GB/s of a network file."""
    return bandwidth / GIBI


def seconds(latency: float) -> float:
    """Return ns in s."""
    return latency / GIGA


def nanoseconds(latency: float) -> float:
    """Return s in ns, to fifteen digits: what a file says in ns comes back.

    >>> nanoseconds(seconds(33.3))
    33.3
    """
    return float(f"{latency * GIGA:.{_DIGITS}g}")


def roofline_ns(operations: float, size: float, peak: float, memory: float) -> int:
    """Return the ns of a computation from its operations and their bytes, the peak in FLOP/s and the memory's B/s."""
    return floor(operations / min(memory * (operations / size), peak) * GIGA)


def reading_ns(size: FloatArray, memory: float) -> FloatArray:
    """Return the ns in which a local memory of some GB/s (bytes per ns) reads bytes, before they are rounded."""
    return size / (memory * GIGA) * GIGA
