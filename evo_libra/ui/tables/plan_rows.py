"""What other plans would take on the network of a design, as rows and sentences for tables and screens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plan_rows(found: Mapping[str, Any], size: float) -> list[tuple[str, str, str, str]]:
    """Return a row for each change of a plan: what changes, the time in a unit of `size` ms, how much slower, memory.

    Parameters
    ----------
    found : from `evo_libra.explain.plan_alternatives.plan_alternatives`.
    """
    return [
        (
            one["change"],
            "-" if one["time_ms"] is None else f"{one['time_ms'] / size:.4g}",
            "does not fit the network" if one["time_ms"] is None else f"{one['slower_percent']:+.1f}",
            f"{one['memory_GB']:.3g}" + ("" if one["fits_memory"] else f", too much: {one['most_memory']}"),
        )
        for one in found["changes"]
    ]


def plan_sentences(found: Mapping[str, Any], unit: str, size: float) -> list[str]:
    """Return how a plan stands among all of them, what does not divide, and what a faster network would change."""
    many, following = found["faster_plans"], found.get("next_plan")
    faster = "no plan that fits is" if not many else f"{many:,} of the plans that fit are"
    best = "" if following is None else f"; the fastest of the others is {following['plan']}, "
    rest = "" if following is None else f"{following['time_ms'] / size:.4g} {unit}"
    wider = found["time_with_faster_network_ms"] / size
    return [
        f"{faster} faster on this network{best}{rest}",
        f"with 10 % more bandwidth everywhere: {wider:.4g} {unit}",
        *(f"no {one['change']}: {one['reason']}" for one in found["blocked"]),
    ]
