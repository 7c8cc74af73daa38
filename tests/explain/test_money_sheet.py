"""Sections of where the money goes, of records whose figures are chosen by hand."""

from __future__ import annotations

from dataclasses import replace

from evo_libra.explain.reason_sheet import (
    bill_table,
    failure_parts,
    money_section,
    parts_table,
    shares_table,
    system_table,
)
from evo_libra.explain.record import (
    Breakdown,
    FailingPart,
    Failures,
    NetworkDimension,
    OrderLine,
    PartRow,
    Spares,
    SystemRow,
)
from evo_libra.explain.sheet import Table

SPARES = Spares(npus=0, unit_npus=8, units=0, cost_usd=0.0, power_W=0.0)
INNER = NetworkDimension(
    dimension=0, block="switch", npus=8, technology="nvlink4", bandwidth_GBps=450.0,
    figures={"cost_usd": 3000.5, "ports": 18, "link_usd": 1000.4, "switch_usd": 2000.1, "nic_usd": 0.0,
             "power_W": 120.25},
)  # fmt: skip
OUTER = replace(INNER, dimension=1, block="ring", npus=4, technology="optics", bandwidth_GBps=50.123456,
                figures={**INNER.figures, "ports": 2, "cost_usd": 500.0})  # fmt: skip
BILL = (
    PartRow(dimension=0, item="switch", part="nvswitch3", pieces=1200, unit_usd=2.5, cost_usd=3000.0, power_W=100.0,
            idle_W=40.0),
    PartRow(dimension=1, item="link", part=None, pieces=3, unit_usd=None, cost_usd=500.0, power_W=20.5, idle_W=None),
)  # fmt: skip
FOUND = Breakdown(workloads=(), dimensions=(INNER, OUTER), bill=BILL)
FAILURES = Failures(
    interruptions_per_day=4.0, checkpoint_interval_s=1800.0, time_shares={"useful": 0.9, "restarts": 0.1},
    dominant_part="nic", dominant_loss="restarts",
    parts=(FailingPart(part="nic", pieces=64.0, failures_per_day=5.0, interruptions_per_day=4.0, units_in_repair=0.25,
                       share_waited_for=0.0125),),
    spares=Spares(npus=1600, unit_npus=8, units=200, cost_usd=400.0, power_W=10.0),
)  # fmt: skip


def test_a_bill_adds_up_with_spares() -> None:
    found = bill_table(replace(FOUND, faults=FAILURES))
    # 3,000.5 + 500 USD of the dimensions and 400 of spares; 100 + 20.5 W of the parts and 10 of spares.
    assert found.rows == (
        None, ("0: switch(8) @nvlink4, 18 ports", "", "", "", "", ""),
        ("  switch nvswitch3", "1,200", "2.5", "3,000.00", "100.0", "40.0"),
        None, ("1: ring(4) @optics, 2 ports", "", "", "", "", ""), ("  link ", "3", "-", "500.00", "20.5", "-"),
        None, ("spares, 1,600 NPUs", "", "", "400.00", "10.0", ""), None, ("total", "", "", "3,900.50", "130.5", ""),
    )  # fmt: skip
    assert found.columns == ("part", "pieces", "each [USD]", "cost [USD]", "power [W]", "idle [W]")
    # The heads of the dimensions stand out.
    assert found.strong == ((1, 0), (4, 0))
    assert bill_table(FOUND).rows[-1] == ("total", "", "", "3,500.50", "120.5", "")


def test_costs_without_whole_parts() -> None:
    found = parts_table(replace(FOUND, bill=()))
    assert found.title == "parts in any fraction; whole ones cost no less"
    assert found.columns == ("dimension", "GB/s", "ports", "cost [USD]", "power [W]")
    assert found.rows == (
        ("0: switch(8) @nvlink4", "450", "18", "3,000.50", "120.2"),
        ("1: ring(4) @optics", "50.123", "2", "500.00", "120.2"),
    )
    priced = replace(INNER, figures={key: value for key, value in INNER.figures.items() if key != "ports"})
    found = parts_table(Breakdown(workloads=(), dimensions=(priced,)))
    assert found.title == "cost by part [USD]"
    assert found.columns == ("dimension", "GB/s", "link", "switch", "nic", "total")
    assert found.rows == (("0: switch(8) @nvlink4", "450", "1,000", "2,000", "0", "3,000"),)


