"""The bill of a design as a table that spreadsheets read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.arrays import Population
from evo_libra.errors import InputError
from evo_libra.explain.as_json import as_json
from evo_libra.explain.fault_report import fault_report
from evo_libra.explain.order_bill import order_lines
from evo_libra.explain.record import OrderLine, SystemRow
from evo_libra.explain.system_bill import KILO, NETWORK, system_bill
from evo_libra.network.bill import parts_in
from evo_libra.network.blocks import ITEMS
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.problem import Problem

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    "dimension", "technology", "item", "part", "pieces", "unit_usd", "cost_usd", "low_usd", "high_usd", "unit_W",
    "power_W", "source", "year",
)  # fmt: skip
"""Columns of a bill. Rows of the network have a dimension, 0 the innermost, and the cost at both ends of prices."""

ORDER_COLUMNS = (
    "section", "part", "item", "pieces", "unit_usd", "cost_usd", "low_usd", "high_usd", "unit_W", "power_W", "source",
)  # fmt: skip
"""Columns of the bill of an order, with each line's cost at the lowest and the highest price."""

SPARES = "spares"
"""The item of what spare NPUs have of the network."""


def bill_table(problem: Problem, population: Population) -> list[dict[str, Any]]:
    """Return a row for each thing that the first design is bought of: the network's parts, spares, NPUs, hosts.

    ``cost_usd`` adds up to the design's cost, and with the rows of the system to its system cost; see
    `evo_libra.explain.system_bill` for when there are such rows.
    Spare NPUs draw no power. An order has a row for each line of its bill, with columns of its own.

    Raises
    ------
    InputError : the problem's prices are not those of whole parts.
    """
    one = population.select([0])
    if problem.book is not None:
        return [_of_order(line) for line in order_lines(problem, one)]
    if not isinstance(problem.pricing, BillOfMaterials) or not problem.pricing.whole:
        raise InputError("this problem has no bill of parts; it needs a catalogue of parts and `bandwidth: ports`")
    rows = [*_network(problem, problem.pricing, one), *_spares(problem, one)]
    rows += [_of_system(row) for row in system_bill(problem, one) if row.item != NETWORK]
    return [{key: row.get(key) for key in COLUMNS} for row in rows]


def _of_order(line: OrderLine) -> dict[str, Any]:
    watts = None if line.power_W is None or not line.pieces else line.power_W / line.pieces
    row = {**as_json(line), "item": line.what, "part": line.product, "unit_W": watts}
    return {key: row[key] for key in ORDER_COLUMNS}


def _network(problem: Problem, pricing: BillOfMaterials, one: Population) -> Iterator[dict[str, Any]]:
    for row in pricing.bill(one):
        technology = int(one.technology[row["dimension"], 0])
        part = parts_in(pricing.parts[technology])[ITEMS.index(row["item"])]
        yield {
            **row,
            "technology": problem.catalog.names[technology],
            "low_usd": None if part is None else row["pieces"] * part.price.low,
            "high_usd": None if part is None else row["pieces"] * part.price.high,
            "unit_W": row["power_W"] / row["pieces"],
            "source": None if part is None else part.source,
            "year": None if part is None else part.year,
        }


def _spares(problem: Problem, one: Population) -> Iterator[dict[str, Any]]:
    faults = fault_report(problem, one)
    if faults is not None and (count := faults.spares.npus):
        cost, watts = faults.spares.cost_usd, faults.spares.power_W
        yield {
            "item": SPARES, "part": "network of a spare NPU", "pieces": count, "unit_usd": cost / count,
            "unit_W": watts / count, "cost_usd": cost, "power_W": watts,
        }  # fmt: skip


def _of_system(row: SystemRow) -> dict[str, Any]:
    watts = None if row.power_kW is None else row.power_kW * KILO
    return {**as_json(row), "item": row.unit, "part": row.item, "power_W": watts}


def table_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV (RFC 4180) with a header of the columns; no text is a formula of a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows({name: _inert(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def frame_csv(frame: pl.DataFrame) -> str:
    """Return a frame as CSV; no text is a formula of a spreadsheet."""
    import polars as pl  # noqa: PLC0415 - who has a frame has imported it

    return frame.with_columns(pl.col(pl.String).str.replace(rf"^([{_FORMULA}])", "'$1")).write_csv()


_FORMULA = "=+@\t\r\n\u00a0\u2028\ufeff\uff1d\uff0b\uff0d\uff20-"
"""Characters at which a spreadsheet takes the text of a cell for a formula: wide ones too, and spaces that it drops."""


def _inert(value: object) -> object:
    """Return the value of a cell; a text that a spreadsheet would take for a formula has an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple(_FORMULA) else value
