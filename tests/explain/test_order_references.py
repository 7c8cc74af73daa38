"""Reference orders that fit a problem of orders, and its front beside them."""

from __future__ import annotations

from typing import Any

import pytest
from order_files import order_problem

from evo_libra import load_problem, search
from evo_libra.explain.references import CHEAPER, FASTER, reference_points, reference_rows
from evo_libra.problem.problem import Problem
from evo_libra.ui.tables.references import comparison, reference_facts, show_references

BOTH = ["dgx-h100-superpod", "dgx-gb200-superpod"]


def load(name: str) -> Problem:
    problem = load_problem(name)
    assert isinstance(problem, Problem)
    return problem


def small(**changes: Any) -> Problem:
    """512 NPUs are two units of 32 servers; racks of 72 have 576, one unit of 8."""
    switches = {"switches": ["qm9700", "sn5600"]}
    return order_problem(**{"npus": [512, 576], "fabric": switches, **changes})


def names(problem: Problem) -> list[str]:
    return [one.name for one in reference_points(problem)]


def test_those_of_the_same_systems_and_npus_are_shown() -> None:
    assert names(small()) == BOTH
    assert names(small(npus=[576])) == BOTH[1:], "72 servers are no whole number of units"
    assert names(small(systems=["hgx-h100"])) == BOTH[:1]


def test_those_that_a_file_does_not_allow_are_not_shown() -> None:
    assert names(small(fabric={"switches": ["sn5600"]})) == []
    assert names(small(fabric={"switches": ["qm9700"], "families": ["tor"]})) == []
    assert names(small(limits={"cooling": ["air"]})) == BOTH[:1]
    assert names(small(constraints=["order-cost <= 1 MUSD"])) == []


def test_their_figures_are_those_of_evaluate() -> None:
    problem = small()
    for one in reference_points(problem):
        evaluation = problem.evaluate(one.design)
        assert evaluation.violation.tolist() == [0.0]
        time, cost = evaluation.objectives[:, 0]
        assert one.figures == {"time_ms": pytest.approx(time * 1e3), "order_cost_usd": cost}


def test_the_published_cluster_of_gpt_3_takes_the_published_time() -> None:
    """Narayanan et al., SC 2021: 20.8 s on 1,536 A100 with tp 8 and pp 12; the file leaves no other plan."""
    points = {one.name: one for one in reference_points(load("gpt3-175b-1536"))}
    assert list(points) == ["dgx-a100-superpod", "dgx-h100-superpod"]
    selene = points["dgx-a100-superpod"]
    assert selene.design.startswith("192 hgx-a100 / 1 x 200G / qm8790 fat tree 1:1 | tp8 pp12")
    assert selene.figures["time_ms"] == pytest.approx(20_800, rel=0.01)


def test_an_exact_front_is_no_worse_than_any() -> None:
    problem = small()
    front = search(problem)
    for row in reference_rows(reference_points(problem), front):
        # A front leaves out what another row is as good as, to 1 %.
        assert row[CHEAPER] is None or row[CHEAPER] >= -1
        assert row[FASTER] is None or row[FASTER] >= -1
        assert row[CHEAPER] is not None or row[FASTER] is not None


def test_their_table_says_what_the_front_is_better_by(capsys: pytest.CaptureFixture[str]) -> None:
    problem = small()
    front = search(problem)
    show_references(reference_rows(reference_points(problem), front), front.objectives)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].rstrip() == "reference orders of this size; `evo-libra catalog clusters` has their sources"
    assert max(map(len, lines)) <= 80
    assert any("64 hgx-h100 / 1 x 400G / qm9700" in line for line in lines)


def test_facts_of_a_run_have_orders_without_plans() -> None:
    rows = [{"name": "one", "design": "64 hgx-h100 / 1 x 400G / qm9700 tor 1:1 | tp8 dp64", CHEAPER: 2.0, FASTER: 1.0}]
    said = "one (64 hgx-h100 / 1 x 400G / qm9700 tor 1:1): the front is 2.0 % cheaper at equal time, 1.0 % faster at"
    assert reference_facts(rows) == [("references", f"{said} equal cost")]


def test_one_that_the_front_has_is_said_to_be_there() -> None:
    assert comparison({CHEAPER: 0.01, FASTER: -0.0}) == "the front has one that is as fast and as cheap"
