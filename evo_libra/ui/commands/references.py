"""Reference designs beside a front: a table, and what the front is better by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evo_libra.ui.output import number, print_folded, print_table, short_design, time_text


def show_references(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print reference designs with their objectives, and how much better a front is than each of them."""
    if not rows:
        return
    print_table(
        "reference designs of this size; `evo-libra catalog designs` has their sources",
        ("name", *(column.removesuffix("_ms") for column in columns), "design"),
        [
            [str(row["name"]), *(_figure(column, row[column]) for column in columns), short_design(str(row["design"]))]
            for row in rows
        ],
        left=("name",),
        fold=("design",),
    )
    print_folded(*(f"{row['name']}: {sentence}" for row in rows if (sentence := comparison(row))))


def comparison(row: Mapping[str, Any]) -> str:
    """Return how much better a front is than a reference design; empty where it is not compared.

    >>> comparison({"cheaper_at_equal_time_percent": 12.34, "faster_at_equal_cost_percent": -0.5})
    'the front is 12.3 % cheaper at equal time, 0.5 % slower at equal cost'
    >>> comparison({"cheaper_at_equal_time_percent": None, "faster_at_equal_cost_percent": 3.0})
    'the front has no design as fast, and is 3.0 % faster at equal cost'
    """
    from evo_libra.front.references import CHEAPER, FASTER

    if CHEAPER not in row:
        return ""
    cheaper, faster = row[CHEAPER], row[FASTER]
    if cheaper is None and faster is None:
        return "the front has no design as fast or as cheap"
    cost = "" if cheaper is None else f"{_percent(cheaper, 'cheaper', 'more expensive')} at equal time"
    time = "" if faster is None else f"{_percent(faster, 'faster', 'slower')} at equal cost"
    if cheaper is None:
        return f"the front has no design as fast, and is {time}"
    return f"the front is {cost}, {time}" if time else f"the front has no design as cheap, and is {cost}"


def _percent(value: float, better: str, worse: str) -> str:
    return f"{abs(value):.1f} % {worse if value < 0 else better}"


def _figure(column: str, value: float) -> str:
    return time_text(value) if column.endswith("_ms") else number(value)
