"""Expansion memory of served problems: a gene, what evaluate shows of it, exact fronts, and mistakes that are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.optimality.front_proof import prove_front
from evo_libra.problem.problem import Problem
from evo_libra.problem.sections.workload import PlanGenes
from evo_libra.workload.serving.serving_table import ServingTable

EXPANSION = {"capacity_GB": [0, 128, 480], "bandwidth_GBps": [250, 900]}
OBJECTIVES = ["tpot", "tokens-per-s", "cost"]


def data_of(expansion: dict[str, Any] | None, **changes: Any) -> dict[str, Any]:
    served = {"input": 4000, "output": 500, "concurrency": [1, 16, 64, 256]}
    fabric = {
        "catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"], "max_dimensions": 2, "blocks": ["switch"],
    }  # fmt: skip
    return {
        "name": "served", "npus": 16, "npu": "h100-80gb", "fabric": fabric, "bandwidth": "ports",
        "workloads": [{"model": "llama-3.1-70b", "serving": served, "parallelism": {"tp": [1, 2, 4, 8]}}],
        "objectives": OBJECTIVES, **({} if expansion is None else {"memory": {"expansion": expansion}}), **changes,
    }  # fmt: skip


def problem_of(expansion: dict[str, Any] | None, **changes: Any) -> Problem:
    found = load_problem(data_of(expansion, **changes))
    assert isinstance(found, Problem)
    return found


def table_of(problem: Problem) -> ServingTable:
    (table,) = problem.time.tables
    assert isinstance(table, ServingTable)
    return table


def test_the_memory_tier_is_a_gene_that_plans_have_which_use_it() -> None:
    problem = problem_of(EXPANSION)
    table = table_of(problem)
    (gene,) = [one for one in PlanGenes(table, 0).genes() if one.name == "expansion"]
    assert gene.upper == 4
    assert [one.text for one in table.expansions] == ["", "exp128at250", "exp128at900", "exp480at250", "exp480at900"]
    plain = table_of(problem_of(None))
    fits = plain.memory <= plain.capacity
    fitting = set(np.array(plain.texts)[fits])
    assert not fitting & {text.rsplit(" exp", 1)[0] for text in table.texts if "exp" in text}
    assert set(plain.texts) == {text for text in table.texts if "exp" not in text}
    assert (table.memory <= table.capacity).sum() > fits.sum()


@pytest.mark.slow
def test_a_report_says_which_class_lies_where() -> None:
    problem = problem_of(EXPANSION)
    table = table_of(problem)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 200))
    away = np.array(["exp" in table.text(plan) for plan in designs.plans[0]])
    for n in (int(np.flatnonzero(away)[0]), int(np.flatnonzero(~away)[0])):
        (workload,) = explain(problem, designs.select([n]))["workloads"]
        report, plan = workload["serving"], int(designs.plans[0][n])
        assert report["memory_total_GB"] * 1e9 == pytest.approx(table.memory[plan])
        assert report["memory_total_GB"] <= report["memory_limit_GB"] * (1 + 1e-12)
        assert "simulated" in report or "not_simulated" in report
        if away[n]:
            assert report["not_simulated"] == "the simulation has no expansion memory"
            assert set(report["expansion_GB"]) == {"cache", "weights"}
            assert sum(report["expansion_GB"].values()) > 0
        else:
            assert "expansion_GB" not in report
        parts, token = report["decode_ms"], report["tpot_ms"]
        assert sum(parts.values()) <= token * (1 + 1e-9)


@pytest.mark.slow
def test_an_expansion_never_hurts_a_front_and_exact_fronts_stay_exact() -> None:
    plain, more = (
        search(problem_of(expansion), engine="exhaustive", evaluations=10**6) for expansion in (None, EXPANSION)
    )
    columns = ["tpot_ms", "s_per_Mtoken", "cost_usd"]
    before, after = (np.array([[row[name] for name in columns] for row in one.rows()]) for one in (plain, more))
    for row in before:
        assert (after <= row * (1 + 1e-9)).all(axis=1).any()
    assert any("exp" in str(row["plan"]) for row in more.rows())
    problem = problem_of(EXPANSION)
    found = problem.evaluate_genes(problem.genome.sample(np.random.default_rng(1), 2000))
    assert prove_front(problem, more).exact == len(after)
    best = after * np.array([objective.scale for objective in problem.objectives])
    for values in found.objectives[:, found.violation <= 0].T:
        assert (best <= values * (1 + 1e-9)).all(axis=1).any()


def test_the_only_plan_has_every_precision_and_every_memory_that_it_needs() -> None:
    served = {"input": 4000, "output": 500, "concurrency": 256, "kv_cache": ["bf16", "fp8"]}
    workload = {"model": "llama-3.1-70b", "serving": served, "parallelism": {"tp": 4}}
    problem = problem_of(EXPANSION, workloads=[workload])
    table = table_of(problem)
    assert len(table) == 10
    assert (table.memory <= table.capacity).sum() == 8
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 50))
    assert len(np.unique(designs.plans)) == 8


def test_npus_that_share_an_expansion_have_their_part_of_its_bandwidth() -> None:
    one, node = (
        table_of(problem_of({"capacity_GB": 480, "bandwidth_GBps": rate, "shared_by": npus}))
        for rate, npus in ((250, 1), (2000, 8))
    )
    assert one.setups[0].expansion == node.setups[0].expansion


PRICED = {**EXPANSION, "price_usd": [3, 8], "power_W": 0.3, "source": "example, 2026"}
TCO = {"years": 4, "usd_per_kWh": 0.1, "pue": 1.2}


def test_a_plan_pays_for_the_expansion_that_it_has() -> None:
    problem = problem_of(PRICED, objectives=["usd-per-Mtoken", "system-cost", "tpot"], tco=TCO)
    table = table_of(problem)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 200))
    capacity = np.array([one.capacity / 1e9 for one in table.expansions])[table.plans.expansion[designs.plans[0]]]
    figures = problem.measure(designs)
    assert len(np.unique(capacity)) == 3
    assert figures.npu_price is not None
    network = figures.cost + figures.bought_npus * figures.npu_price
    found = problem.evaluate([str(fabric) for fabric in problem.fabrics(designs)]).objectives[1]
    np.testing.assert_allclose(found - network, 16 * capacity * 5.5, rtol=1e-9, atol=1e-3)


@pytest.mark.slow
def test_exact_fronts_of_money_have_plans_with_and_without_an_expansion() -> None:
    problem = problem_of(PRICED, objectives=["tpot", "usd-per-Mtoken"], tco=TCO)
    front = search(problem, engine="exhaustive", evaluations=10**6)
    assert prove_front(problem, front).exact == len(front)
    best = np.array([[row[one.column] * one.scale for one in problem.objectives] for row in front.rows()])
    found = problem.evaluate_genes(problem.genome.sample(np.random.default_rng(1), 3000))
    for values in found.objectives[:, found.violation <= 0].T:
        assert (best <= values * (1 + 1e-9)).all(axis=1).any()


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"objectives": ["usd-per-Mtoken"]}, "needs `memory.expansion.price_usd` of the expansion memory"),
    ({"objectives": ["system-cost"]}, "needs `memory.expansion.price_usd` of the expansion memory"),
    ({"objectives": ["energy-per-token"]}, "needs `memory.expansion.power_W` of the expansion memory"),
    ({"memory": {"expansion": {"capacity_GB": -1, "bandwidth_GBps": 100}}}, "capacity_GB"),
    ({"memory": {"expansion": {"capacity_GB": 1, "bandwidth_GBps": 0}}}, "bandwidth_GBps"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "part"), MISTAKES)
def test_mistakes_are_said_in_a_sentence(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError) as caught:
        problem_of(EXPANSION, tco=TCO, **changes)
    assert part in str(caught.value)
