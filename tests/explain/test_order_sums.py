"""The cost of an order is one figure, to the cent: objective, bill, record, table, export, report and prices."""

from __future__ import annotations

import csv
import io
import math

import pytest
from order_files import order_problem
from order_results import bill_of_row, book, order_front, orders

from evo_libra.exchange.formats import Chosen
from evo_libra.exchange.registry import write_as
from evo_libra.explain.as_json import as_json
from evo_libra.explain.bill_table import bill_table
from evo_libra.explain.design_record import design_record
from evo_libra.explain.parts_list import parts_list
from evo_libra.explain.reason_sheet import order_table, shares_table
from evo_libra.explain.system_views import system_rows
from evo_libra.report.data import Source, report_document


def cents(usd: float) -> int:
    return round(100.0 * usd)


@pytest.fixture(scope="module", params=range(len(order_front())))
def design(request: pytest.FixtureRequest) -> str:
    return str(order_front().rows()[request.param]["design"])


@pytest.mark.slow
def test_all_sums_of_an_order_are_one(design: str) -> None:
    whole, population = cents(bill_of_row(design).order_usd().value), orders().read(design)
    record = design_record(orders(), design, alternatives=False)
    bill = record.breakdown.order
    found = {
        "objective": float(orders().evaluate(population).objectives[1, 0]),
        "book": float(book().order_usd(population)[0]),
        "evaluate": record.figures["order_cost_usd"],
        "lines": math.fsum(line.cost_usd or 0.0 for line in bill),
        "json": math.fsum(line["cost_usd"] for line in as_json(record)["breakdown"]["order"]),
        "sections": math.fsum(row.cost_usd or 0.0 for row in record.breakdown.system),
        "rows of the bill": math.fsum(row["cost_usd"] for row in bill_table(orders(), population)),
        "parts": math.fsum(one.cost_usd for one in parts_list(orders(), population)),
        "bill of the order": float(str(order_table(bill).rows[-1][3]).replace(",", "")),  # type: ignore[index]
        "shares": float(str(shares_table(bill).rows[-1][2]).replace(",", "")),  # type: ignore[index]
        "front of systems": next((row.order_cost_usd for row in system_rows(orders()) if row.design == design), 0.0),
    }
    if not found["front of systems"]:  # a system keeps the fastest of its orders that are alike
        del found["front of systems"]
    assert {name: cents(usd) for name, usd in found.items()} == dict.fromkeys(found, whole)


def test_the_exported_bill_has_the_same_sum(design: str) -> None:
    rows = csv.DictReader(io.StringIO(str(write_as("bill-csv", Chosen(orders(), orders().read(design))).content)))
    assert cents(math.fsum(float(row["cost_usd"]) for row in rows)) == cents(bill_of_row(design).order_usd().value)


@pytest.mark.slow
def test_the_page_has_the_same_figures() -> None:
    document = report_document([Source("orders", order_front(), orders())], title="orders")
    column = next(one for one in document.columns if one.key == "order_cost_usd")
    for place, design in enumerate(document.rows.design):
        whole = bill_of_row(design).order_usd()
        shown = [values[place] for values in (column.values, column.low, column.high) if values]
        assert [float(value or 0.0) * column.factor for value in shown] == pytest.approx(
            [whole.value, whole.low, whole.high], rel=1e-6
        )


def test_spare_trays_are_no_systems() -> None:
    """Racks in full use have spare trays, a rule of the catalogue: 0.01 of 18 trays of each of 8 racks, 1 in all."""
    problem = order_problem(systems=["gb200-nvl72"], npus=576)
    design = next(row.design for row in system_rows(problem) if "active" not in row.design)
    parts = {one.part: one for one in parts_list(problem, problem.read(design))}
    assert parts["gb200-nvl72"].pieces == 8
    assert parts["spare tray of gb200-nvl72"].pieces == 1
    assert parts["spare tray of gb200-nvl72"].cost_usd == pytest.approx(3_400_000 / 18)
