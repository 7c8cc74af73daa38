"""The bill of a whole system: network, NPUs, and what is around them."""

from __future__ import annotations

from collections.abc import Sequence

from evo_libra.arrays import Population
from evo_libra.explain.order_bill import bill_of_design, section_rows
from evo_libra.explain.record import SystemRow
from evo_libra.problem.needs import NPU_PRICE, NPU_WATTS
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.problem import Problem
from evo_libra.problem.system import bought_npus

KILO = 1e3
NETWORK = "network"
"""The item of the bill that the bill of the network is of."""


def system_bill(problem: Problem, population: Population) -> tuple[SystemRow, ...]:
    """Return a row for each thing that the system of the first design is bought of.

    The sum of ``cost_usd`` is the objective system-cost. That of ``power_kW`` is the power in system-tco: spare NPUs
    are bought, and draw nothing. ``unit_usd`` is the middle of a range of prices. Figures without a source are None.
    There is no bill where the file has no `system` and no objective is of the price or the power of NPUs.
    """
    if (bill := bill_of_design(problem, population)) is not None:
        return section_rows(bill)
    measures = [MEASURES[objective.name] for objective in problem.objectives]
    npu, system = problem.sources.npu, problem.sources.system
    if not npu.names or not (system.rows or any(one.needs & {NPU_PRICE, NPU_WATTS} for one in measures)):
        return ()
    one = population.select([0])
    figures = problem.measure(one, timed=False)
    place = int(npu.place(one.technology)[0])
    watts, price = (None if each is None else float(each[0]) for each in (figures.npu_watts, figures.npu_price))
    network = float(figures.watts[0]) if problem.pricing.kits else None
    working = float(one.npus.prod())
    rows = [
        _row(NETWORK, NETWORK, pieces=1.0, price=float(figures.cost[0]), watts=network, source=""),
        _row(
            npu.names[place],
            "NPU",
            pieces=float(bought_npus(one)[0]),
            price=price,
            watts=watts,
            source=npu.sources[place],
            working=working,
        ),
    ]
    around = [(row, float(row.pieces(one)[0])) for row in system.rows]
    return (*rows, *(
        _row(
            row.name,
            row.unit,
            pieces=pieces,
            price=None if row.price is None else row.price.value,
            watts=row.watts,
            source=row.source,
        )
        for row, pieces in around
        if pieces
    ))  # fmt: skip


def sum_of(bill: Sequence[SystemRow], column: str) -> float | None:
    """Return the sum of a column of a bill; None where a row lacks the figure."""
    values = [getattr(row, column) for row in bill]
    return None if None in values else sum(values)


def _row(
    item: str, unit: str, pieces: float, price: float | None, watts: float | None, source: str,
    working: float | None = None,
) -> SystemRow:  # fmt: skip
    """Return a row of the bill; `working` is how many of the pieces draw power, where it is not all of them."""
    return SystemRow(
        item=item,
        unit=unit,
        pieces=pieces,
        unit_usd=price,
        cost_usd=None if price is None else pieces * price,
        unit_W=watts,
        power_kW=None if watts is None else (pieces if working is None else working) * watts / KILO,
        source=source,
    )
