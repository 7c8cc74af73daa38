"""LIBRA's question for one network: figures, shadow prices, and questions without an answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from evo_libra import load_problem, optimize
from evo_libra.errors import ConflictError, InputError
from evo_libra.problem.problem import Problem

SHAPE = "RI(4)_FC(8)_RI(4)_SW(32)"
OPEN = ("fabric.catalog=libra", "bandwidth=search", "workloads[0].compute_TFLOPS=65.97069766656")


def test_libras_own_case() -> None:
    best = optimize("gpt3-4k", shape=SHAPE, total=500e9, assignments=OPEN)
    np.testing.assert_allclose(best.bandwidth / 1e9, [338.449675, 84.612419, 58.157787, 18.780119], atol=1e-6)
    assert best.time * 1e9 == pytest.approx(722_411_780.9202, rel=1e-10)
    assert best.equal is not None
    assert best.equal.time * 1e9 == pytest.approx(775_045_208.4, rel=1e-10)
    assert best.status == "optimal"
    assert best.gap < 1e-9


@pytest.mark.slow
def test_libras_perf_per_cost() -> None:
    best = optimize("gpt3-4k", shape=SHAPE, total=500e9, assignments=OPEN, objective="time-cost")
    assert best.time * best.cost == pytest.approx(3_959_907.3408, rel=2e-5)
    assert best.performance_per_cost is not None
    assert best.performance_per_cost > 6
    assert best.exchange == pytest.approx(best.cost / best.time)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["time", "time-cost"])
def test_shadow_prices_are_what_a_little_more_changes(objective: str) -> None:
    def solved(total: float) -> tuple[float, float]:
        best = optimize("gpt3-4k", shape=SHAPE, total=total, assignments=OPEN, objective=objective)
        (binding,) = best.binding
        value = best.time if best.exchange is None else best.time * best.cost
        return value, binding.price if best.exchange is None else binding.price * best.cost

    step = 1e6
    (less, _), (_, price), (more, _) = solved(500e9 - step), solved(500e9), solved(500e9 + step)
    assert (less - more) / (2 * step) == pytest.approx(price, rel=1e-3)


def test_price_of_a_second_under_a_cost_budget_and_of_a_cap() -> None:
    best = optimize("gpt3-4k", shape=SHAPE, cost=10e6)
    (binding,) = best.binding
    assert (binding.limit, binding.quantity) == ("cost <= 10000000 USD", "cost")
    more = optimize("gpt3-4k", shape=SHAPE, cost=10e6 + 100)
    assert (best.time - more.time) / 100 == pytest.approx(binding.price, rel=1e-3)
    capped = optimize("gpt3-4k", shape=SHAPE, assignments=["bandwidth.max_GBps=150"])
    wider = optimize("gpt3-4k", shape=SHAPE, assignments=["bandwidth.max_GBps=150.001"])
    total = sum(found.price for found in capped.binding)
    assert (capped.time - wider.time) / 1e6 == pytest.approx(total, rel=1e-3)
    assert {found.limit for found in capped.binding} == {"bw[0] <= 150 GB/s", "bw[1] <= 150 GB/s"}


@pytest.mark.slow
def test_what_nothing_limits_is_unbounded() -> None:
    for options in ({}, {"constraints": ["bw[0] >= bw[1]"]}, {"constraints": ["bw[0] <= 100 GB/s"]}):
        best = optimize("gpt3-4k", shape=SHAPE, assignments=OPEN, **options)
        assert best.status == "unbounded"
        assert "nothing limits the bandwidth of dimensions" in best.reason
    least = optimize("gpt3-4k", shape=SHAPE, assignments=OPEN, objective="time-cost", cost=1e7)
    assert least.status == "unbounded"
    assert "above 0" in least.reason


def test_conflicts_are_named() -> None:
    limits = ["bw[0] >= 600 GB/s", "bw[1] <= 50 GB/s"]
    with pytest.raises(ConflictError) as error:
        optimize("gpt3-4k", shape=SHAPE, total=500e9, constraints=limits, assignments=OPEN)
    assert error.value.conflict == ("sum(bw) == 500 GB/s", "bw[0] >= 600 GB/s")


def test_technologies_and_blocks_left_open_are_chosen() -> None:
    best = optimize("gpt3-4k", shape="RI(4)_FC(8)_SW(128)", total=500e9)
    pinned = [
        optimize("gpt3-4k", shape=f"RI(4)@chiplet_FC(8)@{second}_SW(128)@pod", total=500e9).time
        for second in ("package", "node")
    ]
    assert best.time <= min(pinned) * (1 + 1e-12)


def test_wrong_questions() -> None:
    for options, part in (
        ({"objective": "cost"}, "unknown objective"), ({"total": -1.0}, "above 0"), ({"cost": float("nan")}, "above 0"),
        ({"shape": "RI(4)"}, "has 4 NPUs"), ({"constraints": ["bw[9] <= 1 GB/s"]}, "does not exist"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=part):
            optimize("gpt3-4k", **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no problem file"):
        optimize("problems.two_tier:problem")


def test_a_problem_object_keeps_its_own_box() -> None:
    problem = load_problem("gpt3-4k", [f"fabric.shape={SHAPE}", "constraints=['sum(bw) == 500 GB/s']"])
    assert isinstance(problem, Problem)
    best = optimize(problem)
    assert best.time == pytest.approx(optimize("gpt3-4k", shape=SHAPE, total=500e9).time, rel=1e-12)
    dearer = [dataclasses.replace(t, link=2.0 * t.link) for t in problem.catalog.technologies]
    catalog = dataclasses.replace(problem.catalog, technologies=tuple(dearer))
    assert optimize(dataclasses.replace(problem, catalog=catalog)).cost > 1.2 * best.cost


@pytest.mark.parametrize(("limit", "moved"), [
    ("bw[3] >= 50 GB/s", "bw[3] >= 49.999 GB/s"), ("bw[1] <= 60 GB/s", "bw[1] <= 60.001 GB/s"),
])  # fmt: skip
def test_a_limit_is_worth_what_loosening_it_saves(limit: str, moved: str) -> None:
    best = optimize("gpt3-4k", shape=SHAPE, total=500e9, constraints=[limit])
    binding = {found.limit: found for found in best.binding}[limit]
    assert binding.loosened_by == ("lowering" if ">=" in limit else "raising")
    looser = optimize("gpt3-4k", shape=SHAPE, total=500e9, constraints=[moved])
    assert (best.time - looser.time) / 1e6 == pytest.approx(binding.price, rel=1e-3)


def test_a_floor_of_the_problem_is_loosened_by_lowering_it() -> None:
    best = optimize("gpt3-4k", shape=SHAPE, cost=10e6, assignments=["bandwidth.min_GBps=30"])
    floor = {found.limit: found for found in best.binding}["bw[3] >= 30 GB/s"]
    lower = optimize("gpt3-4k", shape=SHAPE, cost=10e6, assignments=["bandwidth.min_GBps=29.999"])
    assert floor.loosened_by == "lowering"
    assert (best.time - lower.time) / 1e6 == pytest.approx(floor.price, rel=1e-3)


@pytest.mark.slow
def test_cost_price_of_a_product_is_its_change_over_the_cost() -> None:
    def solved(cost: float) -> tuple[float, float, float]:
        best = optimize("gpt3-4k", shape=SHAPE, total=500e9, cost=cost, objective="time-cost")
        price = {found.quantity: found.price for found in best.binding}["cost"]
        return best.time * best.cost, price, best.cost

    (less, _, _), (_, price, cost), (more, _, _) = solved(5.4e6 - 50), solved(5.4e6), solved(5.4e6 + 50)
    assert (less - more) / 100 / cost == pytest.approx(price, rel=1e-3)


@pytest.mark.slow
def test_limits_of_time() -> None:
    with pytest.raises(ConflictError, match="the least time is") as error:
        optimize("gpt3-4k", shape=SHAPE, total=500e9, constraints=["time <= 100 ms"])
    assert error.value.conflict == ("sum(bw) == 500 GB/s", "time <= 100 ms")
    met = optimize("gpt3-4k", shape=SHAPE, total=500e9, constraints=["time <= 300 ms"])
    assert met.time == optimize("gpt3-4k", shape=SHAPE, total=500e9).time
    with pytest.raises(InputError, match="does not hold where time is least"):
        optimize("gpt3-4k", shape=SHAPE, total=500e9, constraints=["time >= 900 ms"])
    with pytest.raises(InputError, match="does not hold where time times cost is least"):
        optimize("gpt3-4k", shape=SHAPE, total=500e9, constraints=["time <= 240 ms"], objective="time-cost")


def test_equally_fast_bandwidths_are_the_cheapest_also_under_lower_limits() -> None:
    limits = ["bw[2] + bw[3] == 40 GB/s", "bw[0] <= 100 GB/s", "bw[1] >= 20 GB/s", "bw[1] <= 300 GB/s"]
    best = optimize("gpt3-4k", shape=SHAPE, constraints=limits)
    dearer = optimize("gpt3-4k", shape=SHAPE, constraints=[*limits, f"cost <= {best.cost * 0.999:.15g} USD"])
    assert dearer.time > best.time * (1 + 1e-9)


def test_a_shape_does_not_replace_pins_and_has_at_most_8_dimensions() -> None:
    pin = "fabric.pin=[{dimension: 3, bandwidth_GBps: 20}]"
    with pytest.raises(InputError, match="one of the two"):
        optimize("gpt3-4k", shape=SHAPE, total=500e9, assignments=[pin])
    with pytest.raises(InputError, match="has 9 dimensions"):
        optimize("gpt3-4k", shape="_".join(["RI(2)"] * 8 + ["SW(16)"]), total=500e9)
