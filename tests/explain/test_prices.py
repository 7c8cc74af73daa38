"""Fronts under uncertain prices: laws of the scores."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.prices import SCORES, Score, kept_with_prices, price_front
from evo_libra.front.front import Front
from evo_libra.network.bill import parts_of
from evo_libra.problem.objectives import PLAIN
from evo_libra.problem.problem import Problem
from evo_libra.problem.scenarios import draw
from evo_libra.problem.statistics import NAMED

SETTINGS = ["npus=512", "fabric={catalog: parts-2024, max_dimensions: 3}", "bandwidth=ports"]
DRAWN = 200


@pytest.fixture(scope="module")
def problem() -> Problem:
    found = load_problem("gpt3-4k", SETTINGS)
    assert isinstance(found, Problem)
    return found


@pytest.fixture(scope="module")
def front(problem: Problem) -> Front:
    return search(problem, evaluations=3000, population=100, seed=0)


@pytest.mark.slow
def test_a_design_costs_pieces_times_prices(problem: Problem, front: Front) -> None:
    found = price_front(front, problem, DRAWN, 0)
    frame = found.frame
    np.testing.assert_allclose(frame["cost_value_usd"], front.frame["cost_usd"], rtol=1e-12)
    assert (found.pieces == np.rint(found.pieces)).all()
    for name in ("mean_usd", "worst_usd"):
        assert (frame["cost_low_usd"] * (1 - 1e-12) <= frame[name]).all()
        assert (frame[name] <= frame["cost_high_usd"] * (1 + 1e-12)).all()
    assert (frame["mean_usd"] < frame["worst_usd"]).any()
    # One price a part in each scenario, wherever it is used.
    n, s = len(front) // 2, 17
    assert found.cost[n, s] == pytest.approx(float(found.pieces[:, n] @ found.prices[:, s]))


@pytest.mark.slow
def test_regret_is_against_the_cheapest_design_that_is_as_fast(problem: Problem, front: Front) -> None:
    found = price_front(front, problem, DRAWN, 0, "regret")
    time = found.frame["time_ms"].to_numpy()
    expected = [max(found.cost[n, s] - found.cost[time <= time[n], s].min() for s in range(DRAWN + 3))
                for n in range(len(front))]  # fmt: skip
    np.testing.assert_allclose(found.frame["regret_usd"], expected, rtol=1e-9, atol=1e-6)
    assert (found.frame["regret_usd"] >= 0).all()
    assert (found.frame["regret_factor"] >= 1).all()
    assert found.frame["regret_usd"][int(time.argmin())] == 0.0
    assert (found.frame["regret_usd"] > 0).any()
    for s in range(DRAWN + 3):
        assert ((found.cost[:, s] - found.cost[:, s].min()) == 0).any()


@pytest.mark.parametrize("score", SCORES)
def test_who_is_not_on_the_front_has_a_better_one(problem: Problem, front: Front, score: Score) -> None:
    found = price_front(front, problem, DRAWN, 0, score)
    time, kept = found.frame["time_ms"].to_numpy(), found.frame["on_front"].to_numpy()
    values = found.frame[f"{score}_usd"].to_numpy()
    for n in range(len(front)):
        others = np.flatnonzero((time <= time[n]) & (np.arange(len(time)) != n))
        if score == "regret":
            best = found.cost[time <= time[n]].min(axis=0)
            theirs = (found.cost[others] - best).max(axis=1, initial=-np.inf)
        else:
            theirs = values[others]
        assert kept[n] == (not ((theirs <= values[n]) & ((theirs < values[n]) | (time[others] < time[n]))).any())
    assert kept[int(time.argmin())]


def test_draws_are_those_of_the_seed_and_of_the_distribution(problem: Problem) -> None:
    ranges = [part.price for part in parts_of(problem.pricing.kits).values()]
    few, many = draw(ranges, 50, 3), draw(ranges, 20_000, 3)
    np.testing.assert_array_equal(few, many[:, :53])
    assert (few[:, 3:] != draw(ranges, 50, 4)[:, 3:]).any()
    low, mode, high = many[:, 0], many[:, 1], many[:, 2]
    assert ((low[:, None] <= many) & (many <= high[:, None])).all()
    # The mean of a triangular distribution is that of its three corners; its standard error here is below 0.2 % of
    # the range.
    np.testing.assert_array_less(
        np.abs(many[:, 3:].mean(axis=1) - (low + mode + high) / 3), 0.008 * (high - low) + 1e-9
    )


@pytest.mark.slow
def test_without_ranges_all_scenarios_are_alike(tmp_path: Path) -> None:
    text = (Path(load_problem.__code__.co_filename).parents[2] / "network/catalog/per_part/parts-2024.yaml").read_text()
    fixed = re.sub(r"\{low: [^,}]*, value: ([^,}]*), high: [^}]*\}", r"\1", text)
    assert fixed != text
    (tmp_path / "fixed.yaml").write_text(fixed)
    (tmp_path / "problem.yaml").write_text(
        "name: fixed\nnpus: 512\nfabric: {catalog: fixed.yaml, max_dimensions: 2}\nbandwidth: ports\n"
        "workloads: [{model: gpt-3-libra, parallelism: {tp: 8}, compute_TFLOPS: 400}]\n"
    )
    problem = load_problem(str(tmp_path / "problem.yaml"))
    assert isinstance(problem, Problem)
    front = search(problem, evaluations=500, population=50, seed=0)
    found = price_front(front, problem, 20, 0)
    cost = front.frame["cost_usd"].to_numpy()
    np.testing.assert_allclose(found.cost, np.broadcast_to(cost[:, None], found.cost.shape), atol=0.005, rtol=0)
    assert (found.frame["rank"] == found.frame["rank_scored"]).all()
    assert found.frame["on_front"].all()


def test_prices_need_parts_and_time(problem: Problem, front: Front) -> None:
    linear = load_problem("gpt3-4k")
    assert isinstance(linear, Problem)
    with pytest.raises(InputError, match="has none"):
        price_front(front, linear, 10, 0)
    with pytest.raises(InputError, match="no objective of the front"):
        price_front(Front(pl.DataFrame({"cost_usd": [1.0]}), ("cost_usd",)), problem, 10, 0)


def test_kept_shares_count_scenarios_one_by_one(problem: Problem, front: Front) -> None:
    found = price_front(front, problem, DRAWN, 0)
    drawn = found.cost[:, len(NAMED) :]
    time = found.frame["time_ms"].to_numpy()
    counts = [
        sum(all(drawn[n, s] <= drawn[m, s] for m in np.flatnonzero(time <= time[n])) for s in range(drawn.shape[1]))
        for n in range(len(time))
    ]
    np.testing.assert_allclose(kept_with_prices(front, problem, DRAWN, 0), np.array(counts) / drawn.shape[1])


@pytest.mark.slow
def test_shares_of_other_objectives_are_those_of_their_scenarios() -> None:
    robust = "objectives=[tpot, usd-per-Mtoken, usd-per-Mtoken.worst]"
    drawn, plain = (
        load_problem(design_file("llama3-70b-serving"), more) for more in ([robust, "uncertainty.scenarios=40"], [])
    )
    assert isinstance(drawn, Problem)
    assert isinstance(plain, Problem)
    front = search(plain)
    figures = drawn.measure(drawn.read(front.frame["design"].to_list())).scenarios
    assert figures is not None
    cost = PLAIN["usd-per-Mtoken"].minimised(figures)[len(NAMED) :]
    tpot = front.frame["tpot_ms"].to_numpy()
    counts = [
        np.mean([not ((tpot <= tpot[n]) & (row <= row[n]) & ((tpot < tpot[n]) | (row < row[n]))).any() for row in cost])
        for n in range(len(front))
    ]
    np.testing.assert_allclose(kept_with_prices(front, plain, 40, 0), counts)
    assert 0 < min(counts) < max(counts)


@pytest.mark.slow
def test_shares_need_prices_that_are_ranges(front: Front) -> None:
    with pytest.raises(InputError, match="no objective of the front depends on prices"):
        kept_with_prices(front, load_problem("gpt3-4k", [*SETTINGS, "objectives=[time, power]"]), 5, 0)
    with pytest.raises(InputError, match="no price of 'gpt3-4k' is a range"):
        kept_with_prices(front, load_problem("gpt3-4k"), 5, 0)


def test_the_range_of_an_nvswitch_moves_the_front() -> None:
    """Nobody publishes its price: the scenarios draw it from its whole range, and the front is not the same for all."""
    problem = load_problem("dense-1k")
    assert isinstance(problem, Problem)
    front = search(problem, evaluations=2000, population=100, seed=0)
    found = price_front(front, problem, DRAWN, 0)
    place = found.parts.index("nvswitch3")
    switch = parts_of(problem.pricing.kits)["nvswitch3"]
    drawn = found.prices[place, 3:]
    assert (found.prices[place, :3] == [switch.price.low, switch.price.value, switch.price.high]).all()
    assert drawn.min() < 0.2 * switch.price.high
    assert drawn.max() > 0.8 * switch.price.high
    assert ((switch.price.low <= drawn) & (drawn <= switch.price.high)).all()
    # With every other price as stated, the cheapest design that is as fast as another one depends on the switch.
    time, others = found.frame["time_ms"].to_numpy(), found.prices[:, 1].copy()
    kept = set()
    for price in (switch.price.low, switch.price.high):
        others[place] = price
        cost = found.pieces.T @ others
        kept.add(tuple(np.flatnonzero([not ((time <= time[n]) & (cost < cost[n])).any() for n in range(len(time))])))
    assert len(kept) == 2
