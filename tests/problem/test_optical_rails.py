"""Orders with optical rails take the times of the block of designs, and cost what their bills say."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from order_files import order_data, order_problem

from evo_libra import load_problem, search
from evo_libra.problem.problem import Problem

PARTS = """
kind: parts
name: rails
source: an HGX H100 and a Polatis 6000N as loose parts
parts:
  cable: {kind: link, price_usd: 1, power_W: 0, source: here, year: 2026}
  optics: {kind: transceiver, price_usd: 1, power_W: 1, source: here, year: 2026}
  crossbar: {kind: switch, price_usd: 1, power_W: 1, ports: 8, source: here, year: 2026}
  mirrors: {kind: ocs, price_usd: 1, power_W: 1, ports: 192, source: here, year: 2026}
technologies:
  nvlink4: {port_GBps: 25, ports: 18, domain_size: 8, latency_ns: 350, blocks: [switch], link: cable, switch: crossbar,
         source: here, year: 2026}
  rail: {port_GBps: 50, ports: 1, latency_ns: 25, blocks: [ocs-rail], link: cable, transceiver: optics, ocs: mirrors,
         source: here, year: 2026}
"""
FABRIC = {"families": ["ocs-rails", "rail-optimised"], "switches": ["qm9700", "polatis-192"]}
RAILS = "72 hgx-h100 / 1 x 400G / polatis-192 ocs rails"


TIMES: dict[str, Any] = {"libra": "libra", "astra": "astra", "setting": {"model": "astra", "ocs_setting_us": 10_000}}


@cache
def orders(time: str) -> Problem:
    return order_problem(systems=["hgx-h100"], npus=576, fabric=FABRIC, time=TIMES[time])


def designs(folder: Path, time: str) -> Problem:
    """Return the problem of a design of the same figures."""
    (folder / "rails.yaml").write_text(PARTS)
    data = order_data(question="design", npus=576, objectives=["time", "cost"], bandwidth="ports", time=TIMES[time])
    fabric = {"catalog": str(folder / "rails.yaml"), "max_dimensions": 2}
    data = {**data, "npu": "h100-80gb", "fabric": fabric}
    del data["systems"]
    found = load_problem(data)
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("time", ["libra", "astra", "setting"])
def test_times_are_those_of_the_block_of_designs(time: str, tmp_path: Path) -> None:
    ordered, designed = orders(time), designs(tmp_path, time)
    for plan in ("tp8 dp72 mb1 zero1", "tp4 pp2 dp72 mb1 zero1", "dp576 mb1 zero1"):
        one = ordered.read(f"{RAILS} | {plan}")
        other = designed.read(f"SW(8)@nvlink4:450_OC(72)@rail:50 | {plan}")
        assert ordered.time(one) == pytest.approx(designed.time(other), rel=1e-12)


def test_circuits_that_change_take_their_time() -> None:
    # Groups of 72 in steps of one or two servers: two pipeline stages need rings and links of their own.
    design = f"{RAILS} | tp4 pp2 dp72 mb1 zero1"
    times = [float(orders(time).time(orders(time).read(design))[0]) for time in ("astra", "setting")]
    assert times[1] > times[0] + 0.01


def test_objectives_are_the_sums_of_the_bill() -> None:
    problem = orders("libra")
    assert problem.book is not None
    place = [problem.book.notation(place) for place in range(len(problem.book))].index(RAILS)
    bill = problem.book.bills[place]
    one = problem.read(f"{RAILS} | tp8 dp72 mb1 zero1")
    found = problem.measure(one, timed=False)
    assert round(float(found.cost[0]), 2) == bill.network_usd().value
    assert float(problem.evaluate(one).objectives[1, 0]) == pytest.approx(bill.order_usd().value, rel=1e-12)
    watts = float(found.watts[0] + found.npus.prod() * found.npu_watts[0] + found.around_watts[0])
    assert watts == pytest.approx(bill.watts(), rel=1e-9)
    alone = order_problem(systems=["hgx-h100"], npus=576, fabric={"families": "ocs-rails"})
    assert alone.book is not None
    assert bill in alone.book.bills


def test_they_are_searched_where_a_file_names_them() -> None:
    """Rings of mirrors cost a part of packet switches, so that the cheapest row has them."""
    rows = search(orders("libra")).rows()
    cheapest = min(rows, key=lambda row: row["order_cost_usd"])
    assert "ocs rails" in cheapest["design"]
    assert np.isfinite([row["time_s"] if "time_s" in row else row["time_ms"] for row in rows]).all()
