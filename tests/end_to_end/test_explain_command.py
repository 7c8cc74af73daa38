"""The command that explains a design."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import call, call_json, run

from evo_libra.explain.neighbours import Neighbour
from evo_libra.explain.reason_sheet import bottleneck_sentences, cheapest_ms
from evo_libra.explain.record import DimensionUse


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain")
    run(path, "search", "gpt3-4k", "--evaluations", "1500", "--population", "100")
    return path


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.slow
def test_a_design_is_named_in_three_ways() -> None:
    found = call_json("explain", "last#3")
    assert call_json("explain", "last", "3") == found
    written = call_json("explain", f"last#{found['design']}")
    assert written["steps"] == found["steps"]
    assert written["standing"] == ["nothing on the front is as good in every objective"]
    assert call_json("explain", "last")["name"] == call_json("explain", "last#knee")["name"]


@pytest.mark.slow
def test_its_figures_are_those_of_evaluate(capsys: pytest.CaptureFixture[str]) -> None:
    found = call_json("explain", "last#knee")
    one = call_json("evaluate", "last#knee")
    assert found["time_ms"] == pytest.approx(one["time_ms"], rel=1e-12)
    assert sum(row["cost_usd"] for row in found["dimensions"]) == pytest.approx(one["cost_usd"], rel=1e-12)
    collectives = [entry for workload in one["breakdown"]["workloads"] for entry in workload["collectives"]]
    for row in found["dimensions"]:
        busy = sum(entry["dimensions"][row["dimension"]]["time_ms"] for entry in collectives)
        assert row["busy_ms"] == pytest.approx(busy)
    call("explain", "last#knee")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "one step away" in shown
    flat = " ".join(shown.split())
    uses = [DimensionUse(**row) for row in found["dimensions"]]
    assert all(sentence in flat for sentence in (*found["standing"], *bottleneck_sentences(uses)))
    assert "the cheapest step to a shorter time: " in flat


def use(place: int, saves: float, lost: float) -> DimensionUse:
    return DimensionUse(
        dimension=place, block="ring", npus=4, technology="node", bandwidth_GBps=1.0, busy_ms=1.0, busy_percent=50.0,
        slack_percent=lost, saves_ms_per_GBps=saves, cost_usd=1.0,
    )  # fmt: skip


def test_the_words_of_bottlenecks_follow_the_figures() -> None:
    assert bottleneck_sentences([use(0, 2.0, 0), use(1, 0.5, 0), use(2, 0.0, 30)]) == [
        "the bottleneck is dim 0: one GB/s more saves 2 ms",
        "dim 2 could lose 30 % of its bandwidth at the same time",
    ]
    waiting = bottleneck_sentences([use(0, 0.0, 0), use(1, 0.0, 0)])
    assert waiting == ["dim 0 and dim 1 wait for each other: more of one alone saves nothing, less of it takes longer"]
    assert bottleneck_sentences([use(0, 0.0, 50)])[0] == "no dimension alone holds it back"


def step(change: str, time: float, cost: float, *broken: str) -> Neighbour:
    percent = {"time_ms_percent": time - 100.0, "cost_usd_percent": cost - 100.0}
    return Neighbour(change, 0, "", {"time_ms": time, "cost_usd": cost}, percent, broken)


def test_the_cheapest_ms_is_that_of_a_feasible_step() -> None:
    steps = [step("a", 90.0, 200.0), step("b", 95.0, 125.0), step("c", 95.0, 101.0, "too much")]
    mine = {"time_ms": 100.0, "cost_usd": 100.0}
    assert list(cheapest_ms(steps, mine)) == ["the cheapest step to a shorter time: b, 5 USD per ms"]
    assert list(cheapest_ms(steps[2:], mine)) == []
