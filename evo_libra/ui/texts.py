"""How commands print what programs read, and how they write times; imports next to nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evo_libra.problem.quirks import Warned


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


_UNITS = (
    ("ns", 1e-6, 1e-3), ("us", 1e-3, 1.0), ("ms", 1.0, 1e4), ("s", 1e3, 6e5), ("min", 6e4, 3.6e7),
    ("h", 3.6e6, 1.728e8), ("d", 8.64e7, 6.3e10), ("years", 3.15576e10, math.inf),
)  # fmt: skip
"""Units of time with their milliseconds, and the milliseconds from which on the next one reads better."""


def time_unit(milliseconds: float) -> tuple[str, float]:
    """Return the unit in which a time reads best, and its milliseconds.

    >>> time_unit(0.0002), time_unit(58.098), time_unit(1.2e11)
    (('ns', 1e-06), ('ms', 1.0), ('years', 31557600000.0))
    """
    return next(((name, size) for name, size, end in _UNITS if milliseconds < end), ("ms", 1.0))


def time_text(milliseconds: float) -> str:
    """Return a time for reading, in a unit that suits it.

    >>> time_text(58.0981), time_text(12_345), time_text(0.25)
    ('58.0981 ms', '12.345 s', '250 us')
    """
    name, size = time_unit(milliseconds)
    return f"{milliseconds / size:.6g} {name}"


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


def print_folded(text: str) -> None:
    """Print a sentence, folded to the width of the terminal."""
    from shutil import get_terminal_size  # noqa: PLC0415 - few need it, and all import this
    from textwrap import fill  # noqa: PLC0415 - the same

    print(fill(text, get_terminal_size().columns, subsequent_indent="  ", break_on_hyphens=False))


def short_design(design: str) -> str:
    """Return the notation with bandwidths to four digits, for reading; files keep them all."""
    network, *options = design.split(" ")
    parts = []
    for part in network.split("_"):
        head, colon, bandwidth = part.partition(":")
        parts.append(f"{head}{colon}{float(bandwidth):.4g}" if colon else part)
    return " ".join(["_".join(parts), *options])


def show_warnings(warnings: Iterable[Warned]) -> None:
    """Print each warning, folded to the width of the terminal."""
    for warned in warnings:
        print_folded(str(warned))


_LABELS = {"time_ms": "iteration time [ms]", "cost_usd": "network cost [USD]"}


def label_of(column: str) -> str:
    """Return what an axis calls an objective.

    >>> label_of("time_ms"), label_of("power_MW"), label_of("hops")
    ('iteration time [ms]', 'power [MW]', 'hops')
    """
    name, _, unit = column.rpartition("_")
    return _LABELS.get(column, f"{name} [{unit}]" if name else column)
