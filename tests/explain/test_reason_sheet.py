"""Sections of why a design is as it is, of records whose figures are chosen by hand."""

from __future__ import annotations

from dataclasses import replace

from evo_libra.explain.neighbours import Neighbour
from evo_libra.explain.reason_sheet import (
    bottleneck_sentences,
    cheapest_ms,
    evaluated,
    explained,
    order_table,
    steps_table,
    uses_table,
)
from evo_libra.explain.record import Breakdown, DesignRecord, DimensionUse, NetworkDimension, OrderLine
from evo_libra.explain.sheet import Table

DESIGN = "RI(4)@a:1.5_SW(8)@b:2 | tp8"
OBJECTIVES = {"time_ms": 100.0, "cost_usd": 1000.0}


def use(dimension: int, slack: float, saves: float = 0.0) -> DimensionUse:
    return DimensionUse(
        dimension=dimension, block="ring", npus=4, technology="a", bandwidth_GBps=1.5, busy_ms=12.345,
        busy_percent=12.345, slack_percent=slack, saves_ms_per_GBps=saves, cost_usd=12345.0,
    )  # fmt: skip


def step(change: str, ms: float, usd: float, *broken: str) -> Neighbour:
    """Return a step to so many ms and USD, of a design of 100 ms and 1,000 USD."""
    percent = {"time_ms_percent": ms - 100.0, "cost_usd_percent": usd / 10.0 - 100.0}
    return Neighbour(change, 0, "RI(4)@a:2", {"time_ms": ms, "cost_usd": usd}, percent, broken)


def line(section: str, what: str, usd: float) -> OrderLine:
    return OrderLine(
        section=section, product=what, what=what, pieces=2.0, unit_usd=usd / 2, low_usd=usd, cost_usd=usd, high_usd=usd,
        power_W=100.0, source="",
    )  # fmt: skip


def test_the_lines_of_an_order_stand_under_their_section() -> None:
    found = order_table(
        [line("systems", "servers", 2000.0), line("network", "leaves", 40.0), line("systems", "racks", 6.0)]
    )
    names = [row[0] for row in found.rows if row is not None]
    assert names == [
        "systems",
        "  servers, servers",
        "  racks, racks",
        "network",
        "  leaves, leaves",
        "the whole order",
    ]
    assert found.strong == ((1, 0), (5, 0))
    assert found.rows[-1] == ("the whole order", "", "", "2,046.00", "300.0")


def test_the_dimensions_of_a_design() -> None:
    found = uses_table(DESIGN, [use(0, 0.05, 0.25), use(1, 30.0)])
    assert found.rows == (
        ("0: RI(4)@a:1.5", "12.35", "12.3", "0.05", "0.25", "12.3 kUSD"),
        ("1: SW(8)@b:2", "12.35", "12.3", "30", "0", "12.3 kUSD"),
    )


def test_what_holds_a_design_back() -> None:
    # Slack up to 0.1 % is none; a gain up to 1e-9 ms is none.
    assert bottleneck_sentences([use(0, 0.05, 0.25), use(1, 30.0)]) == [
        "the bottleneck is dim 0: one GB/s more saves 0.25 ms",
        "dim 1 could lose 30 % of its bandwidth at the same time",
    ]
    assert bottleneck_sentences([use(0, 0.1), use(1, 0.0), use(2, 0.11)]) == [
        "dim 0 and dim 1 wait for each other: more of one alone saves nothing, less of it takes longer",
        "dim 2 could lose 0.11 % of its bandwidth at the same time",
    ]
    assert bottleneck_sentences([use(0, 0.05, 1e-9), use(1, 5.0)])[0] == "no dimension alone holds it back"
    assert bottleneck_sentences([use(0, 0.0, 1.0), use(1, 0.0, 2.0)])[0].startswith("the bottleneck is dim 1")


