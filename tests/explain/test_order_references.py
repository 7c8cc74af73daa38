"""Reference orders that fit a problem of orders, and its front beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from order_files import order_data, order_problem

from evo_libra import load_problem, search
from evo_libra.explain.references import (
    CHEAPER,
    FASTER,
    References,
    reference_points,
    reference_rows,
    references_of,
)
from evo_libra.problem.problem import Problem
from evo_libra.ui.commands.application import run
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


@pytest.mark.slow
def test_those_of_the_same_systems_and_npus_are_shown() -> None:
    assert names(small()) == BOTH
    assert names(small(npus=[576])) == BOTH[1:], "72 servers are no whole number of units"
    assert names(small(systems=["hgx-h100"])) == BOTH[:1]


def of_servers(npus: Any, system: str = "hgx-h100", **changes: Any) -> References:
    """Return the references of servers, for a batch that has one sequence per NPU."""
    data = order_data(systems=[system], npus=npus, **changes)
    data["workloads"][0]["training"]["global_batch"] = {"about": npus if isinstance(npus, int) else npus["about"]}
    return references_of(load_problem(data))


@pytest.mark.slow
def test_those_that_a_file_does_not_allow_say_what_it_does_not_allow() -> None:
    other = "switch qm9700, where the file allows sn5600"
    points = reference_points(small(fabric={"switches": ["sn5600"]}))
    assert [(one.name, one.not_allowed) for one in points] == [(name, other) for name in BOTH]
    (first, *_) = reference_points(small(fabric={"switches": ["qm9700"], "families": ["tor"]}))
    assert first.not_allowed == "family rail-optimised, where the file allows tor"
    assert {one.not_allowed for one in reference_points(small())} == {""}


@pytest.mark.slow
def test_figures_of_one_that_a_file_does_not_allow_are_those_of_a_file_that_does() -> None:
    without, having = (reference_points(small(fabric={"switches": [name]})) for name in ("sn5600", "qm9700"))
    assert [(one.design, one.figures) for one in without] == [(one.design, one.figures) for one in having]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "npus", "order", "not_allowed"),
    [
        (  # 16:15 and uplinks of 400G: HPN (SIGCOMM 2024), 128 x 200 Gb/s down and 60 x 400 Gb/s up
            "hpn-7", 15360, "1920 hgx-h100 / 2 x 200G / 2 planes / th5-64 rail-optimised 16:15 uplinks 400G",
            "leaf ratio 16:15, where the file allows 1:1, 2:1",
        ),
        (
            "meta-roce-24k", 16384, "2048 hgx-h100 / 1 x 400G / th5-64 tor of 2 1:1 pods 7:1",
            "systems of a rack 2, where the file allows as many as fit",
        ),
        (
            "xai-colossus", 100000, "12500 hgx-h100 / bluefield-3 1 x 400G / sn5600 rail-optimised 1:1",
            "ports 1 x 400G of bluefield-3, where the file allows 1 x 400G of connectx-7",
        ),
    ],
)  # fmt: skip
def test_clusters_of_published_sizes_are_next_to_fronts_whose_files_have_other_networks(
    name: str, npus: int, order: str, not_allowed: str
) -> None:
    points = {one.name: one for one in of_servers(npus).points}
    assert points[name].design.partition(" | ")[0] == order
    assert not_allowed in points[name].not_allowed


@pytest.mark.slow
def test_the_published_size_nearest_to_that_of_a_file_is_taken_within_its_share() -> None:
    """The DGX B300 SuperPOD grows by 576 GPUs: 8,064 is 1.6 % off 8,192, and 8,640 is 5.5 % off."""
    near = {one.name: one for one in of_servers({"about": 8192, "within": 0.02}, "hgx-b300").points}
    assert near["dgx-b300-superpod"].design.startswith("1008 hgx-b300 / 1 x 800G / q3400-ra rail-optimised 1:1 | ")
    assert "NPUs 1008 x 8, where the file allows 1024 x 8" in near["dgx-b300-superpod"].not_allowed
    exact = of_servers({"about": 8192, "within": 0.01}, "hgx-b300")
    assert "dgx-b300-superpod" not in {one.name for one in exact.points}


@pytest.mark.slow
def test_those_that_cannot_be_evaluated_are_named_with_the_reason() -> None:
    assert references_of(small(limits={"cooling": ["air"]})).absent == [
        "dgx-gb200-superpod is not evaluated: gb200-nvl72 is cooled by liquid; the room has air"
    ]
    broken = references_of(small(constraints=["order-cost <= 1 MUSD"]))
    assert not broken.points
    assert [text.partition(":")[0] for text in broken.absent] == [f"{name} is not shown" for name in BOTH]
    assert "the constraint 'order-cost <= 1 MUSD' is broken" in broken.absent[0]
    old = references_of(order_problem(systems=["hgx-h800", "hgx-h100"], npus=2048))
    assert old.absent == ["deepseek-v3 is not evaluated: hgx-h800 was sold until 2023-10; the order is of 2026-11"]


@pytest.mark.slow
def test_a_search_and_a_front_name_what_is_not_allowed_and_what_is_absent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = order_data(npus=[512, 576], fabric={"switches": ["sn5600"]}, limits={"cooling": ["air"]})
    (tmp_path / "small.yaml").write_text(json.dumps(data))
    assert run(["search", "small.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["not_allowed"] for one in found["references"]] == ["switch qm9700, where the file allows sn5600"]
    (absent,) = found["absent_references"]
    assert run(["front", "last"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "not allowed: switch qm9700, where the file allows sn5600" in shown
    assert absent in shown


@pytest.mark.slow
def test_their_figures_are_those_of_evaluate() -> None:
    problem = small()
    for one in reference_points(problem):
        evaluation = problem.evaluate(one.design)
        assert evaluation.violation.tolist() == [0.0]
        time, cost = evaluation.objectives[:, 0]
        assert one.figures == {"time_ms": pytest.approx(time * 1e3), "order_cost_usd": cost}


@pytest.mark.slow
def test_the_published_cluster_of_gpt_3_takes_the_published_time() -> None:
    """Narayanan et al., SC 2021: 20.8 s on 1,536 A100 with tp 8 and pp 12; the file leaves no other plan."""
    points = {one.name: one for one in reference_points(load("gpt3-175b-1536"))}
    assert list(points) == ["dgx-a100-superpod", "dgx-h100-superpod"]
    selene = points["dgx-a100-superpod"]
    assert selene.design.startswith("192 hgx-a100 / 1 x 200G / qm8790 fat tree 1:1 | tp8 pp12")
    assert selene.figures["time_ms"] == pytest.approx(20_800, rel=0.01)


@pytest.mark.slow
def test_an_exact_front_is_no_worse_than_any() -> None:
    problem = small()
    front = search(problem)
    for row in reference_rows(reference_points(problem), front):
        # A front leaves out what another row is as good as, to 1 %.
        assert row[CHEAPER] is None or row[CHEAPER] >= -1
        assert row[FASTER] is None or row[FASTER] >= -1
        assert row[CHEAPER] is not None or row[FASTER] is not None


@pytest.mark.slow
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
