"""A bill of materials for spreadsheets."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import polars as pl

from evo_libra.exchange.formats import Chosen, Writer, Written
from evo_libra.explain.bill_table import COLUMNS, ORDER_COLUMNS, bill_table, table_csv
from evo_libra.installed import require

_CREATED = datetime(2000, 1, 1, tzinfo=UTC)
_SOURCE_PIXELS = 400
"""Width of the column of sources, whose texts are folded in it: some are as long as a paragraph."""

_TEXT_STAYS_TEXT = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
"""Options of a workbook: a name of a part or a source that begins with = is no formula."""


def _csv(chosen: Chosen) -> Written:
    return Written(table_csv(_columns(chosen), bill_table(chosen.problem, chosen.population)))


def _columns(chosen: Chosen) -> tuple[str, ...]:
    return COLUMNS if chosen.problem.book is None else ORDER_COLUMNS


def _excel(chosen: Chosen) -> Written:
    """Write a workbook whose sums are formulas, so that edited prices add up; it is the same each time."""
    require("xlsxwriter", extra="excel", purpose="bill-excel")
    from xlsxwriter import Workbook  # noqa: PLC0415 - other writers do without

    frame, content = pl.DataFrame(bill_table(chosen.problem, chosen.population), infer_schema_length=None), io.BytesIO()
    # Rows of a system next to a design's network have no range, so its ends add up for orders alone.
    ranges = () if chosen.problem.book is None else ("low_usd", "high_usd")
    sums = ["cost_usd", *ranges, "power_W"]
    with Workbook(content, _TEXT_STAYS_TEXT) as book:
        book.set_properties({"created": _CREATED})
        frame.write_excel(
            book, "bill", column_totals=sums, autofit=True, freeze_panes=(1, 0),
            column_widths={"source": _SOURCE_PIXELS},
            column_formats={
                "source": {"text_wrap": True, "valign": "top"}, "pieces": "#,##0", "power_W": "#,##0.0",
                **dict.fromkeys(("cost_usd", "low_usd", "high_usd"), "#,##0.00"),
            },
        )  # fmt: skip
    return Written(content.getvalue())


WRITERS = (
    Writer("bill-csv", "the bill of materials as a table for spreadsheets", _csv),
    Writer("bill-excel", "the bill of materials as a workbook of Excel", _excel),
)
