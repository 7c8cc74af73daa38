"""The bill of a design for spreadsheets: CSV, and Excel by way of XlsxWriter."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evo_libra.exchange.writer import Exported, Writer, Written
from evo_libra.front.bill_table import COLUMNS, TOTALS, bill_csv, bill_table, totals

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

_PLAIN = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
"""Options of a workbook: text of a file stays text, whatever it begins with."""

_CREATED = datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)
"""The date of every workbook, so that a design has one content."""

_FORMATS = {"cost_usd": "#,##0.00", "unit_usd": "#,##0.00", "pieces": "#,##0", "power_W": "#,##0.0",
            "unit_power_W": "#,##0.0"}  # fmt: skip
_WIDE = 60
_LEAST = 10


def _rows(design: Exported) -> list[dict[str, Any]]:
    _ = design.pricing  # which says in a sentence what is missing
    return bill_table(design.problem, design.population)


def _write_csv(design: Exported) -> Written:
    return Written(bill_csv(_rows(design)))


def _write_excel(design: Exported) -> Written:
    from xlsxwriter import Workbook  # noqa: PLC0415 - it takes a while

    rows, buffer = _rows(design), io.BytesIO()
    with Workbook(buffer, _PLAIN) as book:
        book.set_properties({"title": f"Bill of {design.problem.name}", "created": _CREATED})
        sheet, bold = book.add_worksheet("bill"), book.add_format({"bold": True})
        formats = {key: book.add_format({"num_format": text}) for key, text in _FORMATS.items()}
        sums = {key: book.add_format({"num_format": _FORMATS[key], "bold": True, "top": 1}) for key in TOTALS}
        sheet.write_row(0, 0, COLUMNS, bold)
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, len(rows), len(COLUMNS) - 1)
        for column, key in enumerate(COLUMNS):
            values = [row[key] for row in rows]
            width = max(len(str(value)) for value in (key, *values) if value is not None) + 2
            sheet.set_column(column, column, min(max(width, _LEAST), _WIDE), formats.get(key))
            sheet.write_column(1, column, values)
        _write_totals(sheet, rows, bold, sums)
        about = book.add_worksheet("design")
        about.set_column(0, 0, 2 * _LEAST, bold)
        about.set_column(1, 1, _WIDE)
        for place, (name, value) in enumerate(_about(design, rows)):
            about.write_row(place, 0, (name, value))
    return Written(buffer.getvalue())


def _write_totals(sheet: Worksheet, rows: list[dict[str, Any]], bold: Any, sums: dict[str, Any]) -> None:  # noqa: ANN401 - formats
    """Write sums as formulas with their values, below the rows; none where a row lacks the figure."""
    last = len(rows) + 1
    sheet.write(last, 0, "total", bold)
    for key, value in totals(rows).items():
        if value is not None:
            letter = chr(ord("A") + COLUMNS.index(key))
            sheet.write_formula(last, COLUMNS.index(key), f"=SUM({letter}2:{letter}{last})", sums[key], value)


def _about(design: Exported, rows: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [
        ("problem", design.problem.name),
        ("design", design.notation),
        ("NPUs", design.problem.npus),
    ]
    return [*found, *((key, value) for key, value in totals(rows).items() if value is not None)]


WRITERS = (
    Writer("bill-csv", "the bill of the network and of the system around it, as CSV", _write_csv),
    Writer("bill-excel", "the same as an Excel workbook, with totals", _write_excel, binary=True),
)
