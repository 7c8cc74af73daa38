"""How commands print what programs read, and how they write times; imports next to nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output."""
    print(json.dumps(data, allow_nan=False))


def duration(seconds: float) -> str:
    """Return a time for reading.

    >>> duration(0.43), duration(61), duration(7300), duration(200_000)
    ('0.43 s', '1 min 1 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds < 10:  # noqa: PLR2004 - short times read better with decimals
        return f"{seconds:.2g} s"
    for name, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            return f"{int(seconds // size)} {name} {int(seconds % size // part)} {smaller}"
    return f"{seconds:.0f} s"


def number(value: float) -> str:
    """Return a figure for reading."""
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.5g}"  # noqa: PLR2004 - large figures read better whole


def size_of_iteration(workload: Mapping[str, Any]) -> str:
    """Return how much one iteration of a workload is, for reading; empty where nothing is known.

    >>> size_of_iteration({"layers": 2, "sequence": 1024, "batch_per_replica": 32, "global_batch": 8192})
    '2 layers, sequences of 1,024 tokens, 32 per replica, 8,192 in all'
    >>> size_of_iteration({"layers": 54, "sequence": None, "batch_per_replica": None, "global_batch": None})
    '54 layers'
    """
    layers, tokens, batch = workload["layers"], workload["sequence"], workload["batch_per_replica"]
    parts = [] if layers is None else [f"{layers:,} layers" if layers != 1 else "1 layer"]
    if batch is not None:
        what = f"sequences of {tokens:,} tokens, {batch:,}" if tokens is not None else f"{batch:,} samples"
        parts += [f"{what} per replica", f"{workload['global_batch']:,} in all"]
    return ", ".join(parts)


def short_design(design: str) -> str:
    """Return the notation with bandwidths to four digits, for reading; files keep them all."""
    network, *options = design.split(" ")
    parts = []
    for part in network.split("_"):
        head, colon, bandwidth = part.partition(":")
        parts.append(f"{head}{colon}{float(bandwidth):.4g}" if colon else part)
    return " ".join(["_".join(parts), *options])
