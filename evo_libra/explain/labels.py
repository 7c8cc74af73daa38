"""Labels of designs, workloads and objectives, for reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LABELS = {"time_ms": "iteration time [ms]", "cost_usd": "network cost [USD]"}


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


def size_of_iteration(workload: Mapping[str, Any]) -> str:
    """Return how much one iteration of a workload is, for reading; empty where nothing is known.

    >>> size_of_iteration({"layers": 2, "sequence": 1024, "batch_per_replica": 32, "global_batch": 8192})
    '2 layers, sequences of 1,024 tokens, 32 per replica, 8,192 in all'
    >>> size_of_iteration({"layers": 54, "sequence": None, "batch_per_replica": None, "global_batch": None})
    '54 layers'
    """
    layers, tokens, batch = workload["layers"], workload["sequence"], workload["batch_per_replica"]
    micro = workload.get("micro_batch")
    parts = [] if layers is None else [f"{layers:,} layers" if layers != 1 else "1 layer"]
    if batch is None and workload.get("global_batch") is not None:
        parts.append(f"{workload['global_batch']:,} sequences of {tokens:,} tokens in all")
    if "plans" in workload:
        parts.append(f"{workload['plans_that_fit']:,} of {workload['plans']:,} plans fit the memory")
    if batch is not None:
        what = f"sequences of {tokens:,} tokens, {batch:,}" if tokens is not None else f"{batch:,} samples"
        parts += [f"{what} per replica", f"{workload['global_batch']:,} in all"]
        parts += [f"microbatches of {micro:,}"] if micro not in (None, batch) else []
    return ", ".join(parts)


def groups_text(workload: Mapping[str, Any]) -> str:
    """Return the plan or the process groups of a workload, for reading.

    >>> groups_text({"parallelism": {"tp": 8, "dp": 4}})
    'tp=8 dp=4'
    """
    if "plan" in workload:
        return str(workload["plan"])
    return " ".join(f"{name}={degree}" for name, degree in workload["parallelism"].items())


def short_design(design: str) -> str:
    """Return the notation with bandwidths to ten digits, which evaluate to the same figures; files keep them all.

    >>> short_design("RI(4)@chip:699.9999999999995_SW(32)@pod:51.66666666666664 chunks=4")
    'RI(4)@chip:700_SW(32)@pod:51.66666667 chunks=4'
    """
    network, *options = design.split(" ")
    parts = []
    for part in network.split("_"):
        head, colon, bandwidth = part.partition(":")
        parts.append(f"{head}{colon}{bandwidth_text(float(bandwidth))}" if colon else part)
    return " ".join(["_".join(parts), *options])


def bandwidth_text(gigabytes: float) -> str:
    """Return GB/s to ten digits: rounded so, a design has the same figures and keeps all limits.

    >>> bandwidth_text(213.3333333333332), bandwidth_text(1234567.0), bandwidth_text(0.0000125)
    ('213.3333333', '1234567', '1.25e-05')
    """
    return f"{gigabytes:.10g}"


def label_of(column: str) -> str:
    """Return what an axis calls an objective.

    >>> label_of("time_ms"), label_of("power_MW"), label_of("hops")
    ('iteration time [ms]', 'power [MW]', 'hops')
    """
    name, _, unit = column.rpartition("_")
    return _LABELS.get(column, f"{name} [{unit}]" if name else column)
