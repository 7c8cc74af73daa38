"""What commands print of failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evo_libra.quantities import number
from evo_libra.ui.tables.output import print_folded, print_table

_PERCENT = 100.0


def spare_entries(breakdown: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the spares of a breakdown, with what they cost, where it has some."""
    spares = breakdown.get("faults", {}).get("spares", {"npus": 0})
    return [spares] if spares["npus"] else []


def show_faults(found: Mapping[str, Any]) -> None:
    """Print where the time goes under failures, how often each part stops the job, and what the spares are."""
    shares = [[name, f"{_PERCENT * share:.4g}"] for name, share in found["time_shares"].items()]
    print_table("time under failures [%]", ("part of the time", "%"), shares, left=("part of the time",))
    rows = [
        [
            row["part"],
            f"{row['pieces']:,.6g}",
            *(f"{row[key]:.3g}" for key in ("failures_per_day", "interruptions_per_day", "units_in_repair")),
            f"{_PERCENT * row['share_waited_for']:.3g}",
        ]
        for row in found["parts"]
    ]
    head = ("part", "pieces", "failures", "stops", "in repair", "waited for [%]")
    print_table(
        "failures, and stops of the job, per day by part; units in repair", head, rows, fold=("part",), left=("part",)
    )
    print_folded(*_sentences(found))


def _sentences(found: Mapping[str, Any]) -> list[str]:
    per_day, spares = found["interruptions_per_day"], found["spares"]
    texts = [f"{number(per_day)} interruptions per day"]
    if found["dominant_part"] is not None:
        texts[0] += f", most of them of {found['dominant_part']}; one every {number(24 / per_day)} h"
    if found["dominant_loss"] is not None:
        texts.append(f"most time is lost to {found['dominant_loss']}")
    if found["checkpoint_interval_s"] is not None:
        texts.append(f"a checkpoint after every {number(found['checkpoint_interval_s'])} s of work")
    if spares["npus"]:
        texts.append(f"{spares['npus']:,} spare NPUs: {spares['units']:,} units of {spares['unit_npus']:,} NPUs")
    return texts
