"""Tables of designs: their ids, short names, bandwidths and plans, or all that there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.explain.labels import bandwidths_text, short_design
from evo_libra.network.transport import LABEL
from evo_libra.problem.written_designs import NOTE
from evo_libra.quantities import money_unit, number, time_unit
from evo_libra.ui.tables.output import print_folded, print_table

if TYPE_CHECKING:
    import polars as pl

    from evo_libra.front.front import Front

NETWORK, BANDWIDTH, PLAN, ORDER = "network", "GB/s", "plan", "order"
_WIDE = 10_000


def show_designs(front: Front, shown: pl.DataFrame, title: str, *, wide: bool = False) -> None:
    """Print a table of designs of a front: ids, objectives and what tells the designs apart.

    What all plans of the table have in common stands below it. With `wide`, designs are in the notation, one in a line.
    """
    times = [column for column in front.objectives if column.endswith("_ms")]
    units = dict.fromkeys(front.objectives, ("", 1.0))
    units |= {column: unit_of(column, shown[column].to_list()) for column in times}
    heads = ["id", *(column.removesuffix("ms") + unit if unit else column for column, (unit, _) in units.items())]
    if "design" not in shown.columns:
        heads = list(map(folded_head, heads))  # designs in words need the room
    names, shared = ({"design": _whole(shown, front)}, "") if wide else described(front, shown)
    rows = [
        [str(row["id"]), *(number(row[column] / size) for column, (_, size) in units.items()), *cells]
        for row, *cells in zip(shown.to_dicts(), *names.values(), strict=True)
    ]
    fold = () if wide else tuple(names)
    print_table(title, (*heads, *names), rows, left=tuple(names), fold=fold, min_width=_WIDE if wide else 0)
    if shared:
        print_folded(f"all plans: {shared}")
    if noted(shown):
        print_folded(LABEL)


def noted(shown: pl.DataFrame) -> bool:
    """Return whether some design of a table has a transport."""
    return NOTE in shown.columns and any(shown[NOTE])


def folded_head(column: str) -> str:
    r"""Return the name of a column with its unit in a line of its own.

    >>> folded_head("error_rate_percent"), folded_head("id")
    ('error_rate\npercent', 'id')
    """
    return "\n".join(filter(None, column.rpartition("_")[::2]))


def described(front: Front, shown: pl.DataFrame) -> tuple[dict[str, list[str]], str]:
    """Return columns that tell some designs of a front apart in little room, and the words that all plans have.

    Networks have the short names of their families. Bandwidths are of the dimensions in order, and evaluate to the same
    figures.
    """
    from evo_libra.front.families import families_of
    from evo_libra.front.front import SYSTEM

    if "design" not in shown.columns:
        return {"design": _whole(shown, front)}, ""
    if SYSTEM in shown.columns:
        columns = {ORDER: [text.partition(" | ")[0] for text in shown["design"]]}
        return _with_plans(columns, shown)
    place = dict(zip(front.frame["id"].to_list(), families_of(front).labels, strict=True))
    columns = {
        NETWORK: [place[one] for one in shown["id"]],
        BANDWIDTH: [bandwidths_text(text) for text in shown["design"]],
    }
    options = [text.partition(" | ")[0].partition(" ")[2] for text in shown["design"]]
    if any(options):
        columns["options"] = options
    return _with_plans(columns, shown)


def _with_plans(columns: dict[str, list[str]], shown: pl.DataFrame) -> tuple[dict[str, list[str]], str]:
    """Return columns with what tells plans apart, and the words that all plans have."""
    from evo_libra.front.families import short_plans

    plans = [text.partition(" | ")[2] for text in shown["design"]]
    if not any(plans):
        return columns, ""
    short, shared = short_plans(plans)
    return columns | ({PLAN: short} if any(short) else {}), shared


def unit_of(column: str, values: Sequence[float]) -> tuple[str, float]:
    """Return the unit in which a column of times or amounts reads best, and its size; of others, no unit and 1."""
    middle = sorted(values)[len(values) // 2] if values else 0.0
    if column.endswith("_ms"):
        return time_unit(middle)
    return money_unit(middle) if column.endswith("_usd") else ("", 1.0)


def _whole(shown: pl.DataFrame, front: Front) -> list[str]:
    return [_design(row, front.objectives) for row in shown.to_dicts()]


def _design(row: Mapping[str, Any], objectives: Sequence[str]) -> str:
    """Return what tells a design from others: the notation, or what a problem written in Python says of it."""
    if "design" in row:
        return short_design(str(row["design"]))
    others = {key: value for key, value in row.items() if key not in ("id", "family") and key not in objectives}
    return ", ".join(f"{key}={number(value) if isinstance(value, float) else value}" for key, value in others.items())
