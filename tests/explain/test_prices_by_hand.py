"""Two designs under uncertain prices, and under another time, every figure worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from small_problems import DESIGN, PARTS, small

from evo_libra.errors import InputError
from evo_libra.explain.break_even import bandwidth_crossings
from evo_libra.explain.prices import _cheapest, _kept, _least_regret, _regret, kept_with_prices, price_front
from evo_libra.explain.rescore import _kendall, rescore
from evo_libra.front.front import Front

TIME = np.array([2.0, 1.0, 1.0, 3.0])
COST = np.array([[5.0, 1.0], [4.0, 9.0], [7.0, 2.0], [1.0, 8.0]])
"""Of four designs in two scenarios."""


def front(*designs: tuple[str, float, float]) -> Front:
    names, time, cost = zip(*designs, strict=True)
    frame = pl.DataFrame({"id": range(len(names)), "time_ms": time, "cost_usd": cost, "design": names})
    return Front(frame, ("time_ms", "cost_usd"))


def test_regret_by_hand() -> None:
    # Of time 1: the least of the second and the third design, 4 and 2; of time 2 also the first, of time 3 all.
    assert _cheapest(TIME, COST).tolist() == [[4.0, 1.0], [4.0, 2.0], [4.0, 2.0], [1.0, 1.0]]
    excess, factor = _regret(TIME, COST)
    # 5 - 4; 9 - 2; 7 - 4; 8 - 1, and 5 / 4, 9 / 2, 7 / 4, 8 / 1.
    assert excess.tolist() == [1.0, 7.0, 3.0, 7.0]
    assert factor.tolist() == [1.25, 4.5, 1.75, 8.0]
    # What costs nothing is no regret over nothing, and anything else is any number of times as much.
    assert _regret(np.array([1.0, 2.0]), np.array([[0.0], [5.0]]))[1].tolist() == [1.0, np.inf]
    # At its own time each against the others there: the third has 3 < 7, the first at time 3 has 4 < 7.
    assert _least_regret(TIME, COST, excess).tolist() == [True, False, True, False]
    # As much regret, and faster: 0 of both. Alike in both, each one stays.
    slower = np.array([1.0, 2.0]), np.array([[4.0], [4.0]])
    assert _least_regret(*slower, _regret(*slower)[0]).tolist() == [True, False]
    alike = np.array([1.0, 1.0]), np.array([[4.0], [4.0]])
    assert _least_regret(*alike, _regret(*alike)[0]).tolist() == [True, True]


def test_equal_designs_stay_together() -> None:
    values = np.array([[1.0, 1.0, 2.0, 3.0], [3.0, 3.0, 4.0, 1.0]])
    assert _kept(values).tolist() == [True, True, False, True]


def test_costs_of_scenarios(tmp_path: Path) -> None:
    problem = small(tmp_path, parts=True)
    two = front((DESIGN, 0.058, 6000.0), ("SW(8)@rack:50", 0.06, 15040.0))
    found = price_front(two, problem, 3, 0)
    # 24 cables, 32 modules, 8 cards and 4 boxes; of 8 NPUs on two planes of 4 leaves and 2 spines, 32 cables, 64
    # modules, 8 cards and 12 boxes. Modules cost 20, 30 or 80 USD, boxes 900, 1,000 or 1,300.
    assert dict(zip(found.parts, found.pieces.tolist(), strict=True)) == {
        "box": [4.0, 12.0], "cable": [24.0, 32.0], "card": [8.0, 8.0], "module": [32.0, 64.0],
    }  # fmt: skip
    assert found.frame.select("cost_low_usd", "cost_value_usd", "cost_high_usd").rows() == [
        (5280.0, 6000.0, 8800.0), (13200.0, 15040.0, 21840.0),
    ]  # fmt: skip
    # The mean is over what is drawn, the worst case over all.
    assert found.cost.shape == (2, 6)
    assert found.frame["mean_usd"].to_list() == pytest.approx(found.cost[:, 3:].mean(axis=1).tolist())
    assert found.frame["worst_usd"].to_list() == [8800.0, 21840.0]
    # The second design is slower: its regret is all that it costs more, most with the highest prices.
    assert found.frame["regret_usd"].to_list() == pytest.approx([0.0, 21840.0 - 8800.0])
    assert found.frame["regret_factor"].to_list()[0] == 1.0
    assert found.frame["regret_factor"].to_list()[1] == pytest.approx((found.cost[1] / found.cost[0]).max())
    assert found.frame["rank"].to_list() == found.frame["rank_scored"].to_list() == [1, 2]
    assert found.frame["on_front"].to_list() == [True, False]
    assert kept_with_prices(two, problem, 4, 0).tolist() == [1.0, 0.0]


def test_spares_are_paid_in_every_scenario(tmp_path: Path) -> None:
    faults = "faults={checkpoint_s: 20, restart_s: 300, spares: [0, 4]}"
    problem = small(tmp_path, faults, "objectives=[time, cost, goodput]", parts=True)
    found = price_front(front((f"{DESIGN} spares=4", 1.0, 9000.0)), problem, 2, 0)
    assert found.frame["cost_value_usd"].to_list() == pytest.approx([9000.0])


@pytest.mark.parametrize(("npu", "host", "uncertain"), [
    # One price of all that is a range is enough: of an accelerator of two, or of what is around them.
    (("[{base: h100-80gb, name: a, price_usd: [2000, 4000], source: quote 2026}, "
      "{base: h100-80gb, name: b, price_usd: 3000, source: quote 2026}]"), "1000", True),
    ("{base: h100-80gb, price_usd: 3000, source: quote 2026}", "[900, 1100]", True),
    ("{base: h100-80gb, price_usd: 3000, source: quote 2026}", "1000", False),
])  # fmt: skip
def test_any_price_that_is_a_range_can_be_drawn(tmp_path: Path, npu: str, host: str, *, uncertain: bool) -> None:
    (tmp_path / "fixed.yaml").write_text(PARTS.replace("{low: 20, value: 30, high: 80}", "30").replace(
        "{low: 900, value: 1000, high: 1300}", "1000"))  # fmt: skip
    problem = small(
        tmp_path, "fabric.catalog=fixed.yaml", f"npu={npu}", "objectives=[time, system-cost]",
        f"system={{host: {{npus: 4, price_usd: {host}, power_W: 1, source: quote 2026}}, "
        "storage: {capacity_TB: 5, price_usd: 30, power_W: 1.5, source: quote 2026}}", parts=True,
    )  # fmt: skip
    designs = [f"{DESIGN} npu={name}" for name in ("a", "b")] if npu.startswith("[") else [DESIGN]
    some = front(*((design, 1.0, 1.0) for design in designs))
    if uncertain:
        assert kept_with_prices(some, problem, 2, 0).shape == (len(designs),)
    else:
        with pytest.raises(InputError, match="no price of 'small' is a range"):
            kept_with_prices(some, problem, 2, 0)


def test_prices_of_any_fraction_are_not_drawn(tmp_path: Path) -> None:
    solved = small(tmp_path, "bandwidth={mode: optimal}", parts=True)
    with pytest.raises(InputError, match="come in any fraction"):
        price_front(front((DESIGN, 1.0, 1.0)), solved, 2, 0)
    with pytest.raises(InputError, match="come in any fraction"):
        kept_with_prices(front((DESIGN, 1.0, 1.0)), solved, 2, 0)


def test_bandwidths_at_which_two_designs_are_as_fast(tmp_path: Path) -> None:
    problem = small(tmp_path)
    # 24 us over the board at 100 GB/s and 16 us over the rack at 50 GB/s, or 48 and 8 us. With f times the board
    # 24 / f + 16 = 48 / f + 8: f = 3; with g times the rack 24 + 16 / g = 48 + 8 / g: g = 1 / 3.
    found = bandwidth_crossings(problem, problem.read([DESIGN, "RI(4)@board:50_SW(2)@rack:100"]))
    assert sorted((one.of, round(one.factor, 6), one.below, one.above) for one in found) == [
        ("board", 3.0, 0, 1), ("rack", 0.333333, 1, 0),
    ]  # fmt: skip
    # 24 and 16, or 20 and 20 us: both are as fast as they are. A factor of f on the board: the second is slower above.
    assert bandwidth_crossings(problem, problem.read([DESIGN, "RI(4)@board:90_SW(2)@rack:45"])) == []


def test_a_front_under_another_time(tmp_path: Path) -> None:
    late = small(tmp_path, "time={model: astra, latency_ns: 1000}")
    designs = (DESIGN, 0.058, 7600.0), ("FC(4)@board:90_SW(2)@rack:50", 0.0607, 7440.0), ("SW(8)@rack:1", 2.0, 120.0)
    found = rescore(front(*(designs[n] for n in (0, 1, 2))), late)
    after = [float(late.evaluate(name).objectives[0, 0]) * 1e3 for name, *_ in designs]
    assert found.frame["time_ms_rescored"].to_list() == pytest.approx(after)
    assert found.frame["cost_usd_rescored"].to_list() == pytest.approx([7600.0, 7440.0, 120.0])
    assert found.frame["rank"].to_list() == [1, 2, 3]
    # A ring of four takes six steps of latency, all to all two: the second design is faster now, and cheaper.
    assert found.frame["rank_rescored"].to_list() == [2, 1, 3]
    assert found.frame["on_front"].to_list() == [False, True, True]
    assert found.frame["feasible"].to_list() == [True, True, True]
    # Of three pairs, two are in the same order.
    assert found.agreement == pytest.approx(1 / 3)
    limited = small(tmp_path, "time={model: astra, latency_ns: 1000}", "constraints=[cost <= 7500 USD]")
    again = rescore(front(*designs), limited)
    assert again.frame["feasible"].to_list() == [False, True, True]
    assert again.frame["on_front"].to_list() == [False, True, True]


def test_options_that_the_other_time_does_not_offer_are_dropped(tmp_path: Path) -> None:
    found = rescore(front((f"{DESIGN} chunks=16", 1.0, 7600.0)), small(tmp_path))
    assert (found.dropped, found.rescored, found.agreement) == (("chunks",), (DESIGN,), None)
    late = small(tmp_path, "time={model: astra, latency_ns: 1000, chunks: [16, 32]}")
    found = rescore(front((f"{DESIGN} chunks=16", 1.0, 7600.0), (f"{DESIGN} chunks=64", 1.0, 7600.0)), late)
    assert found.dropped == ("chunks",)
    assert found.rescored == (f"{DESIGN} chunks=16", DESIGN)


@pytest.mark.parametrize(("first", "second", "expected"), [
    ([1.0, 2.0], [3.0, 4.0], 1.0), ([1.0, 2.0], [4.0, 3.0], -1.0), ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0], 1 / 3),
    ([1.0], [1.0], None), ([1.0, 2.0], [1.0, 1.0], None),
])  # fmt: skip
def test_orders_agree(first: list[float], second: list[float], expected: float | None) -> None:
    found = _kendall(np.array(first), np.array(second))
    assert found == (None if expected is None else pytest.approx(expected))
