"""The bill of a design as a table that spreadsheets read."""

from __future__ import annotations

import csv
import io
from typing import Any

from evo_libra.arrays import Population
from evo_libra.errors import InputError
from evo_libra.network.bill import parts_in
from evo_libra.network.blocks import ITEMS
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.problem import Problem

COLUMNS = (
    "dimension", "technology", "item", "part", "pieces", "unit_usd", "cost_usd", "power_W", "source", "year",
)  # fmt: skip
"""Columns of a bill; dimensions count from 1, the innermost first."""


def bill_table(problem: Problem, population: Population) -> list[dict[str, Any]]:
    """Return a row for each part of each dimension of the first design; ``cost_usd`` adds up to the design's cost.

    Raises `InputError` where the problem's prices are not those of whole parts.
    """
    one = population.select([0])
    if not isinstance(problem.pricing, BillOfMaterials) or not problem.pricing.whole:
        raise InputError("this problem has no bill of parts; it needs a catalogue of parts and `bandwidth: ports`")
    found = []
    for row in problem.pricing.bill(one):
        technology = int(one.technology[row["dimension"], 0])
        part = parts_in(problem.pricing.parts[technology])[ITEMS.index(row["item"])]
        extra = {
            "dimension": row["dimension"] + 1,
            "technology": problem.catalog.names[technology],
            "source": None if part is None else part.source,
            "year": None if part is None else part.year,
        }
        found.append({key: {**row, **extra}[key] for key in COLUMNS})
    return found


def bill_csv(rows: list[dict[str, Any]]) -> str:
    """Return the rows of `bill_table` as CSV (RFC 4180) with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
