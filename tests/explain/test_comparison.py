"""Two designs side by side, of figures that are chosen by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from order_files import order_problem

from evo_libra.explain.break_even import BreakEven, nearest_root, price_crossings
from evo_libra.explain.comparison import Comparison, Named, OtherBatch, compared, comparison, winners
from evo_libra.explain.design_record import design_record
from evo_libra.explain.difference import (
    DimensionPair,
    MoneyChange,
    TimeChange,
    TimePart,
    WordPair,
    busy_times,
    dimension_rows,
    money_rows,
    parts_of_time,
    plan_words,
    system_rows,
    time_parts,
)
from evo_libra.explain.record import Breakdown, NetworkDimension, PartCost, SystemRow
from evo_libra.explain.sheet import Table
from evo_libra.explain.time_record import Communication, DimensionTraffic, Size, WorkloadTime
from evo_libra.problem.measured import offset

NO_SIZE = Size(parallelism={}, layers=None, sequence=None, batch_per_replica=None, micro_batch=None, global_batch=None)


def time(part: str, first: float, second: float) -> TimeChange:
    return TimeChange(part=part, first_ms=first, second_ms=second, change_ms=second - first)


def money(part: str, first: float, second: float) -> MoneyChange:
    return MoneyChange(part=part, first_usd=first, second_usd=second, change_usd=second - first, first_pieces=1,
                       second_pieces=1)  # fmt: skip


def found(
    first_ms: float = 100.0, second_ms: float = 90.0, first_usd: float = 5e4, second_usd: float = 8e4
) -> Comparison:
    return Comparison(
        first=Named(name="#1", design="a", figures={"time_ms": first_ms, "cost_usd": first_usd}),
        second=Named(name="#2", design="b", figures={"time_ms": second_ms, "cost_usd": second_usd}),
        second_is="10 % faster, 60 % more expensive",
        network=(DimensionPair(dimension=0, first="RI(4)@a:1", second="RI(4)@a:1", differs=False),
                 DimensionPair(dimension=1, first="SW(8)@b:2", second=None, differs=True)),
        plan=(WordPair(of="plan", first="tp8", second=""),),
        time=(time("compute", 60.0, 60.0), time("all-reduce", 39.96, 29.0), time("small", 0.04, 1.0),
              time("tiny", 0.05, 0.05)),
        busy=(time("dim 0", 20.0, 10.0),), money=(money("switch", 4e4, 6e4), money("link", 1e4, 2e4)), system=(),
        prices=(), bandwidths=(), batches=(), of_two_problems=False,
    )  # fmt: skip


def tables(one: Comparison) -> list[Table]:
    return [part for section in compared(one) for part in section.parts if isinstance(part, Table)]


def test_what_differs_and_where_time_and_money_go() -> None:
    differs, where, busy, costs = tables(found())
    assert compared(found())[0].parts[:2] == ("first   #1", "second  #2: 10 % faster, 60 % more expensive")
    assert differs.rows == (("dim 1", "SW(8)@b:2", "-"), ("plan", "tp8", "-"))
    # A change up to 0.05 ms of 100 ms, here 0.05 %, is summed up: 0.05 and no more.
    assert where.title == "where the time goes [ms]"
    assert where.rows == (
        ("compute", "60", "60", "0"), ("all-reduce", "39.96", "29", "-10.96"), ("small", "0.04", "1", "+0.96"),
        ("others", "0.05", "0.05", "0"), None, ("total", "100.05", "90.05", "-10"),
    )  # fmt: skip
    assert busy.rows == (("dim 0", "20", "10", "-10"),)
    # 50,000 USD are shown in kUSD.
    assert costs.title == "where the money goes [kUSD]"
    assert costs.rows == (
        ("switch", "40", "60", "+20"), ("link", "10", "20", "+10"), None, ("total", "50", "80", "+30"),
    )  # fmt: skip
    whole = replace(found(), system=(money("network", 5e4, 8e4), money("h100", 2e6, 2e6), money("host", 1000.0, 9.0)))
    # All of the first system, 2.051 MUSD, sets the unit and what is small: up to 1,025.5 USD.
    assert tables(whole)[-1].title == "where the money of the whole system goes [MUSD]"
    assert [row[0] for row in tables(whole)[-1].rows if row] == ["network", "h100", "others", "total"]
    same = replace(found(), network=found().network[:1], plan=())
    assert "network and plan are the same" in compared(same)[0].parts
    two = replace(found(), plan=(WordPair(of="plan", first="", second="tp8"),))
    assert tables(two)[0].rows[-1] == ("plan", "-", "tp8")


def test_long_times_are_in_seconds() -> None:
    long = replace(found(12000.0), time=(time("compute", 12000.0, 11000.0), time("rest", 7.0, 0.0)))
    assert tables(long)[1].title == "where the time goes [s]"
    assert tables(long)[1].rows[:2] == (("compute", "12", "11", "-1"), ("rest", "0.007", "0", "-0.007"))


def test_who_wins_when() -> None:
    assert list(winners(found())) == [
        "The first stays cheaper, whatever any single part costs.",
        "The second stays faster when the bandwidth of any one technology is a quarter to four times today's.",
    ]
    assert next(winners(found(second_usd=4e4))) == "The second stays cheaper, whatever any single part costs."
    assert list(winners(found(second_ms=110.0)))[1].startswith("The first stays faster when")
    assert list(winners(found(second_ms=100.0)))[1].startswith("Both stay as fast when")
    two = replace(found(), of_two_problems=True)
    assert list(winners(two)) == ["They are designs of two problems: their times and costs do not answer one question."]


def test_changes_at_which_another_one_wins() -> None:
    crossings = replace(
        found(),
        prices=(BreakEven(of="switch", factor=0.5, below=2, above=1),
                BreakEven(of="link", factor=1.5, below=1, above=2)),
        bandwidths=(BreakEven(of="optics", factor=0.25, below=2, above=1),),
        batches=(OtherBatch(factor=2.0, set=(), first_ms=100.0, second_ms=80.0, why_not=""),
                 OtherBatch(factor=0.5, set=(), first_ms=75.0, second_ms=100.0, why_not=""),
                 OtherBatch(factor=4.0, set=(), first_ms=100.0, second_ms=100.0004, why_not=""),
                 OtherBatch(factor=8.0, set=(), first_ms=None, second_ms=1.0, why_not="no memory"),
                 OtherBatch(factor=16.0, set=(), first_ms=1.0, second_ms=None, why_not="no memory")),
    )  # fmt: skip
    # 80 of 100 ms are 20 % less, 75 of 100 ms 25 %; 0.0004 % is nothing.
    assert list(winners(crossings)) == [
        "The second is cheaper where switch costs less than 0.5 times its price.",
        "The second is cheaper where link costs more than 1.5 times its price.",
        "The second is faster below 0.25 times the bandwidth of optics, the first above.",
        "At 2 times the batch the second is 20 % faster.", "At 0.5 times the batch the first is 25 % faster.",
        "At 4 times the batch they are as fast as each other.",
        "At 8 times the batch they cannot be compared: no memory",
        "At 16 times the batch they cannot be compared: no memory",
    ]  # fmt: skip


def test_prices_at_which_two_designs_cost_the_same() -> None:
    # 60 f + 40 + 10 = 90 f + 20 + 30: at f = 0; of links 60 + 40 f + 10 = 90 + 20 f + 30: 20 f = 50, f = 2.5.
    crossings = price_crossings(
        {"switch": 60.0, "link": 40.0, "nic": 10.0}, {"switch": 90.0, "link": 20.0, "nic": 30.0}
    )
    assert crossings == [BreakEven(of="link", factor=2.5, below=0, above=1)]
    # 10 f + 5 = 20: f = 1.5; 10 + 5 = 20 g: g = 0.75, which is nearer to 1 on a logarithmic axis; 10 + 5 h = 20: h = 2.
    crossings = price_crossings({"a": 10.0, "b": 5.0, "d": 1.0}, {"c": 20.0, "d": 1.0})
    assert [(one.of, one.factor, one.below, one.above) for one in crossings] == [
        ("c", 0.75, 1, 0), ("a", 1.5, 0, 1), ("b", 2.0, 0, 1),
    ]  # fmt: skip


def test_prices_that_are_far_from_todays_are_in_no_sentence() -> None:
    near, far = BreakEven("link", 9.0, 1, 2), BreakEven("screw", 700.0, 1, 2)
    sentences = list(winners(replace(found(), prices=(near, far))))
    assert sentences[0] == "The second is cheaper where link costs more than 9 times its price."
    assert "screw" not in " ".join(sentences)
    (first, *_) = winners(replace(found(), prices=(far,)))
    assert first.endswith("stays cheaper when the price of any single part is a tenth to ten times today's.")


def test_the_nearest_factor_within_a_quarter_and_four_times() -> None:
    # Roots at 1/2 and at 1.9: on a logarithmic axis the second one is nearer to 1.
    root = nearest_root(lambda factors: (factors - 0.5) * (factors - 1.9))
    assert root is not None
    assert root[0] == pytest.approx(1.9, rel=1e-6)
    assert root[1] == 0
    reverse = nearest_root(lambda factors: 1.25 - factors)
    assert reverse is not None
    assert reverse == (pytest.approx(1.25, rel=1e-6), 1)
    assert nearest_root(lambda factors: factors - 3.9) is not None
    assert nearest_root(lambda factors: factors - 4.1) is None
    assert nearest_root(lambda factors: factors - 0.26) is not None
    assert nearest_root(lambda factors: factors - 0.24) is None
    # Where a factor of the grid is a root, its sign is none, and that of its neighbours counts.
    grid = nearest_root(lambda factors: np.where(np.abs(np.log(factors)) < 1e-12, 0.0, np.log(factors)))
    assert grid is not None
    assert grid[0] == pytest.approx(1.0, abs=1e-6)


def workload(name: str, weight: float = 1.0, rest: float = 0.0) -> WorkloadTime:
    sent = Communication(
        phase="weight_gradient", collective="all-reduce", group="dp", count=1, size_MB=1.0, time_ms=5.0,
        bottleneck_dimension=1,
        dimensions=(DimensionTraffic(dimension=0, traffic_MB=1.0, time_ms=2.0),
                    DimensionTraffic(dimension=1, traffic_MB=1.0, time_ms=4.0)),
    )  # fmt: skip
    message = replace(sent, phase="trace", collective="", group="", time_ms=1.0, dimensions=sent.dimensions[:1])
    return WorkloadTime(name=name, weight=weight, size=NO_SIZE, time_ms=16.0 + rest, compute_ms=10.0,
                        collectives=(sent,), messages=(message,))  # fmt: skip


def dimension(place: int) -> NetworkDimension:
    return NetworkDimension(dimension=place, block="ring", npus=4, technology="a", bandwidth_GBps=1.0,
                            figures={"cost_usd": 1.0})  # fmt: skip


def test_parts_of_the_time_of_a_workload() -> None:
    # 10 + 5 + 1 are 16; what overlap saves of that is a part of its own.
    parts = [TimePart("compute", 10.0), TimePart("weight gradient all-reduce of dp", 5.0, 1),
             TimePart("trace messages", 1.0, 1)]  # fmt: skip
    assert list(parts_of_time(workload("a"))) == parts
    assert list(parts_of_time(workload("a", rest=-4.0))) == [*parts, TimePart("overlap and rest", -4.0)]
    assert list(parts_of_time(workload("a", rest=1e-9))) == parts
    idle = replace(workload("a"), time_ms=0.0, compute_ms=0.0, collectives=(), messages=())
    assert list(parts_of_time(idle)) == [TimePart("compute", 0.0)]


def test_times_are_weighted_by_workload() -> None:
    one = Breakdown(workloads=(workload("a", 0.5),), dimensions=(dimension(0), dimension(1)))
    assert time_parts(one) == {"compute": 5.0, "weight gradient all-reduce of dp": 2.5, "trace messages": 0.5}
    # Dimension 0: 0.5 x (2 + 2) ms; dimension 1: 0.5 x 4 ms.
    assert busy_times(one) == {"dim 0": 2.0, "dim 1": 2.0}
    two = Breakdown(workloads=(workload("a", 0.5), workload("b", 2.0)), dimensions=(dimension(0), dimension(1)))
    assert time_parts(two)["b: compute"] == 20.0
    assert time_parts(two)["a: compute"] == 5.0
    assert busy_times(two) == {"dim 0": 10.0, "dim 1": 10.0}
    twice = replace(workload("a"), messages=workload("a").messages * 2)
    assert time_parts(Breakdown(workloads=(twice,), dimensions=()))["trace messages"] == 2.0
    assert [(row.part, row.change_ms) for row in dimension_rows(one, two)] == [("dim 0", 8.0), ("dim 1", 8.0)]


def test_money_side_by_side() -> None:
    first = [PartCost(part="a", pieces=2, cost_usd=10.0), PartCost(part="b", pieces=1, cost_usd=5.0)]
    second = [PartCost(part="a", pieces=3, cost_usd=15.0), PartCost(part="c", pieces=4, cost_usd=8.0)]
    # The largest change first: 8, then 5 and -5.
    assert [(row.part, row.first_usd, row.second_usd, row.change_usd, row.first_pieces, row.second_pieces)
            for row in money_rows(first, second)] == [
        ("c", 0.0, 8.0, 8.0, 0, 4), ("a", 10.0, 15.0, 5.0, 2, 3), ("b", 5.0, 0.0, -5.0, 1, 0),
    ]  # fmt: skip
    # Prices per bandwidth have no pieces.
    priced = [PartCost(part="d", pieces=None, cost_usd=1.0)]
    assert [(row.first_pieces, row.second_pieces) for row in money_rows(first[:1], priced)] == [(2, None), (None, None)]


def system(item: str, pieces: float, cost: float | None) -> SystemRow:
    return SystemRow(item=item, unit="NPU", pieces=pieces, unit_usd=1.0, cost_usd=cost, unit_W=None, power_kW=None,
                     source="")  # fmt: skip


def test_systems_side_by_side() -> None:
    first, second = [system("x", 1.0, 2.0), system("x", 3.0, 4.0)], [system("x", 5.0, 10.0)]
    # Two rows of one name are summed up: 4 pieces for 6 USD.
    (row,) = system_rows(first, second)
    assert (row.first_pieces, row.second_pieces, row.first_usd, row.second_usd) == (4.0, 5.0, 6.0, 10.0)
    assert system_rows(first, []) == system_rows([], second) == system_rows(first, [system("x", 1.0, None)]) == ()


def test_words_of_one_workload_and_of_accelerators() -> None:
    assert plan_words("SW(8)@a:1 npu=x | tp8", "SW(8)@a:1 npu=y | tp8") == (
        WordPair(of="options", first="npu=x", second="npu=y"),
    )
    assert plan_words("SW(8)@a:1 | tp8", "SW(8)@a:1 | tp8 | tp2") == (WordPair(of="plan 1", first="", second="tp2"),)


def test_a_difference_within_the_reasons_that_are_not_shared_is_said_to_be_none() -> None:
    equal = replace(found(), equal_in_time=True)
    assert compared(equal)[0].parts[1] == (
        "second  #2: 10 % faster, 60 % more expensive; the time of both is equal within their bands"
    )


@pytest.mark.slow
def test_two_servers_of_a_generation_share_the_error_of_their_class() -> None:
    """H200 stands for H100 but for a factor of another accelerator; two networks of one system share all reasons."""
    problem = order_problem(systems=["hgx-h100", "hgx-h200"], npus=64)
    assert problem.book is not None
    texts = [f"{problem.book.notation(place)} | tp2 pp2 dp16 mb1 zero1 batch576" for place in range(len(problem.book))]
    records = {name: [design_record(problem, text, alternatives=False) for text in texts if name in text][:2]
               for name in ("hgx-h100", "hgx-h200")}  # fmt: skip
    (one, other), (third, *_) = records.values()
    pairs = [comparison((one, two), (problem, problem)).equal_in_time for two in (third, other)]
    gap = max(one.time_ms / third.time_ms, third.time_ms / one.time_ms)
    assert pairs == [gap < offset("time", "npu", served=False), False]
