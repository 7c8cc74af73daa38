"""Which class of memory of an NPU lies where, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evo_libra.ui.tables.output import print_folded, print_table

_AHEAD = (
    "Accesses to expansion memory run beside the compute of a pass, read ahead; software that does not is slower (an "
    "approximation)."
)
_SHARE = 0.001
"""GB from which on a class is shown."""


def show_memory(report: Mapping[str, Any]) -> None:
    """Print the memory of a report of training or serving; a column for each tier where some of it is elsewhere."""
    own, away, limit = report["memory_GB"], report.get("expansion_GB", {}), report["memory_limit_GB"]
    classes = [(kind, bytes_, away.get(kind, 0.0)) for kind, bytes_ in own.items()]
    shown = [one for one in classes if one[1] + one[2] >= _SHARE]
    shown.append(("all", report["memory_total_GB"], sum(away.values())))
    tiers = ("own", "expansion") if away else ("GB",)
    rows = [[kind, *(f"{bytes_:.3g}" for bytes_ in held[: len(tiers)])] for kind, *held in shown]
    title = f"memory of an NPU [GB]; at most {limit:.4g}{' of its own' if away else ''}"
    print_table(title, ("class", *tiers), rows, left=("class",))
    if any(away.values()):
        print_folded(_AHEAD)
