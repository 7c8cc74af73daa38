"""Plans and networks that may be best at one goal: those that bounds leave are those that solving all of them finds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.bandwidth.product import least_product
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.errors import InputError
from evo_libra.problem.allocate import program_for, variants
from evo_libra.problem.best_plans import prune_plans
from evo_libra.problem.file.registry import load_open_problem
from evo_libra.problem.optimize import every_network
from evo_libra.problem.plan_goals import GOALS, SmallestValue
from evo_libra.problem.plans import all_plans
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem

MODEL = {
    "kind": "decoder", "layers": 4, "hidden": 1024, "heads": 8, "feed_forward": 2816, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
DATA: dict[str, Any] = {
    "name": "planned", "npus": 8, "npu": "h100-80gb",
    "workloads": [{
        "name": "small", "generator": MODEL, "training": {"sequence": 2048, "global_batch": 16, "zero": [0, 1]},
        "parallelism": {"tp": [1, 2, 4], "pp": [1, 2]},
    }],
    "fabric": {"catalog": "libra", "blocks": ["switch"], "max_dimensions": 2}, "bandwidth": {"mode": "optimal"},
    "objectives": ["time", "cost"],
}  # fmt: skip


def problem_of(folder: Path, constraints: Sequence[str]) -> Problem:
    (folder / "p.yaml").write_text(json.dumps(DATA))
    return load_open_problem(str(folder / "p.yaml"), (), None, constraints)


def networks(problem: Problem) -> Topologies:
    table = every_network(problem)
    return problem.pricing.topologies(*variants(problem.pricing, problem.constraints, table.npus, table.technology))


def values(problem: Problem, designs: Topologies, goal: str) -> FloatArray:
    program = program_for(problem.traffic, problem.constraints, designs, None, separate=True)
    if goal == "time":
        return optimal_bandwidth(program).objective
    found = least_product(program, designs.price)
    return np.where(np.isfinite(found.time * found.cost), found.time * found.cost, np.inf)


def pairs(designs: Topologies) -> set[tuple[int, ...]]:
    rows = np.vstack([designs.npus, designs.block, designs.technology, designs.plan])
    return {tuple(column) for column in rows.T.tolist()}


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "constraint"), [
    ("time", "sum(bw) == 100 GB/s"), ("time", "cost <= 3 kUSD"), ("time-cost", "sum(bw) == 100 GB/s"),
])  # fmt: skip
def test_what_is_left_has_the_least_value_of_every_network_and_plan(tmp_path: Path, goal: str, constraint: str) -> None:
    problem = problem_of(tmp_path, [constraint])
    designs, plans = networks(problem), all_plans(problem.time, problem.constraints).plans
    network, plan = np.indices((len(designs.structure), plans.shape[1])).reshape(2, -1)
    every = replace(designs.select(network), plan=plans[:, plan])
    every = every.select(np.flatnonzero(problem.time.fits(every.npus, every.plan, every.technology)))
    value = values(problem, every, goal)
    assert np.isfinite(value).sum() > 100
    left = prune_plans(problem, designs, goal)
    np.testing.assert_allclose(values(problem, left, goal), value.min(), rtol=2e-9)
    assert pairs(left) <= pairs(every.select(np.flatnonzero(value <= value.min() * (1 + 2e-9))))


def test_networks_that_hold_no_plan_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(tmp_path, ["sum(bw) == 100 GB/s"])
    monkeypatch.setattr(type(problem.time), "fits", lambda self, npus, *_: np.zeros(npus.shape[1], np.bool_))  # noqa: ARG005 - the signature of time models
    with pytest.raises(InputError, match="no network can hold the process groups of any plan"):
        prune_plans(problem, networks(problem), "time")


def test_batches_come_in_the_order_of_bounds_and_grow() -> None:
    best = SmallestValue(None, None, None)  # type: ignore[arg-type] - batches know the value alone
    bound = np.arange(30.0)[::-1]
    batches = [batch.tolist() for batch in best.batches(bound, 2)]
    assert [len(batch) for batch in batches] == [2, 8, 20]
    assert [place for batch in batches for place in batch] == list(range(29, -1, -1))


def test_batches_end_where_bounds_are_above_the_value() -> None:
    best = SmallestValue(None, None, None, value=3.0)  # type: ignore[arg-type] - the same
    bound = np.array([4.0, 3.0, 1.0, 3.0 * (1 + 5e-10), 2.0, 3.1])
    assert [batch.tolist() for batch in best.batches(bound, 2)] == [[2, 4], [1, 3]]
    some = best.batches(np.array([1.0, 2.0, 2.5]), 1)
    assert next(some).tolist() == [0]
    best.value = 1.5
    assert not list(some)


@pytest.mark.parametrize(("low", "bound"), [(0.5, 16.0), (10.0, 16.0 + 3.0 * 10.0 * 2.0)])
def test_no_bandwidths_have_a_smaller_product_of_time_and_cost(low: float, bound: float) -> None:
    # 3 s and 8 bytes at 2 USD per B/s: (3 + 8 / b) 2 b = 6 b + 16 USD s, which is least at the least b.
    program = BandwidthProgram(
        base=np.array([3.0]), size=np.array([[1.0]]), traffic=np.array([[[8.0]]]), price=np.zeros((1, 1)),
        low=np.full((1, 1), low), high=np.full((1, 1), np.inf), rows=np.zeros((0, 1, 1)), limit=np.zeros((0, 1)),
        equality=np.zeros(0, dtype=np.bool_),
    )  # fmt: skip
    found = GOALS["time-cost"].bound(program, np.array([[2.0]]))
    assert found.tolist() == pytest.approx([6.0 * low + 16.0 if low < 1 else bound], rel=1e-6)