def test_steps_away() -> None:
    steps = [step("more", 90.0, 1100.0), step("less", 125.0, 900.0), step("better", 99.0, 990.0)]
    # 100 USD for 10 ms are 10 USD per ms; 100 USD saved for 25 ms are 4 USD per ms; a gain in both has no price.
    assert steps_table(steps, OBJECTIVES).columns == ("change", "time\n[%]", "cost\n[%]", "a ms costs")
    assert steps_table(steps, OBJECTIVES).rows == (
        ("more", "-10", "+10", "10 USD"), ("less", "+25", "-10", "4 USD"), ("better", "-1", "-1", ""),
    )  # fmt: skip
    limited = [*steps, step("much", 50.0, 9000.0, "cost <= 2 kUSD", "power")]
    assert steps_table(limited, OBJECTIVES).columns[-1] == "but"
    assert steps_table(limited, OBJECTIVES).rows[0][-1:] == ("",)
    assert steps_table(limited, OBJECTIVES).rows[3] == ("much", "-50", "+800", "160 USD", "cost <= 2 kUSD; power")
    assert steps_table(steps[:1], {"time_ms": 100.0}).rows == (("more", "-10"),)


def test_the_cheapest_step_to_a_shorter_time() -> None:
    steps = [step("more", 90.0, 1100.0), step("less", 125.0, 900.0), step("most", 80.0, 1300.0),
             step("much", 50.0, 1001.0, "power"), step("same", 100.0, 1001.0)]  # fmt: skip
    # 100 USD / 10 ms are 10 USD per ms, 300 / 20 are 15. What breaks a limit, or is not faster, does not count.
    assert list(cheapest_ms(steps, OBJECTIVES)) == ["the cheapest step to a shorter time: more, 10 USD per ms"]
    assert list(cheapest_ms(steps[1:2], OBJECTIVES)) == []
    assert list(cheapest_ms(steps, {"time_ms": 100.0})) == []
    assert list(cheapest_ms([step("both", 90.0, 900.0)], OBJECTIVES)) == []


RECORD = DesignRecord(
    name=DESIGN, design=DESIGN, time_ms=100.0, cost_usd=1000.0, objectives=OBJECTIVES | {"power_kW": 2.0},
    feasible=False, violations=("power <= 1 kW",), standing=("nothing beats it",), approximation="about",
    breakdown=Breakdown(
        workloads=(),
        dimensions=(
            NetworkDimension(dimension=0, block="ring", npus=4, technology="a", bandwidth_GBps=1.5,
                             figures=dict.fromkeys(("cost_usd", "link_usd", "switch_usd", "nic_usd"), 1000.0)),
        ),
    ),
)  # fmt: skip


def test_a_design_evaluated() -> None:
    head, money = evaluated(RECORD)
    assert head.title == "RI(4)@a:1.5_SW(8)@b:2 | tp8"
    assert head.parts == ("time   100 ms", "cost   1000 USD", "power  2 kW", "broken: power <= 1 kW")
    (table,) = money.parts
    assert isinstance(table, Table)


def test_an_order_evaluated_says_what_it_loses_by_its_products() -> None:
    head, _ = evaluated(replace(RECORD, remarks=("a rack takes 3",)))
    assert head.parts[-1] == "a rack takes 3"


def test_a_design_explained() -> None:
    steps = (step("more", 90.0, 1100.0), step("less", 125.0, 900.0))
    record = replace(
        RECORD,
        name="#7",
        objectives=OBJECTIVES,
        dimensions=(use(0, 0.0, 0.5), use(1, 0.0)),
        steps=steps,
        better_steps=("more",),
    )
    head, why, away = explained(record)
    assert head.title == "#7 RI4_SW8"
    assert head.parts == ("RI(4)@a:1.5_SW(8)@b:2 | tp8", "nothing beats it", "about")
    assert why.parts[1:] == ("the bottleneck is dim 0: one GB/s more saves 0.5 ms",)
    assert away.parts[1:] == (
        "the cheapest step to a shorter time: more, 10 USD per ms",
        "better in one objective and no worse in the others: more",
    )
    # Without a name on its front, a design is called by its network alone.
    assert explained(replace(record, name=DESIGN))[0].title == head.title.removeprefix("#7 ")
