"""Expansion memory of training problems: exact fronts, laws over whole problems, the bill, and what evaluate shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evo_libra import Front, load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.explain.explain import explain
from evo_libra.optimality.front_proof import prove_front
from evo_libra.problem.problem import Problem
from evo_libra.workload.training.training_table import TrainingTable

MODEL = {
    "kind": "decoder", "layers": 8, "hidden": 2048, "heads": 16, "kv_heads": 4, "feed_forward": 5632, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
EXPANSION = {
    "capacity_GB": [0, 2, 64], "bandwidth_GBps": [50, 1000], "price_usd": [3, 8], "power_W": 0.3,
    "source": "example, 2026",
}  # fmt: skip
RESERVE = 0.95
"""So little is left of an NPU that plans without a tensor parallel group need the expansion."""


def problem_of(expansion: dict[str, Any] | None, *, alike: int = 1, **changes: Any) -> Problem:
    training = {
        "sequence": 4096, "global_batch": 64, "micro_batch": [1, 2], "zero": [0, 1, 3], "recompute": "full",
        "tp_domain": "any",
    }  # fmt: skip
    each = {"generator": MODEL, "training": training, "parallelism": {"tp": [1, 4], "pp": [1, 2]}}
    more = {} if expansion is None else {"expansion": expansion}
    found = load_problem({
        "name": "expanded", "npus": 16, "npu": "h100-80gb", "memory": {"reserve": RESERVE, **more},
        "fabric": {"catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"], "blocks": ["switch"],
                   "max_dimensions": 2},
        "workloads": [{**each, "name": f"small-{n}"} for n in range(alike)],
        "objectives": ["time", "system-cost"], "bandwidth": "ports", **changes,
    })  # fmt: skip
    assert isinstance(found, Problem)
    return found


def exact(problem: Problem) -> Front:
    return search(problem, engine="exhaustive", evaluations=10**6)


def values_of(front: Front) -> FloatArray:
    return np.asarray(front.frame.select(front.objectives).to_numpy())


def gb_of(problem: Problem, place: int, plans: Any) -> FloatArray:
    table = problem.time.tables[place]
    assert isinstance(table, TrainingTable)
    sizes = np.array([one.capacity / 1e9 for one in table.setups[0].expansions])
    return np.asarray(sizes[table.plans.expansion[plans]])


@pytest.mark.slow
def test_an_expansion_never_hurts_an_exact_front() -> None:
    less, more = (exact(problem_of(one)) for one in ({**EXPANSION, "capacity_GB": 0}, EXPANSION))
    none = exact(problem_of(None))
    np.testing.assert_allclose(values_of(less), values_of(none), rtol=1e-12)
    for row in values_of(less):
        assert (values_of(more) <= row * (1 + 1e-9)).all(axis=1).any()
    assert any("exp" in str(row["plan"]) for row in more.rows())


@pytest.mark.slow
def test_exact_fronts_are_proven_and_no_design_beats_them() -> None:
    problem = problem_of(EXPANSION)
    front = exact(problem)
    assert prove_front(problem, front).exact == len(front)
    found = problem.evaluate_genes(problem.genome.sample(np.random.default_rng(1), 3000))
    scale = np.array([one.scale for one in problem.objectives])
    for values in found.objectives[:, found.violation <= 0].T:
        assert (values_of(front) * scale <= values * (1 + 1e-9)).all(axis=1).any()


@pytest.mark.slow
def test_a_faster_expansion_never_slows_an_exact_front() -> None:
    slow, fast = (exact(problem_of({**EXPANSION, "bandwidth_GBps": rate})) for rate in (50, 1000))
    for row in values_of(slow):
        assert (values_of(fast) <= row * (1 + 1e-9)).all(axis=1).any()


@pytest.mark.slow
def test_npus_that_share_an_expansion_have_their_part_of_its_bandwidth() -> None:
    one, pool = (
        exact(problem_of({**EXPANSION, "bandwidth_GBps": rate, "shared_by": npus}))
        for rate, npus in (([50, 200], 1), ([400, 1600], 8))
    )
    np.testing.assert_allclose(values_of(one), values_of(pool), rtol=1e-12)


@pytest.mark.parametrize("workloads", [1, 2])
def test_the_bill_has_the_memory_of_the_plan_that_takes_the_most(workloads: int) -> None:
    problem = problem_of(EXPANSION, alike=workloads)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 100))
    figures = problem.measure(designs)
    assert figures.npu_price is not None
    most = np.maximum.reduce([gb_of(problem, place, designs.plans[place]) for place in range(workloads)])
    assert len(np.unique(most)) > 1
    found = problem.evaluate(list(map(str, problem.fabrics(designs)))).objectives[1]
    network = figures.cost + figures.bought_npus * figures.npu_price
    np.testing.assert_allclose(found - network, 16 * 5.5 * most, rtol=1e-9, atol=1e-3)


def test_a_report_says_which_class_lies_where() -> None:
    problem = problem_of(EXPANSION)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 100))
    sizes, (table,) = gb_of(problem, 0, designs.plans[0]), problem.time.tables
    for n in (int(np.flatnonzero(sizes > 0)[0]), int(np.flatnonzero(sizes == 0)[0])):
        (workload,) = explain(problem, designs.select([n]))["workloads"]
        report = workload["training"]
        away = sum(report["expansion_GB"].values())
        assert report["memory_total_GB"] * 1e9 == pytest.approx(table.memory[designs.plans[0][n]])
        assert report["memory_total_GB"] <= report["memory_limit_GB"] * (1 + 1e-12)
        assert away <= sizes[n]
        assert (away > 0) == (sizes[n] > 0)
        assert sum(report["split_ms"].values()) == pytest.approx(workload["time_ms"], rel=1e-9)


def test_the_only_plan_has_every_choice_of_memory_that_it_needs() -> None:
    training = {"sequence": 4096, "global_batch": 64, "recompute": "full"}
    workload = {"name": "one", "generator": MODEL, "training": training, "parallelism": {"tp": 1, "pp": 1}}
    (table,) = problem_of({**EXPANSION, "capacity_GB": [0, 64]}, workloads=[workload]).time.tables
    assert [text.rpartition(" ")[2] for text in table.texts[1:]] == ["exp64at50", "exp64at1000"]
    assert (table.memory <= table.capacity).tolist() == [False, True, True]
