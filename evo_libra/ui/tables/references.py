"""Reference designs next to a front: a table, and the gain of the front over each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.explain.labels import bandwidths_text, short_design
from evo_libra.quantities import number, reading_unit, time_text
from evo_libra.ui.tables.output import print_folded, print_table

if TYPE_CHECKING:
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.front.front import Front


def show_references(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], absent: Sequence[str] = ()) -> None:
    """Print reference designs with their objectives, what a front is better by, and sentences of those without."""
    if rows:
        _show_designs(rows, columns)
    print_folded(*absent)


def _show_designs(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    from evo_libra.front.families import short_plans
    from evo_libra.network.orders.text import is_order
    from evo_libra.ui.tables.design_table import BANDWIDTH, NETWORK, PLAN, folded_head

    if not is_network(str(rows[0]["design"])):
        head = ("name", *map(folded_head, columns), "what it is")
        cells = [[str(r["name"]), *(number(r[column]) for column in columns), str(r["design"])] for r in rows]
        print_table("designs to compare with", head, cells, left=("name", "what it is"), fold=("what it is",))
        return
    plans, shared = short_plans([str(row["design"]).partition(" | ")[2] for row in rows])
    if is_order(str(rows[0]["design"])):
        _show_orders(rows, columns)
        print_folded(*([f"their plans: {shared}"] if shared else []), *reference_sentences(rows))
        return
    planned = [PLAN] if any(plans) else []
    print_table(
        "reference designs of this size; `evo-libra catalog designs` has their sources",
        ("name", *(column.removesuffix("_ms") for column in columns), NETWORK, BANDWIDTH, *planned),
        [
            [
                str(row["name"]), *(_figure(column, row[column]) for column in columns),
                _network(design), bandwidths_text(design), *([plan] if planned else []),
            ]
            for row, plan in zip(rows, plans, strict=True)
            for design in (str(row["design"]),)
        ],
        left=("name", NETWORK), fold=(BANDWIDTH, PLAN),
    )  # fmt: skip
    print_folded(*([f"their plans: {shared}"] if shared else []))
    print_folded(*reference_sentences(rows))


def _show_orders(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print reference orders with their objectives in the units that people say."""
    from evo_libra.ui.tables.design_table import folded_head

    values = [[float(row[column]) for row in rows] for column in columns]
    units = [reading_unit(column, some) for column, some in zip(columns, values, strict=True)]
    heads = [
        f"{column.rpartition('_')[0]}\n[{unit}]" if unit else folded_head(column)
        for column, (unit, _) in zip(columns, units, strict=True)
    ]
    cells = [[number(one / size) for one in some] for some, (_, size) in zip(values, units, strict=True)]
    print_table(
        "reference orders of this size; `evo-libra catalog clusters` has their sources", ("name", *heads, "order"),
        [
            [str(row["name"]), *(some[n] for some in cells), str(row["design"]).partition(" | ")[0]]
            for n, row in enumerate(rows)
        ],
        left=("name", "order"), fold=("name", "order"),
    )  # fmt: skip


def _network(design: str) -> str:
    """Return the short network of a design, and its accelerator where it names one."""
    from evo_libra.front.families import short_network
    from evo_libra.network.fabric import parse_fabric

    return " ".join(filter(None, (short_network(design), parse_fabric(design).npu)))


def is_network(design: str) -> bool:
    """Return whether a reference design is in the notation of networks; those of problems in Python are in words.

    >>> is_network("SW(8)@nvlink4:450"), is_network("blocks of neighbours")
    (True, False)
    """
    from evo_libra.network.orders.text import is_order

    return is_order(design) or ("(" in design and "@" in design)


def rows_of_runs(folders: Sequence[RunFolder], fronts: Sequence[Front]) -> list[dict[str, Any]]:
    """Return the reference designs of runs of one problem, with what their fronts together are better by."""
    import polars as pl

    from evo_libra.explain.references import reference_rows
    from evo_libra.front.front import Front

    objectives = fronts[0].objectives
    together = Front(pl.concat([front.frame.select(objectives) for front in fronts]), objectives)
    return reference_rows(folders[0].read_references().points, together) if len(together) else []


def reference_sentences(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how much better a front is than each reference design, and what the problem does not allow of it."""
    return [f"{row['name']}: {sentence}" for row in rows if (sentence := _compared(row))]


def _compared(row: Mapping[str, Any]) -> str:
    """Return how much better a front is than a reference design, and what its problem does not allow of that.

    >>> _compared({"not_allowed": "switch q3400-ra, where the file allows sn5600"})
    'not allowed: switch q3400-ra, where the file allows sn5600'
    """
    outside = row.get("not_allowed")
    return "; ".join(filter(None, (comparison(row), f"not allowed: {outside}" if outside else "")))


def sentences_of_run(folder: RunFolder) -> list[str]:
    """Return how much better the front of a run is than each reference design; none of a run that has no front yet."""
    try:
        return reference_sentences(rows_of_runs([folder], [folder.read_front()]))
    except InputError:
        return []


def reference_facts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return reference designs as lines of a label and what a front is better by."""
    labels = ("references", *[""] * len(rows))
    sentences = (f"{row['name']} ({_built(str(row['design']))}): {_compared(row)}".rstrip(": ") for row in rows)
    return list(zip(labels, sentences, strict=False))


def _built(design: str) -> str:
    """Return a design in short, and an order without its plans."""
    from evo_libra.network.orders.text import is_order

    return design.partition(" | ")[0] if is_order(design) else short_design(design)


def comparison(row: Mapping[str, Any]) -> str:
    """Return how much better a front is than a reference design; empty where it is not compared.

    >>> comparison({"cheaper_at_equal_time_percent": 12.34, "faster_at_equal_cost_percent": -0.5})
    'the front is 12.3 % cheaper at equal time, 0.5 % slower at equal cost'
    >>> comparison({"cheaper_at_equal_time_percent": None, "faster_at_equal_cost_percent": 3.0})
    'the front has no design as fast, and is 3.0 % faster at equal cost'
    """
    from evo_libra.explain.references import CHEAPER, FASTER

    if CHEAPER not in row:
        return ""
    cheaper, faster = row[CHEAPER], row[FASTER]
    if cheaper is None and faster is None:
        return "the front has no design as fast or as cheap"
    if cheaper is not None and faster is not None and max(abs(cheaper), abs(faster)) < _SEEN:
        return "the front has one that is as fast and as cheap"
    cost = "" if cheaper is None else f"{_percent(cheaper, 'cheaper', 'more expensive')} at equal time"
    time = "" if faster is None else f"{_percent(faster, 'faster', 'slower')} at equal cost"
    if cheaper is None:
        return f"the front has no design as fast, and is {time}"
    return f"the front is {cost}, {time}" if time else f"the front has no design as cheap, and is {cost}"


_SEEN = 0.05
"""Percent below which a difference is shown as 0.0."""


def _percent(value: float, better: str, worse: str) -> str:
    return f"{abs(value):.1f} % {worse if value < 0 else better}"


def _figure(column: str, value: float) -> str:
    return time_text(value) if column.endswith("_ms") else number(value)
