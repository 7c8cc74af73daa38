"""Failures of a small design, every figure worked by hand."""

from __future__ import annotations

from math import exp
from pathlib import Path

import pytest
from small_problems import DESIGN, small

from evo_libra.explain.fault_report import fault_report
from evo_libra.explain.record import Failures
from evo_libra.network.catalog.failures import YEAR

RATES = "{npu: 10, host: 0, software: 0, link: 1, transceiver: 0, nic: 0, switch: 100}"
FAULTS = "checkpoint_s: 20, restart_s: 300, host_npus: 4, spares: [0, 4], repair_h: {npu: 1, link: 2, switch: 5}"
HOURS = YEAR / 3600.0
"""Hours of a year."""


def report(folder: Path, spares: int, interval: str = "interval_s: 1000, ", rates: str = RATES) -> Failures:
    faults = f"faults={{{interval}{FAULTS}, per_year: {rates}}}"
    problem = small(folder, faults, "objectives=[time, cost, goodput]", parts=True)
    found = fault_report(problem, problem.read(f"{DESIGN} spares={spares}"))
    assert found is not None
    return found


def test_parts_that_fail(tmp_path: Path) -> None:
    found = report(tmp_path, 4)
    boxes, npus, cables = found.parts
    # 4 switches, each fails 100 times a year and stops the job; their repair is waited for, for 5 h.
    assert (boxes.part, boxes.pieces, boxes.units_in_repair) == ("box", 4.0, 0.0)
    assert [boxes.failures_per_day, boxes.interruptions_per_day] == pytest.approx([400 * 24 / HOURS] * 2)
    assert boxes.share_waited_for == pytest.approx(1 - exp(-400 * 5 / HOURS))
    # 8 NPUs, 10 times a year: spares stand in for them.
    assert (npus.part, npus.pieces, npus.share_waited_for) == ("npu", 8.0, 0.0)
    assert [npus.failures_per_day, npus.interruptions_per_day] == pytest.approx([80 * 24 / HOURS] * 2)
    assert npus.units_in_repair == pytest.approx(80 * 1 / HOURS)
    # 24 cables: the 16 to switches stop the job, and spares stand in for their NPUs. The 8 of rings take one of two
    # ports, which is waited for in half.
    assert (cables.part, cables.pieces) == ("cable", 24.0)
    assert [cables.failures_per_day, cables.interruptions_per_day] == pytest.approx([24 * 24 / HOURS, 16 * 24 / HOURS])
    assert cables.units_in_repair == pytest.approx(16 * 2 / HOURS)
    assert cables.share_waited_for == pytest.approx(1 - exp(-8 / 2 * 2 / HOURS))
    assert found.interruptions_per_day == pytest.approx((400 + 80 + 16) * 24 / HOURS)
    assert (found.dominant_part, found.dominant_loss) == ("box", "waiting for repair")


def test_where_the_time_goes(tmp_path: Path) -> None:
    found = report(tmp_path, 4)
    # A unit of four stands in for one of 80 / HOURS + 32 / HOURS in repair; switches are waited for.
    spared, stops = 112 / HOURS, 496 / YEAR
    running = exp(-2000 / HOURS) * exp(-spared) * (1 + spared)
    full, started = exp(-8 / HOURS), exp(-300 * stops)
    # Daly 2006: work / (e^(work + written) - 1), in mean times between stops, of 1000 s and 20 s.
    useful = running * full * started * 1000 * stops / (exp(1020 * stops) - 1)
    assert found.time_shares == pytest.approx({
        "useful": useful, "checkpoints": useful * 20 / 1000,
        "recomputation": running * full * started - useful * 1.02, "restarts": running * full * (1 - started),
        "waiting for repair": 1 - running, "less bandwidth": running * (1 - full),
    })  # fmt: skip
    assert useful == pytest.approx(0.7697, abs=1e-4)
    assert sum(found.time_shares.values()) == pytest.approx(1.0)
    assert found.checkpoint_interval_s == 1000.0
    # Without spares, the job waits for these repairs, too.
    none = report(tmp_path, 0)
    assert none.time_shares["waiting for repair"] == pytest.approx(1 - exp(-2112 / HOURS))


def test_spares_have_their_part_of_the_network(tmp_path: Path) -> None:
    # 4 of 8 NPUs: half of 6,000 USD and of 568 W; a unit of the outer dimension is a ring of four.
    spares = report(tmp_path, 4).spares
    assert (spares.npus, spares.unit_npus, spares.units, spares.cost_usd, spares.power_W) == (4, 4, 1, 3000.0, 284.0)
    none = report(tmp_path, 0).spares
    assert (none.npus, none.units, none.cost_usd, none.power_W) == (0, 0, 0.0, 0.0)


def test_where_nothing_fails(tmp_path: Path) -> None:
    none = RATES.replace("10,", "0,").replace("1,", "0,").replace("100}", "0}")
    # No stop is worth a checkpoint, unless the file asks for one: 20 of 1,020 s.
    found = report(tmp_path, 0, interval="", rates=none)
    assert (found.parts, found.dominant_part, found.dominant_loss) == ((), None, None)
    assert found.checkpoint_interval_s is None
    asked = report(tmp_path, 0, rates=none)
    assert asked.checkpoint_interval_s == 1000.0
    assert asked.time_shares["useful"] == pytest.approx(1000 / 1020)
    assert (asked.dominant_part, asked.dominant_loss) == (None, "checkpoints")
    plain = small(tmp_path, parts=True)
    assert fault_report(plain, plain.read(DESIGN)) is None


def test_parts_that_stop_the_job_as_often_are_ordered_by_what_waits(tmp_path: Path) -> None:
    # Cables of rings alone: nothing stops. Two kinds of parts that only wait are in the order of that.
    faults = f"faults={{{FAULTS.replace('spares: [0, 4], ', '')}, per_year: {{npu: 0, host: 0, software: 0, link: 1}}}}"
    problem = small(tmp_path, faults, "objectives=[time, cost, goodput]", parts=True)
    found = fault_report(problem, problem.read("RI(8)@board:100"))
    assert found is not None
    assert [(one.part, one.interruptions_per_day) for one in found.parts] == [("cable", 0.0)]
    assert found.interruptions_per_day == 0.0
    assert found.dominant_part is None
    assert found.checkpoint_interval_s is None
    # 8 links, each a half of the bandwidth for 2 h in a year.
    assert found.time_shares["less bandwidth"] == pytest.approx(1 - exp(-8 / HOURS))
    assert found.dominant_loss == "less bandwidth"