def system(item: str, cost: float | None, kilowatts: float | None) -> SystemRow:
    return SystemRow(item=item, unit="NPU", pieces=1.5, unit_usd=2.0, cost_usd=cost, unit_W=1.0, power_kW=kilowatts,
                     source="")  # fmt: skip


def test_a_whole_system() -> None:
    rows = [system("network", 1000.0, 2.5), system("h100", 3000.0, 4.0)]
    assert system_table(rows).rows == (
        ("network", "1.5", "2.00", "1,000.00", "2.50"), ("h100", "1.5", "2.00", "3,000.00", "4.00"), None,
        ("all", "", "", "4,000.00", "6.50"),
    )  # fmt: skip
    # A sum with an unknown figure is unknown.
    assert system_table([*rows, system("host", None, 1.0)]).rows[-1] == ("all", "", "", "-", "7.50")


def test_failures() -> None:
    shares, parts, *sentences = failure_parts(FAILURES)
    assert isinstance(shares, Table)
    assert isinstance(parts, Table)
    assert shares.rows == (("useful", "90"), ("restarts", "10"))
    # 0.0125 of the time is 1.25 %.
    assert parts.rows == (("nic", "64", "5", "4", "0.25", "1.25"),)
    # 24 h over 4 interruptions.
    assert sentences == [
        "4 interruptions per day, most of them of nic; one every 6 h", "most time is lost to restarts",
        "a checkpoint after every 1800 s of work", "1,600 spare NPUs: 200 units of 8 NPUs",
    ]  # fmt: skip
    none = replace(FAILURES, interruptions_per_day=0.0, checkpoint_interval_s=None, dominant_part=None,
                   dominant_loss=None, spares=SPARES)  # fmt: skip
    assert list(failure_parts(none))[2:] == ["0 interruptions per day"]


def test_the_section_of_money() -> None:
    def titles(found: Breakdown) -> list[str]:
        return [part.title for part in money_section(found).parts if isinstance(part, Table)]

    assert titles(FOUND) == ["bill of materials"]
    whole = replace(FOUND, bill=(), system=(system("network", 1.0, 1.0),), faults=FAILURES)
    assert titles(whole) == [
        "parts in any fraction; whole ones cost no less", "the whole system", "time under failures [%]",
        "failures, and stops of the job, per day by part; units in repair",
    ]  # fmt: skip


def test_the_cost_of_a_breakdown_has_spares() -> None:
    assert FOUND.cost_usd == 3500.5
    assert replace(FOUND, faults=FAILURES).cost_usd == 3900.5
    assert replace(FOUND, faults=replace(FAILURES, spares=SPARES)).spares == ()


def test_shares_of_an_order() -> None:
    def line(section: str, usd: float, watts: float) -> OrderLine:
        return OrderLine(
            section=section, product="one", what="pieces", pieces=1.0, unit_usd=usd, low_usd=usd / 2, cost_usd=usd,
            high_usd=2 * usd, power_W=watts, source="",
        )  # fmt: skip

    found = shares_table((line("systems", 3e8, 5e6), line("network", 1e8, 25e4)))
    # 300 of 400 MUSD are 75 %; half of them is 150 MUSD, twice of them 600. 5,250 kW in all.
    assert found.rows == (
        ("systems", "75", "300,000,000.00", "150.000", "600.000", "5,000.00"),
        ("network", "25", "100,000,000.00", "50.000", "200.000", "250.00"), None,
        ("the whole order", "100", "400,000,000.00", "200.000", "800.000", "5,250.00"),
    )  # fmt: skip
