"""The bill of a design as a table."""

from __future__ import annotations

import csv
import io

import pytest
from designs import design_file

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.explain.bill_table import COLUMNS, bill_table, table_csv

DESIGN = "SW(8)@nvlink4:450_CL(2048)@optics-400g:100 | tp8 dp2048 mb1 zero3 overlap-tp order-tp-cp-dp-pp"

PER_BANDWIDTH = "RI(4)@package:250_SW(1024)@pod:50"


@pytest.mark.slow
def test_a_bill_read_back_adds_up_to_the_cost() -> None:
    problem = load_problem(design_file("llama3-405b-16k"))
    population = problem.read(DESIGN)
    read = list(csv.DictReader(io.StringIO(table_csv(COLUMNS, bill_table(problem, population)))))
    assert tuple(read[0]) == COLUMNS
    cost = float(problem.measure(population, timed=False).cost[0])
    assert sum(float(row["cost_usd"]) for row in read) == pytest.approx(cost, abs=0.005)
    for row in read:
        if row["part"]:
            assert float(row["unit_usd"]) * int(row["pieces"]) == pytest.approx(float(row["cost_usd"]), abs=0.005)
            assert row["source"]
            assert int(row["year"]) >= 1990


def test_prices_per_bandwidth_have_no_bill() -> None:
    problem = load_problem("gpt3-4k")
    with pytest.raises(InputError, match="no bill of parts"):
        bill_table(problem, problem.read(PER_BANDWIDTH))
