"""The bill of a design as a table that spreadsheets read: its network part by part, and the system around it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evo_libra.arrays import Population
from evo_libra.errors import InputError
from evo_libra.front.fault_report import fault_report
from evo_libra.front.system_bill import NETWORK, system_bill
from evo_libra.network.bill import part_figures, parts_in
from evo_libra.network.blocks import ITEMS
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.problem import Problem

COLUMNS = (
    "dimension", "technology", "item", "part", "pieces", "unit_usd", "cost_usd", "unit_power_W", "power_W", "source",
    "year",
)  # fmt: skip
"""Columns of a bill. Dimensions count from 1, the innermost first; rows without one are of the system around."""

TOTALS = ("cost_usd", "power_W")
"""Columns that add up."""

_KILO = 1e3


def bill_table(problem: Problem, population: Population) -> list[dict[str, Any]]:
    """Return a row for each part of each dimension of the first design, for spares, and for each item of the system.

    ``cost_usd`` adds up to the design's cost, or to that of its system where the problem has one. What no source gives
    is None. Raises `InputError` where the problem's prices are not those of whole parts.
    """
    one = population.select([0])
    if not isinstance(problem.pricing, BillOfMaterials) or not problem.pricing.whole:
        raise InputError("this problem has no bill of parts; it needs a catalogue of parts and `bandwidth: ports`")
    rows = [*_network(problem, problem.pricing, one), *_spares(problem, one), *_system(problem, one)]
    return [{key: row.get(key) for key in COLUMNS} for row in rows]


def _network(problem: Problem, pricing: BillOfMaterials, one: Population) -> Iterator[dict[str, Any]]:
    for row in pricing.bill(one):
        technology = int(one.technology[row["dimension"], 0])
        item, kit = ITEMS.index(row["item"]), pricing.parts[technology]
        part = parts_in(kit)[item]
        yield {
            **row,
            "dimension": row["dimension"] + 1,
            "technology": problem.catalog.names[technology],
            "unit_power_W": float(part_figures(kit)[1, item]),
            "source": None if part is None else part.source,
            "year": None if part is None else part.year,
        }


def _spares(problem: Problem, one: Population) -> Iterator[dict[str, Any]]:
    """Yield the network's part for spare NPUs, which is a share of all that is above."""
    spares = fault_report(problem, one).get("spares", {"npus": 0})
    if spares["npus"]:
        figures = {"cost_usd": spares["cost_usd"], "power_W": spares["power_W"]}
        yield {"item": "network of spare NPUs", "pieces": spares["npus"], **figures}


def _system(problem: Problem, one: Population) -> Iterator[dict[str, Any]]:
    """Yield what is bought beside the network; spare NPUs are among the pieces, and draw nothing."""
    for row in system_bill(problem, one):
        if row["item"] != NETWORK:
            pieces = row["pieces"]
            watts = None if row["power_kW"] is None else row["power_kW"] * _KILO
            yield {
                "item": row["unit"], "part": row["item"], "pieces": int(pieces) if pieces == int(pieces) else pieces,
                "unit_usd": row["unit_usd"], "cost_usd": row["cost_usd"], "power_W": watts,
                "unit_power_W": row["unit_power_W"], "source": row["source"] or None,
            }  # fmt: skip


def totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the sums of a bill, None where a row lacks the figure."""
    return {key: None if any(row[key] is None for row in rows) else sum(row[key] for row in rows) for key in TOTALS}


def bill_csv(rows: list[dict[str, Any]]) -> str:
    """Return the rows of `bill_table` as CSV (RFC 4180) with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
