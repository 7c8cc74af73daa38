"""The bill of an order as records: a line for each product, and the sum of each section."""

from __future__ import annotations

from evo_libra.arrays import Population
from evo_libra.explain.record import OrderLine, SystemRow
from evo_libra.network.orders.bill import OrderBill
from evo_libra.network.orders.lines import Line
from evo_libra.problem.problem import Problem

KILO = 1e3


def bill_of_design(problem: Problem, population: Population) -> OrderBill | None:
    """Return the bill of the order that the first design is; None where the problem is of no orders, or it is none."""
    if problem.book is None:
        return None
    place = int(problem.book.place(population.select([0]))[0])
    return None if place < 0 else problem.book.bills[place]


def order_lines(problem: Problem, population: Population) -> tuple[OrderLine, ...]:
    """Return the lines of the bill of the first design; none where it is no order."""
    bill = bill_of_design(problem, population)
    return () if bill is None else tuple(map(_line, bill.lines))


def _line(line: Line) -> OrderLine:
    return OrderLine(
        section=line.section,
        product=line.product if line.parts == 1 else f"spare tray of {line.product}",
        what=line.what,
        pieces=line.pieces,
        unit_usd=None if line.usd is None else line.usd.value / line.parts,
        low_usd=None if line.usd is None else line.products * line.usd.low,
        cost_usd=None if line.usd is None else line.products * line.usd.value,
        high_usd=None if line.usd is None else line.products * line.usd.high,
        power_W=None if line.watts is None else line.products * line.watts,
        source=line.source,
    )


def section_rows(bill: OrderBill) -> tuple[SystemRow, ...]:
    """Return the sum of each section of a bill."""
    rows = []
    for section in dict.fromkeys(line.section for line in bill.lines):
        usd, kilowatts = bill.usd_of(section).value, bill.watts_of(section) / KILO
        rows.append(
            SystemRow(
                item=section, unit="section", pieces=1.0, unit_usd=usd, cost_usd=usd, unit_W=kilowatts * KILO,
                power_kW=kilowatts, source="",
            )
        )  # fmt: skip
    return tuple(rows)
