"""Several workloads with too many plans together: each has its fastest plan, and the front is that of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from order_files import GENERATOR, order_data

from evo_libra import load_problem
from evo_libra.optimality import whole_designs
from evo_libra.optimality.whole_designs import effort_of, kept_by_faster, plans_of
from evo_libra.optimality.whole_front import WholeFront, whole_front
from evo_libra.problem.problem import Problem


def two_workloads(**changes: Any) -> Problem:
    """Return a problem of orders for two models in turns, the second one three times as often."""
    generator = {key: value for key, value in GENERATOR.items() if key != "tied"}
    common = {
        "sequence": 4096,
        "global_batch": 1024,
        "micro_batch": [1, 2],
        "zero": [1, 3],
        "recompute": ["none", "full"],
    }
    one = {
        "name": "dense", "generator": {**generator, "layers": 32}, "training": common,
        "parallelism": {"tp": [1, 2, 8], "pp": [1, 2, 4], "vp": "any"},
    }  # fmt: skip
    experts = {"count": 16, "per_token": 2, "feed_forward": 4096}
    two = {
        "name": "sparse", "generator": {**generator, "layers": 16, "experts": experts}, "weight": 3, "training": common,
        "parallelism": {"tp": [1, 2, 4], "pp": [1, 2], "ep": [1, 4, 16]},
    }  # fmt: skip
    found = load_problem(order_data(npus=512, workloads=[one, two], **changes))
    assert isinstance(found, Problem)
    return found


def front(problem: Problem) -> WholeFront:
    found = whole_front(problem)
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("objectives", [["time", "order-cost"], ["time", "network-cost", "power"]])
def test_the_front_is_that_of_all_combinations_of_plans(objectives: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    every = two_workloads(objectives=objectives)
    expected = front(every)
    assert plans_of(every).timed == 0
    monkeypatch.setattr(whole_designs, "MAX_PLANS", 0)
    few = two_workloads(objectives=objectives)
    found = front(few)
    np.testing.assert_array_equal(found.objectives, expected.objectives)
    assert len(plans_of(few)) < len(plans_of(every))


def test_the_fastest_plan_of_each_workload_is_that_of_the_evaluation_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one network all plans of a workload are evaluated next to one plan of the other."""
    monkeypatch.setattr(whole_designs, "MAX_PLANS", 0)
    problem = two_workloads(systems=["hgx-h100"], fabric={"switches": ["qm9700"], "families": ["tor"]})
    first = front(problem).designs.select(np.array([0]))
    for place, table in enumerate(problem.time.tables):
        fits = np.flatnonzero(table.memory <= table.capacity)
        many = first.select(np.zeros(len(fits), dtype=np.int64))
        many.plan[place] = fits
        assert fits[many.figures(problem)[0].argmin()] == first.plan[place, 0]


def test_pairs_that_are_timed_count_as_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_designs, "MAX_PLANS", 0)
    problem = two_workloads()
    assert (effort_of(problem) or 0) > plans_of(problem).timed > len(problem.structures)


@pytest.mark.slow
def test_more_pairs_than_are_timed_are_combined_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_designs, "MAX_PLANS", 0)
    monkeypatch.setattr(whole_designs, "MAX_NETWORKS", 1000)
    problem = two_workloads()
    assert plans_of(problem).timed == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        ("time <= 5 s", True), ("time >= 1 s", False), ("time == 1 s", False), ("time-cost >= 1 USD s", False),
        ("tokens-per-s >= 5 token/s", True), ("tokens-per-s <= 5 Mtoken/s", False), ("memory <= 70 GB", True),
        ("order-cost <= 1000 MUSD", True), ("order-cost >= 1 MUSD", True),
    ],
)  # fmt: skip
def test_limits_that_a_faster_plan_keeps(limit: str, kept: bool) -> None:  # noqa: FBT001 - drawn
    found = load_problem(order_data(constraints=[limit]))
    assert isinstance(found, Problem)
    assert kept_by_faster(next(one for one in found.constraints if one.text == limit)) is kept
